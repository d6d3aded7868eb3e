"""Slot ``partition``: where may it run, where may it reserve?

A partition part is a set of tables: which classes of jobs there are, on which hosts each may run
and reserve, in which order of preference, and how many reservations a group of hosts takes.
Another definition of classes is another part, not another engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from shadowtime.policy.part import Part, parameter

if TYPE_CHECKING:
    from shadowtime.policy.policy import Policy

HOUR = 3600


class Partition(Part):
    """Where a job may run and reserve."""

    slot: ClassVar[str] = "partition"
    restricts: ClassVar[bool] = True
    """True if some jobs may not run everywhere."""

    @property
    def classes(self) -> ByClass | None:
        """The part itself where it divides hosts and jobs into classes."""
        return None


@dataclass(frozen=True)
class Anywhere(Partition):
    """Every job may run on every host that is large enough."""

    restricts: ClassVar[bool] = False
    name: ClassVar[str] = "anywhere"
    summary: ClassVar[str] = "every job may run on every host"


@dataclass(frozen=True)
class ByClass(Partition):
    """Class partitioning: some hosts for large jobs, the rest for the others.

    spec: algorithms 3.4.

    Class one is the first ``hosts`` of the widest hosts, those with the most memory first. Large
    jobs run there; short ones (request up to ``hours``) may too; ``large`` defines whether large
    jobs may also run in class two. Only large jobs reserve in class one, up to ``times`` the
    resources of each host; class two takes ``reservations`` in total. On a site hosts are nodes,
    and the classes cross its partitions (docs/decisions/site.md).
    """

    name: ClassVar[str] = "by-class"
    summary: ClassVar[str] = "hosts for large jobs, which short jobs may use; the rest for others"
    hosts: int = parameter(3, "hosts of class one (n)", low=1)
    hours: float = parameter(50.0, "longest request of a short job in hours (r)", low=0)
    large: str = parameter(
        "class-one",
        "where large jobs run: class-one (L/SM) or anywhere (L/A)",
        choices=("class-one", "anywhere"),
    )
    by: str = parameter(
        "procs",
        "what makes a job large: procs, memory, or the number of its queue, group or user",
        choices=("procs", "memory", "queue", "group", "user"),
    )
    above: int = parameter(64, "large means more than this", low=0)
    reservations: int = parameter(2, "reservations in class two", low=0)
    times: int = parameter(2, "reservations in class one: times each host's resources", low=1)

    @property
    def classes(self) -> ByClass:
        return self

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        if shape == "nodes":
            yield "nodes have no partitions: use partition=anywhere"
        planned = policy.reserve.first is not None and policy.reserve.first > 0
        if shape not in ("hosts", "site") or not planned or not policy.backfill.in_order:
            yield (
                "partition=by-class needs a cluster of hosts or a site, reservations planned at "
                "every pass (reserve=K) and backfill=in-order"
            )


NAMED: dict[str, Partition] = {part.name: part() for part in (Anywhere, ByClass)}
