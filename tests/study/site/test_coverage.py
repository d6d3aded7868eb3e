"""What is not modelled is named, with its share of the log, and lowers the verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import recording_path
from shadowtime.cli import run
from shadowtime.slurm.policy import SlurmPolicy
from shadowtime.slurmtext.fields import lines_of
from shadowtime.slurmtext.sacct_rows import BETWEEN
from shadowtime.study.site.replay import replay_site
from shadowtime.study.site.trials import Repeats
from shadowtime.testing.slurm_recording import strip
from shadowtime.trace.site_folder import read_site


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
    assert one["option"] == "switches" and one["jobs"] == len(range(0, len(jobs), every))
    assert low < found.trust.expected.error < high
    assert run(["doctor", str(folder), "--json"]) == 1
    said = json.loads(capsys.readouterr().out)["not_expressed"]
    assert [(row["jobs"], row["runs"]) for row in said if "--switches" in row["reason"]] == [
        (one["jobs"], True)
    ]


def test_a_site_without_submissions_is_told_what_it_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = strip(recording_path("I2"), tmp_path / "bare", submit_line=False)
    run(["doctor", str(bare), "--json"])
    assert any("SubmitLine" in note for note in json.loads(capsys.readouterr().out)["notes"])
    full = strip(recording_path("I2"), tmp_path / "full")
    run(["doctor", str(full), "--json"])
    assert not any("SubmitLine" in note for note in json.loads(capsys.readouterr().out)["notes"])
