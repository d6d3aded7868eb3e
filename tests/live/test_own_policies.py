"""Policies of the user's own in the live loop: under a time limit, with a fallback."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from live.fakes import NODES, FakeClock, FakeSlurm, queue_line
from live.test_slurm_real import lasting_until
from shadowtime.cluster import Cluster, Host
from shadowtime.engine.live_pass import Memory, Snapshot, WaitingJob
from shadowtime.errors import PolicyError
from shadowtime.live.clock import SystemClock
from shadowtime.live.deciding import decide_with_hosts
from shadowtime.live.guarded import Guarded, OwnCode, guard_for, is_own
from shadowtime.live.metrics import Metrics
from shadowtime.live.record import read_passes
from shadowtime.live.signals import Undisturbed
from shadowtime.live.slurm import drive
from shadowtime.live.store import InMemory
from shadowtime.live.worker import Loading, Overrun, Worker
from shadowtime.policy import parse_policy
from shadowtime.policy.snapshot import Start
from shadowtime.testing.slurm import SlurmCluster, wait_for

FOUR = Cluster(shape="nodes", hosts=(Host("n1", (4,)),))


class Eager:
    """Every job that fits."""

    def decide(self, snapshot: Snapshot) -> list[Start]:
        return [Start(job.id, optional=True) for job in snapshot.waiting]


class Scripted:
    """A worker with scripted answers."""

    def __init__(self, *answers: Callable[[], Any]) -> None:
        self.answers, self.asked = list(answers), 0

    def decide(self, *given: Any, limit: float, patience: float) -> Any:
        self.asked += 1
        return self.answers.pop(0)()

    loaded = False

    def end(self) -> None:
        """Nothing runs."""


def failing(error: Exception) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


def test_a_pass_that_fails_is_decided_by_the_fallback(tmp_path: Path) -> None:
    """Reported in one line, counted in status and metrics, recorded under the fallback's name."""
    fake, clock, reported = FakeSlurm(queue_line("7"), NODES), FakeClock(), []
    port = drive.make_port(drive.Where(), run=fake, clock=clock)
    own = OwnCode(text="/home/ann/mine.py:mine", fallback=parse_policy("easy"), limit=2.0)
    loop = drive.make_loop(
        port, Eager(), InMemory(), tell=reported.append, record=tmp_path / "passes.jsonl", own=own
    )
    assert loop.guarded is not None
    loop.guarded.worker = Scripted(failing(PolicyError("mine.decide failed at 1000: KeyError: 3")))
    metrics = Metrics({})
    step = loop.step()
    metrics.note(step, {})
    assert [start.job for start in step.decisions] == ["7"] and step.fell_back
    line = "/home/ann/mine.py:mine failed in a pass, easy decided it: mine.decide failed at 1000: "
    assert [one for one in reported if "failed in a pass" in one] == [f"{line}KeyError: 3"]
    assert loop.kept.counters["decided_by_fallback"] == 1
    assert loop.kept.policy == "/home/ann/mine.py:mine"
    assert "shadowtime_live_fallback_passes_total 1" in metrics.text()
    (made,) = read_passes(tmp_path / "passes.jsonl")
    assert made.decide_again(parse_policy(made.policy)) == made.decisions


def test_a_policy_that_took_too_long_rests() -> None:
    """It is not called for ten times the limit, and then again."""
    clock, reported = FakeClock(), []
    guarded = Guarded(
        policy="x.py:x", fallback=parse_policy("easy"), shape="pool", clock=clock, limit=2.0,
        tell=reported.append, worker=Scripted(failing(Overrun("no answer")), lambda: "made"),
    )  # fmt: skip
    waits = WaitingJob(id="2", submit=0, need=(4,), request=9)
    state = Snapshot(now=2, cluster=FOUR, waiting=(waits,))

    def turn() -> bool:
        return guarded.decide(state, Memory(), {}, attention=Undisturbed())[1]

    assert turn()
    clock.sleep(19)
    assert turn()
    assert (guarded.worker.asked, guarded.failed, len(reported)) == (1, 2, 1)
    clock.sleep(2)
    assert not turn()


def test_which_policies_are_guarded() -> None:
    """Objects and functions of the user's own; those of the catalogue are ours."""
    own = OwnCode(text="x.py:x", fallback=parse_policy("easy"))
    assert is_own(Eager())
    assert guard_for(parse_policy("easy"), own, shape="pool", clock=FakeClock()) is None


CODE = """
import shadowtime as st
from shadowtime.policy.snapshot import Start

class Mine:
    name = "mine"
    def decide(self, snapshot):
        wanted = snapshot.waiting[0].request if snapshot.waiting else 0
        if wanted == 60:
            raise KeyError("three")
        while wanted == 120:
            pass
        return [Start(job.id, optional=True) for job in snapshot.waiting]
"""


def test_a_real_process_fails_spins_and_decides(tmp_path: Path) -> None:
    """One that never answers is ended, and another one takes its place."""
    file = tmp_path / "mine.py"
    file.write_text(CODE)
    worker = Worker(f"{file}:Mine", shape="pool", clock=SystemClock())

    def turn(request: int, limit: float = 60.0) -> Any:
        waits = WaitingJob(id="2", submit=0, need=(4,), request=request)
        state = Snapshot(now=2, cluster=FOUR, waiting=(waits,))
        return worker.decide(state, Memory(), {}, limit=limit)

    try:
        with pytest.raises(PolicyError, match=r"KeyError: 'three'"):
            turn(60)
        with pytest.raises(Overrun, match=r"no answer within 0\.5 s"):
            turn(120, 0.5)
        assert [start.job for start in turn(180).decisions] == ["2"]
    finally:
        worker.end()


