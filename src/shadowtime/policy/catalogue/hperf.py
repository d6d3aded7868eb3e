"""Slurm as in C. Fenoy Garcia's thesis: ConsRes, LessC and HPerf (2014, spec: algorithms 6)."""

from __future__ import annotations

from shadowtime.policy.estimate import ByTag
from shadowtime.policy.place import Capped, Filled
from shadowtime.policy.policy import Policy
from shadowtime.policy.reserve import ALL, Depth

POLICIES = (
    Policy(
        name="consres",
        reserve=Depth(ALL),
        place=Filled(),
        summary="nodes under Slurm: plans for all queued jobs, cores alone are counted",
        paper="Fenoy 2014 (thesis, UPC), section 2.2: Slurm's Consumable Resources",
    ),
    Policy(
        name="lessc",
        reserve=Depth(ALL),
        place=Capped(),
        summary="consres with the declared bandwidth as a hard limit of every node",
        paper="Fenoy 2014 (thesis, UPC), section 2.2: Less Consume",
    ),
    Policy(
        name="hperf",
        reserve=Depth(ALL),
        place=Capped(),
        estimate=ByTag(),
        summary="lessc with the bandwidth measured under the job's tag; unknown tags run alone",
        paper="Fenoy 2014 (thesis, UPC), section 2.2: Historical performance",
    ),
)
