"""What a month runs on: the whole machine, its shared part, and with no job alone on a host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shadowtime.cluster.examples import example
from shadowtime.metrics import Window
from shadowtime.study.papers.class_partitioning.policies import MONTH_NAMES
from shadowtime.study.papers.subjects import Subject
from shadowtime.workload.o2k import o2k_workload
from shadowtime.workload.o2k_tables import SHARED_PROCS

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.workload import Workload
    from shadowtime.workload.o2k_check import O2kCheck

WHOLE = "whole"
"""All jobs on the twelve hosts; dedicated jobs take a whole host."""
SPACE_SHARED = "space-shared"
"""The same, but dedicated jobs share hosts by what they ask for."""
SHARED_JOBS = "shared jobs"
"""Jobs of at most 64 processors on the nine hosts that are not for dedicated ones."""

FOR_DEDICATED = 3


@dataclass(frozen=True, eq=False, kw_only=True)
class World:
    """A workload on a machine; jobs of the month itself are scored."""

    workload: Workload
    cluster: Cluster
    window: Window


@dataclass(frozen=True, eq=False, kw_only=True)
class DrawnMonth:
    """One draw of a month in its three worlds, and how it compares with the paper's tables."""

    worlds: dict[str, World]
    check: O2kCheck


def draw_month(month: str, seed: int) -> DrawnMonth:
    """A month between the ends of its neighbours.

    Examples
    --------
    >>> drawn = draw_month("Feb03", 1)
    >>> [len(world.cluster.hosts) for world in drawn.worlds.values()]
    [12, 12, 9]
    """
    drawn = o2k_workload(MONTH_NAMES[month], seed=seed)
    jobs, machine = drawn.workload, example("o2k")
    window = Window(since=drawn.window[0], until=drawn.window[1])
    sharing = machine.replace(options={**machine.options, "dedicated_exclusive": False})
    rest = machine.replace(hosts=machine.hosts[FOR_DEDICATED:])
    narrow = jobs.take(jobs.procs <= SHARED_PROCS)
    return DrawnMonth(
        worlds={
            WHOLE: World(workload=jobs, cluster=machine, window=window),
            SPACE_SHARED: World(workload=jobs, cluster=sharing, window=window),
            SHARED_JOBS: World(workload=narrow, cluster=rest, window=window),
        },
        check=drawn.check,
    )


def subjects() -> list[Subject]:
    """The months as the report and the result folder know them: the first draw of each."""
    found = []
    for month in MONTH_NAMES:
        world = draw_month(month, 1).worlds[WHOLE]
        found.append(Subject(label=month, workload=world.workload, cluster=world.cluster))
    return found
