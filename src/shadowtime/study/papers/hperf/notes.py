"""What reproduces, what cannot, and what was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.study.papers.hperf.policies import POLICIES, UNLIMITED

if TYPE_CHECKING:
    from shadowtime.study.papers.hperf.runs import Findings

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


def paper_notes(found: Findings) -> tuple[str, ...]:
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


def _order(found: Findings, workload: str) -> str:
    means = {
        policy: float(np.mean(found.values(workload, UNLIMITED, policy, "duration")))
        for policy in POLICIES
    }
    ranked = sorted(means, key=lambda policy: means[policy])
    told = " < ".join(f"{policy} {means[policy]:,.0f}" for policy in ranked)
    paper = {
        "High": "ConsRes < HPerf_preloaded < HPerf < LessC",
        "Medium": "ConsRes < HPerf_preloaded < HPerf < LessC",
    }[workload]
    same = " < ".join(ranked) == paper
    return (
        f"{workload}, mean durations: {told} s; the thesis' order ({paper}) "
        f"{'holds' if same else 'does not hold'}."
    )


def _grace(found: Findings) -> str:
    from shadowtime.study.papers.hperf.policies import GRACE

    told = []
    for measure in ("duration", "waiting"):
        a, b = (found.values("High", rule, "HPerf", measure) for rule in (UNLIMITED, GRACE))
        fell = sum(x > y for x, y in zip(a, b, strict=True))
        told.append(f"{measure} falls in {fell} of {len(a)} draws")
    return f"Here {' and '.join(told)}."
