"""Representative stretches of a long log: a first answer early, with its larger uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shadowtime.types import UNKNOWN, Floats
from shadowtime.workload import Workload

DAY = 86_400
LENGTHS = (7 * DAY, DAY, DAY // 4)
"""A week, or less where the weeks hold too many jobs."""
COUNT = 3
MOST_JOBS = 6_000
"""Jobs of all stretches together, that the first answer takes a minute and not an hour."""
LONG_WAIT = 0.05
"""Mean wait, as part of a stretch, beyond which the stretch is too short."""
BEFORE = 0.25
"""Part of a stretch that is simulated before it and not counted, so that the queue fills."""


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """Jobs submitted in [begin, end) count; those before it fill the machine."""

    begin: int
    end: int

    def of(self, jobs: Workload) -> Workload:
        """The jobs that count, and those that were there when it began."""
        early = self.begin - round(BEFORE * (self.end - self.begin))
        known = jobs.recorded_start != UNKNOWN
        until = np.where(known, jobs.recorded_start, jobs.submit) + jobs.effective_run
        chosen = (jobs.submit < self.end) & ((jobs.submit >= early) | (until > early))
        return jobs.take(chosen)

    def counts(self, jobs: Workload) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which jobs count."""
        inside: np.ndarray[tuple[int], np.dtype[np.bool_]] = (jobs.submit >= self.begin) & (
            jobs.submit < self.end
        )
        return inside


def stretches_of(jobs: Workload) -> tuple[Stretch, ...]:
    """Three stretches of the log, of low, usual and high load; none where the log is short.

    Rules
    -----
    The log is cut into weeks (days, quarters of a day) from its first submission. Stretches
    without a job do not count. Of the others, in the order of the work submitted in them, the
    middle ones of three equal parts are taken. Weeks are used where the log has six of them and
    the three hold at most 6,000 jobs, else days, else quarters of a day.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=range(0, 90 * DAY, DAY), run=range(100, 190), procs=[1] * 90)
    >>> [one.begin // DAY for one in stretches_of(jobs)]
    [14, 42, 70]
    >>> stretches_of(jobs.take([0]))
    ()
    """
    if not len(jobs):
        return ()
    first, last = int(jobs.submit[0]), int(jobs.submit[-1])
    for length in LENGTHS:
        count = (last - first) // length
        if count < 2 * COUNT:
            continue
        place = np.minimum((jobs.submit - first) // length, count)
        work = np.bincount(place, jobs.procs * jobs.effective_run, count + 1)[:count]
        number = np.bincount(place, minlength=count + 1)[:count]
        order = np.argsort(work, kind="stable")
        order = order[number[order] > 0]
        if len(order) < 2 * COUNT:
            continue
        chosen = [int(order[(2 * k + 1) * len(order) // (2 * COUNT)]) for k in range(COUNT)]
        if int(number[chosen].sum()) <= MOST_JOBS or length == LENGTHS[-1]:
            return tuple(
                Stretch(begin=first + at * length, end=first + (at + 1) * length) for at in chosen
            )
    return ()


def too_short(
    chosen: tuple[Stretch, ...], jobs: Workload, simulated: Sequence[Floats]
) -> list[str]:
    """A sentence where queues last so long that stretches of this length cannot show them."""
    if not chosen:
        return []
    known = jobs.recorded_start != UNKNOWN
    recorded = (jobs.recorded_start - jobs.submit)[known]
    waits = [float(np.nanmean(one)) for one in simulated if np.isfinite(one).any()]
    longest = max([float(recorded.mean()) if len(recorded) else 0.0, *waits], default=0.0)
    length = chosen[0].end - chosen[0].begin
    if longest <= LONG_WAIT * length:
        return []
    share = f"{100 * longest / length:.0f} %"
    return [
        f"mean waits are {share} of the stretches that --quick simulates: queues build up over a "
        "longer time, so that waits and effects come out too small; run the whole log"
    ]


def in_words(chosen: tuple[Stretch, ...]) -> str:
    """What was simulated, for a reader.

    Examples
    --------
    >>> in_words((Stretch(begin=0, end=7 * DAY),) * 3)
    '3 weeks of low, usual and high load'
    """
    length = chosen[0].end - chosen[0].begin
    unit = {7 * DAY: "weeks", DAY: "days"}.get(length, "quarters of a day")
    return f"{len(chosen)} {unit} of low, usual and high load"
