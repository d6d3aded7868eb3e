"""What the port passes between Slurm and policies that count bandwidth, without a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from live.fakes import NODES, FakeClock, FakeSlurm, node_line, queue_line, running_line
from shadowtime.cluster.contention import node_cluster
from shadowtime.hperf import Record, open_store
from shadowtime.live.guard import guard
from shadowtime.live.loop import Loop
from shadowtime.live.placing import TOO_BIG, held_by
from shadowtime.live.port import RunningJob, Snapshot, Start, WaitingJob
from shadowtime.live.runner import Done
from shadowtime.live.slurm import drive
from shadowtime.live.slurm.asks import COMMENTS_EVERY, MANY
from shadowtime.live.slurm.demand import ASK_EVERY, ByStore
from shadowtime.live.slurm.gate import begin_words
from shadowtime.live.slurm.port import SlurmPort
from shadowtime.live.status import status_of
from shadowtime.live.store import InMemory
from shadowtime.policy import parse_policy


class WithDetails(FakeSlurm):
    """Also answers scontrol show job, with a comment for every job."""

    def __init__(self, queue: str = "", nodes: str = "") -> None:
        super().__init__(queue, nodes)
        self.comments: dict[str, str] = {}
        self.more: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.begin: dict[str, str] = {}

    def __call__(self, argv: Sequence[str], *, text: str = "") -> Done:
        if "--details" in argv:
            jobs = [line.split("\x1f")[0] for line in self.queue.splitlines()]
            wanted = text.split()[2:3]
            jobs = [job for job in jobs if not wanted or job == wanted[0]]
            lines = [
                f"{self.begin.get(job, f'JobId={job}')} JobName={self.names.get(job, 'x')} "
                "UserId=ann(7) ReqNodeList=(null) ExcNodeList=(null) NodeList= NumNodes=1 "
                f"{self.more.get(job, '')} MinCPUsNode=1 OverSubscribe=OK Command=(null) "
                f"Comment={self.comments.get(job, '')}  StdErr=/dev/null"
                for job in jobs
            ]
            return Done(0, "\n".join(lines), "")
        return super().__call__(argv, text=text)


def looking(fake: FakeSlurm, policy: str, gres: tuple[str, ...] = ()) -> tuple[SlurmPort, Loop]:
    """A port that suits a policy, and a loop that acts."""
    port = drive.make_port(drive.Where(gres=gres), run=fake, clock=FakeClock())
    return port, drive.make_loop(port, parse_policy(policy), InMemory(), act=True)


def test_demand_declared_in_the_comment_is_sent_to_slurm() -> None:
    """lessc counts it per task, and Slurm gets it at the start; the request stays."""
    fake = WithDetails(
        queue_line("7") + queue_line("8", **{"tres-per-task": "gres:membw:5000"}), NODES
    )
    fake.comments = {"7": "night run, bw=9000", "8": "bw=1"}
    port, loop = looking(fake, "lessc")
    seven, eight = port.snapshot().waiting
    assert (seven.need, seven.bandwidth) == ((4, 36000), 9000)
    assert (eight.need, eight.bandwidth) == ((4, 20000), 5000)
    loop.step()
    assert fake.sent == [
        "update JobId=7 ReqNodeList=n1,n2 StartTime=now TresPerTask=gres:membw:9000",
        "update JobId=8 ReqNodeList=n1,n2 StartTime=now",
    ]


@pytest.mark.parametrize("policy", ["lessc", "hperf"])
@pytest.mark.parametrize(("each", "cpus"), [(6800, 3), (3001, 16)])
def test_slurm_gets_the_exact_figure(each: int, cpus: int, policy: str, tmp_path: Path) -> None:
    """Tasks of several processors: counted by processor, sent by task, and rounded only once."""
    tasks = 5 if cpus == 3 else 1  # five of 6,800 are all that a node has
    job = queue_line("7", NumCPUs=tasks * cpus, NumTasks=tasks, **{"cpus-per-task": cpus})
    fake = WithDetails(job, NODES.splitlines(keepends=True)[0])
    fake.comments = {"7": f"tag=cg,bw={each}"}
    if policy == "hperf":
        path = str(tmp_path / "perf.sqlite")
        open_store(path).add([Record(tag="cg", bandwidth=each)])
        policy = f"hperf(store={path})"
    looking(fake, policy)[1].step()
    assert fake.sent[:1] == [
        f"update JobId=7 ReqNodeList=n1 StartTime=now TresPerTask=gres:membw:{each}"
    ]


def test_a_comment_that_changes_is_read_now_and_then() -> None:
    """squeue does not show it, so all waiting jobs are queried again, in one call."""
    fake = WithDetails(queue_line("7") + queue_line("8"), NODES)
    fake.comments = {"7": "bw=1000", "8": "bw=3000"}
    port, _ = looking(fake, "lessc")
    port.snapshot()
    before = port._details.by_job["8"]
    fake.comments["7"] = "bw=2000"
    assert [job.bandwidth for job in port.snapshot().waiting] == [1000, 3000]
    port.clock.sleep(COMMENTS_EVERY)
    assert [job.bandwidth for job in port.snapshot().waiting] == [2000, 3000]
    assert port._details.by_job["8"] is before


def test_a_comment_cannot_speak_for_another_job() -> None:
    """A line break in a comment begins what looks like the record of another job."""
    fake = WithDetails(queue_line("7") + queue_line("8"), NODES)
    fake.comments = {"7": "bw=1000\nJobId=8 NumNodes=1 Comment=bw=1  StdErr=x", "8": "bw=9000"}
    port, _ = looking(fake, "lessc")
    assert [job.bandwidth for job in port.snapshot().waiting] == [1000, 9000]
    fake.queue = queue_line("8") + queue_line("9")
    fake.comments["9"] = "bw=2000\nJobId=8 NumNodes=1 Comment=bw=1  StdErr=x"
    assert [job.bandwidth for job in port.snapshot().waiting] == [9000, 2000]


@pytest.mark.parametrize(
    "name",
    [
        "x Nodes=n1 CPU_IDs=z Mem=0",
        "x Nodes=n[ CPU_IDs=0 Mem=",
        "x ReqNodeList= ExcNodeList=n[ NodeList= Nodes=n[1-9 CPU_IDs=9-z Mem= OverSubscribe=",
        "x ReqNodeList= ExcNodeList=n[ NodeList= Nodes=n7 CPU_IDs=0-99 Mem= OverSubscribe=\n",
        "x ReqNodeList= Nodes=n[1-999999999] CPU_IDs=0 Mem=0 OverSubscribe=\n",
        f"x ReqNodeList= Nodes=n[1-2] CPU_IDs=0-{10**30} Mem=0 OverSubscribe=\\n",
        f"x ReqNodeList= NumNodes={10**30}-{10**30} OverSubscribe=\\n",
        "x NumNodes=4-4 ExcNodeList=n1 NodeList=",
        "\u2028JobId=7 Comment=bw=1 StdErr=",
    ],
)
def test_a_name_cannot_stop_the_loop_or_move_a_job(name: str) -> None:
    """What looks like a field in a name is a name."""
    fake = WithDetails(queue_line("7") + running_line("3", "n[1-2]", 20, NumNodes=2), NODES)
    fake.names = {"3": name, "7": name}
    state = looking(fake, "lessc")[0].snapshot()
    assert [(job.nodes, job.only) for job in state.waiting] == [(0, ())]
    assert [job.place for job in state.running] == [(("n1", 10), ("n2", 10))]


def test_an_array_that_is_not_split_yet_stands_for_its_tasks() -> None:
    """A query for all jobs lists the array; it is forgotten with its last task."""
    tasks = [f"5_{k}" for k in range(1, MANY + 2)]
    fake = WithDetails("".join(map(queue_line, tasks)), NODES)
    fake.begin = dict.fromkeys(tasks, "JobId=5 ArrayJobId=5 ArrayTaskId=1-41%2 ArrayTaskThrottle=2")
    port, _ = looking(fake, "easy")
    assert [job.id for job in port.snapshot().waiting] == tasks[:2]
    port.placed["5_1"] = (("n1", 4),)
    fake.queue = ""
    port.snapshot()
    known = port._details
    assert (known.by_job, known._asked, known._nodes, port.placed) == ({}, {}, {}, {})


def test_consres_runs_no_scontrol_and_sends_nothing() -> None:
    """Cores alone: bandwidth is no resource of its machine."""
    fake = WithDetails(queue_line("7"), NODES)
    fake.comments = {"7": "bw=9000"}
    port, loop = looking(fake, "consres")
    assert port.snapshot().waiting[0].need == (4,)
    loop.step()
    assert fake.sent == ["update JobId=7 ReqNodeList=n1 StartTime=now"]


def test_an_unknown_tag_keeps_its_nodes_to_itself() -> None:
    """Without the submit plug-in Slurm learns it at the start."""
    fake = WithDetails(queue_line("7") + queue_line("8"), NODES)
    fake.comments = {"7": "tag=cg.D,bw=1", "8": "no tag"}
    _, loop = looking(fake, "hperf")
    loop.step()
    assert fake.sent == [
        "update JobId=7 ReqNodeList=n1 StartTime=now OverSubscribe=NO",
        "update JobId=8 ReqNodeList=n2 StartTime=now OverSubscribe=NO",
    ]


GPU = {"tres-per-task": "gres:gpu:1"}
OURS = {"tres-per-task": "gres:gpu:1,gres:membw:9000"}


@pytest.mark.parametrize(
    ("policy", "more", "message", "later", "undo"),
    [
        ("lessc", {}, "TresPerTask=gres:membw:9000", {}, "TresPerTask="),
        ("lessc", GPU, "TresPerTask=gres:gpu:1,gres:membw:9000", OURS, "TresPerTask=gres:gpu:1"),
        ("hperf", {}, "OverSubscribe=NO", {"OverSubscribe": "NO"}, "OverSubscribe=YES"),
    ],
)
def test_a_start_in_vain_leaves_no_trace(
    policy: str, more: dict[str, str], message: str, later: dict[str, str], undo: str
) -> None:
    """Released and taken back, or never released: its request is as before."""
    nodes = NODES.replace("membw:34000", "membw:34000,gpu:4")
    fake = WithDetails(queue_line("7", **more), nodes)
    fake.comments = {"7": "bw=9000"}
    port, loop = looking(fake, policy, ("membw", "gpu"))
    loop.step()
    assert fake.sent[0].endswith(f" {message}")
    pinned = fake.sent[0].split("ReqNodeList=")[1].split()[0]
    through = {"EligibleTime": 1000, "ReqNodes": pinned, "Reason": "Resources"}
    fake.queue = queue_line("7", **(more | later | through))
    loop.step()
    port.clock.sleep(31)
    loop.step()
    assert fake.sent[1:] == [f"update JobId=7 {begin_words(1957)} ReqNodeList= {undo}"]
    fake.sent.clear()
    fake.queue = queue_line("7", **more)
    loop.step()  # a start that Slurm does not carry out
    fake.queue = queue_line("7", **(more | later))
    loop.step()
    assert fake.sent[1] == f"update JobId=7 {undo}"
    assert port.memory()["touched"]["7"][1] == ""


def test_a_store_is_asked_now_and_then(tmp_path: Path) -> None:
    """Known tags share; the mean is rounded up as Slurm counts; a broken store knows nothing."""
    path = str(tmp_path / "perf.sqlite")
    open_store(path).add([Record(tag="cg.D", bandwidth=2999.5)])
    fake = WithDetails(queue_line("7"), NODES)
    fake.comments = {"7": "tag=cg.D"}
    port, loop = looking(fake, f"hperf(store={path})")
    assert port.snapshot().waiting[0].bandwidth == 3000
    loop.step()
    assert fake.sent[0] == "update JobId=7 ReqNodeList=n1 StartTime=now TresPerTask=gres:membw:3000"
    clock = FakeClock()
    known = ByStore(path, clock)
    (job,) = port.snapshot().waiting
    assert known(job, "tag=cg.D", 1).bandwidth == 3000
    open_store(path).add([Record(tag="cg.D", bandwidth=5000.5)])
    assert known(job, "tag=cg.D", 1).bandwidth == 3000
    clock.sleep(ASK_EVERY)
    assert known(job, "tag=cg.D", 1).bandwidth == 4000
    assert known(job, "tag=other", 1).bandwidth == -1
    (tmp_path / "bad").write_bytes(b"rubbish" * 100)
    assert ByStore(str(tmp_path / "bad"), clock)(job, "tag=cg.D", 1).bandwidth == -1


def test_what_running_jobs_hold_of_each_node() -> None:
    """On several nodes: as scontrol shows, not divided evenly; exclusive jobs hold all."""
    fake = WithDetails(
        running_line("3", "n[1-2]", 12, NumNodes=2, NumTasks=12,
                     **{"tres-per-task": "gres:membw:3000"})
        + running_line("4", "n3", 2, OverSubscribe="NO"),
        NODES,
    )  # fmt: skip
    fake.more = {"3": "  Nodes=n1 CPU_IDs=0-10 Mem=0 GRES=membw(CNT:33000)"
                      "   Nodes=n2 CPU_IDs=0 Mem=0 GRES=membw(CNT:3000)"}  # fmt: skip
    port, _ = looking(fake, "lessc")
    three, four = port.snapshot().running
    assert three.held == (("n1", (11, 33000)), ("n2", (1, 3000)))
    assert (four.alone, four.place) == (True, (("n3", 2),))


@pytest.mark.parametrize("message", [True, False])
def test_only_what_lies_on_usable_nodes_counts(message: bool) -> None:
    """Of a job one of whose nodes is drained, the share of the other; by processors if unknown."""
    fake = WithDetails(
        running_line("3", "n[1-2]", 4, NumNodes=2, NumTasks=4,
                     **{"tres-per-task": "gres:membw:3000"}),
        NODES.replace("n2\x1fidle", "n2\x1fmixed+drain"),
    )  # fmt: skip
    if message:
        fake.more = {"3": "  Nodes=n1 CPU_IDs=0 Mem=0 GRES=membw(CNT:3000)"
                          "   Nodes=n2 CPU_IDs=0-2 Mem=0 GRES=membw(CNT:9000)"}  # fmt: skip
    (job,) = looking(fake, "lessc")[0].snapshot().running
    procs = 1 if message else 2
    assert held_by(job) == [("n1", (procs, procs * 3000))]
    assert job.need == (procs, procs * 3000)


def test_bandwidth_per_node_fixes_the_number_of_nodes() -> None:
    """--gres=membw:9000 is per node; without a number of nodes there is one."""
    fake = WithDetails(queue_line("7", **{"tres-per-node": "gres:membw:9000"}), NODES)
    (job,) = looking(fake, "lessc")[0].snapshot().waiting
    assert (job.nodes, job.need) == (1, (4, 9000))


def test_another_name_for_the_bandwidth() -> None:
    """The first --gres is what is limited."""
    port, _ = looking(WithDetails("", NODES), "lessc", ("bw", "gpu"))
    assert (port.scope.bandwidth, port.scope.resources) == ("bw", ("procs", "bw", "gpu"))


def test_status_names_what_no_node_could_hold() -> None:
    """Not predicted, with the reason."""
    fake = WithDetails(queue_line("7", NumCPUs=999) + queue_line("8"), NODES)
    port, loop = looking(fake, "lessc")
    found = status_of(parse_policy("lessc"), port.snapshot(), loop.kept, shape="nodes")
    assert ([row.job for row in found.waiting], found.ineligible) == (["8"], {"7": TOO_BIG})


@pytest.mark.parametrize("policy", ["lessc", "hperf"])
def test_all_nodes_down(policy: str) -> None:
    """Nothing to decide on, and no crash."""
    fake = WithDetails(queue_line("7"), NODES.replace("idle", "down"))
    fake.comments = {"7": "tag=cg,bw=9"}
    _, loop = looking(fake, policy)
    assert loop.step().decisions == ()


def test_what_a_tag_draws_counts_where_the_pass_names_no_nodes(tmp_path: Path) -> None:
    """Two nodes of 3,000 a task: not one that has 1,000 left; and where none has, it waits."""
    path = str(tmp_path / "perf.sqlite")
    open_store(path).add([Record(tag="cg", bandwidth=3000)])
    greedy = {"tres-per-task": "gres:membw:3000"}
    full = running_line("1", "n1", 11, NumTasks=11, **greedy)
    two = queue_line("7", NumCPUs=2, NumTasks=2, NumNodes=2, NTPerNode=1)
    for nodes, reported in ((3, "n2,n3"), (2, "")):
        fake = WithDetails(full + two, "".join(NODES.splitlines(keepends=True)[:nodes]))
        fake.comments = {"7": "tag=cg"}
        _, loop = looking(fake, f"hperf(store={path})")
        loop.step()
        line = f"update JobId=7 ReqNodeList={reported} StartTime=now TresPerTask=gres:membw:3000"
        assert fake.sent[:1] == ([line] if reported else [])


def test_the_guard_counts_what_a_tag_draws() -> None:
    """Another job took the bandwidth after the decision."""
    cluster = node_cluster(1, procs=16, bandwidth=34000)
    job = WaitingJob(id="7", submit=0, need=(2, 0), request=60, tag="cg", bandwidth=3000)
    start = Start(job="7", place=(("n1", 2),), bandwidth=3000)
    seen = Snapshot(now=1, cluster=cluster, waiting=(job,))
    taken = RunningJob(
        id="1", submit=0, need=(10, 30000), request=60, start=1, place=(("n1", 10),), ours=False
    )
    assert guard([start], seen, seen).allowed == (start,)
    (refused,) = guard([start], seen, seen.replace(running=(taken,))).refused
    assert refused.why == "n1 no longer has room for it"


class WithMemory(WithDetails):
    """Counts memory too: 32,000 MB a node."""

    def __call__(self, argv: Sequence[str], *, text: str = "") -> Done:
        if "config" in argv:
            return Done(0, "ClusterName = test\nSelectTypeParameters = CR_CORE_MEMORY\n", "")
        return super().__call__(argv, text=text)


@pytest.mark.parametrize("policy", ["consres", "lessc", "hperf"])
def test_a_node_without_memory_is_not_insisted_on(policy: str) -> None:
    """The pass plans without memory: the next node that has it is taken, or the job waits."""
    hungry = running_line("1", "n1", 4, **{"tres-alloc": "cpu=4,mem=32000M,node=1"})
    asked = "N/A" if policy == "consres" else "gres:membw:100"
    job = queue_line("7", **{"tres-alloc": "cpu=4,mem=2000M,node=1",
                             "tres-per-task": asked})  # fmt: skip
    first, second = NODES.splitlines(keepends=True)[:2]
    fake = WithMemory(hungry + job, first + second)
    looking(fake, policy)[1].step()
    assert fake.sent == ["update JobId=7 ReqNodeList=n2 StartTime=now"]
    fake = WithMemory(hungry + job, first)
    _, loop = looking(fake, policy)
    loop.step()
    assert loop.step().decided is None  # until something changes
    assert fake.sent == []


def test_the_memory_of_a_job_on_several_nodes() -> None:
    """Shared out by its processors; scontrol tells what it holds of the bandwidth."""
    wide = running_line("3", "n[1-2]", 4, NumNodes=2, NumTasks=4,
                        **{"tres-per-task": "gres:membw:3000",
                           "tres-alloc": "cpu=4,mem=8000M,node=2"})  # fmt: skip
    fake = WithMemory(wide, NODES)
    fake.more = {"3": "  Nodes=n1 CPU_IDs=0-2 Mem=0 GRES=membw(CNT:9000)"
                      "   Nodes=n2 CPU_IDs=0 Mem=0 GRES=membw(CNT:3000)"}  # fmt: skip
    (job,) = looking(fake, "lessc")[0].snapshot().running
    assert job.held == (("n1", (3, 6000 * 1024, 9000)), ("n2", (1, 2000 * 1024, 3000)))


@pytest.mark.parametrize("policy", ["consres", "lessc", "hperf", "hperf(share=8)"])
def test_nodes_of_its_own_are_as_many_as_it_asks_for(policy: str) -> None:
    """However few processes of an unknown job the policy puts on a node."""
    whole = queue_line("7", OverSubscribe="NO", NumCPUs=5, NumTasks=5, NTPerNode=1, NumNodes=5)
    fake = WithDetails(whole, "".join(node_line(f"n{k}") for k in range(1, 9)))
    port, loop = looking(fake, policy)
    found = status_of(parse_policy(policy), port.snapshot(), loop.kept, shape="nodes")
    assert [row.job for row in found.waiting] == ["7"]
    loop.step()
    assert fake.sent[:1] == ["update JobId=7 ReqNodeList=n1,n2,n3,n4,n5 StartTime=now"]
