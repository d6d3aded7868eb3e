"""In a fresh environment: the first simulation under every policy of the catalogue.

Run by ``scripts/build try`` in an empty folder with an empty cache. Each policy runs in a process
of its own on a pool, on hosts and on nodes that share bandwidth, wherever it is defined, and again
as plain Python. Fails if a first run takes longer than LIMIT, if an installation that carries the
library imports Numba for it, or if the two schedules differ.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

CODE = """
import sys
from shadowtime.cli import run
code = run(sys.argv[1:])
sys.stdout.flush()
print("numba" if "numba" in sys.modules else "no numba", file=sys.stderr)
sys.exit(code)
"""
LIMIT = 5.0
"""Seconds of processor time until the first result."""
JOBS = "0:150"
"""Of the demo's log: plain Python takes a second or two for them."""
NODES = """\
[cluster]
shape = "nodes"
[[nodes]]
name = "n"
count = 64
procs = 4
bandwidth = 6000
"""
MACHINES = {"pool": (), "hosts": ("-c", "o2k"), "nodes": ("-c", "nodes.toml", "--demand", "HIGH")}


def first_run(*words: str, **environment: str) -> tuple[float, subprocess.CompletedProcess[str]]:
    """The processor time of a command in a process of its own, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", CODE, *words],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, done


def try_policy(name: str, machine: str, *, carried: bool) -> bool | None:
    """Run one policy on one machine: is all well? None where it is not defined there."""
    words = ("simulate", "few.swf.gz", "--policy", name, *MACHINES[machine], "--schedule")
    spent, done = first_run(*words, "made.csv")
    if done.returncode == 2:
        return None
    _, again = first_run(*words, "plain.csv", NUMBA_DISABLE_JIT="1")
    wrong = []
    if done.returncode != 0 or again.returncode != 0:
        wrong.append("failed: " + (done.stderr + again.stderr).strip())
    elif Path("made.csv").read_bytes() != Path("plain.csv").read_bytes():
        wrong.append("differs from plain Python")
    if spent > LIMIT:
        wrong.append(f"more than {LIMIT:.0f} s")
    if carried and "no numba" not in done.stderr:
        wrong.append("imports Numba")
    print(f"{name:16} {machine:6} {spent:6.2f} s CPU  {', '.join(wrong) or 'fine'}", flush=True)
    return not wrong


def main() -> int:
    """A log, then every policy on it; 1 if something is wrong."""
    from shadowtime.kernel import library
    from shadowtime.policy import catalogue

    carried = library.load() is not None
    print(f"library of compiled kernels: {'carried' if carried else 'none, Numba compiles'}")
    Path("nodes.toml").write_text(NODES)
    spent, done = first_run("demo", "-o", "demo")
    print(f"{'demo':23} {spent:6.2f} s CPU  {'fine' if done.returncode == 0 else done.stderr}")
    first_run("trace", "convert", "demo/inputs/trace.swf.gz", "few.swf.gz", "--jobs", JOBS)
    wrong = done.returncode
    for policy in catalogue():
        found = [try_policy(policy.name, machine, carried=carried) for machine in MACHINES]
        if not any(found) or False in found:
            wrong += 1
            print(f"{policy.name:16} {'runs nowhere' if not any(found) else 'is wrong'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
