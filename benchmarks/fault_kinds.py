"""What the fault injector does to a cluster: each fault, and how it is over.

A fault returns what ends it and after how many seconds, or None where it is over at once.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from typing import TYPE_CHECKING

from benchmarks.fault_answers import ANSWERS, DISTURB

from shadowtime.errors import UsageError

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from benchmarks.fault_world import Job, World

Undo = tuple[float, "Callable[[], None]"] | None
GARBAGE = (
    b"",
    b"{",
    b"null",
    b"[]",
    b'{"version":1}',
    b"\xff\xfe\x00",
    b'{"version":1,"policy":7}',
)


def loop_killed(world: World, rng: random.Random) -> Undo:
    """kill -9 the loop; it is started again a moment later."""
    world.loop.end(signal.SIGKILL)
    return rng.uniform(0.2, 1.5), world.loop.start


def loop_ended(world: World, rng: random.Random) -> Undo:
    """SIGTERM, as systemctl restart does; how long the loop takes to end is noted."""
    world.slow_ends.append(world.loop.end(signal.SIGTERM))
    return rng.uniform(0.1, 0.5), world.loop.start


def state_broken(world: World, rng: random.Random) -> Undo:
    """The state file, and sometimes the one before it, are damaged at the loop's next start."""
    world.loop.end(signal.SIGKILL)
    state = world.loop.state
    names = [state, *([state.with_name(f"{state.name}.previous")] if rng.random() < 0.4 else [])]
    for path in names:
        with contextlib.suppress(OSError):  # the disk may be full
            path.write_bytes(rng.choice(GARBAGE))
    return rng.uniform(0.1, 0.5), world.loop.start


def disk_full(world: World, rng: random.Random) -> Undo:
    """The file system of the state folder is filled to the last byte."""
    ballast = world.loop.state.with_name("ballast")
    with contextlib.suppress(OSError), ballast.open("ab") as file:
        while True:
            file.write(b"x" * 4096)
            file.flush()
    return rng.uniform(2, 5), lambda: ballast.unlink(missing_ok=True)


def clock_jumps(world: World, rng: random.Random) -> Undo:
    """The loop's own clock jumps by up to an hour, and back; Slurm's does not."""
    world.loop.offset.write_text(str(rng.choice([-3600, -300, -30, 30, 300, 3600])))
    return rng.uniform(2, 5), lambda: _write(world, "0")


def _write(world: World, offset: str) -> None:
    world.loop.offset.write_text(offset)


def controller_killed(world: World, rng: random.Random) -> Undo:
    """kill -9 slurmctld; it is started again.

    Not before it has saved the jobs that were submitted: Slurm itself forgets the others, and
    gives their numbers away again.
    """
    saved = world.saved()
    if saved < world.submitted:
        raise UsageError("slurmctld has not saved its jobs yet")
    world.controller = False
    world.cluster.kill("slurmctld")
    world.unsaved.append((saved, time.time()))

    def back() -> None:
        world.cluster.start_controller()  # returns once slurmctld answers
        world.controller = True
        world.looked_away()

    return rng.uniform(0.2, 2), back


def node_killed(world: World, rng: random.Random) -> Undo:
    """kill -9 one slurmd; it is started again."""
    name = rng.choice([n for n in world.cluster.names if f"slurmd-{n}" in world.cluster.pids])
    world.cluster.kill(f"slurmd-{name}")
    killed = time.time()

    def back() -> None:
        world.cluster.start_node(name)
        world.without_daemon.append((name, killed, time.time()))

    return rng.uniform(0.5, 3), back


def drained(world: World, rng: random.Random) -> Undo:
    """One to all but one of the nodes are drained, and resumed."""
    names = rng.sample(world.cluster.names, rng.randint(1, world.cluster.nodes - 1))
    hosts = ",".join(names)
    _scontrol(world, "update", f"NodeName={hosts}", "State=DRAIN", "Reason=fault")
    return rng.uniform(2, 6), lambda: _scontrol(
        world, "update", f"NodeName={hosts}", "State=RESUME"
    )


