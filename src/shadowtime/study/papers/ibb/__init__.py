"""IBB (Liu, Luan, Wang and Qian, NPC 2016): Figures 1 to 3 and its claims, in every reading."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from shadowtime.study.papers.ibb.case import CERIT
from shadowtime.study.papers.ibb.cases import LANL_PROCS, MIXED_PROCS, cases_of
from shadowtime.study.papers.ibb.claims import paper_claims
from shadowtime.study.papers.ibb.notes import choices, paper_notes
from shadowtime.study.papers.ibb.runs import Findings, Runs
from shadowtime.study.papers.ibb.tables import paper_figures, paper_tables
from shadowtime.study.papers.reproduction import Paper, Plan, Reproduction
from shadowtime.study.papers.subjects import Log, Subject

if TYPE_CHECKING:
    from collections.abc import Sequence

TITLE = "IBB: Improved K-Resource Aware Backfill Balanced Scheduling for HTCondor"
REFERENCE = (
    "L. Liu, Z. Luan, H. Wang, D. Qian: IBB: Improved K-Resource Aware Backfill Balanced "
    "Scheduling for HTCondor. NPC 2016"
)

LOGS = (
    Log(
        label="LANL-CM5",
        file="LANL-CM5-1994-4.1-cln.swf",
        procs=LANL_PROCS,
        memory=LANL_PROCS << 20,
    ),
    Log(
        label="METACENTRUM",
        file="METACENTRUM-2009-2.swf",
        procs=MIXED_PROCS,
        memory=MIXED_PROCS << 20,
    ),
    Log(
        label=CERIT,
        file="CERIT-SC-2013-wagap.swf",
        procs=2176,
        memory=20 * 529_426_432 + 48 * 94_035_968,
    ),
)


def plan(subjects: Sequence[Subject], seeds: int, *, quick: bool = False) -> Plan:
    """Every run of the study on these subjects, ``seeds`` draws of each shaken input."""
    runs = Runs(
        tuple(subjects),
        cases_of(subjects, quick=quick),
        tuple(range(1, (min(seeds, 2) if quick else seeds) + 1)),
    )
    return Plan(
        tasks=runs.tasks(), put_together=lambda results: reproduction(runs.collect(results))
    )


def reproduction(found: Findings) -> Reproduction:
    """The paper with our numbers in it."""
    return Reproduction(
        paper="ibb",
        title=TITLE,
        reference=REFERENCE,
        subjects=tuple(_subjects(found)),
        tables=paper_tables(found),
        figures=paper_figures(found),
        claims=paper_claims(found),
        notes=paper_notes(found),
        choices=choices(found),
        seeds=found.seeds,
        runs={case.name: found.at(case, 1.0).runs for case in found.main()},
        more={"points": _points(found)},
    )


def _subjects(found: Findings) -> list[Subject]:
    """The main cases as the report and the result folder know them."""
    path = found.subjects[0].path
    return [
        Subject(label=case.name, workload=case.jobs(), cluster=case.cluster, path=path)
        for case in found.main()
    ]


def _points(found: Findings) -> list[dict[str, Any]]:
    """Every number behind the tables."""
    return [
        {
            "case": case.name,
            "load": load,
            "jobs": outcome.jobs,
            "offered_load": dict(outcome.offered),
            "policy": policy,
            "backfilled": point.backfilled,
            "all_jobs": dict(point.everybody),
            "statistics_filter": dict(point.filtered),
        }
        for case in found.cases
        for load in case.loads
        for outcome in (found.at(case, load),)
        for policy, point in outcome.points.items()
    ]


PAPER = Paper(
    name="ibb",
    title=TITLE,
    reference=REFERENCE,
    logs=LOGS,
    policies=("easy", "ibb"),
    plan=plan,
    quick=partial(plan, quick=True),
)
