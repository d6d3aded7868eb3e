"""On a real Slurm the policies act as simulated, and survive faults."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest

from shadowtime.cli import run
from shadowtime.cluster import Cluster, Host
from shadowtime.engine.live_pass import decide
from shadowtime.errors import UsageError
from shadowtime.live.loop import Loop
from shadowtime.live.port import Start, Stop
from shadowtime.live.record import read_passes
from shadowtime.live.replay import LogPort, follow
from shadowtime.live.runner import Commands, Done
from shadowtime.live.slurm import drive
from shadowtime.live.slurm.configuration import refuse_strangers
from shadowtime.live.slurm.gate import leased
from shadowtime.live.store import StateFile
from shadowtime.policy import parse_policy
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.squeue import ENVIRONMENT
from shadowtime.testing.slurm import SlurmCluster, wait_for
from shadowtime.workload import Workload

EIGHT = Cluster(shape="nodes", hosts=tuple(Host(f"n{k}", (16,)) for k in range(1, 9)))


def runner(slurm: SlurmCluster) -> Commands:
    return Commands(timeout=120, env={**slurm.env, **ENVIRONMENT})


def loop_over(
    slurm: SlurmCluster, policy: str, folder: Path, *, run: object = None, act: bool = True
) -> Loop:
    """A loop that acts on the cluster and records its passes."""
    port = drive.make_port(drive.Where(), run=run or runner(slurm))
    store = StateFile(folder / "state.json")
    return drive.make_loop(
        port, parse_policy(policy), store, act=act, record=folder / "passes.jsonl"
    )


def submit(slurm: SlurmCluster, log: Path, nodes: int, seconds: int | Path, minutes: int) -> str:
    """A job of whole nodes that writes down each of its runs.

    It lasts so many seconds, or until a file appears.
    """
    log.touch()
    log.chmod(0o666)
    lasts = lasting_until(seconds) if isinstance(seconds, Path) else f"sleep {seconds}"
    script = f"echo $SLURM_JOB_ID >> {log}\n{lasts}"
    return slurm.sbatch(f"--nodes={nodes}", "--exclusive", f"--time={minutes}", script=script)


def lasting_until(go: Path) -> str:
    """A script that ends when a file appears, however slow the machine is."""
    return f"for i in $(seq 3000); do [ -e {go} ] && exit; sleep 0.2; done"


def finish(loop: Loop, *, seconds: float = 600.0) -> None:
    """Run the loop until no job is left; the time counts from its first poll.

    In that poll the policy's pass may be compiled, which takes as long as the machine is busy.
    """
    turns = iter((False,))
    loop.run(until_idle=True, stopped=lambda: next(turns, True))
    until = time.monotonic() + seconds
    loop.run(until_idle=True, stopped=lambda: time.monotonic() > until)
    assert time.monotonic() <= until, "the loop did not come to an end"


def tidied(slurm: SlurmCluster) -> None:
    """Wait until Slurm is done with jobs that have ended: until then they are completing."""
    completing = ("squeue", "-h", "-a", "-t", "CG", "-o", "%i")
    wait_for(lambda: not slurm.run(*completing).strip(), "the nodes to be done with ended jobs")


def completed(slurm: SlurmCluster, ids: list[str]) -> list[tuple[str, str, int]]:
    """Those of these jobs that completed, with their nodes and starts."""
    wanted = ("-t", "CD", "-j", ",".join(ids), "-o", "%i %N %S")
    listed = slurm.run("squeue", "-h", "-a", *wanted, env=ENVIRONMENT)
    rows = (line.split() for line in listed.splitlines())
    return [(job, nodes, int(start)) for job, nodes, start in rows]


def started(slurm: SlurmCluster, ids: list[str]) -> list[tuple[str, str]]:
    """Which of these jobs completed, with their nodes, in the order of their starts."""
    tidied(slurm)
    rows = sorted(completed(slurm, ids), key=lambda row: (row[2], int(row[0])))
    return [(job, nodes) for job, nodes, _ in rows]


def starts_of(slurm: SlurmCluster, ids: list[str]) -> dict[str, int]:
    """When each of these jobs started."""
    tidied(slurm)
    return {job: start for job, _, start in completed(slurm, ids)}


def assert_decided_alike(folder: Path, policy: str) -> int:
    """Every recorded pass is decided the same again; returns the number of decisions."""
    count = 0
    for found in read_passes(folder / "passes.jsonl"):
        assert found.decide_again(parse_policy(policy)) == found.decisions
        count += len(found.decisions)
    return count


JOBS = {
    "easy": ((4, 6, 2), (6, 5, 2), (4, 12, 1), (2, 7, 9)),
    "lxfw": ((5, 6, 2), (6, 6, 3), (3, 12, 3), (2, 5, 3)),
    "pv-easy": ((6, 6, 1), (8, 5, 1), (2, 17, 1)),
}
"""(nodes, seconds, requested minutes) of the jobs, submitted together.

