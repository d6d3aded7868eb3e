"""PV-EASY (Yuan, Yang, Wu and Zheng, HPDC 2010): Tables 1 to 6, Figures 2 to 6, its claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shadowtime.study.papers.pv_easy.claims import paper_claims
from shadowtime.study.papers.pv_easy.figures import paper_figures
from shadowtime.study.papers.pv_easy.notes import choices, paper_notes
from shadowtime.study.papers.pv_easy.policies import ACCURACY
from shadowtime.study.papers.pv_easy.runs import KEPT, Findings, Runs
from shadowtime.study.papers.pv_easy.tables import more_tables, paper_tables
from shadowtime.study.papers.reproduction import Paper, Plan, Reproduction, SubjectRun
from shadowtime.study.papers.subjects import Log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.study.papers.subjects import Subject

TITLE = "PV-EASY: A Strict Fairness Guaranteed and Prediction Enabled Scheduler"
REFERENCE = (
    "Y. Yuan, G. Yang, Y. Wu, W. Zheng: PV-EASY: A Strict Fairness Guaranteed and Prediction "
    "Enabled Scheduler in Parallel Job Scheduling. HPDC 2010"
)

LOGS = (
    Log(label="CTC", file="CTC-SP2-1996-3.1-cln.swf", procs=430),
    Log(label="SDSC-BLUE", file="SDSC-BLUE-2000-4.2-cln.swf", procs=1152),
    Log(label="SDSC-DS", file="SDSC-DS-2004-2.1-cln.swf", procs=1664),
)


def plan(subjects: Sequence[Subject], seeds: int) -> Plan:
    """Every run of the study on these subjects, ``seeds`` of each noisy one."""
    runs = Runs(tuple(subjects), tuple(range(1, seeds + 1)))
    return Plan(
        tasks=runs.tasks(), put_together=lambda results: reproduction(runs.collect(results))
    )


def reproduction(found: Findings) -> Reproduction:
    """The paper with our numbers in it."""
    tables = (*paper_tables(found), *more_tables(found))
    return Reproduction(
        paper="pv-easy",
        title=TITLE,
        reference=REFERENCE,
        subjects=found.subjects,
        tables=tables,
        figures=paper_figures(found),
        claims=paper_claims(found),
        notes=paper_notes(found, {table.name: table for table in tables}),
        choices=choices(found),
        seeds=found.seeds,
        runs={subject.label: _kept(found, subject) for subject in found.subjects},
        more={"accuracy": _accuracy(found)},
    )


def _kept(found: Findings, subject: Subject) -> tuple[SubjectRun, ...]:
    return tuple(run for policy in KEPT if (run := found.of(subject, policy).run) is not None)


def _accuracy(found: Findings) -> list[dict[str, Any]]:
    """The errors of every predictor, by user and by size."""
    return [
        {"trace": subject.label, "label": label, **known.as_dict()}
        for subject in found.subjects
        for label, policy in ACCURACY.items()
        if (known := found.of(subject, policy).accuracy) is not None
    ]


PAPER = Paper(
    name="pv-easy",
    title=TITLE,
    reference=REFERENCE,
    logs=LOGS,
    policies=("easy", "pv-easy"),
    plan=plan,
)
