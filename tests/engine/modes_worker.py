"""Run every policy of the catalogue on the small worlds and print a digest of each schedule.

Called by test_modes.py in processes with other compiler settings.
"""

from __future__ import annotations

import hashlib
import json
import sys

from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.testing import small_host_worlds, small_node_worlds, small_worlds

POLICIES = [
    "fcfs",
    "greedy",
    "easy",
    "easy-sjbf",
    "easy++",
    "conservative",
    "conservative(compress=no)",
    "lxfw(reserve=3)",
    "pv-easy",
    "pv-easy(prune=yes)",
    "bb",
    "ibb",
]

ON_HOSTS = ["easy", "lxfw(reserve=3)", "part-l-sm", "part-l-a"]

ON_NODES = [
    "easy",
    "easy-sjbf(place=less-consume)",
    "easy-sjbf(place=less-consume(threshold=1.25), limit=pf)",
    "rua",
    "conservative",
    "conservative(place=first-fit, compress=no)",
    "conservative(place=less-consume)",
    "conservative(place=least-slowdown)",
]


def digests() -> dict[str, str]:
    """A digest of starts, reasons, promises and kills by policy."""
    on_hosts = {f"{name} on hosts": digest(name, small_host_worlds()) for name in ON_HOSTS}
    on_nodes = {f"{name} on nodes": digest(name, small_node_worlds()) for name in ON_NODES}
    return {name: digest(name, small_worlds()) for name in POLICIES} | on_hosts | on_nodes


def digest(policy: str, worlds: list) -> str:
    """One policy's."""
    made = hashlib.sha256()
    for _, workload, cluster in worlds:
        schedule = simulate(workload, cluster, parse_policy(policy))
        for column in ("start", "reason", "promised", "blocked_at", "kills"):
            made.update(getattr(schedule, column).astype("int64").tobytes())
    return made.hexdigest()


if __name__ == "__main__":
    json.dump(digests(), sys.stdout)
