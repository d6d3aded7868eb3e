"""A loop that keeps running: its log, its metrics, its exit, and the queue given back."""

from __future__ import annotations

import json
import time
from http.client import HTTPConnection
from pathlib import Path

import pytest

from live.fakes import NODES, FakeClock, FakeSlurm, queue_line, running_line
from live.test_condor_port import HERE, Fake, held
from shadowtime.cli import run
from shadowtime.engine.live_pass import Memory, Promise
from shadowtime.errors import UsageError
from shadowtime.live.log import Log
from shadowtime.live.loop import Loop
from shadowtime.live.metrics import Metrics, MetricsFile, served
from shadowtime.live.operation import Operation
from shadowtime.live.port import PortError
from shadowtime.live.runner import Done
from shadowtime.live.slurm import drive
from shadowtime.live.slurm.gate import FAR, begin_words, lease_end
from shadowtime.live.slurm.release import plan_release
from shadowtime.live.slurm.touched import Touched
from shadowtime.live.store import VERSION, InMemory, LoopState, StateFile
from shadowtime.policy import parse_policy
from shadowtime.slurmtext.squeue import parse_queue


def a_loop(fake: FakeSlurm, **more: object) -> Loop:
    port = drive.make_port(drive.Where(), run=fake, clock=FakeClock())
    return drive.make_loop(port, parse_policy("easy"), InMemory(), **more)


def values_in(text: str) -> dict[str, float]:
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name.removeprefix("shadowtime_live_"): float(value) for name, _, value in lines}


def counted(loop: Loop, metrics: Metrics, looks: int) -> dict[str, float]:
    made = iter(range(looks + 1))
    loop.run(
        stopped=lambda: next(made) == looks,
        after=lambda step: metrics.note(step, loop.port.sorted.ineligible),
        failed=metrics.failed,
    )
    return values_in(metrics.text())


def test_metrics_count_what_a_loop_in_charge_did() -> None:
    """Starts that took effect, refusals by their source, the queue by reason, failed polls."""
    wide = queue_line("8", NumCPUs=640, NumTasks=640)
    fake = FakeSlurm(
        queue_line("7") + wide + queue_line("9", PriorityLong=0, Reason="JobHeldAdmin"), NODES
    )  # Slurm does not obey: the start of 7 is refused
    loop = a_loop(fake, act=True)
    metrics = Metrics({}, now=lambda: 77.0)
    found = counted(loop, metrics, 1)
    assert found['refusals_total{by="scheduler"}'] == 1
    assert found['refusals_total{by="loop"}'] == found['decisions_total{kind="start"}'] == 0
    assert found['waiting_jobs{reason="fits_nowhere"}'] == 1
    assert found['waiting_jobs{reason="held"}'] == found['waiting_jobs{reason="room"}'] == 1
    assert (found["processors"], found["last_look_timestamp_seconds"]) == (64, 77)
    fake.on_tell = lambda line: (
        line.endswith("StartTime=now") and setattr(fake, "queue", running_line("7", "n1", 4))
    )
    found = counted(loop, metrics, 1)
    assert found['decisions_total{kind="start"}'] == 1
    fake.before = lambda name: Done(1, "", "no controller") if name == "squeue" else None
    found = counted(loop, metrics, 2)
    assert (found["errors_total"], found["looks_total"], found["passes_total"]) == (2, 4, 2)
    assert (found["processors_used"], found["running_jobs"]) == (0, 0)  # as of the last good poll


def test_in_shadow_mode_a_decision_counts_once() -> None:
    """However often the decision is repeated."""
    fake = FakeSlurm(queue_line("7"), NODES)
    loop, metrics = a_loop(fake), Metrics({})
    counted(loop, metrics, 3)
    fake.queue += queue_line("8")
    found = counted(loop, metrics, 3)
    assert (found['decisions_total{kind="start"}'], found["passes_total"]) == (2, 2)


def fetched(port: int, path: str) -> tuple[int, str, bytes]:
    one = HTTPConnection("127.0.0.1", port, timeout=30)
    one.request("GET", path)
    answer = one.getresponse()
    return answer.status, answer.getheader("Content-Type", ""), answer.read()


