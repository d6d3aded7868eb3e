"""The sentences of the paper, each reading judged by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from shadowtime.study.papers import published
from shadowtime.study.papers.ibb.case import MIXED, PURE, Case
from shadowtime.study.papers.ibb.runs import METRICS, POLICIES, Findings
from shadowtime.study.papers.values import Claim, Published

READINGS = {
    "BB one a pass": ("IBB", "BB"),
    "BB one a pass, threshold frozen": ("IBB frozen", "BB"),
    "BB until none": ("IBB", "BB*"),
}
"""Which IBB against which BB."""

REACH = 0.9
"""'Up to x' is met by a largest gain of at least this part of x."""

GENERATED = "not the paper's workload: the logs are not here"
DRAWN_JOBS = "the paper's 54 jobs are not published, these are drawn"
EVEN = 1.5
"""Slowdowns up to this count as 'almost the same'."""


def paper_claims(found: Findings) -> tuple[Claim, ...]:
    """Every claim; without the paper's logs those about its numbers are not judged."""
    known = published.claims("ibb")
    pure, mixed = found.case(PURE), found.case(MIXED)
    if found.generated:
        pure = mixed = None
    judged: list[Claim] = []
    for key, claim in known.items():
        if key == "algorithm-1":
            judged.append(_algorithm_1(found, claim))
        elif key.startswith("condor"):
            judged.append(_condor(found, claim))
        elif key in ("far-better", "pure-gain", "pure-slowdown"):
            judged += _pure(found, claim, pure)
        elif key in ("mixed-gain", "mixed-better"):
            judged += _mixed(found, claim, pure, mixed)
        else:
            judged += _overall(found, claim, pure, mixed)
    return tuple(judged)


def _percent(values: Sequence[float]) -> str:
    low, high = 100 * min(values), 100 * max(values)
    return f"{low:.0f} %" if round(low) == round(high) else f"{low:.0f} % to {high:.0f} %"


def _all_metrics(found: Findings, case: Case, pair: tuple[str, str]) -> dict[str, list[float]]:
    return {metric: found.gains(case, pair, metric) for metric in METRICS}


def _listed(gains: dict[str, list[float]]) -> str:
    return "gain by load: " + ", ".join(f"{name} {_percent(v)}" for name, v in gains.items())


def _pure(found: Findings, claim: Published, case: Case | None) -> Iterator[Claim]:
    if case is None:
        yield claim.judged(None, GENERATED if found.generated else "no LANL-CM5 log")
        return
    for reading, pair in READINGS.items():
        gains = _all_metrics(found, case, pair)
        best = {metric: max(values) for metric, values in gains.items()}
        worst = min(min(values) for values in gains.values())
        no_gain = max(best.values()) < 0
        holds: bool | None
        if claim.key == "far-better":
            holds = worst > 0
            ours = "better" if holds else "worse at every load" if no_gain else "both"
        elif claim.key == "pure-gain":
            holds = min(best["wait"], best["response"]) >= REACH * 0.65
            ours = f"at most {100 * best['wait']:.0f} % and {100 * best['response']:.0f} %"
        else:
            holds = None if no_gain else best["slowdown"] < min(best["wait"], best["response"])
            ours = "no gain at all" if no_gain else f"{100 * best['slowdown']:.0f} %"
        yield claim.judged(holds, _listed(gains), ours=ours, reading=reading)


def _mixed(
    found: Findings, claim: Published, pure: Case | None, mixed: Case | None
) -> Iterator[Claim]:
    if mixed is None or pure is None:
        yield claim.judged(None, GENERATED if found.generated else "a log is missing")
        return
    for reading, pair in READINGS.items():
        gains = _all_metrics(found, mixed, pair)
        best = {metric: max(values) for metric, values in gains.items()}
        if claim.key == "mixed-gain":
            met = [metric for metric, value in best.items() if value >= REACH * 0.60]
            holds = len(met) == len(best)
            ours = ", ".join(f"{metric} {100 * value:.0f} %" for metric, value in best.items())
            evidence = f"{_listed(gains)}; reached in {', '.join(met) or 'none'}"
            yield claim.judged(holds, evidence, ours=f"at most {ours}", reading=reading)
        else:
            other = {metric: max(v) for metric, v in _all_metrics(found, pure, pair).items()}
            holds = all(best[metric] > other[metric] for metric in best)
            ours = ", ".join(
                f"{metric} {100 * best[metric]:.0f} against {100 * other[metric]:.0f} %"
                for metric in best
            )
            yield claim.judged(holds, "largest gains over all loads", ours=ours, reading=reading)


