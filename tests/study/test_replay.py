"""The recorded starts beside the simulated ones, and how far to trust a what-if."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from conftest import recording_path
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.errors import UsageError
from shadowtime.metrics import Window
from shadowtime.policy import parse_policy
from shadowtime.result.write import to_json
from shadowtime.schedule import Schedule
from shadowtime.study.agreement import spearman
from shadowtime.study.replay import replay
from shadowtime.study.trust import BY_NAME, RULES, Trust, judge
from shadowtime.study.trust_measures import trust_of
from shadowtime.trace import read
from shadowtime.workload import Workload
from shadowtime.workload.embedded import demo_workload
from shadowtime.workload.slicing import first_jobs

POOL = Cluster.pool(256)
EASY, FCFS = parse_policy("easy"), parse_policy("fcfs")


@pytest.fixture(scope="module")
def recorded() -> Workload:
    """A log of a machine that runs EASY and nothing else."""
    jobs = demo_workload()
    return jobs.replace(recorded_start=simulate(jobs, POOL, EASY).start)


def grades(workload: Workload, cluster: Cluster = POOL) -> dict[str, str]:
    found = replay(workload, cluster, EASY)
    return {finding.rule.name: finding.grade for finding in found.trust.findings}


def test_a_log_of_the_same_policy_is_reproduced_exactly(recorded: Workload) -> None:
    """Every start is reproduced, every rule is good, and so is the verdict."""
    found = replay(recorded, POOL, EASY)
    assert found.whole.difference == 0
    assert all(row.recorded_mean_s == row.simulated_mean_s for row in found.rows)
    assert {row.kind for row in found.rows} == {"size", "runtime", "hour", "user"}
    assert found.trust.grade == "good" and found.trust.reasons == ()


def test_a_log_of_another_policy_is_not(recorded: Workload) -> None:
    """The wrong policy gives other waits to other jobs: poor, with the reasons."""
    found = replay(recorded, POOL, FCFS)
    assert found.trust.grade == "poor"
    assert {finding.rule.name for finding in found.trust.reasons} >= {
        "wait_correlation",
        "mean_wait_factor",
        "group_wait_error",
        "worst_group_error",
    }


def test_a_little_noise_is_still_good(recorded: Workload) -> None:
    """Starts a minute or two later, as a real prologue takes."""
    late = np.random.default_rng(1).integers(0, 120, len(recorded))
    assert replay(late_by(recorded, late), POOL, EASY).trust.grade == "good"


def late_by(recorded: Workload, seconds: np.ndarray) -> Workload:
    return recorded.replace(recorded_start=recorded.recorded_start + seconds)


def test_the_worst_agreement_decides_and_a_bad_cause_caps_at_fair() -> None:
    """The table's logic."""
    good = {"wait_correlation": 0.9, "mean_wait_factor": 1.1, "group_wait_error": 0.05}
    assert judge(good).grade == "good"
    assert judge(good | {"group_wait_error": 0.2}).grade == "fair"
    assert judge(good | {"group_wait_error": 0.2, "no_request": 0.9}).grade == "fair"
    assert judge(good | {"no_request": 0.9}).grade == "fair"
    assert judge(good | {"no_request": 0.05}).grade == "good"
    assert judge(good | {"mean_wait_factor": 3.0}).grade == "poor"
    assert judge({"wait_correlation": float("nan")}).grade == "good"


def test_reasons_put_agreement_first_and_the_worst_before_the_fair() -> None:
    """What a reader should see first."""
    found = judge({"overrun": 0.05, "no_request": 0.5, "group_wait_error": 0.2}).reasons
    assert [finding.rule.name for finding in found] == ["group_wait_error", "no_request", "overrun"]


@pytest.mark.parametrize("factor", [60, 3600])
@pytest.mark.parametrize("policy", ["easy(reserve=all)", "easy-sjbf", "fcfs", "lxfw"])
def test_the_unit_of_a_log_does_not_change_the_verdict(policy: str, factor: int) -> None:
    """The same log with every time 60 or 3,600 times as long: the same numbers and verdict."""
    jobs = first_jobs(demo_workload(), 1000)
    log = jobs.replace(
        recorded_start=simulate(jobs, POOL, parse_policy(policy)).start,
        extra={"eligible": jobs.submit + np.where(jobs.job_id % 7 == 0, 90, 0)},
    )
    stretched = log.replace(
        extra={"eligible": log.extra["eligible"] * factor},
        **{
            name: getattr(log, name) * factor
            for name in ("submit", "run", "request", "limit", "recorded_start")
        },
    )
    measured = [
        {found.rule.name: found.value for found in replay(one, POOL, EASY).trust.findings}
        for one in (log, stretched)
    ]
    assert measured[0] == pytest.approx(measured[1])
    assert len({replay(one, POOL, EASY).trust.grade for one in (log, stretched)}) == 1


