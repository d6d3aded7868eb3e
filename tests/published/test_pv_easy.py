"""PV-EASY on the paper's CTC log, held to the published numbers."""

from __future__ import annotations

import pytest

from conftest import trace_path
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.metrics import measure, reservation_violations
from shadowtime.policy import parse_policy
from shadowtime.schedule.check import check
from shadowtime.study.accuracy import predictions
from shadowtime.study.papers import published
from shadowtime.trace import read
from shadowtime.workload import Workload

POOL = Cluster.pool(430)


@pytest.fixture(scope="module")
def ctc() -> Workload:
    return read(trace_path("CTC-SP2-1996-3.1-cln.swf.gz"))


def printed(table: int, column: str) -> float:
    rows = published.rows(f"pv_easy_table{table}")
    return next(float(row[column]) for row in rows if row["workload"] == "CTC")


def test_blocked_preempted_and_wasted(ctc: Workload) -> None:
    """Blocked and preempted within 2 %, wasted load within 5 % of Tables 4 to 6."""
    got = measure(simulate(ctc, POOL, parse_policy("pv-easy")), ctc, POOL)
    [blocked] = [
        float(row["ctc"])
        for row in published.rows("pv_easy_table4")
        if (row["measure"], row["scheduler"]) == ("blocked", "PV-EASY")
    ]
    assert blocked == 6403
    assert got["blocked"] == pytest.approx(blocked, rel=0.02)
    assert got["preempted_jobs"] == pytest.approx(printed(6, "jobs_preempted"), rel=0.02)
    assert 100 * got["wasted_load"] == pytest.approx(printed(5, "wasted_load_pct"), rel=0.05)
    assert 100 * got["rtw_mean"] == pytest.approx(printed(6, "mean_rtw_pct"), rel=0.02)


@pytest.mark.parametrize("predictor", ["last", "last-two", "requested", "noisy(x=0.4, seed=1)"])
def test_no_reservation_is_violated(ctc: Workload, predictor: str) -> None:
    """Whatever predicts: every claim of PV-EASY is proved, no violation is counted."""
    policy = parse_policy(f"pv-easy(estimate={predictor})")
    schedule = simulate(ctc, POOL, policy)
    report = check(schedule, ctc, POOL)
    assert report.ok and report["strictly-fair"].verdict == "proved", str(report)
    guess = predictions(schedule, ctc, policy.estimate)
    assert len(reservation_violations(schedule, ctc, POOL, prediction=guess).row) == 0


def test_easy_last_violates_reservations(ctc: Workload) -> None:
    """The count that Table 2 is about is not zero, so that zero above means something."""
    policy = parse_policy("easy-last(fixed_reservation=yes)")
    schedule = simulate(ctc, POOL, policy)
    guess = predictions(schedule, ctc, policy.estimate)
    assert len(reservation_violations(schedule, ctc, POOL, prediction=guess).row) == 196
