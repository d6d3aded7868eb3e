"""Faults on a real HTCondor pool under the live loop: what is lost, doubled or stuck.

    python benchmarks/condor_faults.py --policy easy --jobs 200 --faults 100
    python benchmarks/condor_faults.py --plain --jobs 20 --faults 10

The pool is the one of the tests: four nodes of eight cpus in partitionable slots, on loopback. The
loop is a process of its own. Killed or stopped are the loop, schedd, collector, negotiator and
startds; jobs are removed, held, changed or tied to a node by their owner, some fit nowhere or carry
forged texts; the loop's disk fills, its state breaks, its clock jumps. With --plain the same
happens to a pool whose negotiator schedules by itself. Judged from files that the jobs write, as
fault_injection.py does, whose time line and faults of the loop these are.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from benchmarks.fault_answers import loop_stopped  # noqa: E402
from benchmarks.fault_injection import (  # noqa: E402
    AT_MOST,
    EVERY,
    PATIENCE,
    STALLED,
    Timeline,
    fault,
    small_disk,
)
from benchmarks.fault_kinds import (  # noqa: E402
    clock_jumps,
    disk_full,
    loop_ended,
    loop_killed,
    state_broken,
)
from benchmarks.fault_loop import LoopProcess  # noqa: E402

from condor_pool import CPUS, MEMORY, Pool, running_pool  # noqa: E402
from shadowtime.errors import UsageError  # noqa: E402
from shadowtime.live.condor.gate import PLACE  # noqa: E402

if TYPE_CHECKING:
    from benchmarks.fault_kinds import Undo

NODES = 4
SCRIPT = """mark() { echo "$1 $(date +%s.%N)" >>"$OUT"/"$NAME"; }
OUT=$1 NAME=$2
mark begin
sleep "$3" && mark end
"""
HOSTILE = ('"x\\nJobStatus = 1"', '"\\u2028\\x1f\\x0c"', '"x\\" + ClusterId + \\""')
LOOKS = 1.0
"""Seconds between two looks at the pool."""
IDLE, REMOVED, HELD = 1, 3, 5


@dataclass
class Job:
    """A job as it was submitted, and what was done to it since."""

    id: str
    cpus: int
    memory: int
    odd: str = ""
    only: str = ""
    """The node that its owner has tied it to."""
    cancelled: bool = False
    held: bool = False
    """Held by its owner at the moment."""


@dataclass
class CondorWorld:
    """Pool, loop, jobs, and how long feasible ones have waited."""

    pool: Pool
    loop: LoopProcess
    out: Path
    kinds: dict[str, Any]
    need_controller: frozenset[str]
    on_controller: frozenset[str]
    """Faults of the pool's daemons: one at a time."""
    jobs: dict[str, Job] = field(default_factory=dict)
    faults: list[tuple[float, str]] = field(default_factory=list)
    going_on: set[str] = field(default_factory=set)
    controller: bool = True
    """The schedd and the collector can be asked."""
    slow_ends: list[float] = field(default_factory=list)
    waits: dict[str, float] = field(default_factory=dict)
    free_then: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)
    """What was free when a job had waited too long."""
    places: dict[str, str] = field(default_factory=dict)
    """The nodes of jobs that were released and have not begun."""
    _since: dict[str, float] = field(default_factory=dict)
    _looked: float = field(default_factory=time.monotonic)

    def submit(self, rng: random.Random, *, odd: str = "", **more: str) -> bool:
        """Submit a job that marks its begins and ends; False while the schedd does not answer."""
        import htcondor2

        cpus, memory = rng.choice([1, 1, 2, 4, 8]), rng.choice([128, 512, 2048])
        script = self.out.parent / "job.sh"
        ad = {
            "executable": "/bin/sh",
            "arguments": f"{script} {self.out} $(Cluster).$(Process) {rng.uniform(1, 4):.1f}",
            "request_cpus": str(cpus), "request_memory": str(memory), "request_disk": "1",
            "transfer_executable": "false", "should_transfer_files": "no",
            "initialdir": str(self.out), "log": str(self.out.parent / "log"),
            "+MaxRuntime": str(rng.choice([30, 60, 300])),
        }  # fmt: skip
        if self.loop.policy:
            ad |= {"hold": "true", "+ShadowtimeManaged": "true"}
        try:
            made = self.pool.schedd().submit(htcondor2.Submit(ad | more))
        except htcondor2.HTCondorException:
            return False
        name = f"{made.cluster()}.0"
        self.jobs[name] = Job(name, cpus, memory, odd)
        return True

    def marks(self, job: str) -> list[tuple[str, float]]:
        """The begins and ends of a job's runs, as it wrote them."""
        with contextlib.suppress(OSError):
            lines = (self.out / job).read_text().splitlines()
            return [(line.split()[0], float(line.split()[1])) for line in lines]
        return []

    def ended(self, job: str) -> bool:
        """Whether a run of it ended."""
        return any(what == "end" for what, _ in self.marks(job))

    def unfinished(self) -> list[Job]:
        """Ordinary jobs that were not removed and have not ended."""
        ordinary = (job for job in self.jobs.values() if not job.odd and not job.cancelled)
        return [job for job in ordinary if not self.ended(job.id)]

    def queue(self) -> dict[str, int]:
        """JobStatus of every job in the queue; raises where the schedd does not answer."""
        wanted = ["ClusterId", "ProcId", "JobStatus", PLACE]
        found = self.pool.schedd().query(projection=wanted)
        self.places = {
            f"{ad['ClusterId']}.{ad['ProcId']}": str(ad[PLACE]).split("@")[1]
            for ad in found
            if int(ad["JobStatus"]) == IDLE and str(ad.get(PLACE, "")).count("@") > 1
        }
        return {f"{ad['ClusterId']}.{ad['ProcId']}": int(ad["JobStatus"]) for ad in found}

    def free(self) -> dict[str, tuple[int, int]]:
        """Free cpus and MB by node, without what is released to jobs that HTCondor has to start."""
        import htcondor2

        collector = htcondor2.Collector(f"127.0.0.1:{self.pool.port}")
        wanted = ["Name", "Cpus", "Memory", "PartitionableSlot"]
        found = collector.query(htcondor2.AdType.Startd, projection=wanted)
        whole = (ad for ad in found if ad.get("PartitionableSlot"))
        left = {str(ad["Name"]).split("@")[1]: [int(ad["Cpus"]), int(ad["Memory"])] for ad in whole}
        for name, node in self.places.items():
            if name in self.jobs and node in left:
                left[node][0] -= self.jobs[name].cpus
                left[node][1] -= self.jobs[name].memory
        return {node: (cpus, memory) for node, (cpus, memory) in left.items()}

    def sample(self) -> None:
        """How long each job has fitted on a node without a break, while no fault is going on."""
        import htcondor2

        now = time.monotonic()
        if self.going_on or now - self._looked < LOOKS:
            return
        passed, self._looked = min(now - self._looked, 2 * LOOKS), now
        try:
            waits, free = self.queue(), self.free()
        except htcondor2.HTCondorException:
            return
        before, self._since = self._since, {}
        for job in self.jobs.values():
            waiting = waits.get(job.id) in (IDLE, HELD) and not job.odd and not job.held
            waiting = waiting and job.id not in self.places
            if waiting and any(
                job.cpus <= cpus and job.memory <= memory and job.only in ("", name)
                for name, (cpus, memory) in free.items()
            ):
                self._since[job.id] = before.get(job.id, 0.0) + passed
                self.waits[job.id] = max(self.waits.get(job.id, 0.0), self._since[job.id])
                if self._since[job.id] > STALLED:
                    self.free_then[job.id] = free

    def any_waiting(self, rng: random.Random) -> Job | None:
        """An ordinary job that waits."""
        known = self.queue()
        found = [
            job for job in self.jobs.values()
            if known.get(job.id) in (IDLE, HELD) and not job.odd and not job.held
        ]  # fmt: skip
        return rng.choice(found) if found else None


