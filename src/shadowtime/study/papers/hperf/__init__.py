"""HPerf (C. Fenoy Garcia, thesis, UPC 2014): Tables 4.1 to 4.4, its figures and its claims."""

from __future__ import annotations

from typing import Any

from shadowtime.study.papers import Paper
from shadowtime.study.papers.hperf import runs as r
from shadowtime.study.papers.hperf import tables as t

TITLE = (
    "Improving HPC applications scheduling with predictions based on automatically-collected "
    "historical data"
)
REFERENCE = f"C. Fenoy Garcia: {TITLE}. Master thesis, Universitat Politecnica de Catalunya, 2014"


def more(found: r.Findings) -> dict[str, Any]:
    """The schedules of the pictured draw, and every number behind the tables."""
    draws = [
        {"seed": seed, "workload": workload, "rule": rule, "policy": policy, **values}
        for seed, measured in zip(found.seeds, found.main, strict=True)
        for (workload, rule, policy), values in measured.items()
    ]
    return {
        "drawn": True,
        "runs": found.runs(),
        "job_lines": t.job_lines(),
        "more": {"draws": draws},
    }


PAPER = Paper(
    name="hperf",
    title=TITLE,
    reference=REFERENCE,
    policies=("hperf",),
    runs=r.runs,
    tables=t.paper_tables,
    figures=t.paper_figures,
    claims=t.paper_claims,
    notes=lambda found, tables: t.paper_notes(found),
    choices=lambda found: t.CHOICES,
    more=more,
    subjects=r.subjects,
    seeds=30,
)
