"""PV-EASY (Yuan, Yang, Wu and Zheng, HPDC 2010): Tables 1 to 6, Figures 2 to 6, its claims.

Here: the plan, and the notes: what reproduces, what does not and why, what the text left to choose.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from shadowtime.study.papers.pv_easy import claims, figures
from shadowtime.study.papers.pv_easy import runs as r
from shadowtime.study.papers.pv_easy.runs import Findings
from shadowtime.study.papers.pv_easy.tables import VIOLATIONS, paper_tables
from shadowtime.study.papers.reproduction import GENERATED_NOTE, Log, Paper
from shadowtime.study.papers.values import NEAR, Cell, PaperTable, Row

FAR = 0.20
"""Cells that differ by more than this are named."""

SAME_LOG = 0.01
"""Numbers of jobs that differ by more are of another cleaning."""


def paper_notes(found: Findings, tables: Mapping[str, PaperTable]) -> tuple[str, ...]:
    """Sentences made from the tables: they state nothing that the tables do not show."""
    if not any(cell for table in tables.values() for cell in table.compared()):
        return (GENERATED_NOTE,)
    return (
        _own_numbers(tables),
        _readings(tables),
        _violations(tables),
        _slowdowns(found),
        _logs(tables),
    )


def _differences(rows: Iterable[tuple[Row, str, Cell]]) -> list[float]:
    return [abs(cell.difference) for _, _, cell in rows if cell.difference is not None]


def _average(values: list[float]) -> float:
    return sum(values) / max(len(values), 1)


def _own_numbers(tables: Mapping[str, PaperTable]) -> str:
    """PV-EASY's own counts and costs: Tables 4 to 6."""
    cells = [
        (table, row, column, cell)
        for name in ("Table 4", "Table 5", "Table 6")
        for table in (tables[name],)
        for row, column, cell in table.compared()
        if row.group == "PV-EASY"
    ]
    gaps = [(abs(cell.difference or 0.0), row.label, column) for _, row, column, cell in cells]
    close = sum(gap <= 0.05 for gap, _, _ in gaps)
    worst = max(gaps)
    verb = "reproduce" if worst[0] <= NEAR else "reproduce in part"
    return (
        f"PV-EASY's own numbers (Tables 4, 5, 6) {verb}: {close} of {len(gaps)} cells within "
        f"5 %, on average {_average([gap for gap, _, _ in gaps]):.1%} apart, at most "
        f"{worst[0]:.1%} ({worst[1]} on {worst[2]})."
    )


def _readings(tables: Mapping[str, PaperTable]) -> str:
    """The EASY baseline: Table 1 and EASY's rows of Table 4, reading by reading."""
    apart = {
        reading: _average(
            _differences(
                entry
                for name in ("Table 1", "Table 4")
                for entry in tables[name].compared()
                if entry[0].group == f"EASY {reading}"
            )
        )
        for reading in r.READINGS
    }
    nearest = min(apart, key=lambda reading: apart[reading])
    listed = ", ".join(f"{reading} {gap:.0%}" for reading, gap in apart.items())
    far = [
        f"{row.label} on {column} {cell.difference:+.0%}"
        for name in ("Table 1", "Table 4")
        for row, column, cell in tables[name].compared()
        if row.group == f"EASY {nearest}" and abs(cell.difference or 0.0) > FAR
    ]
    beyond = f" Beyond {FAR:.0%} even there: {', '.join(far)}." if far else ""
    usual = "is not" if apart[r.DEFINED] > FAR else "may be"
    return (
        f"The EASY baseline of Tables 1 and 4 {usual} EASY as it is usually defined. Mean distance "
        f"from the paper's cells by reading: {listed}. The nearest is '{nearest}'; which one the "
        f"authors used is not established.{beyond}"
    )


def _violations(tables: Mapping[str, PaperTable]) -> str:
    """Table 2 reading by reading."""
    table = tables["Table 2"]
    apart = {
        reading: _average(
            _differences(e for e in table.compared() if e[0].group == f"EASY-Last {reading}")
        )
        for reading in r.PROMISES
    }
    listed = ", ".join(f"{reading} {gap:.0%}" for reading, gap in apart.items())
    how = "in its order of magnitude only" if min(apart.values()) > FAR else "in one reading"
    counts = {
        reading: (sum(c.ours or 0 for c in cells), sum(c.paper or 0 for c in cells))
        for reading in r.PROMISES
        for cells in (
            [
                cell
                for row, _, cell in table.compared()
                if row.label == VIOLATIONS and row.group == f"EASY-Last {reading}"
            ],
        )
    }
    numbers = ", ".join(
        f"{reading} {ours:,.0f} against {paper:,.0f}" for reading, (ours, paper) in counts.items()
    )
    return (
        f"Table 2 reproduces {how}. Mean distance by reading: {listed}. Jobs with a violation on "
        f"all logs: {numbers}."
    )


