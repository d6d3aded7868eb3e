"""Tables 1 to 6 with our numbers, a group of rows for every reading."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.study.papers import published
from shadowtime.study.papers.pv_easy import policies as p
from shadowtime.study.papers.pv_easy.runs import OVERRUN
from shadowtime.study.papers.tables import Cell, PaperTable, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from shadowtime.study.accuracy import Accuracy
    from shadowtime.study.papers.pv_easy.outcome import Outcome
    from shadowtime.study.papers.pv_easy.runs import Findings
    from shadowtime.study.papers.subjects import Subject
    from shadowtime.types import Ints


MINUTE, HOUR, PERCENT = 1 / 60, 1 / 3600, 100.0
"""From our units to the paper's."""

VIOLATIONS = "jobs with a violation"
"""A row of Table 2."""


def printed(table: int, column: str) -> dict[str, float]:
    """A column of a published table by workload."""
    return {row["workload"]: float(row[column]) for row in published.rows(f"pv_easy_table{table}")}


def paper_tables(found: Findings) -> tuple[PaperTable, ...]:
    """All six."""
    makers = (_table1, _table2, _table3, _table4, _table5, _table6)
    return tuple(make(found) for make in makers)


def _row(
    found: Findings,
    label: str,
    value: Callable[[Subject], float | None],
    paper: dict[str, float] | None = None,
    *,
    unit: str = "",
    group: str = "",
) -> Row:
    """A row over all subjects."""
    known = paper or {}
    cells = (Cell(ours=value(one), paper=known.get(one.label)) for one in found.subjects)
    return Row(label=label, unit=unit, group=group, cells=tuple(cells))


def _metric(
    found: Findings, policy: str, name: str, scale: float = 1.0
) -> Callable[[Subject], float | None]:
    def value(subject: Subject) -> float | None:
        known = found.metric(subject, policy, name)
        return None if known is None else known * scale

    return value


def _columns(found: Findings) -> tuple[str, ...]:
    return tuple(subject.label for subject in found.subjects)


def _table1(found: Findings) -> PaperTable:
    def rows() -> Iterator[Row]:
        measures = (
            ("jobs delayed", "{}_delayed", 1.0, "", "jobs_delayed"),
            ("jobs blocked", "blocked", 1.0, "", "jobs_blocked"),
            ("mean delay", "{}_delay_mean_s", MINUTE, "min", "mean_delay_min"),
            ("longest delay", "{}_delay_max_s", HOUR, "h", "max_delay_h"),
        )
        groups = [(f"EASY {reading}", p.easy(reading), "fst2") for reading in p.READINGS]
        groups.append(("EASY as defined, by strict fairness (FST)", p.easy(), "fst"))
        for group, policy, rule in groups:
            for label, name, scale, unit, column in measures:
                paper = printed(1, column) if rule == "fst2" else None
                value = _metric(found, policy, name.format(rule), scale)
                yield _row(found, label, value, paper, unit=unit, group=group)

    return PaperTable(
        name="Table 1",
        title="Start time delay of blocked jobs in EASY",
        columns=_columns(found),
        rows=tuple(rows()),
        note="Delayed: started after FST2, when it would have started had no job been backfilled "
        "since it was first blocked. FST leaves out every later job, as strict fairness asks.",
    )


def _table2(found: Findings) -> PaperTable:
    measures = (
        (VIOLATIONS, "violations", 1.0, "", "jobs_delayed"),
        ("their mean processors", "violation_procs_mean", 1.0, "", "mean_parallelism"),
        ("mean DTR", "violation_delay_mean_s", MINUTE, "min", "mean_dtr_min"),
        ("mean SI", "violation_si_mean", 1.0, "", "mean_si"),
        ("longest DTR", "violation_delay_max_s", HOUR, "h", "max_dtr_h"),
        ("largest SI", "violation_si_max", 1.0, "", "max_si"),
    )
    rows = [
        _row(
            found,
            label,
            _metric(found, p.easy_last(reading), name, scale),
            printed(2, column),
            unit=unit,
            group=f"EASY-Last {reading}",
        )
        for reading in p.PROMISES
        for label, name, scale, unit, column in measures
    ]
    return PaperTable(
        name="Table 2",
        title="Reservation violations by the Last Model in EASY",
        columns=_columns(found),
        rows=tuple(rows),
        note="DTR: start - first reservation; SI: DTR / max(run, 10 s). A violation is a start "
        "after the first reservation that later jobs, predicted to be gone by then, caused.",
    )


