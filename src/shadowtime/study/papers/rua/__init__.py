"""RUA-Backfilling (Guim, Rodero and Corbalan, JSSPP 2009): Tables 1 to 7, Figures 4 to 9."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from shadowtime.study.papers.reproduction import Paper, Plan, Reproduction, SubjectRun
from shadowtime.study.papers.rua.claims import paper_claims
from shadowtime.study.papers.rua.figures import choices, paper_figures, paper_notes
from shadowtime.study.papers.rua.runs import HIGHS, PLAIN, Findings, Runs, jobs_of, machine
from shadowtime.study.papers.rua.tables import paper_tables
from shadowtime.study.papers.subjects import Log, Subject

if TYPE_CHECKING:
    from collections.abc import Sequence

TITLE = "The Resource Usage Aware Backfilling"
REFERENCE = (
    "F. Guim, I. Rodero, J. Corbalan: The Resource Usage Aware Backfilling. "
    "Job Scheduling Strategies for Parallel Processing (JSSPP) 2009"
)

LOGS = (
    Log(label="CTC", file="CTC-SP2-1996-3.1-cln.swf", procs=432),
    Log(label="SDSC", file="SDSC-BLUE-2000-4.2-cln.swf", procs=1152),
)

MOST_SEEDS = 5
"""More seeds narrow the errors, but each costs minutes."""


def plan(subjects: Sequence[Subject], seeds: int, *, quick: bool = False) -> Plan:
    """Every run of the study on these subjects, each with the demands of every seed."""
    drawn = tuple(range(1, (1 if quick else min(seeds, MOST_SEEDS)) + 1))
    runs = (
        Runs(tuple(subjects), drawn, scenarios=("HIGH",), highs=HIGHS[:1])
        if quick
        else Runs(tuple(subjects), drawn)
    )
    return Plan(
        tasks=runs.tasks(), put_together=lambda results: reproduction(runs.collect(results))
    )


def reproduction(found: Findings) -> Reproduction:
    """The paper with our numbers in it."""
    tables = paper_tables(found)
    return Reproduction(
        paper="rua",
        title=TITLE,
        reference=REFERENCE,
        subjects=tuple(_subject(found, subject) for subject in found.subjects),
        tables=tables,
        figures=paper_figures(found),
        claims=paper_claims(found),
        notes=paper_notes(found, tables),
        choices=choices(found),
        seeds=found.seeds,
        runs={subject.label: _kept(found, subject.label) for subject in found.subjects},
        more={"points": _points(found)},
    )


def _subject(found: Findings, subject: Subject) -> Subject:
    """The jobs and nodes of the kept runs, as the report and the result folder know them."""
    key = next(k for k, one in found.outcomes.items() if one.run and k.center == subject.label)
    return Subject(
        label=subject.label,
        workload=jobs_of(subject, key),
        cluster=machine(subject, PLAIN),
        path=subject.path,
    )


def _kept(found: Findings, center: str) -> tuple[SubjectRun, ...]:
    return tuple(one.run for key, one in found.outcomes.items() if one.run and key.center == center)


def _points(found: Findings) -> list[dict[str, Any]]:
    """Every number behind the tables."""
    return [{**key._asdict(), **one.metrics} for key, one in found.outcomes.items()]


PAPER = Paper(
    name="rua",
    title=TITLE,
    reference=REFERENCE,
    logs=LOGS,
    policies=(),
    plan=plan,
    quick=partial(plan, quick=True),
)
