"""Which of Slurm's jobs wait, which count, which are not touched: from text, without a cluster."""

from __future__ import annotations

import pytest

from live.fakes import NODES, FakeClock, FakeSlurm, node_line, queue_line, running_line
from shadowtime.live.port import PortError
from shadowtime.live.slurm import drive
from shadowtime.live.slurm.configuration import Scope
from shadowtime.live.slurm.gate import begin_words, lease_end
from shadowtime.live.slurm.port import SlurmPort
from shadowtime.live.slurm.remembered import Remembered
from shadowtime.live.slurm.state import sort_jobs
from shadowtime.live.slurm.touched import Touched
from shadowtime.live.store import InMemory
from shadowtime.policy import parse_policy
from shadowtime.slurmtext.show_job import Detail
from shadowtime.slurmtext.squeue import Window, parse_nodes, parse_queue


def look(queue: str, nodes: str = NODES, **more: object):
    return sort_jobs(
        parse_queue(queue), parse_nodes(nodes), scope=Scope(partition="batch"), now=1000, **more
    )


def test_a_job_at_the_gate_waits() -> None:
    """With its size, request, user and submission."""
    (job,) = look(queue_line("7", NumCPUs=20)).state.waiting
    assert (job.id, job.need, job.request, job.user, job.submit) == ("7", (20,), 3600, "ann", 900)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"Reason": "JobHeldAdmin", "PriorityLong": 0}, "held"),
        ({"EligibleTime": 4000000000}, "time has not come"),
        ({"Dependency": "afterok:3(unfulfilled)"}, "depends"),
        ({"Reservation": "maint"}, "reservation"),
        ({"EligibleTime": 950}, "past the gate"),
        ({"Reason": "job requeued in held state", "PriorityLong": 0}, "held"),
    ],
)
def test_what_is_left_alone(given: dict[str, object], why: str) -> None:
    """Held by its user or an operator, not eligible, reserved, or not at the gate."""
    found = look(queue_line("7", **given))
    assert found.state.waiting == ()
    assert why in str(found.ineligible["7"])


def test_a_hold_is_never_the_gates() -> None:
    """Whoever holds a job, before there was a gate or since: the loop does not start it."""
    for reason in ("JobHeldUser", "JobHeldAdmin", "job requeued in held state"):
        found = look(queue_line("7", PriorityLong=0, Reason=reason), stopped=lambda job: True)
        assert (found.state.waiting, found.slipped) == ((), ())


def test_a_job_at_the_gate_that_slurm_calls_impossible_waits() -> None:
    """It was never let through, so that is no verdict; of one that was let through it is."""
    bad = {"PriorityLong": 0, "Reason": "BadConstraints"}
    found = look(queue_line("7", **bad))
    assert ([job.id for job in found.state.waiting], found.mislabelled) == (["7"], ("7",))
    found = look(queue_line("7", **bad, EligibleTime=950))
    assert (found.state.waiting, found.mislabelled) == ((), ())
    assert "cannot run it anywhere" in str(found.ineligible["7"])


def test_a_begin_time_of_a_user_is_not_a_lease() -> None:
    """Until it is near: then a lease replaces it, and the job waits when it is reached."""
    found = look(queue_line("7", EligibleTime=1500))
    assert (found.state.waiting, found.delayed) == ((), ())
    found = look(queue_line("7", EligibleTime=1015))
    assert (found.state.waiting, found.delayed) == ((), ("7",))
    fake, clock = FakeSlurm(queue_line("7", EligibleTime=1015), NODES), FakeClock()
    port = drive.make_port(drive.Where(), run=fake, clock=clock)
    port.snapshot()
    port.tidy()
    assert fake.sent == [f"update JobId=7 {begin_words(1957)}"]
    fake.queue = queue_line("7", EligibleTime=1957)
    assert port.snapshot().waiting == ()
    clock.sleep(15)
    assert [(job.id, job.submit) for job in port.snapshot().waiting] == [("7", 1015)]
    later = drive.make_port(drive.Where(), run=fake, clock=FakeClock())
    later.recall(port.memory())
    assert later.snapshot().waiting == ()  # a restarted loop knows, too


