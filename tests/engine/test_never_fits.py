"""A live pass with jobs that fit on no available host ends, and the others start."""

from __future__ import annotations

import faulthandler
from importlib import import_module

import pytest

from shadowtime.cluster import Cluster, Host
from shadowtime.engine.live_pass import Memory, RunningJob, Snapshot, WaitingJob
from shadowtime.engine.live_pass.decide import decide, forward
from shadowtime.policy import catalogue, parse_policy

LIVE = [
    policy.name for policy in catalogue() if not policy.name.startswith("part-")
]  # classes need a partition table of their own
POOLED = [name for name in LIVE if name not in ("consres", "lessc", "hperf")]


@pytest.fixture(autouse=True)
def _no_spinning():
    """Compiled code cannot be interrupted, so a pass in an endless loop ends the process."""
    faulthandler.dump_traceback_later(300, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def a_drained_node(*, running: bool) -> Snapshot:
    """Three of four nodes are usable; the first job in the queue needs all four."""
    nodes = Cluster(shape="nodes", hosts=tuple(Host(f"n{k}", (4, 8)) for k in (1, 2, 3)),
                    resources=("procs", "memory"))  # fmt: skip
    runs = RunningJob(id="1", submit=0, need=(4, 4), request=100, start=0, place=(("n1", 4),))
    return Snapshot(
        now=10,
        cluster=nodes,
        running=(runs,) if running else (),
        waiting=(
            WaitingJob(id="2", submit=1, need=(16, 8), request=50),
            WaitingJob(id="3", submit=2, need=(4, 4), request=500),
            WaitingJob(id="4", submit=3, need=(4, 25), request=500),
            WaitingJob(id="5", submit=4, need=(2, 2), request=5),
        ),
    )


@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize("name", POOLED)
def test_a_job_that_cannot_fit_is_set_aside(name: str, running: bool) -> None:
    """Nothing is reserved for it, it is reported, and jobs that fit start."""
    made = decide(parse_policy(name), a_drained_node(running=running))
    assert [d.job for d in made.decisions] in (["3", "5"], ["5", "3"])
    assert made.unfit == ("2", "4")
    assert set(made.promises) == set()
    assert set(made.memory.jobs) >= {"2", "4"}, "their place in the queue is kept"


@pytest.mark.parametrize("name", ["pv-easy", "easy", "conservative", "lxfw"])
def test_it_is_first_again_when_the_node_is_back(name: str) -> None:
    """Its place in the queue is that of its submission, however long it was set aside."""
    before = a_drained_node(running=False).replace(running=())
    whole = before.cluster.replace(hosts=(*before.cluster.hosts, Host("n4", (4, 8))))
    first = decide(parse_policy(name), before.replace(waiting=before.waiting[:1]))
    late = WaitingJob(id="9", submit=12, need=(1, 1), request=9000)
    second = decide(
        parse_policy(name),
        before.replace(now=20, cluster=whole, waiting=(before.waiting[0], late)),
        first.memory,
    )
    assert [d.job for d in second.decisions] == ["2"]
    assert second.unfit == ()


@pytest.mark.parametrize("name", POOLED)
def test_the_look_ahead_leaves_them_out(name: str) -> None:
    """A job that never starts is not in the forecast and delays no other."""
    found = forward(parse_policy(name), a_drained_node(running=True))
    assert set(found) == {"3", "5"}


def test_pv_easy_ends_though_the_job_is_in_the_queue() -> None:
    """The pass itself is bounded, whatever fills the queue: the head is promised nothing."""
    from shadowtime.engine.live_pass.outcome import pooled
    from shadowtime.engine.live_pass.table import table_of
    from shadowtime.engine.plan import prepare
    from shadowtime.kernel import fields as f
    from shadowtime.kernel.registers import NEVER, WAKE

    policy = parse_policy("pv-easy")
    state = a_drained_node(running=True)
    for resources in (1, 2):
        cut = state.replace(
            cluster=Cluster.pool(12) if resources == 1 else pooled(state.cluster),
            waiting=tuple(
                WaitingJob(id=j.id, submit=j.submit, need=j.need[:resources], request=j.request)
                for j in state.waiting
            ),
            running=tuple(
                RunningJob(
                    id=j.id, submit=j.submit, need=j.need[:resources], request=j.request, start=0
                )
                for j in state.running
            ),
        )
        table = table_of(policy, cut, Memory(), cut.cluster)
        made = prepare(policy, cut.cluster, len(table.ids))
        table.state.reg[WAKE] = 10
        table.state.job[:, f.LIMIT] = table.world.truth[:, f.RUN] = NEVER
        run = import_module(f"shadowtime.engine.passes.{made.name}").run
        assert run(table.state, table.world, *made.arguments) == 0
        assert table.state.job[table.row_of["2"], f.START] == -1
        assert table.state.job[table.row_of["3"], f.START] == 10
