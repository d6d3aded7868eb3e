"""One short run of every policy for pools, on a real HTCondor pool."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from condor_pool import CPUS, Pool, running_pool
from condor_tools import loop_on, started, status, submit, turn_until
from shadowtime.policy import catalogue

ELSEWHERE = {"rua", "consres", "lessc", "hperf", "part-l-sm", "part-l-a"}
"""These need a bandwidth per node, or hosts in partitions, which HTCondor does not have."""
ALIKE = {"unicef", "f2", "f3", "f4", "saf", "spt", "sqf", "saf-wait", "dynamic-conservative"}
"""These differ from others of the list by a key or a depth alone (tests/live/test_alike.py)."""
POLICIES = [entry.name for entry in catalogue() if entry.name not in ELSEWHERE | ALIKE]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with running_pool(nodes=2) as made:
        yield made


@pytest.mark.parametrize("policy", POLICIES)
def test_a_short_run(pool: Pool, policy: str) -> None:
    """Two nodes full, one job for a whole node, one small one: all of them end, in an order that
    the policy allows, each started once."""
    jobs = [submit(pool, 0, cpus=CPUS, limit=2) for _ in range(3)]
    jobs.append(submit(pool, 0, limit=1))
    loop, seen = loop_on(pool, policy)
    turn_until(loop, lambda: not any(status(pool, job) for job in jobs))
    assert sorted(job for job, _ in seen.starts if job in jobs) == sorted(jobs)
    assert [started(pool).count(job) for job in jobs] == [1] * len(jobs)
    for state, *_ in seen.passes:
        held: dict[str, int] = {}
        for run in state.running:
            for host, count in run.place:
                held[host] = held.get(host, 0) + count
        assert max(held.values(), default=0) <= CPUS
