"""The command line as a whole: help, exit codes, and how errors are reported."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import click
import pytest

from shadowtime import __version__
from shadowtime.cli import COMMANDS, app, run
from shadowtime.cli.common import lazy
from shadowtime.cli.common.lazy import Entry
from shadowtime.errors import InputError


@pytest.fixture
def boom(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException | int], None]:
    """Make a command `boom` that raises, or returns, what it is given."""

    def make(outcome: BaseException | int) -> None:
        @click.command("boom")
        def command() -> int:
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        monkeypatch.setitem(COMMANDS, "boom", Entry("Test", "Breaks."))
        monkeypatch.setattr(lazy, "command_in", lambda module, name: command)

    return make


@pytest.mark.parametrize(
    ("outcome", "code", "message"),
    [
        (0, 0, ""),
        (1, 1, ""),
        (InputError("too short", path="a.swf", line=3, hint="Fix it."), 2, "a.swf, line 3: too s"),
        (FileNotFoundError(2, "No such file or directory", "x"), 2, "x: No such file or directory"),
        (click.UsageError("no such thing"), 2, "no such thing"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (BrokenPipeError(), 141, ""),
        (ZeroDivisionError("by zero"), 70, "this is a bug in Shadowtime, not in your input (Zero"),
    ],
    ids=["done", "no", "input", "file", "usage", "interrupt", "pipe", "bug"],
)  # fmt: skip
def test_every_outcome_has_its_code_and_at_most_one_line(
    boom: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
    outcome: BaseException | int,
    code: int,
    message: str,
) -> None:
    """An error is one line on standard error, after the program's name; never a traceback."""
    boom(outcome)
    assert run(["boom"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == (1 if message else 0)
    assert err.startswith(f"shadowtime: {message}" if message else "")


@pytest.mark.parametrize("wrong", [InputError("bad"), ZeroDivisionError()], ids=["input", "bug"])
def test_debug_shows_the_traceback(boom: Callable[..., None], wrong: Exception) -> None:
    """With --debug the exception is raised."""
    boom(wrong)
    with pytest.raises(type(wrong)):
        run(["--debug", "boom"])


def test_debug_by_environment(boom: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    """SHADOWTIME_DEBUG=1 is --debug."""
    monkeypatch.setenv("SHADOWTIME_DEBUG", "1")
    boom(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        run(["boom"])


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Each command of the table is in the help with its line."""
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(
        name in out and entry.help.split(".")[0][:40] in out for name, entry in COMMANDS.items()
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command of the table exists and explains itself."""
    assert run([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: shadowtime {name}")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """--version names the program and its version."""
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"shadowtime {__version__}\n"


def test_an_unknown_command_names_the_near_one(capsys: pytest.CaptureFixture[str]) -> None:
    """A slip of the finger is understood."""
    assert run(["simulat"]) == 2
    assert "did you mean simulate?" in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The script calls us back through the variable that run() reads."""
    assert run(["completion", shell]) == 0
    assert "_SHADOWTIME_COMPLETE" in capsys.readouterr().out


def test_completion_of_a_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A shell asks for words that begin with "sim"."""
    monkeypatch.setenv("_SHADOWTIME_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "shadowtime sim")
    monkeypatch.setenv("COMP_CWORD", "1")
    run([])
    assert "simulate" in capsys.readouterr().out


def test_the_module_is_the_command() -> None:
    """`python -m shadowtime` works where the script is not on the path."""
    done = subprocess.run(
        [sys.executable, "-m", "shadowtime", "--version"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, f"shadowtime {__version__}\n")


def test_a_reader_that_leaves_is_no_error() -> None:
    """`shadowtime ... | head -0` ends silently."""
    command = f"{sys.executable} -m shadowtime completion bash | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_table_and_the_files_agree() -> None:
    """The name of a command is its function's name in help."""
    context = click.Context(app, info_name="shadowtime")
    for name in COMMANDS:
        command = app.get_command(context, name)
        assert command is not None and command.name == name
