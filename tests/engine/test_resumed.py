"""A run of a compiled pass that is killed and continues from its checkpoint: equal job by job."""

from __future__ import annotations

import tempfile
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from conftest import examples, written_on
from engine.node_worlds import as_cluster as node_machine
from engine.node_worlds import as_workload as node_workload
from engine.node_worlds import node_worlds
from engine.site_worlds import sites, workloads
from engine.test_changing import PROCS, workload_of
from engine.test_changing import logs as changing_logs
from engine.test_site_multifactor import weighed
from engine.worlds import as_cluster, as_workload, worlds
from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Site
from shadowtime.engine import simulate, watch
from shadowtime.engine.saved import as_pieces, put_back
from shadowtime.engine.watch import Watch
from shadowtime.kernel.columns import whole
from shadowtime.policy import parse_policy
from shadowtime.schedule import Schedule
from shadowtime.verify.world import Job
from shadowtime.workload import Workload
from shadowtime.workload.follows import ENDED, follow_table

ON_POOLS = (
    "easy",
    "easy++",
    "easy-sjbf",
    "conservative",
    "conservative(compress=no)",
    "lxfw(reserve=3)",
    "easy(order=sjf, preempt=never, reserve=2)",
    "pv-easy",
    "greedy",
)
ON_SITES = ("easy", "conservative", "conservative(compress=no)", "easy++", "sjf", "pv-easy")
FEW = settings(max_examples=examples(25), deadline=None)


class Killed(BaseException):
    """The process ends here."""


def assert_continues(jobs: Workload, machine: Any, name: str, *, kills: int = 3) -> None:
    """A run that is killed after every second checkpoint makes each pass once, to the same end."""
    policy = parse_policy(name)
    whole = simulate(jobs, machine, policy)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        file = Path(folder) / "key.checkpoint"
        real, made, last = watch.write_checkpoint, [0], [0]

        def write(*arguments: Any, **named: Any) -> None:
            real(*arguments, **named)
            made[0] += 1
            if made[0] == last[0]:
                raise Killed

        patch.setattr(watch, "write_checkpoint", write)
        seen = Watch(checkpoint=file, saved_every=0)
        assert_equal(simulate(jobs, machine, policy, watch=seen), whole)
        every, made[0] = made[0], 0
        file.unlink(missing_ok=True)
        for _ in range(kills):
            last[0] = made[0] + 2
            if last[0] <= every:
                with pytest.raises(Killed):
                    simulate(jobs, machine, policy, watch=seen)
        last[0] = -1
        assert_equal(simulate(jobs, machine, policy, watch=seen), whole)
        assert made[0] == every


def assert_equal(one: Schedule, other: Schedule) -> None:
    """All columns, attempts, places, counters."""
    for each in fields(one):
        mine, theirs = getattr(one, each.name), getattr(other, each.name)
        if each.name == "attempts":
            assert all(map(np.array_equal, vars(mine).values(), vars(theirs).values()))
        elif each.name == "place" and mine is not None:
            assert list(mine) == list(theirs)
        else:
            assert np.array_equal(mine, theirs), each.name


@pytest.mark.parametrize("name", ON_POOLS)
def test_on_a_pool(name: str) -> None:
    """Every pass of pools, with jobs that outlive their estimates."""

    @FEW
    @given(worlds(overruns=True))
    def holds(world: tuple[list[Job], tuple[int, ...]]) -> None:
        jobs, machine = as_workload(world[0]), as_cluster(world[1])
        assert_continues(jobs, machine, name)

    holds()


def test_with_three_resources() -> None:
    """The pass for pools of several resources."""

    @FEW
    @given(worlds(resources=3))
    def holds(world: tuple[list[Job], tuple[int, ...]]) -> None:
        jobs, machine = as_workload(world[0]), as_cluster(world[1])
        for name in ("easy", "ibb"):
            assert_continues(jobs, machine, name)

    holds()


