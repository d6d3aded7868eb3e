"""Several simulated runs of one experiment, and what their mean waits imply for one real run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Site
from shadowtime.engine import simulate
from shadowtime.errors import UsageError
from shadowtime.metrics.intervals import LEVEL, Interval, quantile
from shadowtime.schedule import Schedule
from shadowtime.study.compare import Engine
from shadowtime.study.site.stretches import Stretch, in_words
from shadowtime.types import AnyArray, Floats, Ints, Reason
from shadowtime.workload import Workload, site_requests
from shadowtime.workload.resample import JITTER, STRETCH, resample_users, shaken

PHASES = 6
"""Runs by default: the number of offsets of Slurm's passes."""
MODEL_ERROR = 0.02
"""The model's own error, as a share of the mean response time.

Found on recorded runs of a real Slurm (benchmarks/whatif_page.py): with it 95 of 100 groups lie
within their ranges."""


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """How an experiment is repeated: offsets of the passes, and copies of the log.

    Rules
    -----
    Run k has phase k of ``phases`` and, with ``shake`` or ``resample``, copy k of the log, the
    same copy under every change. Run 0 is the unmodified log. A shake moves submissions by at most
    a hundredth of the mean run time (1 to 60 s) and run times by 1 %, so that a log in compressed
    time is shaken no harder than one of a real machine.

    Examples
    --------
    >>> Repeats(phases=3).count, str(Repeats(phases=3))
    (3, '3 runs with passes at other offsets')
    """

    phases: int = PHASES
    shake: bool = False
    resample: bool = False
    seed: int = 1
    stretches: tuple[Stretch, ...] = ()
    """Parts of the log that are run instead of the whole: run k takes stretch k."""

    def __post_init__(self) -> None:
        if self.phases < 1:
            raise UsageError(f"--phases {self.phases}: give 1 or more")
        if self.shake and self.resample:
            raise UsageError(
                "shake the log or resample its users, not both: they answer different questions"
            )
        if self.seed < 0:
            raise UsageError(f"the seed is {self.seed}; give a whole number from 0")

    @property
    def count(self) -> int:
        """Runs of each experiment."""
        return self.phases

    def copy(self, workload: Workload, number: int, *, shake: bool = False) -> Workload:
        """Copy ``number`` of the log; 0 is the unmodified log."""
        if self.stretches:
            return self.stretch(number).of(workload)  # type: ignore[union-attr]
        if number == 0 or not (self.shake or self.resample or shake):
            return workload
        rng = np.random.default_rng([self.seed, number])
        if self.resample:
            return resample_users(workload, seed=rng)
        mean = float(workload.effective_run.mean()) if len(workload) else 0.0
        jitter = round(min(max(mean / 100, 1.0), JITTER))
        return shaken(workload, seed=rng, jitter=jitter, stretch=STRETCH)

    def stretch(self, number: int) -> Stretch | None:
        """The part of the log of run ``number``; None: the whole."""
        return self.stretches[number % len(self.stretches)] if self.stretches else None

    def phased(self, policy: Any, number: int) -> Any:
        """The policy of run ``number``: Slurm's passes at the offset of that run."""
        if not hasattr(policy, "phase"):
            return policy
        return replace(policy, phase=number, phases=self.phases)

    def __str__(self) -> str:
        if self.stretches:
            return f"{self.phases} runs on {in_words(self.stretches)}"
        if self.phases == 1:
            return "one run"
        kind = "on shaken inputs" if self.shake else "on resampled users" if self.resample else ""
        return f"{self.phases} runs {kind or 'with passes at other offsets'}"


@dataclass(frozen=True, eq=False)
class Trial:
    """One simulated run."""

    workload: Workload
    schedule: Schedule
    stretch: Stretch | None = None
    """The part of the log whose jobs count; None: all."""

    @cached_property
    def counted(self) -> AnyArray:
        """Jobs whose wait counts: started, not cancelled in the queue, in the stretch."""
        found = (self.schedule.start >= 0) & site_requests.counted_jobs(self.workload)
        return found if self.stretch is None else found & self.stretch.counts(self.workload)

    @cached_property
    def waits(self) -> Floats:
        """Seconds, nan where a job does not count."""
        return np.where(self.counted, self.schedule.wait, np.nan)

    def waits_of(self, workload: Workload) -> Floats:
        """The waits in the order of another copy of the same jobs: a shaken one has its own."""
        mine = self.workload.job_id
        if np.array_equal(mine, workload.job_id):
            return self.waits
        place = np.argsort(mine)
        found: Floats = self.waits[place[np.searchsorted(mine[place], workload.job_id)]]
        return found

    def backfilled(self, jobs: Ints) -> float:
        """Share of these jobs' starts that backfill made; nan where the policy has none."""
        made = self.schedule.reason[self.counted & np.isin(self.schedule.job_id, jobs)]
        known = made != Reason.RECORDED
        return float((made[known] == Reason.BACKFILLED).mean()) if known.any() else math.nan


def run_trials(
    workload: Workload,
    site: Site,
    policy: Any,
    repeats: Repeats,
    *,
    engine: Engine = simulate,
    advance: Callable[[], None] = lambda: None,
) -> list[Trial]:
    """Simulate a policy once for each repeat.

    A policy without phases (all but ``slurm``) is run on shaken copies, as nothing else differs
    from run to run.
    """
    policy = as_measured(policy, workload, site)
    found = []
    for number in range(repeats.count):
        jobs = repeats.copy(workload, number, shake=not hasattr(policy, "phase"))
        at = repeats.phased(policy, number)
        found.append(Trial(jobs, engine(jobs, cast("Cluster", site), at)))
        advance()
    return found


def as_measured(policy: Any, workload: Workload, site: Site) -> Any:
    """The policy with what it reads from a log fixed, so that no copy of the log changes it."""
    fixed = getattr(policy, "measured_on", None)
    return policy if fixed is None else fixed(workload, site)


def predicted(means: Sequence[float] | Floats, run: float = 0.0) -> Interval | None:
    """The mean over the runs and the range in which one more run is expected.

    Rules
    -----
    The spread is that of the runs, as for one further run, widened by MODEL_ERROR of the mean
    response time (wait and ``run``, the mean run time); Student's factor at 95 %. The range holds
    every run that was made, and no wait is below 0. A mean over no job is left out. A single
    run has no spread of its own: its range is the model's error alone.

    Examples
    --------
    >>> found = predicted([100.0, 104.0, 96.0], run=60.0)
    >>> found.mean, round(found.low, 1), round(found.high, 1)
    (100.0, 75.8, 124.2)
    """
    column = np.asarray(means, np.float64)
    column = column[np.isfinite(column)]
    n = len(column)
    if n == 0:
        return None
    mean = float(column.mean())
    own = float(column.var(ddof=1)) * (1 + 1 / n) if n > 1 else 0.0
    factor = quantile((1 + LEVEL) / 2, n - 1 if n > 1 else 1000)
    half = factor * math.hypot(math.sqrt(own), MODEL_ERROR * (mean + run))
    low = max(0.0, min(mean - half, float(column.min())))
    return Interval(mean, low, max(mean + half, float(column.max())), n)


def mean_of(values: Floats) -> float:
    """The mean of what is known; nan over nothing."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan
