"""The resource usage aware backfilling (Guim et al. 2009, spec: algorithms 4)."""

from __future__ import annotations

from shadowtime.policy.backfill import LeastPenalty
from shadowtime.policy.place import LeastSlowdown
from shadowtime.policy.policy import Policy

POLICIES = (
    Policy(
        name="rua",
        backfill=LeastPenalty(),
        place=LeastSlowdown(),
        summary="nodes that share bandwidth: starts and nodes with the least slowdown, the least "
        "penalised overtake first",
        paper="Guim et al. 2009 (RUA-Backfilling), section 5",
    ),
)
