"""The loop against a scheduler that misbehaves: nothing lost, nothing twice, no crash."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from live.fakes import NODES, FakeClock, FakeSlurm, queue_line, running_line
from shadowtime.cluster import Cluster, Host
from shadowtime.engine.live_pass import Memory, Note
from shadowtime.errors import ClusterError, UsageError
from shadowtime.live.guard import IN_VAIN, guard
from shadowtime.live.loop import Loop
from shadowtime.live.port import PortError, RunningJob, Snapshot, Start, Stop, WaitingJob
from shadowtime.live.record import read_passes
from shadowtime.live.reports import described
from shadowtime.live.runner import Done, TimedOut
from shadowtime.live.slurm import drive
from shadowtime.live.slurm.answers import TRIES
from shadowtime.live.slurm.gate import begin_words
from shadowtime.live.store import InMemory, LoopState, StateFile
from shadowtime.policy import parse_policy


def a_loop(fake: FakeSlurm, clock: FakeClock, store: object = None, **more: object) -> Loop:
    port = drive.make_port(drive.Where(), run=fake, clock=clock)
    return drive.make_loop(
        port, parse_policy("easy"), store or InMemory(), **({"act": True} | more)
    )


def obedient(fake: FakeSlurm) -> None:
    """Let a start show in the queue."""

    def tell(line: str) -> None:
        if "StartTime=now" in line:
            job = line.split()[1].removeprefix("JobId=")
            lines = fake.queue.splitlines(keepends=True)
            fake.queue = "".join(
                running_line(job, "n1", 4) if row.startswith(f"{job}\x1f") else row for row in lines
            )

    fake.on_tell = tell


def test_a_start_is_a_node_list_and_the_end_of_a_lease() -> None:
    """What was done is counted, and forgotten once it is seen."""
    fake, clock = FakeSlurm(queue_line("7"), NODES), FakeClock()
    obedient(fake)
    loop = a_loop(fake, clock)
    step = loop.step()
    assert fake.sent == ["update JobId=7 ReqNodeList=n1 StartTime=now"]
    assert [outcome.done for outcome in step.outcomes] == [True]
    assert set(loop.kept.intents) == {"7"}
    loop.step()
    assert (loop.kept.intents, loop.kept.counters) == ({}, {"started": 1})
    assert len(fake.sent) == 1


def test_a_slurm_that_shows_no_partition_yet_is_waited_for() -> None:
    """slurmctld answers before it has read its partitions: reported once, and queried again."""
    fake, clock, reported = FakeSlurm("", NODES), FakeClock(), []
    empty = [True, True, True]

    def slow_to_come_up(argv, *, text=""):
        if "partition" in argv and empty:
            empty.pop()
            return Done(0, "No partitions in the system\n", "")
        return fake(argv, text=text)

    port = drive.wait_for_port(
        drive.Where(), tell=reported.append, run=slow_to_come_up, clock=clock
    )
    assert port.scope.partition == "batch"
    assert (len(reported), clock.slept) == (1, [0.5, 1.0, 2.0])
    assert "no partition yet" in reported[0]
    empty.append(True)
    with pytest.raises(PortError, match="no partition yet"):  # the run is over
        drive.wait_for_port(
            drive.Where(),
            tell=reported.append,
            run=slow_to_come_up,
            clock=clock,
            stopped=lambda: True,
        )


def test_a_loop_that_acts_waits_for_a_slurmctld_that_is_away() -> None:
    """Restarted while slurmctld is down, it must not end; a user who looks once is told."""
    fake, clock, reported = FakeSlurm("", NODES), FakeClock(), []
    away = [True, True]

    def answer(argv, *, text=""):
        if "config" in argv and away:
            away.pop()
            why = "Unable to contact slurm controller (connect failure)"
            return Done(1, "", f"slurm_load_ctl_conf error: {why}")
        return fake(argv, text=text)

    with pytest.raises(PortError, match="is slurmctld running"):
        drive.wait_for_port(drive.Where(), tell=reported.append, run=answer, clock=clock)
    port = drive.wait_for_port(
        drive.Where(), patient=True, tell=reported.append, run=answer, clock=clock
    )
    assert (port.scope.partition, clock.slept, len(reported)) == ("batch", [0.5], 1)


def test_a_loop_does_not_wait_for_a_configuration() -> None:
    """Where no configuration can be read, nothing will come back."""

    def answer(argv, *, text=""):
        return Done(1, "", "error: s_p_parse_file: cannot stat file /x\nfatal: Unable to process")

    with pytest.raises(PortError, match="does SLURM_CONF name"):
        drive.wait_for_port(drive.Where(), patient=True, tell=print, run=answer, clock=FakeClock())


def test_partitions_without_a_default_one_are_a_mistake_in_the_setup() -> None:
    """Waiting would not help: the user must name one."""
    fake = FakeSlurm("", NODES)

    def answer(argv, *, text=""):
        return Done(0, "PartitionName=a Nodes=n1\n", "") if "partition" in argv else fake(argv)

    with pytest.raises(UsageError, match="--partition"):
        drive.wait_for_port(drive.Where(), tell=print, run=answer, clock=FakeClock())


def test_shadow_mode_reports_what_it_would_do_once() -> None:
    """And sends scontrol nothing."""
    fake, reported = FakeSlurm(queue_line("7"), NODES), []
    loop = a_loop(fake, FakeClock(), act=False, tell=reported.append)
    for _ in range(3):
        loop.step()
    assert reported == ["would start 7 on n1:4 (head)"]
    assert fake.sent == []


def test_a_start_that_slurm_ignores_is_tried_again() -> None:
    """The scheduler's state is the truth, whatever the command printed."""
    fake, clock = FakeSlurm(queue_line("7"), NODES), FakeClock()
    loop = a_loop(fake, clock)
    assert not loop.step().outcomes[0].done
    clock.sleep(1)
    obedient(fake)
    assert loop.step().outcomes[0].done
    assert loop.kept.counters == {"refused_by_the_scheduler": 1, "started": 1}


