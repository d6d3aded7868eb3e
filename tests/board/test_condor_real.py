"""The board of a real HTCondor pool: the queue, its slots, and a job that runs and leaves."""

from __future__ import annotations

import time

from condor_pool import STATIC, running_pool
from condor_tools import submit
from shadowtime.board.condor_source import CondorSource
from shadowtime.board.keeper import Keeper
from shadowtime.testing.slurm import wait_for


def test_the_board_follows_a_real_pool() -> None:
    """As its own scheduler starts a job, the board shows it on its slot, and then as past."""
    with running_pool(slots=STATIC) as pool:
        pool.use()
        source, keeper = CondorSource(), Keeper()
        job = submit(pool, 5, cpus=1)

        def state() -> dict:
            keeper.poll(source.poll())
            return {one["id"]: one for one in keeper.state()["jobs"]}

        first = state()
        assert first[job]["state"] == "waiting" and first[job]["user"]
        assert len(keeper.state()["nodes"]) == 4
        schedd = pool.schedd()
        schedd.act(pool.use().JobAction.Release, [job])
        wait_for(lambda: state().get(job, {}).get("state") == "running", "its start", 180)
        here = state().get(job)
        if here is not None:  # it runs for five seconds
            assert here["hosts"] and here["rows"] and here["start"] <= time.time()
        wait_for(lambda: job not in state() and job in keeper.past, "its end", 180)
        assert keeper.past[job]["hosts"]
