"""No answer of Slurm is believed unseen: asked for again, replaced by the last good one."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import pytest

from live.fakes import NODES, FakeClock, FakeSlurm, node_line, queue_line, running_line
from live.test_slurm_site import SHOWN_NODES, FakeSite
from live.test_slurm_site import a_loop as a_site_loop
from shadowtime.live.heartbeat import Heartbeat
from shadowtime.live.ineligible import Case
from shadowtime.live.metrics import Metrics
from shadowtime.live.port import PortError, Trust, trust_in
from shadowtime.live.runner import Commands, Done, TimedOut
from shadowtime.live.slurm import drive
from shadowtime.live.slurm.answers import Answers
from shadowtime.live.slurm.sending import Sender
from shadowtime.live.store import InMemory
from shadowtime.policy import parse_policy

TWO = running_line("1", "n1", 16) + queue_line("2")


def answering(*queues: str) -> tuple[Answers, FakeSlurm]:
    """squeue answers in turn, and then always the last."""
    fake, left = FakeSlurm("", NODES), list(queues)

    def before(name: str) -> Done | None:
        if name == "squeue":
            fake.queue = left.pop(0) if len(left) > 1 else left[0]
        return None

    fake.before = before
    return Answers(fake, FakeClock()), fake


def test_an_answer_without_a_job_that_ran_is_asked_for_again() -> None:
    """Cut off between two rows it looks whole; the next one has the job."""
    answers, fake = answering(TWO, queue_line("2"), TWO)
    assert [row.id for row in answers.queue()] == ["1", "2"]
    assert [row.id for row in answers.queue()] == ["1", "2"]
    assert (answers.again, fake.calls.count("squeue")) == (1, 3)


def test_two_answers_without_a_job_are_believed() -> None:
    """It is gone: Slurm forgets ended jobs, too."""
    answers, fake = answering(TWO, queue_line("2"))
    answers.queue()
    assert [row.id for row in answers.queue()] == ["2"]
    assert fake.calls.count("squeue") == 3
    answers.queue()
    assert fake.calls.count("squeue") == 4


def test_of_an_unreadable_row_the_last_one_stands() -> None:
    """And of a job that was never read nothing is known; the others are."""
    broken = TWO.replace("RUNNING", "RUN\x1fNING") + queue_line("3", NumCPUs="many")
    answers, _ = answering(TWO, broken)
    answers.queue()
    assert {row.id: row.state for row in answers.queue()} == {"2": "PENDING", "1": "RUNNING"}
    assert set(answers.unreadable) == {"3"} and set(answers.stand_ins) == {"1"}


def test_a_node_that_cannot_be_read_stands_as_it_was() -> None:
    """The other nodes are read; in status and metrics it counts."""
    fake = FakeSlurm(queue_line("7"), NODES)
    port = drive.make_port(drive.Where(), run=fake, clock=FakeClock())
    loop = drive.make_loop(port, parse_policy("easy"), InMemory())
    loop.step()
    fake.nodes = NODES.replace(node_line("n2"), node_line("n2").replace("0/16/0/16", "0/1"))
    step = loop.step()
    assert [host.name for host in step.state.cluster.hosts] == ["n1", "n3", "n4", "n2"]
    assert trust_in(port) == Trust(asked_again=1, unreadable=1)
    metrics = Metrics({})
    metrics.note(step, port.ineligible, port.trust)
    assert "shadowtime_live_unreadable_rows 1\n" in metrics.text()
    assert "shadowtime_live_asked_again_total 1\n" in metrics.text()


def test_a_job_that_cannot_be_read_is_set_aside_with_the_reason() -> None:
    """The others start."""
    fake = FakeSlurm(queue_line("7") + queue_line("8", TimeLimit="soon"), NODES)
    port = drive.make_port(drive.Where(), run=fake, clock=FakeClock())
    loop = drive.make_loop(port, parse_policy("easy"), InMemory(), act=True)
    loop.step()
    assert any(line.startswith("update JobId=7 ReqNodeList=n1") for line in fake.sent)
    assert port.ineligible["8"].case is Case.NOT_UNDERSTOOD


def test_a_request_that_is_none_is_slurms_to_start_and_gets_into_no_command() -> None:
    """Since 24.11 any text may be TRES per task; scontrol would carry out its second line."""
    text = "x\nupdate JobId=1 Priority=0"
    fake = FakeSlurm(queue_line("7", **{"tres-per-task": text}) + queue_line("8"), NODES)
    port = drive.make_port(drive.Where(), run=fake, clock=FakeClock())
    loop = drive.make_loop(port, parse_policy("lessc"), InMemory(), act=True)
    loop.step()
    assert "update JobId=7 Priority=1" in fake.sent  # handed over
    assert not any("JobId=1 " in line for line in fake.sent)


def test_a_cut_off_answer_about_nodes_is_not_kept() -> None:
    """The last site stands with its age; the next poll asks again."""
    fake = FakeSite(queue_line("7", Partition="cpu"))
    loop = a_site_loop(fake)
    port, said = loop.port, []
    loop.tell = said.append
    loop.step()
    site, whole = port.sorted.state.site, SHOWN_NODES
    answers = {"node": whole[: len(whole) // 2]}
    real = fake.__call__

    def cut(argv: object, *, text: str = "") -> Done:
        if argv[0] == "scontrol" and argv[-1] in answers:
            return Done(0, answers[argv[-1]], "")
        return real(argv, text=text)

    port.run = port.answers.run = cut
    fake.nodes = fake.nodes.replace("n1\x1fidle", "n1\x1fidle+drain").replace("4000", "4000", 1)
    port._look._nodes = None  # as if a node had changed
    port.clock.time += 20
    assert loop.step().state.site is site
    assert port.trust.stale == {"site": 20.0}
    assert any("the site as last read stands" in line for line in said)
    answers["node"] = whole
    loop.step()
    assert port.trust.stale == {} and "the site can be read again" in said


def test_a_command_that_hung_is_given_more_time() -> None:
    """Slow, not away: the next try is three times as patient."""
    run = Commands(timeout=0.2)
    clock = FakeClock()
    answers = Answers(run, clock)
    slow = ("sh", "-c", "sleep 0.4; echo late")
    try:
        answers.text(slow)
    except TimedOut:
        pass
    else:
        raise AssertionError("it should have taken too long")
    assert answers.text(slow) == "late\n"


def test_the_watchdog_hears_only_of_polls_that_were_understood() -> None:
    """A loop that polls and understands nothing is restarted."""
    told: list[str] = []
    beat = Heartbeat(path=None, clock=FakeClock(), notify=told.append)
    fake = FakeSlurm("garbage\n", NODES)
    port = drive.make_port(drive.Where(), run=fake, clock=FakeClock())
    loop = drive.make_loop(port, parse_policy("easy"), InMemory(), beat=beat)
    loop.run(stopped=lambda: len(told) == 3)
    assert not any("WATCHDOG" in one for one in told)
    fake.queue = queue_line("7")
    loop.run(stopped=lambda: len(told) == 4)
    assert told[-1].startswith("WATCHDOG=1\n")


def test_of_several_partitions_those_that_are_there_are_served() -> None:
    """Also after a restart; the missing one is reported once, and so is its return."""
    fake = FakeSite(queue_line("7", Partition="cpu"))
    loop = a_site_loop(fake, partition="cpu,gone")
    said: list[str] = []
    loop.tell = said.append
    loop.step()
    loop.step()
    assert any(line.startswith("update JobId=7 ReqNodeList=") for line in fake.sent)
    assert [line for line in said if "gone" in line] == [
        "Slurm has no partition gone with nodes: it is not served until it has"
    ]
    fake.nodes += fake.nodes.split("\n")[0].replace("cpu*", "gone").replace("cpu", "gone") + "\n"
    with contextlib.suppress(PortError):
        loop.port.snapshot()
    assert "partition gone is back" in said


def test_a_slow_session_is_given_more_time_the_next_time() -> None:
    """scontrol that takes longer than a refusal would be cut off for ever otherwise."""
    sender, allowed = Sender(), []

    class Slow(Commands):
        def __call__(self, argv: Sequence[str], *, text: str = "") -> Done:
            allowed.append(self.timeout)
            if self.timeout < 25:
                raise TimedOut("scontrol did not answer")
            return Done(0, "", "")

        def allowing(self, seconds: float) -> Slow:
            return Slow(timeout=seconds)

    lines = [["update JobId=7 StartTime=now"]]
    with pytest.raises(TimedOut):
        sender.send(Slow(timeout=20), lines, 0.0)
    assert sender.send(Slow(timeout=20), lines, 0.0) == []
    assert allowed == [5.55, 60.0]


def test_a_loop_that_starts_waits_for_slow_commands() -> None:
    """It does not end: a slow slurmctld is there."""
    fake, clock, said = FakeSlurm("", NODES), FakeClock(), []
    hung = iter([True, True])

    def before(name: str) -> Done | None:
        if next(hung, False):
            raise TimedOut("scontrol did not answer within 20 seconds")
        return None

    fake.before = before
    assert drive.wait_for_port(drive.Where(), run=fake, clock=clock, tell=said.append).name
    assert len(said) == 1 and "waiting for slurm" in said[0]
