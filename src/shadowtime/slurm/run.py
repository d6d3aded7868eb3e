"""Whole runs of a workload under Slurm's own scheduler."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from shadowtime.cluster.site import Site
from shadowtime.engine.watch import Watch
from shadowtime.kernel.sources import source_digest
from shadowtime.slurm.board import pays_to_compile
from shadowtime.slurm.loop import Loop
from shadowtime.slurm.outcome import SlurmRun
from shadowtime.slurm.parameters import Parameters
from shadowtime.slurm.phase import Phase
from shadowtime.workload import Workload
from shadowtime.workload.request import Requests

GROUP_GRAIN = 30
"""Seconds: the will-run test rounds the end of its first group to these (spec: slurm 3.6)."""


def run_slurm(
    workload: Workload,
    site: Site,
    requests: Requests,
    *,
    phase: Phase | None = None,
    parameters: Parameters | None = None,
    shortcuts: bool = True,
    compiled: bool | None = None,
    runs: int = 1,
    usage_at: int = 0,
    watch: Watch | None = None,
) -> SlurmRun:
    """One run of a workload under Slurm's own scheduler on a site.

    Rules
    -----
    Starts are whole seconds as sacct has them. Passes take place at the offsets of ``phase``; parts
    of seconds that the log cut off are spread evenly. Priorities are those of PriorityType: basic
    (in the order of submission) or multifactor, with the site's own weights and ticks. Plans are
    rounded to bf_resolution and to half minutes of the wall clock, known from the log's epoch, not
    to those since the first submission. ``shortcuts`` False runs every pass in full, for tests of
    the shortcuts. ``compiled`` False runs the passes uncompiled; by default they are in short logs,
    where compiling would take longer. ``runs``: how many such runs the caller makes. The result of
    a run depends on none of these. ``usage_at``: the second of the log at which the site's usage
    holds; priorities do not tick before it. ``watch`` sees how far it is, and has the checkpoint
    that it continues from.
    """
    wish = parameters or Parameters.of_config(site.config)
    ahead = (workload.epoch or 0) % math.lcm(GROUP_GRAIN, wish.bf_resolution)
    if ahead:
        workload, requests = _later(workload, requests, ahead)
    fast = pays_to_compile(runs * len(workload)) if compiled is None else compiled
    watched = None
    if watch is not None:
        watched = watch.of(len(workload), epoch=workload.epoch, code=source_digest(Path(__file__)))
    loop = Loop(
        workload, site, requests, phase or Phase(), wish, shortcuts, fast, ahead, watched, usage_at
    )
    return loop.run().moved(-ahead)


def _later(workload: Workload, requests: Requests, seconds: int) -> tuple[Workload, Requests]:
    """The same jobs on a clock whose zero is this much earlier."""
    begin, cancel = (
        np.where(column >= 0, column + seconds, column)
        for column in (requests.begin, requests.cancel_at)
    )
    moved = workload.replace(
        submit=workload.submit + seconds, epoch=(workload.epoch or 0) - seconds
    )
    return moved, replace(requests, begin=begin, cancel_at=cancel)
