"""The metrics on a real log, against numbers that another program found by the same definitions."""

from __future__ import annotations

import pytest

from conftest import trace_path
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.metrics import fairness, measure
from shadowtime.policy import parse_policy
from shadowtime.schedule import Schedule
from shadowtime.schedule.check import check
from shadowtime.trace import read
from shadowtime.workload import Workload

POOL = Cluster.pool(430)
FAIR = (
    "queue-by-arrival",
    "head-never-idle",
    "strictly-fair",
    "sunny-absorbing",
    "no-reservation-violation",
)


@pytest.fixture(scope="module")
def ctc() -> Workload:
    return read(trace_path("CTC-SP2-1996-3.1-cln.swf.gz"))


@pytest.fixture(scope="module")
def easy(ctc: Workload) -> Schedule:
    return simulate(ctc, POOL, parse_policy("easy"))


@pytest.fixture(scope="module")
def pv_easy(ctc: Workload) -> Schedule:
    return simulate(ctc, POOL, parse_policy("pv-easy"))


def test_easy_slowdowns_and_delays(ctc: Workload, easy: Schedule) -> None:
    """MBS and MWBS; 757 jobs delayed beyond FST2, 2101 beyond FST, by the expected amounts."""
    got = measure(easy, ctc, POOL)
    assert (got["mbs"], got["mwbs"]) == (
        pytest.approx(10.56, abs=0.01),
        pytest.approx(22.61, abs=0.01),
    )
    assert got["blocked"] == 4631
    late = fairness(easy, ctc, POOL)
    assert (late["fst2_delayed"], late["fst_delayed"]) == (757, 2101)
    assert late["fst2_delay_mean_s"] / 60 == pytest.approx(40.7, abs=0.05)
    assert late["fst2_delay_max_s"] / 3600 == pytest.approx(8.0, abs=0.05)
    assert late["fst_delay_mean_s"] / 60 == pytest.approx(35.0, abs=0.05)
    assert late["fst_delay_max_s"] / 3600 == pytest.approx(13.1, abs=0.05)


def test_pv_easy_preemption_and_waste(ctc: Workload, pv_easy: Schedule) -> None:
    """The paper's tables 4 to 6 as the prototype of the specification found them."""
    got = measure(pv_easy, ctc, POOL)
    assert (got["blocked"], got["backfilled"], got["preempted_jobs"]) == (6423, 29431, 10242)
    assert got["mkt"] == pytest.approx(1.785, abs=0.001)
    assert got["rtw_mean"] == pytest.approx(0.3901, abs=0.0001)
    assert got["wasted_load"] == pytest.approx(0.0242, abs=0.0001)
    assert got["total_load"] == pytest.approx(0.6812, abs=0.0001)
    assert (got["mbs"], got["mwbs"]) == (
        pytest.approx(14.38, abs=0.01),
        pytest.approx(24.65, abs=0.01),
    )
    assert fairness(pv_easy, ctc, POOL)["fst_delayed"] == 0


def test_strict_fairness_distinguishes_the_two(
    ctc: Workload, easy: Schedule, pv_easy: Schedule
) -> None:
    """PV-EASY keeps every fairness claim; EASY keeps its promises and is not strictly fair."""
    report = check(pv_easy, ctc, POOL, claims=FAIR)
    assert report.ok, str(report)
    claims = ("queue-by-arrival", "head-never-idle", "promises-kept", "no-reservation-violation")
    report = check(easy, ctc, POOL, claims=claims)
    assert report.ok, str(report)
    unfair = check(easy, ctc, POOL, claims=["strictly-fair"])["strictly-fair"]
    assert unfair.verdict == "violated" and "held by later jobs" in unfair.detail
