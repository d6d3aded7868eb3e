"""Paraver traces (.prv, .pcf and .row; spec: formats 2.5), and the life of every job as a picture.

Mapping B, the default: one application, a task per host, a thread per row of the machine; the
colour of a run shows why it started. Mapping A, ``write_job_lines``: a line per job in the colours
of the HPerf thesis (spec: algorithms 6.6). Waiting is red, running within the request blue, the
requested time that was not used white, time beyond the request dark yellow; as a picture (.svg) or
for Paraver (.prv).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.report.clock import first_submit
from shadowtime.report.inputs import Written
from shadowtime.report.rows import Rows, lay_out
from shadowtime.schedule import Schedule
from shadowtime.schedule.check.pieces import changed
from shadowtime.schedule.runs import lost_runs, runs, started, waits
from shadowtime.types import AnyArray, Ints
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster


MOST_JOBS = 5_000
"""Jobs of mapping A: its header names every one of them."""

STATES = {
    0: ("Idle", (117, 195, 255)),
    1: ("Waiting", (255, 0, 0)),
    2: ("Running", (0, 0, 255)),
    3: ("Unused request", (255, 255, 255)),
    4: ("Extra used", (179, 143, 0)),
    10: ("Running, as recorded", (133, 141, 150)),
    11: ("Running, first in line", (0, 114, 178)),
    12: ("Running, waited at the head", (230, 159, 0)),
    13: ("Running, backfilled", (0, 158, 115)),
    14: ("Running, by preemption", (213, 94, 0)),
    15: ("Lost work", (204, 121, 167)),
}
"""States 1 to 4 are the lives of jobs, 10 to 14 the reasons of a start plus ten."""

EVENTS = {60000001: "Job id", 60000002: "User"}


@dataclass(frozen=True)
class Texts:
    """The three files."""

    prv: str
    pcf: str
    row: str


def write_paraver(
    workload: Workload,
    schedule: Schedule,
    cluster: Cluster,
    path: str | Path,
    *,
    mapping: Literal["A", "B"] = "B",
) -> Written:
    """Write PATH.prv, PATH.pcf and PATH.row.

    Times count nanoseconds from the first submission.
    """
    base = Path(path)
    base = base.with_suffix("") if base.suffix == ".prv" else base
    body = _body(workload, schedule, cluster, mapping)
    texts = render_paraver(body)
    paths = []
    for suffix, text in (("prv", texts.prv), ("pcf", texts.pcf), ("row", texts.row)):
        target = base.parent / f"{base.name}.{suffix}"
        target.write_text(text, encoding="utf-8")
        paths.append(target)
    note = "jobs without a start and an end" if body.left_out else ""
    return Written(paths=tuple(paths), records=body.states, left_out=body.left_out, note=note)


def _body(workload: Workload, schedule: Schedule, cluster: Cluster, mapping: str) -> Body:
    if mapping == "B":
        return by_host(workload, schedule, lay_out(schedule, cluster))
    if mapping != "A":
        raise UsageError(f"there is no mapping {mapping!r}: choose A (a line per job) or B")
    if len(workload) > MOST_JOBS:
        raise UsageError(
            f"mapping A has a line per job and {len(workload):,} jobs are too many (at most "
            f"{MOST_JOBS:,}): take mapping B, or a slice of the trace"
        )
    return by_job(workload, schedule)


def render_paraver(body: Body) -> Texts:
    """The text of the files; the date of the header, which Paraver only displays, is fixed."""
    header = f"#Paraver (01/01/70 at 00:00):{body.end}_ns:{body.nodes}:{body.applications}"
    return Texts(prv="\n".join([header, *body.lines]) + "\n", pcf=_pcf(), row=_row(body))


def _pcf() -> str:
    states = "\n".join(f"{code}    {name}" for code, (name, _) in STATES.items())
    colours = "\n".join(
        f"{code}    {{{red},{green},{blue}}}" for code, (_, (red, green, blue)) in STATES.items()
    )
    events = "\n".join(f"0    {code}    {name}" for code, name in EVENTS.items())
    return (
        "DEFAULT_OPTIONS\n\nLEVEL               THREAD\nUNITS               NANOSEC\n"
        "LOOK_BACK           100\nSPEED               1\nFLAG_ICONS          ENABLED\n"
        "NUM_OF_STATE_COLORS 1000\nYMAX_SCALE          37\n\n"
        "DEFAULT_SEMANTIC\n\nTHREAD_FUNC         State As Is\n\n"
        f"STATES\n{states}\n\nSTATES_COLOR\n{colours}\n\nEVENT_TYPE\n{events}\n"
    )


def _row(body: Body) -> str:
    parts = []
    for level, names in body.levels.items():
        parts.append(f"LEVEL {level} SIZE {len(names)}\n" + "".join(f"{n}\n" for n in names))
    return "\n".join(parts)


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
    final = len(every) - len(lost_runs(schedule))
    row, begin, end = every.row[:final], every.since[:final], every.until[:final]
    # A job that changes while it runs has no time at which its request is over.
    limit = np.where(changed(schedule)[row], end, begin + asked[row])
    parts = [
        (waiting.row, waiting.since, waiting.until, WAITING),
        (row, begin, np.minimum(end, limit), RUNNING),
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


WIDTH, LEFT, TOP, BOTTOM = 1000, 44, 30, 26
TALL = 600
"""Height that the lines share, while none is thinner than a pixel."""
INK, PAPER, RULE = "#15191e", "#eef0f2", "#c8ccd1"
SHOWN = (1, 2, 3, 4, 15)


def write_job_lines(
    workload: Workload, schedule: Schedule, cluster: Cluster, path: str | Path
) -> Written:
    """Write the picture, or for a name that ends in .prv the Paraver trace with a line per job."""
    path = Path(path)
    if path.suffix == ".prv":
        return write_paraver(workload, schedule, cluster, path, mapping="A")
    if path.suffix != ".svg":
        raise UsageError(f"{path}: job lines are written as .svg or .prv")
    if len(workload) > MOST_JOBS:
        raise UsageError(
            f"a line per job, and {len(workload):,} jobs are too many (at most {MOST_JOBS:,}): "
            "take a slice of the trace"
        )
    parts = lives(workload, schedule)
    path.write_text(picture(parts, len(workload), first_submit(workload), schedule.policy), "utf-8")
    missing = len(schedule) - int(started(schedule).sum())
    note = "jobs without a start and an end" if missing else ""
    return Written(paths=(path,), records=len(parts[0]), left_out=missing, note=note)


def picture(parts: tuple[Ints, Ints, Ints, AnyArray], jobs: int, origin: int, title: str) -> str:
    """The drawing: time to the right, jobs downwards in the order of their submission."""
    row, begin, end, state = parts
    last = max(int(end.max(initial=origin + 1)) - origin, 1)
    thick = max(1.0, TALL / max(jobs, 1))
    height = TOP + BOTTOM + thick * jobs
    scale = (WIDTH - LEFT - 10) / last
    body = []
    for kind in SHOWN:
        here = state == kind
        path = "".join(
            f"M{LEFT + (a - origin) * scale:.1f} {TOP + thick * (r + 0.5):.1f}"
            f"h{max((b - a) * scale, 0.2):.1f}"
            for r, a, b in zip(
                row[here].tolist(), begin[here].tolist(), end[here].tolist(), strict=True
            )
        )
        if path:
            colour = "#{:02x}{:02x}{:02x}".format(*STATES[kind][1])
            width = max(0.8, 0.82 * thick)
            body.append(f'<path d="{path}" stroke="{colour}" stroke-width="{width:.2f}"/>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="11" fill="{INK}">'
        f"<title>{escape(title)}</title>"
        f'<rect width="{WIDTH}" height="{height:.0f}" fill="{PAPER}"/>'
        f"{''.join(_legend(title))}{''.join(body)}{''.join(_axis(last, scale, height))}</svg>\n"
    )


def _legend(title: str) -> Iterator[str]:
    yield f'<text x="{LEFT}" y="18" font-size="13" font-weight="600">{escape(title)}</text>'
    x = WIDTH - 445
    for kind in SHOWN[:4]:
        name, colour = STATES[kind]
        yield (
            f'<rect x="{x}" y="9" width="10" height="10" fill="rgb{colour}" stroke="{RULE}"/>'
            f'<text x="{x + 15}" y="18">{escape(name)}</text>'
        )
        x += 112


def _axis(last: int, scale: float, height: float) -> Iterator[str]:
    step = next(s for s in (10, 60, 600, 3600, 21600, 86400, 864000, last) if last / s <= 16)
    for tick in range(0, last + 1, step):
        x = LEFT + tick * scale
        yield (
            f'<text x="{x:.1f}" y="{height - 8:.0f}" text-anchor="middle">{tick:,}</text>'
            f'<path d="M{x:.1f} {height - BOTTOM:.1f}v4" stroke="{INK}"/>'
        )
    yield f'<text x="4" y="{height - 8:.0f}">s</text>'
