"""The records of a Paraver trace, for both mappings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.report.clock import first_submit
from shadowtime.schedule.runs import runs, started, waits

if TYPE_CHECKING:
    from shadowtime.report.rows import Rows
    from shadowtime.schedule import Schedule
    from shadowtime.types import AnyArray, Ints
    from shadowtime.workload import Workload

NANO = 1_000_000_000
WAITING, RUNNING, UNUSED, EXTRA = 1, 2, 3, 4
BY_REASON, LOST = 10, 15
JOB, USER = 60000001, 60000002


@dataclass(frozen=True, kw_only=True)
class Body:
    """What the files are made of: the parts of the header, the records, the names of the rows."""

    end: int
    nodes: str
    applications: str
    lines: list[str]
    levels: dict[str, list[str]]
    states: int
    left_out: int


def by_host(workload: Workload, schedule: Schedule, rows: Rows) -> Body:
    """Mapping B: a state record and job events for every row of every run."""
    count = int(rows.width.sum())
    piece = np.repeat(np.arange(len(rows.row)), rows.width)
    within = np.arange(count) - np.repeat(np.cumsum(rows.width) - rows.width, rows.width)
    row = rows.row[piece] + within
    run = rows.owner[piece]
    job = rows.runs.job[run]
    first = np.array([band.row for band in rows.bands])
    task = np.searchsorted(first, row, side="right")
    thread = row - first[task - 1] + 1
    state = np.where(rows.runs.lost[run] == 1, LOST, BY_REASON + schedule.reason[job])
    origin = first_submit(workload)
    begin, end = rows.runs.start[run] - origin, rows.runs.end[run] - origin
    lines = _records(row + 1, task, thread, begin, end, state, schedule.job_id[job])
    sizes = [band.rows for band in rows.bands]
    return Body(
        end=int(end.max(initial=0)) * NANO,
        nodes=f"{len(sizes)}({','.join(map(str, sizes))})",
        applications=f"1:{len(sizes)}("
        + ",".join(f"{size}:{node}" for node, size in enumerate(sizes, start=1))
        + ")",
        lines=lines,
        levels=_host_names(rows),
        states=count,
        left_out=len(schedule) - int(started(schedule).sum()),
    )


def _records(
    cpu: Ints, task: Ints, thread: Ints, begin: Ints, end: Ints, state: Ints, job: Ints
) -> list[str]:
    """State records with a job event at both ends, in order of time, ends before starts."""
    where = [
        f"{c}:1:{t}:{h}"
        for c, t, h in zip(cpu.tolist(), task.tolist(), thread.tolist(), strict=True)
    ]
    opening = [
        f"1:{w}:{a * NANO}:{b * NANO}:{s}\n2:{w}:{a * NANO}:{JOB}:{j}"
        for w, a, b, s, j in zip(
            where, begin.tolist(), end.tolist(), state.tolist(), job.tolist(), strict=True
        )
    ]
    closing = [f"2:{w}:{b * NANO}:{JOB}:0" for w, b in zip(where, end.tolist(), strict=True)]
    together = closing + opening
    order = np.argsort(np.concatenate([end, begin]), kind="stable")
    return [together[i] for i in order.tolist()]


def _host_names(rows: Rows) -> dict[str, list[str]]:
    threads = []
    for band in rows.bands:
        for row in range(band.rows):
            low, high = row * rows.unit + 1, (row + 1) * rows.unit
            threads.append(f"{band.name}.{low}" if low == high else f"{band.name}.{low}-{high}")
    names = [_one_line(name) for name in threads]
    hosts = [_one_line(band.name) for band in rows.bands]
    return {"CPU": names, "NODE": hosts, "TASK": hosts, "THREAD": names}


def by_job(workload: Workload, schedule: Schedule) -> Body:
    """Mapping A: an application per job whose one thread is its line."""
    origin = first_submit(workload)
    row, begin, end, state = lives(workload, schedule)
    order = np.lexsort((state, row, begin))
    columns = (row[order] + 1, begin[order] - origin, end[order] - origin, state[order])
    lines = [
        f"1:0:{job}:1:1:{a * NANO}:{b * NANO}:{kind}"
        for job, a, b, kind in zip(*(column.tolist() for column in columns), strict=True)
    ]
    ids, users = schedule.job_id.tolist(), workload.user.tolist()
    marks = [
        f"2:0:{i}:1:1:{(int(submit) - origin) * NANO}:{JOB}:{job}:{USER}:{max(user, 0)}"
        for i, (submit, job, user) in enumerate(
            zip(schedule.submit.tolist(), ids, users, strict=True), start=1
        )
    ]
    times = np.concatenate([columns[1], schedule.submit - origin])
    together = lines + marks
    names = [f"job {job}" for job in ids]
    return Body(
        end=int(max(columns[2].max(initial=0), 0)) * NANO,
        nodes="0",
        applications=f"{len(ids)}" + ":1(1:1)" * len(ids),
        lines=[together[i] for i in np.argsort(times, kind="stable").tolist()],
        levels={"APPL": names, "TASK": names, "THREAD": names},
        states=len(lines),
        left_out=len(schedule) - int(started(schedule).sum()),
    )


def lives(workload: Workload, schedule: Schedule) -> tuple[Ints, Ints, Ints, AnyArray]:
    """Stretches of every job's life: row, begin, end, state; empty ones are left out.

    What a job asked for is its request, whatever limit a policy or a grace time gave it.
    """
    every = runs(schedule)
    waiting = waits(schedule, every)
    asked = workload.request
    final = int(started(schedule).sum())
    upto = np.minimum(every.until, every.since + asked[every.row])
    row, begin, end = every.row[:final], every.since[:final], every.until[:final]
    limit = begin + asked[row]
    parts = [
        (waiting.row, waiting.since, waiting.until, WAITING),
        (row, begin, upto[:final], RUNNING),
        (every.row[final:], every.since[final:], every.until[final:], LOST),
        (row, end, limit, UNUSED),
        (row, limit, end, EXTRA),
    ]
    kept = [(r, a, b, np.full(len(r), state)) for r, a, b, state in parts]
    joined = [np.concatenate(column) for column in zip(*kept, strict=True)]
    real = joined[2] > joined[1]
    return joined[0][real], joined[1][real], joined[2][real], joined[3][real]


def _one_line(name: str) -> str:
    return " ".join(name.split()) or "host"
