"""The registry of live backends: ours, and those that installed packages add.

A package adds one by an entry point of the group ``shadowtime.live`` (:mod:`shadowtime.plugins`)::

    [project.entry-points."shadowtime.live"]
    flux = "flux_live:BACKEND"
"""

from __future__ import annotations

from shadowtime.errors import ShadowtimeError
from shadowtime.live.backend import Backend
from shadowtime.live.condor.backend import CONDOR
from shadowtime.live.slurm.backend import SLURM
from shadowtime.plugins import LIVE, plugins


def backends() -> dict[str, Backend]:
    """Every live backend by name: ours first, then those of other packages.

    Examples
    --------
    >>> list(backends())[:2]
    ['slurm', 'condor']
    """
    found = {backend.name: backend for backend in (SLURM, CONDOR)}
    for name, added in plugins(LIVE).items():
        if not isinstance(added, Backend):
            raise ShadowtimeError(f"{name} in {LIVE} is not a shadowtime.live.backend.Backend")
        if name in found or name == "check":
            raise ShadowtimeError(
                f"an installed package adds the live backend {name}, but that name is taken: "
                "rename or uninstall it"
            )
        found[name] = added
    return found
