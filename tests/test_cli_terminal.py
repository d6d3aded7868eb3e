"""What the terminal shows during work, and where colour is allowed."""

from __future__ import annotations

import io
import re
import time

import pytest
from rich.console import Console

from shadowtime.cli.common import progress
from shadowtime.cli.common.console import note, show
from shadowtime.cli.common.progress import working
from shadowtime.engine.watch import Watch


def test_quick_work_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is printed about work that is done within the patience."""
    with working("adding", patience=60):
        pass
    assert capsys.readouterr() == ("", "")


def test_slow_work_is_announced_once_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    """A log that is no terminal gets one line, whatever the number of steps."""
    printed = ""
    with working("adding", steps=3, patience=0) as advance:
        for _ in range(3):
            advance("still adding")
        patience = time.monotonic() + 30
        while not printed and time.monotonic() < patience:
            time.sleep(0.01)
            printed = capsys.readouterr().err
    out, rest = capsys.readouterr()
    assert (out, printed + rest) == ("", "adding ...\n")


def test_work_that_fails_ends_its_progress(capsys: pytest.CaptureFixture[str]) -> None:
    """The error is raised and the spinner stops."""
    with pytest.raises(ZeroDivisionError), working("dividing", patience=60):
        raise ZeroDivisionError
    assert capsys.readouterr() == ("", "")


def test_colour_on_a_terminal_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Escapes on a terminal, none in a pipe and none with NO_COLOR."""
    from rich.text import Text

    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    show(Text("red", "red"))
    assert capsys.readouterr().out == "red\n"
    monkeypatch.setenv("FORCE_COLOR", "1")
    show(Text("red", "red"))
    assert "\x1b[31m" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    show(Text("red", "red"))
    assert "\x1b[31m" not in capsys.readouterr().out


def test_notes_stay_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A long remark is not broken, so that it can be searched for."""
    note("word " * 60)
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1


def test_no_line_ends_in_blanks(capsys: pytest.CaptureFixture[str]) -> None:
    """What goes to a file can be compared byte by byte."""
    show("a   ", "b")
    assert capsys.readouterr().out == "a\nb\n"


@pytest.mark.parametrize(
    ("never", "found"),
    [(0.0, ((200, 16), (80, 6), (60, 5))), (123456.0, ((240, 18), (200, 15), (80, 6), (60, 5)))],
)
def test_a_narrow_terminal_gets_fewer_columns_not_cut_ones(
    never: float, found: tuple[tuple[int, int], ...]
) -> None:
    """No value is ever shortened: columns are omitted until the rest fits."""
    from rich.console import Console

    from shadowtime.cli.common.tables import SIDE_BY_SIDE, side_by_side
    from shadowtime.report import PolicyRun

    metrics = dict.fromkeys(SIDE_BY_SIDE, 123456.0)
    metrics |= {name: never for name in metrics if name.startswith("unstarted")}
    runs = [PolicyRun(name="conservative", schedule=None, metrics=metrics)]  # type: ignore[arg-type]
    for width, columns in found:
        console = Console(width=width)
        with console.capture() as captured:
            console.print(side_by_side(runs, console))
        assert "…" not in captured.get() and len(captured.get().splitlines()) == 2
        assert len(side_by_side(runs, console).columns) == columns


def test_lines_tell_how_far_runs_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Elsewhere than on a terminal: at most every ten seconds, with date, share and time left."""
    seconds = iter(range(0, 10_000))
    patience = time.monotonic() + 30
    printed = ""
    with working("simulating", steps=2, patience=0, clock=seconds.__next__) as advance:
        while "..." not in printed and time.monotonic() < patience:
            time.sleep(0.01)
            printed += capsys.readouterr().err
        watch = Watch(show=advance.see, clock=seconds.__next__)
        run = watch.of(100, epoch=1_700_000_000)
        for over in range(100):
            run.look(over * 86_400, over)
        advance()
    lines = (printed + capsys.readouterr().err).splitlines()
    assert lines[0] == "simulating ..."
    assert 10 < len(lines) < 50
    expected = r"simulating: 0 of 2, \d+% at 2023-11-\d\d 22:13, about \d.* left"
    assert re.fullmatch(expected, lines[2])


def test_a_terminal_shows_the_simulated_date(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, which is rewritten and disappears."""
    terminal = Console(file=io.StringIO(), force_terminal=True, width=120)
    monkeypatch.setattr(progress, "errors", lambda: terminal)
    with working("simulating", steps=1, patience=0) as advance:
        run = Watch(show=advance.see).of(4, epoch=None)
        patience = time.monotonic() + 30
        assert isinstance(terminal.file, io.StringIO)
        while "50% at day 3" not in terminal.file.getvalue() and time.monotonic() < patience:
            run.look(2 * 86_400, 2)
            time.sleep(0.01)
    assert "50% at day 3" in terminal.file.getvalue()


def test_runs_elsewhere_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """The same lines: done, failed, and the time left at the rate since the first was done."""
    seconds = iter(range(0, 10_000))
    patience = time.monotonic() + 30
    printed = ""
    with working("simulating", patience=0, clock=seconds.__next__) as advance:
        while "..." not in printed and time.monotonic() < patience:
            time.sleep(0.01)
            printed += capsys.readouterr().err
        for done in range(1, 30):
            advance.count(done, 200, failed=1)
    lines = capsys.readouterr().err.splitlines()
    assert 2 <= len(lines) <= 6
    assert re.fullmatch(r"simulating, 1 failed: \d+ of 200, about \d.* left", lines[-1])
