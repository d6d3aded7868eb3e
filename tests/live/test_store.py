"""What the loop writes: a bad disk or a bad file is reported, and never stops the cluster."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import ROOT
from live.fakes import NODES, FakeClock, FakeSlurm, node_line, queue_line, running_line
from shadowtime import private
from shadowtime.cli import run
from shadowtime.engine.live_pass import Memory, Note
from shadowtime.errors import UsageError
from shadowtime.live.heartbeat import Heartbeat, heartbeat_of, notifier, read_beat
from shadowtime.live.loop import Loop
from shadowtime.live.record import read_passes
from shadowtime.live.runner import Done
from shadowtime.live.slurm import drive
from shadowtime.live.slurm.gate import lease_end
from shadowtime.live.slurm.setup import unit_text
from shadowtime.live.store import InMemory, LoopState, StateFile
from shadowtime.policy import parse_policy

OLD = LoopState(policy="easy", memory=Memory(now=1, jobs={"1": Note(since=1)}))
NEW = OLD.replace(memory=Memory(now=2, jobs={"2": Note(since=2)}))


@contextmanager
def full_disk() -> Iterator[None]:
    """No file can grow: what a full disk is to a process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, old)


def a_loop(fake: FakeSlurm, store: object, reported: list[str], **more: object) -> Loop:
    port = drive.make_port(drive.Where(), run=fake, clock=FakeClock())
    given = {"act": True, "tell": reported.append} | more
    return drive.make_loop(port, parse_policy("easy"), store, **given)


@pytest.mark.parametrize(
    "broken",
    [b"", b"{", b"[]", b"{}", b'{"version":2}', b"\xff\xfe", b"[" * 100_000, b'{"version":1}'],
)
def test_a_state_file_that_cannot_be_read_is_not_an_outage(tmp_path: Path, broken: bytes) -> None:
    """The one before it is taken; the damaged one is kept and reported."""
    store = StateFile(tmp_path / "s.json")
    store.save(OLD)
    store.save(NEW)
    store.path.write_bytes(broken)
    reported: list[str] = []
    again = StateFile(store.path, tell=reported.append)
    kept = again.load()
    assert kept == OLD
    assert (
        len(reported) == 1 and str(store.path) in reported[0] and "s.json.previous" in reported[0]
    )
    again.save(NEW)
    assert again.broken.read_bytes() == broken
    assert again.previous.exists() and StateFile(store.path).load() == NEW
    assert StateFile(again.previous).load() == OLD


def test_without_a_state_that_can_be_read_the_memory_is_empty(tmp_path: Path) -> None:
    """Both are damaged: reported twice, and the loop runs; a first run reports nothing."""
    path = tmp_path / "s.json"
    reported: list[str] = []
    assert StateFile(path, tell=reported.append).load() == LoopState()
    assert reported == []
    for name in ("s.json", "s.json.previous"):
        (tmp_path / name).write_text("{")
    fake = FakeSlurm(queue_line("7"), NODES)
    loop = a_loop(fake, StateFile(path, tell=reported.append), reported)
    loop.step()
    assert "update JobId=7 ReqNodeList=n1 StartTime=now" in fake.sent
    assert "empty memory" in reported[1]
    assert StateFile(path).load().policy == loop.kept.policy


def test_a_state_file_that_is_a_folder_or_a_fifo_blocks_nothing(tmp_path: Path) -> None:
    """Neither is read, and opening a FIFO does not wait for a writer."""
    reported: list[str] = []
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    for name in ("fifo", "folder"):
        assert StateFile(tmp_path / name, tell=reported.append).load() == LoopState()
    assert len(reported) == 4


