"""A real HTCondor pool of partitionable slots under the live loop: order, place, K resources."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from condor_pool import PARTITIONABLE, Pool, running_pool
from condor_tools import history, loop_on, started, status, submit, turn_until
from shadowtime.cli import run
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.live.port import Snapshot, Start, Stop
from shadowtime.policy import parse_policy
from shadowtime.trace import read_raw
from shadowtime.workload import Workload


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    extra = "MACHINE_RESOURCE_Tokens = 4\nLicence_LIMIT = 1\n"
    with running_pool(slots=PARTITIONABLE, extra=extra) as made:
        yield made


def slot(node: int) -> str:
    return f"slot1@n{node}@localhost.pool.local"


def simulated_starts(state: Snapshot, policy: str) -> set[str]:
    """The jobs that a simulation starts at the instant of a snapshot.

    Running jobs were submitted the second before with what is left of their time, which starts all
    of them at once since they fit; waiting ones are submitted in this second, in the same order.
    """
    total = state.cluster.total
    names = state.cluster.resources[1:]
    machine = Cluster.pool(total["procs"], **{name: total[name] for name in names})
    left = [max(job.start + job.request, state.now + 1) - state.now + 1 for job in state.running]
    jobs = [*state.running, *state.waiting]
    n, r = len(jobs), len(state.running)
    request = np.array(left + [job.request for job in state.waiting])
    work = Workload.build(
        submit=[0] * r + [1] * (n - r),
        run=request,
        request=request,
        procs=[job.need[0] for job in jobs],
        demand={name: [job.need[k] for job in jobs] for k, name in enumerate(names, 1)},
    )
    made = simulate(work, machine, parse_policy(policy))
    assert (made.start[:r] == 0).all()
    return {jobs[at].id for at in range(r, n) if made.start[at] == 1}


def check_decisions(passes: list, policy: str) -> int:
    """Every recorded pass decides what the simulator decides; how many did."""
    for state, _, decided, _ in passes:
        assert {one.job for one in decided.decisions} == simulated_starts(state, policy)
    return len(passes)


def test_place_is_obeyed(pool: Pool) -> None:
    """Jobs released to a node run there, wherever else there is room."""
    loop, _ = loop_on(pool, "fcfs")
    wanted = {submit(pool): node for node in (3, 1, 4, 3)}
    state = loop.port.snapshot()
    assert {job.id for job in state.waiting} == set(wanted)
    place = [Start(job=job, place=((slot(node), 1),)) for job, node in wanted.items()]
    assert all(outcome.done for outcome in loop.port.apply(place))
    turn_until(loop, lambda: not any(status(pool, job) for job in wanted))
    past = history(pool)
    assert {j: past[j]["LastRemoteHost"].split("@", 1)[1] for j in wanted} == {
        job: slot(node).split("@", 1)[1] for job, node in wanted.items()
    }


def test_memory_counts_as_much_as_processors_and_ibb_overtakes(pool: Pool) -> None:
    """The K-resource part: of two small jobs behind a blocked head IBB takes the one that evens
    out processors and memory; every decision is the simulator's on the recorded snapshot."""
    base = [submit(pool, 4, cpus=7, memory=2048, limit=5) for _ in range(4)]
    head = submit(pool, 1, cpus=8, memory=1024, limit=2)
    even = submit(pool, 1, cpus=1, memory=4096, limit=2)
    uneven = submit(pool, 1, cpus=1, memory=128, limit=2)
    loop, seen = loop_on(pool, "ibb")
    turn_until(loop, lambda: not any(status(pool, job) for job in (*base, head, even, uneven)))
    order = [job for job, _ in seen.starts]
    assert order.index(even) < order.index(head) < order.index(uneven)
    # One pass lets the small job overtake, a later one starts the head; a slow machine has no more.
    assert check_decisions(seen.passes, "ibb") >= 2
    assert sorted(started(pool)) == sorted(set(started(pool)))


def test_shadow_mode_touches_nothing(pool: Pool) -> None:
    """Without act the jobs stay as they are, and what would be done is reported once."""
    job = submit(pool)
    loop, seen = loop_on(pool, "easy", act=False)
    for _ in range(3):
        loop.step()
    assert status(pool, job) == 5
    assert seen.lines == [f"would start {job} on {slot(1)}:1 (head)"]
    acting, _ = loop_on(pool, "easy")
    turn_until(acting, lambda: status(pool, job) == 0)


def test_jobs_of_others_are_not_touched(pool: Pool) -> None:
    """A job held by its owner, one held from its submission but not managed, one that runs
    natively: the last counts, none is touched."""
    h = pool.use()
    own = submit(pool)
    pool.schedd().act(h.JobAction.Release, [own])
    pool.schedd().act(h.JobAction.Hold, [own], reason=("I want to look at it first", 0))
    unmanaged = submit(pool, managed=False, hold="true")
    native = submit(pool, 1800, cpus=8, managed=False)
    pool.wait(lambda: status(pool, native) == 2, 300, "the native job to run")
    loop, seen = loop_on(pool, "easy")
    job = submit(pool)
    turn_until(loop, lambda: status(pool, job) == 0)
    assert (status(pool, own), status(pool, unmanaged)) == (5, 5)
    assert [one for one, _ in seen.starts] == [job]
    runs = {one.id: one for one in seen.passes[0][0].running}
    assert not runs[native].ours
    assert runs[native].need[0] == 8
    stop = loop.port.apply([Stop(job=native)])
    assert (stop[0].done, status(pool, native)) == (False, 2)
    pool.schedd().act(h.JobAction.Remove, [own, unmanaged, native])