def test_a_verdict_survives_its_json(recorded: Workload) -> None:
    """Written to a result folder and read again, rules and all."""
    found = replay(recorded, POOL, FCFS).trust
    assert Trust.from_dict(json.loads(to_json(found.as_dict()))) == found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_has_bounds_in_order_and_a_reason(rule: object) -> None:
    """Good is stricter than fair, and each rule has a reason."""
    known = next(one for one in RULES if one is rule)
    assert (known.good > known.fair) == known.higher_is_better
    assert known.reason and known.measures and known.topic
    assert known.grade(known.good) == "good" and known.grade(known.fair) == "fair"


class TestCauses:
    """Each cause is found where it is planted, and not elsewhere."""

    def test_missing_starts(self, recorded: Workload) -> None:
        start = recorded.recorded_start.copy()
        start[::5] = -1
        assert grades(recorded.replace(recorded_start=start))["no_start"] == "poor"

    def test_a_machine_given_too_small(self, recorded: Workload) -> None:
        narrow = recorded.take(np.flatnonzero(recorded.procs <= 128))
        assert grades(narrow, Cluster.pool(128))["beyond_machine"] == "poor"

    def test_a_machine_that_shrank(self, recorded: Workload) -> None:
        """The second half recorded on half of the machine."""
        half = len(recorded) // 2
        first, second = recorded.take(np.arange(half)), recorded.take(np.arange(half, 3000))
        small = second.replace(demand=np.minimum(second.demand, 64))
        starts = simulate(small, Cluster.pool(128), EASY).start
        jobs = recorded.replace(
            demand=np.concatenate([first.demand, small.demand]),
            recorded_start=np.concatenate([first.recorded_start, starts]),
        )
        found = grades(jobs)
        assert found["machine_changed"] == "poor"
        assert grades(recorded)["machine_changed"] == "good"

    def test_hidden_rules(self, recorded: Workload) -> None:
        """A scheduler that holds every tenth job back for a day."""
        hold = np.where(np.arange(len(recorded)) % 10 == 0, 86_400, 0)
        assert grades(late_by(recorded, hold))["idle_while_waiting"] != "good"

    def test_requests_overruns_and_dropped_lines(self, recorded: Workload) -> None:
        cleaning = {"request_from_run": 600, "overrun_cut": 600, "no_run_dropped": 600}
        found = grades(recorded.replace(cleaning=cleaning))
        assert found["no_request"] == found["overrun"] == found["dropped"] == "poor"

    def test_partitions(self, recorded: Workload) -> None:
        two = np.where(np.arange(len(recorded)) % 4 == 0, 2, 1)
        assert grades(recorded.replace(partition=two))["elsewhere"] == "poor"

    def test_a_preceding_job_that_is_a_filler_says_nothing(self, recorded: Workload) -> None:
        filler = {"preceding_job": np.ones(len(recorded), np.int64)}
        assert "held" not in grades(recorded.replace(extra=filler))
        chain = {"preceding_job": recorded.job_id - 1}
        assert grades(recorded.replace(extra=chain))["held"] == "poor"


def test_holds_are_not_waits_when_jobs_arrive_as_they_become_eligible() -> None:
    """The same log twice: judged by its submissions, and by when jobs were let go."""
    jobs = demo_workload()
    held = np.where(np.arange(len(jobs)) % 3 == 0, 7200, 0)
    let_go = jobs.replace(submit=jobs.submit + held).sorted()
    starts = dict(zip(let_go.job_id, simulate(let_go, POOL, EASY).start, strict=True))
    log = jobs.replace(
        recorded_start=np.array([starts[job] for job in jobs.job_id]),
        extra={"eligible": jobs.submit + held},
    )
    assert grades(log)["held"] == "poor"
    assert replay(log, POOL, EASY).trust.grade != "good"
    freed = replay(log, POOL, EASY, release="eligible")
    assert freed.whole.difference == 0 and freed.trust.grade == "good"
    with pytest.raises(UsageError, match="eligible"):
        replay(jobs.replace(recorded_start=jobs.submit), POOL, EASY, release="eligible")


