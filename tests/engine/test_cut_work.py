"""On nodes, too, a job that overran its request has no more work than the request.

spec: algorithms 4.5.
"""

from __future__ import annotations

import numpy as np
import pytest

from shadowtime.cluster.contention import node_cluster
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.schedule.check import check
from shadowtime.workload import Workload

NODE = node_cluster(1, bandwidth=6000)


def two(bandwidth: int, *, limit: list[int] | None = None) -> Workload:
    """Run 50 of 1000 beside run 500 of 100, two processors each."""
    return Workload.build(
        submit=[0, 0],
        run=[50, 500],
        procs=[2, 2],
        request=[1000, 100],
        limit=limit,
        extra={"bandwidth": np.array([bandwidth] * 2)},
    )


def test_a_longer_limit_gives_no_more_work():
    """Slowed down for 67 s, the second finishes its request at 117; it is not killed at 134."""
    made = simulate(two(2000), NODE, parse_policy("rua"))
    assert (made.end.tolist(), made.killed.tolist()) == ([67, 117], [0, 0])
    assert made.limit.tolist()[1] == 134
    assert made.penalised.tolist() == [17, 17]
    assert check(made, two(2000), NODE)["limits-kept"].verdict == "proved"


@pytest.mark.parametrize("policy", ["rua", "easy", "conservative", "consres", "lessc"])
def test_a_job_that_is_not_slowed_down_ends_within_its_request(policy: str):
    """A job that is not slowed down is not killed."""
    made = simulate(two(500), NODE, parse_policy(policy))
    assert (made.end.tolist(), made.killed.tolist()) == ([50, 100], [0, 0])
    assert check(made, two(500), NODE)["limits-kept"].verdict == "proved"


def test_grace_gives_no_more_work():
    """Slurm's grace is for jobs that were slowed down."""
    made = simulate(two(500), NODE, parse_policy("consres(grace=unlimited)"))
    assert made.end.tolist() == [50, 100]


def test_without_a_limit_the_work_is_that_of_the_log():
    """overrun=keep: nothing is cut."""
    made = simulate(two(500, limit=[10**6, 10**6]), NODE, parse_policy("easy"))
    assert made.end.tolist() == [50, 500]
