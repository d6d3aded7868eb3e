"""Environments on sites and of jobs that change: a scripted agent equals the policy it imitates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hst

import shadowtime as st
from conftest import examples
from engine.site_worlds import sites, workloads
from shadowtime.cluster.site import Node, Site
from shadowtime.engine import simulate
from shadowtime.engine.changing_session import ChangingSession
from shadowtime.engine.episodes import Episodes
from shadowtime.engine.site import steps
from shadowtime.engine.site.session import SiteSession
from shadowtime.errors import ShadowtimeError, UsageError
from shadowtime.policy import parse_policy
from shadowtime.schedule.check import check

EXAMPLES = settings(max_examples=examples(25), deadline=None)
MODES = ("order", "backfill")
PROCS, SIZES = 8, 3
SPEEDS = {1000: 1.0, 700: 0.5}


def session_of(made: Episodes) -> Any:
    return made._tables._runs[0][0]


def played(made: Episodes, choose: Any) -> float:
    """One window to its end; what was earned."""
    made.reset(seed=1)
    earned = float(made.reward[0])
    assert made.over[0] or earned == 0, "an environment returns no reward of a reset"
    while not made.over[0]:
        possible = np.flatnonzero(made.mask[0])
        assert len(possible), "there is always something to do"
        made.step(np.array([choose(possible)]))
        earned += float(made.reward[0])
    return earned


def slowdowns(schedule: Any, jobs: Any) -> float:
    ran = schedule.start >= 0
    turned = schedule.end[ran] - jobs.submit[ran]
    return float(np.maximum(1.0, turned / np.maximum(jobs.effective_run[ran], 10)).sum())


@pytest.mark.parametrize("mode", MODES)
@EXAMPLES
@given(hst.data())
def test_the_first_possible_action_is_easy(mode, data):
    """On random sites, with limits, outages and dependencies: the same starts on the same nodes."""
    site = data.draw(sites())
    jobs = data.draw(workloads())
    jobs = jobs.replace(limit=jobs.request, run=np.minimum(jobs.run, jobs.request))
    made = Episodes(jobs, site, mode=mode, window=len(jobs), slots=32)
    earned = played(made, lambda possible: possible[0])
    ours, theirs = session_of(made).schedule(), simulate(jobs, site, parse_policy("easy"))
    assert ours.start.tolist() == theirs.start.tolist()
    assert ours.end.tolist() == theirs.end.tolist()
    assert list(ours.place) == list(theirs.place)
    assert made.starts[0].tolist() == theirs.start.tolist()
    if site.outages == ():  # a job that was lost has an end all the same
        assert earned == pytest.approx(-slowdowns(theirs, jobs) / len(jobs))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "machine", [st.Cluster.pool(4), Site(nodes=(Node(name="a", amounts=(4,)),))]
)
def test_what_is_earned_before_the_first_decision_is_paid(machine, mode):
    """The rewards of steps alone add up, after a reset and in a lane that goes on by itself."""
    jobs = st.Workload.build(submit=[0, 20, 21, 22], run=[5, 10, 10, 2], procs=[4, 3, 4, 1])
    made = Episodes(jobs, machine, mode=mode, window=4, slots=4)
    for again in (False, True, False):
        made.reset(seed=1)
        if again:  # what is owed of a window that is left goes with it
            made.reset(seed=1)
        for _ in range(2):
            earned = [float(made.reward[0])]
            while not made.over[0]:
                made.step(np.array([0]))
                earned.append(float(made.reward[0]))
            assert earned[0] == 0 and sum(earned) == pytest.approx(-1.225)
            made.step(np.array([0]))


@pytest.mark.parametrize("mode", MODES)
@EXAMPLES
@given(hst.data(), hst.integers(1, 9))
def test_whatever_an_agent_does_is_a_schedule(mode, data, step):
    """Its own proof finds nothing: nodes, limits and reservations hold."""
    site, jobs = data.draw(sites()), data.draw(workloads())
    jobs = jobs.replace(limit=jobs.request, run=np.minimum(jobs.run, jobs.request))
    made = Episodes(jobs, site, mode=mode, window=len(jobs), slots=3)
    asked = iter(range(10**6))
    played(made, lambda possible: possible[step * next(asked) % len(possible)])
    assert check(session_of(made).schedule(), jobs, site).first_violation is None


def wish(now: int, submit: int, place: int, least: int, most: int, left: int) -> tuple[int, int]:
    """Size and speed by numbers that look random; the first job always has some."""
    draw = (now * 7 + submit * 13 + place * 5) % 11
    size = least + (most - least) * (draw % SIZES) // (SIZES - 1)
    if place == 0:
        size = min(size, max(least, left))
    elif draw == 0 or size > left:
        size = 0
    return size, (700 if draw > 7 and size else 1000)


@st.resize(speeds=SPEEDS, compiled=False)
def unsteady(now, jobs, free):  # type: ignore[no-untyped-def]
    """The same for all jobs in order of arrival."""
    left = PROCS
    for i in range(len(jobs.size)):
        known = (int(jobs.submit[i]), i, int(jobs.least[i]), int(jobs.most[i]))
        jobs.size[i], jobs.speed[i] = wish(now, *known, left)
        left -= jobs.size[i]


def towards(session: ChangingSession, mask: Any) -> int:
    """The next action of an agent that wants what ``unsteady`` would write."""
    jobs, left = session.observe().jobs, PROCS
    width = 1 + SIZES * len(SPEEDS)
    for i in range(len(jobs.size)):
        least, most = int(jobs.least[i]), int(jobs.most[i])
        size, speed = wish(session.now, int(jobs.submit[i]), i, least, most, left)
        left -= size
        if (size, speed if size else 0) == (jobs.size[i], jobs.speed[i] if size else 0):
            continue
        grid = [least + (most - least) * level // (SIZES - 1) for level in range(SIZES)]
        which = 1 + 2 * grid.index(size) + (speed == 700) if size else 0
        if mask[i * width + which]:  # else others shrink first
            return i * width + which
    return len(mask) - 1


@EXAMPLES
@given(hst.data())
def test_an_agent_gives_sizes_as_a_policy_does(data):
    """On a malleable pool: the same pieces, and the rewards are minus the mean slowdown."""
    n = data.draw(hst.integers(1, 8))

    def some(low: int, high: int) -> Any:
        return np.array(data.draw(hst.lists(hst.integers(low, high), min_size=n, max_size=n)))

    own = some(1, PROCS)
    jobs = st.Workload.build(
        submit=np.sort(some(0, 40)), run=some(1, 30), request=np.full(n, 30), procs=own,
        extra={
            "serial": some(0, 10) / 10, "min_procs": np.minimum(own, some(1, 4)),
            "max_procs": np.maximum(own, some(1, PROCS)), "resize_cost": some(0, 3),
        },
    )  # fmt: skip
    made = Episodes(
        jobs, st.Cluster.pool(PROCS), mode="resize", window=n, slots=16, sizes=SIZES, speeds=SPEEDS
    )
    earned = played(made, lambda _: towards(session_of(made), made.mask[0]))
    ours = session_of(made).schedule()
    shifted = jobs.replace(submit=jobs.submit - jobs.submit[0])
    theirs = st.simulate(shifted, PROCS, st.easy(backfill=unsteady)).schedule
    assert ours.start.tolist() == theirs.start.tolist()
    assert ours.end.tolist() == theirs.end.tolist()
    for name in ("job_id", "start", "end", "procs", "speed", "work", "killed"):
        mine, his = (getattr(one.attempts, name) for one in (ours, theirs))
        assert np.array_equal(mine, his), name
    assert earned == pytest.approx(-slowdowns(theirs, shifted) / n)


@EXAMPLES
@given(hst.data(), hst.integers(1, 9), hst.sampled_from([None, {1000: 1.0, 0: 0.1}]))
def test_any_agent_ends_every_job(data, step, speeds):
    """Masks leave no way into a run in which nothing ever happens, also where it may suspend."""
    n = data.draw(hst.integers(1, 6))
    jobs = st.Workload.build(
        submit=np.arange(n) * 3, run=np.full(n, 9), procs=np.arange(n) % 4 + 1,
        extra={"serial": np.zeros(n)},
    )  # fmt: skip
    known: Any = {"window": n, "slots": 4, "sizes": 2, "speeds": speeds}
    made = Episodes(jobs, st.Cluster.pool(4), mode="resize", **known)
    asked = iter(range(10**6))
    played(made, lambda possible: possible[step * next(asked) % len(possible)])
    schedule = session_of(made).schedule()
    assert check(schedule, jobs, st.Cluster.pool(4)).first_violation is None


@pytest.mark.parametrize(
    ("made", "speeds", "message"),
    [
        ({}, {}, "must give thousandths of full speed"),
        ({}, {0: 1.0}, "must give thousandths of full speed"),
        ({"min_procs": np.array([1, 2])}, None, "job 2 .* which its min_procs does not permit"),
    ],
)
def test_what_a_session_refuses_makes_no_environment(made, speeds, message):
    """Not at a reset, of which it may be a late one that draws the window."""
    jobs = st.Workload.build(submit=[0, 1], run=[9, 9], procs=[1, 1], extra=made)
    with pytest.raises(ShadowtimeError, match=message):
        Episodes(jobs, st.Cluster.pool(4), mode="resize", window=1, speeds=speeds)


SITE = Site(nodes=(Node(name="a", amounts=(4,)), Node(name="b", amounts=(2,))))
JOBS = st.Workload.build(job_id=[11, 12, 13], submit=[0, 0, 2], run=[9, 5, 4], procs=[4, 6, 2])


def test_a_session_on_a_site_plans_nodes():
    """A plan holds its nodes until the session advances; impossible starts are refused."""
    session = st.session(JOBS, SITE)
    assert isinstance(session, SiteSession) and session.ids.tolist() == [11, 12]
    assert [job.fits for job in session.observe().waiting] == [True, True]
    assert session.plan(1) == 0 and not session.fits(0), "all nodes are planned for job 12"
    with pytest.raises(UsageError, match="job 11 cannot start at 0: no nodes are free"):
        session.start(0)
    with pytest.raises(UsageError, match="job 12 is planned at this pass"):
        session.start(1)
    with pytest.raises(UsageError, match="no job 2 in a queue of 2 at 0"):
        session.start(2)
    with pytest.raises(UsageError, match="call advance"):
        session.schedule()
    assert session.advance() and session.now == 2, "nothing was started"
    session.start(1)
    while session.advance():
        for place in range(len(session.ids)):
            if session.fits(place):
                session.start(place)
    made = session.schedule()
    assert made.start.tolist() == [7, 2, 7] and made.promised.tolist() == [-1, 0, -1]


def test_nothing_starts_once_a_site_is_over():
    """Jobs that never started are in no queue any more."""
    session = st.session(JOBS, SITE)
    while session.advance():
        pass
    assert len(session.ids) == len(session.able()) == 0
    with pytest.raises(UsageError, match="no job 0 in a queue of 0 at 2"):
        session.start(0)
    assert session.schedule().start.tolist() == [-1, -1, -1]


def test_to_know_of_one_job_one_is_asked_about(monkeypatch):
    """A pass over a queue that waits asks about each job once, not about all for each."""
    asked = []
    ask = steps.fits_now
    monkeypatch.setattr(
        steps, "fits_now", lambda *given: asked.append(len(given[2])) or ask(*given)
    )
    session = st.session(JOBS, SITE)
    assert [session.fits(place) for place in range(2)] == [True, True] and asked == [1, 1]
    assert session.able().tolist() == [1, 1] and asked == [1, 1, 2]
    session.start(1)
    assert (session.able_at(0), session.able_at(1)) == (0, -1)


def test_a_session_of_sizes_says_what_is_wrong():
    """A size beyond its bounds, an unknown speed, and more processors than there are."""
    jobs = JOBS.replace(extra={"min_procs": np.array([2, 2, 2]), "max_procs": np.array([6, 6, 6])})
    session = st.session(jobs, "pool:6", speeds=SPEEDS)
    assert isinstance(session, ChangingSession) and session.ids.tolist() == [11, 12]
    with pytest.raises(UsageError, match="job 11 cannot have 1 processors: it may have 2 to 6"):
        session.resize(0, 1)
    with pytest.raises(UsageError, match=r"the speed 5: declared are \[1000, 700\]"):
        session.resize(0, 2, 5)
    session.resize(0, 4)
    session.resize(1, 4, 700)
    with pytest.raises(
        UsageError, match="sizes together are 8 processors at 0, and the pool has 6"
    ):
        session.advance()
    session.resize(1, 2)
    while session.advance():
        for place, size in enumerate(session.sizes.tolist()):
            if not size and session.sizes.sum() <= 4:
                session.resize(place, 2)
    assert session.schedule().start.tolist() == [0, 0, 9]
