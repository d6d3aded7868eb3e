"""When a job would have started if something had been different, who else, and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.study.counterfactual.chain import Link, chain
from shadowtime.study.counterfactual.pair import LATE, Pair

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.schedule import Schedule
    from shadowtime.study.compare import Engine
    from shadowtime.study.counterfactual.variation import Variation
    from shadowtime.workload import Workload

SHOWN = 5
"""Jobs named of those that start earlier, and of those that start later."""


@dataclass(frozen=True, kw_only=True)
class Moved:
    """A job that starts at another time: its starts in both runs."""

    job: int
    before: int
    after: int


@dataclass(frozen=True, kw_only=True)
class Otherwise:
    """A run with something changed (``without``, ``instead``) and the run as it was; -1: no start.

    ``earlier`` and ``later`` count the other jobs, ``largest_*`` are those that gain and lose most;
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
    earlier: int
    later: int
    earlier_s: int
    later_s: int
    """Sums of seconds, of jobs that start in both runs."""
    start_now: int
    start_no_more: int
    """Other jobs that start in only one of the runs."""
    largest_earlier: tuple[Moved, ...]
    largest_later: tuple[Moved, ...]
    chain: tuple[Link, ...]

    @property
    def affected(self) -> int:
        """How many other jobs start at another time, or in one run only."""
        return self.earlier + self.later + self.start_now + self.start_no_more

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {**asdict(self), "affected": self.affected}


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
    varied = variation.apply(workload, job, cluster)
    made = engine(varied, cluster, policy)
    row = int(np.flatnonzero(workload.job_id == job)[0])
    changed = variation.gone(workload, job)
    taken_away = int(changed.sum())
    changed[row] = bool(variation.instead)
    pair = Pair.of(schedule, made, changed)
    before, after = pair.before.start, pair.after.start
    both = pair.moved & (before < LATE) & (after < LATE)
    both[row] = False
    rows = np.flatnonzero(both)
    shift = (after - before)[rows]
    rows, shift = (each[np.argsort(shift, kind="stable")] for each in (rows, shift))
    one_run = pair.moved & ((before == LATE) != (after == LATE))
    one_run[row] = False
    new_row = int(pair.after.row[row])

    def moved(each: int) -> Moved:
        return Moved(
            job=int(workload.job_id[each]), before=int(before[each]), after=int(after[each])
        )

    target = row
    if changed[row]:
        most = rows[[0, -1]] if len(rows) else rows
        target = max(most.tolist(), key=lambda one: abs(int(after[one] - before[one])), default=row)
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
        earlier=int((shift < 0).sum()),
        later=int((shift > 0).sum()),
        earlier_s=-int(shift[shift < 0].sum()),
        later_s=int(shift[shift > 0].sum()),
        start_now=int((one_run & (before == LATE)).sum()),
        start_no_more=int((one_run & (after == LATE)).sum()),
        largest_earlier=tuple(moved(one) for one in rows[shift < 0][:SHOWN].tolist()),
        largest_later=tuple(moved(one) for one in rows[shift > 0][::-1][:SHOWN].tolist()),
        chain=chain(pair, target) if target != row or pair.moved[row] else (),
    )
