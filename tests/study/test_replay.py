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
from shadowtime.study.expected_error import Expected, expected_error
from shadowtime.study.replay import replay
from shadowtime.study.trust import BY_NAME, RULES, Trust, findings_of, unknown_share
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


def wrong(workload: Workload, cluster: Cluster = POOL) -> set[str]:
    """The causes that are reported."""
    return {finding.rule.name for finding in replay(workload, cluster, EASY).trust.reasons}


def test_a_log_of_the_same_policy_is_reproduced_exactly(recorded: Workload) -> None:
    """Every start is reproduced: what remains is that the log is finite."""
    found = replay(recorded, POOL, EASY)
    assert found.whole.difference == 0
    assert all(row.recorded_mean_s == row.simulated_mean_s for row in found.rows)
    assert {row.kind for row in found.rows} == {"size", "runtime", "hour", "user"}
    assert found.trust.expected.error < 0.02 and found.trust.reasons == ()


def test_a_log_of_another_policy_is_not(recorded: Workload) -> None:
    """The wrong policy gives other waits: the verdict says that it is off by factors."""
    found = replay(recorded, POOL, FCFS).trust
    assert found.expected.error > abs(replay(recorded, POOL, FCFS).whole.difference) > 1
    assert "do not quote its minutes" in found.meaning


def test_a_little_noise_is_a_small_error(recorded: Workload) -> None:
    """Starts a minute or two later, as a real prologue takes."""
    late = np.random.default_rng(1).integers(0, 120, len(recorded))
    assert replay(late_by(recorded, late), POOL, EASY).trust.expected.error < 0.05


def late_by(recorded: Workload, seconds: np.ndarray) -> Workload:
    return recorded.replace(recorded_start=recorded.recorded_start + seconds)


def test_an_error_is_never_below_what_was_measured() -> None:
    """A mean wait at 0.81 or 1.18 of the recorded one is not stated as closer than that."""
    recorded, run = np.full(100_000, 600.0), np.full(100_000, 60.0)
    for ratio in (0.81, 1.18):
        stated = expected_error(recorded, np.stack([ratio * recorded] * 3), run)
        assert abs(ratio - 1) <= stated < abs(ratio - 1) + 0.01


def test_an_error_grows_with_few_jobs_with_unlike_runs_and_parts_and_with_what_is_unknown() -> None:
    """Each of them alone."""
    waits, run = np.full(1000, 600.0), np.full(1000, 60.0)
    least = expected_error(waits, np.stack([waits, waits]), run)
    swing = np.repeat([1.2, 0.8, 1.2, 0.8], 250)
    assert expected_error(waits[:50], np.stack([waits[:50]]), run[:50]) > 2 * least
    assert expected_error(waits, np.stack([1.2 * waits, 0.8 * waits]), run) > 0.25
    assert expected_error(waits, np.stack([swing * waits]), run) > 0.1
    assert expected_error(waits, np.stack([waits]), run, unknown=0.5) > 0.5


def test_what_the_model_lacks_is_unknown_and_other_causes_are_reasons() -> None:
    assert unknown_share({"not_modelled": 0.3, "no_request": 0.9}) == pytest.approx(0.3)
    found = findings_of({"overrun": 0.05, "no_request": 0.5, "held": float("nan")})
    reasons = Trust(Expected(error=0.1, by_group=0.1), found).reasons
    assert [finding.rule.name for finding in reasons] == ["no_request", "overrun"]


def test_groups_beyond_the_error_by_group_are_named(recorded: Workload) -> None:
    """The jobs of one user were held back for a day."""
    users, jobs = np.unique(recorded.user, return_counts=True)
    user = int(users[(jobs >= 20) & (jobs < 200)][0])
    late = late_by(recorded, np.where(recorded.user == user, 86_400, 0))
    found = replay(late, POOL, EASY).trust.expected
    assert ("user", str(user)) in {(one.by, one.name) for one in found.beyond}
    assert all(one.error > found.by_group for one in found.beyond)


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
    first, second = (replay(one, POOL, EASY).trust for one in (log, stretched))
    assert [one.value for one in first.findings] == pytest.approx(
        [one.value for one in second.findings]
    )
    assert first.expected.error == pytest.approx(second.expected.error)
    assert first.expected.by_group == pytest.approx(second.expected.by_group)


def test_a_verdict_survives_its_json(recorded: Workload) -> None:
    """Written to a result folder and read again, rules and all."""
    found = replay(recorded, POOL, FCFS).trust
    assert Trust.from_dict(json.loads(to_json(found.as_dict()))) == found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_has_a_reason(rule: object) -> None:
    known = next(one for one in RULES if one is rule)
    assert known.reason and known.measures and known.topic
    assert not findings_of({known.name: known.bound})[0].wrong
    assert findings_of({known.name: 2 * known.bound})[0].wrong


