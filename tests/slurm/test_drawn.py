"""Rules that recordings of drawn configurations showed, and arrays that lose tasks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shadowtime.cluster.site import (
    FOREVER,
    Limits,
    Node,
    Outage,
    Partition,
    Qos,
    Reservation,
    Site,
)
from shadowtime.slurm.ask import ask_of
from shadowtime.slurm.backfill import backfill_pass
from shadowtime.slurm.distribute import gpus_taken
from shadowtime.slurm.from_site import state_of
from shadowtime.slurm.job import Job
from shadowtime.slurm.main_pass import main_pass
from shadowtime.slurm.rules import Rules
from shadowtime.slurm.run import run_slurm
from shadowtime.slurm.state import SlurmState
from shadowtime.slurm.submissions import asked_on_site
from shadowtime.slurmtext.sbatch import apply_options, parse_line
from shadowtime.workload import Workload
from shadowtime.workload.request import Dependency, Gres, Request, Requests

SITE = Site(
    nodes=tuple(Node(name=name, amounts=(4,)) for name in ("a", "b")),
    partitions=(
        Partition(name="batch", nodes=("a", "b"), default=True, tier=1),
        Partition(name="fast", nodes=("a",), tier=5),
    ),
    config={"PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE"},
)


def test_a_job_that_preempts_is_tried_in_no_other_partition() -> None:
    """Node b is free: the job could start there, but it has preempted for node a."""
    state = state_of(SITE)
    whole = ask_of(Request(nodes=1, max_nodes=1, tasks=1, exclusive=True), state.machine)
    low = Job(id=1, ask=whole, limit=600, user="u", partitions=("batch",), priority=9)
    state.waiting = [low]
    assert [one.nodes for one in main_pass(state, 10).starts] == [0b01]
    high = Job(id=2, ask=whole, limit=600, user="u", partitions=("fast", "batch"), priority=8)
    high.record = 1
    state.waiting = [high]
    found = main_pass(state, 20)
    assert found.victims == [(1, 2)]
    assert found.starts == []


def test_an_array_that_starts_is_planned_in_no_other_partition() -> None:
    """One of three tasks starts in its first partition: the others are planned there alone."""
    state = state_of(SITE.replace(config={}))
    whole = ask_of(Request(nodes=1, max_nodes=1, tasks=1, exclusive=True), state.machine)
    array = Job(id=1, ask=whole, limit=600, user="u", partitions=("fast", "batch"), priority=9)
    array.tasks, array.array = [1, 2, 3], 1
    state.waiting = [array]
    found = backfill_pass(state, 10)
    assert [(one.partition, one.task) for one in found.starts] == [("fast", 1)]
    assert {one.partition for one in found.plans} == {"fast"}


def test_tasks_that_are_preempted_start_again() -> None:
    """Two tasks of an array are requeued; the throttle counts those that run alone."""
    jobs = Workload.build(submit=[0, 0, 0, 0, 20], run=[100] * 4 + [30], procs=[4] * 5)
    one = Request(nodes=1, max_nodes=1, tasks=1, exclusive=True, partitions=("batch",))
    high = Request(nodes=1, max_nodes=1, tasks=1, exclusive=True, partitions=("fast",))
    asks = Requests.of_jobs(
        [*[one] * 4, high], array=[7] * 4 + [-1], task=[1, 2, 3, 4, -1], throttle=[2] * 4 + [0]
    )
    made = run_slurm(jobs, SITE, asks)
    assert made.preemptions == 1
    assert [row for row, _, _ in made.lost] == [0]
    assert min(made.start) >= 0
    assert made.start[0] > 120  # the lost task waits for its credential


def test_a_job_without_its_gpus_in_a_partition_fails_it_not() -> None:
    """The partition of a higher tier has no GPUs: jobs behind still get its nodes."""
    nodes = tuple(
        Node(name=name, amounts=(4, gpus)) for name, gpus in (("a", 0), ("b", 0), ("c", 2))
    )
    parts = (
        Partition(name="batch", nodes=("a", "b", "c"), default=True, tier=1),
        Partition(name="fast", nodes=("a", "b"), tier=5),
    )
    state = state_of(Site(resources=("cpus", "gpu"), nodes=nodes, partitions=parts))
    whole = ask_of(Request(nodes=1, max_nodes=1, tasks=1, exclusive=True), state.machine)
    gpus = ask_of(Request(tasks=1, gres=(Gres(name="gpu", count=4),)), state.machine)
    state.waiting = [Job(id=1, ask=whole, limit=600, user="u", partitions=("fast",), priority=9)]
    assert [one.nodes for one in main_pass(state, 10).starts] == [0b001]
    wants = Job(id=2, ask=gpus, limit=600, user="u", partitions=("fast", "batch"), priority=8)
    plain = Job(id=3, ask=whole, limit=600, user="u", partitions=("batch",), priority=7)
    wants.record, plain.record = 1, 2
    state.waiting = [wants, plain]
    assert [(one.job, one.nodes) for one in main_pass(state, 20).starts] == [(3, 0b010)]


def test_a_job_may_be_evicted_in_the_pass_that_starts_it() -> None:
    """Both arrive before the same pass: the low one starts, and goes for the high one behind it."""
    site = SITE.replace(
        nodes=(Node(name="a", amounts=(4,)),),
        partitions=(Partition(name="batch", nodes=("a",), default=True),),
        qos=(Qos(name="low", preempt="requeue"), Qos(name="high", preempts=("low",))),
        config={
            "PreemptType": "preempt/qos", "PreemptMode": "REQUEUE",
            "SchedulerParameters": "bf_interval=5",
        },
    )  # fmt: skip
    jobs = Workload.build(submit=[0, 0], run=[100, 100], procs=[4, 4])
    asks = Requests.of_jobs([Request(tasks=4, qos="low"), Request(tasks=4, qos="high")])
    made = run_slurm(jobs, site, asks)
    assert min(made.start) >= 0


def test_an_outage_without_an_end_ends_no_run_late() -> None:
    """The other node serves the jobs, and the run is over after the last of them."""
    jobs = Workload.build(submit=[0, 5], run=[60, 60], procs=[4, 4])
    asks = Requests.of_jobs([Request(tasks=4), Request(tasks=4)])
    gone = (Outage(node="a", begin=0, end=FOREVER),)
    made = run_slurm(jobs, SITE.replace(config={}, outages=gone), asks)
    assert made.start[1] >= made.end[0] and made.passes < 100


def test_a_task_that_the_log_holds_twice_runs_twice() -> None:
    """Rows of one array with the same task, behind a job that they wait for."""
    jobs = Workload.build(submit=[0, 1, 4], run=[50, 20, 20], procs=[4] * 3)
    after = [Dependency(job=row, kind="afterany", on=(1,)) for row in (1, 2)]
    asks = Requests.of_jobs(
        [Request(tasks=4)] * 3, array=[-1, 7, 7], task=[-1, 3, 3], dependencies=after
    )
    made = run_slurm(jobs, SITE.replace(config={}), asks)
    assert min(made.start) >= 0 and min(made.start[1:]) >= made.end[0]


def test_a_range_of_nodes_without_tasks_aims_at_the_most() -> None:
    """`-N 1-2 --exclusive` gets both nodes; `-N 1-2 -n 1` is one node for sbatch already."""
    site = SITE.replace(config={})
    wide = apply_options(parse_line("sbatch -N 1-2 --exclusive job.sh"), Request())
    assert start_of(state_of(site), wide) == 0b11
    one = apply_options(parse_line("sbatch -N 1-2 -n 1 job.sh"), wide)
    assert start_of(state_of(site), one) == 0b01


def test_contiguous_nodes_come_from_one_set() -> None:
    """Node b is taken: a and c are no neighbours, d and e are, whatever their weights."""
    names = ("a", "b", "c", "d", "e")
    site = Site(
        nodes=tuple(
            Node(name=name, amounts=(4,), weight=weight)
            for name, weight in zip(names, (1, 1, 1, 9, 5), strict=True)
        ),
        partitions=(Partition(name="batch", nodes=names, default=True),),
    )
    state = state_of(site)
    assert start_of(state, Request(nodes=1, max_nodes=1, tasks=1, wanted=("b",))) == 0b00010
    pair = Request(nodes=2, max_nodes=2, tasks=2, exclusive=True)
    apart = state_of(site)
    assert start_of(apart, Request(nodes=1, max_nodes=1, tasks=1, wanted=("b",))) == 0b00010
    assert start_of(apart, pair) == 0b00101
    assert start_of(state, replace(pair, contiguous=True)) == 0b01100
    three = Request(nodes=3, max_nodes=3, tasks=3, exclusive=True, contiguous=True)
    assert start_of(apart, three) is None


@pytest.mark.parametrize(("version", "limit"), [("24.11.5", 300), ("26.05.5", 540)])
def test_backfill_raises_a_limit_up_to_the_next_plan(version: str, limit: int) -> None:
    """Both nodes are planned from 600 on: --time-min=5 --time=30 gets nine whole minutes."""
    config = {"SLURM_VERSION": version, "SchedulerParameters": "bf_resolution=1"}
    state = state_of(SITE.replace(config=config))
    one, two = (
        ask_of(Request(nodes=k, max_nodes=k, tasks=k, exclusive=True), state.machine)
        for k in (1, 2)
    )
    first = Job(id=1, ask=one, limit=600, user="u", partitions=("fast",), priority=9)
    state.waiting = [first]
    assert len(main_pass(state, 0).starts) == 1
    wide = Job(id=2, ask=two, limit=600, user="u", partitions=("batch",), priority=8)
    short = Job(id=3, ask=one, limit=1800, user="u", partitions=("batch",), priority=7)
    short.least_time = 300
    wide.record, short.record = 1, 2
    state.waiting = [wide, short]
    assert [one.job for one in backfill_pass(state, 10).starts] == [3]
    assert [job.limit for job in state.running if job.id == 3] == [limit]


@pytest.mark.parametrize("version", ["22.05.8", "24.11.5", "26.05.5"])
def test_an_exclusive_partition_gives_whole_nodes(version: str) -> None:
    """A job of one task that did not ask for it holds a node alone; the third one waits."""
    site = SITE.replace(
        partitions=(Partition(name="batch", nodes=("a", "b"), default=True, exclusive=True),),
        config={"SLURM_VERSION": version, "SchedulerParameters": "bf_interval=5"},
    )
    jobs = Workload.build(submit=[0, 0, 1], run=[100, 60, 10], procs=[1, 1, 1])
    made = run_slurm(jobs, site, Requests.of_jobs([Request(tasks=1)] * 3))
    assert made.start[2] >= 60


def test_gpus_of_a_type_are_on_nodes_that_have_it() -> None:
    """`--gres=gpu:b:1` leaves the free GPUs of type a alone; `--gres=gpu:1` takes the first."""
    site = Site(
        resources=("cpus", "gpu", "gpu:a", "gpu:b"),
        nodes=(Node(name="x", amounts=(4, 2, 2, 0)), Node(name="y", amounts=(4, 2, 0, 2))),
        partitions=(Partition(name="batch", nodes=("x", "y"), default=True),),
    )
    for name, nodes in (("gpu:b", 0b10), ("gpu", 0b01)):
        assert start_of(state_of(site), Request(gres=(Gres(name=name, count=1),))) == nodes


def with_gpus(version: str, *near: int) -> SlurmState:
    """Two nodes of 8 cpus and 2 GPUs, which ``near`` binds to sockets."""
    node = Node(name="a", amounts=(8, 2), sockets=max(1, len(near)), near=near)
    site = Site(
        resources=("cpus", "gpu"),
        nodes=(node, replace(node, name="b")),
        partitions=(Partition(name="batch", nodes=("a", "b"), default=True),),
        config={"SLURM_VERSION": version},
    )
    return state_of(site)


@pytest.mark.parametrize(
    ("version", "near", "nodes"),
    [("24.11.5", (), 0), ("26.05.5", (), 0b10), ("26.05.5", (1, 1), 0)],
)
def test_gpus_of_a_job_on_one_node_are_counted_on(
    version: str, near: tuple[int, ...], nodes: int
) -> None:
    """`-N 1 --gpus=3` finds 2 on node a and as many on b: 26.05 starts it there with 2.

    Where a start picks certain GPUs it does not find them; a plan is made all the same.
    """
    state = with_gpus(version, *near)
    gpus = Gres(name="gpu", count=3, per="job")
    ask = ask_of(Request(nodes=1, max_nodes=1, tasks=1, gres=(gpus,)), state.machine)
    state.waiting = [Job(id=1, ask=ask, limit=600, user="u", partitions=("batch",), priority=9)]
    assert [one.nodes for one in main_pass(state, 10).starts] == ([nodes] if nodes else [])
    if nodes:
        assert [share.gpus for share in state.running[0].holding] == [0b11]
    elif near:
        assert not backfill_pass(state, 10).starts


def test_a_node_gives_no_more_gpus_than_were_needed_when_it_was_chosen() -> None:
    """The node chosen last gives the one that was missing, not the first node one less."""
    state = with_gpus("26.05.5", 1, 1)
    gpus = Gres(name="gpu", count=3, per="job")
    ask = ask_of(Request(tasks=3, gres=(gpus,)), state.machine)
    nodes, free, both, one = state.machine.nodes, (0b11, 0b11), 0b10001, 0b1
    for version, cores, counted, taken in (
        ("22.05.8", (both, both), (1, 2), [0b11, 0b01]),
        ("26.05.5", (both, both), (1, 2), [0b01, 0b11]),
        ("26.05.5", (both, both), (2, 1), [0b11, 0b01]),
        ("26.05.5", (one, both), (2, 2), [0b01, 0b11]),  # beside its cores first
        ("26.05.5", (one, one), (2, 1), [0b11, 0b01]),  # others where those do not suffice
    ):
        rules = Rules.of(version)
        found = gpus_taken(ask, nodes, free, cores, rules=rules, counted=counted)
        assert found == taken, (version, cores, counted)


@pytest.mark.parametrize("flags", [(), ("FLEX",)])
def test_jobs_of_a_reservation_run_on_its_nodes_alone(flags: tuple[str, ...]) -> None:
    """Node b is free all the time, but theirs is a, from 200 on, one after the other."""
    kept = Reservation(name="r", nodes=("a",), begin=200, end=9_000, flags=frozenset(flags))
    site = Site(
        nodes=(Node(name="a", amounts=(4,)), Node(name="b", amounts=(4,))),
        partitions=(Partition(name="batch", nodes=("a", "b"), default=True),),
        reservations=(kept,),
    )
    jobs = Workload.build(submit=[0, 0], run=[290, 90], request=[300, 120], procs=[4, 4])
    made = run_slurm(jobs, site, Requests.of_jobs([Request(tasks=4, reservation="r")] * 2))
    if flags:
        assert max(made.start) < 10
    else:
        assert 200 <= made.start[0] < 240
        assert made.start[1] >= made.start[0] + 290


@pytest.mark.parametrize(("version", "nodes"), [("24.11.5", 0b01), ("26.05.5", 0b11)])
def test_the_node_looked_at_last_counts_under_lln(version: str, nodes: int) -> None:
    """Node a is idle and holds the four cpus; 25.11 counts it with the three of b."""
    config = {"SLURM_VERSION": version, "SelectTypeParameters": "CR_CORE,CR_LLN"}
    state = state_of(SITE.replace(config=config))
    assert start_of(state, Request(wanted=("b",))) == 0b10
    assert start_of(state, Request(tasks=4)) == nodes


@pytest.mark.parametrize(("version", "cpus"), [("22.05.8", 3), ("24.11.5", 1), ("26.05.5", 1)])
def test_mincpus_must_be_free_and_were_given_once(version: str, cpus: int) -> None:
    """`-n 1 --mincpus=3`: a has two cpus free, b four."""
    state = state_of(SITE.replace(config={"SLURM_VERSION": version}))
    assert start_of(state, Request(tasks=2, wanted=("a",))) == 0b01
    asked = apply_options(parse_line("sbatch -n 1 --mincpus=3 job.sh"), Request())
    assert start_of(state, asked) == 0b10
    assert [job.cpus for job in state.running] == [2, cpus]


def start_of(state: SlurmState, request: Request, partition: str = "batch") -> int | None:
    """The nodes on which a job starts now, if it does."""
    number = state.records = state.records + 1
    job = Job(
        id=number, ask=ask_of(request, state.machine), limit=600, user="u", record=number,
        partitions=(partition,), priority=9,
    )  # fmt: skip
    state.waiting = [job]
    starts = main_pass(state, 10).starts
    return starts[0].nodes if starts else None


@pytest.mark.parametrize(("version", "starts"), [("22.05.8", 0), ("24.11.5", 1), ("26.05.5", 1)])
def test_whole_nodes_belong_to_the_record_in_a_partition(version: str, starts: int) -> None:
    """Both nodes are free in part: up to 23.11.5 the exclusive partition marks the job for good."""
    parts = (
        Partition(name="batch", nodes=("a", "b"), default=True),
        Partition(name="alone", nodes=("b",), exclusive=True),
    )
    site = SITE.replace(partitions=parts, config={"SLURM_VERSION": version})
    state = state_of(site)
    for name in ("a", "b"):
        assert start_of(state, Request(wanted=(name,))) is not None
    partitions, ask = asked_on_site(Request(partitions=("alone", "batch")), site, state)
    state.waiting = [Job(id=9, ask=ask, limit=600, user="u", partitions=partitions, priority=9)]
    found = [(one.partition, one.nodes) for one in main_pass(state, 20).starts]
    assert found == [("batch", 0b01)] * starts


def job_of(number: int, user: str, request: Request, state: SlurmState, limit: int = 60) -> Job:
    """A job in the partition batch."""
    return Job(
        id=number, record=number, ask=ask_of(request, state.machine), limit=limit, user=user,
        partitions=("batch",), priority=99 - number,
    )  # fmt: skip


@pytest.mark.parametrize("by_partition", [False, True])
def test_nodes_may_belong_to_one_user(by_partition: bool) -> None:
    """Of four cpus on each of two nodes one is in use: only its user's jobs go there."""
    part = Partition(name="batch", nodes=("a", "b"), default=True, exclusive_user=by_partition)
    state = state_of(SITE.replace(partitions=(part,), config={}))
    own = apply_options(parse_line("sbatch -n 1 --exclusive=user a.sh"), Request())
    assert own.exclusive_user and not own.exclusive
    asked = Request() if by_partition else own
    for number, user, request, nodes in (
        (1, "ann", asked, 0b01),
        (2, "bob", Request(), 0b10),
        (3, "ann", Request(), 0b01),
        (4, "cid", asked, None),
        (5, "bob", asked, 0b10),
        (6, "cid", Request(), None),
    ):
        state.waiting = [job_of(number, user, request, state)]
        starts = main_pass(state, 10).starts
        assert (starts[0].nodes if starts else None) == nodes, number


