"""Results, traces and compiled code in folders that others can write to."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from shadowtime.errors import UsageError
from shadowtime.private import refuse_foreign, result_file, write_result
from shadowtime.schedule import Schedule, write
from shadowtime.trace import write_swf
from shadowtime.workload import Workload

JOBS = Workload.build(submit=[0], run=[9], procs=[1], recorded_start=[0], machine={"procs": 4})


def test_a_run_that_breaks_off_leaves_the_old_result(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old")
    with pytest.raises(RuntimeError), result_file(path) as new:
        new.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["out.csv"]


def test_results_are_written_beside_and_renamed(tmp_path: Path) -> None:
    """A hard link to the old file does not get the new content."""
    path, other = tmp_path / "out.csv", tmp_path / "other"
    path.write_text("old")
    path.chmod(0o640)
    os.link(path, other)
    write(Schedule.recorded(JOBS), path)
    assert other.read_text() == "old"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    write_swf(JOBS, tmp_path / "log.swf")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "log.swf").stat().st_mode) == 0o666 & ~mask
    assert sorted(os.listdir(tmp_path)) == ["log.swf", "other", "out.csv"]


def test_a_link_of_the_user_is_followed_and_one_of_another_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, link = tmp_path / "target", tmp_path / "latest.csv"
    link.symlink_to(target)
    write_result(link, "1")
    assert target.read_text() == "1" and link.is_symlink()
    if os.geteuid() == 0:
        os.lchown(link, 4711, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(PermissionError, match="another user"):
        write_result(link, "2")
    assert target.read_text() == "1"


def test_a_pipe_is_written_as_it_is() -> None:
    """Nothing is renamed over /dev/stdout."""
    code = (
        "from pathlib import Path; from shadowtime.private import write_result; "
        "write_result(Path('/dev/stdout'), 'a,b')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "a,b" and os.path.islink("/dev/stdout")


def test_compiled_code_is_not_loaded_from_a_folder_that_all_can_write(tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    refuse_foreign(folder)
    assert not folder.stat().st_mode & 0o022
    folder.chmod(0o777)
    with pytest.raises(UsageError, match="SHADOWTIME_CACHE"):
        refuse_foreign(folder)
