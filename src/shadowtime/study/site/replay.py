"""A site's own scheduler compared with the log: waits by group, passes, reasons, trust."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Site
from shadowtime.engine import simulate
from shadowtime.errors import UsageError
from shadowtime.metrics import Window, intervals, measure
from shadowtime.metrics.groups import BY, groups_of
from shadowtime.metrics.where import Where
from shadowtime.schedule import Schedule
from shadowtime.study.compare import Engine
from shadowtime.study.expected_error import LEAST, expected_error, off_by
from shadowtime.study.replay import Beside, shown_groups, wait_row, wait_rows
from shadowtime.study.site.coverage import NotModelled, coverage
from shadowtime.study.site.trials import Repeats, Trial, mean_of, predicted, run_trials
from shadowtime.study.trust import unknown_share
from shadowtime.study.trust_measures import trust_of_waits
from shadowtime.types import UNKNOWN, AnyArray
from shadowtime.workload import Workload, site_requests

BY_LOG = ("Dependency", "BeginTime", "JobHeldUser", "JobHeldAdmin", "DependencyNeverSatisfied")
"""Reasons that the simulation takes from the log: jobs are considered once they were eligible."""


@dataclass(frozen=True, kw_only=True)
class GroupWait:
    """Mean waits of a group: recorded, simulated, and the range for one run."""

    by: str
    name: str
    jobs: int
    run_mean_s: float
    recorded_s: float
    simulated: intervals.Interval
    error: float | None = None
    """The expected error of the mean wait, as a share of it; None where jobs are too few."""

    @property
    def within(self) -> bool:
        """True if what was recorded lies in the range."""
        return self.simulated.low <= self.recorded_s <= self.simulated.high

    @property
    def difference(self) -> float:
        """Simulated minus recorded mean wait, over the recorded one."""
        return off_by(self.simulated.mean, self.recorded_s, self.run_mean_s)

    def as_dict(self) -> dict[str, Any]:
        """A row of ``groups``."""
        return {
            "by": self.by,
            "name": self.name,
            "jobs": self.jobs,
            "recorded_wait_mean_s": self.recorded_s,
            "simulated_wait_mean_s": self.simulated.mean,
            "low_s": self.simulated.low,
            "high_s": self.simulated.high,
            "difference": self.difference,
            "expected_error": self.error,
        }


@dataclass(frozen=True, kw_only=True)
class ReasonRow:
    """How many jobs waited for something, in the log and in each simulated run.

    A limit that is reached for a moment concerns every job that waits then: the counts of single
    runs vary widely, and a recorded one must be compared with their range.

    Examples
    --------
    >>> row = ReasonRow(reason="AssocGrpCpuLimit", recorded=5, counts=(0, 9))
    >>> row.simulated, row.low, row.high
    (4.5, 0, 9)
    """

    reason: str
    recorded: int
    counts: tuple[int, ...]
    """By run; none if the policy does not report what jobs wait for."""

    @property
    def simulated(self) -> float | None:
        """The mean over the runs."""
        return sum(self.counts) / len(self.counts) if self.counts else None

    @property
    def low(self) -> int | None:
        """The lowest run's."""
        return min(self.counts, default=None)

    @property
    def high(self) -> int | None:
        """The highest run's."""
        return max(self.counts, default=None)

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "reason": self.reason,
            "recorded": self.recorded,
            "simulated": self.simulated,
            "simulated_low": self.low,
            "simulated_high": self.high,
        }


@dataclass(frozen=True, kw_only=True)
class CancelledJobs:
    """Jobs cancelled while they waited that a run starts before: their runs are drawn."""

    jobs: int
    started: float
    """How many of them start, the mean over the runs."""
    core_share: float
    """Their share of the core-hours that were simulated, the mean over the runs."""
    sensitivity: float
    """How much the mean wait of all other jobs grows if each runs to its limit (0.05: by 5 %)."""

    def as_dict(self) -> dict[str, float]:
        """For ``--json``."""
        return dict(vars(self))


