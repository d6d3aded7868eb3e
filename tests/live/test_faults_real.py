"""The fault injector, in short, on a real Slurm: nothing lost, nothing doubled, nothing stuck."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from conftest import ROOT, require
from shadowtime.testing.slurm import missing_programs


@pytest.mark.parametrize(("policy", "seed"), [("easy", 1)])
def test_faults_lose_double_and_block_no_job(policy: str, seed: int) -> None:
    """Every kind of fault once: daemons killed and stopped, answers damaged, a full disk.

    How long the first job stalled is printed by the program and not checked here: it depends
    on how busy the machine is.
    """
    missing = missing_programs()
    require("slurm", not missing, f"Slurm is not installed ({', '.join(missing)})")
    words = ["--policy", policy, "--jobs", "20", "--faults", "23", "--seed", str(seed)]
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "fault_injection.py"), *words],
        capture_output=True,
        text=True,
        timeout=850,
    )
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    counts = {name: found[name] for name in ("lost", "doubled", "stuck")}
    assert counts == {"lost": 0, "doubled": 0, "stuck": 0}, found
    # One that is restarted while slurmctld is down ends with 2, and is restarted again.
    assert set(found["loop_ended_by_itself"]) <= {2}, found
    assert found["faults"] == 23 == len(found["faults_by_kind"]) + len(found["left_out"])
    assert found["jobs"] >= 20
