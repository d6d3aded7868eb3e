"""On a real Slurm a policy of @st.resize shrinks running jobs, and requeues those of size 0."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import shadowtime as st
from live.test_slurm_real import field_of, finish, lasting_until, runner
from python_policies import make_room, stand_aside
from shadowtime.errors import UsageError
from shadowtime.live.loop import Loop
from shadowtime.live.record import read_passes
from shadowtime.live.slurm import drive
from shadowtime.live.store import StateFile
from shadowtime.policy import Policy
from shadowtime.testing.slurm import SlurmCluster, wait_for

POLICY = st.easy(backfill=st.resize(make_room))


def loop_over(
    slurm: SlurmCluster,
    folder: Path,
    lines: list[str],
    *,
    act: bool = True,
    policy: Policy = POLICY,
) -> Loop:
    port = drive.make_port(drive.Where(), run=runner(slurm))
    return drive.make_loop(
        port,
        policy,
        StateFile(folder / "state.json"),
        shape=drive.choose_shape(port, policy),
        act=act,
        tell=lambda line: lines.append(str(line)),
        record=folder / "passes.jsonl",
    )


def until(loop: Loop, happened: Callable[[], bool], what: str) -> None:
    """Run the loop until something has happened on Slurm."""
    last = time.monotonic() + 600
    loop.run(stopped=lambda: happened() or time.monotonic() > last)
    assert happened(), what


def whole(slurm: SlurmCluster, nodes: str, log: Path, script: str) -> str:
    """A job of whole nodes that writes down each of its runs."""
    log.touch()
    log.chmod(0o666)
    script = f"echo $SLURM_JOB_ID >> {log}\n{script}"
    return slurm.sbatch(f"--nodes={nodes}", "--exclusive", "--time=10", script=script)


def loses_nodes(slurm: SlurmCluster) -> bool:
    """Whether a loop that shrinks jobs refuses to act on this Slurm."""
    return slurm.version is None or slurm.version < drive.SHRINKS


def test_running_jobs_shrink_and_make_way(queue: SlurmCluster, tmp_path: Path) -> None:
    """A job starts because another one shrinks; both make way for one that needs all nodes."""
    log, go = queue.folder / "runs-sizes.log", queue.folder / "go-sizes"
    go.unlink(missing_ok=True)
    log.unlink(missing_ok=True)
    lines: list[str] = []
    if loses_nodes(queue):
        with pytest.raises(UsageError, match=r"and Slurm 22\.05\S* may not start others"):
            loop_over(queue, tmp_path, lines)
        return

    def runs_on(job: str, nodes: int) -> bool:
        found = field_of(queue, job, "State"), field_of(queue, job, "NumNodes")
        return found == ("RUNNING", str(nodes))

    first = whole(queue, "2-8", log, lasting_until(go))
    loop = loop_over(queue, tmp_path, lines)
    until(loop, lambda: runs_on(first, 8), "it starts at its largest size")
    second = whole(queue, "4", log, lasting_until(go))
    until(loop, lambda: runs_on(second, 4), "the other one makes room")
    assert runs_on(first, 4)
    wait_for(lambda: second in log.read_text().split(), "its script")
    assert Counter(log.read_text().split()) == {first: 1, second: 1}, "none was requeued"
    assert f"shrink {first} to n1:16,n2:16,n3:16,n4:16" in lines
    assert loop.kept.counters["shrunk"] == 1
    # A loop without the state file knows the range by what the first start has written down.
    (tmp_path / "again").mkdir()
    loop = loop_over(queue, tmp_path / "again", lines)
    third = whole(queue, "2", log, lasting_until(go))
    until(loop, lambda: runs_on(third, 2), "it shrinks again")
    assert runs_on(first, 2)
    everything = whole(queue, "8", log, "sleep 1")
    until(loop, lambda: everything in log.read_text().split(), "all others are requeued")
    assert {field_of(queue, job, "RestartCnt") for job in (first, second, third)} == {"1"}
    go.touch()
    finish(loop)
    counted = Counter(log.read_text().split())
    assert (counted[first], counted[second], counted[everything]) == (2, 2, 1)
    for folder in (tmp_path, tmp_path / "again"):
        passes = list(read_passes(folder / "passes.jsonl"))
        assert passes and all(one.decide_again(POLICY) == one.decisions for one in passes)


def test_running_jobs_are_suspended_and_continue(queue: SlurmCluster, tmp_path: Path) -> None:
    """A short job runs on the nodes of a long one, which goes on after it and runs only once."""
    log, go = queue.folder / "runs-halts.log", queue.folder / "go-halts"
    go.unlink(missing_ok=True)
    log.unlink(missing_ok=True)
    lines: list[str] = []
    if loses_nodes(queue):
        return
    policy = st.easy(backfill=st.resize(stand_aside))
    loop = loop_over(queue, tmp_path, lines, policy=policy)

    def state_is(job: str, state: str) -> bool:
        return field_of(queue, job, "State") == state

    log.touch()
    log.chmod(0o666)
    script = f"echo $SLURM_JOB_ID >> {log}\n{lasting_until(go)}"
    wide = ("--nodes=8", "--ntasks-per-node=16", "--time=10")
    long = queue.sbatch(*wide, script=script)
    until(loop, lambda: state_is(long, "RUNNING"), "it fills all nodes without --exclusive")
    wait_for(lambda: long in log.read_text().split(), "its script")
    short = queue.sbatch("--nodes=4", "--exclusive", "--time=2", script=script)
    until(loop, lambda: state_is(short, "RUNNING"), "the long one stands aside")
    assert state_is(long, "SUSPENDED")
    assert f"suspend {long}" in lines and loop.kept.counters["suspended"] == 1
    # A loop without the state file knows by the job itself who has suspended it.
    (tmp_path / "again").mkdir()
    loop = loop_over(queue, tmp_path / "again", lines, policy=policy)
    for _ in range(3):
        loop.step()
    assert state_is(long, "SUSPENDED"), "its nodes are in use"
    go.touch()
    until(loop, lambda: not state_is(long, "SUSPENDED"), "it continues")
    assert loop.kept.counters["continued"] == 1
    finish(loop)
    assert Counter(log.read_text().split()) == {long: 1, short: 1}, "none was requeued"
    # What an operator has suspended is left alone.
    go.unlink()
    held = queue.sbatch(*wide, script=script)
    until(loop, lambda: state_is(held, "RUNNING"), "another one")
    queue.run("scontrol", "suspend", held)
    for _ in range(3):
        loop.step()
    assert state_is(held, "SUSPENDED")
    go.touch()
    queue.run("scontrol", "resume", held)
    finish(loop)
    for folder in (tmp_path, tmp_path / "again"):
        passes = list(read_passes(folder / "passes.jsonl"))
        assert passes and all(one.decide_again(policy) == one.decisions for one in passes)


def test_shadow_mode_prints_sizes(queue: SlurmCluster, tmp_path: Path) -> None:
    """It prints what it would do, and hands nothing over."""
    job = whole(queue, "2-3", queue.folder / "runs-shadow-sizes.log", "true")
    part = queue.sbatch("--ntasks=1")
    lines: list[str] = []
    step = loop_over(queue, tmp_path, lines, act=False).step()
    assert [(one.job, one.procs) for one in step.decisions] == [(job, 48)]  # type: ignore[union-attr]
    assert f"would start {job} on n1:16,n2:16,n3:16 (head)" in lines
    assert field_of(queue, part, "State") == "PENDING"
