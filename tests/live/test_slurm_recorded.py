"""A fresh run of Slurm's own backfill: the model makes the same passes."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from conftest import require
from shadowtime.slurm.recording.check import check_recording
from shadowtime.testing.slurm import missing_programs as missing_of_slurm
from shadowtime.testing.slurm import slurm_cluster
from shadowtime.testing.slurm_accounting import missing_programs
from shadowtime.testing.slurm_recording import SETTINGS, draw_jobs, record

ANSWERED = 1.0
"""Seconds after an end in which a busy machine may not have answered for a node yet."""


def test_a_fresh_run_is_planned_alike(tmp_path: Path) -> None:
    """A hundred jobs on eight nodes: starts on the same nodes, none too many, the same plans."""
    missing = missing_of_slurm() + missing_programs()
    require("slurmdbd", not missing, f"Slurm's accounting is not here ({', '.join(missing)})")
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-record-"))
    jobs = draw_jobs(20261115, 100, nodes=8, cpus=16, load=1.3, mean=4.0)
    try:
        with slurm_cluster(folder, gres=0, accounting=True, settings=SETTINGS) as cluster:
            record(cluster, jobs, tmp_path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    found = check_recording(tmp_path, completing=ANSWERED)
    differences = found.differences[:5]
    # How many passes can be compared depends on the machine: a busy one has fewer, and more of
    # them so soon after an end that a node may not have answered. Some must be left to compare.
    assert found.passes > 3 and found.plans > 30
    assert found.starts + found.main_starts > 0
    assert found.starts_equal == found.starts, differences
    assert found.main_starts_equal == found.main_starts, differences
    assert found.extra_starts == 0, differences
    assert found.plans - found.plans_equal <= max(1, 0.002 * found.plans), differences
