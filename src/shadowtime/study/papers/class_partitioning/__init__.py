"""Class partitioning (Chiang and Vernon): Figures 1 to 5 on the O2K months, and its claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.study.papers.class_partitioning import policies as p
from shadowtime.study.papers.class_partitioning.claims import paper_claims
from shadowtime.study.papers.class_partitioning.figures import choices, paper_figures, paper_notes
from shadowtime.study.papers.class_partitioning.runs import QUICK_DEPTHS, Findings, Runs
from shadowtime.study.papers.class_partitioning.tables import paper_tables
from shadowtime.study.papers.class_partitioning.worlds import WHOLE, subjects
from shadowtime.study.papers.reproduction import Paper, Plan, Reproduction, SubjectRun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.study.papers.subjects import Subject

TITLE = "Class-Partitioning Job Scheduling for Large-Scale Parallel Systems"
REFERENCE = (
    "S.-H. Chiang, M. K. Vernon: Class-Partitioning Job Scheduling for Large-Scale Parallel "
    "Systems. On workloads rebuilt from the paper's tables: the trace was never published"
)
QUICK_SEEDS = 2


def plan(subjects: Sequence[Subject], seeds: int) -> Plan:
    """Every run of the study, on ``seeds`` draws of each month."""
    return _plan(Runs(tuple(subjects), tuple(range(1, seeds + 1))))


def quick(subjects: Sequence[Subject], seeds: int) -> Plan:
    """Two draws and three numbers of reservations."""
    few = tuple(range(1, min(seeds, QUICK_SEEDS) + 1))
    return _plan(Runs(tuple(subjects), few, QUICK_DEPTHS))


def _plan(runs: Runs) -> Plan:
    return Plan(
        tasks=runs.tasks(), put_together=lambda results: reproduction(runs.collect(results))
    )


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
