"""A simulation driven by a caller: observe, start, advance."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import shadowtime as st
from conftest import examples
from engine.worlds import as_cluster, as_workload, simulated, worlds
from shadowtime.cluster import Cluster, Host
from shadowtime.engine.session import Session
from shadowtime.errors import PolicyError, UsageError

EXAMPLES = settings(max_examples=examples(60), deadline=None)


@EXAMPLES
@given(world=worlds(resources=2, overruns=True))
def test_easy_driven_from_outside_is_easy(world):
    """Starts, reasons and promises equal those of EASY."""
    session = Session(as_workload(world[0]), as_cluster(world[1]))
    while session.running:
        blocked = False
        for place in range(len(session.ids)):
            if session.fits(place):
                session.start(place)
            elif not blocked:
                blocked = True
                session.plan(place, session.earliest(place))
        session.advance()
    ours, theirs = session.schedule(), simulated(*world, "easy")
    assert ours.start.tolist() == theirs.start.tolist()
    assert ours.reason.tolist() == theirs.reason.tolist()


JOBS = st.Workload.build(
    job_id=[11, 12, 13], submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1], user=[7, 8, 9]
)


def test_what_is_seen_and_refused():
    """The queue is in order; an impossible start and an unfinished schedule are rejected."""
    session = st.session(JOBS, "pool:4", order="sjf")
    seen = session.observe()
    assert (seen.now, seen.jobs.user.tolist(), session.ids.tolist()) == (0, [7], [11])
    with pytest.raises(UsageError, match="call advance"):
        session.schedule()
    with pytest.raises(UsageError, match="no job 1 in a queue of 1 at 0"):
        session.start(1)
    session.start(0)
    with pytest.raises(UsageError, match="job 11 was started already"):
        session.start(0)
    assert session.advance() and session.now == 1
    with pytest.raises(UsageError, match="job 12 does not fit into what is free at 1"):
        session.start(0)
    assert session.advance() and session.ids.tolist() == [13, 12], "the shortest first"
    assert session.observe().free.level[0].tolist() == [1]
    while session.advance():
        pass
    with pytest.raises(PolicyError, match="never started job 12: nothing is left"):
        session.schedule()
    with pytest.raises(UsageError, match="run on pools and sites"):
        st.session(JOBS, Cluster(shape="hosts", hosts=(Host("a", (4,)),)))