@pytest.mark.parametrize(
    ("version", "plans"), [("22.05.8", []), ("24.05.4", []), ("24.11.5", [(3, 110, 0b01)])]
)
def test_backfill_waits_for_nodes_of_other_users(
    version: str, plans: list[tuple[int, int, int]]
) -> None:
    """Both nodes belong to others: up to 24.05 a pass plans nothing there, whenever they end."""
    part = Partition(name="batch", nodes=("a", "b"), default=True, exclusive_user=True)
    config = {"SLURM_VERSION": version, "SchedulerParameters": "bf_resolution=1"}
    state = state_of(SITE.replace(partitions=(part,), config=config))
    state.waiting = [
        job_of(1, "ann", Request(), state, limit=100),
        job_of(2, "bob", Request(), state, limit=300),
    ]
    assert len(main_pass(state, 10).starts) == 2
    state.waiting = [job_of(3, "cid", Request(), state)]
    found = backfill_pass(state, 20)
    assert [(one.job, one.start, one.nodes) for one in found.plans] == plans


def test_overcommit_asks_for_a_cpu_a_node() -> None:
    """The number of tasks is of no account then."""
    for line, nodes, tasks in (("-n 20 -O", 1, 1), ("-N 2 -n 9 --overcommit", 2, 2)):
        asked = apply_options(parse_line(f"sbatch {line} a.sh"), Request())
        assert (asked.nodes, asked.tasks) == (nodes, tasks)