def test_the_fallback_decides_while_the_policy_is_loaded() -> None:
    """Reported once; when the policy is ready it decides, although nothing else has changed."""
    fake, clock, reported = FakeSlurm(queue_line("7"), NODES), FakeClock(), []
    port = drive.make_port(drive.Where(), run=fake, clock=clock)
    own = OwnCode(text="/home/ann/mine.py:mine", fallback=parse_policy("easy"), limit=2.0)
    loop = drive.make_loop(port, Eager(), InMemory(), tell=reported.append, own=own)
    assert loop.guarded is not None
    loads, eager = failing(Loading("soon")), Eager()
    worker = Scripted(loads, loads, lambda: decide_with_hosts(eager, port.snapshot(), Memory()))
    loop.guarded.worker = worker
    assert loop.step().fell_back
    assert loop.step().decided is None  # nothing has changed
    fake.queue += queue_line("8")
    assert loop.step().fell_back
    worker.loaded = True
    step = loop.step()
    assert step.decided is not None and not step.fell_back
    assert [line for line in reported if "load" in line] == [
        "loading and compiling /home/ann/mine.py:mine, for at most 600 s: easy decides meanwhile",
        "/home/ann/mine.py:mine is loaded and decides",
    ]
    assert not any("failed in a pass" in line for line in reported)
    assert loop.kept.counters["decided_by_fallback"] == 2


SLOW = """
import pathlib, time
for _ in range(6000):
    if pathlib.Path(__file__).with_name("go").exists():
        break
    time.sleep(0.05)
"""


def test_a_real_process_that_loads_slowly_is_not_waited_for(tmp_path: Path) -> None:
    """Every pass until then is refused at once; the end of a process that loads is news too."""
    file = tmp_path / "mine.py"
    file.write_text(SLOW + CODE)
    worker = Worker(f"{file}:Mine", shape="pool", clock=SystemClock())
    waits = WaitingJob(id="2", submit=0, need=(4,), request=180)
    state = Snapshot(now=2, cluster=FOUR, waiting=(waits,))

    def turn() -> Any:
        return worker.decide(state, Memory(), {}, limit=120.0, patience=0.0)

    def wait() -> None:
        until = time.monotonic() + 300
        while not worker.loaded and time.monotonic() < until:
            time.sleep(0.05)

    try:
        for _ in range(3):
            with pytest.raises(Loading):
                turn()
        assert worker._child is not None and not worker.loaded
        worker._child.process.kill()
        wait()
        with pytest.raises(PolicyError, match="its process ended"):
            turn()
        (tmp_path / "go").touch()
        with pytest.raises(Loading):
            turn()
        wait()
        assert [start.job for start in turn().decisions] == ["2"]
    finally:
        worker.end()


def test_a_policy_file_drives_a_real_slurm(queue: SlurmCluster, tmp_path: Path) -> None:
    """Applied: three jobs run; a pass that raises, for the job of a minute, is the fallback's."""
    file, log, go = tmp_path / "mine.py", tmp_path / "log", queue.folder / "go"
    file.write_text(CODE)
    # Keeps the loop busy until the policy has been loaded, whichever policy starts it.
    jobs = [queue.sbatch("--ntasks=1", "--time=20", script=lasting_until(go))]
    words = ["--policy", f"{file}:Mine", "--apply", "--until-idle", "--for", "850s"]
    words += ["--state", str(tmp_path / "state.json"), "--log", str(log), "--pass-limit", "60"]
    loop = subprocess.Popen(
        [sys.executable, "-m", "shadowtime", "live", "slurm", *words],
        env=queue.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip

    def logged(what: str) -> bool:
        assert loop.poll() is None, log.read_text() if log.exists() else loop.communicate()[1]
        return log.exists() and what in log.read_text()

    try:
        wait_for(lambda: logged(f"start {jobs[0]} "), "the first start", 600)
        if logged("loading and compiling"):
            wait_for(lambda: logged("is loaded and decides"), "the policy", 600)
        for minutes in (1, 3):
            jobs.append(queue.sbatch("--ntasks=1", f"--time={minutes}", script="true"))
            wait_for(lambda: logged(f"start {jobs[-1]} "), "the next start", 600)
        go.touch()
        assert loop.wait(600) == 0, loop.communicate()[1]
    finally:
        loop.kill()
        loop.communicate()
        go.unlink(missing_ok=True)
    listed = queue.run("squeue", "-h", "-a", "-t", "all", "-o", "%i %T", "-j", ",".join(jobs))
    lines = log.read_text().splitlines()
    assert sorted(listed.split()[1::2]) == ["COMPLETED"] * 3, lines
    missed = [line for line in lines if "failed in a pass" in line]
    assert missed and "KeyError: 'three'" in missed[0]
    kept = json.loads((tmp_path / "state.json").read_text())
    assert kept["counters"]["decided_by_fallback"] >= len(missed)
    assert kept["policy"] == f"{file}:Mine"
