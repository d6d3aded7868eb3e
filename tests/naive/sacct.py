"""Slurm's accounting records read one row after the other: each rule once, nothing in columns.

Also exports of random jobs, with as many of sacct's notations as possible.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from shadowtime.slurmtext import fields, tres
from shadowtime.slurmtext import times as slurm_times
from shadowtime.slurmtext.job_id import JobId, parse_job_id, tasks_of
from shadowtime.slurmtext.sbatch import parse_line
from shadowtime.trace.sacct_requests import _NOTHING, _request
from shadowtime.types import MAX_SPAN
from shadowtime.workload.raw import MAX_AMOUNT, MAX_PROCS, MAX_TIME

Fields = dict[str, str]

COLUMNS = (
    "JobIDRaw", "JobID", "Cluster", "Partition", "QOS", "Account", "User", "Submit", "Eligible",
    "Start", "End", "ElapsedRaw", "Elapsed", "TimelimitRaw", "Timelimit", "State", "Priority",
    "Flags", "Reason", "NNodes", "ReqCPUS", "NCPUS", "ReqMem", "ReqTRES", "AllocTRES",
    "Constraints", "NodeList", "JobName", "TotalCPU", "MaxRSS", "NTasks", "ExitCode",
)  # fmt: skip
BROKEN = (
    "", " ", "x", "Unknown", "None", "N/A", "(null)", "-3", "٣", " 8 ", "0", "007", "1.5", "é",
    "1" * 16, "9" * 15, "12_3", "5_", "5_[1-3]", "7.batch", "7+1", "UNLIMITED", "1-00:00:00", "\0",
    "2026-03-01T00:00:10", "2026-03-29T02:30:00", "2026-10-25T02:30:00", "2026-13-01T00:00:00",
    "2026-03-01T25:00:10", "2026-03-01T00:00:60", "1969-01-01T00:00:00", "9999-12-31T23:59:59",
    "2026-03-01T00:00:10Z", "2026-03-01 00:00:10", "n" * 600,
)  # fmt: skip


@dataclass
class Read:
    """The content of an export's rows."""

    jobs: list[dict[str, Any]] = field(default_factory=list)
    bad: list[tuple[int, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    used: dict[str, int] = field(default_factory=dict)
    """KB that the steps of a job used."""


def read_rows(
    rows: list[tuple[int, Fields]], *, zone: ZoneInfo, cluster: str | None, unlimited: int
) -> Read:
    """The jobs of rows, each given with its line; the runs of a requeued job are not joined."""
    found = Read()
    for line, row in rows:
        try:
            jobs = _jobs(row, zone, cluster, unlimited, one := Read())
        except ValueError as error:
            found.bad.append((line, str(error)))
        else:
            found.counts += one.counts
            found.jobs += [{"line": line, **job} for job in jobs]
            for job, used in one.used.items():
                found.used[job] = max(found.used.get(job, 0), used)
    return found


def _jobs(
    row: Fields, zone: ZoneInfo, cluster: str | None, unlimited: int, found: Read
) -> list[dict[str, Any]]:
    counts = found.counts

    def get(name: str) -> str:
        return row.get(name, "")

    def stamp(name: str, least: int = -1) -> int:
        return slurm_times.parse_stamp(get(name), zone, not_before=least)

    raw, shown = get("jobidraw").strip(), get("jobid").strip()
    job = parse_job_id(raw or shown)
    other = parse_job_id(shown or raw)
    if cluster is not None and get("cluster").strip() != cluster:
        counts["other_clusters_dropped"] += 1
        return []
    if job.step or other.step:
        counts["steps_dropped"] += 1
        if get("maxrss").strip():
            tasks = max(fields.parse_count(get("ntasks"), "NTasks"), 1)
            rss = get("maxrss").strip()
            size = fields.parse_reqmem(rss if rss[-1:].isalpha() else f"{rss}B", 1, 1)
            found.used[(raw or shown).partition(".")[0]] = max(size * tasks, 0)
        return []
    state = fields.parse_state(get("state"))
    block = job if job.tasks else other
    if state in fields.NOT_ENDED and not (state == "REQUEUED" and stamp("end") >= 0):
        counts["array_blocks_dropped" if block.tasks else "unfinished_dropped"] += 1
        return [] if block.tasks else [{"label": raw or shown, "ended": False}]
    tasks = tasks_of(block.block) if block.tasks else [-1]
    if block.tasks and (stamp("start") >= 0 or state != "CANCELLED" or not tasks):
        counts["array_blocks_dropped"] += 1
        return []
    counts["array_blocks_split"] += bool(block.tasks)
    values = _values(row, zone, unlimited, counts, times=len(tasks))
    values["status"] = {"COMPLETED": 1, "CANCELLED": 5}.get(state, 0)
    values["ended"] = state != "REQUEUED"
    if block.tasks:
        return [
            {
                **values, **_ids(block, one), "label": f"{block.number}_{one}",
                "job_id": block.number if one == tasks[-1] else -1,
            }
            for one in tasks
        ]  # fmt: skip
    counts["unfinished_dropped"] += state == "REQUEUED"
    number = job.number
    if not raw:
        number = other.number + max(other.component, 0) if other.task < 0 else -1
    ids = {"job_id": number, "label": raw or shown, **_ids(other, other.task)}
    return [{**values, **ids}]


def _ids(job: JobId, task: int) -> dict[str, int]:
    return {"array": job.number if task >= 0 else -1, "task": task, "throttle": job.throttle}


def _values(
    row: Fields, zone: ZoneInfo, unlimited: int, counts: Counter[str], *, times: int
) -> dict[str, Any]:
    """The values of a job's fields, in the order in which they are checked."""

    def get(name: str) -> str:
        return row.get(name, "")

    submit = slurm_times.parse_stamp(get("submit"), zone)
    if submit < 0:
        raise ValueError("the job has no submission time")
    start = slurm_times.parse_stamp(get("start"), zone, not_before=submit)
    end = slurm_times.parse_stamp(get("end"), zone, not_before=max(start, submit))
    until = start if start >= 0 else end
    got, asked = tres.parse_tres(get("alloctres")), tres.parse_tres(get("reqtres"))
    procs = got.get("cpu") or fields.parse_count(get("ncpus"), "NCPUS")
    wanted = asked.get("cpu") or fields.parse_count(get("reqcpus"), "ReqCPUS")
    nodes = fields.parse_count(get("nnodes"), "NNodes")
    memory = got.get("mem") or asked.get("mem") or -1
    if memory < 0:
        memory = fields.parse_reqmem(get("reqmem"), max(procs, wanted), nodes)
    raw = get("timelimitraw")
    request = (
        slurm_times.parse_minutes(raw) if raw.strip() else slurm_times.parse_span(get("timelimit"))
    )
    boundless = request == slurm_times.UNLIMITED
    request = unlimited if boundless else request
    cpu_time = slurm_times.parse_span(get("totalcpu")) if "totalcpu" in row else -1
    if get("elapsedraw").strip():
        run = fields.parse_count(get("elapsedraw"), "ElapsedRaw")
    else:
        run = slurm_times.parse_span(get("elapsed"))
        run = end - start if run < 0 <= start <= end else max(run, -1)
    wait = until - submit if until >= 0 else -1
    eligible = slurm_times.parse_stamp(get("eligible"), zone)
    for name, value, most in (
        ("submit", submit, MAX_TIME), ("wait", wait, MAX_TIME), ("run", run, MAX_SPAN),
        ("procs", procs, MAX_PROCS), ("requested procs", wanted, MAX_PROCS),
        ("request", request, MAX_SPAN), ("eligible", eligible, MAX_TIME),
        ("memory", memory, MAX_AMOUNT),
    ):  # fmt: skip
        if value > most:
            raise ValueError(f"the job's {name} is {value}, beyond {most}")
    shown = get("jobid").strip() or get("jobidraw").strip()
    line = parse_line(get("submitline"), parse_job_id(shown).component)
    request_, _ = _request({**_NOTHING, **row}, line)
    priority = fields.parse_count(get("priority"), "Priority")
    counts["request_unlimited"] += times * boundless
    counts["local_times_as_utc"] += times * ("-" in get("submit"))
    none = ("None", "(null)", "Unknown")
    flags, reason, hosts = get("flags").split(","), get("reason").strip(), get("nodelist").strip()
    return {
        "submit": submit, "wait": max(wait, -1), "run": run, "procs": procs, "nodes": nodes,
        "requested_procs": wanted, "memory": memory, "request": request, "eligible": eligible,
        "cpu_time": cpu_time // max(procs, 1) if cpu_time >= 0 and procs > 0 else -1,
        "priority": priority, "user": get("user").strip(), "group": get("account").strip(),
        "queue": get("qos").strip(), "partition": get("partition").strip(),
        "gpus": tres.gpus_of(got or asked) if got or asked else -1,
        "started_by": 2 if "SchedBackfill" in flags else 1 if "SchedMain" in flags else -1,
        "pending_reason": "" if reason in none else reason,
        "node_list": "" if hosts in ("(null)", "None", "N/A", "None assigned") else hosts,
        "executable": get("jobname").strip(), "cluster": get("cluster").strip(),
        "asked": request_,
    }  # fmt: skip


def export(rng: random.Random) -> tuple[str, list[tuple[int, Fields]]]:
    """The text of an export, and the lines and fields of its rows."""
    columns = [name for name in COLUMNS if rng.random() < 0.8]
    for needed in ("Submit", "State", "NCPUS", "ElapsedRaw", "JobID"):
        if needed not in columns:
            columns.append(needed)
    if rng.random() < 0.4:
        rng.shuffle(columns)
    names = [name.lower() for name in columns]
    habits = {
        "local": rng.random() < 0.5, "steps": rng.random() < 0.4, "arrays": rng.random() < 0.5,
        "missing": rng.choice([0, 0.2]), "broken": rng.choice([0, 0.02, 0.2]),
    }  # fmt: skip
    base, number = (
        rng.choice([1_700_000_000, 1_774_740_000, 1_792_880_000]),
        rng.choice([1, 99_990]),
    )
    rows = []
    for _ in range(rng.choice([1, 5, 40])):
        number += rng.choice([1, 1, 8])
        job = _random_job(rng, number, base + rng.randrange(10**5), habits)
        for step in ("", *(rng.choice([(".batch", ".0"), ()]) if habits["steps"] else ())):
            ids = {name: job[name] and job[name] + step for name in ("jobid", "jobidraw")}
            rss = rng.choice(["1234K", "99", "1.5G", ""]) if step else ""
            row = {**job, **ids, "maxrss": rss, "ntasks": rng.choice(["2", ""])}
            cells = [row.get(name, "") for name in names]
            if rng.random() < habits["broken"]:
                cells[rng.randrange(len(cells))] = rng.choice(BROKEN)
            rows.append(cells)
    trailing = rng.choice(["", "|"])
    lines = ["|".join(cells) + trailing for cells in (columns, *rows)]
    text = rng.choice(["\n", "\r\n"]).join(lines) + rng.choice(["", "\n"])
    return text, [(at, dict(zip(names, cells, strict=True))) for at, cells in enumerate(rows, 2)]


def _random_job(rng: random.Random, number: int, submit: int, habits: dict[str, Any]) -> Fields:
    def time(at: int) -> str:
        if rng.random() < habits["missing"]:
            return rng.choice(["Unknown", "None", ""])
        local = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return local if habits["local"] else str(at)

    shown = str(number)
    if habits["arrays"]:
        block = f"{number}_[{rng.choice(['1-5', '1-9:2%2', '3', '7,9', 'x'])}]"
        shown = rng.choice([shown, f"{number - number % 7}_{number % 7}", block, f"{number - 1}+1"])
    start = submit + rng.randrange(5000)
    run = rng.choice([0, rng.randrange(10**5), rng.randrange(10**6)])
    cpus = 1 << rng.randrange(6)
    gres = rng.choice(["", ",gres/gpu=2", ",gres/gpu:a100=2,gres/gpu=2", ",license/matlab=1"])
    tres = f"billing={cpus},cpu={cpus}{gres},mem={cpus}G,node=1"
    span = f"{run // 86400}-{run // 3600 % 24:02}:{run // 60 % 60:02}:{run % 60:02}"
    ended = ("COMPLETED", "FAILED", "CANCELLED by 3", "CA", "TIMEOUT", "OUT_OF_ME+", "NODE_FAIL")
    states = rng.choice([ended, ended, ("RUNNING", "PENDING", "REQUEUED")])
    return {
        "jobidraw": rng.choice([str(number)] * 9 + [""]), "jobid": shown, "cluster": "c1",
        "partition": rng.choice(["batch", "a,b", ""]), "qos": rng.choice(["normal", "high"]),
        "account": rng.choice(["phys", " phys "]), "user": rng.choice(["ann", "zoë", ""]),
        "submit": time(submit), "eligible": time(submit + rng.randrange(50)),
        "start": time(start), "end": time(start + run), "elapsed": span, "totalcpu": span,
        "elapsedraw": rng.choice([str(run), str(run), ""]), "state": rng.choice(states),
        "timelimitraw": rng.choice(["60", "1440", "", "UNLIMITED"]),
        "timelimit": rng.choice(["1-00:00:00", "01:00:00", "Partition_Limit"]),
        "priority": str(rng.randrange(1 << 32)), "nnodes": "1", "reqcpus": str(cpus),
        "flags": rng.choice(["SchedMain", "SchedBackfill,StartRecieved", ""]),
        "reason": rng.choice(["None", "Priority", ""]), "ncpus": str(cpus),
        "reqmem": rng.choice([f"{cpus}G", "2Gn", "100Mc", "0n", "4000M?"]),
        "reqtres": rng.choice([tres, ""]), "alloctres": rng.choice([tres, tres, ""]),
        "constraints": rng.choice(["", "fast", "(null)"]), "exitcode": "0:0",
        "nodelist": rng.choice(["n1", "n[1-2]", "None assigned", ""]),
        "jobname": rng.choice(["a", "two words", "é" * 5, "x" * 9, "y" * 130, "z" * 600]),
    }  # fmt: skip