FEATURED = Site(
    nodes=tuple(Node(name=name, amounts=(4,), features=(name[0],)) for name in ("a1", "a2", "b1")),
    partitions=(Partition(name="batch", nodes=("a1", "a2", "b1"), default=True),),
    config={"SLURM_VERSION": "24.11.5", "SchedulerParameters": "bf_resolution=1"},
)


def whole_nodes(count: int, features: str = "") -> Request:
    """So many of them."""
    return Request(nodes=count, max_nodes=count, tasks=count, exclusive=True, features=features)


@pytest.mark.parametrize(
    ("features", "nodes", "busy", "starts", "plan"),
    [
        ("[a*1&b*1]", 2, 0b001, 0b110, 0b110),
        ("[a*1&b*1]", 2, 0b100, None, 0b101),
        ("[a*2&b*1]", 3, 0b000, 0b111, 0b111),
        ("[a*2]&b", 2, 0b000, 0b011, 0b111),
        ("[b*2&a*1]", 3, 0b000, None, None),
        ("[a*1&b*2]", 3, 0b000, None, 0b111),
    ],
)
def test_features_with_counts(
    features: str, nodes: int, busy: int, starts: int | None, plan: int | None
) -> None:
    """Each condition gets nodes of its own; a plan stands where one that is not the first fails."""
    state = state_of(FEATURED)
    if busy:
        names = tuple(one.name for at, one in enumerate(FEATURED.nodes) if busy >> at & 1)
        state.waiting = [job_of(1, "u", replace(whole_nodes(len(names)), wanted=names), state)]
        assert main_pass(state, 10).starts[0].nodes == busy
    job = job_of(2, "u", whole_nodes(nodes, features), state)
    state.waiting = [job]
    copy = state.copy()
    found = main_pass(state, 20).starts
    assert (found[0].nodes if found else None) == starts
    made = backfill_pass(copy, 20)
    seen = [one.nodes for one in made.starts] or [one.nodes for one in made.plans]
    assert (seen[0] if seen else None) == (starts if made.starts else plan)


