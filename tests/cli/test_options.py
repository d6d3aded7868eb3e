"""No option is silently ignored, and what is impossible is reported before any work."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shadowtime.cli import run
from shadowtime.trace import write_swf
from shadowtime.workload import demo_workload, first_jobs

LICENCES = """\
; MaxProcs: 8
; ExtraFields: licences
1 0 -1 100 1 -1 -1 1 100 -1 1 1 1 1 1 1 -1 -1 1
2 0 -1 100 1 -1 -1 1 100 -1 1 1 1 1 1 1 -1 -1 1
3 0 -1 100 1 -1 -1 1 100 -1 1 1 1 1 1 1 -1 -1 0
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    write_swf(first_jobs(demo_workload(), 50), "log.swf")
    Path("licences.swf").write_text(LICENCES)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The error message for a command line."""
    assert run(arguments) == 2
    heard = capsys.readouterr()
    assert heard.out == "" and heard.err.count("\n") == 1
    return heard.err


def test_an_option_given_twice_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The parser would keep the last one; several policies are for compare."""
    printed = refused(capsys, "simulate", "log.swf", "-p", "easy", "-p", "fcfs")
    assert "--policy is given twice" in printed and "shadowtime compare" in printed
    printed = refused(
        capsys, "simulate", "log.swf", "-p", "easy", "-c", "pool:8", "--cluster=pool:9"
    )
    assert "--cluster is given twice" in printed
    for command in (["trace", "info", "log.swf"], ["trace", "generate", "lublin", "x.swf"]):
        option = "--unlimited" if "info" in command else "--jobs"
        assert f"{option} is given twice" in refused(capsys, *command, option, "5", option, "6")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "log.swf", "-p", "easy", "easy++"], "write -p easy -p easy++"),
        (["compare", "-p", "easy", "fcfs", "log.swf"], "write -p easy -p fcfs"),
        (["compare", "log.swf", "-p", "easy", "--load", "1", "1.2"], "write --load 1 --load 1.2"),
        (["simulate", "log.swf", "-p", "easy", "easy++"], "use: shadowtime compare"),
        (["simulate", "log.swf", "other.swf", "-p", "easy"], "unexpected extra argument"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_second_value_behind_an_option_shows_how_to_repeat_it(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    """The parser takes the second value for an argument, of which there is one too many."""
    assert message in refused(capsys, *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "log.swf", "-p", "easy(reserve=-1)"], "A number from 0 is how many jobs"),
        (["tune", "long.swf", "-p", "easy", "--over", "reserve=1..4", "--objective", "bsld"],
         "did you mean bsld_mean"),
        (["sweep", "run", "plan.toml", "-o", "runs"], 'logs = ["FILE", ...]'),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_a_wrong_word_is_answered_with_the_right_one(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    Path("plan.toml").write_text('log = ["log.swf"]\npolicies = ["easy"]\n')
    write_swf(first_jobs(demo_workload(), 300), "long.swf")
    assert run(arguments) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


OWN = """
import shadowtime as st

@st.order
def wide(now, job):
    return job.proc

@st.select
def all_of_them(now, jobs, free):
    jobs.startt[0] = 1

class Deciding:
    def decide(self, snapshot):
        return [st.Start(job.identity) for job in snapshot.waiting]
"""


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wide", "'proc'. Did you mean procs"),
        ("all_of_them", "'startt'. Did you mean start"),
        ("Deciding", "'identity'. Did you mean "),
    ],
)
@pytest.mark.parametrize("compiled", [True, False])
def test_an_unknown_attribute_of_a_job_lists_the_known_ones(
    name: str, message: str, compiled: bool
) -> None:
    """Whether the function is compiled or not; every field is listed."""
    Path("own.py").write_text(OWN)
    found = subprocess.run(
        [sys.executable, "-m", "shadowtime", "simulate", "log.swf", "-p", f"own.py:{name}"],
        capture_output=True, text=True, env={**os.environ, "NUMBA_DISABLE_JIT": str(1 - compiled)},
    )  # fmt: skip
    last = found.stderr.splitlines()[-1]
    assert found.returncode == 2 and message in last
    assert all(field in last for field in ("submit", "request", "estimate", "procs", "user"))


