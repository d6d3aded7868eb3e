"""Bandwidth classes by the splitmix draw, value for value."""

from __future__ import annotations

import numpy as np
import pytest

from shadowtime.errors import UsageError
from shadowtime.workload import Workload
from shadowtime.workload.demand import draw_bandwidth, splitmix

MASK = (1 << 64) - 1


def step(x):
    """The draw's definition in plain integers."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def jobs(ids):
    n = len(ids)
    return Workload.build(submit=[0] * n, run=[1] * n, procs=[1] * n, job_id=ids)


def test_the_published_first_outputs_of_splitmix64():
    # State 0 and its successors give the generator's published test stream.
    gamma = 0x9E3779B97F4A7C15
    states = np.array([k * gamma & MASK for k in range(3)], np.uint64)
    assert [hex(x) for x in splitmix(states).tolist()] == [
        "0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4", "0x6c45d188009454f",
    ]  # fmt: skip


def test_hand_computed_draws():
    # u of the jobs 1 to 12 with seed 1 and with seed 2, computed apart from this package.
    one = [35, 65, 76, 97, 99, 70, 59, 41, 83, 37, 62, 88]
    two = [73, 1, 27, 33, 56, 80, 26, 52, 95, 43, 28, 10]
    for seed, us in ((1, one), (2, two)):
        for scenario, high in (("HIGH", 80), ("MED", 50), ("LOW", 10)):
            expected = [2000 if u < high else 1000 if u < high + 10 else 500 for u in us]
            drawn = draw_bandwidth(jobs(range(1, 13)), scenario, seed=seed)
            assert drawn.extra["bandwidth"].tolist() == expected


def test_any_id_and_seed_against_plain_integers():
    ids = [1, 79_302, 250_440, 2**31, 2**40 + 7]
    for seed in (0, 1, 5, 2**45):
        us = [step((i + 1_000_003 * seed) & MASK) % 100 for i in ids]
        drawn = draw_bandwidth(jobs(ids), (30, 30, 40), seed=seed, high=3, medium=2, low=1)
        assert drawn.extra["bandwidth"].tolist() == [
            3 if u < 30 else 2 if u < 60 else 1 for u in us
        ]


def test_shares_and_independence_of_the_slice():
    whole = draw_bandwidth(jobs(range(1, 20_001)), "med")
    band = whole.extra["bandwidth"]
    assert [(band == b).mean() for b in (2000, 1000, 500)] == pytest.approx(
        [0.5, 0.1, 0.4], abs=0.012
    )
    part = draw_bandwidth(jobs(range(500, 600)), "MED")
    assert part.extra["bandwidth"].tolist() == band[499:599].tolist()


def test_other_extra_columns_stay():
    w = jobs([1]).replace(extra={"tag": np.array([3])})
    assert sorted(draw_bandwidth(w, "LOW", high=1750).extra) == ["bandwidth", "tag"]
    assert sorted(w.extra) == ["tag"]


def test_what_has_no_meaning_is_refused():
    for scenario in ("HUGE", (50, 50, 10), (120, -10, -10), (50, 50)):
        with pytest.raises(UsageError):
            draw_bandwidth(jobs([1]), scenario)
    with pytest.raises(UsageError):
        draw_bandwidth(jobs([1]), "LOW", seed=-1)