Under lxfw no job asks for less time than one in front: however long they have waited at the
first look, the order is the same."""


@pytest.mark.parametrize("policy", JOBS)
def test_the_policies_place_and_preempt_as_simulated(
    queue: SlurmCluster, tmp_path: Path, policy: str
) -> None:
    """Order of starts and node sets are the simulation's; no job is lost; requeues are real."""
    jobs = JOBS[policy]
    log = queue.folder / f"runs-{policy}.log"
    ids = [submit(queue, log, *job) for job in jobs]
    loop = loop_over(queue, policy, tmp_path)
    finish(loop)
    workload = Workload.build(
        submit=[0] * len(jobs),
        run=[seconds for _, seconds, _ in jobs],
        procs=[16 * nodes for nodes, _, _ in jobs],
        request=[60 * minutes for _, _, minutes in jobs],
        job_id=[int(job) for job in ids],
    )
    wanted = follow(LogPort(workload=workload, cluster=EIGHT), parse_policy(policy))
    starts = [decision for _, decision in wanted.decided if isinstance(decision, Start)]
    places = {decision.job: {host for host, _ in decision.place} for decision in starts}
    order = sorted(ids, key=lambda job: (wanted.started[job], int(job)))
    found = started(queue, ids)
    assert [job for job, _ in found] == order
    for job, nodes in found:
        named = set(queue.run("scontrol", "show", "hostnames", nodes).split())
        assert named == places[job], f"job {job} of {policy}"
    lost = Counter(job for job, _, _ in wanted.attempts)
    runs = Counter(log.read_text().split())
    assert runs == {job: 1 + lost[job] for job in ids}
    assert (policy == "pv-easy") == bool(lost), "only pv-easy preempts, and here it must"
    assert assert_decided_alike(tmp_path, policy) >= len(jobs)
    nodes_of = {job: nodes for job, (nodes, _, _) in zip(ids, jobs, strict=True)}
    for recorded in read_passes(tmp_path / "passes.jsonl"):
        for decision in recorded.decisions:
            if isinstance(decision, Start):  # also when it was stopped before
                assert len(decision.place) == nodes_of[decision.job]


def field_of(slurm: SlurmCluster, job: str, name: str) -> str:
    return slurm.run("squeue", "-h", "-t", "all", "-j", job, "-O", f"{name}:40").strip()


def at_the_gate(slurm: SlurmCluster, job: str) -> bool:
    """Whether a job waits, and its begin time is the end of a lease that has not ended.

    A begin time that has passed is no lease, though one in sixty ends at the second of leases.
    """
    begin = field_of(slurm, job, "EligibleTime")
    if field_of(slurm, job, "State") != "PENDING" or begin == "N/A":
        return False
    return leased(int(datetime.fromisoformat(begin).timestamp()), time.time())


