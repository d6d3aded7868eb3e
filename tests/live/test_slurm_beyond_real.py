"""On a real Slurm: what the loop cannot place is Slurm's or set aside, and stops no other job."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import require
from live.conftest import put_up_the_gate
from live.test_slurm_real import (
    at_the_gate,
    completed,
    field_of,
    finish,
    loop_over,
    runner,
    starts_of,
    tidied,
)
from shadowtime.cli import run
from shadowtime.errors import UsageError
from shadowtime.live.loop import Loop
from shadowtime.live.port import Start
from shadowtime.live.slurm import drive
from shadowtime.testing.slurm import SlurmCluster, slurm_cluster, wait_for
from shadowtime.testing.slurm import missing_programs as missing_of_slurm
from shadowtime.testing.slurm_accounting import missing_programs

POLICIES = ("fcfs", "easy", "easy-sjbf", "easy++", "pv-easy")


@pytest.fixture(scope="module")
def mixed() -> Iterator[SlurmCluster]:
    """Four nodes in the gated partition, two further ones in another; licences; limits; memory."""
    missing = missing_of_slurm() + missing_programs()
    require("slurmdbd", not missing, f"Slurm's accounting is not here ({', '.join(missing)})")
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-beyond-"))
    partitions = [
        "PartitionName=batch Nodes=n[1-4] Default=YES MaxTime=INFINITE DefaultTime=60 State=UP",
        "PartitionName=other Nodes=n[3-6] MaxTime=INFINITE DefaultTime=60 State=UP",
    ]
    settings = [
        "Licenses=matlab:1",
        "AccountingStorageEnforce=limits,qos",
        "SelectTypeParameters=CR_Core_Memory",
        "DefMemPerCPU=100",
    ]
    try:
        with slurm_cluster(
            folder, prepare=put_up_the_gate, nodes=6, cpus=4, memory=8000, accounting=True,
            partitions=partitions, settings=settings,
        ) as cluster:  # fmt: skip
            for line in (
                "add account project", "add user root account=project",
                "add qos tight MaxJobsPerUser=1", "modify user root set qos+=tight,normal",
            ):  # fmt: skip
                cluster.run("sacctmgr", "--immediate", *line.split(), check=False)
            for name, feature in (("n1", "big"), ("n2", "small")):
                cluster.run(
                    "scontrol", "update", f"NodeName={name}", f"AvailableFeatures={feature}",
                    f"ActiveFeatures={feature}",
                )  # fmt: skip
            yield cluster
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def site(mixed: SlurmCluster) -> Iterator[SlurmCluster]:
    mixed.clear()
    yield mixed
    mixed.clear()


def turn(loop: Loop, until: object, seconds: float = 600.0) -> None:
    """Let the loop run until a condition holds; its first poll may have to compile the pass."""
    last = time.monotonic() + seconds
    loop.run(stopped=lambda: until() or time.monotonic() > last)
    listed = loop.port.run(("squeue", "-a", "-o", "%i %T %r %Q %R %n %m %C")).out
    assert until(), f"it did not come to that in time: {loop.kept.aside} {listed}"


def done(slurm: SlurmCluster, *jobs: str) -> bool:
    return len(completed(slurm, list(jobs))) == len(jobs)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_job_that_fits_nowhere_stops_no_other(
    site: SlurmCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    policy: str,
) -> None:
    """A drained node and a job of all nodes; every node excluded; and `status` shows why."""
    site.run("scontrol", "update", "NodeName=n4", "State=DRAIN", "Reason=test")
    wide = site.sbatch("--nodes=4", "--time=1")
    barred = site.sbatch("--ntasks=1", "--time=1")
    site.run("scontrol", "update", f"JobId={barred}", "ExcNodeList=n[1-4]")
    fits = [site.sbatch("--ntasks=4", "--time=1"), site.sbatch("--nodes=3", "--time=1")]
    loop = loop_over(site, policy, tmp_path)
    turn(loop, lambda: done(site, *fits))
    assert field_of(site, wide, "State") == field_of(site, barred, "State") == "PENDING"
    monkeypatch.setenv("SLURM_CONF", str(site.conf))
    state = ["--shape", "pool", "--state", str(tmp_path / "state.json"), "--json"]
    assert run(["live", "slurm", "status", *state]) == 0
    left = json.loads(capsys.readouterr().out)["ineligible"]
    assert "could not hold it" in left[wide] and "no usable host" in left[barred]
    site.run("scontrol", "update", "NodeName=n4", "State=RESUME")
    turn(loop, lambda: done(site, wide))


def test_one_of_two_features(site: SlurmCluster, tmp_path: Path) -> None:
    """big|small is a node with either."""
    jobs = [site.sbatch("--ntasks=4", "--constraint=big|small", "--time=1") for _ in range(2)]
    finish(loop_over(site, "easy", tmp_path))
    tidied(site)
    assert {nodes for _, nodes, _ in completed(site, jobs)} == {"n1", "n2"}


def test_beyond_the_model_is_handed_to_slurm(site: SlurmCluster, tmp_path: Path) -> None:
    """Licences, several partitions, a reservation, uncounted resources, odd constraints."""
    now = ("StartTime=now", "Duration=10", "Users=root", "Nodes=n2")
    site.run("scontrol", "create", "reservation", "ReservationName=ours", *now)
    try:
        asked = (
            ("--licenses=matlab:1",),
            ("--partition=other,batch",),
            ("--reservation=ours",),
            ("--gres=membw:100",),
            ("--constraint=[big*1&small*1]", "--nodes=2"),
            ("--nodelist=n1", "--nodes=2"),
        )
        jobs = [site.sbatch("--ntasks=2", "--time=1", *options) for options in asked]
        plain = site.sbatch("--ntasks=4", "--time=1")
        loop = loop_over(site, "easy", tmp_path)
        reported: list[str] = []
        loop.tell = reported.append
        loop.step()
        assert {line.split()[1] for line in reported if line.startswith("handed")} == set(jobs)
        turn(loop, lambda: done(site, plain, *(set(jobs) - {jobs[4]})))
        site.run("scancel", "--reservation=ours", check=False)
    finally:
        wait_for(
            lambda: "ours" not in site.run("squeue", "-h", "-a", "-O", "Reservation:20"), "its end"
        )
        site.run("scontrol", "delete", "ReservationName=ours")
    turn(loop, lambda: done(site, *jobs))


def test_limits_that_slurm_enforces(site: SlurmCluster, tmp_path: Path) -> None:
    """Of three jobs that may run one at a time the others are Slurm's; the room is not wasted."""
    tight = [
        site.sbatch("--qos=tight", "--nodes=1", "--exclusive", "--time=1", script="sleep 4")
        for _ in range(3)
    ]
    wide = site.sbatch("--nodes=3", "--exclusive", "--time=1", script="sleep 1")
    loop = loop_over(site, "easy", tmp_path)
    turn(loop, lambda: done(site, wide, *tight))
    starts = starts_of(site, [wide, *tight])
    last = max(starts[job] for job in tight)
    assert starts[wide] < last, "it ran beside one of them, not after all"


