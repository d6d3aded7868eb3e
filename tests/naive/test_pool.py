"""The slow reference itself, on worlds small enough to be worked out with a pencil."""

from __future__ import annotations

import random

import pytest

from naive import shorthand as naive
from shadowtime.verify.world import BACKFILLED, HEAD, RESERVED, Job


def job(id, submit, procs, request, run=None, *, limit=None, user=-1):
    run = request if run is None else run
    need = procs if isinstance(procs, tuple) else (procs,)
    return Job(id, submit, need, request, run, request if limit is None else limit, user)


def starts(result):
    return {row.id: row.start for row in result.rows}


def reasons(result):
    return {row.id: row.reason for row in result.rows}


def random_jobs(seed, *, n=12, resources=1, overrun=False):
    draw = random.Random(seed)
    jobs = []
    for i in range(n):
        request = draw.randint(1, 12)
        run = draw.randint(1, request + (4 if overrun else 0))
        limit = request if not overrun or draw.random() < 0.5 else 10**9
        need = (draw.randint(1, 4), *(draw.randint(0, 3) for _ in range(resources - 1)))
        jobs.append(Job(i, draw.randint(0, 25), need, request, run, limit, draw.randint(-1, 2)))
    draw.shuffle(jobs)
    return jobs


THREE = [job(1, 0, 3, 10), job(2, 1, 2, 5), job(3, 2, 1, 3)]


def test_fcfs_the_head_blocks_all():
    result = naive.fcfs(THREE, (4,))
    assert starts(result) == {1: 0, 2: 10, 3: 10}
    assert reasons(result) == {1: HEAD, 2: RESERVED, 3: HEAD}
    assert [row.blocked_at for row in result.rows] == [-1, 1, -1]
    assert [row.promised for row in result.rows] == [-1, -1, -1]
    assert result.passes == 6  # at 0, 1, 2, 10, 13, 15
    assert result.attempts == []


def test_greedy_goes_past_the_blocked_head():
    result = naive.greedy(THREE, (4,))
    assert starts(result) == {1: 0, 2: 10, 3: 2}
    assert reasons(result) == {1: HEAD, 2: RESERVED, 3: BACKFILLED}


def test_killed_at_the_limit():
    result = naive.fcfs([job(1, 0, 1, 5, 9), job(2, 0, 1, 5, 5)], (1,))
    assert [(row.start, row.end, row.killed) for row in result.rows] == [(0, 5, 1), (5, 10, 0)]


def test_easy_both_tests_of_the_backfill_rule_are_non_strict():
    jobs = [
        job(1, 0, 3, 10),  # leaves one processor of four
        job(2, 1, 3, 5),  # head: shadow time 10, extra 1
        job(3, 2, 1, 8),  # 2 + 8 <= 10: by the first test, extra stays 1
        job(4, 2, 1, 20),  # no processor free until 3 has gone
        job(5, 10, 1, 1),
    ]
    result = naive.easy(jobs, (4,))
    # at 10: 1 and 3 end; 2 starts; 4 is next and fits: head, not backfilled; 5 does not fit
    assert starts(result) == {1: 0, 2: 10, 3: 2, 4: 10, 5: 15}
    assert reasons(result) == {1: HEAD, 2: RESERVED, 3: BACKFILLED, 4: HEAD, 5: RESERVED}
    assert [row.promised for row in result.rows] == [-1, 10, -1, -1, 15]


def test_easy_extra_is_used_up_unless_loose():
    jobs = [
        job(1, 0, 2, 10),
        job(2, 1, 3, 5),  # four processors: shadow 10, extra 1
        job(3, 2, 1, 50),
        job(4, 2, 1, 50),
    ]
    assert starts(naive.easy(jobs, (4,))) == {1: 0, 2: 10, 3: 2, 4: 15}
    assert starts(naive.easy(jobs, (4,), extra_update=False)) == {1: 0, 2: 52, 3: 2, 4: 2}


def test_easy_fixed_reservation_keeps_the_first_shadow_time():
    jobs = [
        job(1, 0, 3, 10, 4),  # four processors; ends early at 4
        job(2, 0, 1, 9, 9),
        job(3, 1, 4, 5),  # shadow 10, extra 0; from 4 on it could be 9
        job(4, 4, 3, 6, 6),  # 4 + 6 <= 10 only with the kept shadow time
    ]
    assert starts(naive.easy(jobs, (4,))) == {1: 0, 2: 0, 3: 9, 4: 14}
    assert starts(naive.easy(jobs, (4,), fixed_reservation="yes")) == {1: 0, 2: 0, 3: 10, 4: 4}


