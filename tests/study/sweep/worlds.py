"""Small plans for tests of sweeps."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from shadowtime.trace import write_swf
from shadowtime.workload.embedded import demo_workload
from shadowtime.workload.slicing import first_jobs

GATE = '''
"""A policy that starts every job that fits, in order, once the file go exists."""
import os, threading
from pathlib import Path
from shadowtime.policy.snapshot import Start
HERE = Path(__file__).parent

class Gate:
    name = "gate"
    def __init__(self):
        self.open = False
    def decide(self, view):
        if not self.open:
            part = HERE / f"pid.{os.getpid()}"  # workers may come to the gate at once
            part.write_text(str(os.getpid()))
            os.replace(part, HERE / "pid")
            while not (HERE / "go").exists():
                threading.Event().wait(0.02)
            if (HERE / "broken").exists():
                raise RuntimeError("broken on purpose")
            self.open = True
        free = view.free[0]
        for job in view.waiting:
            if job.procs > free:
                break
            free -= job.procs
            yield Start(job.id)
'''


def write_log(folder: Path, jobs: int = 120) -> Path:
    """A small log with its machine in the header."""
    path = folder / "log.swf"
    write_swf(first_jobs(demo_workload(), jobs), path)
    return path


def write_plan(folder: Path, policies: list[str], **more: object) -> Path:
    """A plan over that log."""
    if not (folder / "log.swf").exists():
        write_log(folder)
    path = folder / "plan.toml"
    lines = ['logs = ["log.swf"]', 'clusters = ["pool:256"]', f"policies = {policies!r}"]
    lines += [f"{name} = {value!r}" for name, value in more.items()]
    path.write_text("\n".join(lines).replace("'", '"') + "\n")
    return path


def command(*words: str) -> list[str]:
    """The command line in a process of its own."""
    return [sys.executable, "-P", "-m", "shadowtime", *words]


def environment() -> dict[str, str]:
    """For such a process."""
    return dict(os.environ)