def test_a_start_taken_back_leaves_the_users_nodes(site: SlurmCluster, tmp_path: Path) -> None:
    """Also by a loop that was restarted in between."""
    job = site.sbatch("--ntasks=1", "--nodelist=n1", "--time=1")
    loop = loop_over(site, "easy", tmp_path)
    state = loop.port.snapshot()
    loop._act((Start(job=job, place=(("n1", 1),)),), state, loop.step().decided)
    wait_for(lambda: field_of(site, job, "State") != "PENDING", "its start")
    finish(loop)

    other = site.sbatch("--nodes=2", "--exclusive", "--nodelist=n[1-2]", "--time=1")
    blocker = site.sbatch("--partition=other", "--nodelist=n3", "--ntasks=4", script="sleep 1800")
    wait_for(lambda: field_of(site, blocker, "State") == "RUNNING", "the blocker")
    loop = loop_over(site, "easy", tmp_path)
    loop.port.snapshot()
    start = Start(job=other, place=(("n3", 4), ("n4", 4)))  # where it cannot start
    loop.port.prepare([start])
    loop._keep(port=loop.port.memory())
    loop.port.apply([start])
    assert field_of(site, other, "ReqNodes") == "n[3-4]"
    again = loop_over(site, "easy", tmp_path)
    again.port.known = lambda job: True
    turn(again, lambda: field_of(site, other, "ReqNodes") == "n[1-2]")
    turn(again, lambda: done(site, other))


