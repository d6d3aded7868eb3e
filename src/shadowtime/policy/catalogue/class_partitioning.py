"""Priority backfilling and class partitioning (Chiang and Vernon, spec: algorithms 3)."""

from __future__ import annotations

from shadowtime.policy.order import NAMED
from shadowtime.policy.partition import ByClass
from shadowtime.policy.policy import Policy
from shadowtime.policy.reserve import Depth

PAPER = "Chiang and Vernon, class partitioning, sections 2 and 3"
PARTITIONED = "Chiang and Vernon, class partitioning, section 4"

POLICIES = (
    *(
        Policy(name=name, order=NAMED[name], reserve=Depth(depth), summary=summary, paper=PAPER)
        for name, depth, summary in (
            ("lxf", 1, "largest expansion factor first, one reservation"),
            ("lxfw", 10, "expansion and wait, ten dynamic reservations"),
            ("lxfwp", 10, "expansion, wait and width, ten dynamic reservations"),
            ("lpf", 10, "widest first, ten dynamic reservations"),
            ("sjf", 1, "shortest first, one reservation"),
        )
    ),
    Policy(
        name="single-class",
        order=NAMED["lxfw"],
        reserve=Depth(10),
        summary="what partitioned policies are measured against: lxfw on all hosts",
        paper=PAPER,
    ),
    *(
        Policy(
            name=name,
            order=NAMED["lxfw"],
            reserve=Depth(10),  # the caps of the partition bound the reservations, not this
            partition=ByClass(large=where),
            summary=summary,
            paper=PARTITIONED,
        )
        for name, where, summary in (
            ("part-l-sm", "class-one", "n hosts for large jobs, open to short ones; lxfw"),
            ("part-l-a", "anywhere", "the same, and large jobs may run on the other hosts too"),
        )
    ),
)
