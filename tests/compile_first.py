"""Compile what the whole suite needs before it begins: each part once, on all cores.

    python tests/compile_first.py [PROCESSES]

Workers of the suite that meet at the same part would each compile it, and so would processes that
compile parts which call the same functions: what calls much of the same is a group, and a group is
compiled by one process. Passes of a simulation are compiled by name; the rest by running tests and
documented examples that reach it. A part that is missing here costs time only: it is compiled by
the first test that needs it.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class Group(NamedTuple):
    """Parts that call much of the same."""

    passes: tuple[str, ...]
    reached_by: tuple[str, ...]  # tests, as pytest names them


GROUPS = {
    "pool": Group(
        ("general", "priority", "conservative", "pool", "select", "easy", "venture"),
        (
            "src/shadowtime/engine/session.py",
            "src/shadowtime/engine/episodes.py",
            "src/shadowtime/engine/live_pass/decide.py",
            "tests/engine/test_python_policy.py::test_python_easy_equals_easy",
            "tests/engine/test_never_fits.py",
        ),
    ),
    "site": Group(
        ("site-general", "site-conservative"),
        (
            "src/shadowtime/engine/site/live_pass.py",
            "src/shadowtime/engine/site/python_policy.py",
            "tests/live/test_alike_site.py::test_passes_on_snapshots_make_the_simulated_schedule"
            "[conservative]",
            "tests/engine/test_place_slot.py::test_equals_the_reference[pv-easy]",
            "tests/engine/test_site_python_policy.py::test_a_job_stopped_for_another_starts_again",
        ),
    ),
    "lessc": Group(
        (),
        ("src/shadowtime/engine/nodes/slurm/live_pass.py",),
    ),
    "rua": Group(
        (),
        (
            "tests/engine/test_nodes.py::test_equals_the_reference[rua]",
            "tests/engine/test_nodes.py::test_equals_the_reference[easy-sjbf(place=first-fit)]",
            "tests/engine/test_nodes_conservative.py::test_equals_the_reference[first-fit]",
        ),
    ),
    "slurm": Group(
        (),
        tuple(f"src/shadowtime/kernel/slurm/{one}.py" for one in ("run", "rows", "choose")),
    ),
    "metrics": Group((), ("src/shadowtime/metrics", "src/shadowtime/report/rows.py")),
}
"""By what they schedule; in this order two processes end at about the same time."""


def compile_group(name: str) -> None:
    """Compile one group in this process."""
    import pytest

    from shadowtime.engine.warm import compile_pass

    sys.path.insert(0, str(ROOT))  # a test takes its passes from benchmarks
    gc.disable()  # it finds nothing worth its time in what a compiler keeps
    group = GROUPS[name]
    for each in group.passes:
        compile_pass(each)
    options = ("-q", "-p", "no:xdist", "-p", "no:cacheprovider")
    code = pytest.main([*options, f"--rootdir={ROOT}", *(str(ROOT / p) for p in group.reached_by)])
    sys.exit(int(code))


def compile_elsewhere(name: str) -> None:
    """In a process of its own: compiling holds Python's lock."""
    begun = time.monotonic()
    try:
        subprocess.run(
            [sys.executable, __file__, name],
            env=os.environ | {"SHADOWTIME_EXAMPLES": "quick"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=1800,
            check=True,
        )
    except subprocess.SubprocessError as error:
        print(f"{name}: left to the tests: {error}", flush=True)
    else:
        print(f"compiled {name} in {time.monotonic() - begun:.0f} s", flush=True)


def main() -> None:
    """Compile everything, or the group that is named."""
    word = sys.argv[1] if len(sys.argv) > 1 else "2"
    if word in GROUPS:
        compile_group(word)
    with ThreadPoolExecutor(int(word)) as pool:
        list(pool.map(compile_elsewhere, GROUPS))


if __name__ == "__main__":
    main()
