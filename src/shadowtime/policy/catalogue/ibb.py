"""Backfilling for K resources (Leinberger et al. 1999, Liu et al. 2016, spec: algorithms 5)."""

from __future__ import annotations

from shadowtime.policy.backfill import Balanced, LeastUsed, NotWorse
from shadowtime.policy.policy import Policy

POLICIES = (
    Policy(
        name="bb",
        backfill=Balanced(),
        summary="EASY; of the jobs that may overtake, the one that balances the resources best",
        paper="Leinberger et al. 1999; Liu et al. 2016 (IBB), section 2",
    ),
    Policy(
        name="bl",
        backfill=LeastUsed(),
        summary="EASY; of the jobs that may overtake, the largest for the least used resource",
        paper="Leinberger et al. 1999",
    ),
    Policy(
        name="ibb",
        backfill=NotWorse(),
        summary="EASY; only jobs that do not worsen the imbalance may overtake",
        paper="Liu et al. 2016 (IBB), section 3",
    ),
)
