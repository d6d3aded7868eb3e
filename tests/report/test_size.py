"""A large log stays a small file."""

from __future__ import annotations

import numpy as np

from conftest import thorough, trace_path
from report.worlds import POLICIES, report_input
from shadowtime.cluster import Cluster
from shadowtime.report import PolicyRun, write_html
from shadowtime.schedule import Schedule
from shadowtime.trace import read
from shadowtime.workload.slicing import first_jobs


def test_three_schedules_of_sdsc_blue_fit_in_25_mb(tmp_path):
    """Its recorded schedule three times, with reasons and promises as noise: worse than real.

    In a quick run a third of the log has a third of the room.
    """
    whole = read(trace_path("SDSC-BLUE-2000-4.2-cln.swf.gz"))
    work = whole if thorough() else first_jobs(whole, len(whole) // 3)
    rng = np.random.default_rng(1)
    n = len(work)
    runs = []
    for name in POLICIES:
        recorded = Schedule.recorded(work)
        held = np.where(rng.random(n) < 0.1, recorded.start - rng.integers(0, 9000, n), -1)
        schedule = recorded.replace(
            reason=rng.integers(1, 4, n).astype(np.int8), blocked_at=held, promised=held
        )
        runs.append(PolicyRun(name=name, schedule=schedule))
    report = report_input(workload=work, cluster=Cluster.pool(1152), runs=tuple(runs))
    path = write_html(report, tmp_path / "blue.html")
    assert 1e6 < path.stat().st_size <= 25e6 * n / len(whole)
