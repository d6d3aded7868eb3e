"""Slurm's output on the site model: what jobs hold and request, what is sent or handed over."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from live.fakes import FakeClock, FakeSlurm, queue_line, running_line
from shadowtime.errors import UsageError
from shadowtime.live.operation import ineligible_jobs
from shadowtime.live.port import Start, Stop
from shadowtime.live.runner import Done
from shadowtime.live.slurm import drive
from shadowtime.live.status import status_of
from shadowtime.live.store import InMemory
from shadowtime.policy import parse_policy
from shadowtime.slurmtext.squeue import BETWEEN

SHOWN_NODES = """\
NodeName=n1 CPUTot=4 RealMemory=8000 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 Weight=1 \
AvailableFeatures=small ActiveFeatures=small Gres=(null) State=IDLE Partitions=cpu,all
NodeName=n2 CPUTot=4 RealMemory=8000 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 Weight=1 \
AvailableFeatures=small ActiveFeatures=small Gres=(null) State=IDLE Partitions=cpu,all
NodeName=n3 CPUTot=8 RealMemory=32000 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 Weight=9 \
AvailableFeatures=big ActiveFeatures=big Gres=gpu:a100:2 State=IDLE Partitions=all,other
"""
SHOWN_PARTITIONS = """\
PartitionName=cpu Default=YES MaxNodes=UNLIMITED MaxTime=UNLIMITED Nodes=n[1-2] State=UP
PartitionName=all Default=NO MaxNodes=UNLIMITED MaxTime=02:00:00 Nodes=n[1-3] State=UP
PartitionName=other Default=NO MaxNodes=UNLIMITED MaxTime=UNLIMITED Nodes=n3 State=UP
"""
CONFIG = """\
ClusterName = test
SlurmUser = slurm(64030)
SelectType = select/cons_tres
SelectTypeParameters = CR_CORE_MEMORY
AccountingStorageEnforce = {}
"""
DETAIL = (
    "JobId={} JobName=x ReqNodeList=(null) ExcNodeList=(null) NodeList= {} MinMemoryCPU=500M "
    "MinTmpDiskNode=0 Features=(null) DelayBoot=00:00:00 OverSubscribe=OK \n"
)


def node_line(name: str, partition: str, cpus: int, memory: int, gres: str, feature: str) -> str:
    parts = (name, "idle", f"0/{cpus}/0/{cpus}", str(memory), gres, partition, feature)
    return BETWEEN.join(parts) + BETWEEN + "\n"


MIXED = "".join(
    node_line(*words)
    for words in (
        ("n1", "cpu*", 4, 8000, "(null)", "small"),
        ("n1", "all", 4, 8000, "(null)", "small"),
        ("n2", "cpu*", 4, 8000, "(null)", "small"),
        ("n2", "all", 4, 8000, "(null)", "small"),
        ("n3", "all", 8, 32000, "gpu:a100:2", "big"),
        ("n3", "other", 8, 32000, "gpu:a100:2", "big"),
    )
)


class FakeSite(FakeSlurm):
    """The same with the answers that describe a site."""

    def __init__(self, queue: str = "", details: dict[str, str] | None = None) -> None:
        super().__init__(queue, MIXED)
        self.details = details or {}
        self.enforce = "none"
        self.reservations = "No reservations in the system\n"
        self.shown: list[str] = []

    def __call__(self, argv: Sequence[str], *, text: str = "") -> Done:
        self.shown.append(argv[-1])
        if "--details" in argv:
            shown = [DETAIL.format(job, words) for job, words in self.details.items()]
            return Done(0, "".join(shown), "")
        answers = {
            "node": SHOWN_NODES,
            "partition": SHOWN_PARTITIONS,
            "config": CONFIG.format(self.enforce),
            "reservation": self.reservations,
        }
        if argv[0] == "scontrol" and argv[-1] in answers:
            return Done(0, answers[argv[-1]], "")
        return super().__call__(argv, text=text)


def a_loop(fake: FakeSite, partition: str = "cpu,all", **more: object) -> drive.Loop:
    port = drive.make_port(drive.Where(partition=partition), run=fake, clock=FakeClock())
    chosen = parse_policy("easy")
    shape = drive.choose_shape(port, chosen)
    return drive.make_loop(port, chosen, InMemory(), **({"act": True, "shape": shape} | more))


def test_the_site_is_chosen_where_a_pool_would_not_do() -> None:
    """Several partitions, nodes that differ or are shared, limits; a pool for equal nodes alone."""

    def shape(fake: FakeSlurm, policy: str = "easy", partition: str = "", wanted=None) -> str:
        port = drive.make_port(drive.Where(partition=partition), run=fake, clock=FakeClock())
        return drive.choose_shape(port, parse_policy(policy), wanted)

    equal = FakeSlurm("", "".join(node_line(f"n{k}", "batch*", 4, 8000, "", "") for k in (1, 2)))
    assert shape(equal) == "pool"
    assert shape(equal, wanted="site") == "site"
    assert shape(equal, "lessc") == "nodes"
    assert shape(FakeSite(), partition="all") == "site"
    assert shape(FakeSite(), partition="cpu,all") == "site"
    assert shape(FakeSite(), "relaxed", partition="all") == "site"
    assert shape(FakeSite(), "los", partition="all") == "pool"
    assert shape(FakeSite(), "selective-adaptive", partition="all") == "pool"
    limited = FakeSite()
    limited.nodes = equal.nodes.replace("batch*", "cpu*")
    assert shape(limited, partition="cpu") == "pool"
    limited.enforce = "associations,limits"
    assert shape(limited, partition="cpu") == "site"
    with pytest.raises(UsageError, match="of one partition"):
        shape(FakeSite(), "lessc", partition="cpu,all")
    with pytest.raises(UsageError, match="no partition gone"):
        shape(FakeSite(), partition="gone,lost")


def test_a_start_names_partition_nodes_and_their_number_and_all_of_it_is_undone() -> None:
    """A job of two partitions and a range of nodes goes to the one with room."""
    job = queue_line("7", Partition="cpu,all", NumTasks=8, NumCPUs=8, **{"tres-alloc": "cpu=8"})
    fake = FakeSite(job, {"7": "NumNodes=2-3"})
    loop = a_loop(fake)
    step = loop.step()
    assert [(d.partition, d.place) for d in step.decisions] == [("cpu", (("n1", 4), ("n2", 4)))]
    assert fake.sent == [
        "update JobId=7 ReqNodeList=n1,n2 Partition=cpu NumNodes=2-2 StartTime=now",
    ]
    mark = loop.port.touched["7"]
    assert mark.undo == "ReqNodeList= Partition=cpu,all NumNodes=2-3 AdminComment="
    assert loop.port.memory()["touched"]["7"][-3:] == ["cpu,all", False, 0]


def test_a_stopped_job_is_put_back_before_it_is_sent_elsewhere() -> None:
    """Slurm would look for four nodes where an earlier start allows two, in one partition."""
    words = {"NumTasks": 6, "NumCPUs": 6, "tres-alloc": "cpu=6"}
    fake = FakeSite(queue_line("7", Partition="cpu,all", **words), {"7": "NumNodes=2-3"})
    loop = a_loop(fake)
    loop.step()
    fake.sent.clear()
    loop.port.prepare([Stop(job="7")])
    back = {"EligibleTime": 1100, "RestartCnt": 1, "ReqNodes": "n[1-2]"}
    fake.queue = queue_line("7", Partition="cpu", **words, **back)
    loop.port.snapshot()
    start = Start(
        job="7",
        place=(("n1", 1), ("n2", 1), ("n3", 4)),
        held=(("n1", (1, 0, 0)), ("n2", (1, 0, 0)), ("n3", (4, 0, 0))),
        partition="all",
    )
    loop.port.prepare([start])
    loop.port.apply([start])
    assert fake.sent == [
        "update JobId=7 ReqNodeList= Partition=cpu,all NumNodes=2-3",
        "update JobId=7 ReqNodeList=n1,n2,n3 Partition=all StartTime=now",
    ]
    assert loop.port.touched["7"].undo == "ReqNodeList= Partition=cpu,all AdminComment="


def test_starts_on_parts_of_several_nodes_are_sent_last() -> None:
    """Slurm fills up the first of several nodes: the job that is to run beside it goes first."""
    two = queue_line("7", Partition="cpu", NumTasks=2, NumCPUs=2, **{"tres-alloc": "cpu=2"})
    one = queue_line("8", Partition="cpu", NumTasks=1, NumCPUs=1)
    fake = FakeSite(two + one, {"7": "NumNodes=2-2"})
    step = a_loop(fake).step()
    assert [len(decision.place) for decision in step.decisions] == [2, 1]
    assert [line.split()[1] for line in fake.sent] == ["JobId=8", "JobId=7"]


def test_reservations_are_read_often_while_jobs_wait() -> None:
    """A start on a node that was reserved meanwhile would fail."""
    fake = FakeSite(queue_line("7", Partition="cpu", NumCPUs=640))
    loop = a_loop(fake)
    for _ in range(3):
        loop.step()
        loop.port.clock.sleep(4)
    assert fake.shown.count("reservation") == 3
    fake.queue = ""
    for _ in range(3):
        loop.step()
        loop.port.clock.sleep(4)
    assert fake.shown.count("reservation") == 3


def test_what_other_partitions_hold_is_not_free() -> None:
    """A job of a partition that the loop does not drive holds a GPU and five processors of n3."""
    other = running_line("3", "n3", 5, Partition="other")
    gpu = {"Partition": "all", "NumTasks": 1, "NumCPUs": 1, "tres-per-node": "gres:gpu:2"}
    small = {"Partition": "all", "NumTasks": 3, "NumCPUs": 3, "tres-per-node": "gres:gpu:a100:1"}
    small["TimeLimit"] = "0:10:00"  # over before the GPUs that the other one waits for are free
    details = {"3": "NumNodes=1   Nodes=n3 CPU_IDs=0-4 Mem=2500 GRES=gpu:a100:1(IDX:0)"}
    fake = FakeSite(other + queue_line("7", **gpu) + queue_line("8", **small), details)
    loop = a_loop(fake)
    step = loop.step()
    held = step.state.running[0]
    assert (held.ours, held.held) == (False, (("n3", (5, 2500 * 1024, 1, 1)),))
    assert [(d.job, d.place) for d in step.decisions] == [("8", (("n3", 3),))]


def test_jobs_beyond_the_model_are_handed_over_with_the_reason() -> None:
    """Each has a reason; the others start."""
    fake = FakeSite(
        queue_line("1", Partition="all,other")
        + queue_line("2", Partition="all", Licenses="matlab:1")
        + queue_line("3", Partition="all", Feature="[big*1&small*1]")
        + queue_line("4", Partition="all", SCT="2:*:*")
        + queue_line("5", Partition="all", **{"mem-per-tres": "gres:gpu:100"})
        + queue_line("6", Partition="all", Reservation="course")
        + queue_line("7", Partition="all")
        + queue_line("8", Partition="other")
    )
    loop = a_loop(fake)
    step = loop.step()
    assert [decision.job for decision in step.decisions] == ["7"]
    why = loop.port.sorted.beyond
    assert list(why) == ["1", "2", "3", "4", "5", "6"]
    assert why["1"] == "it may also run in other, which the loop does not drive"
    assert "reservation course" in why["6"]
    lines = ["update JobId=1 Priority=1", "update JobId=1 StartTime=now"]
    assert [line for line in fake.sent if "JobId=1 " in line] == lines


def test_a_job_that_fits_nowhere_blocks_no_other() -> None:
    """It is set aside with the reason, also where a bound of the partition forbids it."""
    fake = FakeSite(
        queue_line("1", Partition="all", NumTasks=99, NumCPUs=99)
        + queue_line("2", Partition="all", TimeLimit="3:00:00")
        + queue_line("3", Partition="all")
    )
    step = a_loop(fake).step()
    assert set(step.aside) == {"1", "2"}
    assert [decision.job for decision in step.decisions] == ["3"]


def test_a_reserved_node_is_kept_for_its_jobs() -> None:
    """A reservation that a job names for the first time is read at once."""
    fake = FakeSite(queue_line("1", Partition="cpu"))
    loop = a_loop(fake, act=False)
    assert [d.place for d in loop.step().decisions] == [(("n1", 4),)]
    fake.reservations = (
        "ReservationName=course StartTime=900 EndTime=99000 Duration=1 Nodes=n1 Users=ann "
        "Accounts=(null) Flags=SPEC_NODES State=ACTIVE\n"
    )
    fake.queue += queue_line("2", Partition="cpu", Reservation="course")
    made = {d.job: d.place for d in loop.step().decisions if isinstance(d, Start)}
    assert made == {"1": (("n2", 4),), "2": (("n1", 4),)}


@pytest.mark.parametrize(("begins", "node"), [(1600, "n2"), (9000, "n1")])
def test_a_predicted_end_takes_no_job_into_a_reservation_ahead(begins: int, node: str) -> None:
    """ann's last job took seconds of its hour; Slurm plans with the hour and would not start it."""
    quick = queue_line(
        "1", State="COMPLETED", NodeList="n1", StartTime=900, EndTime=905, Partition="cpu"
    )
    fake = FakeSite(quick + queue_line("2", Partition="cpu"))
    fake.reservations = (
        f"ReservationName=course StartTime={begins} EndTime=99000 Duration=1 Nodes=n1 Users=ann "
        "Accounts=(null) Flags=SPEC_NODES State=INACTIVE\n"
    )
    port = drive.make_port(drive.Where(partition="cpu,all"), run=fake, clock=FakeClock())
    chosen = parse_policy("pv-easy")
    loop = drive.make_loop(port, chosen, InMemory(), shape=drive.choose_shape(port, chosen))
    step = loop.step()
    assert [(d.job, [host for host, _ in d.place]) for d in step.decisions] == [("2", [node])]
    assert step.aside == {}