def test_the_same_refusal_again_is_no_news() -> None:
    """Nothing has changed: it is retried at growing intervals."""
    fake, clock = FakeSlurm(queue_line("7"), NODES), FakeClock()
    loop = a_loop(fake, clock)
    loop.run(stopped=lambda: len(clock.slept) == 60)
    assert (clock.slept[0], clock.slept[1] > 0.25, clock.slept[-1] > 0.5) == (0.25, True, True)
    fake.queue += queue_line("8")
    clock.slept.clear()
    loop.run(stopped=lambda: len(clock.slept) == 1)
    assert clock.slept == [0.25]


@pytest.mark.parametrize(
    "answer",
    [
        TimedOut("squeue did not answer within 20 seconds"),
        Done(1, "", "slurm_load_jobs error: Unable to contact slurm controller"),
        Done(0, "\x00garbage\nmore", ""),
        Done(0, "1\x1fRUN", ""),
    ],
    ids=["hangs", "refused", "garbage", "half a line"],
)
def test_errors_are_waited_out(answer: Done | PortError) -> None:
    """The pause doubles, nothing is forgotten, and work continues afterwards."""
    fake, clock, reported = FakeSlurm(queue_line("7"), NODES), FakeClock(), []
    obedient(fake)
    loop = a_loop(fake, clock, tell=reported.append)
    failures = 4 * (1 if isinstance(answer, TimedOut) else TRIES)

    def broken(name: str) -> Done | None:
        nonlocal failures
        if name != "squeue" or failures == 0:
            return None
        failures -= 1
        if isinstance(answer, PortError):
            raise answer
        return answer

    fake.before = broken
    loop.run(stopped=lambda: bool(loop.kept.counters.get("started")))
    assert clock.slept[:4] == [0.5, 1.0, 2.0, 4.0]
    assert loop.kept.counters == {"errors": 4, "started": 1}
    assert sum("waiting for slurm" in line for line in reported) == 4


def test_a_state_no_pass_can_be_made_of_is_waited_out_but_not_at_first() -> None:
    """A node that was resumed and differs from the others ends no loop that runs."""
    fake, clock, reported = FakeSlurm(queue_line("7"), NODES), FakeClock(), []
    obedient(fake)
    loop = a_loop(fake, clock, tell=reported.append)
    snapshot, looks = loop.port.snapshot, 0

    def look() -> Snapshot:
        nonlocal looks
        looks += 1
        if 4 <= looks < 7:
            raise ClusterError("n9 has other processors")
        return snapshot()

    loop.port.snapshot = look
    loop.run(stopped=lambda: looks > 7)
    assert loop.kept.counters == {"errors": 3, "started": 1}
    assert sum("n9 has other processors" in line for line in reported) == 3
    looks = 3
    with pytest.raises(ClusterError):
        loop.run()


