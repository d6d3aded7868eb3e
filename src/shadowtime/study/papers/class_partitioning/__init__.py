"""Class partitioning (Chiang and Vernon): Figures 1 to 5 on the O2K months, and its claims.

Here: the plan, the workload beside Tables 4 and 8, and the numbers that the paper has no table for.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.study.papers.class_partitioning import outcome as o
from shadowtime.study.papers.class_partitioning import policies as p
from shadowtime.study.papers.class_partitioning.claims import paper_claims
from shadowtime.study.papers.class_partitioning.figures import choices, paper_figures, paper_notes
from shadowtime.study.papers.class_partitioning.runs import QUICK_DEPTHS, Findings, Runs
from shadowtime.study.papers.class_partitioning.worlds import (
    SHARED_JOBS,
    SPACE_SHARED,
    WHOLE,
    subjects,
)
from shadowtime.study.papers.published import rows as _rows
from shadowtime.study.papers.reproduction import Paper, Plan, Reproduction, SubjectRun
from shadowtime.study.papers.tables import Cell, PaperTable, Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.study.papers.subjects import Subject


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


def _cell(values: Sequence[float], *, scale: float = 1.0) -> Cell:
    """The mean over the draws and its standard error."""
    known = np.array([value for value in values if not math.isnan(value)]) * scale
    if not len(known):
        return Cell(ours=None)
    error = float(known.std(ddof=1)) / math.sqrt(len(known)) if len(known) > 1 else None
    return Cell(ours=float(known.mean()), error=error)


def _fitted(values: Sequence[float], paper: float) -> Cell:
    """What every draw was fitted to: there is no spread worth reporting."""
    return Cell(ours=float(np.mean(values)), paper=paper)


def _table_4(found: Findings) -> PaperTable:
    """Jobs and demand by class: what the draws were fitted to, and what the fit left."""
    lines = {(row["measure"], row["month"]): row for row in _rows("class_partitioning_table4")}

    def cell(measure: str, month: str, size: str) -> Cell:
        mine = [check.jobs if measure == "jobs" else check.demand for check in found.checks(month)]
        values = [float(sum(one) if size == "total" else one[SIZES.index(size)]) for one in mine]
        return _fitted(values, float(lines[measure, month][size]))

    return PaperTable(
        name="Table 4",
        title="The months by requested processors",
        columns=tuple(p.MONTH_NAMES),
        rows=tuple(
            Row(
                label=size,
                unit=unit,
                group=measure,
                cells=tuple(cell(measure, month, size) for month in p.MONTH_NAMES),
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
        rows.append(Row(label="demand", cells=cells, unit="%", group=line["month"]))
    return PaperTable(
        name="Table 8",
        title="Processor demand by class; with a bound on R: jobs of at most 64 processors",
        columns=BOUNDS,
        rows=tuple(rows),
    )


def _policies(found: Findings) -> PaperTable:
    """Every policy of section 4 by class."""
    measures = {
        "average wait": ("wait_mean_s", 1 / 3600, "h"),
        "95th percentile wait": ("wait_p95_s", 1 / 3600, "h"),
        "maximum wait": ("wait_max_s", 1 / 3600, "h"),
        "average slowdown": ("slowdown_mean", 1.0, ""),
        "slowdown bounded at 60 s": ("bsld60_mean", 1.0, ""),
    }
    names = (p.SINGLE, *p.PARTITIONED)
    rows = [
        Row(
            label=f"{label}, {group}",
            unit=unit,
            group=month,
            cells=tuple(
                _cell(found.values(month, p.policy_of(name, month), metric, group), scale=scale)
                for name in names
            ),
        )
        for month in p.MONTH_NAMES
        for label, (metric, scale, unit) in measures.items()
        for group in o.GROUPS
    ]
    return PaperTable(
        name="Policies",
        title="Single class and class partitioning by month and class",
        columns=names,
        rows=tuple(rows),
    )


def _by_depth(found: Findings, label: str, group: str, month: str, world: str, order: str) -> Row:
    return Row(
        label=label,
        unit="h",
        group=month,
        cells=tuple(
            _cell(
                found.values(month, p.with_depth(order, depth), "wait_mean_s", group, world=world),
                scale=1 / 3600,
            )
            for depth in found.depths
        ),
    )


def _orders(found: Findings) -> PaperTable:
    return PaperTable(
        name="Orders",
        title="Average wait by order and number of reservations, no partition",
        columns=tuple(f"K = {depth}" for depth in found.depths),
        rows=tuple(
            _by_depth(found, f"{order}, {group}", group, month, WHOLE, order)
            for month in p.MONTH_NAMES
            for order in p.ORDERS
            for group in (o.ALL, o.LARGE)
        ),
    )


def _shared_jobs(found: Findings) -> PaperTable:
    rows = [
        _by_depth(found, "average wait", o.ALL, month, SHARED_JOBS, "LXF&W")
        for month in p.MONTH_NAMES
    ]
    longest = [
        Row(
            label="maximum wait",
            unit="h",
            group=month,
            cells=tuple(
                _cell(
                    found.values(
                        month, p.with_depth("LXF&W", depth), "wait_max_s", world=SHARED_JOBS
                    ),
                    scale=1 / 3600,
                )
                for depth in found.depths
            ),
        )
        for month in p.MONTH_NAMES
    ]
    return PaperTable(
        name="Shared jobs",
        title="Jobs of at most 64 processors alone, on nine hosts, under LXF&W",
        columns=tuple(f"K = {depth}" for depth in found.depths),
        rows=tuple(row for pair in zip(rows, longest, strict=True) for row in pair),
    )


def _sharing(found: Findings) -> PaperTable:
    """Dedicated jobs alone on a host, or beside others: the text leaves open which was run."""
    named = {f"LXF&W, K = {depth}": p.with_depth("LXF&W", depth) for depth in QUICK_DEPTHS}
    named |= p.PARTITIONED
    rows = [
        Row(
            label=f"{words}, {group}",
            unit="h",
            group=month,
            cells=tuple(
                _cell(
                    found.values(month, policy, "wait_mean_s", group, world=world), scale=1 / 3600
                )
                for policy in named.values()
            ),
        )
        for month in p.MONTH_NAMES
        for group in (o.ALL, o.LARGE)
        for words, world in (("whole host", WHOLE), ("space-shared", SPACE_SHARED))
    ]
    return PaperTable(
        name="Dedicated",
        title="Average wait where dedicated jobs take a whole host, and where they share one",
        columns=tuple(named),
        rows=tuple(rows),
    )


TITLE = "Class-Partitioning Job Scheduling for Large-Scale Parallel Systems"
REFERENCE = (
    "S.-H. Chiang, M. K. Vernon: Class-Partitioning Job Scheduling for Large-Scale Parallel "
    "Systems. On workloads rebuilt from the paper's tables: the trace was never published"
)
QUICK_SEEDS = 2


def plan(subjects: Sequence[Subject], seeds: int) -> Plan:
    """Every run of the study, on ``seeds`` draws of each month."""
    return Plan.of(Runs(tuple(subjects), tuple(range(1, seeds + 1))), reproduction)


def quick(subjects: Sequence[Subject], seeds: int) -> Plan:
    """Two draws and three numbers of reservations."""
    few = tuple(range(1, min(seeds, QUICK_SEEDS) + 1))
    return Plan.of(Runs(tuple(subjects), few, QUICK_DEPTHS), reproduction)


def reproduction(found: Findings) -> Reproduction:
    """The paper with our numbers in it."""
    return Reproduction(
        paper="class-partitioning",
        title=TITLE,
        reference=REFERENCE,
        subjects=found.subjects,
        tables=paper_tables(found),
        figures=paper_figures(found),
        claims=paper_claims(found),
        notes=paper_notes(found),
        choices=choices(found),
        seeds=found.seeds,
        runs={subject.label: _kept(found, subject.label) for subject in found.subjects},
    )


def _kept(found: Findings, month: str) -> tuple[SubjectRun, ...]:
    outcomes = found.months[month, 1].outcomes
    named = [p.policy_of(name, month) for name in (p.SINGLE, *p.PARTITIONED)]
    return tuple(run for policy in named if (run := outcomes[WHOLE, policy].run) is not None)


PAPER = Paper(
    name="class-partitioning",
    title=TITLE,
    reference=REFERENCE,
    logs=(),
    policies=("lxfw",),
    plan=plan,
    quick=quick,
    subjects=subjects,
)
