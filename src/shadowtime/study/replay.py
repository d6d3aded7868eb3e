"""replay(): what the machine did beside what the simulation does with the same jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shadowtime.engine import simulate
from shadowtime.errors import UsageError
from shadowtime.metrics import Window, classify, measure
from shadowtime.schedule import Schedule
from shadowtime.study.replay_measures import agreement, causes
from shadowtime.study.trust import WITHIN, Trust, judge
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.cluster import Cluster
    from shadowtime.study.compare import Engine
    from shadowtime.types import AnyArray, Ints
    from shadowtime.workload import Workload

KINDS = ("size", "runtime", "hour")
Release = Literal["submit", "eligible"]


@dataclass(frozen=True, kw_only=True)
class ReplayRow:
    """One class of jobs, recorded and simulated; waits in seconds."""

    kind: str
    label: str
    jobs: int
    recorded_mean_s: float
    simulated_mean_s: float
    recorded_median_s: float
    simulated_median_s: float
    difference_median_s: float
    """Median over the jobs of |simulated - recorded start|."""
    within: float
    """Share of the jobs that start within 10 minutes of their recorded start."""

    def as_dict(self) -> dict[str, Any]:
        """A flat row."""
        row = dict(vars(self))
        return {"kind": row.pop("kind"), "class": row.pop("label"), **row}


@dataclass(frozen=True, eq=False, kw_only=True)
class Replay:
    """A log's own starts, a policy's, and how far a what-if can be trusted."""

    workload: Workload
    cluster: Cluster
    window: Window
    policy: str
    parameters: Mapping[str, Any]
    release: Release
    recorded: Schedule
    simulated: Schedule
    recorded_metrics: Mapping[str, float]
    simulated_metrics: Mapping[str, float]
    whole: ReplayRow
    rows: tuple[ReplayRow, ...]
    trust: Trust

    def as_dict(self) -> dict[str, Any]:
        """What ``--json`` adds to the common object."""
        return {
            "release": self.release,
            **self.trust.as_dict(),
            "all": self.whole.as_dict(),
            "classes": [row.as_dict() for row in self.rows],
        }


def replay(
    workload: Workload,
    cluster: Cluster,
    policy: Any,
    *,
    window: Window | None = None,
    release: Release = "submit",
    engine: Engine = simulate,
) -> Replay:
    """Simulate a log under the policy its machine is said to have run, and compare the starts.

    Rules
    -----
    Only jobs with a recorded start are compared. ``release="eligible"`` lets jobs arrive when the
    log says that they became eligible, so holds and dependencies are no waits.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(
    ...     submit=[0, 10, 20], run=[900, 900, 900], procs=[1, 1, 1], recorded_start=[0, 900, 2400]
    ... )
    >>> found = replay(jobs, Cluster.pool(1), parse_policy("easy"))
    >>> found.simulated.start.tolist(), round(found.whole.within, 2)
    ([0, 900, 1800], 1.0)
    """
    jobs = released(workload) if release == "eligible" else workload
    known = jobs.recorded_start != UNKNOWN
    if not bool(known.any()):
        raise UsageError(
            f"{workload.name} records no start, so there is nothing to compare with: "
            "use simulate or compare"
        )
    scored = window or Window.all()
    recorded, simulated = Schedule.recorded(jobs), engine(jobs, cluster, policy)
    which = known & scored.mask(jobs.submit)
    if not bool(which.any()):
        raise UsageError(f"no job with a recorded start is scored ({scored}): widen the window")
    measured = agreement(recorded.wait[which], simulated.wait[which])
    measured |= causes(jobs, cluster, recorded, simulated, window=scored)
    return Replay(
        workload=jobs,
        cluster=cluster,
        window=scored,
        policy=str(getattr(policy, "name", type(policy).__name__)),
        parameters=dict(getattr(policy, "parameters", {})),
        release=release,
        recorded=recorded,
        simulated=simulated,
        recorded_metrics=measure(recorded, jobs, cluster, window=scored),
        simulated_metrics=measure(simulated, jobs, cluster, window=scored, only=known),
        whole=_row("all", "all jobs", recorded.wait, simulated.wait, which),
        rows=_rows(jobs, recorded.wait, simulated.wait, which),
        trust=judge(measured),
    )


def released(workload: Workload) -> Workload:
    """The same jobs, each arriving when it became eligible."""
    eligible = workload.extra.get("eligible")
    if eligible is None:
        raise UsageError(
            f"{workload.name} does not say when jobs became eligible: only sacct exports do"
        )
    submit = np.maximum(workload.submit, eligible)
    return workload.replace(submit=submit).sorted()


def _rows(
    workload: Workload, recorded: Ints, simulated: Ints, which: AnyArray
) -> tuple[ReplayRow, ...]:
    found = []
    for kind in KINDS:
        classes = classify(workload, kind)
        for number, label in enumerate(classes.labels):
            members = which & (classes.of == number)
            if bool(members.any()):
                found.append(_row(kind, label, recorded, simulated, members))
    return tuple(found)


def _row(kind: str, label: str, recorded: Ints, simulated: Ints, which: AnyArray) -> ReplayRow:
    a, b = recorded[which], simulated[which]
    apart = np.abs(a - b)
    return ReplayRow(
        kind=kind,
        label=label,
        jobs=len(a),
        recorded_mean_s=float(a.mean()),
        simulated_mean_s=float(b.mean()),
        recorded_median_s=float(np.median(a)),
        simulated_median_s=float(np.median(b)),
        difference_median_s=float(np.median(apart)),
        within=float((apart <= WITHIN).mean()),
    )
