"""What check -p says of a schedule that is not the policy's, and of one too long to follow."""

from __future__ import annotations

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Node, Site
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.schedule.check import check
from shadowtime.verify.proof import follows
from shadowtime.workload import Workload
from shadowtime.workload.request import Request, Requests

EASY = parse_policy("easy")
POOL = Cluster.pool(4)
JOBS = Workload.build(submit=[0, 1, 2, 3], run=[9, 5, 4, 2], procs=[3, 4, 1, 1])


def test_the_first_departure_is_named_with_its_pass() -> None:
    made = simulate(JOBS, POOL, EASY)
    assert follows(made, JOBS, POOL, EASY).verdict == "proved"
    start = made.start + np.array([0, 0, 1, 0])
    late = made.replace(start=start, end=made.end + (start - made.start))
    proof = follows(late, JOBS, POOL, EASY)
    assert proof.verdict == "violated"
    assert proof.detail.startswith(
        "job 3 has start 3, and easy gives 2; the schedule departs from the policy in the pass at 2"
    )
    promised = made.promised + np.array([0, 2, 0, 0])
    proof = follows(made.replace(promised=promised), JOBS, POOL, EASY)
    assert proof.detail.startswith("job 2 has promised 11, and easy gives 9;")


def test_a_long_log_is_followed_in_part_and_the_rest_counted() -> None:
    made = simulate(JOBS, POOL, EASY)
    proof = follows(made, JOBS, POOL, EASY, jobs=3)
    assert proof.verdict == "not proved"
    assert "until 3 s" in proof.detail and "of 4 jobs were not followed" in proof.detail
    early = made.replace(start=made.start - np.array([0, 7, 0, 0]))
    assert follows(early, JOBS, POOL, EASY, jobs=3).verdict == "violated"


def test_a_function_of_ones_own_is_not_followed_and_said_so() -> None:
    policy = EASY.replace(order=parse_policy("f1").order.__class__(lambda now, job: job.procs))
    proof = follows(simulate(JOBS, POOL, EASY), JOBS, POOL, policy)
    assert proof.verdict == "not proved" and "a function of your own" in proof.detail


def test_an_exclusive_job_has_all_cpus_of_its_node() -> None:
    """b1:99 on a node of 16 cpus is no place, whether the policy is known or not."""
    site = Site(nodes=(Node(name="b1", amounts=(16,)), Node(name="b2", amounts=(8,))))
    asked = Requests.of_jobs([Request(tasks=2, exclusive=True, wanted=("b1",))])
    jobs = Workload.build(submit=[0], run=[5], procs=[2], requests=asked)
    made = simulate(jobs, site, EASY)
    assert list(made.place) == ["b1:16"] and check(made, jobs, site).ok
    for place in ("b1:99", "b1:2"):
        false = made.replace(place=(place,))
        found = check(false, jobs, site).first_violation
        assert found is not None and found.name == "site-requests"
        assert f"that is 16 cpus, and its place says {place[3:]}" in found.detail
        assert follows(false, jobs, site, EASY).verdict == "violated"