def signalled(
    program: str, sign: signal.Signals, *, asked: bool, seconds: tuple[float, float]
) -> Any:
    """A fault that sends a signal to a daemon of the pool; the master restarts a killed one."""

    def inject(world: CondorWorld, rng: random.Random) -> Undo:
        pids = world.pool.pids(program)
        if not pids:
            raise UsageError(f"no {program} runs at the moment")
        pid = rng.choice(pids)
        try:
            os.kill(pid, sign)
        except ProcessLookupError:
            raise UsageError(f"this {program} has just ended") from None
        if asked:
            world.controller = False

        def back() -> None:
            if sign == signal.SIGSTOP:
                for one in {pid, *world.pool.pids(program)}:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(one, signal.SIGCONT)
            else:
                world.pool.wait(world.pool.is_up, 120, "the pool to be up again")
            world.controller = True

        return rng.uniform(*seconds), back

    return inject


def job_removed(world: CondorWorld, rng: random.Random) -> Undo:
    """condor_rm by the owner."""
    job = world.any_waiting(rng)
    if job is not None:
        job.cancelled = True
        world.pool.schedd().act(world.pool.use().JobAction.Remove, [job.id])
    return None


def job_held(world: CondorWorld, rng: random.Random) -> Undo:
    """condor_hold by the owner, and later the release."""
    job = world.any_waiting(rng)
    if job is None:
        return None
    action = world.pool.use().JobAction
    job.held = True
    world.pool.schedd().act(action.Hold, [job.id], reason=("wait for my data", 0))

    def back() -> None:
        world.pool.schedd().act(action.Release, [job.id])
        job.held = False

    return rng.uniform(3, 8), back