def test_a_loop_without_memory_finds_a_job_that_was_stopped(
    queue: SlurmCluster, tmp_path: Path
) -> None:
    """The state file is lost after a preemption: the stopped job runs all the same."""
    log, go = queue.folder / "runs-forgotten.log", queue.folder / "go-forgotten"
    narrow, head, late = JOBS["pv-easy"]
    jobs = (narrow, (head[0], go, 10), late)  # the head lasts until the stopped job is at the gate
    ids = [submit(queue, log, *job) for job in jobs]
    loop = loop_over(queue, "pv-easy", tmp_path)
    until = time.monotonic() + 600
    stopped = ids[2]

    def came_back() -> bool:
        again = field_of(queue, stopped, "RestartCnt") == "1" and at_the_gate(queue, stopped)
        return again or time.monotonic() > until

    loop.run(stopped=came_back)
    go.touch()
    assert time.monotonic() <= until, "no job was stopped, or it did not come back to the gate"
    (tmp_path / "again").mkdir()
    finish(loop_over(queue, "pv-easy", tmp_path / "again"))
    assert Counter(log.read_text().split()) == {ids[0]: 1, ids[1]: 1, stopped: 2}


def test_the_queue_is_given_back_to_slurm(
    queue: SlurmCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One command, no loop: all but what its user holds runs, with the user's own node list."""
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, queue.env[name])
    held = queue.sbatch("--hold", "--ntasks=1")
    plain = queue.sbatch("--ntasks=4")
    named = queue.sbatch("--ntasks=1", "--nodelist=n7")
    array = queue.sbatch("--ntasks=1", "--array=1-2")
    after = queue.sbatch("--ntasks=1", f"--dependency=afterok:{plain}")
    handed = queue.sbatch("--ntasks=1", "--gres=membw:1")
    port = drive.make_port(drive.Where(), run=runner(queue))
    port.snapshot()
    port.tidy()  # what it does not count goes to Slurm, at the lowest priority
    assert run(["live", "slurm", "release", "--state", str(tmp_path / "state.json")]) == 0
    printed = capsys.readouterr().out
    assert "jobs now scheduled by Slurm: " in printed and "(partition batch)" in printed
    assert f"{held} stays held: it is held (JobHeldUser)" in printed
    wanted = {plain, named, after, handed, f"{array}_1", f"{array}_2"}

    def done() -> bool:
        listed = queue.run("squeue", "-h", "-a", "-r", "-t", "CD", "-o", "%i").split()
        return wanted <= set(listed)

    wait_for(done, "all jobs to end")
    assert queue.run("squeue", "-h", "-a", "-j", named, "-t", "CD", "-o", "%N").strip() == "n7"
    listed = queue.run("squeue", "-h", "-a", "-j", held, "-o", "%r %Q").split()
    assert listed == ["JobHeldUser", "0"]
    queue.run("scontrol", "release", held)  # and is let go as anywhere else
    wait_for(lambda: held in queue.run("squeue", "-h", "-a", "-t", "CD", "-o", "%i").split(), held)


def test_lxfw_holds_several_reservations_at_once(queue: SlurmCluster, tmp_path: Path) -> None:
    """A job that would delay only the second reservation waits; every promise is kept or beaten.

    By the requests the first runs until 120, the second (six nodes) is reserved at 120 and the
    third (seven) at 240. The fourth would fit now, on two nodes for 300 s, and beside the second,
    but not before the third; the fifth ends in time. Their order is the same however long they
    have waited: the fourth, which asks for most, comes before or behind the fifth and both fit.
    """
    log = queue.folder / "runs-several.log"
    jobs = ((4, 6, 2), (6, 5, 2), (7, 4, 2), (2, 4, 5), (2, 3, 2))
    ids = [submit(queue, log, *job) for job in jobs]
    finish(loop_over(queue, "lxfw", tmp_path))
    passes = list(read_passes(tmp_path / "passes.jsonl"))
    assert {d.job for d in passes[0].decisions} == {ids[0], ids[4]}
    one = passes[0].decide_again(parse_policy("lxfw(reserve=1)"))
    assert {d.job for d in one} == {ids[0], ids[3], ids[4]}, "with one the fourth starts too"
    promised = [decide(parse_policy("lxfw"), p.state, p.memory).promises for p in passes]
    assert {job for promises in promised for job in promises} >= {ids[1], ids[2]}
    starts = starts_of(queue, ids)
    for promises in promised:
        for job, moment in promises.items():
            assert starts[job] <= moment, f"{job} was promised {moment}"
    assert Counter(log.read_text().split()) == Counter(ids)


