"""replay(): how close the waits of a simulation are to what the machine did, by group of jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.errors import UsageError
from shadowtime.metrics import Classes, Window, classify, measure
from shadowtime.metrics.groups import groups_of
from shadowtime.metrics.where import Where
from shadowtime.schedule import Schedule, runs
from shadowtime.study.compare import Engine
from shadowtime.study.expected_error import off_by
from shadowtime.study.trust import Trust
from shadowtime.study.trust_measures import trust_of
from shadowtime.types import UNKNOWN, AnyArray
from shadowtime.workload import Workload


@dataclass(frozen=True, kw_only=True)
class WaitRow:
    """One group of jobs, recorded and simulated; times in seconds."""

    kind: str
    label: str
    jobs: int
    run_mean_s: float
    recorded_mean_s: float
    simulated_mean_s: float
    recorded_median_s: float
    simulated_median_s: float

    @property
    def difference(self) -> float:
        """Simulated minus recorded mean wait, over the recorded one."""
        return off_by(self.simulated_mean_s, self.recorded_mean_s, self.run_mean_s)

    def as_dict(self) -> dict[str, Any]:
        """A flat row."""
        row = dict(vars(self))
        head = {"kind": row.pop("kind"), "class": row.pop("label")}
        return {**head, **row, "difference": self.difference}


def wait_row(
    kind: str, label: str, recorded: AnyArray, simulated: AnyArray, run: AnyArray
) -> WaitRow:
    """The row of a group from the waits and run times of its jobs.

    Examples
    --------
    >>> row = wait_row("all", "all jobs", np.array([0, 40]), np.array([0, 80]), np.array([60, 100]))
    >>> row.recorded_mean_s, row.simulated_mean_s, row.difference
    (20.0, 40.0, 1.0)
    """
    return WaitRow(
        kind=kind,
        label=label,
        jobs=len(recorded),
        run_mean_s=float(run.mean()),
        recorded_mean_s=float(recorded.mean()),
        simulated_mean_s=float(simulated.mean()),
        recorded_median_s=float(np.median(recorded)),
        simulated_median_s=float(np.median(simulated)),
    )


def wait_rows(
    groups: Mapping[str, Classes],
    recorded: AnyArray,
    simulated: AnyArray,
    run: AnyArray,
    *,
    which: AnyArray,
) -> tuple[WaitRow, ...]:
    """A row for every group that has jobs among ``which``, in the order of the groups."""
    found = []
    for kind, classes in groups.items():
        for number, label in enumerate(classes.labels):
            members = which & (classes.of == number)
            if bool(members.any()):
                found.append(
                    wait_row(kind, label, recorded[members], simulated[members], run[members])
                )
    return tuple(found)


KINDS = ("size", "runtime", "hour")
NAMED = ("user", "group", "queue", "partition")
"""Kinds of groups that a log may name; they are compared if there are several of a kind."""
Release = Literal["submit", "eligible"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Beside:
    """A log's own starts, a policy's, and how far a what-if can be trusted."""

    workload: Workload
    window: Window
    policy: str
    parameters: Mapping[str, Any]
    recorded: Schedule
    recorded_metrics: Mapping[str, float]
    simulated_metrics: Mapping[str, float]
    whole: WaitRow
    rows: tuple[WaitRow, ...]
    """The waits by every kind of group; of several runs their means."""
    trust: Trust
    never_started: int = 0
    """Scored jobs with a recorded start that the simulation (no run of it) ever starts."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Replay(Beside):
    """The replay of a log on a machine that is no site."""

    cluster: Cluster
    release: Release
    simulated: Schedule
    by: tuple[str, ...] = ()
    """The requested grouping; empty: the default groups."""

    def as_dict(self) -> dict[str, Any]:
        """What ``--json`` adds to the common object."""
        return {
            "release": self.release,
            **self.trust.as_dict(),
            "all": self.whole.as_dict(),
            "never_started": self.never_started,
            "classes": [row.as_dict() for row in self.rows],
        }