def test_drained_nodes_take_nothing_and_what_runs_there_counts() -> None:
    """A drained node is closed, not forgotten."""
    fake = FakeSite(running_line("3", "n1", 2, Partition="cpu") + queue_line("7", Partition="cpu"))
    fake.nodes = MIXED.replace(f"n1{BETWEEN}idle", f"n1{BETWEEN}mixed+drain")
    step = a_loop(fake).step()
    assert step.state.shut == ("n1",)
    assert [run.id for run in step.state.running] == ["3"]
    assert [d.place for d in step.decisions] == [(("n2", 4),)]


def test_a_dependency_is_met_when_the_jobs_it_names_have_ended() -> None:
    """Slurm itself looks again at held jobs only once a minute."""
    done = {"State": "COMPLETED", "EndTime": 990, "NodeList": "n1", "StartTime": 950}
    fake = FakeSite(
        queue_line("3", Partition="cpu", **done)
        + queue_line("7", Partition="cpu", Dependency="afterok:3(unfulfilled)")
        + queue_line("8", Partition="cpu", Dependency="afternotok:3(unfulfilled)")
    )
    step = a_loop(fake).step()
    assert [decision.job for decision in step.decisions] == ["7"]


def test_status_predicts_starts_on_the_site() -> None:
    """A job waits for the processors of the large node until the one there ends, by its limit."""
    busy = running_line("3", "n3", 8, Partition="all")
    large = {"Partition": "all", "NumTasks": 8, "NumCPUs": 8, "Feature": "big"}
    fake = FakeSite(
        busy + queue_line("7", **large) + queue_line("8", Partition="all", NumTasks=99, NumCPUs=99),
        {"3": "NumNodes=1   Nodes=n3 CPU_IDs=0-7 Mem=4000 GRES="},
    )
    loop = a_loop(fake, act=False)
    loop.step()
    found = status_of(parse_policy("easy"), loop.port.snapshot(), loop.kept, shape="site")
    (row,) = found.waiting
    assert row.job == "7" and found.now < row.eta.expected < row.eta.latest <= 950 + 3600
    assert list(found.ineligible) == ["8"]
    assert (found.hosts, found.used) == (3, (8, 16))