def test_a_stopped_job_waits_again_and_is_started_again(pool: Pool) -> None:
    """Preemption: hold, then the same gate as in the beginning."""
    job = submit(pool, 1800)
    loop, _ = loop_on(pool, "easy")
    turn_until(loop, lambda: started(pool).count(job) == 1)  # the job records it
    assert loop.port.apply([Stop(job=job)])[0].done
    turn_until(loop, lambda: started(pool).count(job) == 2)
    h = pool.use()
    pool.schedd().act(h.JobAction.Remove, [job])


def test_requirements_of_the_job_are_kept(pool: Pool) -> None:
    """A job that accepts one node only is started there; one that accepts none is left out."""
    picky = submit(pool, requirements=f'TARGET.Name == "{slot(4)}" || TARGET.DynamicSlot')
    hopeless = submit(pool, requirements='TARGET.Arch == "VAX"')
    loop, seen = loop_on(pool, "easy")
    turn_until(loop, lambda: status(pool, picky) == 0)
    assert seen.starts == [(picky, (slot(4),))]
    assert seen.lines.count(f"job {hopeless} is skipped: it fits on no slots that it accepts") == 1
    h = pool.use()
    pool.schedd().act(h.JobAction.Remove, [hopeless])


def test_a_resource_of_the_sites_own_counts_too(pool: Pool) -> None:
    """Four tokens a node: two jobs of three tokens never share a node, whatever else is free."""
    jobs = [submit(pool, 2, request_tokens="3") for _ in range(2)]
    loop, seen = loop_on(pool, "easy")
    turn_until(loop, lambda: not any(status(pool, job) for job in jobs))
    assert seen.passes[0][0].cluster.resources == ("procs", "memory", "tokens")
    assert seen.starts == [(jobs[0], (slot(1),)), (jobs[1], (slot(2),))]


def test_one_licence_and_the_disk_of_a_slot(
    pool: Pool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One job at a time has the licence; the slot's disk holds one of two jobs, and both run."""
    here = f'TARGET.Name == "{slot(2)}" || TARGET.DynamicSlot'
    licensed = [submit(pool, 1, concurrency_limits="licence") for _ in range(2)]
    large = [submit(pool, 1, request_disk="6000000", requirements=here) for _ in range(2)]
    loop, seen = loop_on(pool, "easy")
    state = loop.port.snapshot()
    assert [job.id for job in state.waiting] == [licensed[0], *large]
    assert "disk" in state.cluster.resources
    pool.use()
    state = ["--state", str(tmp_path / "state.json")]
    assert run(["live", "condor", "status", "-p", "easy", *state, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["ineligible"]
    assert shown == {licensed[1]: "it waits for the concurrency limit licence (1 at a time)"}
    turn_until(loop, lambda: not any(status(pool, job) for job in (*licensed, *large)))
    past = history(pool)
    for first, second in (licensed, large):
        assert past[first]["CompletionDate"] <= past[second]["JobCurrentStartDate"]
    assert all(started(pool).count(job) == 1 for job in (*licensed, *large))
    assert [job for job, _ in seen.starts if job in large] == large  # the second once, later


def test_the_queue_is_given_back(pool: Pool, capsys: pytest.CaptureFixture[str]) -> None:
    """A waiting job and one that the loop stopped run by themselves; a user's hold stays."""
    loop, _ = loop_on(pool, "easy")
    stopped = submit(pool, 1800, requirements='TARGET.Arch != "VAX"')
    turn_until(loop, lambda: started(pool).count(stopped) == 1)
    assert loop.port.apply([Stop(job=stopped)])[0].done
    waiting, own = submit(pool), submit(pool)
    h = pool.use()
    pool.schedd().act(h.JobAction.Release, [own])
    pool.schedd().act(h.JobAction.Hold, [own], reason=("let me look", 0))
    assert run(["live", "condor", "release", "--print"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {f"condor_release {waiting}", f"condor_release {stopped}"} <= set(lines)
    assert f"condor_release {own}" not in lines
    assert run(["live", "condor", "release"]) == 0
    printed = capsys.readouterr().out
    assert "jobs now scheduled by HTCondor: 2" in printed
    assert f"{own} stays held: let me look" in printed
    pool.wait(lambda: status(pool, waiting) == 0, 300, "the job that waited to run")
    pool.wait(lambda: started(pool).count(stopped) == 2, 300, "the stopped job to run again")
    wanted = [stopped.partition(".")[0], ["Requirements"]]
    ad = pool.schedd().query(f"ClusterId == {wanted[0]}", projection=wanted[1])[0]
    assert "slot1" not in str(ad.lookup("Requirements"))
    pool.schedd().act(h.JobAction.Remove, [stopped, own])
    pool.wait(lambda: not status(pool, stopped) and not status(pool, own), 300, "both to leave")


def test_what_the_pool_wrote_down_is_a_job_log(pool: Pool, tmp_path: Path) -> None:
    """condor_history and the event log of the jobs above, converted: the same jobs, the same
    times but for the second in which the shadow hears of the start."""
    command = [pool.daemons / "usr/bin/condor_history", "-json"]
    environment = {"CONDOR_CONFIG": str(pool.config)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    (tmp_path / "history.json").write_text(done.stdout)
    past, log = read_raw(tmp_path / "history.json"), read_raw(pool.folder / "jobs" / "log")
    assert len(past) == len(log) > 0
    assert past["job_id"].tolist() == log["job_id"].tolist()
    assert past["status"].tolist() == log["status"].tolist()
    ended = past["status"] == 1
    assert (past["procs"][ended] == log["procs"][ended]).all()
    assert (past.demands["memory"][ended] == log.demands["memory"][ended]).all()
    for name in ("submit", "run", "wait"):
        apart = abs(past[name][ended] - log[name][ended])
        assert apart.max() <= 60, name
    assert (past["run"][ended] >= 0).all()
