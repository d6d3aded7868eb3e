"""What ``live ... status`` prints."""

from __future__ import annotations

import pytest

from shadowtime.cli.live.status import show_status
from shadowtime.live.predicted import Eta, Row
from shadowtime.live.status import Status


def status(*waiting: Row) -> Status:
    return Status(policy="easy", now=100, hosts=2, used=(4, 32), running=1, waiting=waiting)


def test_waiting_jobs_are_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a waiting job there is no heading either."""
    show_status(status())
    alone = capsys.readouterr().out
    assert "4 of 32 processors on 2 nodes in use, 1 running, 0 waiting" in alone
    assert "no heartbeat" in alone and "starts in" not in alone and len(alone.splitlines()) == 2
    eta = Eta(earliest=110, expected=160, latest=200)
    show_status(status(Row(job="7", user="ada", procs=8, since=40, eta=eta)))
    out = capsys.readouterr().out
    assert "starts in" in out and "ada" in out and "1 min 40 s" in out
