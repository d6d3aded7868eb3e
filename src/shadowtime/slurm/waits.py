"""Whole runs from sacct alone against what was recorded: mean waits over several phases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import InputError
from shadowtime.slurm.parameters import Parameters
from shadowtime.slurm.run import Phase, run_slurm
from shadowtime.trace.site_folder import read_site
from shadowtime.workload.site_requests import default_requests

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Waits:
    """Mean waits in seconds: recorded, and of each phase."""

    jobs: int
    recorded: float
    phases: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Over the phases."""
        return sum(self.phases) / len(self.phases)

    @property
    def factor(self) -> float:
        """The model's mean wait against the recorded one."""
        return self.mean / self.recorded if self.recorded else float("nan")


def compare_waits(folder: Path, *, phases: int) -> Waits:
    """Simulate a folder's jobs with passes at ``phases`` offsets and compare mean waits.

    Jobs that were cancelled while they waited count for nothing.
    """
    site, workload = read_site(folder)
    requests = workload.requests or default_requests(workload, site)
    begun = np.asarray(workload.recorded_start)
    counted = (begun >= 0) & (requests.cancel_at < 0)
    if not counted.any():
        raise InputError(f"{folder}: no job of this recording has a start")
    waited = begun - np.asarray(workload.submit)
    means = []
    interval = Parameters.of_config(site.config).bf_interval
    for phase in Phase.some(phases, interval):
        start = np.array(run_slurm(workload, site, requests, phase=phase).start)
        both = counted & (start >= 0)
        means.append(float((start - np.asarray(workload.submit))[both].mean()))
    return Waits(
        jobs=int(counted.sum()),
        recorded=float(waited[counted].mean()),
        phases=tuple(means),
    )
