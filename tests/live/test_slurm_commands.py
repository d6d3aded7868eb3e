"""Commands that hang, fail midway or print garbage on a real Slurm: every job runs once."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections import Counter
from pathlib import Path

import pytest

from live.test_slurm_real import finish, loop_over, submit
from shadowtime.live.runner import Commands
from shadowtime.slurmtext.squeue import ENVIRONMENT
from shadowtime.testing.slurm import SlurmCluster, wait_for

BROKEN = {
    "squeue writes rubbish": ("squeue", "head -c 300 /dev/urandom; exit 0"),
    "squeue breaks off": ("squeue", '"$real" "$@" | head -c 200; exit 0'),
    "squeue finds no controller": ("squeue", "echo 'slurm_load_jobs error' >&2; exit 1"),
    "sinfo writes rubbish": ("sinfo", "echo 'n1 is fine'; exit 0"),
    "scontrol hangs before it acts": ("scontrol", '[ $# -gt 0 ] || exec sleep 60; "$real" "$@"'),
    "scontrol acts and then hangs": ("scontrol", '"$real" "$@"; [ $# -gt 0 ] || exec sleep 60'),
}
"""A command and what it does instead, every third time that it is called."""


def shim(slurm: SlurmCluster, folder: Path, fault: str) -> tuple[Commands, Path]:
    """Commands of which one fails every third time, and the list of its faults."""
    name, instead = BROKEN[fault]
    calls, faults = folder / "calls", folder / "faults"
    script = folder / "bin" / name
    script.parent.mkdir()
    # scontrol's sessions count, its questions do not: those hang nowhere here.
    script.write_text(
        f"""#!/bin/sh
real={shutil.which(name, path=slurm.env["PATH"])}
if [ {name} = scontrol ] && [ $# -gt 0 ]; then exec "$real" "$@"; fi
echo >> {calls}
[ $(($(wc -l < {calls}) % 3)) = 1 ] || exec "$real" "$@"
echo >> {faults}
{instead}
"""
    )
    script.chmod(0o755)
    faults.touch()
    path = f"{script.parent}:{slurm.env['PATH']}"
    timeout = 2 if "hangs" in fault else 60
    return Commands(timeout=timeout, env={**slurm.env, **ENVIRONMENT, "PATH": path}), faults


@pytest.mark.parametrize("fault", BROKEN)
def test_commands_at_fault(queue: SlurmCluster, tmp_path: Path, fault: str) -> None:
    """Nothing is lost, nothing runs twice; wrong answers are asked again, or errors."""
    log = queue.folder / f"runs-{fault.replace(' ', '-')}.log"
    run, faults = shim(queue, tmp_path, fault)
    ids = [submit(queue, log, 6, 1, 1) for _ in range(3)]
    loop = loop_over(queue, "easy", tmp_path)
    loop.port.run = loop.port.answers.run = run
    finish(loop)
    happened = len(faults.read_text().splitlines())
    assert happened >= 1
    noticed = loop.kept.counters.get("errors", 0) + loop.port.answers.again
    assert noticed >= happened  # a slow machine adds its own
    assert Counter(log.read_text().split()) == Counter(ids)


def test_the_controller_hangs(queue: SlurmCluster, tmp_path: Path) -> None:
    """Stopped for five seconds in mid-run, all commands hang; then every job runs, once."""
    log = queue.folder / "runs-hang.log"
    ids = [submit(queue, log, 6, 2, 1) for _ in range(3)]
    loop = loop_over(queue, "easy", tmp_path)
    loop.step()  # outside of the loop an error would be one
    run = Commands(timeout=1.5, env={**queue.env, **ENVIRONMENT})
    loop.port.run = loop.port.answers.run = run
    wait_for(lambda: bool(log.read_text()), "the first job to run")
    pid = queue.pids["slurmctld"]
    os.kill(pid, signal.SIGSTOP)
    again = threading.Timer(5.0, os.kill, (pid, signal.SIGCONT))
    again.start()
    try:
        finish(loop)
    finally:
        again.join()
    assert loop.kept.counters["errors"] >= 1
    assert Counter(log.read_text().split()) == Counter(ids)
