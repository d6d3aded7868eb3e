"""Run every policy of the catalogue on the small worlds and print a digest of each schedule.

Called by test_modes.py in processes with other compiler settings.
"""

from __future__ import annotations

import hashlib
import json
import sys

from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.testing import small_worlds

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


def digests() -> dict[str, str]:
    """A digest of starts, reasons, promises and kills by policy."""
    found = {}
    for name in POLICIES:
        digest = hashlib.sha256()
        for _, workload, cluster in small_worlds():
            schedule = simulate(workload, cluster, parse_policy(name))
            for column in ("start", "reason", "promised", "blocked_at", "kills"):
                digest.update(getattr(schedule, column).astype("int64").tobytes())
        found[name] = digest.hexdigest()
    return found


if __name__ == "__main__":
    json.dump(digests(), sys.stdout)