def job_changed(world: CondorWorld, rng: random.Random) -> Undo:
    """Another time limit, or more cpus."""
    job = world.any_waiting(rng)
    if job is not None and rng.random() < 0.5:
        world.pool.schedd().edit([job.id], "MaxRuntime", str(rng.choice([20, 90, 600])))
    elif job is not None:
        job.cpus = rng.randint(1, CPUS)
        world.pool.schedd().edit([job.id], "RequestCpus", str(job.cpus))
    return None


def infeasible(world: CondorWorld, rng: random.Random) -> Undo:
    """A job that fits nowhere."""
    more = rng.choice([{"request_cpus": "64"}, {"request_memory": str(9 * MEMORY)},
                       {"requirements": "false"}])  # fmt: skip
    if not world.submit(rng, odd=str(more), **more):
        raise UsageError("the schedd takes no job now")
    return None


def hostile(world: CondorWorld, rng: random.Random) -> Undo:
    """A job with forged texts in its ad, and one with a wrong kind of value."""
    more = {"+Text": rng.choice(HOSTILE), "+ConcurrencyLimits": rng.choice(HOSTILE)}
    if not world.submit(rng, odd="hostile", **more):
        raise UsageError("the schedd takes no job now")
    return None


KILL, STOP = signal.SIGKILL, signal.SIGSTOP
ON_THE_POOL = {
    "schedd killed": signalled("condor_schedd", KILL, asked=True, seconds=(1, 2)),
    "schedd stopped": signalled("condor_schedd", STOP, asked=True, seconds=(3, 20)),
    "collector killed": signalled("condor_collector", KILL, asked=True, seconds=(1, 2)),
    "collector stopped": signalled("condor_collector", STOP, asked=True, seconds=(3, 10)),
    "negotiator killed": signalled("condor_negotiator", KILL, asked=False, seconds=(1, 2)),
    "startd killed": signalled("condor_startd", KILL, asked=False, seconds=(1, 2)),
    "startd stopped": signalled("condor_startd", STOP, asked=False, seconds=(3, 10)),
}
ON_JOBS = {
    "job removed": job_removed,
    "job held": job_held,
    "job changed": job_changed,
    "infeasible job": infeasible,
    "hostile job": hostile,
}
KINDS: dict[str, Any] = {
    "loop killed": loop_killed,
    "loop ended": loop_ended,
    "loop stopped": loop_stopped,
    "state broken": state_broken,
    "disk full": disk_full,
    "clock jump": clock_jumps,
    **ON_THE_POOL,
    **ON_JOBS,
}


def main(words: list[str] | None = None) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description="Faults on a real HTCondor under the live loop.")
    parser.add_argument("--policy", default="easy")
    parser.add_argument("--plain", action="store_true", help="no loop: the negotiator schedules")
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--faults", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pace", type=float, default=1.2, help="seconds between two faults")
    parser.add_argument("--keep", metavar="DIR", help="copy the loop's log and the marks there")
    chosen = parser.parse_args(words)
    found = inject(
        "" if chosen.plain else chosen.policy,
        jobs=chosen.jobs, faults=chosen.faults, seed=chosen.seed, pace=chosen.pace,
        keep=Path(chosen.keep) if chosen.keep else None,
    )  # fmt: skip
    print(json.dumps(found, indent=1))
    return 1 if any(found[name] for name in ("lost", "doubled", "stuck")) else 0


