"""The growth of every policy as a page of the documentation: a table and a picture."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import machine
from benchmarks.report import markdown_table

from shadowtime.study.papers.picture import svg
from shadowtime.study.papers.values import Panel, PaperFigure, Series

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.bench_growth import Case

    Costs = Mapping[Case, Mapping[int, float]]

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "benchmarks"
HEAD = """\
# Does a job cost the same in a long log?

Written by `scripts/bench growth`. CPU seconds of `simulate()` from arrays, the best of several
runs: jobs by Lublin and Feitelson's model with Tsafrir's estimates on a pool of 1,024 processors,
generated months on 12 hosts of the O2K, and the pool's jobs with a demand for bandwidth on 256
nodes of 4 processors, narrowed where necessary to fit there. A row ends before a size that would
take longer than {limit:g} s if the cost grew with the power 1.5 of the size.
"""


def write(costs: Costs, folder: Path = FOLDER, *, limit: float) -> None:
    """Both files; ``limit`` is the longest run, in seconds, that is made."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "growth.md").write_text(page(costs, limit), encoding="utf-8")
    (folder / "growth.svg").write_text(svg(figure(costs)), encoding="utf-8")


def page(costs: Costs, limit: float) -> str:
    """The table, and what it was measured on."""
    sizes = sizes_of(costs)
    lines = [
        [
            case.policy,
            case.machine,
            f"{case.load:g}",
            *(f"{cost[size]:.3f}" if size in cost else "-" for size in sizes),
            f"{growth_of(cost)[-1][1]:.2f} x",
        ]
        for case, cost in costs.items()
    ]
    head = ["policy", "machine", "load", *(f"{size:,} jobs" for size in sizes), "time per job"]
    about = machine.describe()
    measured = datetime.now(UTC).strftime("%Y-%m-%d")
    return (
        f"{HEAD.format(limit=limit)}\n{markdown_table(head, lines)}\n"
        "*Time per job* is that of the longest workload over that of the shortest, which the\n"
        "picture shows at every size.\n\n"
        "![Time per job against that of the shortest workload](growth.svg)\n\n"
        f"Measured {measured} on {about['processor']}, {about['cores']} cores, "
        f"load average {machine.busy():.1f}.\n"
    )


def figure(costs: Costs) -> PaperFigure:
    """A panel for each load, a line for each policy."""
    sizes = sizes_of(costs)
    names = list(dict.fromkeys(case.policy for case in costs))
    panels = []
    for load in sorted({case.load for case in costs}):
        known = {
            case.policy: dict(growth_of(cost)) for case, cost in costs.items() if case.load == load
        }
        lines = [
            Series(name=name, y=tuple(known.get(name, {}).get(size) for size in sizes))
            for name in names
        ]
        panels.append(
            Panel(
                title=f"load {load:g}",
                kind="line",
                x_label="jobs, as a power of ten",
                y_label="time per job, x",
                x=tuple(round(math.log10(size), 1) for size in sizes),
                series=tuple(lines),
            )
        )
    return PaperFigure(name="Growth", title="Time per job", panels=tuple(panels))


def sizes_of(costs: Costs) -> list[int]:
    """All sizes that were measured."""
    return sorted({size for cost in costs.values() for size in cost})


def growth_of(cost: Mapping[int, float]) -> list[tuple[int, float]]:
    """At each size the time per job over that of the smallest."""
    first = min(cost)
    return [(size, cost[size] / size / (cost[first] / first)) for size in sorted(cost)]