def test_metrics_are_served_on_loopback_alone() -> None:
    """Under /metrics; a port that is taken is named, and given up at the end."""
    with served(lambda: "x 1\n", 0) as port:
        status, kind, text = fetched(port, "/metrics")
        assert (status, text) == (200, b"x 1\n")
        assert kind.startswith("text/plain; version=0.0.4")
        assert fetched(port, "/")[0] == 404
        with (
            pytest.raises(UsageError, match=f"port {port} of 127.0.0.1 cannot be used"),
            served(str, port),
        ):
            pass
    with served(lambda: "y 2\n", port):
        assert fetched(port, "/metrics")[2] == b"y 2\n"


def test_a_metrics_file_is_readable_by_all_and_a_broken_disk_is_reported_once(
    tmp_path: Path,
) -> None:
    """node_exporter runs as another user."""
    reported: list[str] = []
    file = MetricsFile(tmp_path / "gone" / "shadowtime.prom", tell=reported.append)
    file.write("x 1\n")
    file.write("x 2\n")
    assert len(reported) == 1 and "cannot be written" in reported[0]
    file.path.parent.mkdir()
    file.write("x 3\n")
    assert (file.path.read_text(), len(reported)) == ("x 3\n", 2)
    assert file.path.stat().st_mode & 0o777 == 0o644


def test_a_structured_log_has_the_parts_of_a_decision(capsys: pytest.CaptureFixture[str]) -> None:
    """A JSON object a line: what, which job, where, and why not."""
    log = Log(format="json", now=lambda: 0.0)
    wide = queue_line("8", NumCPUs=640, NumTasks=640)
    a_loop(FakeSlurm(queue_line("7") + wide, NODES), act=True, tell=log).step()
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    aside, start = lines
    assert (aside["event"], aside["job"]) == ("set_aside", "8")
    assert start.items() >= {"event": "start", "job": "7", "carried_out": False}.items()
    assert start["hosts"] == {"n1": 4} and start["why"] and start["reason"] == "head"


def test_a_log_file_may_be_rotated_without_a_signal(tmp_path: Path) -> None:
    """The next line opens the new one; a missing folder does not end the loop."""
    log = Log(path=tmp_path / "loop.log", now=lambda: 0.0)
    log("one")
    (tmp_path / "loop.log").rename(tmp_path / "loop.log.1")
    log("two\x1b[2J")
    assert (tmp_path / "loop.log.1").read_text().endswith(" one\n")
    assert (tmp_path / "loop.log").read_text().endswith("two\\x1b[2J\n")
    assert (tmp_path / "loop.log").stat().st_mode & 0o777 == 0o600
    Log(path=tmp_path / "gone" / "loop.log")("three")