def test_the_least_loaded_node_comes_first_in_its_partition() -> None:
    """LLN=YES: the idle node; the other partition fills the one in use."""
    lln = Partition(name="batch", nodes=("a", "b"), default=True, least_loaded=True)
    for part, nodes in ((lln, 0b10), (replace(lln, least_loaded=False), 0b01)):
        state = state_of(SITE.replace(partitions=(part,), config={}))
        assert start_of(state, Request(wanted=("a",))) == 0b01
        assert start_of(state, Request()) == nodes


def test_a_partition_holds_no_more_cpus_of_a_node_than_it_may() -> None:
    """MaxCPUsPerNode=3 of four: jobs of the other partition do not count; whole nodes never fit."""
    part = Partition(name="batch", nodes=("a", "b"), default=True, max_cpus_per_node=3)
    other = Partition(name="other", nodes=("a", "b"))
    state = state_of(SITE.replace(partitions=(part, other), config={}))
    assert start_of(state, Request(tasks=1), "other") == 0b01
    assert start_of(state, Request(tasks=3)) == 0b01
    assert start_of(state, Request(tasks=4)) is None
    whole = Request(nodes=1, max_nodes=1, exclusive=True)
    assert start_of(state, whole) is None
    state.release(state.running[0])
    assert start_of(state, Request(tasks=1)) == 0b10  # one is free on a, but not to this partition
    assert start_of(state, Request(tasks=1), "other") == 0b01
    assert start_of(state, Request(tasks=3)) is None
    assert start_of(state, Request(tasks=2)) == 0b10