def inject(
    policy: str, *, jobs: int, faults: int, seed: int, pace: float, keep: Path | None
) -> dict[str, Any]:
    """One campaign and its figures."""
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-condor-faults-"))
    folder.chmod(0o755)
    (folder / "out").mkdir()
    (folder / "out").chmod(0o1777)
    (folder / "job.sh").write_text(SCRIPT)
    (folder / "log").touch()
    (folder / "log").chmod(0o666)
    try:
        with small_disk(folder / "state") as disk, running_pool(nodes=NODES) as pool:
            loop = LoopProcess(
                policy=policy, state=folder / "state" / "live.json", offset=folder / "offset",
                log=folder / "loop.log", backend="condor",
                env=dict(os.environ, CONDOR_CONFIG=str(pool.config)),
            )  # fmt: skip
            loop.offset.write_text("0")
            loop.start()
            daemons = frozenset(ON_THE_POOL)
            world = CondorWorld(
                pool, loop, folder / "out", KINDS, daemons | frozenset(ON_JOBS), daemons
            )
            try:
                found = campaign(
                    world, random.Random(seed), jobs=jobs, faults=faults, pace=pace, disk=disk
                )
                return {"policy": policy or "HTCondor itself", "slurm": "", "seed": seed} | found
            finally:
                if loop.process is not None:
                    loop.end(signal.SIGKILL)
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    shutil.copytree(folder / "out", keep / "marks", dirs_exist_ok=True)
                    with contextlib.suppress(OSError):
                        shutil.copy(loop.log, keep / "loop.log")
                    shutil.copytree(pool.folder / "log", keep / "log", dirs_exist_ok=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def campaign(
    world: CondorWorld, rng: random.Random, *, jobs: int, faults: int, pace: float, disk: bool
) -> dict[str, Any]:
    """Jobs and faults at random moments, then the end of all jobs."""
    world.submit(rng)
    first = next(iter(world.jobs))
    world.pool.wait(lambda: world.marks(first), 1800, "the first job to begin")
    line = Timeline()
    kinds = [kind for kind in world.kinds if disk or kind != "disk full"]
    drawn = [kinds[at % len(kinds)] for at in range(faults)]
    rng.shuffle(drawn)
    length = max(faults, 1) * pace
    for _ in range(jobs - 1):
        line.at(rng.uniform(0, length * 0.9), partial(submit, world, rng, line))
    for kind in drawn:
        line.at(rng.uniform(0, length), partial(fault, world, rng, kind, line))

    def meanwhile() -> None:
        world.sample()
        if not world.going_on & {"loop killed", "loop ended", "state broken", "loop stopped"}:
            world.loop.keep_up()

    line.run(meanwhile)
    wait_for_the_end(world, meanwhile)
    return report(world, disk=disk, seconds=line.now)


def submit(world: CondorWorld, rng: random.Random, line: Timeline) -> None:
    """An ordinary job; users try again while the schedd does not answer."""
    if not world.controller or not world.submit(rng):
        line.at(line.now + 0.5, partial(submit, world, rng, line))


def wait_for_the_end(world: CondorWorld, meanwhile: Any) -> None:
    """Until every ordinary job has ended, or nothing has happened for a long time."""
    last, since = -1, time.monotonic()
    began = since
    while world.unfinished() and time.monotonic() - since < PATIENCE:
        if time.monotonic() - began > AT_MOST:
            break
        meanwhile()
        events = sum(len(world.marks(job)) for job in world.jobs)
        if events != last or not world.loop.up():
            last, since = events, time.monotonic()
        time.sleep(EVERY)


def report(world: CondorWorld, *, disk: bool, seconds: float) -> dict[str, Any]:
    """The figures, under the names of fault_injection.py."""
    known = world.queue()
    left = world.unfinished()
    doubled = [job for job in world.jobs if "end" in [what for what, _ in world.marks(job)][:-1]]
    return {
        "jobs": len(world.jobs),
        "faults": len(world.faults),
        "faults_by_kind": dict(sorted(Counter(kind for _, kind in world.faults).items())),
        "left_out": [] if disk else ["disk full: no file system can be mounted here"],
        "lost": sum(known.get(job.id, REMOVED) == REMOVED for job in left),
        "doubled": len(doubled),
        "doubled_as_preempted_while_ending": 0,
        "stuck": sum(known.get(job.id, REMOVED) != REMOVED for job in left),
        "feasible_jobs_stalled": {
            job: round(wait, 1) for job, wait in world.waits.items() if wait > STALLED
        },
        "longest_feasible_wait_s": round(max(world.waits.values(), default=0.0), 1),
        "longest_stall_s": "-",
        "excused": {
            "it fits nowhere, is not ordinary or hostile": sum(
                bool(job.odd) for job in world.jobs.values()
            ),
            "cancelled on purpose": sum(job.cancelled for job in world.jobs.values()),
        },
        "sacct": {},
        "loop_starts": world.loop.starts,
        "loop_ended_by_itself": world.loop.ended,
        "slowest_end_after_sigterm_s": round(max(world.slow_ends, default=0.0), 2),
        "nodes_put_back": {}, "jobs_put_back": [], "jobs_gone": [],
        "seconds": round(seconds),
        "details": {
            "left": {job.id: known.get(job.id, 0) for job in left},
            "doubled": {job: world.marks(job) for job in doubled},
            "free": world.free_then,
            "daemons": {
                program: {pid: Path(f"/proc/{pid}/stat").read_text().split()[2] for pid in found}
                for program in ("condor_startd", "condor_schedd", "condor_collector")
                for found in [world.pool.pids(program)]
            },
        },
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