def cancelled(world: World, rng: random.Random) -> Undo:
    """scancel of a waiting or running job."""
    job = _any_job(world, rng)
    if job is not None:
        job.cancelled = True
        world.cluster.run("scancel", job.id, check=False)
    return None


def time_limit_changed(world: World, rng: random.Random) -> Undo:
    """Another time limit for a waiting job."""
    job = _any_job(world, rng)
    if job is not None:
        _scontrol(world, "update", f"JobId={job.id}", f"TimeLimit={rng.choice([1, 5, 30])}")
    return None


def node_list_changed(world: World, rng: random.Random) -> Undo:
    """A waiting job at the gate is tied to as many nodes as it needs by an operator."""
    found = world.tied(rng, world.pending())
    if found is not None:
        job, job.only = found
        _scontrol(world, "update", f"JobId={job.id}", f"ReqNodeList={','.join(job.only)}")
    return None


def partition_limit(world: World, rng: random.Random) -> Undo:
    """The partitions' longest time limit falls below that of every job, and is lifted again."""
    world.limited = True
    _on_partitions(world, lambda limit: "MaxTime=00:00:30")
    return rng.uniform(2, 5), lambda: _lift(world, lambda limit: f"MaxTime={limit}")


def partition_down(world: World, rng: random.Random) -> Undo:
    """The partitions are closed, and opened again."""
    world.limited = True
    _on_partitions(world, lambda limit: "State=DOWN")
    return rng.uniform(1, 4), lambda: _lift(world, lambda limit: "State=UP")


def _lift(world: World, setting: Callable[[str], str]) -> None:
    _on_partitions(world, setting)
    world.limited = False


def _on_partitions(world: World, setting: Callable[[str], str]) -> None:
    for name, limit in world.partitions.items():
        _scontrol(world, "update", f"PartitionName={name}", setting(limit))


def infeasible(world: World, rng: random.Random) -> Undo:
    """A job that fits nowhere, or that the loop cannot model; Slurm itself refuses some."""
    everything = ",".join(world.cluster.names)
    first = world.cluster.names[0]
    kinds = [
        ((f"--exclude={everything}",), 1, False),
        (("--constraint=big|small",), 1, False),
        ((), world.cluster.nodes + 1, True),
        ((f"--nodelist={first}", f"--exclude={first}"), 1, True),
        (("--constraint=big&small",), 1, False),
        (("--begin=now+1hour",), 1, False),
    ]
    rng.shuffle(kinds)
    for options, width, whole in kinds:
        odd = " ".join(options) or f"{width} nodes"
        if world.submit(*options, "--time=5", width=width, whole=whole, seconds=1, odd=odd):
            return None
    raise UsageError("Slurm takes no job now")


FAULTS = {
    "loop killed": loop_killed,
    "loop ended": loop_ended,
    "state broken": state_broken,
    "disk full": disk_full,
    "clock jump": clock_jumps,
    "slurmctld killed": controller_killed,
    "slurmd killed": node_killed,
    "nodes drained": drained,
    "job cancelled": cancelled,
    "time limit": time_limit_changed,
    "node list": node_list_changed,
    "partition limit": partition_limit,
    "partition down": partition_down,
    "infeasible job": infeasible,
}
FAULTS |= ANSWERS
ON_THE_LOOP = {"loop killed", "loop ended", "state broken", "loop stopped"}
"""Faults that end or stop the loop: one at a time."""
NEED_CONTROLLER = (
    FAULTS.keys()
    - ON_THE_LOOP
    - DISTURB
    - {"disk full", "clock jump", "slurmd killed", "epilog hangs"}
)


def _any_job(world: World, rng: random.Random) -> Job | None:
    known = set(world.cluster.run("squeue", "-h", "-a", "-r", "-o", "%i").split())
    found = [job for job in world.jobs.values() if job.id in known and not job.odd]
    return rng.choice(found) if found else None


def _scontrol(world: World, *words: str) -> None:
    with contextlib.suppress(UsageError, subprocess.TimeoutExpired):
        world.cluster.run("scontrol", *words, check=False)