@dataclass(frozen=True, eq=False, kw_only=True)
class SiteReplay(Beside):
    """What a site did, compared with its simulated scheduler."""

    site: Site
    repeats: Repeats
    groups: tuple[GroupWait, ...]
    trials: tuple[Trial, ...]
    backfilled: tuple[float, float, float] | None
    """Share of starts by backfill: recorded (sacct's Flags), and the lowest and highest run's."""
    reasons: tuple[ReasonRow, ...]
    """What jobs waited for (sacct's Reason)."""
    cancelled: CancelledJobs | None = None
    """None where no job was cancelled while it waited."""

    @property
    def simulated(self) -> Schedule:
        """The first run's schedule: one of several, no start of it should be read alone."""
        return self.trials[0].schedule

    @property
    def not_modelled(self) -> tuple[NotModelled, ...]:
        """What the model does not know, with its share of the log."""
        return coverage(self.workload, self.site).found

    def as_dict(self) -> dict[str, Any]:
        """What ``--json`` adds to the common object beside ``groups``."""
        shares = self.backfilled
        return {
            **self.trust.as_dict(),
            "runs": self.repeats.count,
            "all": self.whole.as_dict(),
            "never_started": self.never_started,
            "cancelled": None if self.cancelled is None else self.cancelled.as_dict(),
            "not_modelled": [one.as_dict() for one in self.not_modelled],
            "classes": [row.as_dict() for row in self.rows],
            "backfilled": None
            if shares is None
            else {"recorded": shares[0], "simulated_low": shares[1], "simulated_high": shares[2]},
            "reasons": [one.as_dict() for one in self.reasons],
        }


def replay_site(
    workload: Workload,
    site: Site,
    policy: Any,
    *,
    repeats: Repeats | None = None,
    window: Window | None = None,
    by: Sequence[str] = BY,
    where: Where | None = None,
    engine: Engine = simulate,
    advance: Callable[[], None] = lambda: None,
) -> SiteReplay:
    """Simulate a site's log several times and compare mean waits by group.

    Rules
    -----
    A wait lasts from submission to the (last) start. Jobs cancelled while they waited are in the
    queue until then and are not counted; neither are jobs without a recorded start or, in a run,
    without a simulated one. Ranges: :func:`shadowtime.study.site.trials.predicted`. Single starts
    are never compared. ``where`` selects the jobs that are compared; all are simulated.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> from shadowtime.slurm.policy import SlurmPolicy
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(
    ...     submit=[0, 10, 20], run=[900, 900, 900], procs=[1, 1, 1], recorded_start=[0, 900, 1800]
    ... )
    >>> site = Site(nodes=(Node(name="n1", amounts=(1,)),))
    >>> found = replay_site(jobs, site, SlurmPolicy(), repeats=Repeats(phases=2))
    >>> found.groups[0].recorded_s, found.groups[0].within
    (890.0, True)
    """
    scored = window or Window.all()
    repeats = repeats or Repeats()
    if repeats.shake or repeats.resample:
        raise UsageError("a replay uses the unmodified log: omit --shake and --resample")
    which = (workload.recorded_start != UNKNOWN) & site_requests.counted_jobs(workload)
    which &= scored.mask(workload.submit)
    if where:
        which &= where.mask(workload)
    if not bool(which.any()):
        raise UsageError(
            f"{workload.name}: no job with a recorded start is scored ({scored}), so there is "
            "nothing to compare with: use simulate or compare, or widen the window"
        )
    trials = run_trials(workload, site, policy, repeats, engine=engine, advance=advance)
    waits = np.stack([one.waits_of(workload) for one in trials])
    waits[:, ~which] = np.nan
    ran = ~np.isnan(waits)
    if not bool(ran.any()):
        raise UsageError(f"{workload.name}: the simulation starts none of its jobs: see doctor")
    recorded = Schedule.recorded(workload)
    run = workload.effective_run
    first, machine = trials[0].schedule, cast("Cluster", site)
    compared = which & ran.any(axis=0)
    trust = trust_of_waits(
        workload, machine, recorded, first, waits,
        which=compared, policy=str(getattr(policy, "name", "")), window=scored,
    )  # fmt: skip
    unknown = unknown_share({one.rule.name: one.value for one in trust.findings})
    rows = []
    for group in groups_of(workload, by):
        members = group.members & compared
        if not bool(members.any()):
            continue
        length = float(run[members].mean())
        found = predicted([mean_of(one[members]) for one in waits], length)
        error = expected_error(
            recorded.wait[members], waits[:, members], run[members], unknown=unknown
        )
        assert found is not None
        rows.append(
            GroupWait(
                by=group.by,
                name=group.name,
                jobs=int(members.sum()),
                run_mean_s=length,
                recorded_s=float(recorded.wait[members].mean()),
                simulated=found,
                error=error if int(members.sum()) >= LEAST or group.by == "all" else None,
            )
        )
    mean = np.nan_to_num(np.array([mean_of(column) for column in waits.T]))
    of_all = recorded.wait[compared], mean[compared], run[compared]
    return SiteReplay(
        workload=workload,
        site=site,
        window=scored,
        policy=str(getattr(policy, "name", type(policy).__name__)),
        parameters=dict(getattr(policy, "parameters", {})),
        repeats=repeats,
        groups=tuple(rows),
        whole=wait_row("all", "all jobs", *of_all),
        rows=wait_rows(shown_groups(workload), recorded.wait, mean, run, which=compared),
        trust=trust,
        recorded=recorded,
        trials=tuple(trials),
        recorded_metrics=measure(recorded, workload, machine, window=scored, only=which),
        simulated_metrics=measure(first, workload, machine, window=scored, only=which),
        backfilled=_backfilled(workload, trials, which),
        reasons=_reasons(workload, trials, which),
        never_started=int((which & ~compared).sum()),
        cancelled=_cancelled(workload, trials, which, lambda jobs: run_trials(
            jobs, site, policy, replace(repeats, phases=1), engine=engine
        )[0]),
    )  # fmt: skip