def test_memory_by_node_and_by_processor(site: SlurmCluster, tmp_path: Path) -> None:
    """5,000 MB on each node, however the tasks lie; 1,000 MB a processor."""
    by_node = site.sbatch("--nodes=2", "--ntasks=3", "--mem=5000", "--time=30", script="sleep 1800")
    by_cpu = site.sbatch("--ntasks=3", "--nodes=1", "--mem-per-cpu=1200", "--time=1")
    beside = site.sbatch("--ntasks=1", "--nodelist=n2", "--mem=4000", "--time=1")
    loop = loop_over(site, "easy", tmp_path)
    waiting = {job.id: job for job in loop.port.snapshot().waiting}
    mb = 1024
    assert (waiting[by_node].need, waiting[by_node].each) == ((3, 10000 * mb), (0, 5000 * mb))
    assert (waiting[by_cpu].need, waiting[by_cpu].each) == ((3, 3600 * mb), ())
    turn(loop, lambda: field_of(site, by_node, "State") == "RUNNING" and done(site, by_cpu))
    (held,) = (run for run in loop.port.snapshot().running if run.id == by_node)
    assert {host: amounts[1] for host, amounts in held.held} == {"n1": 5000 * mb, "n2": 5000 * mb}
    assert at_the_gate(site, beside), "n2 has 3,000 MB left"


def test_a_node_that_still_cleans_up_is_not_free(site: SlurmCluster, tmp_path: Path) -> None:
    """A slow epilog keeps the node: no job is sent there meanwhile."""
    flag = site.folder / "epilog.wait"
    epilog = site.folder / "slow-epilog.sh"
    epilog.write_text(f"#!/bin/sh\nwhile [ -e {flag} ]; do sleep 0.1; done\n")
    epilog.chmod(0o755)
    text = site.conf.read_text()
    site.conf.write_text(
        "\n".join(line for line in text.splitlines() if not line.startswith("Epilog="))
        + f"\nEpilog={epilog}\n"
    )
    site.run("scontrol", "reconfigure")
    try:
        flag.touch()
        first = site.sbatch("--nodelist=n1", "--ntasks=4", "--time=1", script="true")
        loop = loop_over(site, "easy", tmp_path)
        turn(loop, lambda: field_of(site, first, "State") == "COMPLETING")
        wait_for(lambda: loop.port.snapshot().running != (), "the epilog to last too long")
        (left,) = loop.port.snapshot().running
        assert (left.place, left.ours, left.settled) == ((("n1", 4),), False, False)
        second = site.sbatch("--nodelist=n1", "--ntasks=4", "--time=1")
        third = site.sbatch("--ntasks=16", "--time=1")
        loop.step()
        assert at_the_gate(site, second) and at_the_gate(site, third)
        flag.unlink()
        turn(loop, lambda: done(site, second))
    finally:
        flag.unlink(missing_ok=True)
        site.conf.write_text(text)
        site.run("scontrol", "reconfigure")


def test_a_line_break_in_a_name_hides_nothing(site: SlurmCluster, tmp_path: Path) -> None:
    """Neither how many nodes it wants nor which it excludes."""
    job = site.sbatch("--job-name=a\nb", "--nodes=2", "--ntasks=2", "--exclude=n1", "--time=1")
    (found,) = loop_over(site, "easy", tmp_path).port.snapshot().waiting
    assert (found.id, found.nodes, found.only) == (job, 2, ("n2", "n3", "n4"))


AS_NOBODY = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")


