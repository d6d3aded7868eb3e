"""The life of every job on a line of its own, in the colours of the HPerf thesis (spec 6.6).

Waiting is red, running within the request blue, the requested time that was not used white, time
beyond the request dark yellow. As a picture (.svg) or for Paraver (.prv).
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from shadowtime.errors import UsageError
from shadowtime.report.clock import first_submit
from shadowtime.report.paraver import MOST_JOBS, STATES, write_paraver
from shadowtime.report.paraver_lines import lives
from shadowtime.report.written import Written
from shadowtime.schedule.runs import started

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shadowtime.cluster import Cluster
    from shadowtime.schedule import Schedule
    from shadowtime.types import AnyArray, Ints
    from shadowtime.workload import Workload

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