@pytest.mark.parametrize("name", ON_SITES)
def test_on_a_site(name: str) -> None:
    """Every pass of sites, with outages, dependencies, arrays and cancellations."""

    @FEW
    @given(workloads(overruns=True), sites())
    def holds(jobs: Workload, site: Site) -> None:
        assert_continues(jobs, site, name)

    holds()


@pytest.mark.parametrize("name", ["rua", "conservative(place=less-consume)", "consres"])
def test_on_nodes(name: str) -> None:
    """Jobs that slow each other down: rates, penalties and plans."""

    @FEW
    @given(node_worlds())
    def holds(world: Any) -> None:
        jobs = node_workload(world[0])
        assert_continues(jobs, node_machine(world[1]), name)

    holds()


@pytest.mark.parametrize("name", ["easy", "conservative"])
def test_by_priority(name: str) -> None:
    """Usage and priorities, which are kept beside the tables."""

    @FEW
    @given(workloads(), weighed())
    def holds(jobs: Workload, world: tuple[Site, dict[str, Any]]) -> None:
        text = f"{name}(order=multifactor)"
        users = enumerate(jobs.user.tolist())
        asked = jobs.requests
        assert asked is not None
        assume(any(who == 0 or (who == 1 and not asked[row].account) for row, who in users))
        assert_continues(jobs, world[0], text)

    holds()


def test_what_functions_of_a_policy_learned_is_kept(tmp_path: Path) -> None:
    """The memory of a user's functions is among the tables."""
    file = tmp_path / "mine.py"
    file.write_text(
        "import shadowtime as st\n"
        "@st.order(memory=1)\n"
        "def by_use(now, job, user):\n"
        "    return -user[0] + 0.01 * job.wait\n"
        "@by_use.learn\n"
        "def _(now, job, user):\n"
        "    user[0] += job.ran * job.procs\n"
    )

    @FEW
    @given(worlds())
    def holds(world: tuple[list[Job], tuple[int, ...]]) -> None:
        assert_continues(as_workload(world[0]), as_cluster(world[1]), f"{file}:by_use")

    holds()


@pytest.mark.parametrize("name", ["easy", "conservative"])
def test_jobs_that_follow_others(name: str) -> None:
    """When they are submitted depends on what the run has done before it was killed."""

    @FEW
    @given(worlds(), st.integers(0, 9))
    def holds(world: tuple[list[Job], tuple[int, ...]], pause: int) -> None:
        jobs = as_workload(world[0])
        ids = jobs.job_id.tolist()
        chain = [(two, one, pause, ENDED) for one, two in pairwise(ids[::2])]
        assert_continues(jobs.replace(follows=follow_table(chain)), as_cluster(world[1]), name)

    holds()


@pytest.mark.parametrize(
    ("page", "file", "name"),
    [
        ("malleable.md", "malleable.py", "shrink_to_start"),
        ("speed-scaling.md", "pace.py", "harmless"),
    ],
)
def test_jobs_that_change(page: str, file: str, name: str, tmp_path: Path) -> None:
    """Sizes, speeds and pieces so far, and the work that is left."""
    policy = f"{written_on(page, file, tmp_path)}:{name}"

    @FEW
    @given(changing_logs())
    def holds(jobs: list[dict[str, Any]]) -> None:
        assert_continues(workload_of(jobs), Cluster.pool(PROCS), policy)

    holds()


@pytest.mark.parametrize("rows", [2, 5])
def test_a_table_comes_back_with_its_type(rows: int) -> None:
    """Compiled code takes no table whose columns are aligned otherwise, also where it has grown."""
    begun, grown = np.zeros(2, whole("from", "until")), np.zeros(rows, whole("from", "until"))
    grown["until"] = 7
    raw = b"".join(bytes(piece) for piece in as_pieces((grown,)))
    (found,), _ = put_back((begun,), memoryview(raw))
    assert found.dtype is begun.dtype or found.dtype.isalignedstruct
    assert found["until"].tolist() == [7] * rows