def _overall(
    found: Findings, claim: Published, pure: Case | None, mixed: Case | None
) -> Iterator[Claim]:
    cases = [case for case in (pure, mixed) if case is not None]
    if not cases:
        yield claim.judged(None, GENERATED if found.generated else "no log of the paper")
    elif claim.key == "most-metrics":
        yield from _most_metrics(found, claim, cases)
    elif claim.key == "bb-easy":
        yield from _over_easy(found, claim, cases)
    else:
        yield _better_than_all(found, claim, cases)


def _most_metrics(found: Findings, claim: Published, cases: list[Case]) -> Iterator[Claim]:
    for reading, pair in READINGS.items():
        best = {
            f"{case.name} {metric}": max(found.gains(case, pair, metric))
            for case in cases
            for metric in METRICS
        }
        met = sum(value >= REACH * 0.60 for value in best.values())
        listed = ", ".join(f"{name} {100 * value:.0f} %" for name, value in best.items())
        ours = f"{met} of {len(best)}"
        evidence = f"largest gains: {listed}"
        yield claim.judged(2 * met > len(best), evidence, ours=ours, reading=reading)


def _over_easy(found: Findings, claim: Published, cases: list[Case]) -> Iterator[Claim]:
    for reading, name in (("BB one a pass", "BB"), ("BB until none", "BB*"), ("BL", "BL")):
        gains = {case.name: found.gains(case, (name, "EASY"), "response") for case in cases}
        best = max(max(values) for values in gains.values())
        listed = ", ".join(f"{case} {_percent(values)}" for case, values in gains.items())
        yield claim.judged(
            best >= REACH * 0.5,
            f"over EASY by load: {listed}",
            ours=f"at most {100 * best:.0f} %",
            reading=reading,
        )


def _better_than_all(found: Findings, claim: Published, cases: list[Case]) -> Claim:
    others = [name for name in POLICIES if not name.startswith("IBB") and name != "FCFS"]
    wins = total = 0
    for case in cases:
        for load in case.loads:
            points = found.at(case, load).points
            for metric in METRICS:
                ibb = min(points[name].of(metric) for name in ("IBB", "IBB frozen"))
                wins += all(ibb <= points[name].of(metric) for name in others)
                total += 1
    return claim.judged(
        2 * wins > total,
        "counted over all loads and metrics of the pure and the mixed workload, the better of live "
        f"and frozen against {', '.join(others)}",
        ours=f"best in {wins} of {total}",
    )


def _algorithm_1(found: Findings, claim: Published) -> Claim:
    return claim.judged(
        found.literal_is_fcfs,
        "to the letter no job ever overtakes, since the average can only grow: the schedule of the "
        "first main case is FCFS's, job by job. Equation 2 and the text are what is judged here",
        ours="equals FCFS" if found.literal_is_fcfs else "differs from FCFS",
        reading="so it is FCFS",
    )


def _condor(found: Findings, claim: Published) -> Claim:
    """The form of Figure 3 on drawn jobs: reported, not judged."""
    runs = found.condor
    if claim.key == "condor-parallel":
        ours = ", ".join(f"{name} {jobs.wait.mean():.0f} s" for name, jobs in runs.items())
        return claim.judged(None, f"average wait; {DRAWN_JOBS}", ours=ours)
    even = {name: float(np.mean(jobs.slowdown <= EVEN)) for name, jobs in runs.items()}
    largest = {name: float(jobs.slowdown.max()) for name, jobs in runs.items()}
    ours = ", ".join(
        f"{name} {100 * even[name]:.0f} % up to {EVEN:g}, largest {largest[name]:.0f}"
        for name in runs
    )
    return claim.judged(None, f"slowdowns; {DRAWN_JOBS}", ours=ours)