def replay(
    workload: Workload,
    cluster: Cluster,
    policy: Any,
    *,
    window: Window | None = None,
    release: Release = "submit",
    where: Where | None = None,
    by: Sequence[str] = (),
    engine: Engine = simulate,
) -> Replay:
    """Simulate a log under the policy its machine ran, and compare the waits.

    Rules
    -----
    Only jobs with a start in both are compared; those that the simulation never starts (limits of a
    site, jobs cancelled in the queue) are counted in ``never_started``. ``release="eligible"`` lets
    jobs arrive when they became eligible according to the log, so holds and dependencies are not
    waits. ``where`` selects the jobs that are compared (all are simulated; the verdict is that of
    all); ``by`` groups their waits instead of the default groups.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(
    ...     submit=[0, 10, 20], run=[900, 900, 900], procs=[1, 1, 1], recorded_start=[0, 900, 2400]
    ... )
    >>> found = replay(jobs, Cluster.pool(1), parse_policy("easy"))
    >>> found.simulated.start.tolist(), round(found.whole.difference, 2)
    ([0, 900, 1800], -0.18)
    """
    jobs = released(workload) if release == "eligible" else workload
    known = jobs.recorded_start != UNKNOWN
    chosen = where.mask(jobs) if where else np.ones(len(jobs), bool)
    if not bool(known.any()):
        raise UsageError(
            f"{workload.name} records no start, so there is nothing to compare with: "
            "use simulate or compare"
        )
    scored = window or Window.all()
    recorded, simulated = Schedule.recorded(jobs), engine(jobs, cluster, policy)
    ran = runs.started(simulated)
    which = known & ran & scored.mask(jobs.submit) & chosen
    if not bool(which.any()):
        raise UsageError(
            f"no job with a recorded and a simulated start is scored ({scored}"
            + (f", {where}" if where else "")
            + "): widen the window"
        )
    name = str(getattr(policy, "name", type(policy).__name__))
    run = jobs.effective_run
    rows = wait_rows(shown_groups(jobs), recorded.wait, simulated.wait, run, which=which)
    if by:
        rows = tuple(
            wait_row(
                one.by, one.name or "none", recorded.wait[mine], simulated.wait[mine], run[mine]
            )
            for one in groups_of(jobs, [kind for kind in by if kind != "all"])
            if bool((mine := one.members & which).any())
        )
    return Replay(
        workload=jobs,
        cluster=cluster,
        window=scored,
        policy=name,
        parameters=dict(getattr(policy, "parameters", {})),
        release=release,
        recorded=recorded,
        simulated=simulated,
        recorded_metrics=measure(
            recorded, jobs, cluster, window=scored, only=chosen if where else None
        ),
        simulated_metrics=measure(simulated, jobs, cluster, window=scored, only=known & chosen),
        never_started=int((known & ~ran & scored.mask(jobs.submit) & chosen).sum()),
        whole=wait_row("all", "all jobs", recorded.wait[which], simulated.wait[which], run[which]),
        rows=rows,
        by=tuple(by),
        trust=trust_of(jobs, cluster, recorded, simulated, policy=name, window=scored),
    )


def shown_groups(workload: Workload) -> dict[str, Classes]:
    """The groups of a replay: by size, run time and hour, and by what the log names."""
    columns = {kind: getattr(workload, kind) for kind in NAMED}
    named = [kind for kind, one in columns.items() if len(np.unique(one[one != UNKNOWN])) > 1]
    return {kind: classify(workload, kind) for kind in (*KINDS, *named)}


def released(workload: Workload) -> Workload:
    """The same jobs, each arriving when it became eligible."""
    eligible = workload.extra.get("eligible")
    if eligible is None:
        raise UsageError(
            f"{workload.name} does not record when jobs became eligible: only sacct exports do"
        )
    submit = np.maximum(workload.submit, eligible)
    return workload.replace(submit=submit).sorted()