def test_the_controller_dies_between_decision_and_act(tmp_path: Path) -> None:
    """The intent is on disk; the next loop sees what became of it and starts no job twice."""
    fake, clock = FakeSlurm(queue_line("7"), NODES), FakeClock()
    path = tmp_path / "state.json"
    loop = a_loop(fake, clock, StateFile(path))

    def die(line: str) -> None:
        raise PortError("the controller died")

    fake.on_tell = die
    with pytest.raises(PortError):
        loop.step()
    assert set(StateFile(path).load().intents) == {"7"}
    fake.on_tell = lambda line: None
    fake.queue = running_line("7", "n1", 4)
    again = a_loop(fake, clock, StateFile(path))
    again.step()
    assert again.kept.intents == {}
    assert fake.sent == ["update JobId=7 ReqNodeList=n1 StartTime=now"]


def test_a_job_let_through_in_vain_is_taken_back() -> None:
    """After half a minute it returns to the gate, on any hosts."""
    fake, clock = FakeSlurm(queue_line("7"), NODES), FakeClock()
    loop = a_loop(fake, clock)
    loop.step()
    fake.queue = queue_line("7", EligibleTime=1000, ReqNodes="n1", Reason="ReqNodeNotAvail")
    loop.step()
    clock.sleep(31)
    loop.step()
    assert fake.sent[-1] == f"update JobId=7 {begin_words(1957)} ReqNodeList="


def test_a_start_waits_for_a_node_that_cleans_up() -> None:
    """Such a node is counted on for a few seconds: the start is not taken back for it."""
    fake, clock = FakeSlurm(queue_line("7"), NODES), FakeClock()
    loop = a_loop(fake, clock)
    loop.step()
    let = queue_line("7", EligibleTime=1000, ReqNodes="n1", Reason="Resources")
    fake.queue = let + running_line("6", "n1", 4, State="COMPLETING", EndTime=1000)
    for _ in range(2):
        loop.step()
        clock.sleep(6)
    assert len(fake.sent) == 1
    clock.sleep(6)  # then it counts as occupied
    loop.step()
    assert fake.sent[-1] == f"update JobId=7 {begin_words(1957)} ReqNodeList="


TWO = Cluster(shape="nodes", hosts=(Host("n1", (4,)), Host("n2", (4,))))
JOB = WaitingJob(id="1", submit=0, need=(4,), request=60)
BUSY = RunningJob(id="2", submit=0, need=(4,), request=60, start=1, place=(("n1", 4),))
HERE = Start(job="1", place=(("n1", 4),))


@pytest.mark.parametrize(
    ("fresh", "why"),
    [
        (Snapshot(now=9, cluster=TWO), "no longer waits"),
        (
            Snapshot(
                now=9,
                cluster=TWO,
                waiting=(WaitingJob(id="1", submit=0, need=(2,), request=60),),
            ),
            "changed",
        ),
        (Snapshot(now=9, cluster=TWO, waiting=(JOB,), running=(BUSY,)), "no longer has room"),
        (Snapshot(now=9, cluster=Cluster(shape="nodes", hosts=TWO.hosts[1:]), waiting=(JOB,)),
         "cannot be used"),
    ],
    ids=["gone", "changed", "taken", "drained"],
)  # fmt: skip
def test_the_guard_refuses_what_has_changed(fresh: Snapshot, why: str) -> None:
    """Cancelled, modified, overtaken or drained between decision and act."""
    seen = Snapshot(now=8, cluster=TWO, waiting=(JOB,))
    found = guard([HERE], seen, fresh)
    assert found.allowed == ()
    assert why in found.refused[0].why


def test_the_guard_lets_no_node_be_taken_twice() -> None:
    """Two starts on one node's last processors: the second waits."""
    other = WaitingJob(id="3", submit=0, need=(4,), request=60)
    seen = Snapshot(now=8, cluster=TWO, waiting=(JOB, other))
    found = guard([HERE, Start(job="3", place=(("n1", 4),))], seen, seen)
    assert [d.job for d in found.allowed] == ["1"]


def test_the_guard_counts_what_a_stopped_job_gives_up() -> None:
    """A preempting start fits on its victim's nodes, unless the victim may not be stopped."""
    seen = Snapshot(now=8, cluster=TWO, waiting=(JOB,), running=(BUSY,))
    assert len(guard([Stop(job="2"), HERE], seen, seen).allowed) == 2
    foreign = replace(BUSY, ours=False)
    left = seen.replace(running=(foreign,))
    assert guard([Stop(job="2"), HERE], seen, left).allowed == ()


