"""Every metric computed the slow, obvious way: plain Python, one job or second at a time."""

from __future__ import annotations

import math
from statistics import fmean

from schedule.tiny_worlds import state
from shadowtime.cluster import Cluster
from shadowtime.schedule import Schedule
from shadowtime.types import Reason
from shadowtime.workload import Workload


def statistics(stem: str, unit: str, values: list[float]) -> dict[str, float]:
    """By the definition: sorted x[ceil(q n) - 1]."""
    ordered = sorted(values)
    n = len(ordered)
    if n == 0:
        return {}
    found = {"mean": fmean(ordered), "max": ordered[-1]}
    for name, percent in (("median", 50), ("p95", 95), ("p99", 99)):
        found[name] = ordered[math.ceil(percent * n / 100) - 1]
    return {f"{stem}_{name}{unit}": value for name, value in found.items()}


def per_job(schedule: Schedule, rows: list[int]) -> dict[str, float]:
    """Distributions and weighted means of some rows."""
    jobs = [
        (
            int(schedule.start[row] - schedule.submit[row]),
            int(schedule.end[row] - schedule.start[row]),
            int(schedule.procs[row]),
        )
        for row in rows
    ]
    result = statistics("wait", "_s", [w for w, _, _ in jobs])
    result |= statistics("response", "_s", [w + r for w, r, _ in jobs])
    result |= statistics("slowdown", "", [(w + r) / r for w, r, _ in jobs])
    bounded = [max(1.0, (w + r) / max(r, 10)) for w, r, _ in jobs]
    result |= statistics("bsld", "", bounded)
    result |= statistics("ppbsld", "", [max(1.0, (w + r) / (p * max(r, 10))) for w, r, p in jobs])
    if jobs:
        paper = [(w + max(r, 10)) / max(r, 10) for w, r, _ in jobs]
        area = sum(p * r for _, r, p in jobs)
        result["mbs"] = fmean(paper)
        result["mwbs"] = sum(b * p for b, (_, _, p) in zip(paper, jobs, strict=True)) / sum(
            p for _, _, p in jobs
        )
        result["awrt_s"] = sum((w + r) * p * r for w, r, p in jobs) / area
        result["awbsld"] = sum(b * p * r for b, (_, r, p) in zip(bounded, jobs, strict=True)) / area
        result["expansion"] = sum(w + r for w, r, _ in jobs) / sum(r for _, r, _ in jobs)
    return result


def users(schedule: Schedule, workload: Workload, rows: list[int]) -> dict[str, float]:
    """Jain and Gini of the users' means, by their textbook sums over all pairs."""
    of: dict[int, list[float]] = {}
    for row in rows:
        if workload.user[row] >= 0:
            run = int(schedule.end[row] - schedule.start[row])
            wait = int(schedule.start[row] - schedule.submit[row])
            of.setdefault(int(workload.user[row]), []).append(max(1.0, (wait + run) / max(run, 10)))
    means = [fmean(values) for values in of.values()]
    if not means:
        return {}
    n = len(means)
    pairs = sum(abs(a - b) for a in means for b in means)
    return {
        "user_bsld_jain": sum(means) ** 2 / (n * sum(m * m for m in means)),
        "user_bsld_gini": pairs / (2 * n * sum(means)),
    }


def machine(
    schedule: Schedule, workload: Workload, cluster: Cluster, begin: int, end: int, lost_end: int
) -> dict[str, float]:
    """Utilisation over [begin, end) and loss of capacity over [begin, lost_end), by the second."""
    procs, total = workload.procs.tolist(), cluster.procs
    used = lost = useful = 0
    for now in range(begin, max(end, lost_end)):
        running, waiting = state(schedule, now)
        busy = sum(procs[row] for row in running)
        if now < end:
            used += busy
            useful += sum(
                p
                for p, since, until in zip(procs, schedule.start, schedule.end, strict=True)
                if since <= now < until
            )
        if now < lost_end and any(procs[row] <= total - busy for row in waiting):
            lost += total - busy
    return {
        "utilisation": used / (total * (end - begin)),
        "goodput": useful / (total * (end - begin)),
        "lost_work": (used - useful) / (total * (end - begin)),
        "loss_of_capacity": lost / (total * (lost_end - begin)),
    }


