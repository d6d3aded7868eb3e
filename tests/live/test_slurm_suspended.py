"""Jobs that a loop has suspended: none stands still for ever, whatever happens in between."""

from __future__ import annotations

from dataclasses import replace

import pytest

from live.fakes import NODES, FakeClock, FakeSlurm, node_line, running_line
from shadowtime.cluster import Cluster, Host
from shadowtime.engine.live_pass import Memory, RunningJob, Snapshot, WaitingJob
from shadowtime.live.deciding import decide_with_hosts
from shadowtime.live.guard import guard
from shadowtime.live.port import Continue, Stop
from shadowtime.live.runner import Done
from shadowtime.live.slurm import drive
from shadowtime.live.slurm.port import SlurmPort
from shadowtime.live.slurm.release import give_back, plan_release
from shadowtime.live.slurm.touched import CLEAR, Touched, mark_words
from shadowtime.policy import parse_policy

MARK = Touched("n1", "", 3600, "OK", "N/A", CLEAR, suspended=960)
GO_ON = Continue("7", place=(("n1", 16),))


def suspended(fake: FakeSlurm, *, sized: bool = True) -> SlurmPort:
    """A port that knows a job suspended by the loop on n1."""
    fake.queue = running_line("7", "n1", 16, State="SUSPENDED")
    fake.marks["7"] = mark_words(MARK).partition("=")[2]
    port = drive.make_port(drive.Where(), run=fake, clock=FakeClock())
    port.scope = replace(port.scope, sized=sized)
    port.recall({})
    return port


def test_a_refused_continue_is_decided_again() -> None:
    """Slurm refuses while the node is in use: the job stays the loop's."""
    fake = FakeSlurm("", NODES)
    port = suspended(fake)
    assert port.snapshot().running[0].suspended
    port.prepare([GO_ON])
    (made,) = port.apply([GO_ON])
    assert not made.done and fake.sent == ["resume 7"]
    (job,) = port.snapshot().running
    assert job.suspended and job.ours and "suspended=960" in fake.marks["7"]


def test_the_mark_of_one_that_continues_is_removed() -> None:
    """An operator who suspends it later is not taken for the loop."""
    fake = FakeSlurm("", NODES)
    port = suspended(fake)
    port.snapshot()
    fake.queue = running_line("7", "n1", 16)
    port.snapshot()
    port.tidy()
    assert "suspended" not in fake.marks["7"]
    fake.queue = running_line("7", "n1", 16, State="SUSPENDED")
    (job,) = port.snapshot().running
    assert not job.suspended and not job.ours
    assert port.tidy() == []


@pytest.mark.parametrize(("sized", "node"), [(False, "alloc"), (True, "drain")])
def test_one_that_no_pass_decides_on_is_resumed(sized: bool, node: str) -> None:
    """Under a policy that changes no jobs, and on a node that is not used any more."""
    nodes = node_line("n1", node) + node_line("n2")
    fake = FakeSlurm("", nodes)
    port = suspended(fake, sized=sized)
    port.snapshot()
    assert port.tidy() == ["let 7 go on, which a loop had suspended"]
    assert fake.sent == ["resume 7"]


def test_a_refused_resume_is_tried_again() -> None:
    fake = FakeSlurm("", NODES)
    port = suspended(fake, sized=False)
    port.snapshot()
    refused = Done(0, "", "Requested nodes are busy for job 7\n")
    fake.before = lambda name: refused if name == "scontrol" else None
    port.tidy()
    fake.before = lambda name: None
    port.clock.sleep(600)
    port.snapshot()
    port.tidy()
    assert fake.sent == ["resume 7"]


TWO = Cluster(shape="nodes", hosts=(Host("n1", (4,)), Host("n2", (4,))))
HALTED = RunningJob(
    id="7", submit=0, need=(4,), request=600, start=5, place=(("n1", 4),), suspended=True,
    sizes=(1, 1),
)  # fmt: skip


def test_a_fallback_lets_it_continue_before_others_start() -> None:
    """EASY starts nobody on its processors; where they are in use it waits for them."""
    wide = WaitingJob(id="8", submit=6, need=(8,), request=60)
    narrow = WaitingJob(id="9", submit=7, need=(4,), request=40)
    state = Snapshot(now=50, cluster=TWO, running=(HALTED,), waiting=(wide, narrow))
    made = decide_with_hosts(parse_policy("easy"), state, Memory())
    assert made.decisions[0] == Continue("7", place=(("n1", 4),))
    assert [(one.job, one.place) for one in made.decisions[1:]] == [("9", (("n2", 4),))]
    above = RunningJob(id="5", submit=0, need=(4,), request=90, start=9, place=(("n1", 4),))
    crowded = state.replace(running=(HALTED, above))
    made = decide_with_hosts(parse_policy("easy"), crowded, Memory())
    assert [one.job for one in made.decisions] == ["9"]


def test_a_suspended_job_may_be_requeued() -> None:
    """Size 0 of a suspended job: the guard lets it, and so does the port."""
    state = Snapshot(now=50, cluster=TWO, running=(HALTED,))
    assert guard([Stop("7")], state, state).allowed == (Stop("7"),)
    fake = FakeSlurm("", NODES)
    port = suspended(fake)
    port.snapshot()
    port.prepare([Stop("7")])
    port.apply([Stop("7")])
    assert any("requeue" in line and "7" in line for line in fake.sent)
    assert "suspended" not in fake.marks["7"]


@pytest.mark.parametrize("resumed", [True, False])
def test_release_lets_it_continue(resumed: bool) -> None:
    """Its mark goes only once it runs: without one it would be an operator's."""
    fake = FakeSlurm("", NODES)
    port = suspended(fake)
    plan = plan_release(port.look(), port.touched, "batch", now=1000)
    assert plan.resume == ("7",) and "resume 7" in plan.words()

    def resume(line: str) -> None:
        if line == "resume 7" and resumed:
            fake.queue = running_line("7", "n1", 16)

    fake.on_tell = resume
    found = give_back(port, plan)
    assert (found.done == ("7",)) is resumed and ("7" in found.held) is not resumed
    assert ("suspended" in fake.marks["7"]) is not resumed
