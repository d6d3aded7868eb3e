"""Running jobs in the order of their limits' ends, and the machine after so many of them ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.slurm.ask import Ask
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.usage import Usage


def in_end_order(running: Sequence[Job]) -> list[Job]:
    """Running jobs by their limit's end; equal ends in record order."""
    return sorted(running, key=lambda job: (job.ends_by, job.record))


class Ends:
    """What is free after the first k running jobs have ended, k from 0 on.

    Every job of a pass looks at the same ends, so each state is made once, when it is asked for.
    """

    __slots__ = ("_after", "_first", "_idle", "jobs", "masks", "times", "usage")

    def __init__(self, running: Sequence[Job], usage: Usage) -> None:
        self.jobs = in_end_order(running)
        self.usage = usage
        self.times = [job.ends_by for job in self.jobs]
        self.masks = [job.nodes for job in self.jobs]
        self._after: list[Usage] = []
        self._idle: list[int] = []
        self._first: dict[tuple[int, int], int] = {}

    def after(self, count: int) -> Usage:
        """The usage after so many ends; shared, not to be changed."""
        known = self._after
        if not known:
            known.append(self.usage.copy())
        while len(known) <= count:
            made = known[-1].copy()
            made.give(self.jobs[len(known) - 1].holding)
            known.append(made)
        return known[count]

    def idle(self, count: int) -> int:
        """The nodes without any job after so many ends."""
        if not self._idle:
            busy = 0
            found = [0] * (len(self.masks) + 1)
            for place in range(len(self.masks), -1, -1):
                found[place] = busy
                if place:
                    busy |= self.masks[place - 1]
            everything = self.usage.idle | busy
            self._idle = [everything & ~held for held in found]
        return self._idle[count]

    def first(self, ask: Ask, nodes: int) -> int:
        """A lower bound: before so many ends the job fits on no part of ``nodes``.

        One more than there are ends where it never could.
        """
        key = (id(ask), nodes)
        known = self._first.get(key)
        if known is not None:
            return known
        low, high = 0, len(self.jobs) + 1
        while low < high:
            middle = (low + high) // 2
            if ask.exclusive:
                fits = could_fit(self.usage, ask, nodes, idle=self.idle(middle))
            else:
                fits = could_fit(self.after(middle), ask, nodes)
            low, high = (low, middle) if fits else (middle + 1, high)
        self._first[key] = low
        return low


def could_fit(usage: Usage, ask: Ask, nodes: int, *, idle: int | None = None) -> bool:
    """False where no choice on ``nodes`` or on a part of them can serve the job.

    Slurm's choice is greedy and may fail where another would do, or on more nodes and not on
    fewer. This test counts nodes and cpus alone, so that it never turns true when nodes or what is
    free on them are taken away.
    """
    if ask.exclusive:
        able = nodes & (usage.idle if idle is None else idle)
    else:
        if usage.total < ask.min_cpus:
            return False
        able = nodes & usage.able(ask.floor)
    if ask.required & ~able:
        return False
    count = able.bit_count()
    if count < ask.min_nodes:
        return False
    return min(count, max(ask.max_nodes, ask.min_nodes)) * usage.machine.most_cpus >= ask.min_cpus
