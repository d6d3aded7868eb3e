"""The grammar of policy texts: ``name(key=value, ...)``, values nested at will.

Examples
--------
>>> parse_call("easy(reserve=4, order=weighted(wait=0.1))")
Call(name='easy', arguments={'reserve': Call(name='4', arguments={}), 'order': \
Call(name='weighted', arguments={'wait': Call(name='0.1', arguments={})})})
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from shadowtime.errors import PolicyError
from shadowtime.printable import shown

TOKEN = re.compile(r"\s*([A-Za-z0-9_.+/:@\-]+|[(),=])")
DEEPEST = 20
"""The deepest nesting of parts: no policy needs more."""


@dataclass(frozen=True)
class Call:
    """A name with named arguments; a plain value is a call without any."""

    name: str
    arguments: dict[str, Call] = field(default_factory=dict)


def parse_call(text: str) -> Call:
    """Parse a whole policy text."""
    tokens = _tokens(text)
    call, at = _call(tokens, 0, text, DEEPEST)
    if at < len(tokens):
        raise PolicyError(f"cannot read {tokens[at]!r} after the policy in {shown(text)}")
    return call


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        found = TOKEN.match(text, at)
        if found is None:
            raise PolicyError(
                f"cannot read the policy {shown(text)} from {shown(text[at:])} on; "
                "write it as name(key=value, ...)"
            )
        tokens.append(found.group(1))
        at = found.end()
    return tokens


def _call(tokens: list[str], at: int, text: str, depth: int) -> tuple[Call, int]:
    """The call that begins at this token, and the place after it."""
    if depth == 0:
        raise PolicyError(f"the policy {shown(text)} is nested more than {DEEPEST} deep")
    if at == len(tokens) or tokens[at] in "(),=":
        raise PolicyError(
            f"a name is missing in the policy {shown(text)}: write name(key=value, ...)"
        )
    name, at = tokens[at], at + 1
    if tokens[at : at + 1] != ["("]:
        return Call(name), at
    arguments: dict[str, Call] = {}
    at += 1
    while tokens[at : at + 1] != [")"]:
        if len(tokens) - at < 3 or tokens[at + 1] != "=":
            raise PolicyError(f"parameters of {name} must be key=value in the policy {shown(text)}")
        key = tokens[at].replace("-", "_")
        if key in arguments:
            raise PolicyError(f"the parameter {key} is given twice in the policy {shown(text)}")
        arguments[key], at = _call(tokens, at + 2, text, depth - 1)
        if tokens[at : at + 1] == [","]:
            at += 1
        elif tokens[at : at + 1] != [")"]:
            raise PolicyError(f"a closing parenthesis is missing in the policy {shown(text)}")
    return Call(name, arguments), at + 1
