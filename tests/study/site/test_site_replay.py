"""A site's own scheduler beside what happened: groups, ranges, passes, reasons."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conftest import ROOT
from shadowtime.cluster.site import Node, Partition, Site
from shadowtime.errors import UsageError
from shadowtime.metrics.groups import groups_of
from shadowtime.slurm.policy import SlurmPolicy
from shadowtime.slurm.recording.strip import strip
from shadowtime.study.site.replay import SiteReplay, replay_site
from shadowtime.study.site.trials import Repeats, predicted
from shadowtime.trace.site_folder import read_site
from shadowtime.workload import Workload
from shadowtime.workload.request import Request, Requests

FOLDER = Path(os.environ.get("SHADOWTIME_RECORDINGS", ROOT.parent / "shared" / "slurm-runs"))
recorded = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no recordings in {FOLDER}")


def replayed(name: str, place: Path, phases: int = 2) -> SiteReplay:
    """A recording, from what a site can export, under Slurm's own scheduler."""
    site, jobs = read_site(strip(FOLDER / name, place / name))
    return replay_site(jobs, site, SlurmPolicy(), repeats=Repeats(phases=phases))


def small() -> tuple[Site, Workload]:
    """Two partitions on two nodes; job 3 was cancelled in the queue, job 4 asks for too much."""
    site = Site(
        nodes=(Node(name="a", amounts=(2,)), Node(name="b", amounts=(2,))),
        partitions=(
            Partition(name="left", nodes=("a",), default=True),
            Partition(name="right", nodes=("b",)),
        ),
    )
    asks = [("left", 2), ("right", 2), ("left", 2), ("right", 9)]
    requests = Requests.of_jobs(
        [Request(tasks=procs, partitions=(name,)) for name, procs in asks],
        cancel_at=[-1, -1, 40, -1],
    )
    jobs = Workload.build(
        submit=[0, 0, 10, 20],
        run=[100, 100, 100, 100],
        procs=[procs for _, procs in asks],
        recorded_start=[1, 11, 40, 90],
        partition=[1, 2, 1, 2],
        names={"partition": ("", "left", "right")},
        requests=requests,
        extra={"started_by": np.array([1, 2, -1, -1])},
    )
    return site, jobs


def test_groups_leave_out_what_left_the_queue_and_what_never_starts() -> None:
    """Cancelled jobs have no wait; a job without a simulated start is counted separately."""
    site, jobs = small()
    found = replay_site(jobs, site, SlurmPolicy(), repeats=Repeats(phases=2))
    rows = {(row.by, row.name): row for row in found.groups}
    assert rows["all", "all"].jobs == 2 and found.never_started == 1
    assert rows["partition", "left"].recorded_s == 1 and rows["partition", "right"].recorded_s == 11
    assert found.backfilled is not None and found.backfilled[0] == 0.5
    assert set(rows["all", "all"].as_dict()) == {
        "by", "name", "jobs", "recorded_wait_mean_s", "simulated_wait_mean_s", "low_s", "high_s",
        "difference", "expected_error",
    }  # fmt: skip


def test_jobs_without_an_account_are_a_group_without_a_name() -> None:
    """Every kind of group covers all jobs that count."""
    _, jobs = small()
    sizes: dict[str, int] = {}
    for group in groups_of(jobs):
        sizes[group.by] = sizes.get(group.by, 0) + int(group.members.sum())
    assert sizes == dict.fromkeys(("all", "partition", "account", "qos", "size"), 3)
    assert [group.name for group in groups_of(jobs, ("account",))] == [""]


def test_a_log_without_starts_has_nothing_to_compare() -> None:
    site, jobs = small()
    blank = jobs.replace(recorded_start=np.full(4, -1))
    with pytest.raises(UsageError, match="nothing to compare"):
        replay_site(blank, site, SlurmPolicy())


def test_the_range_holds_every_run_and_no_negative_wait() -> None:
    """Runs far apart: the lower bound is cut at 0; equal runs: the model's own error remains."""
    wide = predicted([0.0, 100.0], run=10.0)
    assert wide is not None and wide.low == 0 and wide.high > 100
    equal = predicted([50.0, 50.0, 50.0], run=50.0)
    assert equal is not None and equal.low < 50 < equal.high
    assert predicted([float("nan")]) is None


@recorded
@pytest.mark.parametrize("name", ["A", "B2", "E2", "J", "L2"])
def test_recordings_lie_in_their_ranges(name: str, tmp_path: Path) -> None:
    """Nine of ten groups of a recording are in the range of one run."""
    found = replayed(name, tmp_path)
    within = [row.within for row in found.groups]
    assert sum(within) >= 0.9 * len(within)
    assert {row.by for row in found.groups} == {"all", "partition", "account", "qos", "size"}
    assert found.backfilled is not None
    share, low, high = found.backfilled
    assert low - 0.15 <= share <= high + 0.15


@recorded
def test_a_replay_of_another_scheduler_is_not_trusted(tmp_path: Path) -> None:
    """B2 did not run first come, first served, and the verdict shows it."""
    site, jobs = read_site(strip(FOLDER / "B2", tmp_path / "B2"))
    other = site.replace(config={**site.config, "SchedulerType": "sched/builtin"})
    found = replay_site(jobs, other, SlurmPolicy(), repeats=Repeats(phases=2))
    assert found.trust.expected.error > abs(found.groups[0].difference) > 0.5
    assert not found.groups[0].within


@recorded
def test_the_same_replay_gives_the_same_numbers(tmp_path: Path) -> None:
    first, second = replayed("A", tmp_path / "a"), replayed("A", tmp_path / "b")
    assert [row.as_dict() for row in first.groups] == [row.as_dict() for row in second.groups]
    assert replace(first.groups[0], jobs=1) != first.groups[0]


@recorded
def test_jobs_cancelled_in_the_queue_are_told_apart(tmp_path: Path) -> None:
    """Some of J's would have started: how many, how much of the work, and what depends on it."""
    found = replayed("J", tmp_path)
    gone = found.cancelled
    assert gone is not None and gone.jobs >= gone.started > 0
    assert 0 < gone.core_share < 0.1 and -0.2 < gone.sensitivity < 1
    assert found.as_dict()["cancelled"]["jobs"] == gone.jobs
    assert replayed("A", tmp_path).cancelled is None