def whole_run(schedule: Schedule, workload: Workload, cluster: Cluster) -> dict[str, float]:
    """Makespan and loads from the list of runs."""
    procs = {int(job): int(p) for job, p in zip(workload.job_id, workload.procs, strict=True)}
    useful = sum(
        procs[int(job)] * int(end - start)
        for job, start, end in zip(schedule.job_id, schedule.start, schedule.end, strict=True)
    )
    a = schedule.attempts
    wasted = sum(
        procs[int(job)] * int(end - start)
        for job, start, end, killed in zip(a.job_id, a.start, a.end, a.killed, strict=True)
        if killed
    )
    first, last = int(workload.submit.min()), int(workload.submit.max())
    makespan = int(schedule.end.max()) - first
    result = {
        "makespan_s": makespan,
        "total_load": (useful + wasted) / (cluster.procs * makespan),
        "wasted_load": wasted / (cluster.procs * makespan),
    }
    if last > first:
        result["offered_load"] = useful / (cluster.procs * (last - first))
    return result


def preempted(schedule: Schedule, rows: list[int]) -> dict[str, float]:
    """Kills, MKT and RTW from the list of attempts."""
    a = schedule.attempts
    vain: dict[int, int] = {}
    kills: dict[int, int] = {}
    for job, start, end, killed in zip(a.job_id, a.start, a.end, a.killed, strict=True):
        if killed:
            vain[int(job)] = vain.get(int(job), 0) + int(end - start)
            kills[int(job)] = kills.get(int(job), 0) + 1
    hit = [row for row in rows if int(schedule.job_id[row]) in kills]
    number = sum(kills[int(schedule.job_id[row])] for row in hit)
    result: dict[str, float] = {"preempted_jobs": len(hit), "kills": number}
    if rows:
        result["preempted_share"] = len(hit) / len(rows)
    if hit:
        result["mkt"] = number / len(hit)
        result["rtw_mean"] = fmean(
            vain[int(schedule.job_id[row])] / int(schedule.end[row] - schedule.start[row])
            for row in hit
        )
    return result


def spans(schedule: Schedule, workload: Workload) -> list[tuple[int, int, int, int, bool]]:
    """(row, start, end, end if nothing else starts, by backfilling?) of every run."""
    index = {int(job): row for row, job in enumerate(schedule.job_id)}
    found = [
        (row, int(s), int(e), int(e), schedule.reason[row] == Reason.BACKFILLED)
        for row, (s, e) in enumerate(zip(schedule.start, schedule.end, strict=True))
    ]
    a = schedule.attempts
    for job, start, end, killed in zip(a.job_id, a.start, a.end, a.killed, strict=True):
        if killed:
            row = index[int(job)]
            whole = int(start) + int(workload.effective_run[row])
            found.append((row, int(start), int(end), whole, True))
    return found


def fair_start(
    schedule: Schedule, workload: Workload, total: int, row: int, *, strict: bool
) -> int:
    """FST2 (or FST) of one blocked job: test every second from its block on."""
    assert schedule.blocked_at is not None
    blocked, procs = int(schedule.blocked_at[row]), workload.procs
    there = [
        (other, end)
        for other, start, until, end, backfilled in spans(schedule, workload)
        if start <= blocked < until and not (backfilled and start == blocked)
        if not strict or other < row
    ]
    now = blocked
    while sum(int(procs[other]) for other, end in there if end > now) + procs[row] > total:
        now += 1
    return now


def violated(
    schedule: Schedule, workload: Workload, total: int, row: int, prediction: list[int]
) -> bool:
    """The culprit rule for one job."""
    assert schedule.blocked_at is not None and schedule.promised is not None
    blocked, promised = int(schedule.blocked_at[row]), int(schedule.promised[row])
    if blocked < 0 or promised < 0 or schedule.start[row] <= promised:
        return False
    available = total
    for other, start, until, _, _ in spans(schedule, workload):
        if start < promised < until:
            culprit = other > row and start >= blocked and start + prediction[other] <= promised
            if not culprit:
                available -= int(workload.procs[other])
    return available >= workload.procs[row]
