"""What is not modelled is named, with its share of the log, and lowers the verdict."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import recording_path
from shadowtime.cli import run
from shadowtime.cluster.site import Node, Partition, Site
from shadowtime.slurm.policy import SlurmPolicy
from shadowtime.slurm.recording.strip import strip
from shadowtime.slurmtext.fields import lines_of
from shadowtime.slurmtext.sacct_rows import BETWEEN
from shadowtime.study.site.coverage import coverage
from shadowtime.study.site.replay import replay_site
from shadowtime.study.site.trials import Repeats
from shadowtime.trace.site_folder import read_site
from shadowtime.workload import Workload
from shadowtime.workload.request import Gres, Request, Requests


def with_option(folder: Path, option: str, every: int) -> Path:
    """Every n-th submission of a site folder has one more option."""
    path = folder / "jobs.psv"
    head, *rows = (line.split(BETWEEN) for line in lines_of(path.read_text()))
    at = head.index("SubmitLine")
    for row in rows[::every]:
        row[at] += f" {option}"
    path.write_text("".join(f"{BETWEEN.join(row)}\n" for row in (head, *rows)))
    return folder


@pytest.mark.parametrize(("every", "low", "high"), [(2, 0.3, 0.8), (200, 0.0, 0.2)])
def test_options_that_are_not_modelled_lower_the_verdict(
    every: int, low: float, high: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half of the jobs ask for one switch: their share is part of the error; so is that of one."""
    folder = with_option(strip(recording_path("I2"), tmp_path / "I2"), "--switches=1", every)
    site, jobs = read_site(folder)
    found = replay_site(jobs, site, SlurmPolicy(), repeats=Repeats(phases=1))
    (one,) = found.as_dict()["not_modelled"]
    assert one["what"] == "--switches" and one["jobs"] == len(range(0, len(jobs), every))
    assert low < found.trust.expected.error < high
    assert run(["doctor", str(folder), "--json"]) == 1
    assert one in json.loads(capsys.readouterr().out)["not_modelled"]


def test_settings_that_are_not_modelled_are_named_by_every_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A setting of slurm.conf, a word of SchedulerParameters, a flag of the partition's rules."""
    folder = strip(recording_path("K"), tmp_path / "K")
    site, jobs = read_site(folder)
    before = replay_site(jobs, site, SlurmPolicy(), repeats=Repeats(phases=1)).trust.expected
    conf = (folder / "config.txt").read_text()
    conf = conf.replace("bf_interval=", "extra_constraints,max_rpc_cnt=9,bf_interval=")
    conf = re.sub("(?m)^CompleteWait .*", "CompleteWait = 30 sec\nWarpDrive = on", conf)
    (folder / "config.txt").write_text(conf)
    partitions = (folder / "partitions.txt").read_text()
    assert "PartitionName=short" in partitions
    lines = [
        line.replace("RootOnly=NO", "RootOnly=YES") if "PartitionName=short" in line else line
        for line in partitions.replace("\n   ", " ").split("\n")
    ]
    (folder / "partitions.txt").write_text("\n".join(lines))
    site, jobs = read_site(folder)
    named = [one.what for one in coverage(jobs, site).found]
    assert set(named) == {
        "partition rootonly", "slurm.conf CompleteWait=30 sec",
        "slurm.conf WarpDrive=on (unknown)", "SchedulerParameters extra_constraints",
    }  # fmt: skip
    after = replay_site(jobs, site, SlurmPolicy(), repeats=Repeats(phases=1))
    alone = next(one for one in after.not_modelled if one.what == "partition rootonly")
    assert 0 < alone.core_share < 1 and 0 < alone.jobs < len(jobs)
    assert after.trust.expected.error > before.error + 0.1
    run(["doctor", str(folder)])
    assert "CompleteWait" in capsys.readouterr().out
    words = [str(folder), "--set", "bf_interval=9", "--phases", "2", "--json"]
    run(["whatif", *words])
    assert set(named) == {
        one["what"] for one in json.loads(capsys.readouterr().out)["whatif"]["not_modelled"]
    }
    run(["whatif", *words[:-1]])
    assert "not modelled: partition rootonly" in " ".join(capsys.readouterr().out.split())


