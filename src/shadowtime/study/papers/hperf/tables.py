"""Tables 4.1 to 4.4 with our numbers, how the seeds spread, and what is left open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.study.papers import published
from shadowtime.study.papers.hperf.policies import MEASURES, POLICIES, TABLES, UNLIMITED
from shadowtime.study.papers.hperf.runs import READINGS, interval
from shadowtime.study.papers.tables import Cell, PaperTable, Row

if TYPE_CHECKING:
    from shadowtime.study.papers.hperf.runs import Findings

COLUMNS = tuple(name.removeprefix("HPerf_") for name in POLICIES)
TITLES = {"High": "workload High", "Medium": "workload Medium"}


def paper_tables(found: Findings) -> tuple[PaperTable, ...]:
    """All of them."""
    return (
        *(_table(found, workload, rule, number) for (workload, rule), number in TABLES.items()),
        _spread(found),
        *([_readings(found)] if found.readings else []),
    )


def printed(number: int) -> dict[str, dict[str, str]]:
    """A published table: rows by policy."""
    return {row["policy"]: row for row in published.rows(f"hperf_table4_{number}")}


def _table(found: Findings, workload: str, rule: str, number: int) -> PaperTable:
    paper = printed(number)
    rows = []
    for measure, label in MEASURES.items():
        if measure == "killed" and rule == UNLIMITED:
            continue
        cells = []
        for policy in POLICIES:
            mean, error = interval(found.values(workload, rule, policy, measure))
            cells.append(Cell(ours=mean, paper=float(paper[policy][measure]), error=error))
        unit = "jobs" if measure == "killed" else "s"
        rows.append(Row(label=label, unit=unit, cells=tuple(cells)))
    return PaperTable(
        name=f"Table 4.{number}",
        title=f"Time in seconds per job state, {TITLES[workload]}, {rule}",
        columns=COLUMNS,
        rows=tuple(rows),
        note=f"Means over {len(found.seeds)} draws of the workload; the thesis ran one, whose jobs "
        "are not known. Running + Extra requested is the sum of the limits in every run.",
    )


def _spread(found: Findings) -> PaperTable:
    rows = []
    for workload, rule in TABLES:
        for measure in ("duration", "extra_used", "waiting", "killed"):
            if measure == "killed" and rule == UNLIMITED:
                continue
            for label, pick in (("lowest", min), ("highest", max)):
                cells = tuple(
                    Cell(ours=float(pick(found.values(workload, rule, policy, measure))))
                    for policy in POLICIES
                )
                group = f"{workload}, {rule}"
                rows.append(Row(label=f"{MEASURES[measure]}, {label}", cells=cells, group=group))
    return PaperTable(
        name="Spread",
        title="The lowest and the highest of the draws",
        columns=COLUMNS,
        rows=tuple(rows),
        note=f"{len(found.seeds)} draws.",
    )


def _readings(found: Findings) -> PaperTable:
    rows = []
    for measure in ("duration", "extra_used", "waiting"):
        for name in READINGS:
            cells = []
            for policy in POLICIES:
                mean, error = interval(found.reading(name, policy, measure))
                cells.append(Cell(ours=mean, error=error))
            rows.append(Row(label=name, unit="s", group=MEASURES[measure], cells=tuple(cells)))
    return PaperTable(
        name="Readings",
        title="Workload High, unlimited time, one thing changed at a time",
        columns=COLUMNS,
        rows=tuple(rows),
    )