def _table3(found: Findings) -> PaperTable:
    def load(subject: Subject, run: Ints) -> float:
        jobs = subject.workload
        span = int(jobs.submit[-1] - jobs.submit[0])
        return PERCENT * float((jobs.procs * run).sum()) / (subject.cluster.procs * span)

    measures: tuple[tuple[str, str, str, Callable[[Subject], float]], ...] = (
        ("processors", "", "processors", lambda s: s.cluster.procs),
        ("jobs", "", "jobs", lambda s: len(s.workload)),
        ("load", "%", "load_pct", lambda s: load(s, s.workload.run)),
        ("mean processors of a job", "", "mean_parallelism",
         lambda s: float(s.workload.procs.mean())),
        ("mean run time", "s", "mean_runtime_s", lambda s: float(s.workload.run.mean())),
    )  # fmt: skip
    rows = [
        _row(found, label, value, printed(3, column), unit=unit)
        for label, unit, column, value in measures
    ]
    rows += [
        _row(found, "load, runs cut at the request",
             lambda s: load(s, s.workload.effective_run), unit="%"),
        _row(found, "mean run time, cut at the request",
             lambda s: float(s.workload.effective_run.mean()), unit="s"),
    ]  # fmt: skip
    return PaperTable(
        name="Table 3",
        title="Overview of the workloads",
        columns=_columns(found),
        rows=tuple(rows),
        note="Run times as recorded, over processors x (last - first submission); below, cut at "
        "the request as they are simulated.",
    )


def _table4(found: Findings) -> PaperTable:
    names = {"CTC": "ctc", "SDSC-BLUE": "sdsc_blue", "SDSC-DS": "sdsc_ds"}
    paper = {
        (row["measure"], row["scheduler"]): {key: float(row[of]) for key, of in names.items()}
        for row in published.rows("pv_easy_table4")
    }
    rows = [_row(found, "jobs", lambda s: len(s.workload), paper["total_jobs", ""])]
    groups = [(f"EASY {reading}", p.easy(reading), "EASY") for reading in p.READINGS]
    groups += [("PV-EASY", p.PV, "PV-EASY"), ("PV-EASY, victims pruned", p.PRUNED, "PV-EASY")]
    rows += [
        _row(found, measure, _metric(found, policy, measure), paper[measure, column], group=group)
        for group, policy, column in groups
        for measure in ("backfilled", "blocked")
    ]
    return PaperTable(
        name="Table 4",
        title="Backfilled and blocked jobs in PV-EASY and EASY",
        columns=_columns(found),
        rows=tuple(rows),
        note="Backfilled: the last start was by backfilling. Blocked: first in the queue and, "
        "even after preemption, unable to start.",
    )


def _table5(found: Findings) -> PaperTable:
    rows = [
        _row(found, label, _metric(found, policy, name, PERCENT), printed(5, column),
             unit="%", group=group)
        for group, policy in (("PV-EASY", p.PV), ("PV-EASY, victims pruned", p.PRUNED))
        for label, name, column in (
            ("total load", "total_load", "total_load_pct"),
            ("wasted load", "wasted_load", "wasted_load_pct"),
        )
    ]  # fmt: skip
    return PaperTable(
        name="Table 5", title="Load of PV-EASY", columns=_columns(found), rows=tuple(rows)
    )


def _table6(found: Findings) -> PaperTable:
    measures = (
        ("jobs preempted", "preempted_jobs", 1.0, "", "jobs_preempted"),
        ("of all jobs", "preempted_share", PERCENT, "%", "rate_pct"),
        ("kills of a preempted job (MKT)", "mkt", 1.0, "", "mkt"),
        ("run time wasted (RTW)", "rtw_mean", PERCENT, "%", "mean_rtw_pct"),
    )
    rows = [
        _row(found, label, _metric(found, policy, name, scale), printed(6, column),
             unit=unit, group=group)
        for group, policy in (("PV-EASY", p.PV), ("PV-EASY, victims pruned", p.PRUNED))
        for label, name, scale, unit, column in measures
    ]  # fmt: skip
    return PaperTable(
        name="Table 6",
        title="Preempted jobs in PV-EASY",
        columns=_columns(found),
        rows=tuple(rows),
    )


USERS = 5
"""Users whose predictions are shown: those with the most processor time."""

PARTS = {
    "MBS": ("mbs", 1.0),
    "MWBS": ("mwbs", 1.0),
    "blocked": ("blocked", 1.0),
    "preempted, %": ("preempted_share", PERCENT),
    "wasted load, %": ("wasted_load", PERCENT),
}

ERROR = {
    "median error, %": ("prediction_error_median", PERCENT),
    "mean error, %": ("prediction_error_mean", PERCENT),
    "mean error, min": ("prediction_error_mean_s", 1 / 60),
    "accuracy": ("prediction_accuracy_mean", 1.0),
    "under, %": ("prediction_under", PERCENT),
    "over, %": ("prediction_over", PERCENT),
}

RULES = {
    "cut": "runs cut at the request",
    "extend": "request raised to the run",
    "keep": "no limits at all",
}