def test_a_dry_run_ends_by_itself_with_a_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And leaves log and metrics behind, and Slurm untouched."""
    fake = FakeSlurm(queue_line("7", EligibleTime=lease_end(time.time(), 900)), NODES)
    monkeypatch.setattr(drive, "commands", lambda where: fake)
    words = ["live", "slurm", "--policy", "fcfs", "--for", "1s", "--every", "0.05"]
    words += ["--log", str(tmp_path / "l"), "--metrics-file", str(tmp_path / "m")]
    assert run([*words, "--log-format", "json"]) == 0
    printed = capsys.readouterr().err
    assert "in shadow mode for 1 s" in printed and "jobs it would start 1, stop 0" in printed
    assert fake.sent == []
    lines = [json.loads(line) for line in (tmp_path / "l").read_text().splitlines()]
    kept = [one for one in lines if one["event"] not in ("compiling", "compiled")]
    assert [one["event"] for one in kept] == ["begin", "start", "end"]
    assert "in shadow mode for 1 s" in kept[-1]["message"] and kept[-1]["interrupted"] is False
    assert values_in((tmp_path / "m").read_text())['waiting_jobs{reason="room"}'] == 1
    assert run([*words[:4], "--log", str(tmp_path / "no" / "l")]) == 2
    assert "--log" in capsys.readouterr().err


def test_a_state_file_of_an_earlier_version_is_upgraded_in_place(tmp_path: Path) -> None:
    """Nothing in it is lost, and the old one stays for a downgrade."""
    path = tmp_path / "s.json"
    reported: list[str] = []
    kept = LoopState(policy="easy", counters={"started": 3})
    StateFile(path).save(kept)
    old = json.loads(path.read_text())
    for name in ("writer", "aside", "port"):
        del old[name]
    path.write_text(json.dumps(old | {"version": 1}))
    store = StateFile(path, tell=reported.append)
    assert store.load() == kept and reported == []
    store.save(kept.replace(policy="lxfw"))
    assert json.loads(path.read_text())["version"] == VERSION
    assert json.loads((tmp_path / "s.json.v1").read_text())["version"] == 1
    assert len(reported) == 1 and "s.json.v1" in reported[0]
    assert StateFile(path, tell=reported.append).load().policy == "lxfw"
    store.save(kept)
    assert len(reported) == 1


def test_promises_of_version_2_are_kept(tmp_path: Path) -> None:
    """They were listed job by job, and are columns now."""
    path = tmp_path / "s.json"
    promise = Promise("7", 90, partition="long", place=(("n1", 4), ("n2", 1)), ask=3)
    kept = LoopState(policy="conservative", memory=Memory(now=5, promises={"7": promise}))
    StateFile(path).save(kept)
    written = json.loads(path.read_text())
    assert written["memory"].pop("promised")["jobs"] == ["7"]
    written["memory"]["promises"] = {"7": [90, "long", [["n1", 4], ["n2", 1]], 3]}
    path.write_text(json.dumps(written | {"version": 2}))
    assert StateFile(path).load() == kept


def test_a_state_file_of_a_later_version_is_not_guessed_at(tmp_path: Path) -> None:
    """It is reported, and set aside rather than overwritten."""
    path = tmp_path / "s.json"
    later = json.dumps({"version": VERSION + 1})
    path.write_text(later)
    reported: list[str] = []
    store = StateFile(path, tell=reported.append)
    assert store.load() == LoopState()
    assert "later release" in reported[0]
    store.save(LoopState(policy="easy"))
    assert store.broken.read_text() == later


def test_the_queue_is_given_back_as_users_wrote_it() -> None:
    """No begin time of ours stays, whatever the job's priority; holds stay what they are."""
    lines = [
        queue_line("1"),
        queue_line("2", ReqNodes="n1"),
        queue_line("3", PriorityLong=0, EligibleTime=FAR, Reason="JobHeldUser"),
        queue_line("4", PriorityLong=0, EligibleTime=900, Reason="JobHeldAdmin"),
        queue_line("5", PriorityLong=1, EligibleTime=900, Reason="Resources"),
        queue_line("6", EligibleTime=900, ReqNodes="n2", Reason="Resources"),
        queue_line("7", EligibleTime=900, Reason="Resources"),
        queue_line("8", EligibleTime=FAR),
        queue_line("12"),
        queue_line("9", Partition="other"),
        queue_line("10", Dependency="afterok:1(unfulfilled)"),
        running_line("11", "n3", 4),
    ]
    rows = {row.id: row for row in parse_queue("".join(lines))}
    mark = Touched("n1", "n[1-3]", 3600, "OK", "N/A", "TimeLimit=60")
    touched = {"2": mark, "6": mark._replace(pin="n2", wanted="", words="")}
    plan = plan_release(rows, touched, "batch", now=1000, begins={"12": 1015, "1": 950})
    assert plan.lines == {
        "1": ["update JobId=1 StartTime=now"],
        "2": ["update JobId=2 StartTime=now ReqNodeList=n[1-3] TimeLimit=60"],
        "3": ["update JobId=3 StartTime=now"],
        "5": ["hold 5", "release 5"],
        "6": ["update JobId=6 ReqNodeList="],
        "8": ["update JobId=8 StartTime=now"],
        "10": ["update JobId=10 StartTime=now"],
        "12": [f"update JobId=12 {begin_words(1015)}"],
    }
    assert plan.stay == {"3": "it is held (JobHeldUser)", "4": "it is held (JobHeldAdmin)"}


def test_release_takes_the_lock_and_reports_what_stays_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """While a loop runs it does nothing, since the loop would hold the jobs again."""
    from shadowtime.live import lock

    monkeypatch.setattr(lock, "RUN", tmp_path)
    leased = {"EligibleTime": lease_end(time.time(), 900)}
    fake = FakeSlurm(queue_line("7", **leased) + queue_line("8", **leased), NODES)
    monkeypatch.setattr(drive, "commands", lambda where: fake)
    words = ["live", "slurm", "release", "--state", str(tmp_path / "s.json")]
    what = "partition batch of test"
    with lock.one_loop(what, identity=drive.identity_of(fake)):
        assert run(words) == 2
        assert "another loop already drives" in capsys.readouterr().err
        assert fake.sent == []
        assert run([*words, "--print"]) == 0
        lines = [f"update JobId={job} StartTime=now" for job in (7, 8)]
        *printed, remark = capsys.readouterr().out.splitlines()
        assert printed == lines and "2 jobs returned" in remark and "nothing was changed" in remark

    def obey(line: str) -> None:
        if line == lines[0]:
            fake.queue = queue_line("7", EligibleTime=900) + queue_line("8", **leased)

    fake.on_tell = obey
    assert run(words) == 1
    printed = capsys.readouterr().out
    assert "jobs now scheduled by Slurm: 1 (partition batch)" in printed
    assert "8 stays held: Slurm did not accept the change" in printed


