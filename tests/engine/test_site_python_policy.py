"""A policy written in Python on a site: the same starts on the same nodes as its compiled twin."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from conftest import examples
from engine.site_worlds import sites, workloads
from shadowtime.cluster.site import Limits, Node, Qos, Site
from shadowtime.engine import simulate
from shadowtime.errors import PolicyError
from shadowtime.policy import parse_policy
from shadowtime.policy.snapshot import Start, Stop
from shadowtime.schedule.check import check
from shadowtime.workload import Workload
from shadowtime.workload.request import Request, Requests

TWO = Site(nodes=(Node(name="a", amounts=(4,)), Node(name="b", amounts=(2,))))


class Greedy:
    """Every job that fits starts, in order of arrival."""

    name = "python-greedy"

    def __init__(self, place: str = "best-fit") -> None:
        self.place = place

    def decide(self, view):
        return [Start(job.id, optional=True) for job in view.waiting]


@pytest.mark.parametrize("place", ["best-fit", "pack"])
def test_python_greedy_equals_greedy(place: str) -> None:
    @given(workloads(plain=True), sites(plain=True))
    @settings(max_examples=examples(20), deadline=None)
    def equal(workload, site) -> None:
        ours = simulate(workload, site, Greedy(place))
        theirs = simulate(workload, site, parse_policy(f"greedy(place={place})"))
        assert ours.start.tolist() == theirs.start.tolist()
        assert ours.end.tolist() == theirs.end.tolist()
        assert list(ours.place) == list(theirs.place)
        assert ours.unstarted.tolist() == theirs.unstarted.tolist()
        assert check(ours, workload, site).first_violation is None

    equal()


def test_limits_hold_and_fits_says_so() -> None:
    """A QOS of one job at a time: the second waits although there is room."""
    site = TWO.replace(
        qos=(Qos(name="one", limits=Limits(user_jobs=1)),), enforce=frozenset({"limits"})
    )
    jobs = Workload.build(
        submit=[0, 0],
        run=[5, 5],
        procs=[1, 1],
        user=[0, 0],
        requests=Requests.of_jobs([Request(qos="one"), Request(qos="one")]),
    )
    seen = []

    class Watch:
        def decide(self, view):
            seen.append((view.now, [job.fits for job in view.waiting]))
            return [Start(job.id) for job in view.waiting[:1] if job.fits]

    assert simulate(jobs, site, Watch()).start.tolist() == [0, 5]
    assert seen[:2] == [(0, [True, True]), (5, [True])]


def test_a_job_stopped_for_another_starts_again() -> None:
    jobs = Workload.build(submit=[0, 2], run=[9, 3], procs=[6, 4])

    class Kick:
        def decide(self, view):
            for job in view.running:
                if view.waiting and job.id == 1:
                    yield Stop(1)
                    yield Start(2)
                    return
            for job in view.waiting:
                yield Start(job.id, optional=True)

    made = simulate(jobs, TWO, Kick())
    assert made.start.tolist() == [5, 2]
    assert made.kills.tolist() == [1, 0]
    assert check(made, jobs, TWO).first_violation is None


def test_a_start_that_does_not_fit_is_the_policys_mistake() -> None:
    jobs = Workload.build(submit=[0, 0], run=[9, 3], procs=[6, 4])

    class Wrong:
        name = "wrong"

        def decide(self, view):
            return [Start(1), Start(2)]

    with pytest.raises(PolicyError, match="wrong at 0 starts job 2, but it does not fit now"):
        simulate(jobs, TWO, Wrong())


def test_an_unknown_place_rule_is_named() -> None:
    jobs = Workload.build(submit=[0], run=[9], procs=[6])
    with pytest.raises(PolicyError, match="place=anywhere is none of best-fit"):
        simulate(jobs, TWO, Greedy("anywhere"))