def _cancelled(
    workload: Workload,
    trials: Sequence[Trial],
    which: AnyArray,
    again: Callable[[Workload], Trial],
) -> CancelledJobs | None:
    """What jobs cancelled in the queue add; one more run, to their limits, if any starts."""
    asked = workload.requests
    if asked is None or not bool((asked.cancel_at >= 0).any()):
        return None
    gone = asked.cancel_at >= 0
    begun = [gone & (one.schedule.start >= 0) for one in trials]
    work = (workload.effective_run * workload.procs).astype(float)
    started = float(np.mean([rows.sum() for rows in begun]))
    grows = 0.0
    if started:
        longest = workload.replace(run=np.where(gone, workload.request, workload.run))
        before, after = (
            mean_of(one.waits[which & (one.schedule.start >= 0)])
            for one in (trials[0], again(longest))
        )
        grows = after / before - 1 if before else 0.0
    return CancelledJobs(
        jobs=int(gone.sum()),
        started=started,
        core_share=float(np.mean([work[rows].sum() for rows in begun]) / max(work.sum(), 1.0)),
        sensitivity=grows,
    )


def _backfilled(
    workload: Workload, trials: Sequence[Trial], which: AnyArray
) -> tuple[float, float, float] | None:
    by = workload.extra.get("started_by")
    if by is None or not bool((by[which] > 0).any()):
        return None
    known = by[which & (by > 0)]
    chosen = workload.job_id[which]
    shares = [one.backfilled(chosen) for one in trials]
    return float((known == 2).mean()), min(shares), max(shares)


def _reasons(workload: Workload, trials: Sequence[Trial], which: AnyArray) -> tuple[ReasonRow, ...]:
    """Recorded reasons with counts, and those of the runs where the model has them."""
    column = workload.extra.get("pending_reason")
    if column is None:
        return ()
    numbers = column[which & (column != UNKNOWN)].tolist()
    recorded = Counter(workload.name_of("pending_reason", number) for number in numbers)
    chosen = set(workload.job_id[which].tolist())
    schedules = [one.schedule for one in trials]
    met = [
        Counter(why for job, why in (one.waited_for or {}).items() if job in chosen)
        for one in schedules
    ]
    explained = any(one.waited_for is not None for one in schedules)
    waited = which & (column != UNKNOWN)
    if workload.requests is not None:
        # A requeued job has a begin time too: that one is the simulation's own.
        waited &= workload.requests.begin > workload.submit
    given = Counter(workload.name_of("pending_reason", one) for one in column[waited].tolist())
    rows = []
    for name in sorted({*recorded, *(n for one in met for n in one)},
                       key=lambda each: (-recorded[each], each)):  # fmt: skip
        from_log = given[name] if name in BY_LOG else 0
        counts = tuple(from_log + one[name] for one in met) if explained or from_log else ()
        rows.append(ReasonRow(reason=name, recorded=recorded[name], counts=counts))
    return tuple(rows)
