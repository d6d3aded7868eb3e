"""``slurm`` is a policy like any other, with Slurm's own parameter names."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import shadowtime as st
from conftest import recording_path
from shadowtime.cli import run
from shadowtime.cluster import Host
from shadowtime.cluster.site import Limits, Node, Partition, Qos, Site
from shadowtime.errors import PolicyError, UsageError
from shadowtime.policy import parse_policy
from shadowtime.workload.request import Request, Requests

SITE_HOSTS = (Host("a", (4,)),)
SITE = Site(nodes=(Node(name="a", amounts=(4,)), Node(name="b", amounts=(4,))))


def jobs() -> st.Workload:
    return st.Workload.build(submit=[0, 1, 2], run=[90, 50, 40], procs=[4, 8, 2])


def test_it_runs_wherever_a_policy_does() -> None:
    """simulate takes it by name; the wide job waits and the small one overtakes it."""
    made = st.simulate(jobs(), SITE, "slurm(bf_resolution=1, bf_interval=3)")
    start = made.schedule.start.tolist()
    assert start[2] < start[1] and start[1] >= 90
    assert made.schedule.reason.tolist()[2] == 3
    assert made.metrics["wait_mean_s"] > 0


def test_parameters_have_slurms_names_and_units() -> None:
    """A misspelt parameter is answered with near names; bf_window is minutes as in Slurm."""
    chosen = parse_policy("slurm(bf_window=2880, bf_busy_nodes=yes)")
    parameters = chosen.parameters_on({})
    assert parameters.bf_window == 172_800 and parameters.bf_busy_nodes
    with pytest.raises(PolicyError, match="bf_interval"):
        parse_policy("slurm(bf_intervall=3)")
    with pytest.raises(PolicyError, match="whole number"):
        parse_policy("slurm(bf_interval=x)")
    with pytest.raises(PolicyError, match="not modelled"):
        parse_policy("slurm(bf_continue=yes)")
    with pytest.raises(PolicyError, match="phase"):
        parse_policy("slurm(phase=6)")


def test_the_sites_own_parameters_hold_unless_changed() -> None:
    """SchedulerParameters of the site are the defaults."""
    config = {"SchedulerParameters": "bf_interval=7,bf_resolution=2"}
    parameters = parse_policy("slurm(bf_resolution=5)").parameters_on(config)
    assert (parameters.bf_interval, parameters.bf_resolution) == (7, 5)


def test_settings_without_effect_are_reported() -> None:
    """A parameter of the site that is not modelled is named before the run."""
    site = SITE.replace(config={"SchedulerParameters": "bf_interval=7,max_rpc_cnt=9,bf_continue"})
    [note] = parse_policy("slurm").notes_on(site)
    assert "max_rpc_cnt, bf_continue" in note
    assert parse_policy("slurm").notes_on(SITE) == []


def test_the_least_loaded_node_comes_first_under_lln() -> None:
    """CR_LLN: the largest share of free cpus, where the default fills the fullest node.

    The daemon counts free cpus for which memory is short: it gave a job of 24 cpus with 3 GB each
    the first of two nodes with 17 free cpus, although memory left only 13 of them usable.
    """
    one = st.Workload.build(submit=[0, 1, 2], run=[90, 90, 90], procs=[1, 1, 1])
    spread = SITE.replace(config={"SelectTypeParameters": "CR_Core,CR_LLN"})
    assert list(st.simulate(one, SITE, "slurm").schedule.place) == ["a:1"] * 3
    assert list(st.simulate(one, spread, "slurm").schedule.place) == ["a:1", "b:1", "a:1"]

    gigabyte = 1 << 20
    nodes = tuple(Node(name=name, amounts=(4, 8 * gigabyte)) for name in "abc")
    site = Site(nodes=nodes, resources=("cpus", "memory"), config=spread.config)
    asks = [
        Request(tasks=2, memory=7 * gigabyte, wanted=("a",)),
        Request(tasks=2, memory=1 * gigabyte, wanted=("b",)),
        Request(tasks=1, memory=1 * gigabyte, wanted=("c",)),
        Request(tasks=4, memory=1 * gigabyte, memory_per="cpu"),
    ]
    some = st.Workload.build(submit=[0, 1, 2, 9], run=[90] * 4, procs=[2, 2, 1, 4])
    some = some.replace(requests=Requests.of_jobs(asks))
    places = list(st.simulate(some, site, "slurm").schedule.place)
    assert places[3] == "a:1 c:3"


def test_ways_of_slurm_that_are_not_modelled_are_reported() -> None:
    """Sockets and threads as units, select/linear, suspended jobs: each is named before the run."""
    threads = Site(nodes=(Node(name="a", amounts=(4,), threads_per_core=2),))
    for site, config, named in (
        (SITE, {"SelectTypeParameters": "CR_CPU_Memory"}, None),
        (threads, {"SelectTypeParameters": "CR_CPU_Memory"}, None),
        (threads, {"SelectTypeParameters": "CR_CPU,CR_ONE_TASK_PER_CORE"}, "CR_ONE_TASK_PER_CORE"),
        (SITE, {"SelectTypeParameters": "CR_Socket,CR_LLN"}, "CR_SOCKET"),
        (SITE, {"SelectType": "select/linear"}, "select/linear"),
        (SITE, {"PreemptType": "preempt/qos", "PreemptMode": "SUSPEND,GANG"}, "SUSPEND"),
        (SITE, {"PreemptType": "preempt/qos", "PreemptMode": "REQUEUE"}, None),
    ):
        notes = parse_policy("slurm").notes_on(site.replace(config=config))
        assert len(notes) == (named is not None)
        assert named is None or named in notes[0]


def test_memory_per_cpu_counts_cpus_or_whole_cores() -> None:
    """Two threads per core: CR_Core charges a job of 3 cpus for 4, CR_CPU for 3 (both observed)."""
    gigabyte = 1 << 20
    nodes = (Node(name="a", amounts=(8, 7 * gigabyte), threads_per_core=2),)
    ask = Request(tasks=3, memory=gigabyte, memory_per="cpu")
    two = st.Workload.build(submit=[0, 1], run=[50, 50], procs=[3, 3])
    two = two.replace(requests=Requests.of_jobs([ask, ask]))
    for unit, both in (("CR_Core_Memory", False), ("CR_CPU_Memory", True)):
        config = {"SelectTypeParameters": unit}
        site = Site(nodes=nodes, resources=("cpus", "memory"), config=config)
        start = st.simulate(two, site, "slurm").schedule.start
        assert bool(start[1] < 50) is both


def test_square_brackets_want_one_feature_on_all_nodes() -> None:
    """[x|y]: two nodes with x or two with y, never one of each."""
    kinds = {"a": "x", "b": "y", "c": "y", "d": "x"}
    nodes = tuple(
        Node(name=name, amounts=(4,), features=frozenset(kind)) for name, kind in kinds.items()
    )
    asks = [
        Request(tasks=4, nodes=1, wanted=("a",)),
        Request(tasks=8, nodes=2, features="[x|y]"),
        Request(tasks=8, nodes=2, features="x|y"),
        Request(tasks=8, nodes=2, features="[x|y]"),
    ]
    work = st.Workload.build(submit=[0, 1, 2, 3], run=[90] * 4, procs=[4, 8, 8, 8])
    work = work.replace(requests=Requests.of_jobs(asks))
    made = st.simulate(work, Site(nodes=nodes), "slurm").schedule
    assert made.place is not None
    assert made.place[1] == "b,c:4"
    assert made.place[3] in ("b,c:4", "a,d:4")


def over_the_limit(parameters: str) -> list[int]:
    """Starts where the second job is over a limit of its QOS and the third is not."""
    capped = Qos(name="capped", limits=Limits(group_resources={"cpu": 4}))
    site = SITE.replace(
        qos=(capped, Qos(name="free")),
        enforce=frozenset({"limits"}),
        config={"SchedulerParameters": f"bf_interval=2,bf_resolution=1{parameters}"},
    )
    asks = [Request(tasks=4, qos=name) for name in ("capped", "capped", "free")]
    work = st.Workload.build(submit=[0, 1, 2], run=[60] * 3, procs=[4] * 3, request=[600] * 3)
    made = st.simulate(work.replace(requests=Requests.of_jobs(asks)), site, "slurm")
    return list(made.schedule.start.tolist())


def test_a_limit_stops_its_partition_with_assoc_limit_stop() -> None:
    """Without it a job over a limit is passed over; with it, its plan keeps a node from others."""
    first, second, third = over_the_limit("")
    assert first < 5 and third < 10 and second >= 59
    first, second, third = over_the_limit(",assoc_limit_stop")
    assert first < 5 and 59 <= second <= 70 and third >= second


def test_shared_bandwidth_is_refused() -> None:
    """A machine of nodes that share bandwidth is no site."""
    nodes = st.Cluster(shape="nodes", hosts=SITE_HOSTS)
    with pytest.raises(UsageError, match="site"):
        parse_policy("slurm").simulate(jobs(), nodes)


def test_the_command_describes_it(capsys: pytest.CaptureFixture[str]) -> None:
    """``policies slurm`` lists every parameter with its default."""
    assert run(["policies", "slurm", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["parameters"]["bf_max_job_test"] == 500


def test_a_recording_runs_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A site folder is a log and a cluster at once; the mean wait is near the recorded one."""
    folder = recording_path("A")
    assert run(["simulate", str(folder), "-p", "slurm", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["policies"][0]["metrics"]
    recorded = st.read(folder)
    truth = (recorded.recorded_start - recorded.submit).mean()
    assert found["wait_mean_s"] == pytest.approx(truth, rel=0.05)


def test_requeued_runs_are_attempts() -> None:
    """A preempted job is requeued: its lost run counts, and what the machine did is known."""
    site = SITE.replace(
        partitions=(
            Partition(name="low", nodes=("a", "b"), tier=1, default=True),
            Partition(name="high", nodes=("a", "b"), tier=2),
        ),
        config={
            "PreemptType": "preempt/partition_prio",
            "PreemptMode": "REQUEUE",
            "SchedulerParameters": "batch_sched_delay=0,bf_interval=3,bf_resolution=1",
        },
    )
    whole = Request(nodes=2, max_nodes=2, tasks=2, exclusive=True)
    log = st.Workload.build(
        submit=[0, 20], run=[100, 30], procs=[8, 8], request=[120, 60],
        requests=Requests.of_jobs([whole, replace(whole, partitions=("high",))]),
    )  # fmt: skip
    made = st.simulate(log, site, "slurm")
    assert made.schedule.kills.tolist() == [1, 0]
    assert made.schedule.attempts.killed.tolist() == [1, 0]
    assert made.schedule.start[1] < 30 and made.schedule.start[0] >= 20 + 121
    assert made.metrics["makespan_s"] > 160 and made.metrics["kills"] == 1


def test_phases_print_means_and_ranges(capsys: pytest.CaptureFixture[str]) -> None:
    """``simulate --phases`` shows no single start, and rejects options that would."""
    folder = str(recording_path("I"))
    assert run(["simulate", folder, "-p", "slurm", "--phases", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    wait = found["metrics"]["wait_mean_s"]
    assert found["phases"] == 2 and wait["low"] < wait["mean"] < wait["high"]
    assert run(["simulate", folder, "-p", "slurm(latency=3000)", "--phases", "2"]) == 0
    assert "wait_mean_s" in capsys.readouterr().out
    assert run(["simulate", folder, "-p", "easy", "--phases", "2"]) == 2
    assert "--policy slurm" in capsys.readouterr().err
    assert run(["simulate", folder, "-p", "slurm", "--phases", "2", "--schedule", "x.csv"]) == 2
    assert "choose one" in capsys.readouterr().err


def test_slow_nodes_delay_starts() -> None:
    """latency is how long nodes stay unusable after an end."""
    quick = st.simulate(jobs(), SITE, "slurm").schedule.start
    slow = st.simulate(jobs(), SITE, "slurm(latency=20000)").schedule.start
    assert slow[1] >= quick[1] + 19


def test_a_partitions_qos_counts_the_jobs_of_that_partition() -> None:
    """What a user runs elsewhere does not count; two jobs in it, or of that QOS, do."""
    nodes = tuple(Node(name=name, amounts=(4,)) for name in "abcd")
    site = Site(
        nodes=nodes,
        partitions=(
            Partition(name="batch", nodes=("a", "b"), default=True),
            Partition(name="gpu", nodes=("c", "d"), qos="few"),
        ),
        qos=(Qos(name="few", limits=Limits(user_resources={"cpus": 4})), Qos(name="normal")),
        enforce=frozenset({"limits"}),
        config={"SchedulerParameters": "bf_resolution=1,bf_interval=3"},
    )
    work = st.Workload.build(submit=[0, 0, 5, 6], run=[300, 300, 50, 40], procs=[4, 4, 4, 4])
    asked = [Request(tasks=4, qos="normal", partitions=("batch",))] * 2
    asked += [Request(tasks=4, qos="normal", partitions=("gpu",))] * 2
    start = st.simulate(
        work.replace(requests=Requests.of_jobs(asked)), site, "slurm"
    ).schedule.start
    assert start[2] < 30 and 55 <= start[3] < 90
    asked[0] = Request(tasks=4, qos="few", partitions=("batch",))
    start = st.simulate(
        work.replace(requests=Requests.of_jobs(asked)), site, "slurm"
    ).schedule.start
    assert start[2] >= 300
