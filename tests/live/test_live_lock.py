"""One loop per cluster: a second is rejected in one sentence, and no link is followed."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from shadowtime.errors import UsageError
from shadowtime.live import lock
from shadowtime.live.lock import one_loop


def test_a_second_loop_is_refused(tmp_path: Path) -> None:
    """Until the first has ended; another cluster of the same name has its own lock."""
    with one_loop("partition a of b", folder=tmp_path):
        with (
            pytest.raises(UsageError, match="another loop already drives partition a of b"),
            one_loop("partition a of b", folder=tmp_path),
        ):
            pass
        with one_loop("partition a of b", identity="port 7", folder=tmp_path):
            pass
    with one_loop("partition a of b", folder=tmp_path):
        pass


def test_a_link_in_the_place_of_the_lock_is_refused(tmp_path: Path) -> None:
    """What it points to stays as it is."""
    with one_loop("x", folder=tmp_path) as path:
        pass
    path.unlink()
    victim = tmp_path / "victim"
    path.symlink_to(victim)
    with pytest.raises(UsageError, match="cannot be opened"), one_loop("x", folder=tmp_path):
        pass
    assert not victim.exists()


def test_the_lock_is_where_only_its_user_can_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any user may make files in /run/lock, and so take a lock under a name that can be guessed."""
    monkeypatch.setattr(lock, "RUN", tmp_path / "run" / "shadowtime")
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))
    with one_loop("x") as path:  # /run is not there: even root makes no folder in it
        assert path.parent == tmp_path / "state"
    lock.RUN.mkdir(parents=True, mode=0o700)
    with one_loop("x") as path:
        assert path.parent == lock.RUN
        assert not path.parent.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    lock.RUN.chmod(0o777)
    with pytest.raises(UsageError, match="can be written by others"), one_loop("x"):
        pass
