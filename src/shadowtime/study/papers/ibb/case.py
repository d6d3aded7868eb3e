"""Jobs on a machine, at relative loads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from shadowtime.cluster import Cluster
from shadowtime.workload import scale_load
from shadowtime.workload.clean import fit

if TYPE_CHECKING:
    from collections.abc import Callable

    from shadowtime.workload import Workload

PURE, MIXED, CERIT = "pure", "mixed", "CERIT-SC"
"""The main cases."""

GB = 1 << 20
"""In KB, the unit of memory."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Case:
    """What is simulated: the jobs, the machine, the relative loads.

    ``main`` cases have a table and a figure of their own, are shaken, and their resources are
    looked at. A ``reading`` is a main case read in another way.
    """

    name: str
    says: str
    make: Callable[[], Workload]
    """The jobs, made when a run asks for them."""
    cluster: Cluster
    loads: tuple[float, ...]
    kind: Literal["main", "machine", "reading"]

    @property
    def main(self) -> bool:
        return self.kind == "main"

    def jobs(self, load: float = 1.0) -> Workload:
        """The jobs that fit on the machine, arriving ``load`` times as fast as recorded."""
        fitting = fit(self.make(), self.cluster)
        return fitting if load == 1 else scale_load(fitting, load)


def pool(procs: int, memory_each: int) -> Cluster:
    """A pool with so many KB of memory a processor.

    Examples
    --------
    >>> pool(2, GB).total
    {'procs': 2, 'memory': 2097152}
    """
    return Cluster.pool(procs, memory=procs * memory_each)
