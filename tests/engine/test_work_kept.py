"""Stopped jobs that keep their work equal the slow reference, and work is conserved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from engine.site_worlds import assert_same as same_on_site
from engine.site_worlds import sites, workloads
from engine.test_priority import POOL, crowd, one
from engine.worlds import COLUMNS, as_cluster, as_workload, assert_same, simulated, worlds
from naive import shorthand as naive
from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Node, Site
from shadowtime.engine import plan, simulate
from shadowtime.engine.rules import rules_of
from shadowtime.errors import PolicyError
from shadowtime.metrics import measure
from shadowtime.policy import parse_policy
from shadowtime.schedule.check import check
from shadowtime.schedule.files import read, write
from shadowtime.verify import site as naive_site
from shadowtime.workload import Workload

EXAMPLES = settings(max_examples=examples(40), deadline=None)

VARIANTS = {
    "mode=suspend": {"every": 1},
    "mode=suspend, overhead=3": {"every": 1, "restart": 3},
    "mode=checkpoint, every=4, overhead=2": {"every": 4, "restart": 2},
    "mode=checkpoint, every=7, prune=yes": {"every": 7, "prune": True},
    "overhead=2": {"restart": 2},
    "mode=suspend, overhead=1, estimate=last-two": {
        "every": 1,
        "restart": 1,
        "predictor": "last-two",
    },
    "mode=checkpoint, every=3, overhead=1, estimate=requested": {
        "every": 3,
        "restart": 1,
        "predictor": "requested",
    },
}


def judged(workload, cluster, text):
    """The schedule of a policy and what check proves of it."""
    policy = parse_policy(text)
    schedule = simulate(workload, cluster, policy)
    return schedule, check(schedule, workload, cluster, rules=rules_of(policy, workload, cluster))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("resources", [1, 2])
@EXAMPLES
@given(data=st.data())
def test_equals_the_reference(variant, resources, data):
    """Every column and attempt on both passes, and what each attempt kept and spent."""
    jobs, capacity = data.draw(worlds(resources=resources, overruns=resources == 2))
    policy = f"pv-easy({variant})"
    schedule = simulated(jobs, capacity, policy)
    world = naive.pv_easy_world(jobs, capacity, **VARIANTS[variant])
    assert_same(schedule, world.result())
    attempts = schedule.attempts
    for job, expected in world.worked.items():
        mine = np.flatnonzero(attempts.job_id == job)
        pairs = zip(attempts.overhead[mine].tolist(), attempts.kept[mine].tolist(), strict=True)
        assert list(pairs)[:-1] == expected
    _, report = judged(as_workload(jobs), as_cluster(capacity), policy)
    assert report.ok, report.first_violation


@pytest.mark.parametrize("variant", list(VARIANTS)[1:3])
def test_fast_pass_equals_the_general_one(variant, monkeypatch):
    """In long queues too, where the fast pass uses its index."""
    jobs = one(crowd(6, jobs=2_000, overruns=True))
    jobs = jobs.replace(submit=jobs.submit // 4)
    chosen = parse_policy(f"pv-easy({variant})")
    fast = simulate(jobs, POOL, chosen)
    monkeypatch.setattr(plan, "is_venture", lambda *_: False)
    slow = simulate(jobs, POOL, chosen)
    assert int(fast.kills.sum()) > 50
    for name in COLUMNS:
        assert np.array_equal(getattr(fast, name), getattr(slow, name)), name
    assert np.array_equal(fast.attempts.kept, slow.attempts.kept)


JOBS = Workload.build(
    submit=[0, 10, 20, 30], run=[100, 90, 40, 5], procs=[2, 4, 2, 1], request=[200, 100, 90, 9]
)
"""Job 3 overtakes job 2, which waits for job 1, and is stopped for it at 100 s."""


@pytest.mark.parametrize(
    ("mode", "last_run", "lost", "again"),
    [
        ("mode=kill", 40, 20, 0),
        ("mode=suspend", 20, 0, 0),
        ("mode=suspend, overhead=7", 27, 0, 7),
        ("mode=checkpoint, every=15, overhead=7", 32, 5, 7),
    ],
)
def test_what_a_stop_costs(mode, last_run, lost, again):
    """Job 3 runs from 100 s back to its end for what it has not saved, and the restart."""
    jobs = JOBS.replace(run=np.array([40, 90, 40, 5]))
    schedule = simulate(jobs, Cluster.pool(4), parse_policy(f"pv-easy({mode})"))
    assert schedule.kills.tolist() == [0, 0, 1, 0]
    assert schedule.end[2] - schedule.start[2] == last_run
    found = measure(schedule, jobs, Cluster.pool(4))
    span = 4 * (int(schedule.end.max()) - 0)
    assert found["wasted_load"] == pytest.approx(2 * lost / span)
    assert found.get("restarting_s", 0) == again
    assert found["utilisation"] == pytest.approx(
        found["goodput"] + found["lost_work"] + found.get("restart_work", 0.0)
    )
    if mode != "mode=kill":
        assert schedule.worked.tolist() == jobs.effective_run.tolist()
        assert (schedule.wait + schedule.worked == schedule.end - jobs.submit).all()


def test_files_keep_the_work(tmp_path):
    """CSV and Parquet hold the work each attempt kept; a schedule read back is proved as before."""
    jobs = one(crowd(3, jobs=400, overruns=False))
    text = "pv-easy(mode=checkpoint, every=60, overhead=30)"
    schedule, report = judged(jobs, POOL, text)
    assert report.ok and "work-conserved" in {proof.name for proof in report.proofs}
    for name in ("a.csv", "a.parquet"):
        write(schedule, tmp_path / name)
        back = read(tmp_path / name)
        assert np.array_equal(back.attempts.kept, schedule.attempts.kept)
        assert np.array_equal(back.attempts.overhead, schedule.attempts.overhead)
        rules = rules_of(parse_policy(text), jobs, POOL)
        assert check(back, jobs, POOL, rules=rules).ok


@pytest.mark.parametrize(
    ("column", "more", "message"),
    [
        ("kept", 1, "not as long"),
        ("kept", -1, "all kept is not the job's run"),
        ("overhead", -1, "does not start again"),
    ],
)
def test_false_work_is_found(column, more, message):
    """A second too much or too little anywhere is a violation that names the attempt."""
    jobs = one(crowd(3, jobs=400, overruns=False))
    policy = parse_policy("pv-easy(mode=checkpoint, every=60, overhead=30)")
    schedule = simulate(jobs, POOL, policy)
    attempts = schedule.attempts
    values = getattr(attempts, column).copy()
    length = attempts.end - attempts.start
    whole = attempts.kept + attempts.overhead == length
    chosen = whole if more > 0 else (~whole & (values > 0))
    values[np.flatnonzero(chosen & (attempts.killed == 1))[0]] += more
    false = schedule.replace(attempts=replace(attempts, **{column: values}))
    report = check(false, jobs, POOL, rules=rules_of(policy, jobs, POOL))
    [proof] = [proof for proof in report.proofs if proof.name == "work-conserved"]
    assert not report.ok and message in proof.detail, proof.detail


def test_another_interval_is_found():
    """The schedule of one interval is not that of another."""
    jobs = one(crowd(3, jobs=400, overruns=False))
    made = simulate(jobs, POOL, parse_policy("pv-easy(mode=checkpoint, every=60, overhead=30)"))
    other = rules_of(parse_policy("pv-easy(mode=checkpoint, every=50, overhead=30)"), jobs, POOL)
    violations = [proof.detail for proof in check(made, jobs, POOL, rules=other).proofs]
    assert any("work is saved every 50 s" in detail for detail in violations)


def test_kept_work_must_be_stated():
    """Attempts without the columns cannot be those of a policy that keeps work."""
    jobs = one(crowd(3, jobs=400, overruns=False))
    policy = parse_policy("pv-easy(mode=suspend)")
    schedule = simulate(jobs, POOL, policy)
    silent = schedule.replace(attempts=replace(schedule.attempts, kept=None, overhead=None))
    report = check(silent, jobs, POOL, rules=rules_of(policy, jobs, POOL))
    assert any("columns kept and overhead" in str(proof.detail) for proof in report.proofs)


ON_SITES = ("mode=suspend, overhead=3", "mode=checkpoint, every=4, overhead=2, estimate=last-two")


@pytest.mark.parametrize("variant", ON_SITES)
def test_on_sites(variant):
    """On named nodes too, where failures stop jobs as well: every run, and what each one kept."""
    naive_rules = {"mode=suspend, overhead=3": (1, 3, "last")}.get(variant, (4, 2, "last-two"))
    every, restart, estimate = naive_rules
    rules = naive_site.Rules(backfill="venture", estimate=estimate, every=every, restart=restart)
    policy = parse_policy(f"pv-easy({variant})")

    @given(workloads(overruns=True), sites())
    @settings(max_examples=examples(40), deadline=None)
    def equal(workload, site):
        schedule = same_on_site(workload, site, policy, rules)
        world = naive_site.simulate(workload, site, rules)
        attempts = schedule.attempts
        for row, expected in world.worked.items():
            mine = np.flatnonzero(
                (attempts.job_id == workload.job_id[row]) & (attempts.killed == 1)
            )
            pairs = zip(attempts.overhead[mine].tolist(), attempts.kept[mine].tolist(), strict=True)
            assert list(pairs) == expected
        report = check(schedule, workload, site, rules=rules_of(policy, workload, site))
        assert report.first_violation is None

    equal()


def test_on_a_site_as_on_a_pool():
    """One node is a pool: the same starts, ends, attempts, proofs and metrics."""
    jobs = JOBS.replace(run=np.array([40, 90, 40, 5]))
    site = Site(nodes=(Node(name="a", amounts=(4,)),))
    policy = parse_policy("pv-easy(mode=checkpoint, every=15, overhead=7)")
    one, other = simulate(jobs, Cluster.pool(4), policy), simulate(jobs, site, policy)
    for name in ("start", "end", "kills", "promised"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    for name in ("start", "end", "kept", "overhead"):
        assert np.array_equal(getattr(one.attempts, name), getattr(other.attempts, name)), name
    report = check(other, jobs, site, rules=rules_of(policy, jobs, site))
    assert report.ok and "work-conserved" in {proof.name for proof in report.proofs}
    measured = measure(one, jobs, Cluster.pool(4)), measure(other, jobs, site)
    for name in ("wasted_load", "restarting_s"):
        assert measured[0][name] == pytest.approx(measured[1][name]), name


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("mode=suspend", "a suspended job keeps its memory and continues only on its own nodes"),
        ("mode=checkpoint", "the loop cannot see what a job has saved"),
        ("overhead=5", "the loop cannot see what a job has saved"),
    ],
)
def test_live_is_refused_with_the_reason(mode, message):
    """On a pool and on a site, in one sentence that names an alternative."""
    from shadowtime.engine.live_pass.decide import refuse

    with pytest.raises(PolicyError, match=f"{message}.*use mode=kill with overhead=0"):
        refuse(parse_policy(f"pv-easy({mode})"))
