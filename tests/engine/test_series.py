"""Values over time in every slot: as the slow reference decides, compiled or not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import shadowtime as st
from conftest import examples
from engine.worlds import as_cluster, as_workload, assert_same, worlds
from naive.shorthand import frame
from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Node, Site
from shadowtime.engine import simulate
from shadowtime.errors import PolicyError
from shadowtime.kernel.curve import pack, unpacked
from shadowtime.workload import Workload
from shadowtime.workload.series import Series

EXAMPLES = settings(max_examples=examples(40), deadline=None)
PRICE = Series(name="price", time=np.array([0, 7, 20, 33]), value=np.array([3.0, 1.5, 9.0, 2.0]))
DAY = Series(name="day", time=np.array([2, 11]), value=np.array([1.0, 4.0]), period=17)
SERIES = {"price": PRICE, "day": DAY, "unread": PRICE}


def price_at(when):
    """By looking through the steps."""
    found = 3.0
    for time, value in zip(PRICE.time.tolist(), PRICE.value.tolist(), strict=True):
        if time <= when:
            found = value
    return found


def day_at(when):
    return 1.0 if 2 <= when % 17 < 11 else 4.0


def summed(at, begin, end):
    """Second by second."""
    return sum(at(second) for second in range(begin, end))


@st.order
def cheap_area(now, job, series, weight=2.0):
    return -weight * series.price.total(now, now + job.estimate) * job.procs


@st.order(memory=1)
def by_day(now, job, user, series):
    return job.wait * series.day.at(now) - series.price.mean(now, now + job.request) - user[0]


@by_day.learn
def _(now, job, user, series):
    user[0] += series.day.at(now)


@st.backfill_test
def cheap_now(now, job, series):
    return series.price.at(now) < 5


@st.plan
def best_of_days(now, job, user, start, series):
    return series.day.cheapest(start, start + 40, job.estimate)


def slow_best_of_days(now, job, user, start):
    begin = int(start)
    costs = {t: summed(day_at, t, t + job.estimate) for t in range(begin, begin + 41)}
    return min(costs, key=lambda t: (costs[t], t))


@st.plan
def cheapest(now, job, user, start, series):
    return series.price.cheapest(start, start + 20, job.estimate)


def slow_cheapest(now, job, user, start):
    begin = int(start)
    costs = {t: summed(price_at, t, t + job.estimate) for t in range(begin, begin + 21)}
    return min(costs, key=lambda t: (costs[t], t))


def slow_mean(job, now):
    return summed(price_at, now, now + job.request) / job.request


def slow_learn(now, job, user):
    user[0] += day_at(now)


SLOTS = {
    "order": (
        {"order": cheap_area},
        {
            "order": lambda now, job, user: (
                -2.0 * summed(price_at, now, now + job.estimate) * job.procs
            )
        },
    ),
    "memory": (
        {"order": by_day},
        {
            "order": lambda now, job, user: job.wait * day_at(now) - slow_mean(job, now) - user[0],
            "learn": {"end": slow_learn},
        },
    ),
    "test": ({"backfill": cheap_now}, {"test": lambda now, job, user: price_at(now) < 5}),
    "plan": ({"reserve": cheapest}, {"plan": slow_cheapest}),
    "plan over rounds": ({"reserve": best_of_days}, {"plan": slow_best_of_days}),
}


@pytest.mark.parametrize("slot", SLOTS)
@EXAMPLES
@given(world=worlds())
def test_each_slot(slot, world):
    """Values now and ahead, means and totals, in the functions and in what they learn."""
    jobs, capacity = world
    parts, twin = SLOTS[slot]
    workload = as_workload(jobs).replace(series=SERIES)
    made = simulate(workload, as_cluster(capacity), st.easy(**parts))
    assert_same(made, frame(jobs, capacity, **twin))


LOG = Workload.build(
    submit=[0, 0, 0], run=[5, 5, 5], procs=[2, 2, 2], request=[5, 30, 5], series=SERIES
)
POOL = Cluster.pool(2)
SITE = Site(nodes=(Node(name="a", amounts=(2,)), Node(name="b", amounts=(1,))))


@st.select
def when_cheap(now, jobs, free, series, most=5.0):
    for i in range(len(jobs.procs)):
        if series.price.at(now) < most or now > 40:
            if st.earliest(free, jobs.need[i], jobs.estimate[i]) == now:
                st.occupy(free, jobs.need[i], now, now + jobs.estimate[i])
                jobs.start[i] = 1
        else:
            jobs.due[i] = 33


@st.place
def by_price(now, job, node, series):
    return node.number * (series.price.at(now) - 2)


def test_a_function_that_chooses_gets_them():
    """Compiled and in Python."""
    late = LOG.replace(submit=np.array([0, 21, 22]))
    in_python = st.select(compiled=False)(when_cheap.function)
    for part in (when_cheap, in_python):
        assert simulate(late, POOL, st.easy(backfill=part)).start.tolist() == [0, 33, 38]


def test_on_a_site():
    """Orders and places: the dear hours fill node b first."""
    small = Workload.build(submit=[0, 8], run=[3, 3], procs=[1, 1], series=SERIES)
    made = simulate(small, SITE, st.easy(place=by_price, order=cheap_area))
    assert list(made.place) == ["b:1", "a:1"]


def test_what_is_missing_is_refused():
    """A series that the run lacks, or one that nobody reads."""
    with pytest.raises(PolicyError, match=r"reads series\.price.*--series price=FILE\.csv"):
        simulate(LOG.replace(series={}), POOL, st.easy(order=cheap_area))
    useless = st.order(lambda now, job, series: job.wait)
    with pytest.raises(PolicyError, match="takes series and reads none"):
        simulate(LOG, POOL, st.easy(order=useless))


@st.order
def fails(now, job, series):
    return 1 / (series.price.at(now) - 3)


def test_a_failure_names_the_line():
    """The function is called again in Python, with the series."""
    with pytest.raises(PolicyError, match=r"fails .*test_series.py:\d+\).*ZeroDivisionError"):
        simulate(LOG, POOL, st.easy(order=fails))


def test_series_of_a_period():
    """Integrals over rounds, and steps written out."""
    for begin, end in ((0, 17), (3, 50), (16, 18), (-20, 5)):
        assert DAY.integral(begin, end) == summed(day_at, begin, end)
        assert PRICE.integral(begin, end) == summed(price_at, begin, end)
        for series, at in ((DAY, day_at), (PRICE, price_at)):
            curve = unpacked(pack([(*series.steps(), series.period)]), 0)
            assert curve.total(begin, end) == summed(at, begin, end)
            assert curve.at(end) == at(end) == series.at(end)
