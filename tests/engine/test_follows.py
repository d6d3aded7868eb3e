"""Jobs that follow others: against a naive loop, and against the same submissions known before."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import shadowtime
from shadowtime.cluster import Cluster, Host
from shadowtime.cluster.site import Node, Site
from shadowtime.engine import simulate
from shadowtime.engine.rules import rules_of
from shadowtime.errors import InputError, PolicyError
from shadowtime.metrics import measure
from shadowtime.policy import parse_policy
from shadowtime.report import explain
from shadowtime.schedule.check import check
from shadowtime.verify.proof import follows
from shadowtime.workload import Workload
from shadowtime.workload.follows import (
    ENDED,
    SUBMITTED,
    as_submitted,
    follow_table,
    submissions,
)

WORLDS = int(os.environ.get("SHADOWTIME_WORLDS", "12"))


def world(seed: int, *, cancels: bool = False) -> Workload:
    """A random workload on 8 processors: ids in any order, relations of both kinds."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    run = rng.integers(1, 60, n)
    ids = rng.permutation(n) + 1
    relations = [
        (int(ids[child]), int(ids[parent]), int(rng.choice([0, 0, 1, 30])), int(rng.random() < 0.2))
        for child in range(1, n)
        for parent in rng.choice(child, int(rng.integers(0, min(child, 3) + 1)), replace=False)
        if rng.random() < 0.8
    ]
    relations.append((int(ids[0]), n + 5, 7, ENDED))  # one that the log does not have
    extra = {}
    if cancels:
        submit = np.sort(rng.integers(0, 300, n))
        leaves = rng.random(n) < 0.2
        extra["cancel_at"] = np.where(leaves, submit + rng.integers(0, 50, n), -1)
    else:
        submit = rng.integers(0, 300, n)
    return Workload.build(
        submit=submit, run=run, procs=rng.integers(1, 9, n), job_id=ids, extra=extra,
        request=run + rng.integers(0, 30, n), user=rng.integers(1, 4, n),
        follows=follow_table(relations),
    )  # fmt: skip


def naive(jobs: Workload, procs: int, *, backfills: bool) -> dict[int, tuple[int, int]]:
    """FCFS or EASY second by second: submission and start of each job by id."""
    number = {int(job): row for row, job in enumerate(jobs.job_id)}
    waits_for = {
        row: [(number[p], s, k) for c, p, s, k in jobs.follows.tolist() if c == job and p in number]
        for job, row in number.items()
    }
    came: dict[int, int] = {}
    start: dict[int, int] = {}
    end: dict[int, int] = {}
    now = 0
    while len(start) < len(jobs):
        before = -1
        while len(came) != before:  # a submission may bring another one at the same instant
            before = len(came)
            for row, others in waits_for.items():
                since = [(end if kind == ENDED else came).get(other, 10**9) + seconds
                         for other, seconds, kind in others]  # fmt: skip
                due = max(since) if since else int(jobs.submit[row])
                if row not in came and due <= now:
                    came[row] = now
        free = procs - sum(int(jobs.procs[row]) for row in start if end[row] > now)
        queue = sorted(
            (row for row in came if row not in start),
            key=lambda row: (came[row], int(jobs.job_id[row])),
        )
        shadow = extra = -1
        for row in queue:
            need, length = int(jobs.procs[row]), int(jobs.request[row])
            if shadow < 0 and need > free:  # the head
                if not backfills:
                    break
                room, shadow = free, now
                held = sorted((start[r] + int(jobs.request[r]), r) for r in start if end[r] > now)
                for until, other in held:
                    if room >= need and until > shadow:
                        break
                    room, shadow = room + int(jobs.procs[other]), until
                extra = room - need
            elif need <= free and (shadow < 0 or now + length <= shadow or need <= extra):
                if shadow >= 0 and now + length > shadow:
                    extra -= need
                start[row], end[row] = now, now + int(jobs.run[row])
                free -= need
        now += 1
    return {int(jobs.job_id[row]): (came[row], start[row]) for row in start}


@pytest.mark.parametrize("policy", ["fcfs", "easy"])
def test_every_job_comes_and_starts_as_in_a_naive_loop(policy: str) -> None:
    for seed in range(WORLDS):
        jobs = world(seed)
        made = simulate(jobs, Cluster.pool(8), parse_policy(policy))
        rows = zip(made.job_id, made.submit, made.start, strict=True)
        found = {int(job): (int(submit), int(start)) for job, submit, start in rows}
        assert found == naive(jobs, 8, backfills=policy == "easy"), seed


POLICIES = ["easy", "conservative", "easy++", "easy-sjbf", "sjf", "lxfw", "greedy", "wfp3",
            "priority-conservative", "easy(estimate=last)"]  # fmt: skip


@pytest.mark.parametrize("policy", POLICIES)
def test_a_run_is_that_of_its_submissions_known_before(policy: str) -> None:
    """The pool's own passes, which know nothing of relations, start every job at the same time."""
    part = parse_policy(policy)
    for seed in range(WORLDS):
        jobs = world(seed)
        made = simulate(jobs, Cluster.pool(8), part)
        assert (made.submit == submissions(jobs, made)).all(), seed
        known, row = as_submitted(jobs, made.submit)
        again = simulate(known, Cluster.pool(8), part)
        assert (again.start == made.start[row]).all(), seed


