"""Values that Slurm's descriptions of a site and its accounting records share.

They raise ValueError with a sentence on what is wrong; the reader adds file and line.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from shadowtime.cluster.units import parse_memory
from shadowtime.errors import ClusterError
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo

_NOTHING = {"", "unknown", "none", "n/a", "invalid", "(null)"}


def parse_stamp(text: str, zone: tzinfo, *, not_before: int = UNKNOWN) -> int:
    """Seconds since 1970 of ``2026-03-29T02:30:00`` (local time of ``zone``) or of an epoch (%s).

    Local times have no offset: where clocks go back an hour occurs twice, and the first is meant
    unless that lies before ``not_before``. -1 where empty.

    Examples
    --------
    >>> from zoneinfo import ZoneInfo
    >>> parse_stamp("2026-03-01T01:00:10", ZoneInfo("Europe/Zurich"))
    1772323210
    >>> parse_stamp("1772323210", ZoneInfo("Europe/Zurich"))
    1772323210
    """
    word = text.strip()
    if word.isascii() and word.isdigit() and len(word) <= 12:
        return int(word)
    if word.lower() in _NOTHING:
        return UNKNOWN
    try:
        moment = datetime.fromisoformat(word)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone)
        stamp = int(moment.timestamp())
        if stamp < not_before:
            stamp = int(moment.replace(fold=1).timestamp())
    except (ValueError, OverflowError):
        raise ValueError(f"{text[:40]!r} is not a time like 2026-03-01T00:00:10") from None
    if stamp < 0:
        raise ValueError(f"{text[:40]!r} lies before 1970")
    return stamp


@lru_cache(maxsize=1 << 14)
def parse_tres(text: str) -> Mapping[str, int]:
    """``billing=2,cpu=1,gres/gpu:a100=4,mem=5G,node=1`` as numbers; ``mem`` in KB.

    Examples
    --------
    >>> dict(parse_tres("cpu=4,mem=5G,gres/gpu=2"))
    {'cpu': 4, 'mem': 5242880, 'gres/gpu': 2}
    """
    amounts: dict[str, int] = {}
    for part in text.strip().split(","):
        if not part.strip():
            continue
        name, equals, amount = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise ValueError(f"{text[:60]!r} is not a TRES list like cpu=4,mem=5G")
        if name == "mem":
            try:
                amounts[name] = parse_memory(amount, bare="M")
            except ClusterError:
                raise ValueError(f"mem={amount[:40]} is not a memory size like mem=5G") from None
        elif re.fullmatch(r"[0-9]{1,15}", amount):  # others may hold anything; unused then
            amounts[name] = int(amount)
    return amounts


def resource_of(tres: str) -> str:
    """A TRES by the name it has in a site: cpu, mem and node in full, GRES without ``gres/``.

    Examples
    --------
    >>> [resource_of(name) for name in ("cpu", "mem", "node", "gres/gpu:a100", "license/matlab")]
    ['cpus', 'memory', 'nodes', 'gpu:a100', 'license/matlab']
    """
    low = tres.strip().lower()
    short = {"cpu": "cpus", "mem": "memory", "node": "nodes"}
    return short.get(low) or (tres.strip()[5:] if low.startswith("gres/") else low)


def tres_amounts(text: str) -> dict[str, int]:
    """A TRES list by the site's names; memory in KB.

    Examples
    --------
    >>> tres_amounts("cpu=64,mem=1G,gres/gpu=2")
    {'cpus': 64, 'memory': 1048576, 'gpu': 2}
    """
    return {resource_of(name): amount for name, amount in parse_tres(text).items()}
