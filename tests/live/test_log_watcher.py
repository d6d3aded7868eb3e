"""New log lines trigger an early poll; polls never pile up, and nothing depends on the log."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from live.fakes import NODES, FakeClock, FakeSlurm, queue_line
from shadowtime.live.log_watcher import LogWatcher
from shadowtime.live.slurm import drive
from shadowtime.live.store import InMemory
from shadowtime.policy import parse_policy


class Writing(FakeClock):
    """The log is written to at given moments while the loop sleeps."""

    def __init__(self, log: Path, at: list[float]) -> None:
        super().__init__()
        self.log, self.at = log, at

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        while self.at and self.at[0] <= self.time:
            with self.log.open("a") as file:
                file.write(f"at {self.at.pop(0)}\n")


def looks(clock: FakeClock, log: Path, until: float) -> list[float]:
    """The times at which an idle loop queries the queue."""
    when: list[float] = []

    def note(name: str) -> None:
        if name == "squeue" and when[-1:] != [round(clock.time, 2)]:  # one poll may query twice
            when.append(round(clock.time, 2))

    fake = FakeSlurm(queue_line("7", Reason="JobHeldAdmin"), NODES)
    port = drive.make_port(drive.Where(), run=fake, clock=clock)
    loop = drive.make_loop(port, parse_policy("easy"), InMemory())
    loop.watcher = LogWatcher(log)
    fake.before = note
    loop.run(stopped=lambda: clock.time > until)
    return when


def test_news_end_the_pause_of_a_calm_loop(tmp_path: Path) -> None:
    """After ten minutes of nothing the pause is two seconds, and news are seen at once."""
    log = tmp_path / "slurmctld.log"
    log.touch()
    clock = Writing(log, [1600.0])
    when = looks(clock, log, until=1610)
    before = [w for w in when if w < 1600]
    assert before[-1] - before[-2] == pytest.approx(2.0, abs=0.01)
    (after, *_) = (w for w in when if w >= 1600)
    assert after - max(1600.0, before[-1] + 0.8) <= 0.1


def test_a_busy_log_causes_no_faster_polling(tmp_path: Path) -> None:
    """A busy log causes ten polls a second at first, fewer when nothing new is found."""
    log = tmp_path / "slurmctld.log"
    log.touch()
    clock = Writing(log, [1000 + k / 50 for k in range(60 * 50)])
    when = looks(clock, log, until=1060)
    gaps = [round(b - a, 2) for a, b in pairwise(when)]
    assert min(gaps) >= 0.1
    assert gaps[-1] > 3 * gaps[1]
    assert len(when) < 60 * 5


def test_without_a_log_the_loop_asks_by_the_clock(tmp_path: Path) -> None:
    """The file does not exist, as on a host other than the controller's."""
    clock = FakeClock()
    when = looks(clock, tmp_path / "none.log", until=1002)
    assert when[1] - when[0] == pytest.approx(0.25, abs=0.01)
    fake = FakeSlurm("", NODES)
    assert drive.watcher_of(fake) is None


def test_a_clock_that_is_set_back_does_not_prolong_the_rest(tmp_path: Path) -> None:
    """The pause is a length of time, whatever the clock says."""

    class SetBack(FakeClock):
        def now(self) -> float:
            return self.time - 3600 * len(self.slept)

    log, clock = tmp_path / "log", SetBack()
    log.touch()
    LogWatcher(log).rest(clock, 2.0, at_least=0.1)
    assert sum(clock.slept) == pytest.approx(2.0)
