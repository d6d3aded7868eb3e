"""When a job would have started if something had been different, who else, and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.schedule import Schedule
from shadowtime.study.compare import Engine
from shadowtime.study.counterfactual.chain import LATE, Link, Pair, chain
from shadowtime.types import Ints
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from shadowtime.study.counterfactual.variation import Variation

SHOWN = 5
"""Jobs named of those that start earlier, and of those that start later."""


@dataclass(frozen=True, kw_only=True)
class Moved:
    """A job that starts at another time: its starts in both runs."""

    job: int
    before: int
    after: int


@dataclass(frozen=True, kw_only=True)
class Others:
    """Which jobs, but the one in question, start at another time in a run with a change.

    ``earlier`` and ``later`` count them, ``largest_*`` are those that gain and lose most.
    """

    earlier: int
    later: int
    earlier_s: int
    later_s: int
    """Sums of seconds, of jobs that start in both runs."""
    start_now: int
    start_no_more: int
    """Jobs that start in only one of the runs."""
    largest_earlier: tuple[Moved, ...]
    largest_later: tuple[Moved, ...]

    @property
    def affected(self) -> int:
        """How many other jobs start at another time, or in one run only."""
        return self.earlier + self.later + self.start_now + self.start_no_more

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {**asdict(self), "affected": self.affected}


@dataclass(frozen=True, kw_only=True)
class Absence(Others):
    """A job that is not there, and what that means for the others."""

    job: int


@dataclass(frozen=True, kw_only=True)
class Otherwise(Others):
    """A run with something changed (``without``, ``instead``) and the run as it was; -1: no start.

    ``chain`` leads from the change to the job or, if the job itself was changed, to the other job
    that is affected most.
    """

    without: tuple[str, ...]
    instead: tuple[tuple[str, str], ...]
    job: int
    submit_before: int
    submit_after: int
    before: int
    after: int
    killed: bool
    """It is stopped at its limit, and was not before."""
    taken_away: int
    chain: tuple[Link, ...]


def otherwise(
    workload: Workload,
    cluster: Cluster,
    policy: Any,
    schedule: Schedule,
    job: int,
    variation: Variation,
    *,
    engine: Engine,
) -> Otherwise:
    """Simulate the workload with a variation, and compare it with the schedule as it was.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.engine import simulate
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.study.counterfactual.variation import Variation
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1, 2], run=[3, 5, 4], procs=[3, 4, 4])
    >>> pool, easy = Cluster.pool(4), parse_policy("easy")
    >>> found = otherwise(jobs, pool, easy, simulate(jobs, pool, easy), 3,
    ...                   Variation.of(without=1), engine=simulate)
    >>> found.before, found.after, [(one.job, str(one.via)) for one in found.chain]
    (8, 6, [(1, 'changed'), (2, 'held'), (3, 'held')])
    """
    made = engine(variation.apply(workload, job, cluster), cluster, policy)
    row = int(np.flatnonzero(workload.job_id == job)[0])
    changed = variation.gone(workload, job)
    taken_away = int(changed.sum())
    changed[row] = bool(variation.instead)
    pair = Pair.of(schedule, made, changed)
    others = _others(pair, row)
    new_row = int(pair.after.row[row])
    target = row
    if changed[row]:
        most = [*others["largest_earlier"][:1], *others["largest_later"][:1]]
        ids = [one.job for one in sorted(most, key=lambda one: -abs(one.after - one.before))]
        target = int(np.flatnonzero(workload.job_id == ids[0])[0]) if ids else row
    return Otherwise(
        without=variation.without,
        instead=variation.instead,
        job=job,
        submit_before=int(schedule.submit[row]),
        submit_after=int(made.submit[new_row]),
        before=int(schedule.start[row]),
        after=int(made.start[new_row]),
        killed=bool(made.killed[new_row] and not schedule.killed[row]),
        taken_away=taken_away,
        chain=chain(pair, target) if target != row or pair.moved[row] else (),
        **others,
    )


def absence(
    workload: Workload,
    cluster: Cluster,
    policy: Any,
    schedule: Schedule,
    job: int,
    *,
    engine: Engine,
) -> Absence:
    """What the other jobs would have done without one of them."""
    gone = workload.job_id == job
    made = engine(workload.take(~gone), cluster, policy)
    return Absence(job=job, **_others(Pair.of(schedule, made, gone), None))


def _others(pair: Pair, row: int | None) -> dict[str, Any]:
    """The fields of :class:`Others`, of all jobs but the one at a row and changed ones."""
    before, after, ids = pair.before.start, pair.after.start, pair.before.schedule.job_id
    moved = pair.moved.copy()
    if row is not None:
        moved[row] = False
    rows = np.flatnonzero(moved & (before < LATE) & (after < LATE))
    shift = (after - before)[rows]
    order = np.argsort(shift, kind="stable")
    rows, shift = rows[order], shift[order]

    def named(some: Ints) -> tuple[Moved, ...]:
        return tuple(
            Moved(job=int(ids[one]), before=int(before[one]), after=int(after[one]))
            for one in some[:SHOWN].tolist()
        )

    return {
        "earlier": int((shift < 0).sum()),
        "later": int((shift > 0).sum()),
        "earlier_s": -int(shift[shift < 0].sum()),
        "later_s": int(shift[shift > 0].sum()),
        "start_now": int((moved & (before == LATE)).sum()),
        "start_no_more": int((moved & (after == LATE)).sum()),
        "largest_earlier": named(rows[shift < 0]),
        "largest_later": named(rows[shift > 0][::-1]),
    }
