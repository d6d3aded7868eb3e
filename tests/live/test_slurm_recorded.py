"""In a fresh run of Slurm's own backfill the model makes the same passes."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from conftest import require_slurm
from shadowtime.slurm.recording.check import check_recording
from shadowtime.slurm.recording.folder import read_recording
from shadowtime.testing.slurm import SlurmCluster, slurm_cluster
from shadowtime.testing.slurm_random import check_run
from shadowtime.testing.slurm_recording import SETTINGS, Act, Submission, draw_jobs, record

ANSWERED = 2.0
"""Seconds after an end in which a busy machine may not have answered for a node yet."""


def test_a_fresh_run_is_planned_alike(tmp_path: Path, slurm_root: Path | None) -> None:
    """Fifty jobs on eight nodes: starts on the same nodes, none too many, the same plans."""
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-record-"))
    jobs = draw_jobs(20261115, 50, nodes=8, cpus=16, load=1.3, mean=8.0)
    try:
        with slurm_cluster(
            folder, gres=0, accounting=True, settings=SETTINGS, root=slurm_root
        ) as cluster:
            record(cluster, jobs, tmp_path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    found = check_recording(tmp_path, completing=ANSWERED)
    differences = found.differences[:5]
    if slurm_root is not None:
        wanted = slurm_root.name.removeprefix("slurm-")
        assert found.version[:5] >= wanted
    # How many passes can be compared depends on the machine: a busy one has fewer, and more of
    # them so soon after an end that a node may not have answered. Some must be left to compare.
    assert found.passes > 3 and found.plans > 30
    assert found.starts + found.main_starts > 0
    assert found.starts_equal == found.starts, differences
    assert found.main_starts_equal == found.main_starts, differences
    assert found.extra_starts == 0, differences
    assert found.plans - found.plans_equal <= max(1, 0.002 * found.plans), differences


def test_what_operators_do_is_followed(tmp_path: Path, slurm_root: Path | None) -> None:
    """Tasks killed, jobs and tasks requeued, limits changed, held, a node down and back."""
    jobs = [
        Submission(
            at=0, seconds=14, options=("-t", "2", "-N", "1", "--exclusive", "--array=1-9%3")
        ),
        Submission(at=0.2, seconds=12, options=("-t", "3", "-N", "2", "--exclusive")),
        Submission(at=0.4, seconds=3, options=("-t", "3", "-N", "4", "--exclusive")),
        Submission(at=0.6, seconds=4, options=("-t", "5", "-N", "1", "--exclusive")),
        *(Submission(at=k, seconds=5, options=("-t", "2", "-n", "8")) for k in range(1, 9)),
    ]
    acts = [
        Act(at=3, words=("scancel", "{0}_7")),
        Act(at=4.5, words=("scancel", "{0}_[5,8]")),
        Act(at=6, words=("scontrol", "update", "JobId={3}", "TimeLimit=1")),
        Act(at=7, words=("scontrol", "update", "JobId={1}", "TimeLimit=4")),
        Act(at=8, words=("scontrol", "hold", "{9}")),
        Act(at=9, words=("scancel", "{0}_2")),
        Act(at=11, words=("scontrol", "requeue", "{0}_1")),
        Act(at=13, words=("scontrol", "release", "{9}")),
        Act(at=15, words=("scontrol", "update", "NodeName=n1", "State=DOWN", "Reason=drawn")),
        Act(at=19, words=("scontrol", "update", "NodeName=n1", "State=RESUME")),
        Act(at=21, words=("scancel", "{0}")),
    ]
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-record-"))
    options = {"nodes": 4, "gres": 0, "accounting": True, "settings": SETTINGS, "root": slurm_root}
    try:
        with slurm_cluster(folder, **options) as cluster:
            record(cluster, jobs, tmp_path, acts=acts)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    kinds = {event.kind for event in read_recording(tmp_path).log.events}
    assert {"kill", "limit", "hold", "release", "requeued", "node"} <= kinds
    found = check_run(tmp_path)
    differences = found.differences[:5]
    assert found.passes > 3
    assert found.starts_equal == found.starts and found.extra_starts == 0, differences
    assert found.main_starts_equal == found.main_starts, differences
    assert found.plans_equal == found.plans and found.extra_plans == 0, differences


GANG = ("PreemptType=preempt/partition_prio", "PreemptMode=SUSPEND,GANG")
TIERS = (
    "PartitionName=low Nodes=ALL Default=YES PriorityTier=1 PreemptMode=SUSPEND State=UP",
    "PartitionName=high Nodes=ALL PriorityTier=9 PreemptMode=OFF State=UP",
)


def whole_nodes(at: float, seconds: float, partition: str, count: int) -> Submission:
    options = ("-p", partition, "-N", str(count), "--exclusive", "-t", "2")
    return Submission(at=at, seconds=seconds, options=options)


def test_jobs_start_above_suspended_ones_alike(tmp_path: Path) -> None:
    """A full machine of a low tier: jobs of a high one start on the nodes that Slurm gives them.

    When a suspended job went on is known to the second alone, so that plans are not compared:
    a slow machine may log the end above it in the next second.
    """
    require_slurm()
    jobs = [whole_nodes(0.1 * n, 7, "low", 1) for n in range(4)]
    jobs += [whole_nodes(1.5, 2, "high", 1), whole_nodes(2.5, 2, "high", 2)]
    jobs += [whole_nodes(3.0, 1, "low", 2), whole_nodes(3.5, 1, "low", 1)]
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-record-"))
    settings = SETTINGS + GANG
    cluster = SlurmCluster(folder=folder, nodes=4, gres=0, accounting=True, settings=settings)
    try:
        cluster.make()
        lines = cluster.conf.read_text().splitlines()
        kept = [line for line in lines if not line.startswith("PartitionName=")]
        cluster.conf.write_text("\n".join([*kept, *TIERS]) + "\n")
        cluster.start()
        record(cluster, jobs, tmp_path)
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)
    found = check_recording(tmp_path, completing=ANSWERED)
    differences = found.differences[:5]
    assert found.starts + found.main_starts > 0
    assert found.starts_equal == found.starts and found.extra_starts == 0, differences
    assert found.main_starts_equal == found.main_starts, differences
    paused = [runs[-1].columns["suspended"] for runs in read_recording(tmp_path).runs.values()]
    assert any(one not in ("", "00:00:00") for one in paused), paused