def test_a_job_that_never_fits_blocks_no_partition() -> None:
    """A whole node under MaxCPUsPerNode: the job behind it starts."""
    part = Partition(name="batch", nodes=("a", "b"), default=True, max_cpus_per_node=3)
    state = state_of(SITE.replace(partitions=(part,), config={}))
    assert start_of(state, Request(tasks=1)) == 0b01
    asks = Request(nodes=1, max_nodes=1, exclusive=True), Request(tasks=1)
    state.waiting = [
        Job(
            id=at + 2, record=at, ask=ask_of(one, state.machine), limit=600, user="u",
            partitions=("batch",), priority=9 - at,
        )
        for at, one in enumerate(asks)
    ]  # fmt: skip
    assert [one.job for one in main_pass(state, 20).starts] == [3]


def test_other_generic_resources_are_counted_on_each_node() -> None:
    """Node x has one fpga left, y two; a job gets the node that has enough, or waits for one."""
    site = Site(
        resources=("cpus", "fpga", "fpga:x", "nic"),
        nodes=(Node(name="x", amounts=(4, 2, 0, 1)), Node(name="y", amounts=(4, 2, 2, 0))),
        partitions=(Partition(name="batch", nodes=("x", "y"), default=True),),
        config={"SchedulerParameters": "bf_resolution=1"},
    )
    state = state_of(site)
    one, two, nic = (Gres(name=name, count=k) for name, k in (("fpga", 1), ("fpga", 2), ("nic", 1)))
    assert start_of(state, Request(gres=(one,))) == 0b01
    assert start_of(state, Request(gres=(two,))) == 0b10
    assert start_of(state, Request(gres=(replace(one, name="fpga:x"),))) is None
    assert start_of(state, Request(gres=(one, nic))) == 0b01
    assert start_of(state, Request(gres=(one,))) is None
    state.waiting[0].limit = 60
    found = backfill_pass(state, 20).plans
    assert [(plan.start, plan.nodes) for plan in found] == [(610, 0b01)]
    state.release(state.running[1])
    assert start_of(state, Request(gres=(replace(one, name="fpga:x"),))) == 0b10