class TestCauses:
    """Each cause is found where it is planted, and not elsewhere."""

    def test_missing_starts(self, recorded: Workload) -> None:
        start = recorded.recorded_start.copy()
        start[::5] = -1
        assert "no_start" in wrong(recorded.replace(recorded_start=start))

    def test_a_machine_given_too_small(self, recorded: Workload) -> None:
        narrow = recorded.take(np.flatnonzero(recorded.procs <= 128))
        assert "beyond_machine" in wrong(narrow, Cluster.pool(128))

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
        assert "machine_changed" in wrong(jobs)
        assert "machine_changed" not in wrong(recorded)

    def test_hidden_rules(self, recorded: Workload) -> None:
        """A scheduler that holds every tenth job back for a day."""
        hold = np.where(np.arange(len(recorded)) % 10 == 0, 86_400, 0)
        assert "idle_while_waiting" in wrong(late_by(recorded, hold))

    def test_requests_overruns_and_dropped_lines(self, recorded: Workload) -> None:
        cleaning = {"request_from_run": 600, "overrun_cut": 600, "no_run_dropped": 600}
        assert {"no_request", "overrun", "dropped"} <= wrong(recorded.replace(cleaning=cleaning))

    def test_partitions(self, recorded: Workload) -> None:
        two = np.where(np.arange(len(recorded)) % 4 == 0, 2, 1)
        assert "elsewhere" in wrong(recorded.replace(partition=two))

    def test_a_preceding_job_that_is_a_filler_says_nothing(self, recorded: Workload) -> None:
        filler = {"preceding_job": np.ones(len(recorded), np.int64)}
        assert "held" not in wrong(recorded.replace(extra=filler))
        chain = {"preceding_job": recorded.job_id - 1}
        assert "held" in wrong(recorded.replace(extra=chain))


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
    assert "held" in wrong(log)
    assert replay(log, POOL, EASY).trust.expected.error > 0.2
    freed = replay(log, POOL, EASY, release="eligible")
    assert freed.whole.difference == 0 and freed.trust.expected.error < 0.05
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
    assert found["expected_error"] < 0.02 and found["all"]["jobs"] == 3000
    assert {finding["rule"] for finding in found["findings"]} <= set(BY_NAME)


def test_a_real_log_is_not_what_easy_makes_of_it(trace_path: Callable[[str], Path]) -> None:
    """KTH ran EASY with rules of its own: the machine was idle while jobs that fit waited."""
    jobs = read(trace_path("KTH-SP2-1996-2.1-cln.swf.gz"))
    found = replay(jobs, Cluster.pool(100), EASY)
    assert found.trust.expected.error > 0.25
    assert "idle_while_waiting" in {finding.rule.name for finding in found.trust.reasons}


class TestCalibration:
    """The verdict where the truth is known: recorded runs of a real Slurm over the same jobs."""

    @pytest.mark.parametrize(
        ("log", "model", "low", "high"),
        [
            ("B2", "B2twin", 0.0, 0.12),  # Slurm beside itself: no model can do better
            ("B2twin", "B2", 0.0, 0.12),
            ("F", "B2", 0.27, 0.4),  # a model without the drain and the reservation
            ("A", "B2", 0.5, 1.0),  # one that backfills where the machine did not
            ("D1", "B2", 0.22, 0.5),  # one without fair-share
            ("E1", "B2", 0.18, 1.0),  # one without partitions
        ],
    )
    def test_another_run_as_the_model(self, log: str, model: str, low: float, high: float) -> None:
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
        assert low < found.expected.error < high
        if (log, model) == ("D1", "B2"):  # the mean is near, the accounts are not
            assert found.expected.by_group > 0.5

    @pytest.mark.parametrize(
        ("log", "policy", "low", "high"),
        [
            ("A", "fcfs", 0.0, 0.12),
            ("A", "easy", 0.5, 1.0),
            ("B2", "easy(reserve=all)", 0.0, 0.12),
            ("B2", "fcfs", 0.5, 2.0),
            ("D1", "easy", 0.25, 1.0),
        ],
    )
    def test_our_policies_as_the_model(
        self, log: str, policy: str, low: float, high: float
    ) -> None:
        """The policy that the machine ran is near, another one is not."""
        found = replay(read(recording(log)), Cluster.pool(128), parse_policy(policy))
        assert low < found.trust.expected.error < high


def recording(name: str) -> Path:
    return recording_path(name) / "jobs.psv"