def test_a_lease_that_has_ended_is_taken_up_again() -> None:
    """The loop was away; tasks of an array are brought back together."""
    queue = queue_line("7", EligibleTime=937) + queue_line("8_1", EligibleTime=937)
    fake = FakeSlurm(queue + queue_line("8_2", EligibleTime=937), NODES)
    port = drive.make_port(drive.Where(), run=fake, clock=FakeClock())
    assert port.snapshot().waiting == ()
    assert "past the gate" in str(port.ineligible["7"])
    port.tidy()
    begin = begin_words(1957)
    assert fake.sent == [f"update JobId=7 {begin}", f"update JobId=8_[1-2] {begin}"]


def test_a_lease_that_an_operator_ends_is_slurms() -> None:
    """It had not ended by itself: the loop does not bring the job back, nor does the next one."""
    fake, clock = FakeSlurm(queue_line("7"), NODES), FakeClock()
    port = drive.make_port(drive.Where(), run=fake, clock=clock)
    assert port.snapshot().waiting
    clock.sleep(5)
    fake.queue = queue_line("7", EligibleTime=1004, Reason="Resources")
    for one in (port, drive.make_port(drive.Where(), run=fake, clock=clock)):
        one.recall(port.memory())
        assert one.snapshot().waiting == ()
        one.tidy()
        assert (fake.sent, str(one.ineligible["7"])) == ([], "Slurm schedules it")


def test_leases_are_renewed_in_time_and_an_array_at_once() -> None:
    """When a third has passed, whether or not the job may start, and however long it is held."""
    rows = (("7", {}), ("8_1", {}), ("8_2", {}), ("9", {"Dependency": "afterok:3(unfulfilled)"}))
    queue = "".join(queue_line(job, EligibleTime=1957, **more) for job, more in rows)
    queue += queue_line("10", EligibleTime=937, PriorityLong=0, Reason="JobHeldUser")
    queue += queue_line("11", EligibleTime=900, PriorityLong=0, Reason="JobHeldUser")
    fake, clock = FakeSlurm(queue, NODES), FakeClock()
    port = drive.make_port(drive.Where(), run=fake, clock=clock)
    port.snapshot()
    port.tidy()
    assert fake.sent == [f"update JobId=10 {begin_words(1957)}"]  # it was held meanwhile
    fake.queue = queue.replace("\x1f937\x1f", "\x1f1957\x1f")
    fake.sent.clear()
    clock.sleep(360)
    port.snapshot()
    port.tidy()
    begin = begin_words(lease_end(1360, 900))
    assert fake.sent == [f"update JobId={job} {begin}" for job in ("10", "7", "8_[1-2]", "9")]


def test_a_job_that_leaves_the_partition_leaves_its_lease() -> None:
    """Slurm 22.05 does not tell the gate; the lease of another loop's job is not touched."""
    fake = FakeSlurm(queue_line("7") + queue_line("8", Partition="other"), NODES)
    port = drive.make_port(drive.Where(), run=fake, clock=FakeClock())
    port.snapshot()
    fake.queue = fake.queue.replace("\x1fbatch\x1f", "\x1fother\x1f")
    port.snapshot()
    port.tidy()
    assert fake.sent == ["update JobId=7 StartTime=now"]


def test_a_job_the_loop_stopped_waits_again() -> None:
    """Slurm's two minutes are skipped; a job that others requeue keeps them."""
    row = queue_line("7", EligibleTime=1100, RestartCnt=1)
    assert [job.id for job in look(row, stopped=lambda job: True).state.waiting] == ["7"]
    assert look(row).state.waiting == ()
    row = queue_line("7", State="COMPLETING", EndTime=4600, NodeList="n1", RestartCnt=1)
    found = look(row, stopped=lambda job: True).state
    assert (found.waiting, found.ended, found.running[0].settled) == ((), (), False)


def test_a_delay_of_slurms_that_ends_like_a_lease_is_kept() -> None:
    """One in sixty does: a job that Slurm has requeued is not started before, one of ours is."""
    fake, clock = FakeSlurm(queue_line("7", EligibleTime=1117, RestartCnt=1), NODES), FakeClock()
    port = drive.make_port(drive.Where(), run=fake, clock=clock)
    assert port.snapshot().waiting == ()
    assert "Slurm does not start it before" in str(port.ineligible["7"])
    port.tidy()
    assert fake.sent == [f"update JobId=7 {begin_words(1957)}"]
    fake.queue = queue_line("7", EligibleTime=1957, RestartCnt=1)
    assert port.snapshot().waiting == ()
    clock.sleep(118)
    assert [job.id for job in port.snapshot().waiting] == ["7"]
    fake.queue = queue_line("8", EligibleTime=1177, RestartCnt=1)
    port.stopped = lambda job: True
    assert [job.id for job in port.snapshot().waiting] == ["8"]


