"""Tables 1 to 6 with our numbers, a group of rows for every reading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from shadowtime.study.accuracy import Accuracy
from shadowtime.study.papers import published
from shadowtime.study.papers.pv_easy import runs as r
from shadowtime.study.papers.pv_easy.runs import OVERRUN, Findings
from shadowtime.study.papers.reproduction import Subject
from shadowtime.study.papers.values import Cell, PaperTable, Row
from shadowtime.types import Ints

MINUTE, HOUR, PERCENT = 1 / 60, 1 / 3600, 100.0
"""From our units to the paper's."""

VIOLATIONS = "jobs with a violation"
"""A row of Table 2."""


def printed(table: int, column: str) -> dict[str, float]:
    """A column of a published table by workload."""
    return {row["workload"]: float(row[column]) for row in published.rows(f"pv_easy_table{table}")}


def paper_tables(found: Findings) -> tuple[PaperTable, ...]:
    """The paper's six, then ours."""
    makers = (_table1, _table2, _table3, _table4, _table5, _table6)
    parts = (_parts(found, subject) for subject in found.subjects)
    errors = (_errors(found, subject) for subject in found.subjects)
    cleaning = (_cleaning(found),) if found.recleaned else ()
    return (*(make(found) for make in makers), *parts, *errors, *cleaning)


class Measure(NamedTuple):
    """A row: its label, our metric, the column of the published table, and the paper's unit."""

    label: str
    metric: str
    column: str = ""
    scale: float = 1.0
    unit: str = ""


def _table(
    found: Findings, name: str, title: str, rows: Iterable[Row], note: str = ""
) -> PaperTable:
    columns = tuple(subject.label for subject in found.subjects)
    return PaperTable.of(name, title, columns, rows, note=note)


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
    return Row.of(label, cells, unit=unit, group=group)


def _rows(
    found: Findings,
    group: str,
    policy: str,
    measures: Iterable[Measure],
    paper: Callable[[str], dict[str, float]] = lambda column: {},
) -> Iterator[Row]:
    """Metrics of a policy, beside the published columns."""
    for one in measures:

        def value(subject: Subject, one: Measure = one) -> float | None:
            known = found.metric(subject, policy, one.metric)
            return None if known is None else known * one.scale

        yield _row(found, one.label, value, paper(one.column), unit=one.unit, group=group)


def _table1(found: Findings) -> PaperTable:
    def rows() -> Iterator[Row]:
        groups = [(f"EASY {reading}", r.easy(reading), "fst2") for reading in r.READINGS]
        groups.append(("EASY as defined, by strict fairness (FST)", r.easy(), "fst"))
        for group, policy, rule in groups:
            measures = (
                Measure("jobs delayed", f"{rule}_delayed", "jobs_delayed"),
                Measure("jobs blocked", "blocked", "jobs_blocked"),
                Measure("mean delay", f"{rule}_delay_mean_s", "mean_delay_min", MINUTE, "min"),
                Measure("longest delay", f"{rule}_delay_max_s", "max_delay_h", HOUR, "h"),
            )
            if rule == "fst2":
                yield from _rows(found, group, policy, measures, partial(printed, 1))
            else:
                yield from _rows(found, group, policy, measures)

    return _table(
        found, "Table 1", "Start time delay of blocked jobs in EASY", rows(),
        "Delayed: started after FST2, when it would have started had no job been backfilled "
        "since it was first blocked. FST leaves out every later job, as strict fairness asks.",
    )  # fmt: skip


def _table2(found: Findings) -> PaperTable:
    measures = (
        Measure(VIOLATIONS, "violations", "jobs_delayed"),
        Measure("their mean processors", "violation_procs_mean", "mean_parallelism"),
        Measure("mean DTR", "violation_delay_mean_s", "mean_dtr_min", MINUTE, "min"),
        Measure("mean SI", "violation_si_mean", "mean_si"),
        Measure("longest DTR", "violation_delay_max_s", "max_dtr_h", HOUR, "h"),
        Measure("largest SI", "violation_si_max", "max_si"),
    )
    rows = (
        row
        for reading in r.PROMISES
        for row in _rows(
            found, f"EASY-Last {reading}", r.easy_last(reading), measures, partial(printed, 2)
        )
    )
    return _table(
        found, "Table 2", "Reservation violations by the Last Model in EASY", rows,
        "DTR: start - first reservation; SI: DTR / max(run, 10 s). A violation is a start "
        "after the first reservation that later jobs, predicted to be gone by then, caused.",
    )  # fmt: skip


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
    return _table(
        found, "Table 3", "Overview of the workloads", rows,
        "Run times as recorded, over processors x (last - first submission); below, cut at "
        "the request as they are simulated.",
    )  # fmt: skip


def _counts(scheduler: str) -> dict[str, dict[str, float]]:
    """A scheduler's rows of Table 4."""
    names = {"CTC": "ctc", "SDSC-BLUE": "sdsc_blue", "SDSC-DS": "sdsc_ds"}
    return {
        row["measure"]: {key: float(row[of]) for key, of in names.items()}
        for row in published.rows("pv_easy_table4")
        if row["scheduler"] == scheduler
    }