def test_easy_with_a_second_resource():
    jobs = [
        job(1, 0, (1, 3), 10),
        job(2, 1, (2, 2), 5),  # memory is short: shadow 10, extra (4-2, 4-2)
        job(3, 2, (3, 0), 20),  # three processors free, but only (2, 2) extra at the shadow time
        job(4, 3, (2, 1), 20),  # passes the second test
    ]
    assert starts(naive.easy(jobs, (4, 4))) == {1: 0, 2: 10, 3: 23, 4: 3}


def test_shortest_first_backfilling_breaks_ties_by_arrival():
    jobs = [job(1, 0, 3, 10), job(2, 1, 4, 5), job(3, 1, 1, 4), job(4, 1, 1, 3), job(5, 1, 1, 3)]
    assert starts(naive.easy(jobs, (4,))) == {1: 0, 2: 10, 3: 1, 4: 5, 5: 15}
    sjbf = naive.easy(jobs, (4,), backfill="sjbf")
    # 4 at 1, 5 at 4, then at 7 job 3 would end at 11 > 10
    assert starts(sjbf) == {1: 0, 2: 10, 3: 15, 4: 1, 5: 4}


def test_last_model_is_the_accuracy_of_the_users_last_job():
    jobs = [
        job(1, 0, 1, 10, 4, user=7),  # accuracy 0.4
        job(2, 5, 4, 100, 1, user=1),
        job(3, 5, 3, 10, 1, user=2),
        job(4, 5, 1, 11, 1, user=7),
    ]
    world = naive.easy_world(jobs, (4,), estimate="last")
    frozen = {run.job.id: run.frozen for run in world.starts}
    assert frozen == {1: 10, 2: 100, 3: 10, 4: 4}  # 4.4 rounds to 4


def test_last_two_predicts_at_submission_and_is_corrected():
    jobs = [
        job(1, 0, 1, 100, 10, user=3),
        job(2, 0, 1, 100, 21, user=3),
        job(3, 20, 1, 500, 200, user=3),  # one ended job only: the request
        job(4, 30, 1, 500, 200, user=3),  # floor((10 + 21) / 2) = 15
    ]
    world = naive.easy_world(jobs, (4,), estimate="last-two")
    assert {r.job.id: r.frozen for r in world.starts} == {1: 100, 2: 100, 3: 500, 4: 15}
    run = naive.Running(jobs[3], start=30, frozen=15, estimate=15)
    naive.correct(run, 44)
    assert run.estimate == 15
    naive.correct(run, 45)  # outlived: 15 + 60
    assert run.estimate == 75
    naive.correct(run, 30 + 75)
    assert run.estimate == 315
    naive.correct(run, 30 + 315)
    assert run.estimate == 500  # never past the request
    naive.correct(run, 30 + 500)
    assert run.corrections == 3


def test_expected_end_of_a_job_past_its_estimate():
    run = naive.Running(job(1, 0, 1, 10, 30, limit=99), start=0, frozen=4, estimate=4)
    assert [run.expected_end(t) for t in (3, 4, 9, 10, 11)] == [4, 10, 10, 11, 12]


CONSERVATIVE = [
    job(1, 0, 3, 10, 5),
    job(2, 1, 3, 4, 4),  # promised 10
    job(3, 2, 1, 20, 20),  # fits beside all: at once
    job(4, 3, 1, 2, 2),  # promised 14: the fourth processor is taken by 3 until 22
]


def test_conservative_compresses_when_a_job_ends_early():
    result = naive.conservative(CONSERVATIVE, (4,))
    assert [row.promised for row in result.rows] == [0, 10, 2, 14]
    assert starts(result) == {1: 0, 2: 5, 3: 2, 4: 9}
    assert reasons(result) == {1: HEAD, 2: RESERVED, 3: BACKFILLED, 4: RESERVED}


def test_conservative_without_compression_starts_early_only_around_all_promises():
    result = naive.conservative(CONSERVATIVE, (4,), compress=False)
    # at 5 job 2 fits for its whole estimate: it starts; 4 has to wait until 2 ends at 9
    assert starts(result) == {1: 0, 2: 5, 3: 2, 4: 9}
    jobs = [job(1, 0, 2, 10, 5), job(2, 0, 2, 12, 12), job(3, 1, 4, 5), job(4, 1, 2, 8)]
    # promises: 3 at 12, 4 at 17; at 5 two processors are free for 7 s, 4 needs 8
    assert starts(naive.conservative(jobs, (4,), compress=False)) == {1: 0, 2: 0, 3: 12, 4: 17}