def test_a_port_error_is_an_event() -> None:
    """So that a monitor can alert on it."""
    reported: list[str] = []
    fake = FakeSlurm(queue_line("7"), NODES)
    loop = a_loop(fake, tell=reported.append)

    def broken(name: str) -> Done | None:
        if name == "squeue":
            raise PortError("squeue did not answer within 20 seconds")
        return None

    fake.before = broken
    turns = iter(range(2))
    loop.run(stopped=lambda: next(turns) == 1)
    assert reported[0].parts["event"] == "error" and "did not answer" in reported[0].parts["why"]


def test_one_loop_at_a_time_drives_a_schedd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever name is given, the schedd's own name counts."""
    from shadowtime.live import lock
    from shadowtime.live.condor import client

    monkeypatch.setattr(lock, "RUN", tmp_path)
    monkeypatch.setattr(client, "Pool", lambda **named: Fake([], []))
    words = ["live", "condor", "--policy", "easy", "--apply", "--once"]
    words += ["--state", str(tmp_path / "s.json")]
    with lock.one_loop(f"schedd {HERE}"):
        assert run(words) == run([*words, "--schedd", "alias"]) == 2
        assert capsys.readouterr().err.count(f"another loop already drives schedd {HERE}") == 2


def test_metrics_name_the_schedd(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is given, else by its own name; shadow mode asks for none."""
    from shadowtime.live.backend import Wanted
    from shadowtime.live.condor import backend, client

    monkeypatch.setattr(client, "Pool", lambda **named: Fake([], []))
    policy = parse_policy("easy")
    found = {}
    for act, given in ((True, ""), (True, "alias"), (False, "")):
        wanted = Wanted(policy=policy, operation=Operation(), act=act, options={"schedd": given})
        found[act, given] = backend.connect(wanted, tell=lambda line: None)[1].labels["schedd"]
    assert found == {(True, ""): HERE, (True, "alias"): "alias", (False, ""): "local"}


def test_an_htcondor_queue_is_given_back_as_users_wrote_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not beside a running loop; what the schedd refuses is reported and gives exit code 1."""
    from shadowtime.live import lock
    from shadowtime.live.condor import client

    pinned = {"shadowtimerequirements": "Arch == 1", "shadowtimeplace": "slot1@a"}
    fake = Fake(
        [],
        [
            held(7),
            held(8, holdreasoncode=1, holdreason="shadowtime: stopped by the policy") | pinned,
            held(9, holdreasoncode=1, holdreason="mine"),
            held(10, shadowtimemanaged=False),
            held(11, jobstatus=2),
        ],
    )
    monkeypatch.setattr(lock, "RUN", tmp_path)
    monkeypatch.setattr(client, "Pool", lambda **named: fake)
    words = ["live", "condor", "release"]
    with lock.one_loop(f"schedd {HERE}"):
        assert run(words) == 2
    assert "another loop already drives" in capsys.readouterr().err and fake.asked == []
    assert run(words) == 1
    edits = [asked[1:] for asked in fake.asked if asked[0] == "edit"]
    assert edits == [
        ("7.0", "ShadowtimeManaged", "false"),
        ("8.0", "Requirements", "Arch == 1"),
        ("8.0", "ShadowtimePlace", '""'),
        ("8.0", "ShadowtimeManaged", "false"),
        ("9.0", "ShadowtimeManaged", "false"),
    ]
    assert fake.asked[-1][0] == "release" and fake.asked[-1][2:] == ("7.0", "8.0")
    out = capsys.readouterr().out
    assert "jobs now scheduled by HTCondor: 1\n" in out and "9.0 stays held: mine" in out
    assert "8.0 stays held: it is still held (shadowtime: stopped by the policy)" in out
