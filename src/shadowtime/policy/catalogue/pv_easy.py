"""PV-EASY and its ablations (Yuan et al. 2010, spec: algorithms 2)."""

from __future__ import annotations

from shadowtime.policy.backfill import Venture
from shadowtime.policy.estimate import Last
from shadowtime.policy.policy import Policy
from shadowtime.policy.preempt import ShadowLoad
from shadowtime.policy.reserve import Sunny

PAPER = "Yuan et al. 2010 (PV-EASY)"

POLICIES = (
    Policy(
        name="pv-easy",
        reserve=Sunny(),
        backfill=Venture(),
        estimate=Last(),
        preempt=ShadowLoad(),
        summary="predict, backfill boldly, preempt what stands in the head's way: strictly fair",
        paper=PAPER,
    ),
    Policy(
        name="easy-last",
        estimate=Last(),
        summary="EASY on Last-Model predictions",
        paper=PAPER,
    ),
)
