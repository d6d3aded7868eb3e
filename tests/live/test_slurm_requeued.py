"""When a requeued job may start again: not in the second of its kill, and not in Slurm's delay."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from live.fakes import NODES, FakeClock, FakeSlurm, queue_line
from live.test_loop import a_loop, obedient
from live.test_slurm_real import lasting_until, loop_over
from shadowtime.live.slurm.gate import begin_words
from shadowtime.testing.slurm import SlurmCluster, wait_for


def sent_at(fake: FakeSlurm, clock: FakeClock) -> list[float]:
    """When each start is sent."""
    found: list[float] = []
    obeys = fake.on_tell

    def on_tell(line: str) -> None:
        obeys(line)
        if line.endswith("StartTime=now"):
            found.append(clock.now())

    fake.on_tell = on_tell
    return found


def test_a_requeued_job_starts_a_second_after_it_was_seen_to_wait() -> None:
    """By the number of its requeues; a job that has never run starts at once."""
    fake, clock = FakeSlurm(queue_line("7"), NODES), FakeClock()
    obedient(fake)
    released = sent_at(fake, clock)
    loop = a_loop(fake, clock)
    loop.step()
    assert released == [1000.0]
    clock.sleep(5)
    fake.queue = queue_line("7", RestartCnt=1)
    loop.step()
    assert released == [1000.0, 1006.0]


def test_one_that_has_waited_is_not_kept() -> None:
    """It was seen before, when there was no room."""
    fake, clock = FakeSlurm(queue_line("7", RestartCnt=1), ""), FakeClock()
    obedient(fake)
    released = sent_at(fake, clock)
    fake.nodes = NODES.replace("idle", "drained")
    loop = a_loop(fake, clock)
    loop.step()
    assert released == []
    clock.sleep(0.75)
    fake.nodes = NODES
    loop.step()
    assert released == [1001.0]
    assert clock.slept[-1] == 0.25


@pytest.mark.parametrize("until", [1120, 1117])
def test_a_job_that_slurm_requeued_keeps_its_delay_and_no_nodes(until: int) -> None:
    """It returns to the gate at once, and the next job gets its nodes in the same poll.

    One delay in sixty ends in the second of the minute at which leases end.
    """
    fake, clock = FakeSlurm(queue_line("7", NumCPUs=64), NODES), FakeClock()
    obedient(fake)
    loop = a_loop(fake, clock)
    loop.step()
    assert fake.sent[-1] == "update JobId=7 ReqNodeList=n1,n2,n3,n4 StartTime=now"
    clock.sleep(5)
    pinned = {"ReqNodes": "n[1-4]", "NumCPUs": 64, "RestartCnt": 1, "EligibleTime": until}
    fake.queue = queue_line("7", Reason="BeginTime", PriorityLong=99, **pinned)
    fake.queue += queue_line("8", NumCPUs=64)
    del fake.sent[:]
    gate, obeys = queue_line("7", NumCPUs=64, RestartCnt=1), fake.on_tell
    back = f"update JobId=7 {begin_words(1957)} ReqNodeList="

    def on_tell(line: str) -> None:
        if line == back:
            fake.queue = gate + queue_line("8", NumCPUs=64)
        else:
            obeys(line)

    fake.on_tell = on_tell
    step = loop.step()
    assert back in fake.sent
    assert [outcome.decision.job for outcome in step.outcomes if outcome.done] == ["8"]
    assert "Slurm does not start it before" in str(loop.port.ineligible["7"])
    clock.sleep(60)  # longer than the patience with jobs that do not start
    fake.queue = gate
    del fake.sent[:]
    assert loop.step().state.waiting == ()
    assert fake.sent == []
    clock.sleep(60)  # its time has come
    loop.step()
    assert fake.sent[-1].startswith("update JobId=7 ReqNodeList=n1,n2,n3,n4 StartTime=now")


def test_on_a_real_slurm_a_failed_node_delays_its_job_and_nobody_else(
    queue: SlurmCluster, tmp_path: Path
) -> None:
    """It waits at the gate for Slurm's two minutes; an operator may let it through earlier."""
    log, go = queue.folder / "runs-failed.log", tmp_path / "go"
    log.touch()
    log.chmod(0o666)
    script = f"echo $SLURM_JOB_ID >> {log}\n{lasting_until(go)}"
    first = queue.sbatch("--nodes=8", "--exclusive", "--time=5", script=script)
    loop = loop_over(queue, "easy", tmp_path)
    loop.run(stopped=lambda: bool(log.read_text()))
    second = queue.sbatch("--nodes=7", "--exclusive", "--time=5", script=script)
    queue.run("scontrol", "update", "NodeName=n1", "State=DOWN", "Reason=test")
    try:
        ran = [first, second]
        until = time.monotonic() + 60
        loop.run(stopped=lambda: log.read_text().split() == ran or time.monotonic() > until)
        assert log.read_text().split() == ran, "the failed job kept its nodes from the next one"
        loop.step()
        assert "Slurm does not start it before" in str(loop.port.ineligible[first])
    finally:
        queue.run("scontrol", "update", "NodeName=n1", "State=RESUME", check=False)
    shown = queue.run("scontrol", "--oneliner", "show", "job", first)
    assert "Reason=BeginTime" in shown
    assert "ReqNodeList=(null)" in shown  # it asks for what its user asked for again
    go.touch()
    wait_for(lambda: not queue.run("squeue", "-h", "-t", "R,CG").strip(), "the second job to end")
    queue.run("scontrol", "update", f"JobId={first}", "StartTime=now")
    loop.step()
    wait_for(lambda: len(log.read_text().split()) == 3, "Slurm to start it")
    assert log.read_text().split() == [first, second, first]
