"""Parts from files and packages combine on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import shadowtime as st
from shadowtime.cli import run
from shadowtime.errors import PolicyError, ShadowtimeError
from shadowtime.metrics import REGISTRY
from shadowtime.plugins import plugins
from shadowtime.policy import parse_policy
from shadowtime.study.sweep.plan import Variant
from shadowtime.trace import write_swf
from shadowtime.workload import demo_workload, first_jobs

IDEAS = """
import shadowtime as st

@st.order
def f1(now, job, weight=870.0):
    return -job.procs - weight * job.submit

def narrow(wait, estimate, procs):
    return -procs

@st.backfill_key
def least_area(now, job, power=1.0):
    return -job.estimate * job.procs

@st.backfill_test
def short(now, job, hours=1):
    return job.request <= 3600 * hours

mine = st.easy(order=f1)
"""
MINE = """
import shadowtime as st

@st.estimate(memory=1)
def guess(now, job, user):
    return user[0] if user[0] > 0 else job.request

@guess.learn
def _(now, job, user):
    user[0] = job.ran

def half(workload, share=0.5):
    "A share of the request."
    return workload.request * share

def wrong(workload):
    return [1.0]
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("ideas.py").write_text(IDEAS)
    Path("sub").mkdir()
    Path("sub/mine.py").write_text(MINE)
    write_swf(first_jobs(demo_workload(), 60), "log.swf")
    return tmp_path


def test_parts_from_two_files_fill_slots() -> None:
    """With parameters, under the name that Python gives the same policy."""
    made = parse_policy("easy(order=ideas.py:f1(weight=2), estimate=sub/mine.py:guess, reserve=3)")
    assert made.name == "easy(order=f1(weight=2), estimate=guess, reserve=3)"
    assert made.parameters["order"] == "f1(weight=2)" and made.parameters["reserve"] == "3"
    assert made.parameters["estimate"] == "guess"
    assert parse_policy("easy(order=ideas.py:narrow)").parameters["order"] == "narrow"
    deeper = parse_policy("ideas.py:mine(estimate=sub/mine.py:guess, weight=3)")
    assert deeper.name == "mine(estimate=guess, weight=3)"
    assert deeper.parameters["order"] == "f1(weight=3)"
    assert st.policy("easy", order="ideas.py:f1").name == "easy(order=f1)"


