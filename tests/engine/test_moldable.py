"""Moldable jobs: started at a size that the policy chooses, with the run that follows from it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

import shadowtime as st
from conftest import examples
from engine.worlds import as_cluster, as_workload, worlds
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.engine.rules import rules_of
from shadowtime.errors import PolicyError, UsageError
from shadowtime.metrics import measure
from shadowtime.policy.snapshot import Start
from shadowtime.schedule.check import check
from shadowtime.workload import Workload

EXAMPLES = settings(max_examples=examples(40), deadline=None)


class Shrink:
    """In order of arrival; a job that does not fit starts on what is free."""

    name = "shrink"

    def decide(self, seen):
        free = seen.free[0]
        for job in seen.waiting:
            size = min(job.procs, free) if job.serial >= 0 else job.procs
            if not 0 < size <= free:
                return
            free -= size
            yield Start(job.id, procs=size)


def slow(jobs, capacity, serial):
    """The same by hand: one second after the other, with exact fractions."""
    share = {job.id: Fraction(number) for job, number in zip(jobs, serial, strict=True)}
    queue = sorted(jobs, key=lambda job: (job.submit, job.id))
    running: list[tuple[int, int]] = []  # (end, size)
    found, now = {}, 0
    while queue:
        running = [one for one in running if one[0] > now]
        while queue and queue[0].submit <= now:
            job, free = queue[0], capacity - sum(size for _, size in running)
            s, asked = share[job.id], job.need[0]
            size = min(asked, free) if s >= 0 else asked
            if not 0 < size <= free:
                break
            length = job.effective_run
            if size != asked:
                factor = (s + (1 - s) / size) / (s + (1 - s) / asked)
                length = min(-(-job.run * factor // 1), -(-job.limit * factor // 1))
            found[job.id] = (now, now + int(length), size)
            running.append((now + int(length), size))
            queue.pop(0)
        now += 1
    return found


@EXAMPLES
@given(world=worlds())
def test_sizes_and_runs_equal_a_walk(world):
    """Starts, ends and sizes; every schedule is proved, at any serial share and for rigid jobs."""
    jobs, capacity = world
    jobs = sorted(jobs, key=lambda job: (job.submit, job.id))
    serial = [(0.0, 0.25, 1.0, -1.0, 0.5)[job.id % 5] for job in jobs]
    workload = as_workload(jobs).replace(extra={"serial": np.array(serial)})
    cluster, policy = as_cluster(capacity), Shrink()
    made = simulate(workload, cluster, policy)
    expected = slow(jobs, capacity[0], serial)
    found = dict(
        zip(
            made.job_id.tolist(),
            zip(made.start.tolist(), made.end.tolist(), made.procs.tolist(), strict=True),
            strict=True,
        )
    )
    assert found == expected
    report = check(made, workload, cluster, rules=rules_of(policy, workload, cluster))
    assert report.ok, report.first_violation
    assert "sizes-allowed" in {proof.name for proof in report.proofs}
    assert 0 < measure(made, workload, cluster)["utilisation"] <= 1 or made.end.max() == 0


JOBS = Workload.build(
    submit=[0, 0], run=[100, 90], procs=[4, 4], extra={"serial": np.array([0.0, -1.0])}
)


def test_a_session_resizes():
    """The columns follow; the schedule is proved like any other."""
    session = st.session(JOBS, "pool:4")
    session.resize(0, 2)
    seen = session.observe()
    assert (seen.jobs.procs[0], seen.jobs.estimate[0]) == (2, 200)
    session.start(0, procs=1)
    with pytest.raises(UsageError, match="job 2 cannot have 3 processors: its 4 processors are"):
        session.start(1, procs=3)
    session.advance()
    session.start(0)
    while session.advance():
        pass
    made = session.schedule()
    assert made.procs.tolist() == [1, 4] and made.end.tolist() == [400, 490]
    assert check(made, JOBS, Cluster.pool(4)).ok


def test_false_sizes_are_found():
    """A rigid job at another size, and a moldable one whose run does not follow from its size."""
    made = simulate(JOBS, Cluster.pool(4), Shrink())
    assert check(made, JOBS, Cluster.pool(4)).ok
    rigid = check(made.replace(procs=np.array([4, 2])), JOBS, Cluster.pool(4))
    assert any(p.name == "sizes-allowed" and p.verdict == "violated" for p in rigid.proofs)
    short = check(made.replace(procs=np.array([2, 4])), JOBS, Cluster.pool(4))
    assert any(p.name == "limits-kept" and p.verdict == "violated" for p in short.proofs)


class Wide:
    """Starts jobs on more processors than there are."""

    def __init__(self, procs):
        self.procs = procs

    def decide(self, seen):
        for job in seen.waiting:
            yield Start(job.id, procs=self.procs)


def test_impossible_sizes_are_refused():
    """Sizes beyond the machine and new sizes of rigid jobs: the error names job and reason."""
    with pytest.raises(PolicyError, match="job 1 on 9 processors, but 9 processors are not betw"):
        simulate(JOBS, Cluster.pool(4), Wide(9))
    with pytest.raises(PolicyError, match="job 2 on 2 processors, but its 4 processors are fixed"):
        simulate(JOBS, Cluster.pool(4), Wide(2))
