"""A promise that a limit withdraws is not made again endlessly."""

from __future__ import annotations

from shadowtime.cluster.site import Limits, Node, Partition, Qos, Site
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.workload import Workload
from shadowtime.workload.request import Request, Requests


def test_a_job_that_a_limit_never_admits_does_not_keep_the_run_going() -> None:
    """Whole nodes exceed the bound although the request does not: the job never starts."""
    site = Site(
        nodes=(Node(name="a", amounts=(8,)), Node(name="b", amounts=(8,))),
        partitions=(Partition(name="p", nodes=("a", "b"), default=True),),
        qos=(Qos(name="q", limits=Limits(user_resources={"cpus": 6})),),
        enforce=frozenset({"limits", "qos"}),
    )
    jobs = Workload.build(
        submit=[0, 1],
        run=[10, 10],
        procs=[2, 2],
        user=[0, 0],
        requests=Requests.of_jobs(
            [Request(tasks=2, qos="q"), Request(tasks=2, exclusive=True, qos="q")]
        ),
    )
    made = simulate(jobs, site, parse_policy("conservative"))
    assert made.start.tolist() == [0, -1]
    assert made.unstarted.tolist() == [False, True]