def test_kinds_of_jobs_and_flags_that_are_not_modelled(tmp_path: Path) -> None:
    """A heterogeneous submission, and a QOS whose usage does not decay."""
    folder = strip(recording_path("N"), tmp_path / "N")
    with_option(folder, ": -n 4", 10)
    head, *rows = [line.split("|") for line in (folder / "qos.txt").read_text().splitlines()]
    for row in rows:
        if row[head.index("Name")] == "f2hi":
            row[head.index("Flags")] = "DenyOnLimit,NoDecay"
    (folder / "qos.txt").write_text("".join("|".join(row) + "\n" for row in (head, *rows)))
    site, jobs = read_site(folder)
    found = {one.what: one.jobs for one in coverage(jobs, site).found}
    assert found == {"heterogeneous job": len(range(0, len(jobs), 10)), "QOS flag NoDecay": 24}


def test_parts_of_heterogeneous_jobs_count_without_a_submission(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their ids tell: doctor, replay, whatif and check slurm name them, with the same jobs."""
    folder = strip(recording_path("A"), tmp_path / "A", submit_line=False)
    head, *rows = [line.split(BETWEEN) for line in (folder / "jobs.psv").read_text().splitlines()]
    for number, row in enumerate(rows[:8]):
        row[head.index("JobID")] = f"{rows[number // 2 * 2][0]}+{number % 2}"
    (folder / "jobs.psv").write_text("".join(f"{BETWEEN.join(row)}\n" for row in (head, *rows)))
    shutil.copyfile(recording_path("A") / "slurmctld.log.gz", folder / "slurmctld.log.gz")
    for words in (
        ("doctor",), ("replay", "--phases", "2"), ("check", "slurm", "--every", "1000"),
        ("whatif", "--set", "bf_interval=9", "--phases", "2"),
    ):  # fmt: skip
        at = 2 if words[0] == "check" else 1
        run([*words[:at], str(folder), *words[at:], "--json"])
        found = json.loads(capsys.readouterr().out)
        (one,) = found.get(words[0], found)["not_modelled"]
        assert (one["what"], one["jobs"]) == ("heterogeneous job", 8)


def test_lines_of_the_log_that_are_not_read_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`check slurm` names them, with the jobs."""
    folder = tmp_path / "A"
    shutil.copytree(recording_path("A"), folder)
    with gzip.open(folder / "slurmctld.log.gz", "rt") as file:
        text = file.read()
    last = text.rstrip().rpartition("\n")[2].partition("]")[0]
    text += f"{last}] sched: _update_job: setting partition to warp for JobId=7\n"
    with gzip.open(folder / "slurmctld.log.gz", "wt") as file:
        file.write(text)
    run(["check", "slurm", str(folder), "--every", "1000", "--json"])
    (one,) = json.loads(capsys.readouterr().out)["not_modelled"]
    assert one["jobs"] == 1 and "setting partition to warp" in one["what"]
    assert 0 < one["jobs_share"] < 0.01 and one["core_share"] > 0


def test_a_site_without_submissions_is_told_what_it_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = strip(recording_path("I2"), tmp_path / "bare", submit_line=False)
    run(["doctor", str(bare), "--json"])
    assert any("SubmitLine" in note for note in json.loads(capsys.readouterr().out)["notes"])
    full = strip(recording_path("I2"), tmp_path / "full")
    run(["doctor", str(full), "--json"])
    assert not any("SubmitLine" in note for note in json.loads(capsys.readouterr().out)["notes"])


def test_what_slurm_alone_does_not_follow_is_named() -> None:
    """Counts of nodes with features, and generic resources besides GPUs that a task asks for."""
    nodes = (Node(name="a", amounts=(8,), features=("x",)),)
    bounded = Partition(name="p", nodes=("a",), max_cpus_per_node=4, least_loaded=True)
    site = Site(nodes=nodes, partitions=(bounded,))
    shard = Gres(name="shard", count=1)
    asked = Requests.of_jobs(
        [Request(features="[x*1|y*1]"), Request(gres=(shard, replace(shard, per="task")))]
    )
    jobs = Workload.build(submit=[0, 1], run=[10, 30], procs=[1, 1], requests=asked)
    assert [str(one) for one in coverage(jobs, site).found] == [
        "--gres=shard (1 jobs, 75.0% of the core-hours)",
        "--constraint with counts of nodes in several ways (1 jobs, 25.0% of the core-hours)",
    ]
