"""How every command behaves: examples in help, outputs checked first, reports of what is
written, remaining time, and Ctrl-C."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from rich.console import Console

import shadowtime.cli.common.progress as progress
from shadowtime.cli import app, run
from shadowtime.cli.common.interrupt import TIDY, answer_interrupts
from shadowtime.trace.formats import FORMATS, SACCT

WORDS = {
    "swf": "(SWF)",
    "sacct": "sacct export",
    "slurm-csv": "Slurm site's CSV",
    "condor-history": "HTCondor history",
    "condor-events": "event log",
    "pbs": "PBS or Torque accounting",
    "jobs-csv": "table of jobs (CSV",
    "parquet": "Parquet",
    "slurmctld-log": "slurmctld.log",
    "wfformat": "workflow of WfCommons",
}
"""What the help calls each format."""
LOG = "1 0 -1 60 2 -1 -1 2 60 -1 1 1 1 1 1 1 -1 -1\n2 5 -1 60 2 -1 -1 2 60 -1 1 1 1 1 1 1 -1 -1\n"


def commands(
    command: click.Command, context: click.Context, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Every command without subcommands, with its words."""
    if not isinstance(command, click.Group):
        yield " ".join(path), command, context
        return
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        below = click.Context(inner, info_name=name, parent=context)
        yield from commands(inner, below, (*path, name))


EVERY = list(commands(app, click.Context(app, info_name="shadowtime")))


@pytest.mark.parametrize(("name", "command", "context"), EVERY, ids=[one[0] for one in EVERY])
def test_help_has_an_example(name: str, command: click.Command, context: click.Context) -> None:
    """The help of each command has an example that can be typed."""
    usage, _, rest = command.get_help(context).partition("\n")
    assert usage.startswith(f"Usage: shadowtime {name}")
    assert f"  shadowtime {name}" in rest.partition("Options:")[0]


