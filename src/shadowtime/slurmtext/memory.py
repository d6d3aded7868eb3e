"""Amounts with a unit, as users write them."""

from __future__ import annotations

import re

from shadowtime.errors import ClusterError
from shadowtime.printable import shown

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