def test_a_backfill_key_and_a_test_go_together() -> None:
    """As ``key.where(test)`` in Python; what is printed can be typed again."""
    text = "easy(backfill=ideas.py:least_area(power=2, where=ideas.py:short(hours=4)))"
    made = parse_policy(text)
    assert made.name == "easy(backfill=least_area(power=2, where=short(hours=4)))"
    assert made.parameters["backfill"] == "least_area(power=2, where=short(hours=4))"
    assert [str(one) for one in made.backfill.functions][1] == "short(hours=4)"
    whole = parse_policy("ideas.py:least_area(where=ideas.py:short)")
    assert whole.parameters["backfill"] == "least_area(where=short)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("easy(order=ideas.py:least_area)", "a part for the slot backfill: write backfill="),
        ("easy(order=ideas.py:mine)", "this is a whole policy"),
        ("easy(order=ideas.py:f2)", "has no 'f2'. Did you mean f1"),
        ("easy(order=none.py:f1)", "none.py: no such Python file"),
        ("easy(backfill=ideas.py:short(where=ideas.py:short))", "made by st.backfill_key"),
        ("easy(order=ideas.py:f1(wait=2))", "no parameter 'wait'"),
        ("easy(estimate=sub/mine.py:half(share=x))", "must be a number"),
    ],
)
def test_what_does_not_fit_is_rejected(text: str, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        parse_policy(text)


def test_a_policy_file_executes_nothing() -> None:
    Path("own.toml").write_text('base = "easy"\norder = "ideas.py:f1"\n')
    with pytest.raises(PolicyError, match=r"executes none: use --policy 'easy\(order=ideas"):
        parse_policy("own.toml")


def test_a_sweep_finds_every_file_and_sees_its_changes(here: Path) -> None:
    """From any folder; the name has no folders; the key is that of all files."""
    [one] = Variant.of("easy(order=ideas.py:f1, estimate=sub/mine.py:guess)")
    assert one.name == "easy(order=ideas.py:f1, estimate=mine.py:guess)"
    assert one.given == f"easy(order={here}/ideas.py:f1, estimate={here}/sub/mine.py:guess)"
    Path("sub/mine.py").write_text(MINE + "\n")
    [other] = Variant.of("easy(order=ideas.py:f1, estimate=sub/mine.py:guess)")
    assert other.digest != one.digest


def test_the_commands_take_them(capsys: pytest.CaptureFixture[str]) -> None:
    """simulate, and accuracy with a function of a job and one of a whole log."""
    own = "easy(order=ideas.py:f1, estimate=sub/mine.py:guess)"
    assert run(["simulate", "log.swf", "-p", own, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["policies"][0]["name"].startswith("easy(order=f1,")
    files = ["-e", "sub/mine.py:guess", "-e", "sub/mine.py:half(share=0.25)"]
    assert run(["accuracy", "log.swf", "-p", "easy", "-e", "requested", *files, "--json"]) == 0
    rows = {row["predictor"]: row for row in json.loads(capsys.readouterr().out)["predictors"]}
    assert list(rows) == ["requested", "sub/mine.py:guess", "sub/mine.py:half(share=0.25)"]
    errors = [row["prediction_error_mean_s"] for row in rows.values()]
    assert errors[2] != errors[0]
    assert run(["accuracy", "log.swf", "-p", "easy", "-e", "sub/mine.py:wrong"]) == 2
    assert "a number of seconds for each of the 60 jobs" in capsys.readouterr().err


CODE = """
import shadowtime as st

@st.order
def narrow(now, job, weight=1.0):
    return -weight * job.procs

def half(workload, share=0.5):
    "A share of the request."
    return workload.request * share

@st.metric(label="Jobs that waited", unit="jobs", better="lower")
def waited(schedule, workload, cluster, which):
    "scored jobs that did not start at once"
    return int((schedule.wait[which] > 0).sum())

@st.metric(label="Wrong")
def wait_mean_s(schedule, workload, cluster, which):
    return 0.0

@st.metric(label="Broken")
def broken(schedule, workload, cluster, which):
    return 1 / 0
"""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, entries: str) -> None:
    """A package as pip leaves it."""
    (folder / f"{name}.py").write_text(CODE)
    about = folder / f"{name}-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (about / "entry_points.txt").write_text(entries)
    monkeypatch.syspath_prepend(folder)


def test_a_package_adds_parts_predictors_and_metrics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its parts fill slots; its metrics are measured, described and can be objectives."""
    install(
        tmp_path, monkeypatch, "toy_one",
        "[shadowtime.policies]\nslim = toy_one:narrow\n"
        "[shadowtime.predictors]\nhalved = toy_one:half\n"
        "[shadowtime.metrics]\nwaited = toy_one:waited\n",
    )  # fmt: skip
    made = parse_policy("easy(order=slim(weight=2), estimate=halved(share=0.25))")
    assert made.parameters["order"] == "narrow(weight=2)"
    assert made.parameters["estimate"] == "halved(share=0.25)"
    both = parse_policy("easy(order=slim, backfill=ideas.py:least_area)")
    assert both.name == "easy(order=slim, backfill=least_area)"
    jobs = st.Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1])
    assert st.simulate(jobs, 4, "easy(estimate=halved)").metrics["waited"] == 1
    assert REGISTRY["waited"].definition == "scored jobs that did not start at once"
    assert "waited" in REGISTRY and "waitet" not in REGISTRY
    assert run(["policies", "--parts"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "slim" in printed and "halved A share of the request" in printed
    assert run(["accuracy", "log.swf", "-p", "easy", "-e", "halved", "--json"]) == 0


@pytest.mark.parametrize(
    ("name", "entries", "message"),
    [
        ("toy_two", "[shadowtime.metrics]\nwait_mean_s = toy_two:wait_mean_s\n", "name of ours"),
        ("toy_three", "[shadowtime.metrics]\nbroken = toy_three:broken\n", "ZeroDivisionError"),
        ("toy_four", "[shadowtime.metrics]\nhalf = toy_four:half\n", "made by st.metric"),
        ("toy_five", "[shadowtime.predictors]\nlast = toy_five:half\n", "which is a name of ours"),
        ("toy_six", "[shadowtime.predictors]\nslim = toy_six:narrow\n", "function of a workload"),
    ],
)
def test_what_a_package_adds_wrongly_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, entries: str, message: str
) -> None:
    install(tmp_path, monkeypatch, name, entries)
    policy = "easy(estimate=unheard-of)" if "predictors" in entries else "easy"
    with pytest.raises(ShadowtimeError, match=message):
        st.simulate("log.swf", policy=policy).metrics  # noqa: B018 - measured now


def test_an_unknown_group_is_named_and_not_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, with the package and the group that was probably meant."""
    install(tmp_path, monkeypatch, "toy_seven", "[shadowtime.policy]\nslim = toy_seven:narrow\n")
    with pytest.warns(UserWarning, match=r"toy_seven adds parts to shadowtime\.policy, .*policies"):
        plugins("shadowtime.policies")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plugins("shadowtime.policies")
    words: Any = {"capture_output": True, "text": True}
    words["env"] = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-m", "shadowtime", "policies", "--parts"], **words)
    assert done.returncode == 0
    assert "shadowtime: warning: toy_seven adds parts to shadowtime.policy," in done.stderr
