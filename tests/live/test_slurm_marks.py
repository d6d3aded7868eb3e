"""A job released to named nodes carries its user's original request."""

from __future__ import annotations

from pathlib import Path

import pytest

from live.fakes import NODES, FakeClock, FakeSlurm, queue_line, running_line
from live.test_loop import a_loop
from live.test_slurm_real import finish, loop_over, runner, submit
from shadowtime.live.port import PortError, Start, Stop
from shadowtime.live.runner import Done
from shadowtime.live.slurm import drive
from shadowtime.live.slurm.gate import begin_words
from shadowtime.live.slurm.touched import (
    LONGEST,
    MARKS,
    TRIES,
    Touched,
    mark_words,
    parse_mark,
    parse_marks,
)
from shadowtime.testing.slurm import SlurmCluster, wait_for

OWN = queue_line("7", ReqNodes="n[1-2]", NumNodes=2, NumCPUs=8, NumTasks=8)


def pinned(**given: object) -> str:
    """The same job as a loop that has lost its memory finds it."""
    return queue_line("7", ReqNodes="n[3-4]", NumNodes=2, NumCPUs=8, NumTasks=8, **given)


def marked() -> FakeSlurm:
    """A Slurm in which a start of job 7, which its user ties to n1 and n2, names n3 and n4."""
    fake = FakeSlurm(OWN, NODES)
    port = drive.make_port(drive.Where(), run=fake, clock=FakeClock())
    port.snapshot()
    start = Start(job="7", place=(("n3", 4), ("n4", 4)))
    port.prepare([start])
    port.apply([start])
    assert fake.sent[0] == "update JobId=7 ReqNodeList=n3,n4 StartTime=now"
    assert fake.marks["7"].startswith("shadowtime?pin=n[3-4]&wanted=n[1-2]&")
    fake.sent.clear()
    return fake


def test_a_loop_without_memory_restores_the_users_node_list() -> None:
    """The job is back at the gate, and its user's nodes are the ones that count again."""
    fake = marked()
    fake.queue = pinned()
    loop = a_loop(fake, FakeClock(), act=True)
    step = loop.step()
    assert fake.sent[0] == "update JobId=7 ReqNodeList=n[1-2]"
    assert fake.marks["7"] == ""  # and nothing is left in it
    assert [job.only for job in step.state.waiting] == [("n1", "n2")]


def test_a_start_in_vain_is_taken_back_without_memory() -> None:
    """Slurm does not find its nodes free: no job stays there because the loop does not know it."""
    fake, clock = marked(), FakeClock()
    fake.queue = pinned(EligibleTime=1000, Reason="Resources")
    loop = a_loop(fake, clock, act=True)
    loop.step()
    assert fake.sent == []
    clock.sleep(6)
    loop.step()
    assert fake.sent[0] == f"update JobId=7 {begin_words(1957)} ReqNodeList=n[1-2]"


def test_a_state_file_older_than_the_start_does_not_count() -> None:
    """The job's mark was written with the nodes, the file was not: the disk was full."""
    fake = marked()
    fake.queue = pinned()
    port = drive.make_port(drive.Where(), run=fake, clock=FakeClock())
    port.recall({"touched": {"7": ["n2", "n4", 60, "OK", "N/A", ""]}})
    port.snapshot()
    assert port.touched["7"].wanted == "n[1-2]"


def test_a_stopped_job_says_so_to_a_loop_without_memory() -> None:
    """A requeue of ours looks like that of Slurm, which keeps a delay."""
    fake, clock = marked(), FakeClock()
    stopping = drive.make_port(drive.Where(), run=fake, clock=clock)
    fake.queue = running_line("7", "n[3-4]", 8)
    stopping.recall({})
    stopping.snapshot()
    stopping.prepare([Stop(job="7")])
    stopping.apply([Stop(job="7")])
    assert fake.sent[-1] == "requeue Incomplete 7"
    assert fake.marks["7"].endswith("&stopped=1")
    fake.sent.clear()
    fake.queue = pinned(EligibleTime=1100, RestartCnt=1)
    port = drive.make_port(drive.Where(), run=fake, clock=clock)
    port.recall({})
    assert [job.id for job in port.snapshot().waiting] == ["7"]
    fake.marks["7"] = fake.marks["7"].removesuffix("&stopped=1")
    port = drive.make_port(drive.Where(), run=fake, clock=clock)
    port.recall({})
    assert not port.snapshot().waiting  # without a stop of ours its delay is not ours to skip


def test_the_mark_of_a_stopped_job_stays_up_to_the_gate() -> None:
    """It is taken away once the job has a lease; its request is then its user's again."""
    fake = marked()
    fake.marks["7"] += "&stopped=1"
    fake.queue = pinned(EligibleTime=1100, RestartCnt=1)
    loop = a_loop(fake, FakeClock(), act=True)
    assert loop.port.snapshot().waiting
    loop.port.tidy()
    assert fake.marks["7"].endswith("&stopped=1")
    fake.queue = pinned(RestartCnt=1)
    loop.port.snapshot()
    loop.port.tidy()
    assert fake.marks["7"] == ""