def test_a_suspended_job_is_never_preempted() -> None:
    """A job over its time is stopped for the head; a suspended one is not."""
    halted = running_line("3", "n[1-4]", 64, State="SUSPENDED", TimeLimit="0:30", SubmitTime=940)
    fake, clock = FakeSlurm(queue_line("2", NumCPUs=64) + halted, NODES), FakeClock(1100.0)
    port = drive.make_port(drive.Where(), run=fake, clock=clock)
    memory = Memory(now=1000, jobs={"3": Note(since=940, kills=1), "2": Note(since=900)})
    policy = parse_policy("pv-easy")
    store = InMemory(LoopState(policy=described(policy), memory=memory))
    loop = drive.make_loop(port, policy, store, act=True)
    assert (loop.step().decisions, loop.step().decided) == ((), None)
    assert loop.kept.memory.jobs["3"].kills == 1
    fake.queue = fake.queue.replace("SUSPENDED", "RUNNING")
    assert [decision.job for decision in loop.step().decisions] == ["3", "2"]


def test_the_guard_stops_no_job_in_vain() -> None:
    """One of two victims has just been released: the other keeps running, and the start waits."""
    wide = WaitingJob(id="1", submit=0, need=(8,), request=60)
    beside = RunningJob(id="3", submit=0, need=(4,), request=60, start=1, place=(("n2", 4),))
    young = replace(BUSY, settled=False)
    seen = Snapshot(now=8, cluster=TWO, waiting=(wide,), running=(BUSY, beside))
    both = [Stop(job="2"), Stop(job="3"), Start(job="1", place=(("n1", 4), ("n2", 4)))]
    assert len(guard(both, seen, seen).allowed) == 3
    found = guard(both, seen, seen.replace(running=(young, beside)))
    assert found.allowed == ()
    assert [outcome.why for outcome in found.refused if outcome.decision.job == "3"] == [IN_VAIN]


def test_another_policy_keeps_what_was_learned_and_forgets_the_promises() -> None:
    """Promises belong to the policy that made them."""
    from shadowtime.engine.live_pass import History, Memory, Note

    memory = Memory(now=5, jobs={"7": Note(since=1, due=9)}, users={"ann": History(3, 9)})
    store = InMemory(LoopState(policy="conservative(...)", memory=memory))
    loop = a_loop(FakeSlurm("", NODES), FakeClock(), store)
    assert (dict(loop.kept.memory.jobs), dict(loop.kept.memory.users)) == ({}, memory.users)


def test_recorded_passes_are_decided_again(tmp_path: Path) -> None:
    """What was seen and remembered is enough to decide the same."""
    fake, clock = FakeSlurm(queue_line("7") + queue_line("8"), NODES), FakeClock()
    obedient(fake)
    loop = a_loop(fake, clock, record=tmp_path / "passes.jsonl")
    loop.step()
    (found,) = read_passes(tmp_path / "passes.jsonl")
    assert len(found.decisions) == 2
    assert found.decide_again(parse_policy(found.policy)) == found.decisions


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00rubbish\n"])
def test_a_malformed_recording_is_reported(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing recorded proves nothing."""
    from shadowtime.cli import run

    path = tmp_path / "passes.jsonl"
    path.write_bytes(content)
    assert run(["live", "check", str(path)]) == 2
    assert "passes.jsonl" in capsys.readouterr().err


class Jumping(FakeClock):
    """A clock that is set while the scheduler is queried, or while the loop sleeps."""

    def __init__(self) -> None:
        super().__init__()
        self.offset = 0.0

    def now(self) -> float:
        return self.time + self.offset

    def sleep(self, seconds: float) -> None:
        self.offset -= 3600
        super().sleep(seconds)


def test_a_clock_that_is_set_makes_no_long_pause() -> None:
    """Forward while the scheduler answers, back while the loop rests: once it slept for an hour."""
    fake, clock = (
        FakeSlurm(queue_line("7", PriorityLong=0, Reason="JobHeldAdmin"), NODES),
        Jumping(),
    )

    def ahead(name: str) -> None:
        clock.offset += 3600 if name == "sinfo" else 0

    fake.before = ahead
    loop, turns = a_loop(fake, clock), iter([False, False, True])
    loop.run(stopped=lambda: next(turns))
    assert max(clock.slept) <= 2.0
