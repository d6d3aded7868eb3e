"""Gains at every load, averages, shaken inputs, the filter, the resources, and the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.study.papers import Cell, Panel, PaperFigure, PaperTable, Row, Series
from shadowtime.study.papers.ibb.case import MIXED, PURE
from shadowtime.study.papers.ibb.condor import JOBS
from shadowtime.study.papers.ibb.runs import (
    DRAWN,
    LEGEND,
    METRICS,
    PAIRS,
    POLICIES,
    SHAKEN,
    over,
    shaken_loads,
)

if TYPE_CHECKING:
    from shadowtime.study.papers.ibb.case import Case
    from shadowtime.study.papers.ibb.runs import Findings


NAMES = {PURE: "Figure 1", MIXED: "Figure 2"}
SAYS = {
    PURE: "IBB is far better than BB; gains of up to 65 % in average wait and response, lower ones "
    "in average slowdown (section 4.1).",
    MIXED: "Gains of up to 60 % in the three metrics, better than on the pure workload "
    "(section 4.1).",
}


def paper_figures(found: Findings) -> tuple[PaperFigure, ...]:
    """A figure for each main case, and Figure 3."""
    return (*(_by_load(found, case) for case in found.main()), _condor(found))


def _by_load(found: Findings, case: Case) -> PaperFigure:
    def panel(metric: str, label: str) -> Panel:
        return Panel(
            title=label.partition(",")[0],
            kind="line",
            x_label="relative load",
            y_label=label,
            x=case.loads,
            series=tuple(
                Series(
                    name=name,
                    y=tuple(found.at(case, load).points[name].of(metric) for load in case.loads),
                )
                for name in DRAWN
            ),
        )

    return PaperFigure(
        name=NAMES.get(case.name, f"Figure {case.name}"),
        title=f"Averages by relative load: {case.says}",
        panels=tuple(panel(metric, label) for metric, label in METRICS.items()),
        says=SAYS.get(case.name, ""),
        note=f"{LEGEND} FCFS is off the scale: see Averages.",
    )


def _condor(found: Findings) -> PaperFigure:
    titles = {"wait": "wait, s", "response": "response, s", "slowdown": "slowdown"}
    panels = tuple(
        Panel(
            title=metric,
            kind="line",
            x_label="job",
            y_label=label,
            x=tuple(float(number) for number in range(1, JOBS + 1)),
            series=tuple(
                Series(name=name, y=tuple(getattr(jobs, metric).astype(float).tolist()))
                for name, jobs in found.condor.items()
            ),
        )
        for metric, label in titles.items()
    )
    return PaperFigure(
        name="Figure 3",
        title="Each job of 54 on four nodes, one submitted a second",
        panels=panels,
        says="FCFS packs far less than IBB; Best-fit packs almost like IBB but large jobs may "
        "starve; the slowdown of each job is almost the same under IBB, uneven under FCFS "
        "(section 4.3).",
        note="The paper's 54 NAS benchmarks are not published: these jobs are drawn, and the "
        "policies simulated.",
    )


PUBLISHED = {
    (PURE, ("IBB", "BB"), "wait"): 65.0,
    (PURE, ("IBB", "BB"), "response"): 65.0,
    (MIXED, ("IBB", "BB"), "wait"): 60.0,
    (MIXED, ("IBB", "BB"), "response"): 60.0,
    (MIXED, ("IBB", "BB"), "slowdown"): 60.0,
    (PURE, ("BB", "EASY"), "response"): 50.0,
    (MIXED, ("BB", "EASY"), "response"): 50.0,
}
"""Largest gains that the text gives, per cent; the figures' points are not given as numbers."""

BEST = "largest of these"

RESOURCES = (
    "utilisation",
    "utilisation_memory",
    "imbalance_mean",
    "short_procs",
    "short_memory",
    "stranded_procs",
    "stranded_memory",
    "backfilled",
)


def paper_tables(found: Findings) -> tuple[PaperTable, ...]:
    """All tables."""
    return (
        *(_gains(found, case) for case in found.main()),
        _at_one(found),
        _averages(found),
        _shaken(found),
        _filter(found),
        _resources(found),
    )


