"""An administrator's journey on recorded runs: the guide's commands, and damaged folders."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.guide import guide_commands
from conftest import recording_path
from shadowtime.cli import run


def test_the_guide_on_a_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command of the section runs, and the output ends with the lines of the page."""
    recordings = str(recording_path("E2").parent)
    monkeypatch.chdir(tmp_path)
    printed = {}
    for words in guide_commands("With a recorded run", RECORDINGS=recordings):
        assert run(words) == 0, (words, capsys.readouterr().err)
        printed[words[0]] = capsys.readouterr().out
    assert "QOSMaxJobsPerUserLimit" in printed["replay"] and "QOS few" in printed["replay"]
    assert "qos.few.MaxJobsPU=4" in printed["whatif"]
    assert "sacctmgr -i modify qos few set MaxJobsPU=4" in printed["deploy"]
    assert "set MaxJobsPU=2" in printed["deploy"].split("# to undo")[1]
    assert "Blocked from" in printed["explain"]


def damaged(tmp_path: Path, change: Callable[[Path], None], name: str = "H") -> str:
    """A copy of what the readers need of a recording, with something wrong in it."""
    site = tmp_path / "site"
    site.mkdir()
    for file in recording_path(name).iterdir():
        if file.suffix in (".txt", ".psv", ".conf") and file.stat().st_size < 2_000_000:
            shutil.copy(file, site / file.name)
    for heavy in ("squeue_samples.psv", "detail.txt", "jobs_scontrol.txt"):
        (site / heavy).unlink(missing_ok=True)
    jobs = (site / "jobs.psv").read_bytes().splitlines(keepends=True)
    (site / "jobs.psv").write_bytes(b"".join(jobs[:41]))
    change(site)
    return str(site)


def edited(name: str, edit: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def change(site: Path) -> None:
        path = site / name
        path.write_bytes(edit(path.read_bytes()))

    return change


def without(name: str) -> Callable[[Path], None]:
    return lambda site: (site / name).unlink()


def folder_for_file(site: Path) -> None:
    (site / "qos.txt").unlink()
    (site / "qos.txt").mkdir()


DAMAGE: dict[str, Callable[[Path], None]] = {
    "no nodes": without("nodes.txt"),
    "no jobs": without("jobs.psv"),
    "no partitions": without("partitions.txt"),
    "no config": without("config.txt"),
    "no qos": without("qos.txt"),
    "empty jobs": edited("jobs.psv", lambda raw: b""),
    "a header alone": edited("jobs.psv", lambda raw: raw.split(b"\n")[0] + b"\n"),
    "empty nodes": edited("nodes.txt", lambda raw: b""),
    "empty qos": edited("qos.txt", lambda raw: b""),
    "latin-1": edited("jobs.psv", lambda raw: raw.replace(b"games", b"g\xfcmes")),
    "a byte order mark": edited("jobs.psv", lambda raw: b"\xef\xbb\xbf" + raw),
    "windows": edited("jobs.psv", lambda raw: raw.replace(b"\n", b"\r\n")),
    "utf-16": edited("jobs.psv", lambda raw: raw.decode().encode("utf-16")),
    "nul bytes": edited("jobs.psv", lambda raw: raw[:2000] + b"\x00\x00" + raw[2000:]),
    "cut in a line": edited("jobs.psv", lambda raw: raw[: len(raw) // 2]),
    "unknown keys": edited("nodes.txt", lambda raw: raw.replace(b"CPUTot=", b"Odd=1 CPUTot=")),
    "down": edited("nodes.txt", lambda raw: raw.replace(b"State=IDLE", b"State=DOWN*+DRAIN", 2)),
    "all down": edited("nodes.txt", lambda raw: raw.replace(b"State=IDLE", b"State=DOWN")),
    "huge memory": edited("jobs.psv", lambda raw: raw.replace(b"mem=", b"mem=9999999", 3)),
    "suffixes": edited("jobs.psv", lambda raw: raw.replace(b"M|billing", b"P|billing", 2)),
    "binary nodes": edited("nodes.txt", lambda raw: bytes(range(256)) * 20),
    "binary config": edited("config.txt", lambda raw: bytes(range(256)) * 20),
    "no cpus": edited("nodes.txt", lambda raw: raw.replace(b"CPUTot=16", b"CPUTot=0")),
    "words for numbers": edited("nodes.txt", lambda raw: raw.replace(b"CPUTot=16", b"CPUTot=many")),
    "a folder for a file": folder_for_file,
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_folder_is_a_sentence_or_a_result(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command works, or fails with one sentence: no traceback, no internal error."""
    site = damaged(tmp_path, DAMAGE[what])
    commands = [["doctor", site], ["site", "show", site], ["explain", site, "7"]]
    commands.append(["whatif", site, "--set", "bf_interval=9", "--phases", "2", "--by", "qos"])
    for words in commands:
        code = run(words)
        out, err = capsys.readouterr()
        assert code in (0, 1, 2), (words, err)
        assert "Traceback" not in err and "bug in Shadowtime" not in err, (words, err)
        if words[0] == "doctor":
            assert out.strip(), err  # its report is the sentence
        elif code == 2:
            notes = [line for line in err.splitlines() if line.startswith("shadowtime: ")]
            assert len(notes) == 1 and len(notes[0]) > 20, (words, err)


@pytest.mark.parametrize("what", ["empty nodes", "binary nodes"])
def test_a_file_that_says_nothing_is_reported(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """slurm.conf is used instead, and every command reports it."""
    site = damaged(tmp_path, DAMAGE[what])
    assert run(["doctor", site]) in (0, 1)
    out = " ".join(capsys.readouterr().out.split())
    assert "describes no node: slurm.conf's are taken" in out


def test_the_keys_of_the_contract(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """replay and whatif list groups by exactly these names, for every kind of group."""
    site = str(recording_path("E2"))
    assert run(["replay", site, "--phases", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["groups"][0]) == {
        "by", "name", "jobs", "recorded_wait_mean_s", "simulated_wait_mean_s", "low_s", "high_s",
        "difference", "expected_error",
    }  # fmt: skip
    assert {one["by"] for one in found["groups"]} == {"all", "partition", "account", "qos", "size"}
    assert {"expected_error", "groups_beyond", "backfilled", "reasons"} <= set(found["replay"])
    assert set(found["replay"]["reasons"][0]) == {
        "reason",
        "recorded",
        "simulated",
        "simulated_low",
        "simulated_high",
    }
    change = ["--set", "bf_interval=9", "--phases", "2"]
    assert run(["whatif", site, *change, "--json"]) == 0
    groups = json.loads(capsys.readouterr().out)["groups"]
    assert {one["by"] for one in groups} == {"all", "partition", "account", "qos", "size"}
