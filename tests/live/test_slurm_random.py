"""Configurations that nobody chose, on every Slurm that is here: passes are made alike."""

from __future__ import annotations

import os
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from conftest import thorough
from shadowtime.testing.slurm_random import check_run, draw_run, record_run

KNOWN = 5
"""A seed whose runs are equal on every version, for quick runs."""
SHARE = 0.95
"""Of one run's plans and starts at least: a single difference moves all plans behind it, and the
bars of 99 and 99.5 % are for many runs (``scripts/bench slurm-random 20``)."""


def test_a_drawn_configuration_is_planned_alike(tmp_path: Path, slurm_root: Path | None) -> None:
    """A fresh seed every day in a thorough run; SHADOWTIME_SEED repeats one."""
    today = datetime.now(UTC).toordinal() * 1000
    seed = int(os.environ.get("SHADOWTIME_SEED") or (today if thorough() else KNOWN))
    run = draw_run(seed)
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-random-"))
    try:
        record_run(run, folder, tmp_path, root=slurm_root)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    found = check_run(tmp_path)
    about = f"SHADOWTIME_SEED={seed} on {found.version}: {found.differences[:5]}"
    begun = found.starts + found.main_starts
    assert begun + found.plans > 10, about
    assert found.plans_equal >= SHARE * found.plans, about
    assert found.starts_equal + found.main_starts_equal >= SHARE * begun, about
    assert found.extra_starts <= (1 - SHARE) * begun, about