def _slowdowns(found: Findings) -> str:
    """The ranking of Figures 5 and 6."""
    parts, rankings = [], set()
    for reading in (r.DEFINED, r.NEAREST):
        for metric in ("mbs", "mwbs"):
            ranks = []
            for subject in found.subjects:
                named = {
                    "PV-EASY": r.PV,
                    "EASY": r.easy(reading),
                    "EASY-Last": r.easy_last(reading),
                }
                value = {name: found.metric(subject, of, metric) or 0 for name, of in named.items()}
                ranks.append(f"{subject.label} {' < '.join(sorted(value, key=value.__getitem__))}")
            parts.append(f"{metric.upper()}, EASY {reading}: {', '.join(ranks)}")
            rankings.add((metric, *ranks))
    hangs = "hangs" if len(rankings) > 2 else "does not hang"
    return f"The ranking of Figures 5 and 6 {hangs} on the reading of EASY. {'; '.join(parts)}."


def _logs(tables: Mapping[str, PaperTable]) -> str:
    """What Table 3 shows about the logs."""
    cells = [
        f"{column} {cell.ours:,.0f} ({cell.difference:+.1%})"
        for row, column, cell in tables["Table 3"].compared()
        if row.label == "jobs" and cell.ours is not None and cell.difference is not None
    ]
    others = [
        column
        for row, column, cell in tables["Table 3"].compared()
        if row.label == "jobs" and abs(cell.difference or 0.0) > SAME_LOG
    ]
    another = f" Another cleaning than the paper's: {', '.join(others)}." if others else ""
    return (
        f"The logs are those of today's archive, cleaned by our rules; jobs: {', '.join(cells)}."
        f"{another} Table 3's run times are the recorded ones, not cut at the request; which of "
        "them the paper simulated is not stated (the table Cleaning has both)."
    )


def choices(found: Findings) -> tuple[str, ...]:
    """What the text does not give and is chosen here."""
    grid = ", ".join(f"{x:.0%}" for x in r.ERRORS)
    return (
        f"Figures 2 and 3: sizes in groups of the machine's share, {', '.join(r.LABELS)}; only the "
        "border 1/4 is the paper's.",
        f"Figure 4: maximum errors {grid}; the text names 10 % and 40 %. {len(found.seeds)} "
        "seeds a point, an error drawn once per job, not capped by the request; the same draws "
        "for every scheduler.",
        "Jobs that ran longer than requested are cut at the request; the table Cleaning has the "
        "other rules.",
        "FCFS-EASY and SJF-EASY are EASY with backfilling in the order of arrival and shortest "
        "prediction first.",
        "At one instant: ends, then submissions, then one pass of the policy.",
    )


LOGS = (
    Log(label="CTC", file="CTC-SP2-1996-3.1-cln.swf", procs=430),
    Log(label="SDSC-BLUE", file="SDSC-BLUE-2000-4.2-cln.swf", procs=1152),
    Log(label="SDSC-DS", file="SDSC-DS-2004-2.1-cln.swf", procs=1664),
)


def more(found: Findings) -> dict[str, Any]:
    """The kept schedules, and the errors of every predictor, by user and by size."""
    accuracy = [
        {"trace": subject.label, "label": label, **known.as_dict()}
        for subject in found.subjects
        for label, policy in r.ACCURACY.items()
        if (known := found.of(subject, policy).accuracy) is not None
    ]
    runs = {
        subject.label: tuple(run for name in r.KEPT if (run := found.of(subject, name).run))
        for subject in found.subjects
    }
    return {"runs": runs, "more": {"accuracy": accuracy}}


TITLE = "PV-EASY: A Strict Fairness Guaranteed and Prediction Enabled Scheduler"
PAPER = Paper(
    name="pv-easy",
    title=TITLE,
    reference=f"Y. Yuan, G. Yang, Y. Wu, W. Zheng: {TITLE} in Parallel Job Scheduling. HPDC 2010",
    logs=LOGS,
    policies=("easy", "pv-easy"),
    runs=lambda subjects, seeds, _: r.runs(subjects, tuple(range(1, seeds + 1))),
    tables=paper_tables,
    figures=figures.paper_figures,
    claims=claims.paper_claims,
    notes=paper_notes,
    choices=choices,
    more=more,
    quick=False,
)
