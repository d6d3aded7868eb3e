"""The values of single fields in Slurm's accounting output: counts, memory, states.

All of them raise ValueError with a message; the reader adds file and line.

Memory is an amount with a unit, as users write it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from shadowtime.errors import ClusterError
from shadowtime.printable import shown
from shadowtime.types import UNKNOWN

_SIZE = re.compile(
    r"\s*([0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})\s*([kmgtpe]?)(i?b)?\s*", re.IGNORECASE
)
_POWER = {"k": 1, "m": 2, "g": 3, "t": 4, "p": 5, "e": 6}
MAX_KB = 1 << 53


def parse_memory(text: str, *, bare: str = "K", unit: int = 1024) -> int:
    """KB of a memory size such as ``64GB``, ``64 GiB``, ``64G`` or ``1.5T``.

    ``bare`` is the unit of a number without one. Each unit is ``unit`` times the one below,
    with B and without, i or not: sites mean 1024 when they write GB. A fraction of a KB counts
    as a whole one.

    Examples
    --------
    >>> parse_memory("1TB"), parse_memory("512"), parse_memory("4000", bare="M")
    (1073741824, 512, 4096000)
    >>> parse_memory("1GB", unit=1000)
    1000000
    """
    match = _SIZE.fullmatch(text)
    if not match:
        raise ClusterError(
            f"{shown(text)} is not a memory size: write it like 64GB, 512MB or 1.5TB"
        )
    number, letter, tail = match[1], match[2].lower(), (match[3] or "").lower()
    power = _POWER[letter] if letter else 0 if tail else _POWER[bare.lower()]
    if 0 < power < 4 and number.isdigit() and len(number) < 10:  # fractions take ten times as long
        return int(number) * int(unit ** (power - 1))
    from fractions import Fraction

    size = Fraction(number) * Fraction(unit) ** (power - 1)
    if size > MAX_KB:
        raise ClusterError(f"the memory size {text!r} is beyond {MAX_KB} KB")
    return -(-size.numerator // size.denominator)


NOTHING = {"", "unknown", "none", "n/a", "invalid", "(null)"}
"""Words that Slurm writes where there is no value, in small letters."""


def lines_of(text: str) -> list[str]:
    """The lines of a command's output or of a file.

    Only line ends separate them: names and comments may contain U+2028, a form feed or a file
    separator, at which ``str.splitlines`` cuts.

    Examples
    --------
    >>> lines_of("a\\x1cb\\u2028c\\r\\nd\\n")
    ['a\\x1cb\\u2028c', 'd']
    """
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


@lru_cache(maxsize=1 << 16)
def parse_count(text: str, what: str) -> int:
    """A whole number, or -1 where empty."""
    word = text.strip()
    if word.lower() in NOTHING:
        return UNKNOWN
    if not re.fullmatch(r"[0-9]{1,15}", word):
        raise ValueError(f"{what} must be a whole number, not {text[:40]!r}")
    return int(word)


@lru_cache(maxsize=1 << 14)
def parse_reqmem(text: str, cpus: int, nodes: int) -> int:
    """KB of the whole job from ReqMem, in the notation of any version of Slurm.

    Up to 21.07 ``4000Mc`` is per CPU and ``4Gn`` per node, and ``0n`` means all of each node
    (unknown here: -1); later versions give the whole job without a letter.

    Examples
    --------
    >>> parse_reqmem("4000Mc", 2, 1), parse_reqmem("4Gn", 2, 3), parse_reqmem("4G", 2, 3)
    (8192000, 12582912, 4194304)
    """
    word = text.strip()
    if word.lower() in NOTHING:
        return UNKNOWN
    times = 1
    if word[-1:] in ("c", "n"):
        times = max(cpus if word[-1] == "c" else nodes, 1)
        word = word[:-1]
    word = word.removesuffix("?")
    try:
        size = parse_memory(word, bare="M") * times
    except ClusterError:
        raise ValueError(f"ReqMem {text[:40]!r} is not a memory size like 4000M or 4Gc") from None
    return size or UNKNOWN


STATES = {
    "BOOT_FAIL": "BF", "CANCELLED": "CA", "COMPLETED": "CD", "DEADLINE": "DL", "FAILED": "F",
    "NODE_FAIL": "NF", "OUT_OF_MEMORY": "OOM", "PENDING": "PD", "PREEMPTED": "PR", "RUNNING": "R",
    "REQUEUED": "RQ", "RESIZING": "RS", "REVOKED": "RV", "SUSPENDED": "S", "TIMEOUT": "TO",
    "COMPLETING": "CG", "CONFIGURING": "CF",
}  # fmt: skip
_SHORT = {short: name for name, short in STATES.items()}
NOT_ENDED = {
    "PENDING", "RUNNING", "REQUEUED", "RESIZING", "SUSPENDED", "COMPLETING", "CONFIGURING",
}  # fmt: skip


@lru_cache(maxsize=1 << 12)
def parse_state(text: str) -> str:
    """The state's full name: ``CANCELLED by 1234``, ``CA`` and the cut-off ``CANCELLE+`` are one.

    Examples
    --------
    >>> parse_state("CANCELLED by 1234"), parse_state("OUT_OF_ME+"), parse_state("TO")
    ('CANCELLED', 'OUT_OF_MEMORY', 'TIMEOUT')
    """
    word = (text.split() or [""])[0].upper()
    if word in STATES:
        return word
    if word in _SHORT:
        return _SHORT[word]
    whole = [name for name in STATES if word.endswith("+") and name.startswith(word[:-1])]
    if len(whole) == 1:
        return whole[0]
    raise ValueError(f"{text[:40]!r} is not a job state")