@pytest.mark.parametrize(("comment", "kept"), [("billed", True), ("shadowtime?x", False)])
def test_a_comment_of_the_sites_own_stays(comment: str, kept: bool) -> None:
    """Then the state file alone remembers."""
    fake = FakeSlurm(OWN, NODES)
    shown = f"JobId=7 JobName=x ReqNodeList=n1 OverSubscribe=OK AdminComment={comment} StdErr=x"
    fake.before = lambda name: Done(0, shown, "") if name == "scontrol" else None
    port = drive.make_port(drive.Where(partition="batch"), run=fake, clock=FakeClock())
    port.snapshot()
    port.prepare([Start(job="7", place=(("n1", 4), ("n2", 4)))])
    assert (mark_words(port.touched["7"]) == "") is kept


def test_a_squeue_without_comments_is_not_polled_for_ever() -> None:
    """A loop that cannot learn them goes on after a few looks."""
    fake = FakeSlurm(OWN, NODES)
    asked = []

    def run(argv: tuple[str, ...], *, text: str = "") -> Done:
        if tuple(argv) == MARKS:
            asked.append(argv)
            return Done(0, "", "")
        return fake(argv, text=text)

    port = drive.make_port(drive.Where(), run=run, clock=FakeClock())
    port.recall({})
    for _ in range(TRIES):
        with pytest.raises(PortError, match="comments"):
            port.snapshot()
    assert [job.id for job in port.snapshot().waiting] == ["7"]
    assert len(asked) == TRIES


@pytest.mark.parametrize(
    "text",
    [
        "",
        "shadowtime?",
        "shadowtime?pin=n1",
        "shadowtime?pin=n1&limit=-1",
        "shadowtime?pin=n1&limit=60&limit=61",
        "shadowtime?pin=n1&limit=60&more=1",
        "shadowtime?pin=n[1-&limit=60",
        "shadowtime?pin=&limit=60",
        "shadowtime?pin=n1&limit=60&words=x%0Arelease+8",
        "seen by ann; pin=n1&limit=60",
    ],
)
def test_what_is_no_mark(text: str) -> None:
    """Text that is damaged, of another form, or more than arguments for scontrol."""
    assert parse_mark(text) is None


def test_a_mark_too_long_for_a_line_is_not_written() -> None:
    """Every other mark is read back unchanged."""
    base = Touched("n1", "", 60, "OK", "N/A", "AdminComment=")
    assert mark_words(base._replace(wanted="x" * LONGEST)) == ""
    for touched in (base, base._replace(partition="a,b", words="TimeLimit=1 AdminComment=")):
        assert parse_mark(mark_words(touched).partition("=")[2]) == touched
    with pytest.raises(PortError):
        parse_marks("7\x1f\x1f", ["7", "8"])


def test_a_real_slurm_keeps_the_mark_until_it_is_undone(
    queue: SlurmCluster, tmp_path: Path
) -> None:
    """A start on a drained node, then a loop without memory: the job runs on its user's nodes."""
    log = queue.folder / "runs-marks.log"
    job = submit(queue, log, 1, 1, 1)
    queue.run("scontrol", "update", f"JobId={job}", "ReqNodeList=n2")
    port = drive.make_port(drive.Where(), run=runner(queue))
    port.snapshot()
    start = Start(job=job, place=(("n1", 16),))
    queue.run("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=test")
    try:
        port.prepare([start])
        assert port.apply([start])[0].done
        finish(loop_over(queue, "easy", tmp_path))
    finally:
        queue.run("scontrol", "update", "NodeName=n1", "State=RESUME")
    assert log.read_text().split() == [job]
    shown = queue.run("scontrol", "--oneliner", "show", "job", job)
    assert " NodeList=n2 " in shown


def test_a_real_slurm_keeps_the_note_of_a_stop(queue: SlurmCluster, tmp_path: Path) -> None:
    """Stopped by a loop that then loses its memory at once: the next loop runs the job again."""
    log, go = queue.folder / "runs-stopped.log", queue.folder / "go-stopped"
    job = submit(queue, log, 1, go, 20)
    port = drive.make_port(drive.Where(), run=runner(queue))
    port.snapshot()
    start = Start(job=job, place=(("n1", 16),))
    port.prepare([start])
    assert port.apply([start])[0].done
    wait_for(lambda: log.exists() and log.read_text().split() == [job], "the job to run")
    port.snapshot()
    port.prepare([Stop(job=job)])
    assert port.apply([Stop(job=job)])[0].done
    go.touch()
    finish(loop_over(queue, "easy", tmp_path))
    assert log.read_text().split() == [job, job]