def test_a_job_the_loop_stopped_comes_back_to_the_gate() -> None:
    """A loop that has lost its memory finds it there, at its place in the queue."""
    fake = FakeSlurm(queue_line("7", EligibleTime=1100, RestartCnt=1), NODES)
    port = drive.make_port(drive.Where(), run=fake, clock=FakeClock())
    port.stopped = lambda job: True
    port.snapshot()
    port.tidy()
    assert fake.sent == [f"update JobId=7 {begin_words(1957)}"]
    (job,) = look(queue_line("7", RestartCnt=1)).state.waiting
    assert (job.id, job.submit) == ("7", 900)


def test_a_job_that_was_stopped_asks_for_as_many_nodes_as_before() -> None:
    """Slurm then shows the processors of its tasks, and no range of nodes."""
    row = queue_line(
        "7", RestartCnt=1, EligibleTime=1100, NumNodes=2, NumCPUs=2,
        OverSubscribe="NO", ReqNodes="n[1-2]", **{"tres-alloc": "cpu=2,mem=62.50G,node=2"},
    )  # fmt: skip
    mark = Touched(pin="n1,n2", wanted="", limit=3600, sharing="NO", gres_per_task="N/A", words="")
    (job,) = look(
        row, stopped=lambda job: True, details={"7": Detail()}, touched={"7": mark}
    ).state.waiting
    assert (job.nodes, job.need, job.only) == (2, (32,), ())


def test_jobs_of_other_partitions_count_and_are_not_ours() -> None:
    """They hold processors of shared nodes, and the loop may not stop them."""
    found = look(running_line("3", "n1", 4, Partition="other")).state
    assert [(job.id, job.ours, job.place) for job in found.running] == [("3", False, (("n1", 4),))]
    assert look(queue_line("4", Partition="other")).state.waiting == ()


@pytest.mark.parametrize("state", ["mixed+drain", "down*", "idle+maint", "allocated+reserved"])
def test_nodes_that_cannot_be_used_are_no_part_of_the_cluster(state: str) -> None:
    """What runs there neither counts nor can be counted on."""
    nodes = node_line("n1", state) + node_line("n2")
    found = look(running_line("3", "n1", 4), nodes).state
    assert ([host.name for host in found.cluster.hosts], found.running) == (["n2"], ())


def test_reservations_close_nodes_now_and_bar_long_jobs_before() -> None:
    """A node that is reserved soon is for jobs that end before."""
    queue = queue_line("1") + queue_line("2", TimeLimit="1:00")
    soon = look(queue, windows=[Window(1500, 9000, ("n1", "n2", "n3"))]).state
    assert [job.only for job in soon.waiting] == [("n4",), ()]
    now = look(queue, windows=[Window(900, 9000, ("n1", "n2", "n3"))]).state
    assert [host.name for host in now.cluster.hosts] == ["n4"]


def test_a_new_reservation_holds_for_jobs_seen_before() -> None:
    """What is remembered of a job was understood without it."""
    seen, line = Remembered(), queue_line("1")
    assert [job.only for job in look(line, remembered=seen).state.waiting] == [()]
    soon = [Window(1500, 9000, ("n1", "n2", "n3"))]
    for _ in range(2):
        found = look(line, remembered=seen, windows=soon).state
        assert [job.only for job in found.waiting] == [("n4",)]


def test_arrays_wait_task_by_task_within_their_throttle() -> None:
    """Of an array that may run two at once, one of which runs, one task waits."""
    queue = "".join(queue_line(f"5_{k}") for k in (2, 3, 4)) + running_line("5_1", "n1", 4)
    found = look(queue, details={"5_*": Detail(throttle=2)})
    assert [job.id for job in found.state.waiting] == ["5_2"]
    assert set(found.ineligible) == {"5_3", "5_4"}