def test_a_promise_falls_due_where_nothing_else_happens():
    jobs = [
        job(1, 0, 4, 10, 3),
        job(2, 1, 4, 4),  # promised 10
        job(3, 2, 2, 20),  # promised 14
    ]
    late = naive.conservative(jobs, (4,), compress=False)
    # job 1 ends at 3; 2 fits now (3 + 4 <= 14) and starts; at 7 job 3 fits
    assert starts(late) == {1: 0, 2: 3, 3: 7}
    # sunk in between: with 5 promised around it, 4 may not start before its promise
    jobs = [
        job(1, 0, 2, 5, 5),
        job(2, 0, 2, 7, 1),  # ends at 1, expected at 7
        job(3, 0, 4, 3, 3),  # promised 7: no job ends or arrives at 7
        job(4, 0, 2, 3, 3),  # promised 10
    ]
    result = naive.conservative(jobs, (4,), compress=False)
    # at 1: 3 does not fit; 4 fits [1, 4): starts. At 4 nothing. At 5 job 3 fits: before 7
    assert starts(result) == {1: 0, 2: 0, 3: 5, 4: 1}


def test_conservative_gives_a_broken_promise_anew():
    jobs = [
        job(1, 0, 4, 5, 8, limit=99),  # outruns its estimate by three seconds
        job(2, 1, 4, 2),
    ]
    result = naive.conservative(jobs, (4,))
    assert [row.promised for row in result.rows] == [0, 5]
    assert starts(result) == {1: 0, 2: 8}
    assert result.passes == 7  # 0, 1, the promise slipping at 5, 6, 7, then 8 and 10


def test_two_reservations_protect_the_second_blocked_job():
    jobs = [
        job(1, 0, 3, 10),
        job(2, 1, 4, 5),  # reserved at 10
        job(3, 2, 2, 10),  # second: reserved at 15
        job(4, 3, 1, 7),  # 3 + 7 <= 10: backfills
        job(5, 10, 3, 4),
    ]
    one = naive.reservations(jobs, (4,), depth=1)
    two = naive.reservations(jobs, (4,), depth=2)
    assert starts(one) == starts(two) == {1: 0, 2: 10, 3: 15, 4: 3, 5: 25}


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("backfill", ["in-order", "sjbf"])
def test_easy_is_one_reservation(seed, backfill):
    jobs = random_jobs(seed, resources=1 + seed % 3, overrun=seed % 2 == 1)
    capacity = (5, 4, 4)[: 1 + seed % 3]
    for estimate in ("requested", "actual", "last", "last-two"):
        easy = naive.easy(jobs, capacity, backfill=backfill, estimate=estimate)
        walk = naive.reservations(jobs, capacity, depth=1, backfill=backfill, estimate=estimate)
        assert easy == walk


@pytest.mark.parametrize("seed", range(40))
def test_true_estimates_make_conservative_blind_to_compression(seed):
    jobs = random_jobs(seed, resources=2)
    kept = naive.conservative(jobs, (5, 4), compress=False, estimate="actual")
    swept = naive.conservative(jobs, (5, 4), compress=True, estimate="actual")
    assert starts(kept) == starts(swept)
    assert all(row.start == row.promised for row in kept.rows)


@pytest.mark.parametrize("seed", range(40))
def test_promises_are_kept_where_no_job_outruns_its_estimate(seed):
    jobs = random_jobs(seed)
    for result in (
        naive.conservative(jobs, (5,)),
        naive.conservative(jobs, (5,), compress=False),
        naive.easy(jobs, (5,)),
        naive.easy(jobs, (5,), backfill="sjbf"),
    ):
        assert all(row.start <= row.promised for row in result.rows if row.promised != -1)


def test_keys():
    a, b = job(1, 0, 2, 3600), job(2, 1800, 8, 7200)
    assert naive.KEYS["sjf"](a, 0) > naive.KEYS["sjf"](b, 0)
    assert naive.KEYS["lxf"](a, 3600) == 2.0
    assert naive.KEYS["lxfw"](a, 3 * 3600) == 2.0 + 0.02 * 3
    assert naive.KEYS["lxfwp"](b, 1800 + 6 * 3600) == (2.0 + 0.02 * 6) + 0.01 * 8
    assert naive.KEYS["lpf"](b, 9999) == 8.0
