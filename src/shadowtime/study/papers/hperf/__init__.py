"""HPerf (C. Fenoy Garcia, thesis, UPC 2014): Tables 4.1 to 4.4, its figures and its claims."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from shadowtime.study.papers.hperf.machine import jobs_of, thesis_cluster
from shadowtime.study.papers.hperf.policies import TABLES
from shadowtime.study.papers.hperf.runs import PICTURED, READINGS, Findings, Runs, label_of
from shadowtime.study.papers.hperf.tables import (
    CHOICES,
    job_lines,
    paper_claims,
    paper_figures,
    paper_notes,
    paper_tables,
)
from shadowtime.study.papers.reproduction import Paper, Plan, Reproduction
from shadowtime.study.papers.subjects import Subject

if TYPE_CHECKING:
    from collections.abc import Sequence

TITLE = (
    "Improving HPC applications scheduling with predictions based on automatically-collected "
    "historical data"
)
REFERENCE = f"C. Fenoy Garcia: {TITLE}. Master thesis, Universitat Politecnica de Catalunya, 2014"


def subjects() -> list[Subject]:
    """The workloads under both rules, as the pictured draw has them."""
    return [
        Subject(
            label=label_of(workload, rule),
            workload=jobs_of(workload, PICTURED),
            cluster=thesis_cluster(),
        )
        for workload, rule in TABLES
    ]


def plan(subjects: Sequence[Subject], seeds: int, *, quick: bool = False) -> Plan:
    """Every run of the study for a number of draws; ``quick`` omits the readings."""
    runs = Runs(
        seeds=tuple(range(1, (min(seeds, 5) if quick else seeds) + 1)),
        subjects=tuple(subjects),
        readings=() if quick else tuple(READINGS),
    )
    return Plan.of(runs, reproduction)


def reproduction(found: Findings) -> Reproduction:
    """The thesis with our numbers in it."""
    return Reproduction(
        paper="hperf",
        title=TITLE,
        reference=REFERENCE,
        subjects=found.subjects,
        tables=paper_tables(found),
        figures=paper_figures(found),
        claims=paper_claims(found),
        notes=paper_notes(found),
        choices=CHOICES,
        seeds=found.seeds,
        drawn=True,
        runs=found.runs(),
        job_lines=job_lines(),
        more={"draws": _draws(found)},
    )


def _draws(found: Findings) -> list[dict[str, object]]:
    """Every number behind the tables."""
    return [
        {"seed": seed, "workload": workload, "rule": rule, "policy": policy, **values}
        for seed, measured in zip(found.seeds, found.main, strict=True)
        for (workload, rule, policy), values in measured.items()
    ]


PAPER = Paper(
    name="hperf",
    title=TITLE,
    reference=REFERENCE,
    logs=(),
    policies=("hperf",),
    plan=plan,
    quick=partial(plan, quick=True),
    subjects=subjects,
    seeds=30,
)