def test_shadow_mode_touches_nothing(queue: SlurmCluster, tmp_path: Path) -> None:
    """It decides and reports, and the job stays at the gate."""
    job = queue.sbatch("--ntasks=4")
    loop = loop_over(queue, "easy", tmp_path, act=False)
    step = loop.step()
    assert [decision.job for decision in step.decisions] == [job]
    assert queue.run("squeue", "-h", "-o", "%i %T %r").split() == [job, "PENDING", "BeginTime"]


def test_eta_and_status_of_waiting_jobs(
    queue: SlurmCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A job that needs all nodes is expected by when the one before it must end."""
    first = queue.sbatch("--nodes=8", "--exclusive", "--time=2", script="sleep 30")
    second = queue.sbatch("--nodes=8", "--exclusive", "--time=1")
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, queue.env[name])
    more = ["--policy", "easy", "--state", str(tmp_path / "none.json"), "--json"]
    assert run(["live", "slurm", "status", *more]) == 0
    status = json.loads(capsys.readouterr().out)
    assert [row["job"] for row in status["waiting"]] == [first, second]
    assert status["used"] == [0, 128]
    assert run(["eta", second, *more]) == 0
    eta = json.loads(capsys.readouterr().out)
    assert 0 < eta["expected"] - eta["now"] <= 120
    assert eta["earliest"] <= eta["expected"] <= eta["latest"]
    assert run(["eta", "99999", *more]) == 2


def test_arrays_dependencies_and_holds(queue: SlurmCluster, tmp_path: Path) -> None:
    """Tasks within their throttle, a dependent job after its first, a held job not at all."""
    first = queue.sbatch("--ntasks=16")
    after = queue.sbatch("--ntasks=4", f"--dependency=afterok:{first}")
    array = queue.sbatch("--ntasks=2", "--array=1-3%2")
    held = queue.sbatch("--hold", "--ntasks=1")
    loop = loop_over(queue, "easy", tmp_path)
    most = 0

    def count(step: object) -> None:
        nonlocal most
        listed = queue.run("squeue", "-h", "-t", "R", "-o", "%F").split()
        most = max(most, listed.count(array))

    wanted = {first, after, f"{array}_1", f"{array}_2", f"{array}_3"}
    until = time.monotonic() + 600

    def done() -> set[str]:
        return wanted & set(queue.run("squeue", "-h", "-r", "-t", "CD", "-o", "%i").split())

    loop.run(after=count, stopped=lambda: time.monotonic() > until or done() == wanted)
    assert done() == wanted
    assert most <= 2
    assert queue.run("squeue", "-h", "-t", "PD", "-o", "%i").split() == [held]
    assert "it is held (JobHeldUser)" in str(loop.port.sorted.ineligible[held])


def test_users_hold_and_release_at_the_gate(queue: SlurmCluster, tmp_path: Path) -> None:
    """An owner's hold keeps a job from the loop, a release gives it back; neither starts it."""
    if os.geteuid() != 0:
        pytest.skip("needs root to submit as another user")
    job = queue.sbatch("--ntasks=1", f"--chdir={queue.folder}", as_user="nobody")
    port = drive.make_port(drive.Where(), run=runner(queue))
    assert [w.id for w in port.snapshot().waiting] == [job]
    as_nobody = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
    queue.run(*as_nobody, "scontrol", "hold", job)
    assert port.snapshot().waiting == ()
    queue.run(*as_nobody, "scontrol", "release", job)
    assert [w.id for w in port.snapshot().waiting] == [job]
    assert queue.run("squeue", "-h", "-o", "%T").split() == ["PENDING"]


def test_only_slurmuser_or_root_may_act(queue: SlurmCluster) -> None:
    """Refused before anything is tried; and Slurm refuses a stranger's placement itself."""
    with pytest.raises(UsageError, match="only SlurmUser or root"):
        refuse_strangers(runner(queue), uid=65534)
    refuse_strangers(runner(queue), uid=0)
    if os.geteuid() != 0:
        return
    job = queue.sbatch("--ntasks=1")
    as_nobody = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
    queue.run(*as_nobody, "scontrol", "update", f"JobId={job}", "StartTime=now", check=False)
    assert queue.run("squeue", "-h", "-o", "%T %r").split() == ["PENDING", "BeginTime"]


def test_a_drained_node_is_left_out(queue: SlurmCluster, tmp_path: Path) -> None:
    """Drained while a job runs there and others wait: that one ends, no other is placed there."""
    log = queue.folder / "runs-drain.log"
    first = submit(queue, log, 2, 4, 1)
    loop = loop_over(queue, "easy", tmp_path)
    loop.step()
    wait_for(lambda: bool(log.read_text()), "the first job to run")
    queue.run("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=test")
    ids = [submit(queue, log, nodes, 1, 1) for nodes in (3, 3, 3, 7)]
    finish(loop)
    used = {host for _, nodes in started(queue, ids) for host in expand(nodes)}
    assert started(queue, [first]) == [(first, "n[1-2]")]
    assert Counter(log.read_text().split()) == Counter([first, *ids])
    assert used == set(queue.names) - {"n1"}


@pytest.mark.parametrize("what", ["cancel", "change"])
def test_a_job_that_its_user_touches_between_decision_and_act(
    queue: SlurmCluster, tmp_path: Path, what: str
) -> None:
    """Cancelled after the last poll: the start fails and is reported; the others run."""
    gone = queue.sbatch("--ntasks=4")
    stays = queue.sbatch("--ntasks=4")
    real = runner(queue)
    looks = []

    def meddle(argv: tuple[str, ...], *, text: str = "") -> Done:
        if argv[0] == "squeue":
            looks.append(argv)
            if what == "change" and len(looks) == 2:  # between the decision and the guard's look
                queue.run("scontrol", "update", f"JobId={gone}", "TimeLimit=7")
        if what == "cancel" and text.startswith("update"):
            queue.run("scancel", gone)
        return real(argv, text=text)

    loop = loop_over(queue, "easy", tmp_path, run=meddle)
    outcomes = {o.decision.job: o for o in loop.step().outcomes}
    assert outcomes[stays].done
    assert not outcomes[gone].done
    finish(loop)
    tidied(queue)
    states = dict(
        line.split() for line in queue.run("squeue", "-h", "-t", "all", "-o", "%i %T").splitlines()
    )
    assert states[stays] == "COMPLETED"
    assert states[gone] == ("CANCELLED" if what == "cancel" else "COMPLETED")


def test_a_job_that_ends_before_it_is_stopped_is_not_run_again(
    queue: SlurmCluster, tmp_path: Path
) -> None:
    """A job that has ended since the poll is not stopped. One that runs returns to the gate."""
    log = queue.folder / "runs-stop.log"
    ids = [submit(queue, log, 2, seconds, 20) for seconds in (1, 1200)]
    loop = loop_over(queue, "easy", tmp_path)
    loop.step()
    wait_for(lambda: len(log.read_text().split()) == 2, "both to run")
    wait_for(lambda: completed(queue, ids) != [], "the first to end")
    ended, stopped = loop.port.apply([Stop(job=job) for job in ids])
    assert (ended.done, stopped.done) == (False, True)
    listed = dict(
        line.split(maxsplit=1)
        for line in queue.run("squeue", "-h", "-t", "all", "-o", "%i %T").splitlines()
    )
    assert listed[ids[0]] == "COMPLETED"
    assert listed[ids[1]] in ("COMPLETING", "PENDING")


def wait_until_saved(slurm: SlurmCluster, job: str) -> None:
    """Slurm writes its state a few seconds after a change; what it has not written it forgets.

    A further change, of this job, makes it write once more after all that has happened.
    """
    mark = time.time()
    slurm.run("scontrol", "update", f"JobId={job}", "Comment=saved")
    state = slurm.folder / "state" / "job_state"
    wait_for(lambda: state.exists() and state.stat().st_mtime > mark, "Slurm to save its state")


def test_the_controller_dies_and_comes_back(queue: SlurmCluster, tmp_path: Path) -> None:
    """Killed with -9 while jobs run and others wait: every job runs exactly once.

    Those that run end when it is back: Slurm itself runs a job again whose end it had not saved.
    """
    log, go = queue.folder / "runs-controller.log", queue.folder / "go-controller"
    ids = [submit(queue, log, 4, go, 20) for _ in range(2)]
    loop = loop_over(queue, "easy", tmp_path)
    loop.step()
    wait_for(lambda: len(log.read_text().split()) == 2, "two jobs to run")
    ids += [submit(queue, log, 4, 1, 1) for _ in range(4)]
    wait_until_saved(queue, ids[-1])
    queue.kill("slurmctld", signal.SIGKILL)

    def come_back() -> None:
        queue.start_controller()
        go.touch()

    back = threading.Timer(3.0, come_back)
    back.start()
    try:
        finish(loop)
    finally:
        back.join()
    assert Counter(log.read_text().split()) == Counter(ids)


def test_the_loop_is_killed_and_comes_back(queue: SlurmCluster, tmp_path: Path) -> None:
    """Killed with -9 again and again: nothing is lost, nothing is started twice."""
    log = queue.folder / "runs-killed.log"
    ids = [submit(queue, log, 3, 1, 1) for _ in range(8)]
    argv = [sys.executable, "-m", "shadowtime", "live", "slurm", "--policy", "easy", "--apply",
            "--until-idle", "--state", str(tmp_path / "state.json")]  # fmt: skip
    for _ in range(2):
        seen = len(log.read_text().split())
        process = subprocess.Popen(argv, env=queue.env, stdout=subprocess.PIPE)
        wait_for(lambda: len(log.read_text().split()) > seen, "a job to start", 600)  # noqa: B023
        process.kill()
        process.communicate()
    done = subprocess.run(argv, env=queue.env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert Counter(log.read_text().split()) == Counter(ids)


def test_the_limit_of_a_suspended_job_stands_still(queue: SlurmCluster, tmp_path: Path) -> None:
    """Suspended it keeps its nodes; resumed it ends later by as long, which the loop expects."""
    log, go = queue.folder / "runs-suspended.log", queue.folder / "go-suspended"
    go.unlink(missing_ok=True)
    job = submit(queue, log, 2, go, 10)
    loop = loop_over(queue, "easy", tmp_path)
    loop.step()
    wait_for(lambda: bool(log.read_text()), "the job to run")
    queue.run("scontrol", "suspend", job)
    (held,) = loop.port.snapshot().running
    assert (field_of(queue, job, "State"), held.ours) == ("SUSPENDED", False)
    assert [host for host, _ in held.place] == ["n1", "n2"] and held.request == 600
    time.sleep(3)
    queue.run("scontrol", "resume", job)
    wait_for(lambda: field_of(queue, job, "State") == "RUNNING", "it to go on")
    (running,) = loop.port.snapshot().running
    ends = datetime.fromisoformat(field_of(queue, job, "EndTime")).timestamp()
    assert running.start == held.start and running.start + running.request == ends
    assert running.request >= 603
    go.touch()
    finish(loop)
    assert Counter(log.read_text().split()) == {job: 1}
