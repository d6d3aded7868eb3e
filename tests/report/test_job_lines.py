"""Jobs on lines of their own, and the bandwidth beside the capacity."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from report.worlds import easy, workload
from shadowtime.cluster import Cluster
from shadowtime.cluster.contention import node_cluster
from shadowtime.errors import UsageError
from shadowtime.metrics import measure
from shadowtime.metrics.policy_run import PolicyRun
from shadowtime.report.inputs import ReportInput
from shadowtime.report.page.bandwidth import allocated, bandwidth
from shadowtime.report.paraver import write_job_lines


def test_every_state_has_its_colour(tmp_path: Path) -> None:
    """Waiting red, running blue, unused white, extra dark yellow; as many strokes as stretches."""
    jobs = workload(60)
    longer = jobs.replace(request=np.maximum(1, jobs.run - jobs.run // 3), limit=jobs.run)
    longer = longer.replace(request=np.where(np.arange(60) % 2, longer.request, jobs.run * 2))
    schedule = easy(longer, 64)
    done = write_job_lines(longer, schedule, Cluster.pool(64), tmp_path / "lines.svg")
    text = done.paths[0].read_text()
    for colour in ("#ff0000", "#0000ff", "#ffffff", "#b38f00"):
        assert f'stroke="{colour}"' in text
    strokes = sum(path.count("M") for path in re.findall(r'<path d="([^"]*h[^"]*)"', text))
    assert strokes == done.records


def test_paraver_by_the_name(tmp_path: Path) -> None:
    """A name that ends in .prv gives Paraver's three files; any other is rejected."""
    jobs = workload(5)
    done = write_job_lines(jobs, easy(jobs, 64), Cluster.pool(64), tmp_path / "lines.prv")
    assert [path.suffix for path in done.paths] == [".prv", ".pcf", ".row"]
    with pytest.raises(UsageError, match=r"\.svg or \.prv"):
        write_job_lines(jobs, easy(jobs, 64), Cluster.pool(64), tmp_path / "lines.png")


def test_bandwidth_beside_the_capacity() -> None:
    """A line per policy and the sum of the nodes; its mean is what the jobs drew."""
    jobs = workload(40).replace(extra={"bandwidth": np.full(40, 100)})
    cluster = node_cluster(16, procs=4, bandwidth=1000)
    schedule = easy(jobs, 64)
    run = PolicyRun(
        name="easy", schedule=schedule, parameters={}, metrics=measure(schedule, jobs, cluster)
    )
    report = ReportInput(workload=jobs, cluster=cluster, runs=(run,), title="x", command="x")
    lines, days = allocated(report)
    assert set(lines["capacity"]) == {16_000.0}
    moved = float(((schedule.end - schedule.start) * jobs.procs * 100).sum())
    span = days * 86_400
    assert lines["easy"].mean() * span == pytest.approx(moved, rel=1e-6)
    assert "capacity" in bandwidth(report, "")
