"""Paraver traces: .prv, .pcf and .row (FORMATS 2.5; colours of ALGORITHMS 6.6).

Mapping B, the default: one application, a task per host, a thread per row of the machine; the
colour of a run says why it started. Mapping A: a line per job that shows its life, waiting,
running, the part of its request that it did not use and what it used beyond.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from shadowtime.errors import UsageError
from shadowtime.report.paraver_lines import by_host, by_job
from shadowtime.report.rows import lay_out
from shadowtime.report.written import Written

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.report.paraver_lines import Body
    from shadowtime.schedule import Schedule
    from shadowtime.workload import Workload

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
    12: ("Running, held up then first", (230, 159, 0)),
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
    stamp: str = "01/01/70 at 00:00",
) -> Written:
    """Write PATH.prv, PATH.pcf and PATH.row.

    Times count nanoseconds from the first submission. ``stamp`` is the date of the header, which
    Paraver only displays.
    """
    base = Path(path)
    base = base.with_suffix("") if base.suffix == ".prv" else base
    body = _body(workload, schedule, cluster, mapping)
    texts = render_paraver(body, stamp=stamp)
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


def render_paraver(body: Body, *, stamp: str) -> Texts:
    """The text of the files."""
    header = f"#Paraver ({stamp}):{body.end}_ns:{body.nodes}:{body.applications}"
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
