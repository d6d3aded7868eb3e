"""Gains at every load, averages, shaken inputs, the filter, the resources, and the figures."""

from __future__ import annotations

from shadowtime.study.papers.ibb.case import MIXED, PURE, Case
from shadowtime.study.papers.ibb.runs import (
    DRAWN,
    JOBS,
    LEGEND,
    METRICS,
    PAIRS,
    POLICIES,
    SHAKEN,
    Findings,
    over,
    shaken_loads,
)
from shadowtime.study.papers.values import Cell, Panel, PaperFigure, PaperTable, Row, Series

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
        return Panel.of(
            label.partition(",")[0],
            "line",
            "relative load",
            label,
            case.loads,
            (
                Series(
                    name=name,
                    y=tuple(found.at(case, load).points[name].of(metric) for load in case.loads),
                )
                for name in DRAWN
            ),
        )

    return PaperFigure.of(
        NAMES.get(case.name, f"Figure {case.name}"),
        f"Averages by relative load: {case.says}",
        (panel(metric, label) for metric, label in METRICS.items()),
        says=SAYS.get(case.name, ""),
        note=f"{LEGEND} FCFS is off the scale: see Averages.",
    )


def _condor(found: Findings) -> PaperFigure:
    titles = {"wait": "wait, s", "response": "response, s", "slowdown": "slowdown"}
    panels = tuple(
        Panel.of(
            metric,
            "line",
            "job",
            label,
            (float(number) for number in range(1, JOBS + 1)),
            (
                Series(name=name, y=tuple(getattr(jobs, metric).astype(float).tolist()))
                for name, jobs in found.condor.items()
            ),
        )
        for metric, label in titles.items()
    )
    return PaperFigure.of(
        "Figure 3",
        "Each job of 54 on four nodes, one submitted a second",
        panels,
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
            rows.append(Row.of(f"{load:g}", cells, unit="%", group=group))
        best = tuple(
            Cell(
                ours=100 * max(columns[pair]),
                paper=None if found.generated else PUBLISHED.get((case.name, pair, metric)),
            )
            for pair in PAIRS
        )
        rows.append(Row.of(BEST, best, unit="%", group=group))
    loads = ", ".join(
        f"{load:g} x: {_offered(found, case, load)}"
        for load in (case.loads[0], 1.0, case.loads[-1])
        if load in case.loads
    )
    return PaperTable.of(
        f"Gains, {case.name}",
        f"What is gained by relative load, in per cent: {case.says}",
        (over(pair) for pair in PAIRS),
        rows,
        note=f"1 - a/b: above 0 the first is better. {LEGEND} Offered load at {loads}.",
    )


def _offered(found: Findings, case: Case, load: float) -> str:
    offered = found.at(case, load).offered
    listed = " and ".join(f"{share:.2f} of {name}" for name, share in offered.items())
    return f"{listed} (overload)" if max(offered.values()) >= 1 else listed


def _at_one(found: Findings) -> PaperTable:
    rows = [
        Row.of(
            case.name,
            (Cell(ours=100 * found.gain(case, 1.0, pair, metric)) for pair in PAIRS),
            unit="%",
            group=label.partition(",")[0],
        )
        for metric, label in METRICS.items()
        for case in found.cases
        if 1.0 in case.loads
    ]
    listed = "; ".join(f"{case.name}: {case.says}" for case in found.cases)
    return PaperTable.of(
        "Gains, every reading",
        "The same at relative load 1, for every machine and reading",
        (over(pair) for pair in PAIRS),
        rows,
        note=f"{listed}.",
    )


def _averages(found: Findings) -> PaperTable:
    rows = [
        Row.of(
            case.name,
            (Cell(ours=found.at(case, 1.0).points[name].of(metric)) for name in POLICIES),
            group=label,
        )
        for metric, label in METRICS.items()
        for case in found.cases
        if 1.0 in case.loads
    ]
    return PaperTable.of(
        "Averages",
        "Average wait, response and slowdown at relative load 1",
        POLICIES,
        rows,
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
                rows.append(Row.of(f"{load:g}", cells, unit="%", group=group))
    return PaperTable.of(
        "Shaken inputs",
        "Gains by relative load, means over inputs without 1 % of their jobs",
        (over(pair) for pair in pairs),
        rows,
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
                Row.of(
                    label.partition(",")[0],
                    (Cell(ours=100 * value) for value in numbers),
                    unit="%",
                    group=case.name,
                )
            )
    return PaperTable.of(
        "Statistics filter",
        "The gain of IBB over BB with and without the statistics filter of pyss",
        columns,
        rows,
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
        Row.of(metric, (Cell(ours=runs[key].get(metric)) for key in columns))
        for metric in RESOURCES
    )
    return PaperTable.of(
        "Resources",
        "What the resources do at relative load 1",
        (f"{policy}, {name}" for name, policy in columns),
        rows,
        note="short: part of the time with a waiting job in which the first one lacks it. "
        "stranded: idle because another resource is full. imbalance: fullest over average, 1 to 2.",
    )
