"""Class partitioning (Chiang and Vernon): Figures 1 to 5 on the O2K months, and its claims.

Here: the plan, the workload beside Tables 4 and 8, and the numbers that the paper has no table for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shadowtime.study.papers.class_partitioning import claims, figures
from shadowtime.study.papers.class_partitioning import runs as r
from shadowtime.study.papers.class_partitioning.runs import ALL, LARGE, WHOLE, Findings
from shadowtime.study.papers.published import rows as _rows
from shadowtime.study.papers.reproduction import Paper, Runs, Subject
from shadowtime.study.papers.values import Cell, PaperTable, Row

SIZES = ("1", "2", "3-4", "5-8", "9-16", "17-32", "33-64", "65-128")
BOUNDS = ("P > 64", "R <= 5 h", "R <= 20 h", "R <= 50 h")


def paper_tables(found: Findings) -> tuple[PaperTable, ...]:
    """All of them."""
    return (
        _table_4(found),
        _table_8(found),
        _policies(found),
        _orders(found),
        _shared_jobs(found),
        _sharing(found),
    )


def _fitted(values: Sequence[float], paper: float) -> Cell:
    """What every draw was fitted to: there is no spread worth reporting."""
    return Cell(ours=sum(values) / len(values), paper=paper)


def _table_4(found: Findings) -> PaperTable:
    """Jobs and demand by class: what the draws were fitted to, and what the fit left."""
    lines = {(row["measure"], row["month"]): row for row in _rows("class_partitioning_table4")}

    def cell(measure: str, month: str, size: str) -> Cell:
        mine = [check.jobs if measure == "jobs" else check.demand for check in found.checks(month)]
        values = [float(sum(one) if size == "total" else one[SIZES.index(size)]) for one in mine]
        return _fitted(values, float(lines[measure, month][size]))

    return PaperTable.of(
        "Table 4",
        "The months by requested processors",
        r.MONTH_NAMES,
        (
            Row.of(
                size,
                (cell(measure, month, size) for month in r.MONTH_NAMES),
                unit=unit,
                group=measure,
            )
            for measure, unit in (("jobs", ""), ("demand", "%"))
            for size in ("total", *SIZES)
        ),
        note="The paper's classes do not add up to its totals of jobs; the classes are drawn. The "
        "order of March's demands is uncertain in the text at hand.",
    )


def _table_8(found: Findings) -> PaperTable:
    rows = []
    for line in _rows("class_partitioning_table8"):
        checks = found.checks(line["month"])
        columns = [[check.large for check in checks]]
        columns += [[check.up_to[at] for check in checks] for at in range(3)]
        cells = tuple(
            _fitted(column, float(line[name])) for name, column in zip(BOUNDS, columns, strict=True)
        )
        rows.append(Row.of("demand", cells, unit="%", group=line["month"]))
    return PaperTable.of(
        "Table 8",
        "Processor demand by class; with a bound on R: jobs of at most 64 processors",
        BOUNDS,
        rows,
    )


def _policies(found: Findings) -> PaperTable:
    """Every policy of section 4 by class."""
    measures = {
        "average wait": ("wait_mean_s", figures.HOURS, "h"),
        "95th percentile wait": ("wait_p95_s", figures.HOURS, "h"),
        "maximum wait": ("wait_max_s", figures.HOURS, "h"),
        "average slowdown": ("slowdown_mean", 1.0, ""),
        "slowdown bounded at 60 s": ("bsld60_mean", 1.0, ""),
    }
    names = (r.SINGLE, *r.PARTITIONED)
    rows = [
        Row.of(
            f"{label}, {group}",
            (
                Cell.over(found.values(month, r.policy_of(name, month), metric, group), scale=scale)
                for name in names
            ),
            unit=unit,
            group=month,
        )
        for month in r.MONTH_NAMES
        for label, (metric, scale, unit) in measures.items()
        for group in r.GROUPS
    ]
    return PaperTable.of(
        "Policies", "Single class and class partitioning by month and class", names, rows
    )


def _by_depth(
    found: Findings,
    label: str,
    month: str,
    *,
    group: str = ALL,
    world: str = WHOLE,
    order: str = "LXF&W",
    metric: str = "wait_mean_s",
) -> Row:
    return Row.of(
        label,
        (
            Cell.over(
                found.values(month, r.with_depth(order, depth), metric, group, world=world),
                scale=figures.HOURS,
            )
            for depth in found.depths
        ),
        unit="h",
        group=month,
    )


def _orders(found: Findings) -> PaperTable:
    return PaperTable.of(
        "Orders",
        "Average wait by order and number of reservations, no partition",
        (f"K = {depth}" for depth in found.depths),
        (
            _by_depth(found, f"{order}, {group}", month, group=group, order=order)
            for month in r.MONTH_NAMES
            for order in r.ORDERS
            for group in (ALL, LARGE)
        ),
    )


def _shared_jobs(found: Findings) -> PaperTable:
    waits = {"average wait": "wait_mean_s", "maximum wait": "wait_max_s"}
    return PaperTable.of(
        "Shared jobs",
        "Jobs of at most 64 processors alone, on nine hosts, under LXF&W",
        (f"K = {depth}" for depth in found.depths),
        (
            _by_depth(found, label, month, world=r.SHARED_JOBS, metric=metric)
            for month in r.MONTH_NAMES
            for label, metric in waits.items()
        ),
    )


def _sharing(found: Findings) -> PaperTable:
    """Dedicated jobs alone on a host, or beside others: the text leaves open which was run."""
    named = {f"LXF&W, K = {depth}": r.with_depth("LXF&W", depth) for depth in r.QUICK_DEPTHS}
    named |= r.PARTITIONED
    rows = [
        Row.of(
            f"{words}, {group}",
            (
                Cell.over(
                    found.values(month, policy, "wait_mean_s", group, world=world),
                    scale=figures.HOURS,
                )
                for policy in named.values()
            ),
            unit="h",
            group=month,
        )
        for month in r.MONTH_NAMES
        for group in (ALL, LARGE)
        for words, world in (("whole host", WHOLE), ("space-shared", r.SPACE_SHARED))
    ]
    return PaperTable.of(
        "Dedicated",
        "Average wait where dedicated jobs take a whole host, and where they share one",
        named,
        rows,
    )


QUICK_SEEDS = 2


def study(subjects: tuple[Subject, ...], seeds: int, quick: bool) -> Runs:
    """``seeds`` draws of each month; ``quick``: two, and three numbers of reservations."""
    if quick:
        few = tuple(range(1, min(seeds, QUICK_SEEDS) + 1))
        return r.runs(subjects, few, r.QUICK_DEPTHS)
    return r.runs(subjects, tuple(range(1, seeds + 1)))


def more(found: Findings) -> dict[str, Any]:
    """The schedules of the first draw."""
    runs = {}
    for month in (subject.label for subject in found.subjects):
        outcomes = found.months[month, 1].outcomes
        named = [r.policy_of(name, month) for name in (r.SINGLE, *r.PARTITIONED)]
        runs[month] = tuple(run for one in named if (run := outcomes[WHOLE, one].run))
    return {"runs": runs}


TITLE = "Class-Partitioning Job Scheduling for Large-Scale Parallel Systems"
PAPER = Paper(
    name="class-partitioning",
    title=TITLE,
    reference=f"S.-H. Chiang, M. K. Vernon: {TITLE}. On workloads rebuilt from the paper's tables: "
    "the trace was never published",
    policies=("lxfw",),
    runs=study,
    tables=paper_tables,
    figures=figures.paper_figures,
    claims=claims.paper_claims,
    notes=lambda found, tables: figures.paper_notes(found),
    choices=figures.choices,
    more=more,
    subjects=r.subjects,
)