@pytest.mark.parametrize(("version", "numbers"), [("24.11.3", (1, 4, 12)), ("24.11.4", (1, 6, 6))])
def test_memory_beyond_its_bound_asks_for_cpus(version: str, numbers: tuple[int, ...]) -> None:
    """MaxMemPerCPU=900: 3000 MB are four cpus of a node; later those of six tasks of one cpu."""
    part = Partition(name="batch", nodes=("a", "b"), default=True, max_memory=900 << 10)
    site = SITE.replace(partitions=(part,), config={"SLURM_VERSION": version})
    state = state_of(site)
    section = state.machine.sections["batch"]
    memory = 3000 << 10
    ask = asked_on_site(Request(tasks=6, cpus_per_task=2, memory=memory), site, state)[1]
    on = ask.on(section)
    assert (on.cpus_per_task, on.least_cpus, on.min_cpus) == numbers
    ask = asked_on_site(Request(tasks=2, memory=memory, memory_per="cpu"), site, state)[1]
    on = ask.on(section)
    assert (on.cpus_per_task, on.least_cpus, on.min_cpus) == (4, 1, 8)  # a node may give one
    site = site.replace(partitions=(replace(part, max_memory_per="node"),))
    assert not asked_on_site(Request(memory=memory), site, state)[1].on(section).suits


def test_memory_counts_for_cpus_where_it_is_no_resource() -> None:
    """Two requests that differ in memory alone: one of them costs all cpus of a node."""
    part = Partition(name="batch", nodes=("a", "b"), default=True, max_memory=900 << 10)
    site = SITE.replace(partitions=(part,), config={"SLURM_VERSION": "24.11.5"})
    small, large = (Request(memory=much << 10) for much in (700, 3600))
    jobs = Workload.build(
        submit=[0, 0, 0], run=[50] * 3, request=[60] * 3, procs=[1] * 3, user=[0] * 3,
        requests=Requests.of_jobs([small, large, large]),
    )  # fmt: skip
    made = run_slurm(jobs, site, jobs.requests)
    assert made.start[0] == min(made.start[1:]) == 0
    assert max(made.start) >= 50


def _asked(state: SlurmState, site: Site, line: str, **more: object) -> Job:
    """A job as sbatch would submit it."""
    request = apply_options(parse_line(f"sbatch {line}"), Request())
    partitions, ask = asked_on_site(request, site, state)
    made = {"id": 1, "ask": ask, "limit": 600, "user": "u", "partitions": partitions}
    return Job(**made | {"qos": request.qos} | more)  # type: ignore[arg-type]


BOUNDED = Site(
    nodes=tuple(Node(name=name, amounts=(4,)) for name in "abc"),
    partitions=(
        Partition(name="narrow", nodes=("a", "b", "c"), default=True, max_nodes=2, max_time=900),
        Partition(name="wide", nodes=("a", "b", "c"), min_nodes=2),
    ),
)


