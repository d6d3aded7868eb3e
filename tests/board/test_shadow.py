"""A policy in shadow mode: its waits beside those of what really happened."""

from __future__ import annotations

import random

import pytest

from conftest import examples
from shadowtime.board.keeper import Keeper
from shadowtime.board.shadow import Shadow
from shadowtime.board.view import Estimates
from shadowtime.cluster.site import Node, Partition, Site
from shadowtime.engine import simulate
from shadowtime.errors import PolicyError
from shadowtime.eta.starts import Table
from shadowtime.live.slurm.forecast import Seen
from shadowtime.policy import parse_policy
from shadowtime.slurmtext.squeue import BETWEEN, COLUMNS, QueueRow, _queue_row
from shadowtime.workload.request import Request

T = 1_000_000


def site(nodes: int = 2, cpus: int = 4) -> Site:
    names = tuple(f"n{k}" for k in range(1, nodes + 1))
    return Site(
        nodes=tuple(Node(name=name, amounts=(cpus,)) for name in names),
        partitions=(Partition(name="batch", nodes=names, default=True),),
    )


def row(job: int, now: int, *, cpus: int, came: int, start: int, end: int, **more) -> QueueRow:
    """A row of squeue at a time, of a job that starts and ends at known times."""
    state = "PENDING" if now < start else "RUNNING" if now < end else "COMPLETED"
    texts = dict.fromkeys(COLUMNS, "") | {"JobArrayID": str(job), "PriorityLong": "9"}
    texts |= {"State": state, "Partition": "batch", "NumCPUs": str(cpus), "NumTasks": str(cpus)}
    texts |= {"TimeLimit": "1:00:00", "SubmitTime": str(came), "EligibleTime": str(came)}
    texts |= {"UserName": "eva", "Account": "physics", "OverSubscribe": "OK"}
    if state != "PENDING":
        texts |= {"StartTime": str(start), "NodeList": more.get("nodes", "n1")}
    if state == "COMPLETED":
        texts |= {"EndTime": str(end)}
    return _queue_row(BETWEEN.join(texts.values()))


def seen(now: int, jobs: list[dict], machine: Site) -> Seen:
    listed = [one for one in jobs if one["came"] <= now and (now - one["end"]) < 300]
    return Seen(now=now, site=machine, rows=tuple(row(now=now, **one) for one in listed))


def test_waits_saved_and_lost_are_counted() -> None:
    """One node of 4; the first ends at 100. Slurm takes 3 before 2, first come first served not."""
    machine = site(1)
    jobs = [
        {"job": 1, "cpus": 4, "came": T - 50, "start": T - 40, "end": T + 100},
        {"job": 2, "cpus": 4, "came": T + 1, "start": T + 200, "end": T + 250},
        {"job": 3, "cpus": 4, "came": T + 2, "start": T + 100, "end": T + 200},
    ]
    shadow = Shadow("fcfs")
    for now in (T, T + 50, T + 150, T + 260):
        found, _ = shadow.step(seen(now, jobs, machine), {"1": 1000, "2": 500, "3": 500})
    [everything] = [one for one in found["groups"] if one["kind"] == "all"]
    assert everything["jobs"] == 2 and everything["few"]
    assert everything["slurm"] == pytest.approx((199 + 98) / 2, abs=1)
    assert everything["policy"] == pytest.approx((99 + 148) / 2, abs=1)
    assert {one["kind"] for one in found["groups"]} == {
        "all",
        "day",
        "partition",
        "account",
        "user",
    }
    assert "shorter (124 s instead of 148 s)" in found["words"]


@pytest.mark.parametrize("seed", range(examples(10)))
def test_a_cluster_that_runs_the_policy_itself_has_the_same_waits(seed: int) -> None:
    """Reality made by EASY: the shadow of EASY saves and costs nothing, job by job."""
    rng = random.Random(seed)
    machine = site()
    table = Table()
    for _ in range(25):
        run = rng.randrange(5, 120)
        request = Request(tasks=rng.randrange(1, 5), partitions=("batch",))
        table.add(request, "eva", rng.randrange(1, 300), run, 3600)
    made = simulate(table.workload(epoch=T, on_site=True), machine, parse_policy("easy"))
    jobs = [
        {"job": int(job), "cpus": table.requests[job - 1].cpus, "start": T + int(start),
         "came": T + table.columns["submit"][job - 1], "end": T + int(end)}
        for job, start, end in zip(made.job_id, made.start, made.end, strict=True)
    ]  # fmt: skip
    shadow = Shadow("easy")
    last = max(one["end"] for one in jobs)
    for now in range(T, last + 100, 20):
        state = seen(now, jobs, machine)
        shadow._follow(state) if shadow._first is not None else shadow._begin(state)
    found = shadow._compare(last + 100, {})
    assert len(found) == 25 and any(one.slurm > 0 for one in found)
    for one in found:
        assert one.policy == one.slurm, one.job.id


def test_a_policy_that_a_site_cannot_run_is_refused() -> None:
    with pytest.raises(PolicyError):
        Shadow("easy++")


def test_users_in_a_comparison_are_hidden_too() -> None:
    groups = [{"kind": kind, "name": "eva"} for kind in ("all", "user", "account", "partition")]
    keeper = Keeper(hide=frozenset(["users"]))
    keeper.learn(Estimates(at=T, shadow={"policy": "easy", "groups": groups}))
    kinds = [one["kind"] for one in keeper.scores()["shadow"]["groups"]]
    assert kinds == ["all", "partition"]
