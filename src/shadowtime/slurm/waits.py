"""Whole runs from sacct alone against what was recorded: mean waits over several phases."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shadowtime.cluster.site import Site
from shadowtime.engine import simulate
from shadowtime.errors import InputError, ShadowtimeError
from shadowtime.policy import parse_policy
from shadowtime.slurm.parameters import Parameters
from shadowtime.slurm.policy import SlurmPolicy
from shadowtime.slurm.recording.strip import strip
from shadowtime.slurm.run import run_slurm
from shadowtime.trace.site_folder import read_site
from shadowtime.types import AnyArray
from shadowtime.workload import Workload
from shadowtime.workload.request import Requests
from shadowtime.workload.site_requests import default_requests


@dataclass(frozen=True, kw_only=True)
class Waits:
    """Mean waits in seconds: recorded, and of each phase; ``easy`` is EASY's, None without."""

    jobs: int
    recorded: float
    phases: tuple[float, ...]
    easy: float | None = None

    @property
    def mean(self) -> float:
        """Over the phases."""
        return sum(self.phases) / len(self.phases)

    @property
    def factor(self) -> float:
        """The model's mean wait against the recorded one."""
        return self.mean / self.recorded if self.recorded else float("nan")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Mean waits of a recording: of all its jobs, and by (what, name) of each group."""

    name: str
    all_jobs: Waits
    groups: dict[tuple[str, str], Waits]
    easy_failed: str = ""
    """Why EASY could not be simulated, if so."""


def compare_waits(folder: Path, *, phases: int) -> Waits:
    """Simulate a folder's jobs with passes at ``phases`` offsets and compare mean waits.

    Jobs that were cancelled while they waited do not count.
    """
    return compare_groups(folder, phases=phases, easy=False).all_jobs


def compare_groups(folder: Path, *, phases: int, easy: bool = True) -> Comparison:
    """As :func:`compare_waits`, also per account, partition and QOS, with EASY beside it.

    Of a recording only that counts which `pull` collects from a site.
    """
    with tempfile.TemporaryDirectory() as place:
        alone = (folder / "submits.psv").is_file()  # a recording: a site has no such file
        site, workload = read_site(strip(folder, Path(place) / folder.name) if alone else folder)
    requests = workload.requests or default_requests(workload, site)
    begun = np.asarray(workload.recorded_start)
    submit = np.asarray(workload.submit)
    counted = (begun >= 0) & (requests.cancel_at < 0)
    if not counted.any():
        raise InputError(f"{folder}: no job of this recording has a start")
    wish = Parameters.of_config(site.config)
    fixed = SlurmPolicy().measured_on(workload, site)
    starts = [
        np.array(run_slurm(workload, site, requests, phase=one.phase_on(wish)).first_start())
        for one in fixed.offsets(phases)
    ]
    rival: AnyArray | None = None
    failed = ""
    if easy:
        try:
            rival = _easy(workload, site)
        except ShadowtimeError as error:
            failed = str(error)

    def waits(which: AnyArray) -> Waits:
        def mean(start: AnyArray) -> float:
            known = which & (start >= 0)
            return float((start - submit)[known].mean()) if known.any() else float("nan")

        return Waits(
            jobs=int(which.sum()),
            recorded=mean(begun),
            phases=tuple(mean(start) for start in starts),
            easy=None if rival is None else mean(rival),
        )

    groups = {
        key: waits(counted & rows)
        for key, rows in sorted(_groups(site, requests).items())
        if (counted & rows).any()
    }
    return Comparison(name=folder.name, all_jobs=waits(counted), groups=groups, easy_failed=failed)


def _easy(workload: Workload, site: Site) -> AnyArray:
    """Starts under EASY on the same site."""
    return np.asarray(simulate(workload, site, parse_policy("easy")).start)


def _groups(site: Site, requests: Requests) -> dict[tuple[str, str], AnyArray]:
    """Rows by account, by partitions as asked for, and by QOS."""
    usual = next((one.name for one in site.partitions if one.default), "")
    found: dict[tuple[str, str], AnyArray] = {}
    for place, request in enumerate(requests.distinct):
        rows = requests.index == place
        for key in (
            ("account", request.account),
            ("partition", ",".join(request.partitions) or usual),
            ("QOS", request.qos),
        ):
            if key[1]:
                found[key] = found[key] | rows if key in found else rows
    return found
