"""The estimate model: popular values, whole jobs, never below the run time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from shadowtime.errors import UsageError
from shadowtime.workload import Workload
from shadowtime.workload.lublin import lublin_workload
from shadowtime.workload.tsafrir import (
    RANKS,
    assign,
    draw_histogram,
    draw_ranks,
    equalised,
    head_sizes,
    head_times,
    number_of_bins,
    tail_sizes,
    tail_times,
    tsafrir_estimates,
)

HOUR = 3600


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_shares_at_ten_thousand_jobs(seed):
    jobs = lublin_workload(10_000, seed=seed)
    request = tsafrir_estimates(jobs, max_estimate=50 * HOUR, seed=seed).request
    times, counts = np.unique(request, return_counts=True)
    assert (request == 50 * HOUR).mean() == pytest.approx(0.217, abs=0.0015)
    assert np.sort(counts)[-20:].sum() / 10_000 == pytest.approx(0.890, abs=0.0015)
    assert len(times) == 90
    assert times[np.argmax(counts)] == 50 * HOUR
    assert (times[:-1] % 10 == 0).all()


def test_requests_become_limits_and_long_runs_are_cut():
    jobs = Workload.build(submit=range(400), run=[1] * 398 + [90_000, 70_000], procs=[1] * 400)
    w = tsafrir_estimates(jobs, max_estimate=18 * HOUR, seed=1)
    assert w.cleaning == {"run_above_max_estimate": 2}
    assert w.run.tolist()[-2:] == [18 * HOUR, 18 * HOUR] == w.request.tolist()[-2:]
    assert w.limit.tolist() == w.request.tolist()
    assert jobs.run[-1] == 70_000  # the workload given is left as it was


def test_head_times_are_the_popular_ones_then_round_ones():
    hours = [t / HOUR for t in head_times(18 * HOUR)]
    # 15 popular times less the maximum, then multiples of 10 h, of 5 h and of 2 h from the top.
    assert hours[0] == 18
    assert hours[1:6] == [5 / 60, 10 / 60, 15 / 60, 20 / 60, 30 / 60]
    assert hours[6:] == [1, 2, 3, 4, 5, 6, 8, 10, 12, 13, 14, 15, 16, 17]
    assert max(head_times(36 * HOUR)[1:]) == 35 * HOUR
    assert len(set(head_times(6000))) == 20


def test_too_short_a_maximum_is_refused():
    with pytest.raises(UsageError, match="6000 s"):
        head_times(5999)
    with pytest.raises(UsageError, match="6000 s"):
        tsafrir_estimates(lublin_workload(10, seed=1), max_estimate=HOUR, seed=1)


def test_ranks_are_a_permutation_that_meets_every_deadline():
    last_seen = {rank: place for place, row in enumerate(RANKS) for rank in row}
    assert sorted(last_seen) == list(range(1, 21))
    for seed in range(50):
        ranks = draw_ranks(np.random.default_rng(seed))
        assert sorted(ranks) == list(range(1, 21))
        assert ranks[0] == 1
        for place, rank in enumerate(ranks):
            assert any(rank in row for row in RANKS[: place + 1])
            # Overdue ranks queue up only behind more popular overdue ones.
            assert place <= last_seen[rank] or all(
                ranks[p] < rank for p in range(last_seen[rank], place)
            )


def test_two_draws_favour_the_popular_rank():
    # Place 1 holds 3, 1, 1, 1 (taken: 1) and 1, 3, 4, 6: the pool is 3, 3, 4, 6.
    second = [draw_ranks(np.random.default_rng(seed))[1] for seed in range(2000)]
    shares = {rank: second.count(rank) / 2000 for rank in (3, 4, 6)}
    assert shares[3] == pytest.approx(12 / 16, abs=0.04)
    assert shares[4] == pytest.approx(3 / 16, abs=0.04)
    assert shares[6] == pytest.approx(1 / 16, abs=0.03)


def test_tail_times_avoid_what_is_there():
    head = head_times(18 * HOUR)
    tail = tail_times(18 * HOUR, 340, head)
    assert len(set(tail)) == len(tail) == 320
    assert not set(tail) & set(head)
    assert min(tail) > 0
    assert max(tail) < 18 * HOUR
    assert tail_sizes(320).sum() == pytest.approx(11)
    assert sum(head_sizes()) == pytest.approx(89)


def test_number_of_bins_between_the_points():
    assert [number_of_bins(n) for n in (1, 200, 600, 1000, 5500, 70_000, 250_001)] == [
        1, 20, 28, 35, 63, 340, 565,
    ]  # fmt: skip


def test_few_jobs_have_no_tail():
    histogram = draw_histogram(150, 18 * HOUR, rng=np.random.default_rng(1))
    assert sum(histogram.values()) == 150
    assert len(histogram) == 20
    assert histogram[18 * HOUR] == pytest.approx(150 * 0.2173 / 0.89, abs=1)
    tiny = draw_histogram(3, 18 * HOUR, rng=np.random.default_rng(1))
    assert sum(tiny.values()) == 3


@settings(max_examples=examples(60), deadline=None)
@given(
    st.dictionaries(st.integers(1, 99), st.integers(1, 30), min_size=1, max_size=12),
    st.integers(0, 300),
)
def test_counts_are_equalised_exactly(counts, jobs):
    assert sum(equalised(counts, jobs, fixed=()).values()) == jobs


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.integers(1, 60_000), min_size=1, max_size=300), st.integers(0, 99))
def test_every_estimate_is_used_and_long_enough(runs, seed):
    rng = np.random.default_rng(seed)
    histogram = draw_histogram(len(runs), 18 * HOUR, rng=rng)
    run = np.sort(np.array(runs))
    longest = np.repeat(sorted(histogram), [histogram[t] for t in sorted(histogram)])
    run = rng.permutation(np.minimum(run, longest))  # what the model can serve
    estimate = assign(run, histogram, rng=rng)
    assert (estimate >= run).all()
    assert sorted(estimate.tolist()) == longest.tolist()


def test_runs_that_no_estimate_can_hold_are_refused():
    jobs = Workload.build(submit=[0] * 300, run=[60_000] * 300, procs=[1] * 300)
    with pytest.raises(UsageError, match="larger maximum"):
        tsafrir_estimates(jobs, max_estimate=18 * HOUR, seed=1)
    fixed = tsafrir_estimates(
        jobs, max_estimate=18 * HOUR, seed=1, given={18 * HOUR: 290, 61_000: 10}
    )
    assert (fixed.request == 61_000).sum() == 10


def test_given_estimates_keep_their_counts_and_the_head_its_share():
    known = {18 * HOUR: 900, 7 * HOUR: 2000, 90: 5, HOUR: 1000}
    histogram = draw_histogram(10_000, 18 * HOUR, rng=np.random.default_rng(2), given=known)
    assert {time: histogram[time] for time in known} == known
    assert sum(histogram.values()) == 10_000
    head = [histogram[t] for t in histogram if t in known or t in head_times(18 * HOUR)]
    assert sum(head) == pytest.approx(8900, abs=30)
    for bad in ({0: 1}, {19 * HOUR: 1}, {60: -1}, {60: 10_001}, dict.fromkeys(range(60, 81), 1)):
        with pytest.raises(UsageError):
            draw_histogram(10_000, 18 * HOUR, rng=np.random.default_rng(2), given=bad)


def test_an_empty_workload_stays_empty():
    empty = Workload.build(submit=[], run=[], procs=[])
    assert len(tsafrir_estimates(empty, max_estimate=18 * HOUR, seed=1)) == 0
