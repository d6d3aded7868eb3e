"""Live backends: a package adds one by an entry point, and every one is run the same way."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from live.fakes import NODES, FakeClock, FakeSlurm, queue_line
from live.test_condor_port import held, port, pslot
from shadowtime import live
from shadowtime.cli import run
from shadowtime.cluster import Cluster, Host
from shadowtime.errors import PortError, ShadowtimeError
from shadowtime.live.lock import one_loop
from shadowtime.live.slurm import drive
from shadowtime.policy import parse_policy

TOY = """
import json
from pathlib import Path

from shadowtime.cluster import Cluster, Host
from shadowtime.live import Backend, Option, Target
from shadowtime.live.port import Outcome, RunningJob, Snapshot, Start, WaitingJob

class Board:
    "A scheduler whose queue is a file: a job a line, with its processors; jobs end at once."
    name = "toy"

    def __init__(self, path, procs):
        self.path, self.procs = Path(path), procs

    def snapshot(self):
        jobs = json.loads(self.path.read_text())
        return Snapshot(
            now=1000,
            cluster=Cluster(shape="nodes", hosts=(Host("n1", (self.procs,)),)),
            waiting=tuple(WaitingJob(id=name, submit=900, need=(n,), request=60)
                          for name, n in jobs.items()),
        )

    def apply(self, decisions):
        jobs = json.loads(self.path.read_text())
        for decision in decisions:
            jobs.pop(decision.job)
        self.path.write_text(json.dumps(jobs))
        return [Outcome(decision, True) for decision in decisions]

def connect(wanted, *, tell, stopped=lambda: False):
    path = wanted.options["queue"]
    return Board(path, int(wanted.options["procs"])), Target(
        title="the board", labels={"board": "toy"}, locks=((f"board {path}", ""),))

