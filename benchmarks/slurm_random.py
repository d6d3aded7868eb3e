"""Record runs of a real Slurm with configurations drawn by seeds, and check the model on them.

    scripts/bench slurm-random 20                       20 fresh runs on every Slurm that is here
    scripts/bench slurm-random 1 --seed 7 --version 24.11 --keep FOLDER

A run takes about two minutes. Ends with code 1 where fewer than 99 % of all plans or 99.5 % of all
starts are equal, or starts are too many. A seed that differs is repeated with --seed.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from shadowtime.slurm.recording.check import Tallies
from shadowtime.testing.slurm import FETCHED, missing_programs, slurm_root
from shadowtime.testing.slurm_random import check_run, draw_run, record_run

if TYPE_CHECKING:
    from collections.abc import Sequence

PLANS, STARTS = 0.99, 0.995
"""Shares that must be equal over all runs of a version."""
ANSWERED = 1.0
"""Seconds after an end from which on passes count in a run in which some pass differs."""
COUNTS = ("plans", "starts", "main_starts", "victims")


def main(words: Sequence[str] | None = None) -> int:
    """Record, check, print; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog="scripts/bench slurm-random", description=__doc__)
    parser.add_argument("runs", type=int, nargs="?", default=1, help="on each version")
    parser.add_argument("--seed", type=int, help="the first seed; default: of today")
    parser.add_argument("--version", action="append", help="system, 24.11 or 26.05; default: all")
    parser.add_argument("--keep", type=Path, help="a folder for the recordings")
    given = parser.parse_args(words)
    if missing_programs():
        parser.error(f"Slurm is not installed here ({', '.join(missing_programs())})")
    seed = given.seed or datetime.now(UTC).toordinal() * 1000
    met = True
    for version in given.version or ("system", *FETCHED):
        root = None if version == "system" else slurm_root(version)
        if version != "system" and root is None:
            parser.error(f"Slurm {version} is not here: scripts/install --system gets it")
        total = Tallies()
        for number in range(seed, seed + given.runs):
            found = _one(number, version, root, given.keep)
            for name in COUNTS:
                for column in (name, f"{name}_equal"):
                    setattr(total, column, getattr(total, column) + getattr(found, column))
            total.extra_starts += found.extra_starts
            print(f"{version} seed {number}: {_shown(found)}", flush=True)
        print(f"{version}, {given.runs} runs: {_shown(total)}", flush=True)
        begun = total.starts + total.main_starts
        met = met and total.plans_equal >= PLANS * total.plans and not total.extra_starts
        met = met and total.starts_equal + total.main_starts_equal >= STARTS * begun
    return 0 if met else 1


def _one(seed: int, version: str, root: Path | None, keep: Path | None) -> Tallies:
    work = Path(tempfile.mkdtemp(prefix="shadowtime-random-"))
    folder = keep / f"{version}-{seed}" if keep else work / "recording"
    try:
        record_run(draw_run(seed), work, folder, root=root)  # Slurm's user must get into it
        return check_run(folder, answered=ANSWERED)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _shown(found: Tallies) -> str:
    words = [
        f"{getattr(found, f'{name}_equal')}/{getattr(found, name)} {name.replace('_', ' ')}"
        for name in COUNTS
    ]
    return f"{', '.join(words)}, {found.extra_starts} starts too many"