def _gains(found: Findings, case: Case) -> PaperTable:
    rows = []
    for metric, label in METRICS.items():
        group = label.partition(",")[0]
        columns = {pair: found.gains(case, pair, metric) for pair in PAIRS}
        for k, load in enumerate(case.loads):
            cells = tuple(Cell(ours=100 * columns[pair][k]) for pair in PAIRS)
            rows.append(Row(label=f"{load:g}", unit="%", group=group, cells=cells))
        best = tuple(
            Cell(
                ours=100 * max(columns[pair]),
                paper=None if found.generated else PUBLISHED.get((case.name, pair, metric)),
            )
            for pair in PAIRS
        )
        rows.append(Row(label=BEST, unit="%", group=group, cells=best))
    loads = ", ".join(
        f"{load:g} x: {_offered(found, case, load)}"
        for load in (case.loads[0], 1.0, case.loads[-1])
        if load in case.loads
    )
    return PaperTable(
        name=f"Gains, {case.name}",
        title=f"What is gained by relative load, in per cent: {case.says}",
        columns=tuple(over(pair) for pair in PAIRS),
        rows=tuple(rows),
        note=f"1 - a/b: above 0 the first is better. {LEGEND} Offered load at {loads}.",
    )


def _offered(found: Findings, case: Case, load: float) -> str:
    offered = found.at(case, load).offered
    listed = " and ".join(f"{share:.2f} of {name}" for name, share in offered.items())
    return f"{listed} (overload)" if max(offered.values()) >= 1 else listed


def _at_one(found: Findings) -> PaperTable:
    rows = [
        Row(
            label=case.name,
            unit="%",
            group=label.partition(",")[0],
            cells=tuple(Cell(ours=100 * found.gain(case, 1.0, pair, metric)) for pair in PAIRS),
        )
        for metric, label in METRICS.items()
        for case in found.cases
        if 1.0 in case.loads
    ]
    listed = "; ".join(f"{case.name}: {case.says}" for case in found.cases)
    return PaperTable(
        name="Gains, every reading",
        title="The same at relative load 1, for every machine and reading",
        columns=tuple(over(pair) for pair in PAIRS),
        rows=tuple(rows),
        note=f"{listed}.",
    )


def _averages(found: Findings) -> PaperTable:
    rows = [
        Row(
            label=case.name,
            group=label,
            cells=tuple(
                Cell(ours=found.at(case, 1.0).points[name].of(metric)) for name in POLICIES
            ),
        )
        for metric, label in METRICS.items()
        for case in found.cases
        if 1.0 in case.loads
    ]
    return PaperTable(
        name="Averages",
        title="Average wait, response and slowdown at relative load 1",
        columns=tuple(POLICIES),
        rows=tuple(rows),
        note=LEGEND,
    )


def _shaken(found: Findings) -> PaperTable:
    pairs = tuple(pair for pair in PAIRS if set(pair) <= set(SHAKEN))
    rows = []
    for case in found.main():
        for metric, label in METRICS.items():
            for load in shaken_loads(case):
                drawn = (found.drawn(case, load, pair, metric) for pair in pairs)
                cells = tuple(Cell.over(values, scale=100) for values in drawn)
                group = f"{case.name}: {label.partition(',')[0]}"
                rows.append(Row(label=f"{load:g}", unit="%", group=group, cells=cells))
    return PaperTable(
        name="Shaken inputs",
        title="Gains by relative load, means over inputs without 1 % of their jobs",
        columns=tuple(over(pair) for pair in pairs),
        rows=tuple(rows),
        note=f"{len(found.seeds)} draws; their standard errors are in the files.",
    )


def _filter(found: Findings) -> PaperTable:
    columns = ("all jobs", "filtered", "all, best", "filtered, best")
    rows = []
    for case in found.main():
        for metric, label in METRICS.items():
            plain = found.gains(case, ("IBB", "BB"), metric)
            kept = found.gains(case, ("IBB", "BB"), metric, filtered=True)
            at = case.loads.index(1.0)
            numbers = (plain[at], kept[at], max(plain), max(kept))
            rows.append(
                Row(
                    label=label.partition(",")[0],
                    unit="%",
                    group=case.name,
                    cells=tuple(Cell(ours=100 * value) for value in numbers),
                )
            )
    return PaperTable(
        name="Statistics filter",
        title="The gain of IBB over BB with and without the statistics filter of pyss",
        columns=columns,
        rows=tuple(rows),
        note="At relative load 1, and the largest over all loads.",
    )


def _resources(found: Findings) -> PaperTable:
    runs = {
        (case.name, run.policy): run.metrics
        for case in found.main()
        for run in found.at(case, 1.0).runs
    }
    columns = [(name, policy) for name, policy in runs]
    rows = tuple(
        Row(
            label=metric,
            cells=tuple(Cell(ours=runs[key].get(metric)) for key in columns),
        )
        for metric in RESOURCES
    )
    return PaperTable(
        name="Resources",
        title="What the resources do at relative load 1",
        columns=tuple(f"{policy}, {name}" for name, policy in columns),
        rows=rows,
        note="short: part of the time with a waiting job in which the first one lacks it. "
        "stranded: idle because another resource is full. imbalance: fullest over average, 1 to 2.",
    )
