"""PV-EASY and the fairness figures of the slow reference, by hand and by invariants."""

from __future__ import annotations

import random

import pytest

from naive import fairness
from naive import shorthand as naive
from shadowtime.verify.world import BACKFILLED, HEAD, PREEMPTING, RESERVED, Job


def job(id, submit, procs, request, run=None, user=-1):
    return Job(id, submit, (procs,), request, request if run is None else run, request, user)


def starts(result):
    return {row.id: row.start for row in result.rows}


def reasons(result):
    return {row.id: row.reason for row in result.rows}


VENTURE = [job(1, 0, 3, 10), job(2, 1, 4, 5), job(3, 2, 1, 20)]


def test_a_venture_is_killed_when_the_head_can_start():
    result = naive.pv_easy(VENTURE, (4,), predictor="requested")
    assert starts(result) == {1: 0, 2: 10, 3: 15}
    assert reasons(result) == {1: HEAD, 2: PREEMPTING, 3: RESERVED}
    assert [row.kills for row in result.rows] == [0, 0, 1]
    assert [row.blocked_at for row in result.rows] == [-1, 1, 10]
    assert [row.promised for row in result.rows] == [-1, 10, 15]
    assert result.attempts == [(3, 2, 10, True), (3, 15, 35, False)]


def test_without_venture_no_job_starts_that_would_be_killed():
    result = naive.pv_easy(VENTURE, (4,), predictor="requested", venture=False)
    assert starts(result) == {1: 0, 2: 10, 3: 15}
    assert reasons(result) == {1: HEAD, 2: RESERVED, 3: RESERVED}
    assert result.attempts == []


def test_without_preemption_the_head_waits_for_the_venture():
    result = naive.pv_easy(VENTURE, (4,), predictor="requested", preempt=False)
    assert starts(result) == {1: 0, 2: 22, 3: 2}
    assert reasons(result) == {1: HEAD, 2: RESERVED, 3: BACKFILLED}


PRUNING = [
    job(0, 0, 7, 5),
    job(1, 1, 17, 3),
    job(2, 2, 8, 100),
    job(3, 2, 3, 100),
    job(4, 2, 2, 100),
]


def test_victims_go_from_the_lowest_priority_up():
    # 7 free at 5, 17 wanted: 4 (2), 3 (3) and 2 (8) die; 3 fits beside the head again
    result = naive.pv_easy(PRUNING, (20,), predictor="requested")
    assert starts(result) == {0: 0, 1: 5, 2: 8, 3: 5, 4: 8}
    assert [row.kills for row in result.rows] == [0, 0, 1, 1, 1]
    assert result.attempts[2:4] == [(3, 2, 5, True), (3, 5, 105, False)]


def test_pruning_spares_jobs_that_need_not_be_stopped():
    result = naive.pv_easy(PRUNING, (20,), predictor="requested", prune=True)
    assert starts(result) == {0: 0, 1: 5, 2: 8, 3: 2, 4: 8}
    assert [row.kills for row in result.rows] == [0, 0, 1, 0, 1]


def test_too_little_shadow_load_kills_no_job():
    jobs = [job(0, 0, 3, 9), job(1, 1, 4, 5), job(2, 2, 1, 50), job(3, 3, 1, 4)]
    result = naive.pv_easy(jobs, (4,), predictor="requested")
    # at 2 job 2 ventures; at 3 killing it would free one of four: no job is killed before 9
    assert starts(result) == {0: 0, 1: 9, 2: 14, 3: 14}
    assert result.attempts == [(2, 2, 9, True), (2, 14, 64, False)]


def random_jobs(seed):
    draw = random.Random(seed)
    jobs = []
    for i in range(16):
        request = draw.randint(1, 15)
        run = draw.randint(1, request + 2)
        jobs.append(
            job(i, draw.randint(0, 25), draw.randint(1, 6), request, run, draw.randint(0, 2))
        )
    return jobs


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("predictor", ["last", "requested", "actual"])
def test_strict_fairness_and_sunny_for_life(seed, predictor, monkeypatch):
    sunny_once = set()
    replay = naive.replay

    def watched(world, one_pass, **hooks):
        def watched_pass(world):
            one_pass(world)
            if not world.waiting:
                sunny_once.update(id(run) for run in world.running)
                return
            head = world.waiting[0]
            shadow = [run for run in world.running if naive.is_shadow(run, head)]
            (free,) = world.free()
            assert free + sum(run.job.need[0] for run in shadow) < head.need[0]
            assert not sunny_once & {id(run) for run in shadow}
            sunny_once.update(id(run) for run in world.running if run not in shadow)

        return replay(world, watched_pass, **hooks)

    monkeypatch.setattr(naive, "replay", watched)
    world = naive.pv_easy_world(random_jobs(seed), (8,), predictor=predictor)
    assert fairness.violations(world) == []
    for delay in fairness.delays(world):
        assert delay.start == delay.fst  # only its elders hold a head up


def test_delay_by_jobs_backfilled_while_waiting():
    jobs = [job(1, 0, 3, 20, 10), job(2, 1, 4, 5), job(3, 2, 1, 18)]
    delays, violations = fairness.easy_fairness(jobs, (4,))
    assert delays == [fairness.Delay(2, blocked_at=1, fst2=10, fst=10, start=20)]
    assert delays[0].delay2 == 10
    assert violations == []


def test_strict_delay_counts_jobs_backfilled_before():
    jobs = [job(1, 0, 2, 10), job(2, 1, 3, 5), job(3, 2, 4, 5), job(4, 3, 1, 30)]
    delays, _ = fairness.easy_fairness(jobs, (4,))
    assert delays[1] == fairness.Delay(3, blocked_at=10, fst2=33, fst=15, start=33)
    assert (delays[1].delay2, delays[1].delay) == (0, 18)


def test_violation_by_an_underestimated_backfilled_job():
    jobs = [job(1, 0, 3, 20, 5), job(2, 0, 4, 20, 20), job(3, 0, 1, 20, 6)]
    _, found = fairness.easy_fairness(jobs, (4,), estimate=("noisy", [5, 20, 4]))
    assert found == [fairness.Violation(2, reserved=5, start=6, run=20)]
    assert (found[0].dtr, found[0].si) == (1, 0.05)


def test_a_late_predecessor_is_no_violation():
    jobs = [job(1, 0, 3, 20, 7), job(2, 0, 4, 20, 20), job(3, 0, 1, 20, 4)]
    _, found = fairness.easy_fairness(jobs, (4,), estimate=("noisy", [5, 20, 4]))
    assert found == []
