"""A result folder tells how its policies are made, and gives the same tables when run again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import shadowtime as st
from shadowtime.cli import run
from shadowtime.errors import UsageError
from shadowtime.result.rerun import rerun
from study.sweep.worlds import command, write_log

IDEAS = """
import math
import shadowtime as st

STEEP = 3.0

def helper(x):
    return STEEP * math.sqrt(x)

@st.order(memory=1)
def linear(now, job, user, w=1.0, steps=2):
    return w * job.wait + steps * helper(job.procs) + user[0]

@linear.learn
def seen(now, job, user):
    user[0] += 0.123456789

class Mine:
    name = "mine"
    def decide(self, view):
        free = view.free[0]
        for job in view.waiting:
            if job.procs > free:
                break
            free -= job.procs
            yield st.Start(job.id)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A comparison of policies with and without code of a user."""
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path)
    Path("ideas.py").write_text(IDEAS)
    Path("small.toml").write_text('base = "easy"\nreserve = 3\n[order]\npart = "lxfw"\n')
    words = ["compare", "log.swf", "-c", "pool:256", "-p", "easy(reserve=2)", "-p", "small.toml"]
    words += ["-p", "ideas.py:linear(w=0.123456789, steps=4)", "--shake", "2"]
    assert run([*words, "-o", "r"]) == 0
    Path("ideas.py").unlink()
    return tmp_path / "r"


def test_the_code_and_its_values_are_in_the_folder(folder: Path) -> None:
    """The whole file, and every parameter in full."""
    assert (folder / "code" / "ideas.py").read_text() == IDEAS
    entries = json.loads((folder / "result.json").read_text())["policies"]
    assert entries[0]["recipe"] == {"policy": "easy(reserve=2)"}
    assert entries[2]["recipe"] == {
        "policy": "code/ideas.py:linear(w=0.123456789, steps=4)",
        "functions": [
            {"slot": "order", "name": "linear", "values": {"w": 0.123456789, "steps": 4}}
        ],
    }


def test_a_folder_runs_again_elsewhere(folder: Path, tmp_path: Path) -> None:
    """In another place, by another process: every byte of every table is equal."""
    away = tmp_path / "away"
    shutil.move(folder, away)
    words = command("rerun", str(away), "--run-code", "--json")
    done = subprocess.run(words, capture_output=True, text=True, cwd="/", env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    [found] = json.loads(done.stdout)["folders"]
    assert found["equal"] and len(found["tables"]) == 6 and not found["changes"]


def test_code_runs_on_request_only(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A stranger's code needs an option, and only the folder's own files run."""
    canary = folder.parent / "ran"
    code = folder / "code" / "ideas.py"
    code.write_text(f"open({str(canary)!r}, 'w')\n" + IDEAS)
    assert run(["rerun", str(folder)]) == 2
    assert "add --run-code if you trust it" in capsys.readouterr().err and not canary.exists()
    path = folder / "result.json"
    for evil in (f"{code}:linear", "code/../code/ideas.py:linear", "small.toml"):
        text = path.read_text()
        path.write_text(text.replace("code/ideas.py:linear(w=0.123456789, steps=4)", evil))
        assert run(["rerun", str(folder), "--run-code"]) == 2
        assert not canary.exists()
        path.write_text(text)


def test_what_differs_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A changed table, version, log and function: each is in the answer, and the code is 1."""
    schedule = folder / "schedules" / "easy-reserve-2.csv"
    lines = schedule.read_text().splitlines(keepends=True)
    schedule.write_text("".join([*lines[:5], lines[5].replace(",", ",1", 1), *lines[6:]]))
    code = folder / "code" / "ideas.py"
    code.write_text(code.read_text().replace("STEEP = 3.0", "STEEP = -3.0"))
    path = folder / "result.json"
    content = json.loads(path.read_text())
    content["versions"]["numpy"] = "0.1"
    content["policies"][0]["metrics"]["wait_mean_s"] += 1
    path.write_text(json.dumps(content))
    assert run(["rerun", str(folder), "--run-code"]) == 1
    printed = capsys.readouterr().out
    assert "differ: from line 6" in printed and "differ: metrics: wait_mean_s" in printed
    assert "version of numpy: 0.1 in the folder" in printed
    assert "code: code/ideas.py is changed since the folder was written" in printed
    assert "every byte" not in printed


FACTOR = 0.25


def scaled(x: float) -> float:
    """A helper."""
    return FACTOR * x


def test_functions_of_a_program_are_kept(tmp_path: Path) -> None:
    """A function from Python: its source, what it uses and its values are in the folder."""

    @st.order
    def own(now, job, user, w=2.0):
        """Mine."""
        return scaled(job.wait) + w * job.procs

    jobs = st.demo()
    found = st.compare(jobs, "pool:256", [st.policy("easy", order=own(w=0.1)), "fcfs"])
    found.save(tmp_path / "r")
    [code] = (tmp_path / "r" / "code").iterdir()
    assert "FACTOR = 0.25" in code.read_text() and "def scaled" in code.read_text()
    with pytest.raises(UsageError, match="--run-code"):
        rerun(str(tmp_path / "r"))
    [again] = rerun(str(tmp_path / "r"), run_code=True, output=str(tmp_path / "new"))
    assert again.equal and len(again.tables) == 4
    assert (tmp_path / "new" / "schedules").is_dir()


def test_objects_and_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A deciding object from a file runs again; a folder of several loads answers for each."""
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path)
    Path("ideas.py").write_text(IDEAS)
    words = ["compare", "log.swf", "-c", "pool:256", "-p", "ideas.py:Mine", "-p", "easy"]
    assert run([*words, "--load", "0.9", "--load", "1.1", "--shake", "2", "-o", "r"]) == 0
    found = rerun("r", run_code=True)
    assert [one.equal for one in found] == [True, True]


def test_a_policy_that_cannot_be_made_again_is_reported(tmp_path: Path) -> None:
    """An object of a program has no recipe: the error names it."""

    class Own:
        name = "own"

        def decide(self, view):
            return [st.Start(job.id) for job in view.waiting[:1] if job.procs <= view.free[0]]

    st.simulate(st.demo(), "pool:256", Own()).save(tmp_path / "r")
    with pytest.raises(UsageError, match="the policy own cannot be made again: Own is an object"):
        rerun(str(tmp_path / "r"))
