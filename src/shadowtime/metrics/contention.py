"""Jobs that slowed each other down: the time lost, jobs killed for it, jobs that finished.

For jobs on nodes the slowdown and the wait are also reported over finished jobs: one that is killed
at its limit ends early and would look quick (Guim et al. 2009, section 8.3; spec: algorithms 4.9).
"""

from __future__ import annotations

import numpy as np

from shadowtime.metrics import added, statistics
from shadowtime.metrics.jobs import Jobs
from shadowtime.schedule import Schedule
from shadowtime.types import AnyArray, Floats
from shadowtime.workload import Workload

TOLD = ("mean", "p95")


def penalised_share(schedule: Schedule, workload: Workload) -> Floats:
    """Time lost to others over the work, by job; of killed jobs that of the time they had."""
    run = np.maximum(workload.effective_run, 1)
    if schedule.penalised_exact is not None:
        exact = schedule.penalised_exact
        lost: Floats = exact[:, 0] / exact[:, 1]
    else:
        assert schedule.penalised is not None
        lost = schedule.penalised.astype(np.float64)
    return lost / run


def contention_metrics(schedule: Schedule, workload: Workload, which: AnyArray) -> dict[str, float]:
    """The effect of contention on the jobs ``which``; nothing if a schedule does not record it.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 0, 0], run=[10, 10, 20], procs=[1, 1, 1],
    ...                    request=[20, 12, 20], recorded_start=[0, 0, 0])
    >>> s = Schedule.recorded(w).replace(
    ...     end=np.array([15, 12, 20]), killed=np.array([0, 1, 1], np.int8),
    ...     penalised=np.array([5, 4, 1]))
    >>> m = contention_metrics(s, w, np.ones(3, bool))
    >>> m["finished"], m["killed_contention"], m["killed_anyway"], m["penalised_mean"]
    (1, 1, 1, 0.5)
    """
    if schedule.penalised is None or "killed" in schedule.missing:
        return {}
    killed = which & (schedule.killed == 1)
    tight = workload.run >= workload.request
    finished = which & (schedule.killed == 0)
    result: dict[str, float] = {
        "finished": int(finished.sum()),
        "killed_contention": int((killed & ~tight).sum()),
        "killed_anyway": int((killed & tight).sum()),
    }
    jobs = Jobs.of(schedule, finished)
    work = workload.effective_run[finished]
    alone = Jobs(wait=jobs.response - work, run=work, procs=jobs.procs)
    columns = (
        ("penalised", "", penalised_share(schedule, workload)[finished]),
        ("bsld_finished", "", jobs.bounded()),
        ("bsld_finished_alone", "", alone.bounded()),
        ("wait_finished", "_s", jobs.wait),
    )
    for stem, unit, values in columns:
        summed = statistics.summary(values)
        result |= {f"{stem}_{name}{unit}": summed[name] for name in TOLD if name in summed}
    return result


_WORDS = {"mean": ("Mean", "mean"), "p95": ("95th percentile of the", "95th percentile")}
_SINGLE: tuple[tuple[str, str, str, added.Better, str], ...] = (
    ("finished", "Finished jobs", "jobs", "higher",
     "scored jobs that did all their work before their limit"),
    ("killed_contention", "Killed by contention", "jobs", "lower",
     "scored jobs with run < request, unfinished at their limit: others slowed them down"),
    ("killed_anyway", "Killed anyway", "jobs", "lower",
     "scored jobs with run >= request, unfinished at their limit: any penalty kills them"),
)  # fmt: skip
_COLUMNS = (
    ("penalised", "", "penalised run time", "share",
     "time lost to jobs on the same nodes over the run time alone"),
    ("bsld_finished", "", "bounded slowdown of finished jobs", "",
     "max(1, response / max(end - start, 10 s))"),
    ("bsld_finished_alone", "", "bounded slowdown of finished jobs against their run alone", "",
     "max(1, response / max(run, 10 s)), run as in the log, cut at the request"),
    ("wait_finished", "_s", "wait of finished jobs", "s", "start - submit"),
)  # fmt: skip


def described() -> list[added.Metric]:
    """These metrics, for the registry."""
    found = [
        added.Metric(name=name, label=label, unit=unit, better=better, group="bandwidth",
               definition=definition)
        for name, label, unit, better, definition in _SINGLE
    ]  # fmt: skip
    for stem, suffix, noun, unit, meaning in _COLUMNS:
        for statistic, (word, rule) in _WORDS.items():
            found.append(
                added.Metric(
                    name=f"{stem}_{statistic}{suffix}",
                    label=f"{word} {noun}",
                    unit=unit,
                    better="lower",
                    group="bandwidth",
                    definition=f"{meaning}; {rule} over the finished jobs of the window",
                )
            )
    return found