def test_options_that_may_be_repeated_still_may(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", "log.swf", "-p", "easy", "-p", "fcfs", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["policies"]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--report", "page.pdf"], "name it page.html"),
        (["--schedule", "out.xlsx"], "name it out.csv or out.parquet"),
        (["--schedule", "no/where/out.csv"], "there is no folder no/where"),
        (["--report", "no/where/out.html"], "there is no folder no/where"),
        (["-o", "log.swf/inside"], "log.swf is not a folder"),
        (["--figures", "log.swf/inside"], "log.swf is not a folder"),
        (["--window", "9w:0"], "Give a shorter --window"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_written_is_reported_before_the_simulation(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import shadowtime.cli.simulate as simulating

    def never(*_: object, **__: object) -> None:
        raise AssertionError("the simulation ran")

    monkeypatch.setattr(simulating, "run_policies", never)
    assert message in refused(capsys, "simulate", "log.swf", "-p", "easy", *arguments)
    assert not any(Path(name).exists() for name in ("page.pdf", "out.xlsx", "no"))


def test_a_policy_is_described_with_its_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    """A variant is described by its own parameters, not by those of its base."""
    assert run(["policies", "easy(reserve=4, order=lxfw)"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("easy(reserve=4, order=lxfw): easy with order=weighted")
    assert run(["policies", "easy(reserve=4)", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["slots"]["reserve"] == "4" and "reserve=4" in printed["summary"]
    assert run(["policies", "easy(reserve=1)", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["summary"].startswith("one reservation")


def test_a_hint_names_an_option_that_the_command_has(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.swf").write_text(LICENCES + "4 x\n")
    printed = refused(capsys, "simulate", "bad.swf", "-p", "easy")
    assert "--bad-lines drop" in printed
    assert run(["simulate", "bad.swf", "-p", "easy", "--bad-lines", "drop", "--json"]) == 0
    cleaning = json.loads(capsys.readouterr().out)["trace"]["cleaning"]
    assert cleaning["bad_lines_dropped"] == 1
    printed = refused(capsys, "simulate", "log.swf", "-p", "easy", "--rule", "no_rum=drop")
    assert "no_run" in printed
    Path("never.swf").write_text(LICENCES.replace("3 0 -1 100", "3 0 -1 0"))
    printed = refused(capsys, "simulate", "never.swf", "-p", "easy", "--rule", "no_run=refuse")
    assert "--rule no_run=drop" in printed
    assert run(["simulate", "never.swf", "-p", "easy", "--rule", "no_run=one-second"]) == 0


def test_a_hint_says_which_command_has_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    """The reader does not know that demo and sweeps have no --bad-lines of their own."""
    Path("bad.swf").write_text(LICENCES + "4 x\n")
    printed = refused(capsys, "demo", "--step", "--log", "bad.swf")
    assert (
        "(--bad-lines is an option of shadowtime trace convert, not of shadowtime demo.)" in printed
    )
    assert run(["trace", "convert", "bad.swf", "good.swf", "--bad-lines", "drop"]) == 0
    assert run(["demo", "--step", "--log", "good.swf", "--auto"]) == 0
    capsys.readouterr()
    assert "is an option of" not in refused(capsys, "simulate", "bad.swf", "-p", "easy")


def test_a_sweep_that_failed_says_so_in_its_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.swf").write_text(LICENCES + "4 x\n")
    Path("plan.toml").write_text('logs = ["bad.swf"]\npolicies = ["easy"]\n')
    command = ["sweep", "plan.toml", "-o", "out", "--workers", "1"]
    assert run(command) == 1
    assert run(["sweep", "status", "out"]) == 0
    assert 'bad_lines = "drop"' in " ".join(capsys.readouterr().out.split())
    plan = Path("plan.toml").read_text() + '[cleaning]\nbad_lines = "drop"\n'
    Path("plan.toml").write_text(plan)
    assert run(command) == 0


def test_an_extra_column_named_like_a_resource_is_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One licence: the two jobs that need it run one after the other, the third at once."""
    arguments = ["simulate", "licences.swf", "-p", "easy", "--schedule", "out.csv"]
    assert run([*arguments, "--cluster", "pool:8,licences=1"]) == 0
    assert "warning" not in capsys.readouterr().err
    rows = [line.split(",")[:3] for line in Path("out.csv").read_text().splitlines()[1:]]
    assert rows == [["1", "0", "0"], ["2", "0", "100"], ["3", "0", "0"]]


def test_an_extra_column_without_effect_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "licences.swf", "-p", "easy", "--json"]) == 0
    heard = capsys.readouterr()
    assert "warning: the log records how much licences jobs need (2 do)" in heard.err
    assert json.loads(heard.out)["trace"]["cleaning"]["licences_ignored"] == 2


def test_a_log_that_unpacks_to_too_much_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A few KB of gzip may be gigabytes of blanks."""
    Path("bomb.swf.gz").write_bytes(gzip.compress(b" " * (1 << 22) + LICENCES.encode()))
    assert Path("bomb.swf.gz").stat().st_size < 10_000
    command = ["simulate", "bomb.swf.gz", "-p", "easy", "--max-size"]
    printed = refused(capsys, *command, "2MB")
    assert "larger than 2,097,152 bytes when it is unpacked" in printed and "--max-size" in printed
    assert run([*command, "8MB"]) == 0


def test_control_characters_in_names_are_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """A file's name may contain escape sequences; the terminal must not execute them."""
    name = "log\x1b[31m\x9b2J.swf"
    Path(name).write_text(LICENCES)
    assert run(["simulate", name, "-p", "easy"]) == 0
    heard = capsys.readouterr()
    assert not {"\x1b", "\x9b"} & set(heard.out + heard.err)
    assert r"log\x1b[31m\x9b2J" in heard.out
    assert run(["simulate", name, "-p", "easy", "--json"]) == 0
    out = capsys.readouterr().out
    assert "\x9b" not in out and json.loads(out)["trace"]["name"] == "log\x1b[31m\x9b2J"
    printed = refused(capsys, "simulate", "no\x1b[2J.swf", "-p", "easy")
    assert "\x1b" not in printed and r"no\x1b[2J.swf" in printed
