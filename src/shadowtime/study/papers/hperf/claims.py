"""The sentences of the thesis, each reading judged by itself.

The thesis ran one draw of each workload, and its jobs are not known. A number is met where it lies
between the lowest and the highest of our draws, "almost" is within 10 % of our mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.study.papers import published
from shadowtime.study.papers.claims import near
from shadowtime.study.papers.hperf.policies import GRACE, UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shadowtime.study.papers.claims import Claim, Published
    from shadowtime.study.papers.hperf.runs import Findings

INPUTS = {
    "grace": "an input: the same is used here",
    "jobs": "an input: as many are drawn here",
    "bandwidth": "an input: 16 nodes of 25,000 MB/s here, as the number of nodes is not given",
    "machine": "an input: nodes of 16 cores here; network and memory are not modelled",
    "slurm": "an input: its scheduler is modelled, not run",
}


def paper_claims(found: Findings) -> tuple[Claim, ...]:
    """Every row of the published claims."""
    known = published.claims("hperf")
    judged: list[Claim] = []
    for key, claim in known.items():
        if key in INPUTS:
            judged.append(claim.judged(None, INPUTS[key]))
        else:
            judged += _judged(found, key, claim)
    return tuple(judged)


def _judged(found: Findings, key: str, claim: Published) -> Iterator[Claim]:
    if key == "double":
        peaks = found.values("High", UNLIMITED, "ConsRes", "peak")
        met = near(float(np.mean(peaks)), 2.0)
        yield claim.judged(met, _told(peaks, " x"), ours=f"{np.mean(peaks):.2f} x at the peak")
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
        yield claim.judged(holds, _told(more, " s"), ours=f"{np.mean(more):,.0f} s", reading="mean")
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
    found: Findings, claim: Published, workload: str, policy: str, readings: dict[str, float]
) -> Iterator[Claim]:
    both = (found.values(workload, UNLIMITED, name, "duration") for name in (policy, "ConsRes"))
    ours = [100 * (a / b - 1) for a, b in zip(*both, strict=True)]
    for reading, paper in readings.items():
        yield _within(claim, ours, paper, " %", f"{reading}: {paper:g} %")


def _ratio(found: Findings, rule: str, measure: str, over: str, under: str) -> list[float]:
    """A measure of one policy over that of another, seed by seed; draws with none are left out."""
    pairs = zip(
        found.values("High", rule, over, measure),
        found.values("High", rule, under, measure),
        strict=True,
    )
    return [a / b for a, b in pairs if b > 0]


def _first_waiting(found: Findings, key: str, claim: Published) -> Iterator[Claim]:
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
        holds, _told(ours, unit), ours=f"{np.mean(ours):,.3g}{unit}", reading=reading
    )


def _told(values: Sequence[float], unit: str) -> str:
    return (
        f"{len(values)} draws: mean {np.mean(values):,.4g}{unit}, "
        f"{min(values):,.4g} to {max(values):,.4g}"
    )
