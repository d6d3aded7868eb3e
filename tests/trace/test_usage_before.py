"""Usage at the beginning of a log, from samples of sshare that a real slurmctld printed."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from conftest import recording_path
from shadowtime.engine.priority.weights import Weights
from shadowtime.slurm.recording.strip import strip
from shadowtime.trace.site_folder import read_site
from shadowtime.trace.usage_before import _left, usage_before


def sampled(name: str, folder: Path, share: float) -> tuple[Path, float]:
    """The site folder of a recording with sshare as it was after this share of the samples."""
    source = recording_path(name)
    lines = (source / "sshare_samples.psv").read_text().split("\n")
    moments = list(dict.fromkeys(line.partition("|")[0] for line in lines if line))
    at = moments[int(share * (len(moments) - 1))]
    made = strip(source, folder / name)
    texts = [line.partition("|")[2] for line in lines if line.startswith(f"{at}|")]
    (made / "sshare.txt").write_text("\n".join(texts) + "\n")
    return made, float(at)


@pytest.mark.parametrize("share", [0.3, 0.6, 1.0])
@pytest.mark.parametrize("name", ["D1", "D2", "N"])
def test_the_usage_of_logged_jobs_is_what_slurm_shows(
    name: str, share: float, tmp_path: Path
) -> None:
    """Nobody had used anything before these runs: what sshare shows is the usage of their jobs."""
    folder, at = sampled(name, tmp_path, share)
    site, jobs = read_site(folder)
    left = _left(site, jobs, at, Weights.of(site))
    shown = {(one.account, one.user): one.usage for one in site.associations if one.usage > 2000}
    within = 0.1
    if "limits" not in site.enforce:
        # Runs are charged up to the last tick alone (spec: slurm 5.5). It comes once a minute, and
        # runs last about as long here: which runs see one is chance.
        within = 0.25
        shown = {who: usage for who, usage in shown.items() if who == ("root", "")}
    assert shown
    for who, usage in shown.items():
        assert left[who] == pytest.approx(usage, rel=within), who
    then, note = usage_before(site, jobs, at)
    assert "taken out" in note
    most = max(one.usage for one in site.associations)
    assert max(one.usage for one in then.associations) < 2 * within * most


def test_a_folder_tells_when_usage_was_asked_for(tmp_path: Path) -> None:
    folder, at = sampled("D1", tmp_path, 1.0)
    before = [one.usage for one in read_site(folder)[0].associations]
    moment = datetime.fromtimestamp(at).isoformat()
    (folder / "pull.json").write_text(json.dumps({"files": {"sshare.txt": moment}}))
    site, _ = read_site(folder)
    assert max(one.usage for one in site.associations) < 0.5 * max(before)
    assert any("taken out" in note for note in site.notes)


def test_what_cannot_be_reconstructed_is_said(tmp_path: Path) -> None:
    """Many half-lives later nothing is left of what was used before the log."""
    folder, _ = sampled("D1", tmp_path, 1.0)
    site, jobs = read_site(folder)
    assert jobs.epoch is not None
    then, note = usage_before(site, jobs, jobs.epoch + 90 * 86400.0)
    assert then == site and "half-lives" in note
    plain = site.replace(config={**site.config, "PriorityType": "priority/basic"})
    assert usage_before(plain, jobs, jobs.epoch + 5000.0) == (plain, "")