@pytest.mark.parametrize(
    ("line", "flags", "nodes"),
    [
        ("-n 8", "", [0b110]),  # not two cpus of the first node and two more nodes
        ("-N 1-3", "", []),  # it names more than the partition gives a job
        ("-N 1-3", "PartitionMaxNodes", [0b111]),
        ("-n 9", "PartitionMaxNodes", []),  # no -N that the flag could lift the bound for
        ("-n 1 -p wide", "", [0b011]),
        ("-N 1 -p wide", "", []),
        ("-N 1 -p wide", "PartitionMinNodes", [0b001]),
        ("-n 1 -p narrow,wide", "", [0b001]),
    ],
)
@pytest.mark.parametrize("version", ["22.05.8", "24.11.5", "26.05.5"])
def test_a_partition_bounds_the_nodes_of_a_job(
    version: str, line: str, flags: str, nodes: list[int]
) -> None:
    """MaxNodes and MinNodes; a QOS may lift both, for jobs that name their number of nodes."""
    site = BOUNDED.replace(
        config={"SLURM_VERSION": version}, qos=(Qos(name="q", flags=frozenset({flags} - {""})),)
    )
    state = state_of(site)
    small = _asked(state, site, "-n 2", priority=9)
    state.waiting = [small]
    assert [one.nodes for one in main_pass(state, 10).starts] == [0b001]
    state.waiting = [_asked(state, site, f"{line} --qos=q", id=2, record=1, priority=8)]
    assert [one.nodes for one in main_pass(state, 20).starts] == nodes


def test_a_task_that_starts_counts_for_the_next_one() -> None:
    """Backfill starts two tasks of three where a user may run two jobs; the third has no plan."""
    one = Qos(name="few", limits=Limits(user_jobs=2))
    site = SITE.replace(config={}, qos=(one,), enforce=frozenset({"limits"}))
    state = state_of(site)
    array = _asked(state, site, "-n 1 -p batch --qos=few", priority=9, tasks=[1, 2, 3], array=1)
    state.waiting = [array]
    found = backfill_pass(state, 10)
    assert [one.task for one in found.starts] == [1, 2]
    assert found.plans == []


@pytest.mark.parametrize(("version", "stay"), [("22.05.8", True), ("24.11.5", False)])
def test_the_preference_of_a_limit_on_nodes_stays(version: str, stay: bool) -> None:
    """Up to 23.02 plans prefer the nodes that the last start under a limit on nodes did."""
    few = Qos(name="few", limits=Limits(group_resources={"nodes": 2}))
    site = BOUNDED.replace(
        config={"SLURM_VERSION": version}, qos=(few,), enforce=frozenset({"limits"})
    )
    state = state_of(site)
    state.waiting = [_asked(state, site, "-n 2 -w c --qos=few", priority=9)]
    assert [one.nodes for one in main_pass(state, 10).starts] == [0b100]
    state.waiting = [_asked(state, site, "-N 2 --exclusive --qos=few", id=2, record=1, priority=8)]
    assert main_pass(state, 20).starts == []
    first, _, third = state.weights.tolist()
    assert (first > third) == stay
    state.waiting.append(_asked(state, site, "-n 2 -x c", id=3, record=2, priority=7))
    main_pass(state, 30)
    assert state.weights.tolist()[0] == third


@pytest.mark.parametrize(("flags", "starts", "plans"), [("", [], 1), ("NoReserve", [2], 1)])
def test_a_job_without_a_reservation_bars_no_other(
    flags: str, starts: list[int], plans: int
) -> None:
    """All nodes are planned for one that waits: the job behind it is longer than the hole."""
    site = BOUNDED.replace(qos=(Qos(name="q", flags=frozenset({flags} - {""})),))
    state = state_of(site)
    state.waiting = [_asked(state, site, "-N 2 --exclusive", limit=60, id=9)]
    main_pass(state, 0)
    wide = _asked(state, site, "-n 9 -p wide --qos=q", id=1, record=1, priority=9)
    state.waiting = [wide, _asked(state, site, "-n 1", id=2, record=2, priority=8)]
    found = backfill_pass(state, 10)
    assert [one.job for one in found.starts] == starts
    assert len([one for one in found.plans if one.job == 1]) == plans


@pytest.mark.parametrize("backfill", [False, True])
def test_a_qos_may_let_jobs_run_longer_than_the_partition(backfill: bool) -> None:
    """Its limit is 1,000 s and that of the partition 900; without the flag it is in no pass."""
    for flags, limits in (((), []), (("PartitionTimeLimit",), [1000])):
        site = BOUNDED.replace(qos=(Qos(name="q", flags=frozenset(flags)),))
        state = state_of(site)
        state.waiting = [_asked(state, site, "-n 1 --qos=q", limit=1000)]
        (backfill_pass if backfill else main_pass)(state, 10)
        assert [one.limit for one in state.running] == limits


@pytest.mark.parametrize(("flags", "count"), [((), 1), (("OverPartQOS",), 2)])
def test_the_limits_of_a_qos_may_come_before_the_partitions(
    flags: tuple[str, ...], count: int
) -> None:
    """The partition's QOS permits one job, the jobs' own two."""
    few = Qos(name="few", limits=Limits(group_jobs=1))
    own = Qos(name="q", limits=Limits(group_jobs=2), flags=frozenset(flags))
    parts = (Partition(name="batch", nodes=("a", "b", "c"), default=True, qos="few"),)
    site = BOUNDED.replace(partitions=parts, qos=(few, own), enforce=frozenset({"limits"}))
    state = state_of(site)
    state.waiting = [
        _asked(state, site, "-n 1 --qos=q", id=k, record=k, priority=9 - k) for k in (1, 2, 3)
    ]
    assert len(main_pass(state, 10).starts) == count


