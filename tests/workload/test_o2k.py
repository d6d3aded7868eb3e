"""The rebuilt NCSA O2K months: the paper's tables, read back from the jobs themselves."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from shadowtime.errors import UsageError
from shadowtime.workload.o2k import MONTHS, check_month, o2k_month, o2k_workload
from shadowtime.workload.o2k_draw import (
    HOSTS,
    KB_PER_GB,
    MEMORY_GB,
    MIDDLE,
    PEAKS,
    PROCS,
    fitted_areas,
)

HOUR, DAY = 3600, 86400

PRINTED = {
    # month: jobs by class, demand by class, Table 8: P > 64, and P <= 64 with R <= 5, 20, 50 h
    "2002-12": ([3380, 294, 1189, 1138, 1059, 539, 242, 56], 82, (12, 6, 8, 19)),
    "2003-01": ([3167, 270, 1326, 869, 977, 333, 210, 183], 92, (22, 4, 5, 15)),
    "2003-02": ([3424, 300, 1957, 1245, 995, 517, 142, 146], 88, (21, 5, 7, 15)),
    "2003-03": ([2801, 300, 1484, 1331, 1174, 722, 452, 94], 73, (18, 4, 6, 13)),
}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("month", PRINTED)
def test_tables_4_and_8_are_met(month, seed):
    jobs, total, table8 = PRINTED[month]
    w = o2k_month(month, seed=seed)
    area, capacity = w.procs * w.run, PROCS * MONTHS[month].hours * HOUR
    edges = [(1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 32), (33, 64), (65, 128)]
    counted = [int(((w.procs >= low) & (w.procs <= high)).sum()) for low, high in edges]
    assert counted == jobs
    assert 100 * area.sum() / capacity == pytest.approx(total, rel=0.01)
    small = w.procs <= 64
    measured = [100 * area[~small].sum() / capacity] + [
        100 * area[small & (w.request <= hours * HOUR)].sum() / capacity for hours in (5, 20, 50)
    ]
    assert measured == pytest.approx(table8, rel=0.01)
    assert check_month(w, MONTHS[month]).worst < 0.01


@pytest.mark.parametrize("month", PRINTED)
def test_what_the_text_says(month):
    check = check_month(o2k_month(month, seed=4), MONTHS[month])
    assert 0.80 <= check.power_of_two <= 0.85
    assert check.memory_demand <= 0.8 * check.demand_total
    half = sum(check.peaks[h * HOUR] for h in (5, 50, 200, 400))
    assert half == pytest.approx(0.5, abs=0.03)
    assert check.peaks[600] == pytest.approx(0.12, abs=0.02)
    assert check.peaks[HOUR] == pytest.approx(0.10, abs=0.02)
    assert check.large == check.demand[-1]
    assert sum(check.jobs) == len(o2k_month(month, seed=4))


def test_limits_of_the_two_types():
    w = o2k_month("2002-12", seed=2)
    memory = w.demand[:, 1]
    dedicated = w.extra["dedicated"] == 1
    assert (dedicated == (w.procs > 64)).all()
    assert (memory[~dedicated] <= 25 * KB_PER_GB).all()
    assert (memory[dedicated] <= 64 * KB_PER_GB).all()
    assert (w.run >= 1).all()
    assert (w.run <= w.request).all()
    assert (w.request % 60 == 0).all()
    assert w.request.max() == 400 * HOUR
    early = dedicated & (w.submit < 18 * DAY)
    assert early.sum() > 20
    assert w.request[early].max() <= 50 * HOUR
    assert w.request[dedicated].max() > 50 * HOUR


def test_few_jobs_ask_for_5_to_50_hours():
    w = o2k_month("2003-02", seed=1)
    between = (w.request > 5 * HOUR) & (w.request < 50 * HOUR)
    assert between.mean() < 0.06
    filled = np.isin(w.request, MIDDLE) & (w.procs <= 64)
    assert filled.sum() > 0
    assert set(PEAKS) <= set(w.request.tolist())


def test_arrivals_have_days_and_weekends():
    w = o2k_month("2003-01", seed=1)
    day = w.submit // DAY
    weekday = np.array([datetime.date(2003, 1, 1 + d).weekday() for d in range(31)])
    per_day = np.bincount(day, minlength=31)
    assert per_day[weekday >= 5].mean() / per_day[weekday < 5].mean() == pytest.approx(
        0.6, abs=0.05
    )
    hour = w.submit % DAY / HOUR
    assert ((hour >= 9) & (hour < 17)).mean() == pytest.approx(0.51, abs=0.03)
    assert w.submit.max() < 31 * DAY
    for month in MONTHS.values():
        first = datetime.date(*map(int, month.name.split("-")), 1)
        assert first.weekday() == month.first_weekday


def test_a_month_between_its_neighbours():
    o2k = o2k_workload("2003-02", seed=3)
    w, (start, end) = o2k.workload, o2k.window
    assert (start, end) == (7 * DAY, 35 * DAY)
    inside = (w.submit >= start) & (w.submit < end)
    assert inside.sum() == sum(MONTHS["2003-02"].jobs)
    assert w.submit.max() < 42 * DAY
    assert (w.submit < start).sum() == pytest.approx(7335 * 7 / 31, rel=0.1)
    assert (w.submit >= end).sum() == pytest.approx(8358 * 7 / 31, rel=0.2)
    assert w.job_id.tolist() == list(range(1, len(w) + 1))
    assert check_month(w.take(np.flatnonzero(inside)), MONTHS["2003-02"]) == o2k.check
    alone = o2k_workload("2003-02", seed=3, margin_days=0)
    assert alone.workload.run.tolist() == w.run[inside].tolist()


def test_ends_use_a_second_draw_of_themselves():
    o2k = o2k_workload("2002-12", seed=1)
    before = o2k.workload.submit < o2k.window[0]
    own = o2k.workload.take(np.flatnonzero(~before))
    last_week = own.submit[(own.submit >= 31 * DAY) & (own.submit < 38 * DAY)] - 31 * DAY
    assert o2k.workload.submit[before].tolist() != last_week.tolist()


def test_seeds_and_months_are_independent():
    a, b, c = (o2k_month("2003-01", seed=s) for s in (1, 1, 2))
    assert a.run.tolist() == b.run.tolist() != c.run.tolist()
    march = o2k_month("2003-03", seed=1)
    assert a.submit[:50].tolist() != march.submit[:50].tolist()


def test_hosts_hold_what_table_2_says():
    assert sum(procs for procs, _ in HOSTS) == PROCS == 1440
    assert sum(memory for _, memory in HOSTS) == MEMORY_GB * KB_PER_GB
    assert len(HOSTS) == 12


def test_what_has_no_meaning_is_refused():
    with pytest.raises(UsageError, match="2002-12"):
        o2k_month("2003-04", seed=1)
    with pytest.raises(UsageError, match="days"):
        o2k_workload("2003-01", seed=1, margin_days=40)


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 10**6), st.floats(1.05, 3.0))
def test_fitting_meets_margins_within_bounds(seed, slack):
    rng = np.random.default_rng(seed)
    hidden = rng.uniform(0.1, 5, (5, 4))  # a table that has these margins: a solution exists
    start = rng.uniform(0.1, 5, (5, 4))
    table = fitted_areas(start, hidden * slack, hidden.sum(axis=1), hidden.sum(axis=0))
    assert (table <= hidden * slack * (1 + 1e-9)).all()
    assert table.sum(axis=0) == pytest.approx(hidden.sum(axis=0), rel=1e-3)
    assert table.sum(axis=1) == pytest.approx(hidden.sum(axis=1), rel=1e-3)


def test_fitting_goes_as_far_as_the_bounds_let_it():
    one = np.ones((2, 2))
    table = fitted_areas(
        one, np.array([[1.0, 1.0], [9.0, 9.0]]), np.array([4.0, 4]), np.array([4.0, 4])
    )
    assert table[0].tolist() == [1.0, 1.0]
