"""Between two live passes, only freed resources move promises or cause a sweep."""

from __future__ import annotations

import json
from dataclasses import replace

from shadowtime.cluster.site import Node, Partition, Site
from shadowtime.engine.live_pass import Memory, RunningJob, Snapshot, Start, WaitingJob, decide
from shadowtime.policy import parse_policy
from shadowtime.workload.request import Request

POLICY = parse_policy("conservative")
SITE = Site(
    nodes=(Node(name="n1", amounts=(4,)), Node(name="n2", amounts=(4,))),
    partitions=(Partition(name="p", nodes=("n1", "n2"), default=True),),
)


def waits(job: str, cpus: int, request: int) -> WaitingJob:
    return WaitingJob(
        id=job, submit=int(job), need=(cpus,), request=request, user="ann",
        ask=Request(nodes=1, max_nodes=1, tasks=cpus, partitions=("p",)),
    )  # fmt: skip


def runs(job: str, node: str, request: int) -> RunningJob:
    return RunningJob(
        id=job, submit=int(job), need=(4,), request=request, user="ann", start=0,
        place=((node, 4),), held=((node, (4,)),), ask=Request(partitions=("p",)),
    )  # fmt: skip


FULL = Snapshot(
    now=10,
    cluster=SITE.as_nodes(),
    waiting=(waits("3", 4, 200), waits("4", 4, 50), waits("5", 4, 50)),
    running=(runs("1", "n1", 100), runs("2", "n2", 300)),
    site=SITE,
)
"""Job 3 is promised n1 from 100 to 300, jobs 4 and 5 a node each at 300."""


def remembered(state: Snapshot, memory: Memory | None = None) -> Memory:
    """The memory after a pass that starts nothing, through a state file."""
    made = decide(POLICY, state, memory or Memory(), shape="site")
    assert made.decisions == ()
    return Memory.from_json(json.loads(json.dumps(made.memory.to_json())))


def test_an_unchanged_site_is_not_swept_again() -> None:
    """The next pass is due with the first promise, not a second later."""
    memory = remembered(FULL)
    assert memory.compression is not None
    assert memory.compression.holds.keys() == {"1", "2"}
    made = decide(POLICY, replace(FULL, now=11), memory, shape="site")
    assert made.wake == 100
    assert made.promises == {"3": 100, "4": 300, "5": 300}
    assert made.memory.compression is not None
    assert not made.memory.compression.freed


def test_a_run_that_ends_early_moves_promises() -> None:
    memory = remembered(FULL)
    made = decide(POLICY, replace(FULL, now=20, running=FULL.running[:1]), memory, shape="site")
    assert [one.job for one in made.decisions if isinstance(one, Start)] == ["3"]
    assert made.promises == {"4": 100, "5": 150}


def test_a_run_whose_limit_is_cut_moves_promises() -> None:
    memory = remembered(FULL)
    cut = (FULL.running[0], replace(FULL.running[1], request=60))
    made = decide(POLICY, replace(FULL, now=20, running=cut), memory, shape="site")
    assert made.promises == {"3": 60, "4": 100, "5": 150}


def test_a_job_that_leaves_the_queue_gives_its_promise_back() -> None:
    memory = remembered(FULL)
    made = decide(POLICY, replace(FULL, now=20, waiting=FULL.waiting[1:]), memory, shape="site")
    assert made.promises == {"4": 100, "5": 150}


def test_a_shorter_request_gives_the_rest_of_a_promise_back() -> None:
    """Job 3 now ends at 150: there is room after it before n2 comes free."""
    memory = remembered(FULL)
    waiting = (replace(FULL.waiting[0], request=50), *FULL.waiting[1:])
    made = decide(POLICY, replace(FULL, now=20, waiting=waiting), memory, shape="site")
    assert made.promises == {"3": 100, "4": 150, "5": 200}


def test_a_node_that_comes_back_is_used() -> None:
    """Nothing but the node's state has changed."""
    closed = replace(FULL, running=FULL.running[1:], shut=("n1",))
    memory = remembered(closed)
    made = decide(POLICY, replace(closed, now=20, shut=()), memory, shape="site")
    assert [one.job for one in made.decisions if isinstance(one, Start)] == ["3"]


def test_another_site_has_every_promise_asked_again() -> None:
    memory = remembered(FULL)
    more = SITE.replace(
        nodes=(*SITE.nodes, Node(name="n3", amounts=(4,))),
        partitions=(Partition(name="p", nodes=("n1", "n2", "n3"), default=True),),
    )
    made = decide(POLICY, replace(FULL, now=20, site=more), memory, shape="site")
    assert [one.job for one in made.decisions if isinstance(one, Start)] == ["3"]


def test_a_memory_without_it_has_every_promise_asked_again() -> None:
    """The state file of a version that did not store it."""
    memory = replace(remembered(FULL), compression=None)
    made = decide(POLICY, replace(FULL, now=20, running=FULL.running[:1]), memory, shape="site")
    assert [one.job for one in made.decisions if isinstance(one, Start)] == ["3"]