def more_tables(found: Findings) -> tuple[PaperTable, ...]:
    """All of them."""
    parts = (_parts(found, subject) for subject in found.subjects)
    errors = (_errors(found, subject) for subject in found.subjects)
    cleaning = (_cleaning(found),) if found.recleaned else ()
    return (*parts, *errors, *cleaning)


def _picked(
    metrics: Mapping[str, float], columns: Mapping[str, tuple[str, float]]
) -> Iterator[Cell]:
    for name, scale in columns.values():
        value = metrics.get(name)
        yield Cell(ours=None if value is None else value * scale)


def _parts(found: Findings, subject: Subject) -> PaperTable:
    rows = tuple(
        Row(label=label, cells=tuple(_picked(found.of(subject, policy).metrics, PARTS)))
        for label, policy in p.ABLATIONS.items()
    )
    return PaperTable(
        name=f"Parts, {subject.label}",
        title="PV-EASY with and without its parts, and EASY with the same predictors",
        columns=tuple(PARTS),
        rows=rows,
    )


def _errors(found: Findings, subject: Subject) -> PaperTable:
    def rows() -> Iterator[Row]:
        for label, policy in p.ACCURACY.items():
            known = _accuracy(found, subject, policy)
            yield Row(label=label, cells=tuple(_picked(known.overall, ERROR)))
        last = _accuracy(found, subject, p.PV)
        for group, classes in (("processors", last.by_size), ("user", last.by_user[:USERS])):
            for row in classes:
                yield Row(
                    label=f"{row.label} ({row.jobs:,} jobs)",
                    group=f"Last Model by {group}",
                    cells=tuple(_picked(row.metrics, ERROR)),
                )

    return PaperTable(
        name=f"Predictors, {subject.label}",
        title="How far predictions are from run times",
        columns=tuple(ERROR),
        rows=tuple(rows()),
        note="Error: |prediction - run| / run; accuracy: the smaller of the two over the larger; "
        f"under: ran longer than predicted. The {USERS} users with the most processor time.",
    )


def _accuracy(found: Findings, subject: Subject, policy: str) -> Accuracy:
    known = found.of(subject, policy).accuracy
    assert known is not None
    return known


def _overran(found: Findings) -> str:
    return ", ".join(
        f"{one.workload.cleaning.get('overrun_cut', 0) / len(one.workload):.0%} of {one.label}"
        for one in found.subjects
    )


def _cleaning(found: Findings) -> PaperTable:
    names = {"CTC": "ctc", "SDSC-BLUE": "sdsc_blue", "SDSC-DS": "sdsc_ds"}
    counts = {
        row["measure"]: {key: float(row[of]) for key, of in names.items()}
        for row in published.rows("pv_easy_table4")
        if row["scheduler"] == "PV-EASY"
    }
    measures: tuple[tuple[str, str, float, str, dict[str, float]], ...] = (
        ("PV-EASY blocked", "blocked", 1.0, "", counts["blocked"]),
        ("PV-EASY backfilled", "backfilled", 1.0, "", counts["backfilled"]),
        ("PV-EASY preempted", "preempted_jobs", 1.0, "", printed(6, "jobs_preempted")),
        ("PV-EASY wasted load", "wasted_load", PERCENT, "%", printed(5, "wasted_load_pct")),
        ("PV-EASY total load", "total_load", PERCENT, "%", printed(5, "total_load_pct")),
    )
    slowdowns = [
        (f"{label} {metric.upper()}", policy, metric)
        for metric in ("mbs", "mwbs")
        for label, policy in (("PV-EASY", p.PV), ("EASY", p.easy()), ("EASY-Last", p.easy_last()))
    ]

    def outcome(subject: Subject, rule: str, policy: str) -> Outcome:
        if rule == OVERRUN[0]:
            return found.of(subject, policy)
        return found.recleaned[subject.label, rule, policy]

    def rows() -> Iterator[Row]:
        for rule in OVERRUN:
            for label, name, scale, unit, paper in measures:
                cells = tuple(
                    Cell(
                        ours=outcome(subject, rule, p.PV).metrics[name] * scale,
                        paper=paper.get(subject.label),
                    )
                    for subject in found.subjects
                )
                yield Row(label=label, unit=unit, group=RULES[rule], cells=cells)
            for label, policy, metric in slowdowns:
                cells = tuple(
                    Cell(ours=outcome(subject, rule, policy).metrics[metric])
                    for subject in found.subjects
                )
                yield Row(label=label, group=RULES[rule], cells=cells)

    return PaperTable(
        name="Cleaning",
        title=f"Jobs that ran longer than requested ({_overran(found)}), by three rules",
        columns=tuple(subject.label for subject in found.subjects),
        rows=tuple(rows()),
        note="The paper says both that a job is killed at its request (section 2.1) and that it "
        "finishes after its real run time (section 5.1.1).",
    )
