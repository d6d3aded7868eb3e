"""Compile what the whole suite needs before it begins: each part once, on all cores.

    python tests/compile_first.py [PROCESSES]

Workers of the suite that meet at the same part would each compile it, and so would processes that
compile parts which call the same functions: such parts share a process. A part that is missing here
costs time only: it is compiled by the first test that needs it.
"""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from shadowtime.engine.warm import COST

EXAMPLES = {
    "shadowtime.engine.site.live_pass": 105,
    "shadowtime.kernel.slurm.walk": 45,
    "shadowtime.engine.nodes.slurm.live_forward": 30,
    "shadowtime.engine.episodes": 20,
    "shadowtime.engine.site.python_policy": 15,
}
"""Rooms whose own examples compile what else there is, with about how many seconds they take."""

RUA = """
from shadowtime.cluster.contention import node_cluster
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.workload import Workload
jobs = Workload.build(submit=[0, 1], run=[9, 5], procs=[3, 4]).replace(extra={"bandwidth": [0, 9]})
simulate(jobs, node_cluster(3, bandwidth=6000), parse_policy("rua"))
"""


TOGETHER = (
    (
        "site-general",
        "site-conservative",
        "shadowtime.engine.site.live_pass",
        "shadowtime.engine.site.python_policy",
    ),
    ("general", "priority", "conservative", "pool", "select", "easy", "venture"),
)
"""Parts that call much of the same: a process compiles what they share once."""


def parts() -> dict[str, str]:
    """What to compile and the code that does it."""
    code = {
        name: f"from shadowtime.engine.warm import compile_pass; compile_pass({name!r})"
        for name in COST
    }
    code |= {name: f"import doctest, {name} as room; doctest.testmod(room)" for name in EXAMPLES}
    return code | {"rua": RUA}


def groups() -> list[tuple[str, ...]]:
    """Parts by the process that compiles them, the longest group first."""
    costs = COST | EXAMPLES | {"rua": 25}
    shared = {name for group in TOGETHER for name in group}
    found = [*TOGETHER, *((name,) for name in costs if name not in shared)]
    return sorted(found, key=lambda group: -sum(costs[name] for name in group))


def compile_group(names: tuple[str, ...]) -> None:
    """In a process of its own: compiling holds Python's lock."""
    begun, label = time.monotonic(), ", ".join(names)
    code = "\n".join(parts()[name] for name in names)
    try:
        subprocess.run(
            [sys.executable, "-c", code], stdin=subprocess.DEVNULL, timeout=1800, check=True
        )
    except subprocess.SubprocessError as error:
        print(f"{label}: left to the tests: {error}", flush=True)
    else:
        print(f"compiled {label} in {time.monotonic() - begun:.0f} s", flush=True)


def main() -> None:
    """Compile everything."""
    processes = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    with ThreadPoolExecutor(processes) as pool:
        list(pool.map(compile_group, groups()))


if __name__ == "__main__":
    main()
