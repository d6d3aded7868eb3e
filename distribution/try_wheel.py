"""In a fresh environment: the first simulation under every policy of the catalogue, timed.

Run by ``scripts/build try``. Fails if an installation that carries the library imports Numba for a
catalogue policy: then something is compiled on the user's machine after all.
"""

from __future__ import annotations

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


def first_run(*words: str) -> tuple[float, subprocess.CompletedProcess[str]]:
    """The processor time of a command in a process of its own, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", CODE, *words], capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, done


def main() -> int:
    """A log, then every policy on it; 1 if one is slow or fails."""
    from shadowtime.kernel import library
    from shadowtime.policy import catalogue

    carried = library.load() is not None
    print(f"library of compiled kernels: {'carried' if carried else 'none, Numba compiles'}")
    first_run("demo", "-o", "demo")
    log = str(Path("demo/inputs/trace.swf.gz"))
    wrong = 0
    for policy in catalogue():
        spent, done = first_run("simulate", log, "--policy", policy.name)
        if done.returncode == 2 and policy.name in done.stderr:
            print(f"{policy.name:24} not defined on a pool")
            continue
        bad = done.returncode != 0 or spent > LIMIT or (carried and "no numba" not in done.stderr)
        wrong += bad
        last = done.stderr.strip().splitlines()[-1]
        print(f"{policy.name:24} {spent:5.2f} s CPU  {last}{'  <-- wrong' if bad else ''}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
