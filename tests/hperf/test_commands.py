"""What the commands print for a new user, or after a mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from shadowtime.cli import run
from shadowtime.errors import PolicyError, StoreError
from shadowtime.hperf import Record, open_store
from shadowtime.hperf.history import load
from shadowtime.hperf.location import absolute_store
from shadowtime.policy import parse_policy
from shadowtime.workload.hperf_jobs import hperf_workload

Said = pytest.CaptureFixture[str]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with Slurm's files and a store of two tags, one of them old."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "slurm.conf").touch()
    old = Record(tag="old", bandwidth=7.5, finished=10)
    new = Record(tag="cg.D.16", bandwidth=3000.0, finished=2_000_000_000)
    open_store("perf.sqlite").add([old, new])
    return tmp_path


INSTALL = ["hperf", "install", "--capacity", "34000", "--slurm-conf-dir"]


def test_installation_begins_with_what_is_known(here: Path, capsys: Said) -> None:
    """The table holds the store's tags at once, and follows it when installed again."""
    for tags in (2, 1):
        assert run([*INSTALL, "etc", "--store", "perf.sqlite"]) == 0
        assert f"hperf.tsv: {tags} tag" in capsys.readouterr().out
        open_store("perf.sqlite").forget("old")
    assert (here / "etc" / "hperf.tsv").read_text() == "cg.D.16\t3000\n"


def test_installation_before_there_is_a_store(here: Path, capsys: Said) -> None:
    """The store is not created (the installing user would own it); an existing table is kept."""
    (here / "etc" / "hperf.tsv").write_text("cg\t5\n")
    assert run([*INSTALL, "etc", "--store", "none.sqlite"]) == 0
    assert "there is no store" in capsys.readouterr().err
    assert (here / "etc" / "hperf.tsv").read_text() == "cg\t5\n"
    assert not (here / "none.sqlite").exists()


def test_the_epilog_finds_the_store_from_anywhere(here: Path) -> None:
    """Files are stored by absolute path, servers by the given URL."""
    assert run([*INSTALL, "etc", "--store", "perf.sqlite"]) == 0
    assert (here / "etc" / "hperf-store.url").read_text() == f"{here}/perf.sqlite\n"
    assert absolute_store("sqlite:///perf.sqlite") == f"sqlite:///{here}/perf.sqlite"
    for url in ("mariadb://u@h/base", "postgresql://h/base", "sqlite://", "sqlite:////a/b"):
        assert absolute_store(url) == url


@pytest.mark.parametrize("command", [INSTALL, ["live", "slurm", "setup", "--slurm-conf-dir"]])
def test_a_folder_that_is_not_slurms(here: Path, capsys: Said, command: list[str]) -> None:
    """Rejected with the reason, also where changes are only shown."""
    assert run([*command, "nowhere", "--print"]) == 2
    assert "nowhere is not a folder" in capsys.readouterr().err
    assert run([*command, ".", "--print"]) == 2
    assert "has no slurm.conf: is this Slurm's folder?" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["show", "show cg", "export r.csv", "publish t", "forget cg"])
def test_a_store_that_is_not_there(here: Path, capsys: Said, words: str) -> None:
    """A command that only reads reports a missing store and creates none."""
    for name in ("no.sqlite", "nowhere/a.sqlite"):
        assert run(["hperf", *words.split(), "--store", name]) == 2
        assert f"there is no store {here}/{name}" in capsys.readouterr().err
    assert sorted(path.name for path in here.iterdir()) == ["etc", "perf.sqlite"]


def test_a_simulation_reports_that_there_is_no_store(here: Path) -> None:
    """It continues with a warning (see the engine's tests) and creates no store."""
    with pytest.raises(StoreError, match="there is no store"):
        load("nope.sqlite", hperf_workload("high", seed=1))
    assert not (here / "nope.sqlite").exists()


def test_forgetting_what_is_old(here: Path, capsys: Said) -> None:
    """A date is enough; an invalid one is reported first."""
    forget = ["hperf", "forget", "--store", "perf.sqlite"]
    assert run([*forget, "--before", "yesterday"]) == 2
    assert "'yesterday'" in capsys.readouterr().err
    for wrong in ([], ["cg.D.16", "--everything"]):
        assert run([*forget, *wrong]) == 2
    assert run([*forget, "--before", "2026-01-31"]) == 0
    assert capsys.readouterr().out == "1 record deleted\n"
    assert list(open_store("perf.sqlite").averages()) == ["cg.D.16"]


def test_words_and_rows(here: Path, capsys: Said) -> None:
    """The output is the one in the guide."""
    store = ["--store", "perf.sqlite"]
    assert run(["hperf", "record", "", "--bandwidth", "5", *store]) == 2
    assert "--comment=tag=cg.D.16" in capsys.readouterr().err
    assert run(["hperf", "record", "x", "--bandwidth", "5", *store]) == 0
    assert capsys.readouterr().out == "x: stored; 5 MB/s a process over 1 record\n"
    assert run(["hperf", "show", "x", *store]) == 0
    assert all(line[0] in "tx" for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize("factor", ["0", "0.0", "0.8/3:0", "-1"])
def test_a_measurement_of_nothing_is_refused(factor: str) -> None:
    """With a factor of 0 every measured tag would have no demand, and nodes would be overloaded."""
    with pytest.raises(PolicyError, match="above 0"):
        parse_policy(f"hperf(factor={factor})")
