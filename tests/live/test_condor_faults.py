"""What goes wrong on a real pool: nothing is lost, nothing is started twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from condor_pool import Pool, running_pool
from condor_tools import history, loop_on, started, status, submit, turn_until
from shadowtime.live.condor.jobs import Reading
from shadowtime.live.port import PortError, Start
from shadowtime.live.store import StateFile


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with running_pool(nodes=2) as made:
        yield made


def slot(node: int) -> str:
    return f"slot1@n{node}@localhost.pool.local"


def all_ran_once(pool: Pool, jobs: list[str]) -> None:
    """All jobs have ended well, each having been started once."""
    past = history(pool)
    assert [past[job]["JobStatus"] for job in jobs] == [4] * len(jobs)
    assert [started(pool).count(job) for job in jobs] == [1] * len(jobs)


def test_held_or_removed_between_decision_and_act(pool: Pool) -> None:
    """The owner acted first: the held job stays held, the removed job stays removed."""
    h = pool.use()
    held, removed, changed = submit(pool), submit(pool), submit(pool)
    loop, _ = loop_on(pool, "fcfs")
    decisions = [Start(job=job, place=((slot(1), 1),)) for job in (held, removed, changed)]
    loop.port.snapshot()
    schedd = pool.schedd()
    schedd.act(h.JobAction.Release, [held])
    schedd.act(h.JobAction.Hold, [held], reason=("wait for my data", 0))
    schedd.act(h.JobAction.Remove, [removed])
    pool.wait(lambda: status(pool, removed) == 0, 300, "the removal")
    first, second, third = loop.port.apply(decisions)
    assert (first.done, status(pool, held)) == (False, 5)
    assert "wait for my data" in first.why
    assert (second.done, second.why) == (False, "it is no longer in the queue")
    assert third.done
    turn_until(loop, lambda: status(pool, changed) == 0)
    assert held not in started(pool)
    schedd.act(h.JobAction.Remove, [held])


def test_a_job_that_its_owner_changes_is_decided_on_anew(pool: Pool) -> None:
    """The guard's new query shows a different request from the one decided on."""
    job = submit(pool, cpus=1)
    loop, _ = loop_on(pool, "fcfs")
    look = loop.port.snapshot
    looks = 0

    def with_a_change():
        nonlocal looks
        looks += 1
        if looks == 2:
            pool.schedd().edit([job], "RequestCpus", "2")
        return look()

    loop.port.snapshot = with_a_change
    step = loop.step()
    assert [outcome.why for outcome in step.outcomes] == ["it was changed after the decision"]
    turn_until(loop, lambda: status(pool, job) == 0)
    assert started(pool).count(job) == 1


def test_the_schedd_is_killed_and_comes_back(pool: Pool) -> None:
    """The master restarts it; the loop waits and continues."""
    jobs = [submit(pool, 3, cpus=8) for _ in range(2)] + [submit(pool, 1, cpus=8) for _ in range(2)]
    loop, _ = loop_on(pool, "easy")
    turn_until(loop, lambda: jobs[0] in started(pool))
    old = pool.pids("condor_schedd")
    for pid in old:
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(PortError, match="does not answer"):
        loop.step()
    turn_until(loop, lambda: not any(status(pool, job) for job in jobs))
    assert set(pool.pids("condor_schedd")).isdisjoint(old)
    all_ran_once(pool, jobs)


def test_a_node_that_hangs_does_not_swallow_a_job(pool: Pool) -> None:
    """Released to a node that does not answer, the job is released to another after a while."""
    stuck = pool.pids("condor_startd", "-local-name", "n1")
    job = submit(pool)
    loop, seen = loop_on(pool, "fcfs", reading=Reading(overhead=1, patience=2))
    for pid in stuck:
        os.kill(pid, signal.SIGSTOP)
    try:
        turn_until(loop, lambda: job in started(pool))
    finally:
        for pid in stuck:
            os.kill(pid, signal.SIGCONT)
    turn_until(loop, lambda: status(pool, job) == 0)
    assert [place for _, place in seen.starts][:2] == [(slot(1),), (slot(2),)]
    all_ran_once(pool, [job])


def test_a_node_whose_startd_is_killed(pool: Pool) -> None:
    """Its last ad is still in the collector; jobs run elsewhere, or when it is back."""
    gone = pool.pids("condor_startd", "-local-name", "n1")
    jobs = [submit(pool) for _ in range(3)]
    loop, seen = loop_on(pool, "fcfs", reading=Reading(overhead=1, patience=2))
    for pid in gone:
        os.kill(pid, signal.SIGKILL)
    turn_until(loop, lambda: not any(status(pool, job) for job in jobs))
    assert set(pool.pids("condor_startd", "-local-name", "n1")).isdisjoint(gone)
    assert {job for job, _ in seen.starts} == set(jobs)
    all_ran_once(pool, jobs)


def test_the_loop_is_killed_and_started_again(pool: Pool, tmp_path: Path) -> None:
    """kill -9 in mid-run; its successor reads the state file and finishes the work."""
    jobs = [submit(pool, 2, cpus=8) for _ in range(4)]
    state = tmp_path / "live.json"
    command = [sys.executable, "-m", "shadowtime", "live", "condor", "--policy", "easy", "--apply",
               "--until-idle", "--every", "0.2", "--state", str(state)]  # fmt: skip
    environment = dict(os.environ, CONDOR_CONFIG=str(pool.config))
    first = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    pool.wait(lambda: len(set(started(pool)) & set(jobs)) >= 1, 300, "the first start")
    first.kill()
    first.communicate()
    kept = StateFile(state).load()
    assert kept.counters["started"] >= 1
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    all_ran_once(pool, jobs)


def test_no_pool_at_all_is_one_sentence(pool: Pool) -> None:
    """Without a collector the command fails with one sentence and no traceback."""
    command = [sys.executable, "-m", "shadowtime", "live", "condor", "--policy", "ibb", "--once",
               "--pool", "127.0.0.1:9"]  # fmt: skip
    environment = dict(os.environ, CONDOR_CONFIG=str(pool.config))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode != 0
    assert "does not answer" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_configuration_is_not_waited_for(tmp_path: Path) -> None:
    """Without a collector's name there is nothing that could come back."""
    config = tmp_path / "condor_config"
    config.write_text("LOCAL_DIR = $ENV(PWD)\n")
    command = [sys.executable, "-m", "shadowtime", "live", "condor", "--policy", "easy"]
    environment = dict(os.environ, CONDOR_CONFIG=str(config))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 2, done.stderr
    assert "--pool HOST" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("policy", ["easy", "bb"])
def test_a_job_that_avoids_a_slot_leaves_no_machine_idle(pool: Pool, policy: str) -> None:
    """Its only slot is busy and the other is free: the next job gets that one."""
    on_the_first = 'regexp("@n1@", TARGET.Name)'
    long = submit(pool, 3600, cpus=8, requirements=on_the_first)
    loop, _ = loop_on(pool, policy)
    turn_until(loop, lambda: long in started(pool))
    picky = submit(pool, 1, cpus=8, requirements=on_the_first)
    behind = submit(pool, 1, cpus=8)
    turn_until(loop, lambda: status(pool, behind) == 0)
    assert (long in started(pool), picky in started(pool)) == (True, False)
    assert status(pool, long) == 2, "the test took too long to tell"
    pool.schedd().act(pool.use().JobAction.Remove, [long])
    turn_until(loop, lambda: status(pool, picky) == 0)
    all_ran_once(pool, [picky, behind])
