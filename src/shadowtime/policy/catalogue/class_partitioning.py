"""Priority backfilling with K dynamic reservations (Chiang and Vernon, spec section 3)."""

from __future__ import annotations

from shadowtime.policy.order import NAMED
from shadowtime.policy.policy import Policy
from shadowtime.policy.reserve import Depth

PAPER = "Chiang and Vernon, class partitioning, sections 2 and 3"

POLICIES = tuple(
    Policy(name=name, order=NAMED[name], reserve=Depth(depth), summary=summary, paper=PAPER)
    for name, depth, summary in (
        ("lxf", 1, "largest expansion factor first, one reservation"),
        ("lxfw", 10, "expansion and wait, ten dynamic reservations"),
        ("lxfwp", 10, "expansion, wait and width, ten dynamic reservations"),
        ("lpf", 10, "widest first, ten dynamic reservations"),
        ("sjf", 1, "shortest first, one reservation"),
    )
)
