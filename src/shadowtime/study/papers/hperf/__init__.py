"""HPerf (C. Fenoy Garcia, thesis, UPC 2014): Tables 4.1 to 4.4, its figures and its claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from shadowtime.metrics.energy import demand_of, drawn_over_time
from shadowtime.study.papers import published, reproduction
from shadowtime.study.papers.hperf import runs as r
from shadowtime.study.papers.hperf.runs import GRACE, MEASURES, POLICIES, TABLES, UNLIMITED
from shadowtime.study.papers.values import (
    Cell,
    Claim,
    Panel,
    PaperFigure,
    PaperTable,
    Published,
    Row,
    Series,
    near,
)

CHOICES = (
    "The machine: 16 nodes of 16 cores and 25,000 MB/s; the thesis gives the cores and the sum.",
    "A process runs at 1/(1 + 0.36 (demand/capacity - 1)) where a node is overloaded. The slope "
    "was fitted to Tables 4.1 and 4.3 on other draws; with slope 1 LessC finishes before ConsRes.",
    "The workloads: the Lublin-Feitelson model with 100 jobs, arrivals within 3,000 s, limits in "
    "whole minutes that sum to the thesis' sums; run times vary around them by 10 % (log-normal).",
    "Counters see 0.8 of what a process draws; the thesis says 'undermeasured' and no number.",
    "HPerf reads its records once, at submission, as the submit plug-in does.",
    "Slurm's backfill: plans for all queued jobs at every pass, by their limits without grace.",
)


def paper_notes(found: r.Findings) -> tuple[str, ...]:
    """Sentences with the evidence."""
    notes = [_order(found, workload) for workload in ("High", "Medium")]
    notes.append(
        "The exact 100 jobs are not known, so single cells cannot be met; orders and ratios can."
    )
    notes.append(
        "The thesis contradicts itself: section 4.1.2 says that HPerf's duration and waiting fall "
        "with the grace limit, its Tables 4.1 and 4.2 show both rising (13,436 to 14,203 s and "
        "417,370 to 451,478 s). " + _grace(found)
    )
    notes.append(
        "Figure 3.3 (run time by number of nodes) needs a cost of communication, which the model "
        "does not have: not drawn. Figures 3.1 and 3.2 are about collectors: shadowtime hperf "
        "collectors --overhead N measures ours."
    )
    return tuple(notes)


def _order(found: r.Findings, workload: str) -> str:
    means = {
        policy: float(np.mean(found.values(workload, UNLIMITED, policy, "duration")))
        for policy in POLICIES
    }
    ranked = sorted(means, key=lambda policy: means[policy])
    listed = " < ".join(f"{policy} {means[policy]:,.0f}" for policy in ranked)
    paper = {
        "High": "ConsRes < HPerf_preloaded < HPerf < LessC",
        "Medium": "ConsRes < HPerf_preloaded < HPerf < LessC",
    }[workload]
    same = " < ".join(ranked) == paper
    return (
        f"{workload}, mean durations: {listed} s; the thesis' order ({paper}) "
        f"{'holds' if same else 'does not hold'}."
    )


def _grace(found: r.Findings) -> str:
    listed = []
    for measure in ("duration", "waiting"):
        a, b = (found.values("High", rule, "HPerf", measure) for rule in (UNLIMITED, GRACE))
        fell = sum(x > y for x, y in zip(a, b, strict=True))
        listed.append(f"{measure} falls in {fell} of {len(a)} draws")
    return f"Here {' and '.join(listed)}."


FIGURES = {
    "Figure 4.1": ("High", "LessC", "ConsRes overloads the nodes by almost the double; LessC keeps "
                   "the allocated bandwidth under the 400,000 MB/s that there are."),
    "Figure 4.4": ("High", "HPerf_preloaded", "HPerf is well below the levels of ConsRes."),
    "Figure 4.7": ("Medium", "LessC", "LessC keeps below the total available, ConsRes is almost "
                   "all the time over it."),
    "Figure 4.9": ("Medium", "HPerf_preloaded", "HPerf is always below the system limit."),
}  # fmt: skip
LINES = {
    ("High", UNLIMITED): ("4.2a", "4.2b", "4.3a", "4.3b"),
    ("High", GRACE): ("4.5a", "4.5b", "4.6a", "4.6b"),
    ("Medium", UNLIMITED): ("4.8a", "4.8b", "4.10a", "4.10b"),
    ("Medium", GRACE): ("4.11a", "4.11b", "4.12a", "4.12b"),
}
"""The pictures with a line per job, in the order of the policies."""
STEP = 100
"""Seconds between the points of a line."""


def paper_figures(found: r.Findings) -> tuple[PaperFigure, ...]:
    """The four figures, of the first draw."""
    return tuple(
        _figure(found, name, workload, other, says)
        for name, (workload, other, says) in FIGURES.items()
    )


def job_lines() -> dict[str, tuple[str, int]]:
    """Names of the thesis' traces, the subject of each and the place of its run.

    Examples
    --------
    >>> job_lines()["Figure 4.3b"]
    ('High, unlimited time', 3)
    """
    return {
        f"Figure {name}": (r.label_of(*key), place)
        for key, names in LINES.items()
        for place, name in enumerate(names)
    }


def _figure(found: r.Findings, name: str, workload: str, other: str, says: str) -> PaperFigure:
    policies = ("ConsRes", other)
    runs = {policy: found.schedules[workload, UNLIMITED, policy] for policy in policies}
    last = max(int(schedule.end.max()) for _, schedule in runs.values())
    grid = np.arange(0, last + STEP, STEP)
    series = []
    for policy, (jobs, schedule) in runs.items():
        when, demand = drawn_over_time(schedule, demand_of(jobs))
        at = np.searchsorted(when, grid, side="right") - 1
        values = np.where(at >= 0, demand[np.maximum(at, 0)], 0)
        series.append(Series(name=policy, y=tuple(float(v) / 1000 for v in values)))
    capacity = r.thesis_cluster().total["bandwidth"] / 1000
    series.append(Series(name="capacity", y=(capacity,) * len(grid)))
    panel = Panel.of(
        f"Workload {workload}, {UNLIMITED}",
        "line",
        "seconds",
        "GB/s allocated",
        (float(t) for t in grid),
        series,
    )
    return PaperFigure.of(
        name,
        "Total bandwidth allocated in the system",
        (panel,),
        says=says,
        note=f"Draw {r.PICTURED}; true demands of the running jobs, every {STEP} s.",
    )


COLUMNS = tuple(name.removeprefix("HPerf_") for name in POLICIES)
TITLES = {"High": "workload High", "Medium": "workload Medium"}


def paper_tables(found: r.Findings) -> tuple[PaperTable, ...]:
    """All of them."""
    return (
        *(_table(found, workload, rule, number) for (workload, rule), number in TABLES.items()),
        _spread(found),
        *([_readings(found)] if found.readings else []),
    )


def printed(number: int) -> dict[str, dict[str, str]]:
    """A published table: rows by policy."""
    return {row["policy"]: row for row in published.rows(f"hperf_table4_{number}")}


def _table(found: r.Findings, workload: str, rule: str, number: int) -> PaperTable:
    paper = printed(number)
    rows = []
    for measure, label in MEASURES.items():
        if measure == "killed" and rule == UNLIMITED:
            continue
        cells = tuple(
            Cell.over(found.values(workload, rule, policy, measure), float(paper[policy][measure]))
            for policy in POLICIES
        )
        unit = "jobs" if measure == "killed" else "s"
        rows.append(Row.of(label, cells, unit=unit))
    return PaperTable.of(
        f"Table 4.{number}",
        f"Time in seconds per job state, {TITLES[workload]}, {rule}",
        COLUMNS,
        rows,
        note=f"Means over {len(found.seeds)} draws of the workload; the thesis ran one, whose jobs "
        "are not known. Running + Extra requested is the sum of the limits in every run.",
    )


def _spread(found: r.Findings) -> PaperTable:
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
                rows.append(Row.of(f"{MEASURES[measure]}, {label}", cells, group=group))
    return PaperTable.of(
        "Spread",
        "The lowest and the highest of the draws",
        COLUMNS,
        rows,
        note=f"{len(found.seeds)} draws.",
    )


def _readings(found: r.Findings) -> PaperTable:
    rows = []
    for measure in ("duration", "extra_used", "waiting"):
        for name in r.READINGS:
            cells = tuple(Cell.over(found.reading(name, policy, measure)) for policy in POLICIES)
            rows.append(Row.of(name, cells, unit="s", group=MEASURES[measure]))
    return PaperTable.of(
        "Readings", "Workload High, unlimited time, one thing changed at a time", COLUMNS, rows
    )


INPUTS = {
    "grace": "an input: the same is used here",
    "jobs": "an input: as many are drawn here",
    "bandwidth": "an input: 16 nodes of 25,000 MB/s here, as the number of nodes is not given",
    "machine": "an input: nodes of 16 cores here; network and memory are not modelled",
    "slurm": "an input: its scheduler is modelled, not run",
}


def paper_claims(found: r.Findings) -> tuple[Claim, ...]:
    """Every row of the published claims."""
    known = published.claims("hperf")
    judged: list[Claim] = []
    for key, claim in known.items():
        if key in INPUTS:
            judged.append(claim.judged(None, INPUTS[key]))
        else:
            judged += _judged(found, key, claim)
    return tuple(judged)


def _judged(found: r.Findings, key: str, claim: Published) -> Iterator[Claim]:
    if key == "double":
        peaks = found.values("High", UNLIMITED, "ConsRes", "peak")
        met = near(float(np.mean(peaks)), 2.0)
        yield claim.judged(met, _listed(peaks, " x"), ours=f"{np.mean(peaks):.2f} x at the peak")
    elif key == "lessc-duration":
        yield from _longer(found, claim, "High", "LessC", {"text": 50.0, "table": 34.6})
    elif key == "medium-lessc-duration":
        yield from _longer(found, claim, "Medium", "LessC", {"text": 20.0, "table": 24.5})
    elif key == "preloaded-duration":
        yield from _longer(found, claim, "High", "HPerf_preloaded", {"text": 10.0, "table": 12.1})
    elif key == "extra-used":
        ours = _ratio(found, UNLIMITED, "extra_used", "ConsRes", "LessC")
        yield _within(claim, ours, 6.0, "x", "")
    elif key == "consumed":
        pair = (
            found.values("High", UNLIMITED, policy, "consumed") for policy in ("ConsRes", "LessC")
        )
        more = [a - b for a, b in zip(*pair, strict=True)]
        holds = float(np.mean(more)) > 18_000
        yield claim.judged(
            holds, _listed(more, " s"), ours=f"{np.mean(more):,.0f} s", reading="mean"
        )
        yield _within(claim, more, 18_033.0, " s", "within the draws")
    elif key == "preloaded-kills":
        ours = [
            100 * share for share in _ratio(found, GRACE, "killed", "HPerf_preloaded", "ConsRes")
        ]
        for reading, paper in {"text": 50.0, "table": 34.6}.items():
            yield _within(claim, ours, paper, " %", reading)
    else:
        yield from _first_waiting(found, key, claim)


def _longer(
    found: r.Findings, claim: Published, workload: str, policy: str, readings: dict[str, float]
) -> Iterator[Claim]:
    both = (found.values(workload, UNLIMITED, name, "duration") for name in (policy, "ConsRes"))
    ours = [100 * (a / b - 1) for a, b in zip(*both, strict=True)]
    for reading, paper in readings.items():
        yield _within(claim, ours, paper, " %", f"{reading}: {paper:g} %")


def _ratio(found: r.Findings, rule: str, measure: str, over: str, under: str) -> list[float]:
    """A measure of one policy over that of another, seed by seed; draws with none are left out."""
    pairs = zip(
        found.values("High", rule, over, measure),
        found.values("High", rule, under, measure),
        strict=True,
    )
    return [a / b for a, b in pairs if b > 0]


def _first_waiting(found: r.Findings, key: str, claim: Published) -> Iterator[Claim]:
    workload = "High" if key == "first-high" else "Medium"
    wanted = (
        {"ConsRes": 19, "LessC": 7, "HPerf": 6, "HPerf_preloaded": 16}
        if workload == "High"
        else {"ConsRes": 18, "LessC": 7, "HPerf_preloaded": 15}
    )
    for policy, paper in wanted.items():
        ranks = found.values(workload, UNLIMITED, policy, "first_waiting")
        yield _within(claim, ranks, float(paper), "", f"{policy}: {paper}th")


def _within(
    claim: Published, ours: Sequence[float], paper: float, unit: str, reading: str
) -> Claim:
    if not ours:
        return claim.judged(None, "no draw allows the comparison", reading=reading)
    holds = min(ours) <= paper <= max(ours)
    return claim.judged(
        holds, _listed(ours, unit), ours=f"{np.mean(ours):,.3g}{unit}", reading=reading
    )


def _listed(values: Sequence[float], unit: str) -> str:
    return (
        f"{len(values)} draws: mean {np.mean(values):,.4g}{unit}, "
        f"{min(values):,.4g} to {max(values):,.4g}"
    )


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
        "job_lines": job_lines(),
        "more": {"draws": draws},
    }


PAPER = reproduction.Paper(
    name="hperf",
    title=TITLE,
    reference=REFERENCE,
    policies=("hperf",),
    runs=r.runs,
    tables=paper_tables,
    figures=paper_figures,
    claims=paper_claims,
    notes=lambda found, tables: paper_notes(found),
    choices=lambda found: CHOICES,
    more=more,
    subjects=r.subjects,
    seeds=30,
)
