"""IBB (Liu, Luan, Wang and Qian, NPC 2016): Figures 1 to 3 and its claims, in every reading.

Here: the plan, and the notes: what reproduces, what does not and why, what the text left to choose.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from shadowtime.study.papers.ibb import case as c
from shadowtime.study.papers.ibb import runs as r
from shadowtime.study.papers.ibb.case import CERIT, MIXED, PURE, Case
from shadowtime.study.papers.ibb.claims import REACH, paper_claims
from shadowtime.study.papers.ibb.runs import METRICS, Findings
from shadowtime.study.papers.ibb.tables import paper_figures, paper_tables
from shadowtime.study.papers.reproduction import GENERATED_NOTE, Log, Paper, Runs, Subject


def paper_notes(found: Findings) -> tuple[str, ...]:
    """Sentences made from the numbers: they state nothing that the tables do not show."""
    if found.generated:
        return (GENERATED_NOTE.replace("workload:", "workload with a drawn memory:", 1),)
    return tuple(_sentences(found))


def _sentences(found: Findings) -> Iterator[str]:
    pure, mixed, cerit = (found.case(name) for name in (PURE, MIXED, CERIT))
    if pure:
        yield _no_gain(found, pure)
        yield _why(found, pure)
        yield _bound(found, pure)
        if any(case.kind == "reading" for case in found.cases):
            yield _readings(found)
    if mixed:
        yield _one_a_pass(found, mixed)
    if cerit:
        yield _cerit(found, cerit)
    if found.seeds:
        yield _signs(found)
    yield _filtered(found)


def _listed(gains: dict[str, list[float]]) -> str:
    return ", ".join(f"{metric} {_span(values)}" for metric, values in gains.items())


def _span(values: list[float]) -> str:
    return f"{100 * min(values):+.0f} % to {100 * max(values):+.0f} %"


def _no_gain(found: Findings, pure: Case) -> str:
    gains = {metric: found.gains(pure, ("IBB", "BB"), metric) for metric in METRICS}
    reached = min(max(gains["wait"]), max(gains["response"])) >= REACH * 0.65
    easy = _span(found.gains(pure, ("IBB", "EASY"), "wait"))
    return (
        f"The gain on the pure workload {'reproduces' if reached else 'does not reproduce'}. IBB "
        f"over BB by load: {_listed(gains)}; its average wait against EASY's: {easy}."
    )


def _why(found: Findings, pure: Case) -> str:
    """How equation 2 works on two resources, with the numbers of this log."""
    jobs = pure.jobs()
    each = jobs.demand[:, 1] / jobs.procs
    run = jobs.effective_run.astype(float)
    mix = float(jobs.demand[:, 1] @ run) / float(jobs.procs @ run)
    below = float(np.mean(each < mix))
    points = found.at(pure, 1.0).points if 1.0 in pure.loads else None
    started = (
        f" At relative load 1 EASY backfills {points['EASY'].backfilled:,} jobs, IBB "
        f"{points['IBB'].backfilled:,}."
        if points
        else ""
    )
    memory = found.at(pure, pure.loads[-1]).offered["memory"]
    return (
        "Why: with two resources equation 2 lets a job overtake exactly if its memory per "
        "processor is at least that of the running mix, while processors are the fuller resource. "
        f"{below:.0%} of LANL-CM5's jobs lie below the mix of the whole log and are refused, "
        f"though memory is nearly empty ({memory:.1%} offered at the highest load); and the ratio "
        f"does not change with the size of the memory.{started}"
    )


def _bound(found: Findings, pure: Case) -> str:
    """What would be gained if every job could overtake?"""
    best = {
        name: max(max(found.gains(pure, (name, "BB"), metric)) for metric in ("wait", "response"))
        for name in ("EASY", "BB*", "Best-fit")
    }
    listed = ", ".join(f"{name} {100 * value:.0f} %" for name, value in best.items())
    return (
        "For scale, the largest gains over BB in wait or response of policies that refuse no job "
        f"for the sake of balance: {listed} (Best-fit keeps no promise to the head); the paper "
        "says 65 % of IBB."
    )


def _readings(found: Findings) -> str:
    parts = []
    for case in found.cases:
        if case.name.startswith(f"{PURE},") and 1.0 in case.loads:
            gain = 100 * found.gain(case, 1.0, ("IBB", "BB"), "wait")
            parts.append(f"{case.name.partition(', ')[2]} {gain:+.0f} %")
    return (
        "Other machines and readings of the pure workload, IBB over BB in wait at load 1: "
        f"{', '.join(parts)}."
    )


def _one_a_pass(found: Findings, mixed: Case) -> str:
    one, none, easy = (
        {metric: found.gains(mixed, ("IBB", other), metric) for metric in METRICS}
        for other in ("BB", "BB*", "EASY")
    )
    source = mixed.jobs()
    meta = source.submit[source.extra["source"] == 1]
    same = 1 - len(np.unique(meta)) / max(len(meta), 1)
    return (
        f"On the mixed workload IBB over BB that starts one job a pass by load: {_listed(one)}; "
        f"over BB that goes on until none: {_listed(none)}; over EASY with both resources: "
        f"{_listed(easy)}. What lies between the first two is due to the one job a pass, not to "
        f"the balance: {same:.0%} of METACENTRUM's jobs share their second of submission with an "
        "earlier one."
    )


def _cerit(found: Findings, cerit: Case) -> str:
    listed = ", ".join(
        f"{metric} {_span(found.gains(cerit, ('IBB', 'BB'), metric))}" for metric in METRICS
    )
    short = ""
    for run in found.at(cerit, 1.0).runs if 1.0 in cerit.loads else ():
        if run.policy == "easy":
            procs, memory = run.metrics["short_procs"], run.metrics["short_memory"]
            short = (
                f" Under EASY at load 1 the first waiting job lacks processors for {procs:.0%} of "
                f"the time and memory for {memory:.0%}."
            )
    half = found.case(f"{CERIT}, half the memory")
    halved = (
        f" With half the memory: wait {_span(found.gains(half, ('IBB', 'BB'), 'wait'))} over BB, "
        f"{_span(found.gains(half, ('IBB', 'EASY'), 'wait'))} over EASY."
        if half
        else ""
    )
    return f"On CERIT-SC IBB over BB by load: {listed}.{short}{halved}"


def _signs(found: Findings) -> str:
    """Do the signs depend on single jobs?"""
    flips, cells = [], 0
    for case in found.main():
        for load in r.shaken_loads(case):
            for metric in METRICS:
                gains = found.drawn(case, load, ("IBB", "BB"), metric)
                cells += 1
                if min(gains) < 0 < max(gains):
                    flips.append(f"{case.name} at {load:g} in {metric}")
    listed = f"it changes in {', '.join(flips)}" if flips else "it never changes"
    return (
        f"The sign of IBB's gain over BB on {len(found.seeds)} inputs without 1 % of their jobs, "
        f"{cells} cells: {listed}."
    )


def _filtered(found: Findings) -> str:
    apart = max(
        abs(a - b)
        for case in found.main()
        for metric in ("wait", "response")
        for a, b in zip(
            found.gains(case, ("IBB", "BB"), metric),
            found.gains(case, ("IBB", "BB"), metric, filtered=True),
            strict=True,
        )
    )
    return (
        "With the statistics filter the gains of IBB over BB in wait and response move by at most "
        f"{100 * apart:.1f} points."
    )


def choices(found: Findings) -> tuple[str, ...]:
    """What the text does not give and is chosen here."""
    grid = ", ".join(f"{load:g}" for load in c.GRID)
    cut = ", ".join(f"{one.overran:.0%} of {one.workload.name}'s" for one in found.subjects)
    return (
        f"Relative loads {grid}; the paper's are not given. Submissions come so many times as "
        "fast, run times stay.",
        "Memory is one pool (processors x memory each), a job's is processors x SWF field 10, else "
        "field 7.",
        "Mixed: both logs from 0 over the shorter span, 1,830 processors (1,024 and 806) with 1 GB "
        "each; the paper does not say how large its machine was. METACENTRUM's log has no "
        "requested times: they are the run times.",
        f"Jobs that ran longer than requested are cut at the request ({cut}); the readings "
        "have the other rules.",
        "IBB's test is equation 2; Algorithm 1 contradicts it and would let no job overtake.",
        f"Shaken inputs: {len(found.seeds)} draws without 1 % of the jobs, the same for every "
        "policy and load.",
        "Simulated with one pass an instant, after all its ends and submissions; a simulator with "
        "a pass an event gives BB more chances.",
    )


LOGS = (
    Log(
        label="LANL-CM5",
        file="LANL-CM5-1994-4.1-cln.swf",
        procs=c.LANL_PROCS,
        memory=c.LANL_PROCS << 20,
    ),
    Log(
        label="METACENTRUM",
        file="METACENTRUM-2009-2.swf",
        procs=c.MIXED_PROCS,
        memory=c.MIXED_PROCS << 20,
    ),
    Log(
        label=CERIT,
        file="CERIT-SC-2013-wagap.swf",
        procs=2176,
        memory=20 * 529_426_432 + 48 * 94_035_968,
    ),
)


def study(subjects: tuple[Subject, ...], seeds: int, quick: bool) -> Runs:
    """``seeds`` draws of each shaken input."""
    drawn = tuple(range(1, (min(seeds, 2) if quick else seeds) + 1))
    return r.runs(subjects, c.cases_of(subjects, quick=quick), drawn)


def more(found: Findings) -> dict[str, Any]:
    """The main cases as subjects with their kept schedules, and the numbers behind the tables."""
    points = [
        {
            "case": case.name,
            "load": load,
            "jobs": outcome.jobs,
            "offered_load": dict(outcome.offered),
            "policy": policy,
            "backfilled": point.backfilled,
            "all_jobs": dict(point.all_jobs),
            "statistics_filter": dict(point.filtered),
        }
        for case in found.cases
        for load in case.loads
        for outcome in (found.at(case, load),)
        for policy, point in outcome.points.items()
    ]
    path = found.subjects[0].path
    subjects = tuple(
        Subject(label=case.name, workload=case.jobs(), cluster=case.cluster, path=path)
        for case in found.main()
    )
    runs = {case.name: found.at(case, 1.0).runs for case in found.main()}
    return {"subjects": subjects, "runs": runs, "more": {"points": points}}


TITLE = "IBB: Improved K-Resource Aware Backfill Balanced Scheduling for HTCondor"
PAPER = Paper(
    name="ibb",
    title=TITLE,
    reference=f"L. Liu, Z. Luan, H. Wang, D. Qian: {TITLE}. NPC 2016",
    logs=LOGS,
    policies=("easy", "ibb"),
    runs=study,
    tables=paper_tables,
    figures=paper_figures,
    claims=paper_claims,
    notes=lambda found, tables: paper_notes(found),
    choices=choices,
    more=more,
)