@pytest.mark.parametrize(("words", "count"), [("default_queue_depth=1", 2), ("", 4)])
def test_each_task_of_an_array_counts_for_the_depth_of_a_pass(words: str, count: int) -> None:
    """A pass looks at one record more than default_queue_depth, and so at two tasks."""
    site = BOUNDED.replace(config={"SchedulerParameters": words})
    state = state_of(site)
    state.waiting = [_asked(state, site, "-n 1", priority=9, tasks=[1, 2, 3, 4], array=1)]
    assert [one.task for one in main_pass(state, 10).starts] == [1, 2, 3, 4][:count]


@pytest.mark.parametrize(
    ("line", "nodes"),
    [("-N 1-3", [0b011]), ("-n 9", []), ("-N 3", []), ("-N 1-3 --use-min-nodes", [0b001])],
)
def test_a_limit_on_nodes_bounds_what_a_job_aims_at(line: str, nodes: list[int]) -> None:
    """Of three nodes a job may have two; one that needs three is over the limit."""
    few = Qos(name="few", limits=Limits(job_resources={"nodes": 2}))
    site = BOUNDED.replace(
        partitions=(Partition(name="batch", nodes=("a", "b", "c"), default=True),),
        qos=(few,),
        enforce=frozenset({"limits"}),
    )
    state = state_of(site)
    state.waiting = [_asked(state, site, f"{line} --exclusive --qos=few")]
    assert [one.nodes for one in main_pass(state, 10).starts] == nodes


@pytest.mark.parametrize("version", ["22.05.8", "24.11.5", "26.05.5"])
@pytest.mark.parametrize("line", ["-n 1", "-n 1 -c 2", "-N 1 -n 2"])
def test_jobs_of_one_node_go_to_the_least_loaded(version: str, line: str) -> None:
    """With LLN, also where a job of one node else gets the first that fits."""
    part = Partition(name="batch", nodes=("a", "b", "c"), default=True, least_loaded=True)
    site = BOUNDED.replace(partitions=(part,), config={"SLURM_VERSION": version})
    state = state_of(site)
    state.waiting = [_asked(state, site, "-n 2 -w a", priority=9)]
    assert [one.nodes for one in main_pass(state, 10).starts] == [0b001]
    state.waiting = [_asked(state, site, line, id=2, record=1, priority=8)]
    assert [one.nodes for one in main_pass(state, 20).starts] == [0b010]


def test_gpus_bring_cpus_along_by_default() -> None:
    """DefCpuPerGPU=3: not for a job that names its cpus per task or per GPU."""
    nodes = (Node(name="a", amounts=(4, 4)), Node(name="b", amounts=(4, 0)))
    part = Partition(name="batch", nodes=("a", "b"), default=True, default_cpus_per_gpu=3)
    site = Site(nodes=nodes, resources=("cpus", "gpu"), partitions=(part,))
    held = []
    for words in ("", " -c 1", " -c 2", " --cpus-per-gpu=4"):
        state = state_of(site)
        state.waiting = [_asked(state, site, f"-n 1 --gres=gpu:1{words}")]
        main_pass(state, 10)
        held.append([one.cpus for one in state.running])
    assert held == [[3], [1], [2], [4]]


@pytest.mark.parametrize("version", ["22.05.8", "24.11.5", "26.05.5"])
def test_jobs_of_one_cpu_are_packed_at_the_end(version: str) -> None:
    """pack_serial_at_end: the last node, also where a job of one node gets the first that fits."""
    words = {"SchedulerParameters": "pack_serial_at_end", "SLURM_VERSION": version}
    state = state_of(site := BOUNDED.replace(config=words))
    state.waiting = [
        _asked(state, site, line, id=k, record=k, priority=9 - k)
        for k, line in enumerate(("-n 1", "-n 1 -c 2"), 1)
    ]
    assert [one.nodes for one in main_pass(state, 10).starts] == [
        0b100,
        0b001 if version[:2] == "26" else 0b100,
    ]


def test_the_cpus_that_memory_adds_may_be_missing_on_the_last_node() -> None:
    """MaxMemPerCPU=1000: two tasks of two cpus, of which the second node gives one."""
    part = Partition(name="batch", nodes=("a", "b", "c"), default=True, max_memory=1000 * 1024)
    site = Site(
        nodes=tuple(Node(name=name, amounts=(4, 9000 * 1024)) for name in "abc"),
        resources=("cpus", "memory"),
        partitions=(part,),
        config={"SelectTypeParameters": "CR_Core_Memory"},
    )
    state = state_of(site)
    state.waiting = [_asked(state, site, "-N 2 -n 2 --mem-per-cpu=1500")]
    main_pass(state, 10)
    assert [one.cpus for one in state.running] == [3]