def move(slurm: SlurmCluster, job: str, partition: str, *how: str) -> None:
    """Into another partition: Slurm after 22.05 refuses that at random if it has no slurmdbd."""

    def moved() -> bool:
        try:
            slurm.run(*how, "scontrol", "update", f"JobId={job}", f"Partition={partition}")
        except UsageError as error:
            if "temporarily unavailable" not in str(error):
                raise
            return False
        return True

    wait_for(moved, "Slurm to accept it")


def moved_in(slurm: SlurmCluster, *options: str) -> str:
    """A user's job of another partition that was moved into the gated one.

    Where Slurm refuses the change at random it may have moved the job all the same, without the
    begin time that the gate gave it: the job starts, and another one is tried.
    """
    for _ in range(10):
        job = slurm.sbatch("--partition=aside", *options, as_user="nobody")
        try:
            move(slurm, job, "batch", *AS_NOBODY)
        except UsageError as error:
            assert "no longer pending" in str(error)
            continue
        return job
    raise AssertionError("Slurm accepted none of ten changes")


def test_no_job_passes_the_gate(
    queue: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user's change of partition leads to the gate; what is past it is brought back by the loop.

    What an operator lets through stays Slurm's.
    """
    if os.geteuid() != 0:
        pytest.skip("needs root to submit as another user")
    line = "PartitionName=aside Nodes=n[1-8] MaxTime=INFINITE DefaultTime=60 State=DOWN"
    queue.run("scontrol", "create", *line.split())
    try:
        here = (f"--chdir={queue.folder}", "--ntasks=1", "--time=1")
        out = queue.sbatch(*here, as_user="nobody")
        loop = loop_over(queue, "easy", tmp_path)
        loop.port.snapshot()
        mine = moved_in(queue, *here)
        move(queue, out, "aside", *AS_NOBODY)
        assert at_the_gate(queue, mine)
        busy = queue.sbatch("--partition=aside", "--ntasks=1", "--time=30", script="sleep 1800")
        queue.run("scontrol", "update", "PartitionName=aside", "State=UP")
        wait_for(lambda: field_of(queue, busy, "State") == "RUNNING", "the other partition")
        past = queue.sbatch("--partition=aside", *here, "--exclusive", "--nodes=8")
        move(queue, past, "batch")
        let_go = queue.sbatch("--nodes=8", "--exclusive", "--time=1")
        for _ in range(5):  # Slurm may refuse the loop's change too, which then repeats it
            loop.step()
            if at_the_gate(queue, past) and not at_the_gate(queue, out):
                break
        assert at_the_gate(queue, past) and not at_the_gate(queue, out)
        queue.run("scontrol", "update", f"JobId={let_go}", "StartTime=now")
        for _ in range(3):
            loop.step()
        assert not at_the_gate(queue, let_go)
        assert str(loop.port.sorted.ineligible[let_go]) == "Slurm schedules it"
    finally:
        queue.clear()
        queue.run("scontrol", "delete", "PartitionName=aside")


def live(slurm: SlurmCluster, state: Path, *more: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "shadowtime", "live", "slurm", "--policy", "easy", "--apply"]
    return subprocess.Popen(
        [*argv, "--state", str(state), *more],
        env=slurm.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_a_second_loop_is_refused_and_a_signal_ends_the_first(
    queue: SlurmCluster, tmp_path: Path
) -> None:
    """Whatever its state file; and the first exits with a summary."""
    first = live(queue, tmp_path / "one.json")
    try:
        assert first.stdout is not None
        assert "acting" in first.stdout.readline()
        second = live(queue, tmp_path / "two.json")
        _, err = second.communicate(timeout=300)
        assert second.returncode == 2
        assert "another loop already drives partition batch" in err
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=60)
        assert first.returncode in (0, -signal.SIGTERM)
    finally:
        first.kill()
        first.communicate()


def test_the_lock_distinguishes_clusters_of_one_name(queue: SlurmCluster) -> None:
    """By where the controller listens."""
    listed = drive.identity_of(runner(queue))
    assert f"SlurmctldPort={queue.port}" in listed and "ClusterName=" in listed
