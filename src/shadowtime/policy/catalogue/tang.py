"""WFP3 and UNICEF (Tang et al. 2009), as Carastan-Santos and de Camargo 2017 compare them.

Both are the utility functions of Cobalt, the scheduler of Argonne's Intrepid.
"""

from __future__ import annotations

from math import log2
from typing import Any

from shadowtime.policy.order import Custom
from shadowtime.policy.policy import Policy

PAPER = "Tang et al. 2009 (fault-aware utility-based scheduling); Carastan-Santos 2017"


def wfp3(now: int, job: Any) -> float:
    """the largest (wait / estimate)^3 * processors first."""
    share = job.wait / job.estimate
    return float(share * share * share * job.procs)


def unicef(now: int, job: Any) -> float:
    """the largest wait / (log2(processors) * estimate) first; log2 is at least 1."""
    return float(job.wait / (log2(max(2, job.procs)) * job.estimate))


PARTS = (Custom(wfp3), Custom(unicef))
POLICIES = tuple(
    Policy(name=part.label, order=part, summary=f"EASY, {part.summary}", paper=PAPER)
    for part in PARTS
)
