"""The passes of recorded Slurms, repeated on the true state before each of them."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from conftest import recording_path, recordings_folder, thorough
from shadowtime.cli import run
from shadowtime.errors import InputError
from shadowtime.slurm.recording.check import check_recording
from shadowtime.slurm.recording.folder import read_recording

FOLDER = recordings_folder()
RUNS = [
    (version, path.name)
    for version in ("22.05", "24.11", "26.05")
    for path in sorted(recordings_folder(version).glob("*/"))
]
DEEP = {"M1": 2, "M2": 8}
"""Check only every n-th pass of the long ones; ``shadowtime check slurm`` makes them all."""
STRIDE = 1 if thorough() else 3
"""And of each recording every third one in a quick run, which takes every second recording."""


@pytest.mark.parametrize(
    ("version", "name"), (RUNS if thorough() else RUNS[::2]) or [("22.05", "A")]
)
def test_every_pass_is_made_alike(version: str, name: str) -> None:
    """All starts on the same nodes and no others, nearly all plans, all victims."""
    path = recording_path(name, version)
    found = check_recording(path, every=STRIDE * DEEP.get(name, 1))
    shown = found.differences[:5]
    assert found.version.startswith(version)
    assert found.main_starts > (20 if version == "22.05" else 10)
    assert found.starts_equal == found.starts, shown
    assert found.extra_starts == 0, shown
    assert found.main_starts_equal == found.main_starts, shown
    assert found.victims_equal == found.victims, shown
    assert found.plans_equal >= 0.998 * found.plans, shown


def test_the_command_prints_what_agrees(capsys: pytest.CaptureFixture[str]) -> None:
    """One object with the counts; several folders add up."""
    recording_path("A")
    assert run(["check", "slurm", str(FOLDER / "A"), "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert alone["main_starts"] == alone["main_starts_equal"] > 50
    assert alone["differences"] == []
    assert run(["check", "slurm", str(FOLDER / "A"), str(FOLDER / "I"), "--json"]) == 0
    both = json.loads(capsys.readouterr().out)
    assert both["main_starts"] > alone["main_starts"]
    assert set(both["recordings"]) == {str(FOLDER / "A"), str(FOLDER / "I")}
    assert run(["check", "slurm", str(FOLDER / "A")]) == 0
    assert "93/93" in capsys.readouterr().out


def test_bad_folders_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder without a log, without jobs, or with an empty log."""
    with pytest.raises(InputError, match="not a folder"):
        read_recording(tmp_path / "none")
    with pytest.raises(InputError, match=r"no slurmctld\.log"):
        read_recording(tmp_path)
    (tmp_path / "slurmctld.log").write_text("[2026-01-01T00:00:00.000] hello\n")
    with pytest.raises(InputError, match=r"jobs\.psv"):
        read_recording(tmp_path)
    (tmp_path / "jobs.psv").write_text("JobIDRaw|JobID\n1|1\n")
    with pytest.raises(InputError, match=r"slurm\.conf"):
        read_recording(tmp_path)
    (tmp_path / "slurm.conf").write_text("NodeName=n1 CPUs=1\nPartitionName=p Nodes=n1\n")
    with pytest.raises(InputError, match="DebugFlags=Backfill"):
        read_recording(tmp_path)
    assert run(["check", "slurm", str(tmp_path)]) == 2
    assert "Traceback" not in capsys.readouterr().err


def without_lines(path: Path, copy: Path, *words: str) -> Path:
    """A copy of a recording whose log lacks the lines with any of these words."""
    shutil.copytree(path, copy)
    log = next(copy.glob("slurmctld.log*"))
    opened = gzip.open if log.suffix == ".gz" else open
    with opened(log, "rt") as text:
        kept = [line for line in text if not any(word in line for word in words)]
    log.unlink()
    (copy / "slurmctld.log").write_text("".join(kept))
    return copy


def test_a_log_without_plans_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """24.11 at level info: passes complete, and no plan can be read."""
    bare = without_lines(
        recording_path("B", "24.11"), tmp_path / "b", "_dump_job_sched", "_start_job", "BACKFILL: "
    )
    with pytest.raises(InputError, match=r"tested \d+ jobs .* SlurmctldDebug=verbose"):
        read_recording(bare)
    assert run(["check", "slurm", str(bare)]) == 2
    assert "no plan" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("name", ["tier", "arrays"])
def test_starts_without_a_line_are_found(name: str, tmp_path: Path) -> None:
    """26.05 without DebugFlags=HetJob: from the job tested last and sacct, also tasks of arrays."""
    whole = recording_path(name, "26.05")
    bare = without_lines(whole, tmp_path / name, "HETJOB: ")
    assert check_recording(bare) == check_recording(whole)


def test_priorities_without_a_source_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under multifactor the order changes by itself: without it, differences mean nothing."""
    whole = recording_path("D1")
    assert read_recording(whole).lacking == ()
    less = without_lines(whole, tmp_path / "d", "_get_priority_internal")
    for path in less.glob("squeue_samples*"):
        path.unlink()
    assert run(["check", "slurm", str(less), "--every", "50"]) == 0
    assert "are not recorded: set DebugFlags=Backfill,Priority" in " ".join(
        capsys.readouterr().out.split()
    )