def test_nothing_recorded_is_refused() -> None:
    """There is nothing to compare with, or nothing inside the window."""
    jobs = demo_workload()
    with pytest.raises(UsageError, match="records no start"):
        replay(jobs, POOL, EASY)
    one = jobs.replace(recorded_start=np.where(jobs.job_id == 1, 0, -1))
    with pytest.raises(UsageError, match="window"):
        replay(one, POOL, EASY, window=Window.parse("5:0"))


def test_the_window_is_kept(recorded: Workload) -> None:
    """Only scored jobs count."""
    found = replay(recorded, POOL, EASY, window=Window.parse("1000:500"))
    assert found.whole.jobs == 1500 == found.recorded_metrics["jobs"]


def test_the_result_is_json(recorded: Workload) -> None:
    """Every rule with its number, every class with its row."""
    found = json.loads(to_json(replay(recorded, POOL, EASY).as_dict()))
    assert found["verdict"] == "good" and found["all"]["jobs"] == 3000
    assert {finding["rule"] for finding in found["findings"]} <= set(BY_NAME)


def test_rank_correlation_shares_ranks_among_ties() -> None:
    """Worked out by hand: ranks 1.5, 1.5, 3, 4 against 1, 2, 3.5, 3.5."""
    assert spearman(np.array([0, 0, 5, 9]), np.array([1, 2, 7, 7])) == pytest.approx(
        4.0 / 4.5, abs=1e-9
    )


def test_a_real_log_is_not_what_easy_makes_of_it(trace_path: Callable[[str], Path]) -> None:
    """KTH ran EASY with rules of its own: the machine was idle while jobs that fit waited."""
    jobs = read(trace_path("KTH-SP2-1996-2.1-cln.swf.gz"))
    found = replay(jobs, Cluster.pool(100), EASY)
    assert found.trust.grade == "poor"
    assert "idle_while_waiting" in {finding.rule.name for finding in found.trust.reasons}


class TestCalibration:
    """The verdict where the truth is known: recorded runs of a real Slurm over the same jobs."""

    @pytest.mark.parametrize(
        ("log", "model", "grade"),
        [
            ("B2", "B2twin", "good"),  # Slurm beside itself: no model can do better
            ("B2twin", "B2", "good"),
            ("F", "B2", "fair"),  # a model without the drain and the reservation
            ("A", "B2", "poor"),  # one that backfills where the machine did not
            ("D1", "B2", "poor"),  # one without fair-share
            ("D2", "B2", "poor"),
            ("E1", "B2", "poor"),  # one without partitions
        ],
    )
    def test_another_run_as_the_model(self, log: str, model: str, grade: str) -> None:
        """How far a model is off that lacks exactly what the other run lacks."""
        jobs, other = (read(recording(name)) for name in (log, model))
        waits = dict(
            zip(other.job_id.tolist(), (other.recorded_start - other.submit).tolist(), strict=True)
        )
        starts = jobs.submit + np.array([waits[job] for job in jobs.job_id.tolist()])
        found = trust_of(
            jobs,
            Cluster.pool(128),
            Schedule.recorded(jobs),
            Schedule.recorded(jobs.replace(recorded_start=starts)),
            policy=model,
            window=Window.all(),
        )
        assert found.grade == grade

    @pytest.mark.parametrize(
        ("log", "policy", "grade"),
        [
            ("A", "fcfs", "good"),
            ("A", "easy", "poor"),
            ("B2", "easy(reserve=all)", "good"),
            ("B2", "fcfs", "poor"),
            ("D1", "easy", "poor"),
        ],
    )
    def test_our_policies_as_the_model(self, log: str, policy: str, grade: str) -> None:
        """The policy that the machine ran is good, another one is poor."""
        found = replay(read(recording(log)), Cluster.pool(128), parse_policy(policy))
        assert found.trust.grade == grade


def recording(name: str) -> Path:
    return recording_path(name) / "jobs.psv"