def test_a_full_disk_stops_no_start(tmp_path: Path) -> None:
    """State and recording cannot be written: reported once, jobs start, and both resume later."""
    reported: list[str] = []
    path, passes = tmp_path / "s.json", tmp_path / "p.jsonl"
    fake = FakeSlurm(queue_line("7"), NODES)
    loop = a_loop(fake, StateFile(path, tell=reported.append), reported, record=passes)
    with full_disk():
        loop.step()
        fake.queue = queue_line("8")
        loop.step()
    started = [line.split()[1] for line in fake.sent if line.endswith("StartTime=now")]
    assert started == ["JobId=7", "JobId=8"]
    assert len([line for line in reported if "state file" in line]) == 1
    assert len([line for line in reported if "recording" in line]) == 1
    assert not path.exists() and passes.read_bytes() == b""
    fake.queue = queue_line("9")
    loop.step()
    assert StateFile(path).load().policy == loop.kept.policy
    assert len(list(read_passes(passes))) == 1
    assert [line for line in reported if "2 passes are missing" in line]
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_the_folder_is_flushed_after_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a power failure may restore the old name."""
    did: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noted(handle: int) -> None:
        folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        did.append("flush folder" if folder else "flush file")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(os, "replace", lambda a, b: (did.append("rename"), replace(a, b)))
    StateFile(tmp_path / "s.json").save(OLD)
    assert did == ["flush file", "rename", "flush folder"]


def test_files_are_their_owners_alone_and_links_are_not_followed(tmp_path: Path) -> None:
    """A link in a shared folder where a file is to be written changes nothing at its end."""
    theirs = tmp_path / "theirs"
    theirs.write_text("precious")
    path = tmp_path / "s.json"
    for name in ("s.json.lock", "s.json", "p.jsonl"):
        (tmp_path / name).symlink_to(theirs)
    reported: list[str] = []
    store = StateFile(path, tell=reported.append)
    with pytest.raises(UsageError, match=r"s\.json\.lock"), store.locked():
        pass
    (tmp_path / "s.json.lock").unlink()
    with store.locked(), pytest.raises(UsageError, match="another loop"), store.locked():
        pass
    loop = a_loop(FakeSlurm(queue_line("7"), NODES), store, reported, record=tmp_path / "p.jsonl")
    loop.step()
    assert theirs.read_text() == "precious"
    assert any("recording" in line for line in reported)
    (tmp_path / "p.jsonl").unlink()
    before = os.umask(0)
    try:
        store.save(OLD)
        private.append_whole(tmp_path / "p.jsonl", b"1\n")
    finally:
        os.umask(before)
    for name in ("s.json", "s.json.lock", "p.jsonl"):
        assert oct((tmp_path / name).lstat().st_mode & 0o777) == "0o600", name


def test_a_line_that_a_crash_cut_off_costs_only_itself(tmp_path: Path) -> None:
    """The next pass begins on a line of its own."""
    path = tmp_path / "p.jsonl"
    private.append_whole(path, b'{"whole":1}\n')
    path.write_bytes(path.read_bytes() + b'{"half')
    private.append_whole(path, b'{"whole":2}\n')
    assert path.read_bytes().splitlines()[2] == b'{"whole":2}'


def test_every_look_leaves_a_sign_of_life(tmp_path: Path) -> None:
    """A failed poll too: when, and what the loop waits for."""
    path = heartbeat_of(tmp_path / "s.json")
    fake, clock = FakeSlurm(queue_line("7", NumCPUs=64), NODES), FakeClock()
    fake.queue += running_line("1", "n1", 16)
    port = drive.make_port(drive.Where(), run=fake, clock=clock)
    beat = Heartbeat(path=path, clock=clock, notify=lambda message: None)
    loop = drive.make_loop(port, parse_policy("easy"), InMemory(), act=True, beat=beat)
    seen = []

    def stopped() -> bool:
        found = read_beat(path)
        if found is not None:
            seen.append((found.looked, found.waiting_for))
        if len(seen) == 1:
            fake.before = lambda name: Done(1, "", "cannot reach slurmctld")
        return len(seen) > 1

    loop.run(stopped=stopped)
    assert "job 7 at the head of 1 waiting" in seen[0][1]
    assert "cannot reach slurmctld" in seen[1][1]
    assert seen[1][0] > seen[0][0]


def test_systemd_is_notified(tmp_path: Path) -> None:
    """Over a plain datagram socket; a socket that is gone or full is no error."""
    where = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(where))
        notify = notifier({"NOTIFY_SOCKET": str(where)})
        Heartbeat(path=None, clock=FakeClock(), notify=notify)("jobs")
        assert listener.recv(999) == b"WATCHDOG=1\nSTATUS=waiting for jobs"
        for _ in range(10_000):
            notify("READY=1")
    where.unlink()
    notify("READY=1")


def test_the_unit_has_a_watchdog_and_a_cache_its_user_can_write() -> None:
    """The guide shows the unit that the command prints."""
    lines = unit_text().splitlines()
    assert {"Type=notify", "WatchdogSec=600", "CacheDirectory=shadowtime"} <= set(lines)
    assert "Environment=SHADOWTIME_CACHE=%C/shadowtime" in lines
    assert unit_text() in (ROOT / "docs" / "guides" / "live-slurm.md").read_text()


def test_a_state_with_wrong_types_is_damaged(tmp_path: Path) -> None:
    """Valid JSON whose values are not what they must be is treated like any other damage."""
    store = StateFile(tmp_path / "s.json")
    whole = LoopState(
        policy="easy", intents={"7": {"kind": "start", "place": [["n1", 4]], "at": 5}}
    )
    store.save(whole)
    good = json.loads(store.path.read_bytes())
    wrong = [
        {"intents": {"7": 3}}, {"intents": {"7": {"kind": "x", "at": 1}}}, {"intents": []},
        {"intents": {"7": {"kind": "start"}}}, {"counters": {"started": "many"}},
        {"policy": 3}, {"memory": []}, {"version": "1"}, {"version": True},
    ]  # fmt: skip
    memory = [
        {"jobs": {"1": [2**70]}}, {"jobs": {"1": []}}, {"jobs": {"1": [1] * 9}}, {"now": 1.5},
        {"users": {"ann": ["x"]}}, {"extra": {"counted": 3}}, {"extra": {"counted": {"a": None}}},
        {"head": None}, {"shadow": "soon"}, {"jobs": {"1": [1, 2**40]}}, {"jobs": 7},
    ]  # fmt: skip
    wrong += [{"memory": good["memory"] | change} for change in memory]
    for change in wrong:
        store.path.write_text(json.dumps(good | change))
        reported: list[str] = []
        assert StateFile(store.path, tell=reported.append).load() == LoopState(), change
        assert len(reported) == 2, change


def test_control_characters_are_printed_as_escapes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A job, a user or a node with an escape sequence in its name writes nothing to a terminal."""
    eligible = lease_end(time.time(), 900)
    fake = FakeSlurm(queue_line("7", EligibleTime=eligible), node_line("n\x1b[2J"))
    monkeypatch.setattr(drive, "commands", lambda where: fake)
    words = ["live", "slurm", "--policy", "fcfs", "--state", str(tmp_path / "s.json"), "--once"]
    assert run(words) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed and r"start 7 on n\x1b[2J:4" in printed
