"""Compile what the whole suite needs before it begins: each part once, on all cores.

    python tests/compile_first.py [PROCESSES]

Workers of the suite that meet at the same part would each compile it. A part that is missing here
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
    "shadowtime.engine.nodes.slurm.ahead": 30,
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


def parts() -> dict[str, str]:
    """What to compile, the longest first, and the code that does it."""
    costs = COST | EXAMPLES | {"rua": 25}
    code = {
        name: f"from shadowtime.engine.warm import compile_pass; compile_pass({name!r})"
        for name in COST
    }
    code |= {name: f"import doctest, {name} as room; doctest.testmod(room)" for name in EXAMPLES}
    code |= {"rua": RUA}
    return {name: code[name] for name in sorted(code, key=lambda name: -costs[name])}


def compile_part(name: str, code: str) -> None:
    """In a process of its own: compiling holds Python's lock."""
    begun = time.monotonic()
    try:
        subprocess.run(
            [sys.executable, "-c", code], stdin=subprocess.DEVNULL, timeout=1800, check=True
        )
    except subprocess.SubprocessError as error:
        print(f"{name} is left to the tests: {error}", flush=True)
    else:
        print(f"compiled {name} in {time.monotonic() - begun:.0f} s", flush=True)


def main() -> None:
    """Compile everything."""
    processes = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    with ThreadPoolExecutor(processes) as pool:
        list(pool.map(lambda part: compile_part(*part), parts().items()))


if __name__ == "__main__":
    main()
