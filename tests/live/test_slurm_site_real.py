"""The loop on a real mixed site: sixty jobs of every kind that the site model knows."""

from __future__ import annotations

import json
import subprocess
import sys

from conftest import ROOT, require
from shadowtime.testing.slurm import missing_programs as missing_of_slurm
from shadowtime.testing.slurm_accounting import missing_programs


def test_sixty_jobs_on_a_mixed_site() -> None:
    """None is lost, run twice, refused for what it asks or handed to Slurm; all decided alike.

    How long nodes stood idle is printed by the program and not judged here: that hangs on how busy
    the machine is.
    """
    missing = missing_of_slurm() + missing_programs()
    require("slurmdbd", not missing, f"Slurm's accounting is not here ({', '.join(missing)})")
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "live_site.py"), "--policy", "easy"],
        capture_output=True,
        text=True,
        timeout=850,
    )
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    bad = ("lost", "doubled", "refused_after_release", "handed_to_slurm")
    assert {name: found[name] for name in bad} == dict.fromkeys(bad, 0), found
    assert (found["jobs"], found["completed"], found["passes_decided_differently"]) == (60, 60, 0)
    assert found["decisions"] >= 60