def _table4(found: Findings) -> PaperTable:
    rows = [_row(found, "jobs", lambda s: len(s.workload), _counts("")["total_jobs"])]
    groups = [(f"EASY {reading}", r.easy(reading), "EASY") for reading in r.READINGS]
    groups += [(group, policy, "PV-EASY") for group, policy in OWN.items()]
    measures = [Measure(name, name, name) for name in ("backfilled", "blocked")]
    for group, policy, scheduler in groups:
        rows += _rows(found, group, policy, measures, _counts(scheduler).__getitem__)
    return _table(
        found, "Table 4", "Backfilled and blocked jobs in PV-EASY and EASY", rows,
        "Backfilled: the last start was by backfilling. Blocked: first in the queue and, "
        "even after preemption, unable to start.",
    )  # fmt: skip


OWN = {"PV-EASY": r.PV, "PV-EASY, victims pruned": r.PRUNED}
"""The groups of Tables 4 to 6."""


def _own(found: Findings, number: int, title: str, *measures: Measure) -> PaperTable:
    """A table of PV-EASY alone."""
    rows = (
        row
        for group, policy in OWN.items()
        for row in _rows(found, group, policy, measures, partial(printed, number))
    )
    return _table(found, f"Table {number}", title, rows)


def _table5(found: Findings) -> PaperTable:
    return _own(
        found, 5, "Load of PV-EASY",
        Measure("total load", "total_load", "total_load_pct", PERCENT, "%"),
        Measure("wasted load", "wasted_load", "wasted_load_pct", PERCENT, "%"),
    )  # fmt: skip


def _table6(found: Findings) -> PaperTable:
    return _own(
        found, 6, "Preempted jobs in PV-EASY",
        Measure("jobs preempted", "preempted_jobs", "jobs_preempted"),
        Measure("of all jobs", "preempted_share", "rate_pct", PERCENT, "%"),
        Measure("kills of a preempted job (MKT)", "mkt", "mkt"),
        Measure("run time wasted (RTW)", "rtw_mean", "mean_rtw_pct", PERCENT, "%"),
    )  # fmt: skip


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


def _picked(
    metrics: Mapping[str, float], columns: Mapping[str, tuple[str, float]]
) -> Iterator[Cell]:
    for name, scale in columns.values():
        value = metrics.get(name)
        yield Cell(ours=None if value is None else value * scale)


def _parts(found: Findings, subject: Subject) -> PaperTable:
    rows = tuple(
        Row.of(label, _picked(found.of(subject, policy).metrics, PARTS))
        for label, policy in r.ABLATIONS.items()
    )
    return PaperTable.of(
        f"Parts, {subject.label}",
        "PV-EASY with and without its parts, and EASY with the same predictors",
        PARTS,
        rows,
    )


def _errors(found: Findings, subject: Subject) -> PaperTable:
    def rows() -> Iterator[Row]:
        for label, policy in r.ACCURACY.items():
            known = _accuracy(found, subject, policy)
            yield Row.of(label, _picked(known.overall, ERROR))
        last = _accuracy(found, subject, r.PV)
        for group, classes in (("processors", last.by_size), ("user", last.by_user[:USERS])):
            for row in classes:
                yield Row.of(
                    f"{row.label} ({row.jobs:,} jobs)",
                    _picked(row.metrics, ERROR),
                    group=f"Last Model by {group}",
                )

    return PaperTable.of(
        f"Predictors, {subject.label}",
        "How far predictions are from run times",
        ERROR,
        rows(),
        note="Error: |prediction - run| / run; accuracy: the smaller of the two over the larger; "
        f"under: ran longer than predicted. The {USERS} users with the most processor time.",
    )


def _accuracy(found: Findings, subject: Subject, policy: str) -> Accuracy:
    known = found.of(subject, policy).accuracy
    assert known is not None
    return known


def _cleaning(found: Findings) -> PaperTable:
    counts = _counts("PV-EASY")
    overran = ", ".join(f"{one.overran:.0%} of {one.label}" for one in found.subjects)
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
        for label, policy in (("PV-EASY", r.PV), ("EASY", r.easy()), ("EASY-Last", r.easy_last()))
    ]

    def value(rule: str, policy: str, name: str, scale: float) -> Callable[[Subject], float]:
        def of(subject: Subject) -> float:
            known = (
                found.of(subject, policy)
                if rule == OVERRUN[0]
                else found.recleaned[subject.label, rule, policy]
            )
            return known.metrics[name] * scale

        return of

    def rows() -> Iterator[Row]:
        for rule in OVERRUN:
            group = RULES[rule]
            for label, name, scale, unit, paper in measures:
                ours = value(rule, r.PV, name, scale)
                yield _row(found, label, ours, paper, unit=unit, group=group)
            for label, policy, metric in slowdowns:
                yield _row(found, label, value(rule, policy, metric, 1.0), group=group)

    return _table(
        found,
        "Cleaning",
        f"Jobs that ran longer than requested ({overran}), by three rules",
        rows(),
        "The paper says both that a job is killed at its request (section 2.1) and that it "
        "finishes after its real run time (section 5.1.1).",
    )
