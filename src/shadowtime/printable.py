"""Untrusted text made printable: no control character reaches a terminal.

Names of jobs, users, hosts, columns and files may contain any text. Printed raw, an
escape sequence in one can recolour, move or retitle the reader's terminal, and a line break can
forge a line of output.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # C0, delete, C1
    "\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"  # line ends and writing direction
    "\ud800-\udfff]"  # halves of a character: bytes of a file name that are not UTF-8
)
LONGEST = 40


def _escaped(one: str) -> str:
    return repr(one)[1:-1]


def printable(text: str, *, keep: str = "", escape: Callable[[str], str] = _escaped) -> str:
    """The text with control characters written as escapes (Python's by default); ``keep`` stays.

    Examples
    --------
    >>> printable("a\\x1b[31mb\\n"), printable("two\\nlines", keep="\\n")
    ('a\\\\x1b[31mb\\\\n', 'two\\nlines')
    """
    return _CONTROL.sub(lambda found: found[0] if found[0] in keep else escape(found[0]), text)


def shown(value: object) -> str:
    """A value for a message: quoted if it is text, short, on one line.

    Examples
    --------
    >>> shown("a\\x1b[2J"), shown(1.5), shown(10**5000)
    ("'a\\\\x1b[2J'", '1.5', 'a number of more than 4300 digits')
    """
    try:
        text = printable(repr(value))
    except ValueError:  # Python prints no longer ones
        return "a number of more than 4300 digits"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