BACKEND = Backend(
    name="toy", title="Toy", help="Drive a board.", connect=connect,
    options=(Option(name="--queue", help="The file.", metavar="FILE"),
             Option(name="--procs", help="Processors.", default="4", metavar="N")),
)
"""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, entries: str) -> None:
    """An installed package that adds live backends."""
    (folder / "toy_live.py").write_text(TOY)
    about = folder / "toy_live-1.dist-info"
    about.mkdir(exist_ok=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-live\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[shadowtime.live]\n{entries}\n")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "toy_live", raising=False)


def test_a_package_adds_a_backend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An entry point is enough: loop, options, state, lock, log, metrics and status."""
    queue, state = tmp_path / "queue.json", tmp_path / "state.json"
    queue.write_text('{"a": 3, "b": 3, "c": 1, "wide": 9}')
    assert run(["live", "toy"]) == 2
    assert "there is no command toy" in capsys.readouterr().err
    install(tmp_path, monkeypatch, "toy = toy_live:BACKEND")
    words = ["live", "toy", "--policy", "easy", "--queue", str(queue)]
    assert run([*words, "--once"]) == 0
    shadow = capsys.readouterr().out
    assert "easy on the board, shadow mode" in shadow and "would start a on n1:3" in shadow
    assert "wide is set aside" in shadow and len(json.loads(queue.read_text())) == 4
    applied = [*words, "--apply", "--state", str(state), "--once"]
    with one_loop(f"board {queue}"):
        assert run(applied) == 2
        assert f"another loop already drives board {queue}" in capsys.readouterr().err
    metrics = ["--metrics-file", str(tmp_path / "metrics"), "--log-format", "json"]
    assert run([*applied, *metrics]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[0].items() >= {"event": "begin", "board": "toy", "mode": "apply"}.items()
    assert json.loads(queue.read_text()) == {"b": 3, "wide": 9}
    assert 'board="toy"' in (tmp_path / "metrics").read_text()
    assert run(["live", "toy", "status", "--queue", str(queue), "--state", str(state),
                "--json"]) == 0  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    assert (found["policy"].startswith("easy"), found["counters"]) == (True, {"started": 2})
    assert [row["job"] for row in found["waiting"]] == ["b"] and "wide" in found["ineligible"]
    assert found["left_alone"] == found["ineligible"]  # the former name
    assert run(["live", "toy", "--queue", "a", "--queue", "b", "-p", "easy"]) == 2
    assert "--queue is given twice" in capsys.readouterr().err


def test_a_backend_sees_each_host_where_the_user_wants_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On hosts a job of three fits nowhere, and the loop says so; a pool holds it on two."""
    install(tmp_path, monkeypatch, "toy = toy_live:BACKEND")
    toy = sys.modules["toy_live"] if "toy_live" in sys.modules else __import__("toy_live")
    hosts = (Host("n1", (2,)), Host("n2", (2,)))
    monkeypatch.setattr(toy, "Cluster", lambda **_: Cluster(shape="nodes", hosts=hosts))
    queue = tmp_path / "queue.json"
    queue.write_text('{"a": 3}')
    words = ["live", "toy", "--policy", "easy", "--queue", str(queue), "--once"]
    assert run(words) == 0
    assert "would start a on n1:2,n2:1" in capsys.readouterr().out
    assert run([*words, "--shape", "hosts"]) == 0
    assert "a is set aside: the hosts that can be used now" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("toy = toy_live:Board", "toy in shadowtime.live is not a shadowtime.live.backend.Backend"),
        ("slurm = toy_live:BACKEND", "adds the live backend slurm, but that name is taken"),
        ("toy = toy_live:missing", "toy, which toy-live adds to shadowtime.live, cannot be loaded"),
    ],
)
def test_a_backend_that_cannot_be_used_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str, why: str
) -> None:
    """An installed backend is never skipped silently."""
    install(tmp_path, monkeypatch, entry)
    with pytest.raises(ShadowtimeError, match=why):
        live.backends()


def test_the_same_function_runs_both_backends(tmp_path: Path) -> None:
    """A port and a policy are enough; the summary counts what was done."""
    slurm = drive.make_port(drive.Where(), run=FakeSlurm(queue_line("7"), NODES), clock=FakeClock())
    target = drive.target_of(slurm, parse_policy("easy"), "pool", act=False)
    condor, fake, _ = port([pslot("a")], held(7))
    reported: list[str] = []
    live.run(slurm, "easy", target=target, once=True, tell=reported.append)
    ended = live.run(
        condor,
        "easy",
        act=True,
        once=True,
        tell=reported.append,
        state_file=tmp_path / "state.json",
    )
    assert [line.partition(" (")[0] for line in reported if " 7" in line] == [
        "would start 7 on n1:4",
        "start 7.0 on slot1@a:1",
    ]
    assert (ended.interrupted, ended.summary) == (False, "done: started 1")
    assert tuple({words[0] for words in fake.asked if words[0] != "edit"}) == ("release",)


def test_a_garbled_answer_at_the_start_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that acts waits; a look in shadow mode reports the answer and ends."""
    from shadowtime.live.slurm import backend

    clock, said, bad = FakeClock(), [], [True, True]

    class Port:
        pass

    def shape(port: object, policy: object, wanted: object) -> str:
        if bad:
            bad.pop()
            raise PortError("sinfo printed a line that is not a node")
        return "pool"

    port = Port()
    port.clock = clock  # type: ignore[attr-defined]
    monkeypatch.setattr(drive, "wait_for_port", lambda *args, **how: port)
    monkeypatch.setattr(drive, "choose_shape", shape)
    monkeypatch.setattr(drive, "target_of", lambda *args, **how: "target")
    wanted = backend.Wanted(policy=None, operation=None, act=True)  # type: ignore[arg-type]
    assert backend.connect(wanted, tell=said.append) == (port, "target")
    assert clock.slept == [1.0, 1.0] and "not a node" in said[0]
    bad.append(True)
    looking = backend.Wanted(policy=None, operation=None)  # type: ignore[arg-type]
    with pytest.raises(PortError):
        backend.connect(looking)