def test_the_help_of_simulate_names_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    """A new log format needs an entry here and in the help."""
    assert set(WORDS) == {one.name for one in (*FORMATS, SACCT)}
    assert run(["simulate", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert [name for name, word in WORDS.items() if word not in text] == []
    assert "site's folder" in text and "result folder" in text


INPUTS = {
    "board condor": "",
    "board slurm": "",
    "compare": "no.swf -p easy -p fcfs",
    "demo": "",
    "hperf export": "",
    "leaderboard": "no",
    "paper": "pv-easy",
    "pull slurm": "--since 2026-05-01",
    "replay": "no.swf -p easy",
    "report": "no",
    "rerun": "no",
    "run": "no.toml",
    "simulate": "no.swf -p easy",
    "sweep collect": "no",
    "sweep report": "no",
    "sweep run": "no.toml",
    "sweep script": "slurm no.toml --tasks 2",
    "trace convert": "no.swf",
    "trace fetch": "no-such-log",
    "trace generate demo": "",
    "trace generate hperf": "",
    "trace generate lublin": "--jobs 10",
    "trace generate o2k": "--month jan03",
    "tune": "no.swf -p easy(order=weighted) --over wait=0..1",
    "whatif": "no --set bf_interval=9",
}
"""Commands that write, with inputs that do not exist."""
STREAMED = {"hperf export", "sweep script", "trace fetch"}
"""Not subject to this rule: they write to standard output or to the cache of logs."""
READ = {"--log", "--state", "--slurm-conf-dir", "--from"}
"""Options that name something to read."""


def outputs() -> Iterator[tuple[str, str]]:
    """Every command with every option or argument that names a file or folder to write."""
    for name, command, _ in EVERY:
        for one in command.params:
            path = isinstance(one.type, click.Path) and not one.type.exists
            if path and isinstance(one, click.Option) and one.opts[0] not in READ:
                yield name, one.opts[-1]
            elif path and one.name == "out":
                yield name, ""


WRITTEN = [one for one in outputs() if one[0] not in STREAMED]


def test_every_command_that_writes_is_listed() -> None:
    """A new command needs inputs above, or a reason why it is not tested."""
    assert {name for name, _ in WRITTEN} | STREAMED == set(INPUTS)


@pytest.mark.parametrize(("name", "option"), WRITTEN, ids=[" ".join(one) for one in WRITTEN])
def test_outputs_are_looked_at_before_the_inputs(
    name: str,
    option: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The log does not exist either, but the one line printed is about the output."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    [command] = [one for words, one, _ in EVERY if words == name]
    [kind] = [
        one for one in command.params if (option in one.opts if option else one.name == "out")
    ]
    assert isinstance(kind.type, click.Path)
    is_file = kind.type.dir_okay is False or kind.name == "out"
    ending = ENDINGS.get(str(kind.metavar), ".swf")
    target = f"gone/out{ending}" if is_file else "file/out"
    words = [*name.split(), *INPUTS[name].split(), *([option] if option else []), target]
    page = [one for one in command.params if "--output" in one.opts and "html" in str(one.metavar)]
    if page and option != "--output":
        words += ["-o", "fine.html"]
    assert run(words) == 2
    out, err = capsys.readouterr()
    assert out == "" and len(err.splitlines()) == 1, err
    assert "there is no folder gone" in err or "file is not a folder" in err, err
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file"]


ENDINGS = {
    "OUT.csv": ".csv",
    "OUT.html": ".html",
    "OUT.json": ".json",
    "OUT.prv": ".prv",
    "OUT.svg": ".svg",
    "FILE.toml": ".toml",
    "TABLE": ".csv",
}


def test_what_is_written_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line for each file and folder, apart from the result."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.swf").write_text(LOG)
    command = ["simulate", "log.swf", "-c", "pool:2", "-p", "easy", "--schedule", "a.csv"]
    assert run([*command, "-o", "out", "--report", "a.html"]) == 0
    out, err = capsys.readouterr()
    assert "wrote" not in out
    for name in ("a.csv", "out", "a.html"):
        assert f"wrote {name}" in err.splitlines() and (tmp_path / name).exists()
    command = ["compare", "log.swf", "-c", "pool:2", "-p", "easy", "-p", "fcfs"]
    assert run([*command, "--load", "1", "--load", "2", "--report", "b.html", "-o", "both"]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("wrote ")]
    assert lines[0] == "wrote both" and lines[1] == "wrote b.html" and len(lines) == 3
    assert all(Path(line.removeprefix("wrote ")).exists() for line in lines)


def test_a_bar_says_how_much_time_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where steps are counted, the remaining time is shown beside the elapsed time."""
    terminal = Console(file=io.StringIO(), force_terminal=True, width=120)
    monkeypatch.setattr(progress, "errors", lambda: terminal)
    with progress.working("simulating", steps=4, patience=0.0) as advance:
        advance()
        advance()
    assert isinstance(terminal.file, io.StringIO)
    assert "left" in terminal.file.getvalue()


BUSY = """
import hashlib, os, signal, sys, threading
from shadowtime.cli.common.interrupt import answer_interrupts
answer_interrupts(["simulate"])
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
hashlib.pbkdf2_hmac("sha256", b"x", b"y", 10**9)  # compiled, minutes long, without Python's lock
"""


def test_ctrl_c_ends_compiled_code() -> None:
    """Python's own handler would wait for the call to end; the watcher does not."""
    done = subprocess.run(
        [sys.executable, "-c", BUSY], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 130 and done.stderr == "shadowtime: interrupted\n"


@pytest.mark.parametrize("command", TIDY)
def test_commands_that_end_in_order_are_left_to_it(command: str) -> None:
    """They have no watcher: Python's signal wake-up is unchanged."""
    before = signal.set_wakeup_fd(-1)
    try:
        answer_interrupts([command])
        assert signal.set_wakeup_fd(-1) == -1
    finally:
        signal.set_wakeup_fd(before)