def test_shapes_of_jobs() -> None:
    """Whole nodes, a number of nodes, tasks of several processors, features and exclusions."""
    queue = (
        queue_line("1", OverSubscribe="NO", NumCPUs=20)
        + queue_line("2", NumNodes=2)
        + queue_line("3", **{"cpus-per-task": 3, "NumCPUs": 12, "NTPerNode": 2, "NumTasks": 4})
        + queue_line("4", ReqNodes="n2")
        + queue_line("5", Feature="gpu")
    )
    jobs = look(queue, details={"2": Detail(nodes=2, excluded=("n1",))}).state.waiting
    assert (jobs[0].alone, jobs[0].nodes, jobs[0].need) == (True, 2, (32,))
    assert (jobs[1].nodes, jobs[1].only) == (2, ("n2", "n3", "n4"))
    assert (jobs[2].nodes, jobs[2].chunk) == (2, 3)
    assert jobs[3].only == ("n2",)
    assert jobs[4].only == ("none",)


def test_a_job_let_through_counts_as_if_it_ran() -> None:
    """No other job is put on its hosts, and it cannot be stopped before it runs."""
    line = queue_line("7", EligibleTime=999, ReqNodes="n[1-2]", Reason="None", NumCPUs=20)
    mark = Touched(pin="n1,n2", wanted="", limit=3600, sharing="NO", gres_per_task="N/A", words="")
    found = look(line, touched={"7": mark})
    (job,) = found.state.running
    assert (job.place, job.settled, job.ours) == ((("n1", 10), ("n2", 10)), False, True)


def test_ended_jobs_teach_but_cancelled_waiting_ones_do_not() -> None:
    """A job that never ran has no run time."""
    queue = running_line("1", "n1", 4, State="COMPLETED", EndTime=980) + queue_line(
        "2", State="CANCELLED", StartTime=990, EndTime=990
    )
    assert [(job.id, job.end - job.start) for job in look(queue).state.ended] == [("1", 30)]


@pytest.mark.parametrize("text", ["garbage\n", "\x00\x1f\n", "slurm_load_jobs error: x\n"])
def test_garbage_is_an_error_and_never_a_state(text: str) -> None:
    """Half a line must not look like an empty queue."""
    clock = FakeClock()
    for fake in (FakeSlurm(text, NODES), FakeSlurm(queue_line("1"), text)):
        port = SlurmPort(run=fake, clock=clock, scope=Scope(partition="batch"))
        with pytest.raises(PortError):
            port.snapshot()
    with pytest.raises(PortError):
        parse_queue(queue_line("1")[:-30] + "\n")


def test_a_snapshot_is_two_commands() -> None:
    """Details are asked once for each job, reservations every quarter of a minute."""
    clock, fake = FakeClock(), FakeSlurm(queue_line("1") + queue_line("2"), NODES)
    port = SlurmPort(run=fake, clock=clock, scope=Scope(partition="batch"))
    port.snapshot()
    fake.calls.clear()
    port.snapshot()
    assert fake.calls == ["squeue", "sinfo"]


def test_a_job_that_squeue_lists_twice_is_one_job() -> None:
    """It changed while squeue answered: the later line counts, and a pass can be made."""
    fake = FakeSlurm(nodes=NODES)
    ended = queue_line("7", State="COMPLETED", NodeList="n1", StartTime=950, EndTime=990)
    fake.queue = queue_line("7") + ended + ended + queue_line("8") + queue_line("8")
    port = drive.make_port(drive.Where(), run=fake, clock=FakeClock())
    loop = drive.make_loop(port, parse_policy("easy"), InMemory(), act=True)
    loop.step()
    assert [line for line in fake.sent if "now" in line] == [
        "update JobId=8 ReqNodeList=n1 StartTime=now"
    ]


@pytest.mark.parametrize("cpus", ["0/16/0/169999999999999999999", "0/16", "a/b/c/d"])
def test_a_node_that_cannot_be(cpus: str) -> None:
    """A count that no node has is refused where it is read, not where it no longer fits."""
    whole = node_line("n1")
    assert parse_nodes(whole)
    with pytest.raises(PortError, match="not a node"):
        parse_nodes(whole.replace("0/16/0/16", cpus))
