"""What the verdict and its causes measure: a recorded and a simulated schedule of the same jobs."""

from __future__ import annotations

from typing import cast

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Site
from shadowtime.metrics import Window, loss_of_capacity
from shadowtime.schedule import Schedule, timeline
from shadowtime.schedule.runs import runs, started, waits
from shadowtime.study.expected_error import expected
from shadowtime.study.site.coverage import PER_SETTING, coverage
from shadowtime.study.trust import Trust, findings_of, unknown_share
from shadowtime.types import UNKNOWN, AnyArray, Ints
from shadowtime.workload import Workload
from shadowtime.workload.scale import offered_load

PARTS = 12
"""The number of parts of a log in which its machine is measured."""
BUSY_FOR = 10
"""Mean run times with a queue that a part needs before its machine is judged."""
HELD_FOR = 0.01
"""Mean run times from submission to eligibility above which a job counts as held."""


def trust_of(
    workload: Workload,
    cluster: Cluster,
    recorded: Schedule,
    simulated: Schedule,
    *,
    policy: str,
    window: Window,
) -> Trust:
    """The verdict over a simulated schedule beside the recorded one of the same jobs.

    Only scored jobs with a start, recorded and simulated, are compared.
    """
    which = (workload.recorded_start != UNKNOWN) & window.mask(workload.submit)
    return trust_of_waits(
        workload,
        cluster,
        recorded,
        simulated,
        simulated.wait[None, :].astype(float),
        which=which & started(simulated),
        policy=policy,
        window=window,
    )


def trust_of_waits(
    workload: Workload,
    cluster: Cluster,
    recorded: Schedule,
    simulated: Schedule,
    waits: AnyArray,
    *,
    which: AnyArray,
    policy: str,
    window: Window,
) -> Trust:
    """The verdict over simulated waits, a row for each run, nan where a job does not start.

    ``which`` are the jobs that are compared; ``simulated`` is one of the runs.
    """
    measured = causes(workload, cluster, recorded, simulated, window=window)
    found = expected(workload, recorded.wait, waits, which=which, unknown=unknown_share(measured))
    return Trust(found, findings_of(measured), policy)


def causes(
    workload: Workload,
    cluster: Cluster,
    recorded: Schedule,
    simulated: Schedule,
    *,
    window: Window,
) -> dict[str, float]:
    """The measures of every cause rule that this log allows."""
    n = len(workload)
    cleaning = workload.cleaning
    scored = window.mask(workload.submit)
    unknown = scored & (workload.recorded_start == UNKNOWN)
    lines = n + sum(count for rule, count in cleaning.items() if rule.endswith("_dropped"))
    overrun = sum(cleaning.get(f"overrun_{verb}", 0) for verb in ("cut", "extended", "kept"))
    found = {
        "no_start": float(unknown.sum()) / max(int(scored.sum()), 1),
        "no_request": cleaning.get("request_from_run", 0) / n,
        "overrun": overrun / n,
        "dropped": (lines - n) / lines,
        # On a site partitions are modelled, and jobs wait until they were eligible.
        **({} if cluster.shape == "site" else {**_held(workload), **_elsewhere(workload)}),
        **_machine(workload, cluster, recorded),
    }
    if cluster.shape == "site":
        lacking = coverage(workload, cast("Site", cluster))
        found["not_modelled"] = lacking.core_share
        found["settings"] = min(PER_SETTING * lacking.settings, 1.0)
    if cluster.shape == "pool":
        found["idle_while_waiting"] = loss_of_capacity(
            recorded, workload, cluster, window=window
        ) - loss_of_capacity(simulated, workload, cluster, window=window)
    if workload.submit[-1] > workload.submit[0]:
        found["offered_load"] = offered_load(workload, cluster)["procs"]
    return found


def _scale(workload: Workload) -> float:
    """The mean run time: short and long are measured in it."""
    return float(workload.effective_run.mean())


def _held(workload: Workload) -> dict[str, float]:
    """Jobs that were not allowed to start at submission, according to the log."""
    held = np.zeros(len(workload), bool)
    known = False
    if "eligible" in workload.extra:
        known = True
        held |= workload.extra["eligible"] > workload.submit + HELD_FOR * _scale(workload)
    before = workload.extra.get("preceding_job")
    if before is not None and len(np.unique(before[before > 0])) > 1:  # else a filler
        known = True
        held |= np.isin(before, workload.job_id) & (before != workload.job_id)
    return {"held": float(held.mean())} if known else {}


def _elsewhere(workload: Workload) -> dict[str, float]:
    known = workload.partition[workload.partition != UNKNOWN]
    if len(known) == 0:
        return {}
    return {"elsewhere": 1 - float(np.unique(known, return_counts=True)[1].max()) / len(known)}


def _machine(workload: Workload, cluster: Cluster, recorded: Schedule) -> dict[str, float]:
    """What the log's own starts imply for the size of its machine."""
    going = runs(recorded)
    if len(going) == 0:
        return {}
    queue = waits(recorded, going)
    at = timeline.instants(going.since, going.until, queue.since)
    used = timeline.totals(at, going.since, going.until, recorded.procs[going.row])
    seconds = np.diff(at, append=at[-1])
    work = float(used @ seconds)
    beyond = float(np.maximum(used - cluster.procs, 0) @ seconds)
    waiting = timeline.totals(at, queue.since, queue.until, np.ones(len(queue), np.int64)) > 0
    return {
        "beyond_machine": beyond / work if work else 0.0,
        **_changed(at, used, seconds * waiting, least=BUSY_FOR * _scale(workload)),
    }


def _changed(at: Ints, used: Ints, busy: Ints, *, least: float) -> dict[str, float]:
    """The 95th percentile of processors in use while jobs wait, in equal parts of the log."""
    edges = np.linspace(at[0], at[-1], PARTS + 1)
    levels = []
    for k in range(PARTS):
        part = (at >= edges[k]) & (at < edges[k + 1]) & (busy > 0)
        if int(busy[part].sum()) >= least:
            order = np.argsort(used[part], kind="stable")
            until = np.cumsum(busy[part][order])
            place = int(np.searchsorted(until, 0.95 * until[-1]))
            levels.append(int(used[part][order][place]))
    if len(levels) < 2:
        return {}
    return {"machine_changed": 1 - min(levels) / max(max(levels), 1)}
