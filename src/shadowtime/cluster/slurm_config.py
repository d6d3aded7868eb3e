"""Slurm's settings: ``scontrol show config`` and the settings in slurm.conf."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shadowtime.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LINE = re.compile(r"([A-Za-z][\w\[\]./-]*)\s*=\s*(.*)")
_LINES_OF_THEIR_OWN = ("nodename", "partitionname", "nodeset", "downnodes", "frontendname")


def parse_config(text: str) -> dict[str, str]:
    """The settings that ``scontrol show config`` lists; those that are (null) are left out.

    Examples
    --------
    >>> parse_config("Configuration data as of now\\nClusterName  = c1\\nLicenses = (null)\\n")
    {'ClusterName': 'c1'}
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = _LINE.fullmatch(line.strip())
        if match and match[2].strip() not in ("", "(null)"):
            found.setdefault(match[1], match[2].strip())
    return found


def conf_config(lines: Iterable[tuple[str, Mapping[str, str]]]) -> dict[str, str]:
    """The settings of slurm.conf; keys are in lower case, as slurm.conf takes any."""
    found: dict[str, str] = {}
    for _, pairs in lines:
        if not any(kind in pairs for kind in _LINES_OF_THEIR_OWN):
            found |= pairs
    return found


def consumes_memory(settings: Mapping[str, str]) -> bool | None:
    """Do jobs use up memory (CR_..._Memory)? None where the settings do not define it.

    Examples
    --------
    >>> consumes_memory({"SelectTypeParameters": "CR_CORE_MEMORY"}), consumes_memory({})
    (True, None)
    """
    low = {key.lower(): value for key, value in settings.items()}
    if "selecttypeparameters" not in low:
        return False if low.get("selecttype", "").lower().endswith("linear") else None
    return "MEMORY" in low["selecttypeparameters"].upper()


def parse_licences(text: str) -> dict[str, int]:
    """``matlab:10,abaqus@server:5,one`` as numbers.

    Examples
    --------
    >>> parse_licences("matlab:10,one")
    {'matlab': 10, 'one': 1}
    """
    found: dict[str, int] = {}
    for part in text.split(","):
        name, _, count = part.strip().partition(":")
        if not name or name == "(null)":
            continue
        if count and not re.fullmatch(r"[0-9]{1,9}", count):
            raise ClusterError(f"Licenses: {part.strip()!r} is not a licence like matlab:10")
        found[name] = found.get(name, 0) + int(count or 1)
    return found
