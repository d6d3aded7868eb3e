"""If a job blocks a session of scontrol, the commands for other jobs still run."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from live.fakes import NODES, FakeClock, FakeSlurm, queue_line
from live.test_loop import a_loop
from shadowtime.live.port import PortError
from shadowtime.live.refusals import LATER, TRIES
from shadowtime.live.runner import Commands, Done, TimedOut
from shadowtime.live.slurm.sending import Sender, send

LINES = [[f"update JobId={job} ReqNodeList=n1", f"release {job}"] for job in (7, 8, 9)]
REFUSAL = f"Job update not available right now, the DB index is being set, {LATER} for job "


class Waiting:
    """scontrol that waits for job 7 until its time is up, and refuses jobs then."""

    def __init__(self, *, refused: Sequence[str] = ("7",)) -> None:
        self.refused, self.done, self.lock = refused, [], threading.Lock()

    def __call__(self, argv: Sequence[str], *, text: str = "") -> Done:
        lines = text.splitlines()
        if len(lines) > 1:
            raise TimedOut("scontrol did not answer", f"{REFUSAL}7\n" if self.refused else "")
        with self.lock:
            self.done.append(lines[0])
        job = lines[0].split("JobId=")[-1].split()[0]
        return Done(1, "", f"{REFUSAL}{job}\n" if job in self.refused else "")


def test_the_others_are_sent_again_each_by_itself() -> None:
    """A job that was refused is left, and one that is refused now is not released."""
    run = Waiting(refused=("7", "8"))
    assert send(run, LINES) == [f"{REFUSAL}7", f"{REFUSAL}8"]
    assert sorted(run.done) == ["release 9", LINES[1][0], LINES[2][0]]


def test_a_session_that_hangs_for_no_reason_is_an_error() -> None:
    """Slurm does not answer: nothing is repeated."""
    run = Waiting(refused=())
    with pytest.raises(PortError):
        send(run, LINES)
    assert run.done == []


@pytest.mark.parametrize(("message", "kept"), [(b"no job 7\n", "no job 7\n"), (None, "")])
def test_what_a_command_had_complained_about_is_kept(
    monkeypatch: pytest.MonkeyPatch, message: bytes | None, kept: str
) -> None:
    """Also when it times out."""

    def run(argv: list[str], **more: Any) -> None:
        raise subprocess.TimeoutExpired(argv, more["timeout"], stderr=message)

    monkeypatch.setattr("shadowtime.live.runner.subprocess.run", run)
    with pytest.raises(TimedOut, match="within 5 seconds") as caught:
        Commands(timeout=60).within(5)(["scontrol"])
    assert caught.value.err == kept


def test_a_job_that_takes_a_while_to_refuse_is_set_aside_at_once() -> None:
    """The next pass starts the others."""
    fake = FakeSlurm(queue_line("7"), NODES)
    refusal = Done(1, "", f"{REFUSAL}7\n")
    run = fake.__call__

    def refuse(argv: Sequence[str], *, text: str = "") -> Done:
        run(argv, text=text)
        return refusal if text.startswith("update") else run(argv)

    loop = a_loop(fake, FakeClock())
    loop.port.run = refuse
    assert TRIES > 1
    loop.step()
    assert "7" in loop.step().aside


def test_a_job_that_was_refused_keeps_no_session_waiting_again() -> None:
    """It is sent by itself from then on, until it is not refused any more."""
    run, sender = Waiting(refused=("7",)), Sender()
    sender.send(run, LINES, 10.0)
    assert sender.refused == {"7": 10.0}
    assert sender.rests("7", 39.0) and not sender.rests("7", 40.0) and not sender.rests("8", 10.0)
    sent: list[str] = []

    def quick(argv: Sequence[str], *, text: str = "") -> Done:
        sent.append(text)
        return Done(0, "", "")

    sender.send(quick, LINES, 50.0)
    together = "".join(f"{line}\n" for job in LINES[1:] for line in job)
    assert sorted(sent) == sorted([together, *(f"{line}\n" for line in LINES[0])])
    assert sender.refused == {}


def test_what_a_refused_start_would_have_changed_is_not_undone_at_once() -> None:
    """Each attempt takes five seconds, in which no other job is started; nor after a restart."""
    fake, clock = FakeSlurm(queue_line("7"), NODES), FakeClock()
    sent: list[str] = []

    def refuse(argv: Sequence[str], *, text: str = "") -> Done:
        about = text.startswith("update JobId=7 ")
        sent.extend([text] if about else [])
        return Done(1, "", f"{REFUSAL}7\n") if about else fake(argv, text=text)

    loop = a_loop(fake, clock)
    loop.port.run = refuse
    loop.step()
    assert len(sent) == 1 and "7" in loop.port.touched
    loop.step()
    again = a_loop(fake, clock)
    again.port.run = refuse
    again.port.recall(loop.port.memory())
    again.port.snapshot()
    again.port.tidy()
    assert len(sent) == 1
    clock.sleep(31)
    again.port.snapshot()
    again.port.tidy()
    assert len(sent) == 2


class Busy:
    """scontrol that refuses each change of partition for the moment, so many times."""

    def __init__(self, refusals: int) -> None:
        self.left, self.done = refusals, []

    def __call__(self, argv: Sequence[str], *, text: str = "") -> Done:
        for line in text.splitlines():
            self.done.append(line)
            if " Partition=" in line and self.left > 0:
                self.left -= 1
                return Done(1, "", "Resource temporarily unavailable for job 7\n")
        return Done(0, "", "")


@pytest.mark.parametrize(("refusals", "released"), [(0, True), (3, True), (99, False)])
def test_a_change_of_partition_is_repeated_before_the_release(
    monkeypatch: pytest.MonkeyPatch, refusals: int, released: bool
) -> None:
    """Slurm since 25.11 refuses it at random without slurmdbd; the job stays at the gate then."""
    monkeypatch.setattr("shadowtime.live.slurm.sending.BUSY_PAUSE", 0.0)
    run = Busy(refusals)
    job = ["update JobId=7 ReqNodeList=n1 Partition=b", "release 7"]
    complaints = Sender().send(run, [job], 0.0)
    assert ("release 7" in run.done) == released == (not complaints)
    assert run.done[:1] == job[:1]
