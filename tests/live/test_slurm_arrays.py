"""The rest of an array whose hold Slurm has relabelled: by fakes, and once on a real Slurm."""

from __future__ import annotations

from pathlib import Path

from live.fakes import NODES, FakeClock, FakeSlurm, queue_line, running_line
from live.test_slurm_real import finish, loop_over
from shadowtime.live.port import Start, Stop
from shadowtime.live.slurm import drive
from shadowtime.live.slurm.port import SlurmPort
from shadowtime.live.slurm.relabelled import ArrayRests
from shadowtime.live.slurm.release import plan_release
from shadowtime.slurmtext.squeue import parse_queue
from shadowtime.testing.slurm import SlurmCluster, wait_for

LET = queue_line("8_1", PriorityLong=99, Reason="Resources", ReqNodes="n1")
RUNS = running_line("8_1", "n1", 4)


def rest(reason: str, *tasks: int) -> str:
    """Tasks at the gate that Slurm gives this reason."""
    return "".join(queue_line(f"8_{task}", Reason=reason) for task in tasks or (2, 3))


def port_over(queue: str) -> tuple[SlurmPort, FakeSlurm]:
    fake = FakeSlurm(queue, NODES)
    return drive.make_port(drive.Where(), run=fake, clock=FakeClock()), fake


def waiting(port: SlurmPort) -> list[str]:
    return [job.id for job in port.snapshot().waiting]


def test_the_rest_waits_whatever_slurm_calls_its_hold() -> None:
    """Also when the task runs meanwhile; then the gate's own hold is put back, in one word."""
    port, fake = port_over(LET + rest("Resources"))
    assert waiting(port) == ["8_2", "8_3"]
    port.tidy()
    assert fake.sent == []  # Slurm would relabel it again
    fake.queue = RUNS + rest("JobHeldAdmin")
    assert waiting(port) == ["8_2", "8_3"]
    port.tidy()
    assert fake.sent == ["uhold 8_[2-3]"]


def test_a_later_loop_knows_it() -> None:
    """The array is in question from before its task was let through."""
    port, _ = port_over(rest("JobHeldUser", 1, 2, 3))
    port.snapshot()
    port.prepare([Start(job="8_1", place=(("n1", 1),))])
    later, _ = port_over(RUNS + rest("JobHeldAdmin"))
    later.recall(port.memory())
    assert waiting(later) == ["8_2", "8_3"]


def test_an_operators_hold_is_obeyed() -> None:
    """Before and after, and of a whole array also in between: that marks all of its tasks."""
    port, fake = port_over(RUNS + rest("JobHeldAdmin"))
    assert waiting(port) == []
    fake.queue = LET + rest("Resources")
    assert waiting(port) == ["8_2", "8_3"]
    fake.queue = RUNS + rest("JobHeldUser")
    assert waiting(port) == ["8_2", "8_3"]
    fake.queue = RUNS + rest("JobHeldAdmin")
    assert waiting(port) == []
    fake.queue = LET + rest("Resources")
    port.snapshot()
    fake.queue = running_line("8_1", "n1", 4, PriorityLong=0, Reason="JobHeldAdmin")
    fake.queue += rest("JobHeldAdmin")
    assert waiting(port) == []
    assert port.sorted is not None
    assert port.sorted.ineligible["8_2"] == "it is held (JobHeldAdmin)"


def test_an_operator_may_hold_a_task_that_was_let_through() -> None:
    """With its array, before it has started."""
    arrays = ArrayRests()
    arrays.let_through("8_1")
    held = parse_queue(
        queue_line("8_1", Reason="JobHeldAdmin", ReqNodes="n1") + rest("JobHeldAdmin")
    )
    arrays.look(held)
    assert not any(arrays.relabelled(row) for row in held)
    arrays.let_through("8_1")
    arrays.taken_back("8_1")  # by us: then what it is called now is Slurm's word
    arrays.look(held)
    assert all(arrays.relabelled(row) for row in held)


def test_a_queue_given_back_has_the_rest_too() -> None:
    arrays = ArrayRests(["8"])
    rows = parse_queue(rest("JobHeldAdmin"))
    arrays.look(rows)
    plan = plan_release({row.id: row for row in rows}, {}, "batch", relabelled=arrays.relabelled)
    assert plan.lines == {"8_2": ["release 8_2"], "8_3": ["release 8_3"]} and not plan.stay


def test_a_stopped_job_whose_hold_slurm_relabels_waits_all_the_same() -> None:
    """Until it has been at the gate; what holds it from then on is an operator. Later loops know.

    While slurmctld cleans up after the stopped run it calls the reason Cleaning, and with that the
    hold has lost its name.
    """
    port, fake = port_over(running_line("7", "n1", 4))
    port.stopped = lambda job: True
    port.snapshot()

    def held(why: str) -> str:
        return queue_line("7", Reason=why, RestartCnt=1, EligibleTime=1120)

    fake.on_tell = lambda line: setattr(fake, "queue", held("job requeued in held state"))
    assert port.apply([Stop(job="7")])[0].done
    fake.queue = held("JobHeldAdmin")
    later, _ = port_over(fake.queue)
    later.stopped = port.stopped
    later.recall(port.memory())
    assert waiting(port) == waiting(later) == ["7"]
    fake.queue = held("JobHeldUser")
    assert waiting(port) == ["7"]
    fake.queue = held("JobHeldAdmin")
    assert waiting(port) == []


def reasons(slurm: SlurmCluster, array: str) -> set[str]:
    """The reasons that Slurm gives for held tasks."""
    listed = slurm.run(
        "squeue", "-h", "-a", "-r", "-j", array, "-t", "PD", "-O", "PriorityLong:20,Reason"
    )
    rows = (line.split() for line in listed.splitlines())
    return {reason for priority, reason in rows if int(priority) == 0}


def test_on_a_real_slurm(queue: SlurmCluster, tmp_path: Path) -> None:
    """A task is sent where a node is not free: the rest of its array still runs later."""
    blocker = queue.sbatch("--nodelist=n1", "--exclusive", "--time=30", script="sleep 1800")
    queue.run("scontrol", "release", blocker)
    wait_for(lambda: "RUNNING" in queue.run("squeue", "-h", "-j", blocker, "-o", "%T"), "it to run")
    array = queue.sbatch("--array=1-4%2", "--time=1", script="true")
    loop = loop_over(queue, "easy", tmp_path)
    port = loop.port
    port.snapshot()
    start = [Start(job=f"{array}_1", place=(("n1", 1),))]
    port.prepare(start)
    port.apply(start)
    if queue.version is None or queue.version < (26, 5, 0):  # sched/builtin of 26.05 does not
        wait_for(lambda: "JobHeldAdmin" in reasons(queue, array), "Slurm to relabel the rest")
    queue.run("scancel", blocker)
    finish(loop)
    listed = queue.run("squeue", "-h", "-a", "-r", "-j", array, "-t", "all", "-o", "%i %T").split()
    assert sorted(listed[1::2]) == ["COMPLETED"] * 4, listed