def test_features_with_counts_stay_with_slurm_and_the_reason_is_shown() -> None:
    """Before it is handed over, afterwards with what Slurm reports, and after a restart."""
    wish = {"Feature": "small*2&big*1", "Partition": "all", "NumNodes": 3, "NumCPUs": 3}
    fake, lines = FakeSite(queue_line("7", **wish), {"7": "NumNodes=3 NumCPUs=3"}), []
    loop = a_loop(fake, tell=lines.append)
    loop.step()
    loop.step()
    why = "its constraint is more than features of a node (small*2&big*1)"
    assert lines[0] == f"handed 7 to Slurm: {why}"
    assert str(loop.port.sorted.ineligible["7"]) == (f"it is Slurm's to start: {why}")
    fake.queue = queue_line("7", **wish, PriorityLong=1, EligibleTime=1000, Reason="Resources")
    loop.step()
    shown = {"7": f"it was handed to Slurm, which reports Resources: {why}"}
    assert {"7": str(loop.port.sorted.ineligible["7"])} == shown
    again = drive.make_port(drive.Where(partition="cpu,all"), run=fake, clock=FakeClock())
    drive.suit(again, parse_policy("easy"), "site")
    again.recall(loop.kept.port)
    status = status_of(
        parse_policy("easy"), again.snapshot(), loop.kept, shape="site",
        ineligible=ineligible_jobs(again),
    )  # fmt: skip
    assert status.ineligible == shown
