"""A real HTCondor pool of static slots: gangs of whole nodes in the parallel universe."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from condor_pool import STATIC, Pool, running_pool
from condor_tools import history, loop_on, started, status, submit, turn_until


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with running_pool(slots=STATIC) as made:
        yield made


def slot(node: int) -> str:
    return f"slot1@n{node}@localhost.pool.local"


def test_a_plain_job_takes_a_static_slot_whole(pool: Pool) -> None:
    """Two jobs of one processor do not share a node of eight. (Comes first: later the dedicated
    scheduler keeps its claims for a while.)"""
    jobs = [submit(pool, 2, cpus=1) for _ in range(2)]
    loop, seen = loop_on(pool, "easy")
    turn_until(loop, lambda: not any(status(pool, job) for job in jobs))
    assert dict(seen.starts) == {jobs[0]: (slot(1),), jobs[1]: (slot(2),)}
    assert [started(pool).count(job) for job in jobs] == [1, 1]


def test_gangs_start_in_order_on_the_nodes_that_were_chosen(pool: Pool) -> None:
    """Three nodes, four nodes, one node: EASY lets the last overtake on the fourth node, first
    come first served does not; each job runs on the nodes it was given, whole."""
    for policy, overtakes in (("easy", True), ("fcfs", False)):
        wide = submit(pool, 4, hosts=3, limit=8)
        whole = submit(pool, 1, hosts=4, limit=2)
        small = submit(pool, 1, hosts=1, limit=2)
        loop, seen = loop_on(pool, policy)
        turn_until(loop, lambda jobs=(wide, whole, small): not any(status(pool, j) for j in jobs))
        order = [job for job, _ in seen.starts]
        assert (order.index(small) < order.index(whole)) is overtakes
        places = dict(seen.starts)
        assert places[wide] == (slot(1), slot(2), slot(3))
        past = history(pool)
        for job in (wide, whole, small):
            hosts = past[job].get("RemoteHosts") or past[job].get("AllRemoteHosts")
            hosts = hosts or past[job]["LastRemoteHost"]
            assert set(hosts.split(",")) <= set(places[job])
        state = seen.passes[0][0]
        need = {job.id: job.need for job in state.waiting}
        assert (need[wide][0], need[whole][0], need[small][0]) == (24, 32, 8)