@pytest.mark.parametrize("policy", ["easy", "conservative", "easy++"])
def test_on_a_site_with_cancellations_too(policy: str) -> None:
    site = Site(nodes=tuple(Node(name=name, amounts=(4,)) for name in "ab"))
    part = parse_policy(policy)
    for seed in range(WORLDS):
        jobs = world(seed, cancels=True)
        made = simulate(jobs, site, part)
        ran = made.start >= 0
        assert (made.submit[ran] == submissions(jobs, made)[ran]).all(), seed
        known, row = as_submitted(jobs, made.submit)
        again = simulate(known, site, part)
        assert (again.start == made.start[row]).all(), seed


def test_uncompiled_as_here() -> None:
    """In a process of its own, as compiling is decided once for each."""
    code = (
        "import sys; sys.path.insert(0, 'tests/engine')\n"
        "from test_follows import *\n"
        "for policy in ('easy', 'conservative', 'easy++'):\n"
        "    for seed in range(8):\n"
        "        print(simulate(world(seed), Cluster.pool(8), parse_policy(policy)).start.tolist())"
    )
    seen = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    ).stdout  # fmt: skip
    here = [
        simulate(world(seed), Cluster.pool(8), parse_policy(policy)).start.tolist()
        for policy in ("easy", "conservative", "easy++")
        for seed in range(8)
    ]
    assert seen.splitlines() == [str(each) for each in here]


def test_jobs_in_a_circle_are_refused() -> None:
    circle = follow_table([(1, 2, 0, ENDED), (2, 1, 0, SUBMITTED)])
    jobs = Workload.build(submit=[0, 0, 0], run=[1] * 3, procs=[1] * 3, follows=circle)
    with pytest.raises(InputError, match="job 1 of workload follows itself by way of others"):
        simulate(jobs, Cluster.pool(8), parse_policy("easy"))


@pytest.mark.parametrize(
    ("policy", "cluster", "why"),
    [
        ("pv-easy", Cluster.pool(8), "stop or change jobs"),
        ("los", Cluster.pool(8), "selects"),
        ("easy", Cluster(shape="hosts", hosts=(Host("a", (8,)), Host("b", (8,)))), "not on hosts"),
    ],
)
def test_what_the_loop_does_not_know_is_refused(policy: str, cluster: Cluster, why: str) -> None:
    with pytest.raises(PolicyError, match=why):
        simulate(world(1), cluster, parse_policy(policy))


@pytest.mark.parametrize("policy", ["easy", "conservative", "easy-sjbf"])
def test_a_schedule_is_proved_and_a_start_too_early_is_found(policy: str) -> None:
    machine, part = Cluster.pool(8), parse_policy(policy)
    for seed in range(8):
        jobs = world(seed)
        made = simulate(jobs, machine, part)
        rules = rules_of(part, jobs, machine)
        found = check(made, jobs, machine, rules=rules, again=simulate(jobs, machine, part))
        assert found.ok, found.first_violation
        assert "after-others" in {proof.name for proof in found.proofs}
        assert follows(made, jobs, machine, part).verdict == "proved"
    row = int(np.flatnonzero(made.submit > 20)[-1])
    start = made.start.copy()
    start[row] = made.submit[row] - 1
    wrong = check(made.replace(start=start, end=made.end - made.start + start), jobs, machine)
    why = {proof.name: proof for proof in wrong.proofs}["after-others"]
    assert why.verdict == "violated" and f"job {jobs.job_id[row]} starts at" in why.detail


def chain() -> Workload:
    """Two of a workflow on one processor, and one between them."""
    return Workload.build(
        submit=[0, 0, 5], run=[10, 10, 20], procs=[1, 1, 1],
        follows=follow_table([(2, 1, 30, ENDED)]),
    )  # fmt: skip


def test_waits_count_from_the_submission_and_workflows_are_measured() -> None:
    """The third runs from 10 to 30, the second comes at 40."""
    made = simulate(chain(), Cluster.pool(1), parse_policy("easy"))
    found = measure(made, chain(), Cluster.pool(1))
    assert made.submit.tolist() == [0, 40, 5] and made.start.tolist() == [0, 40, 10]
    assert found["wait_max_s"] == 5 and found["workflows"] == 1
    assert found["workflow_makespan_mean_s"] == 50 and found["workflow_slowdown_mean"] == 1.0


def test_an_explanation_names_the_job_that_was_waited_for() -> None:
    made = simulate(chain(), Cluster.pool(1), parse_policy("easy"))
    lines = " ".join(explain(chain(), made, 2, cluster=Cluster.pool(1)).lines)
    assert (
        "Before it is submitted it waits for the end of job 1 (day 0, 00:00:10) and 30 s more."
        in lines
    )


def test_functions_see_the_workflow() -> None:
    """The longest path first: job 3, though it came last."""
    jobs = Workload.build(
        submit=[0, 1, 2, 2], run=[10, 5, 5, 50], procs=[1, 1, 1, 1],
        follows=follow_table([(4, 3, 0, ENDED)]),
    )  # fmt: skip

    @shadowtime.order
    def longest_path(now, job):
        return job.remaining_path + 0 * job.children + 0 * job.workflow

    made = simulate(jobs, Cluster.pool(1), shadowtime.easy(order=longest_path))
    assert made.start.tolist() == [0, 65, 10, 15]


def test_a_result_folder_keeps_relations(tmp_path) -> None:
    run = shadowtime.simulate(chain(), "pool:1", "easy")
    run.save(tmp_path / "out")
    again = shadowtime.load(tmp_path / "out")["easy"]
    assert again.workload.follows.tolist() == chain().follows.tolist()
    assert again.check().ok
