"""Faults on a real Slurm under the live loop: what is lost, doubled or stuck, and for how long.

    python benchmarks/fault_injection.py --policy easy --jobs 200 --faults 150 --seed 1
    python benchmarks/fault_injection.py --policy pv-easy --jobs 20 --faults 15
    python benchmarks/fault_injection.py --site --jobs 200 --faults 150

Starts a private Slurm on loopback with the gate and `shadowtime live slurm --apply` as a process
of its own, submits jobs and injects faults at random moments, drawn from the seed: the loop killed
and restarted, slurmctld and slurmd killed and restarted, nodes drained, jobs cancelled, limits
changed, jobs that fit nowhere, a full disk, a broken state file, jumps of the loop's clock (a
wrapper adds seconds to the time that the loop reads; Slurm's clock stays), answers that are cut off
or garbled, commands that fail or take up to half a minute, the loop or slurmctld stopped, a node
taken out of its partition, epilogs that hang, jobs with forged records in their texts. With --plain
the same happens to a Slurm without gate and loop. Afterwards everything
is put back and the jobs have to end. With --site all this happens on sixteen mixed nodes in three
partitions with limits, to jobs of twenty kinds, and slurmdbd is killed and QOS limits change too.

Prints jobs, faults by kind, and how many of the ordinary jobs not cancelled were lost (gone without
having ended), doubled (run again after they had ended), stuck (still waiting when nothing happens
any more), and the longest stall: how long the first job in the queue fitted on free nodes and
nothing began. Counted separately, as Slurm's own: doubled jobs whose end a killed slurmctld had not
saved, lost ones whose slurmd was killed at their launch, stuck ones that slurmctld refuses to
change for anybody, or that depend on such a job; and doubled ones that a policy preempted within
seconds of their end. Exits with 1 if anything was lost or stuck, or doubled for any cause but
slurmctld's. `scripts/bench faults` runs four policies on the mixed site and two on equal nodes, and
writes docs/benchmarks/faults.md.
"""

from __future__ import annotations

import argparse
import contextlib
import heapq
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import mixed_site as mixed  # noqa: E402
from benchmarks.fault_answers import hang_epilogs, wrap  # noqa: E402
from benchmarks.fault_kinds import FAULTS, NEED_CONTROLLER, ON_THE_LOOP  # noqa: E402
from benchmarks.fault_loop import LoopProcess  # noqa: E402
from benchmarks.fault_site import NEED_CONTROLLER_ON_SITE, ON_SITE, SiteWorld  # noqa: E402
from benchmarks.fault_world import World  # noqa: E402

from shadowtime.errors import UsageError  # noqa: E402
from shadowtime.live.slurm import setup  # noqa: E402
from shadowtime.testing.slurm import SlurmCluster, slurm_cluster, slurm_root, wait_for  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NODES, CPUS = 6, 4
EVERY = 0.3
"""Seconds between two checks for stalls."""
STALLED = 30.0
"""Seconds for which no feasible job may wait on idle nodes, faults aside."""
PATIENCE = 150.0
"""Seconds without a start or an end under a loop that looks, after which what waits is stuck: more
than the two minutes that a job waits which Slurm itself has requeued."""
AT_MOST = 3600.0
"""Seconds after which it is stuck in any case."""


def main(words: list[str] | None = None) -> int:
    """Run and print."""
    words = sys.argv[1:] if words is None else words
    if words[:1] == ["--as-loop"]:
        as_loop(Path(words[1]), words[2:])
    parser = argparse.ArgumentParser(description="Faults on a real Slurm under the live loop.")
    parser.add_argument("--policy", default="easy")
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--faults", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--site", action="store_true", help="a mixed site with slurmdbd")
    parser.add_argument("--plain", action="store_true", help="no gate and no loop, for comparison")
    parser.add_argument("--slurm", default="", help="another Slurm than the system's, as 24.11")
    parser.add_argument("--judge", metavar="DIR", help="judge again what --keep has kept there")
    parser.add_argument("--pace", type=float, default=1.2, help="seconds between two faults")
    parser.add_argument(
        "--keep", metavar="DIR", help="copy the logs there, what jobs wrote and what was done"
    )
    chosen = parser.parse_args(words)
    if chosen.judge:
        print(json.dumps(judged(Path(chosen.judge)), indent=1))
        return 0
    found = inject(
        chosen.policy,
        jobs=chosen.jobs,
        faults=chosen.faults,
        seed=chosen.seed,
        pace=chosen.pace,
        site=chosen.site,
        plain=chosen.plain,
        version=chosen.slurm,
        keep=Path(chosen.keep) if chosen.keep else None,
    )
    print(json.dumps(found, indent=1))
    bad = ("lost", "doubled", "doubled_as_preempted_while_ending", "stuck")
    return 1 if any(found[name] for name in bad) else 0


def as_loop(offset: Path, words: list[str]) -> NoReturn:
    """`shadowtime live slurm` (or condor) with a clock that reads so many seconds more."""
    from shadowtime.cli import main as shadowtime
    from shadowtime.live.clock import SystemClock

    def now(self: SystemClock) -> float:
        try:
            return time.time() + float(offset.read_text() or 0)
        except (OSError, ValueError):
            return time.time()

    SystemClock.now = now  # type: ignore[method-assign]
    sys.argv = ["shadowtime", "live", *words]
    shadowtime()


def inject(
    policy: str,
    *,
    jobs: int,
    faults: int,
    seed: int,
    pace: float = 1.2,
    site: bool = False,
    plain: bool = False,
    version: str = "",
    keep: Path | None = None,
) -> dict[str, Any]:
    """One campaign and its figures."""
    rng = random.Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-faults-"))
    folder.chmod(0o755)
    root = slurm_root(version) if version else None
    if version and root is None:
        raise UsageError(f"Slurm {version} is not here: run scripts/fetch-daemons")
    options = SITE if site else EQUAL

    def prepare(cluster: SlurmCluster) -> None:
        if site:
            mixed.prepare(cluster, gate=not plain)
        elif not plain:
            gate(cluster)
        if plain:  # its own scheduler, as sites use it
            text = cluster.conf.read_text()
            assert "SchedulerType=sched/builtin" in text
            text = text.replace("SchedulerType=sched/builtin", "SchedulerType=sched/backfill")
            cluster.conf.write_text(
                text.replace("sched_interval=1", "sched_interval=1,bf_interval=2")
            )
        hang_epilogs(cluster.conf, folder)

    try:
        with (
            small_disk(folder / "state-of-loop") as disk,
            slurm_cluster(folder / "slurm", root=root, prepare=prepare, **options) as cluster,
        ):
            world = (site_in if site else world_in)(folder, cluster, "" if plain else policy)
            try:
                found = campaign(world, rng, jobs=jobs, faults=faults, pace=pace, disk=disk)
                by = "slurm itself" if plain else policy
                return {"policy": by, "slurm": version or "system", "seed": seed} | found
            finally:
                if world.loop.process is not None:
                    world.loop.end(signal.SIGKILL)
                if keep is not None:
                    keep_evidence(world, keep)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def judged(folder: Path) -> dict[str, Any]:
    """A kept result, its doubled jobs judged again from what the logs and the jobs say."""
    found: dict[str, Any] = json.loads((folder / "found.json").read_text())
    done = json.loads((folder / "done.json").read_text())
    loop = SimpleNamespace(log=folder / "loop.log")
    cluster = SimpleNamespace(folder=folder)
    world = World(cluster=cluster, loop=loop, out=folder / "marks")  # type: ignore[arg-type]
    world.unsaved = [(a, b) for a, b in done["unsaved"]]
    world.jobs = dict.fromkeys(path.name for path in sorted(world.out.iterdir()))  # type: ignore[arg-type]
    doubled = world.doubled()
    found["excused"]["a killed slurmctld had not saved its begin or end"] = len(doubled.forgotten)
    found["excused"]["preempted within seconds of its end"] = len(doubled.preempted)
    return found | {
        "doubled": len(doubled.ours),
        "doubled_as_slurmctld_forgot": len(doubled.forgotten),
        "doubled_as_preempted_while_ending": len(doubled.preempted),
    }


def keep_evidence(world: World, folder: Path) -> None:
    """The logs, what every job wrote and what was done when: enough to judge each case later."""
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(OSError):
        shutil.copy(world.loop.log, folder / "loop.log")
    shutil.copytree(world.cluster.folder / "log", folder / "log", dirs_exist_ok=True)
    shutil.copytree(world.out, folder / "marks", dirs_exist_ok=True)
    with contextlib.suppress(OSError):
        shutil.copy(world.loop.state.with_name("passes.jsonl"), folder)
    to_wall = time.time() - time.monotonic()
    done = {
        "faults": [(when + to_wall, kind) for when, kind in world.faults],
        "unsaved": world.unsaved,
        "without_daemon": world.without_daemon,
        "stalls": [
            (stall.began + to_wall, stall.seconds, stall.job, stall.during)
            for stall in world.stalls
        ],
    }
    (folder / "done.json").write_text(json.dumps(done, indent=1))


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """A folder on a file system of its own that can be filled; False where none can be mounted."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=32m,mode=0700", "tmpfs", str(folder)]
    mounted = os.geteuid() == 0 and subprocess.run(command, check=False).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=False)


def gate(cluster: SlurmCluster) -> None:
    """The configuration as `shadowtime live slurm setup` leaves it."""
    folder = cluster.conf.parent
    changes = setup.plan_setup(folder, partitions=["batch"], default=True, masters=[0])
    setup.carry_out(changes, folder)


EQUAL: dict[str, Any] = {"nodes": NODES, "cpus": CPUS}
SITE: dict[str, Any] = mixed.OPTIONS


def world_in(folder: Path, cluster: SlurmCluster, policy: str) -> World:
    """The cluster with the loop started, and nodes of two kinds."""
    for k, name in enumerate(cluster.names):
        kind = "big" if k == 0 else "small"
        words = (f"AvailableFeatures={kind}", f"ActiveFeatures={kind}")
        cluster.run("scontrol", "update", f"NodeName={name}", *words)
    loop = loop_in(folder, cluster, policy)
    return World(
        cluster=cluster,
        loop=loop,
        out=folder / "out",
        kinds=FAULTS,
        need_controller=NEED_CONTROLLER,
    )


def site_in(folder: Path, cluster: SlurmCluster, policy: str) -> World:
    """A mixed site with the loop started, its limits and its reservation."""
    user = mixed.submitter()
    mixed.add_limits(cluster, user)
    mixed.reserve(cluster, user, begin=5, minutes=120)
    partitions = ("--partition", ",".join(mixed.NAMES))
    loop = loop_in(folder, cluster, policy, *partitions)
    return SiteWorld(
        cluster=cluster,
        loop=loop,
        out=folder / "out",
        user=user,
        kinds=ON_SITE,
        need_controller=NEED_CONTROLLER_ON_SITE,
    )


def loop_in(folder: Path, cluster: SlurmCluster, policy: str, *options: str) -> LoopProcess:
    """The loop, started, and a folder that every job may write into."""
    out = folder / "out"
    out.mkdir()
    out.chmod(0o1777)
    loop = LoopProcess(
        policy=policy,
        state=folder / "state-of-loop" / "state.json",
        offset=folder / "offset",
        log=folder / "loop.log",
        env=wrap(folder, cluster.env),
        options=options,
    )
    loop.offset.write_text("0")
    loop.start()
    return loop


class Timeline:
    """What happens when, in seconds since the beginning."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self._plan: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    @property
    def now(self) -> float:
        return time.monotonic() - self.began

    def at(self, when: float, what: Callable[[], None]) -> None:
        """Plan something."""
        self._count += 1
        heapq.heappush(self._plan, (when, self._count, what))

    def run(self, meanwhile: Callable[[], None]) -> None:
        """Carry out everything, also what is planned on the way."""
        while self._plan:
            meanwhile()
            while self._plan and self._plan[0][0] <= self.now:
                heapq.heappop(self._plan)[2]()
            if self._plan:
                time.sleep(min(EVERY, max(0.0, self._plan[0][0] - self.now)))


def campaign(
    world: World, rng: random.Random, *, jobs: int, faults: int, pace: float, disk: bool
) -> dict[str, Any]:
    """Jobs and faults at random moments, then everything put back, then the end of all jobs."""
    world.submit_one(rng)  # the loop is up, and its pass compiled, once this job has begun
    first = next(iter(world.jobs))

    def begun() -> bool:
        process = world.loop.process
        if world.loop.policy and (process is None or process.poll() is not None):
            raise UsageError(f"the loop ended at once: {world.loop.log.read_text()[-500:]}")
        return bool(world.marks(first))

    wait_for(begun, "the first job to begin", 1800)
    line = Timeline()
    length = max(faults, 1) * pace
    kinds = [kind for kind in world.kinds if disk or kind != "disk full"]
    drawn = [kinds[k % len(kinds)] for k in range(faults)]  # every kind as often as the others
    rng.shuffle(drawn)
    for _ in range(jobs - 1):
        line.at(rng.uniform(0, length * 0.9), lambda: submit(world, rng, line))
    for kind in drawn:
        line.at(rng.uniform(0, length), partial(fault, world, rng, kind, line))

    def meanwhile() -> None:
        world.sample()
        if not world.going_on & ON_THE_LOOP:
            world.loop.keep_up()

    line.run(meanwhile)
    wait_for_the_end(world, meanwhile)
    return report(world, disk=disk, seconds=line.now)


def submit(world: World, rng: random.Random, line: Timeline) -> None:
    """An ordinary job; users try again while the controller is down."""
    if not world.controller or not world.submit_one(rng):
        line.at(line.now + 0.5, lambda: submit(world, rng, line))


def fault(world: World, rng: random.Random, kind: str, line: Timeline) -> None:
    """Inject one fault; later where it cannot be now, as another of its kind is going on."""
    clash = kind in world.going_on or (
        kind in ON_THE_LOOP and (world.going_on & ON_THE_LOOP or not world.loop.up())
    )
    clash = clash or (kind in world.on_controller and bool(world.going_on & world.on_controller))
    if not clash and (world.controller or kind not in world.need_controller):
        try:
            undo = world.kinds[kind](world, rng)
        except (UsageError, subprocess.TimeoutExpired):  # the controller is still coming up
            undo, clash = None, True
        if not clash:
            world.faults.append((time.monotonic(), kind))
            if undo is not None:
                world.going_on.add(kind)
                line.at(line.now + undo[0], partial(over, world, kind, undo[1], line))
            return
    line.at(line.now + 0.3, partial(fault, world, rng, kind, line))


def over(world: World, kind: str, undo: Callable[[], None], line: Timeline) -> None:
    """The fault is over."""
    if kind in world.need_controller - world.on_controller and not world.controller:
        line.at(line.now + 0.5, partial(over, world, kind, undo, line))
        return
    undo()
    world.going_on.discard(kind)


def wait_for_the_end(world: World, meanwhile: Callable[[], None]) -> None:
    """Until every ordinary job has ended, or nothing has happened for a long time.

    Slurm takes nodes out late: one whose daemon was killed, or that could not end a requeued job in
    time, is marked a minute or more after the last fault. So nodes are put back until the end. And
    nothing can happen before a restarted loop has looked, which takes long on a busy machine: those
    seconds do not count against the jobs that wait.
    """
    last = -1
    since = began = time.monotonic()
    while world.unfinished() and (now := time.monotonic()) - since < PATIENCE:
        if now - began > AT_MOST:
            break
        world.put_back()
        meanwhile()
        events = sum(len(world.marks(job)) for job in world.jobs)
        if events != last or not world.loop.up():
            last, since = events, time.monotonic()
        time.sleep(EVERY)
    world.finish()


def report(world: World, *, disk: bool, seconds: float) -> dict[str, Any]:
    """The figures."""
    waits = world.pending()
    left = world.unfinished()
    waiting = [job for job in left if job.id in waits]
    unchangeable = world.unchangeable(job.id for job in waiting)
    stuck = [job for job in waiting if job.id not in unchangeable]
    gone = [job for job in left if job.id not in waits]
    never_launched = [job for job in gone if world.never_launched(job.id)]
    lost = [job for job in gone if job not in never_launched]
    doubled = world.doubled()
    odd = [job for job in world.jobs.values() if job.odd]
    longest = sorted(world.stalls, key=lambda stall: -stall.seconds)[:5]
    return {
        "jobs": len(world.jobs),
        "infeasible_or_odd": len(odd),
        "cancelled": sum(job.cancelled for job in world.jobs.values()),
        "faults": len(world.faults),
        "faults_by_kind": dict(sorted(Counter(kind for _, kind in world.faults).items())),
        "left_out": [] if disk else ["disk full: no file system can be mounted here"],
        "lost": len(lost),
        "lost_as_slurmd_was_killed_at_its_launch": len(never_launched),
        "doubled": len(doubled.ours),
        "doubled_as_slurmctld_forgot": len(doubled.forgotten),
        "doubled_as_preempted_while_ending": len(doubled.preempted),
        "stuck": len(stuck),
        "stuck_as_slurmctld_refuses_all_changes": len(unchangeable),
        "feasible_jobs_stalled": {
            job: round(seconds, 1) for job, seconds in world.waits.items() if seconds > STALLED
        },
        "longest_feasible_wait_s": round(max(world.waits.values(), default=0.0), 1),
        "excused": {
            "its slurmd was killed at its launch": len(never_launched),
            "a killed slurmctld had not saved its begin or end": len(doubled.forgotten),
            "preempted within seconds of its end": len(doubled.preempted),
            "slurmctld refuses every change of it, or of one that it waits for": len(unchangeable),
            "it fits nowhere, is not ordinary or hostile": len(odd),
            "cancelled on purpose": sum(job.cancelled for job in world.jobs.values()),
            "Slurm held it, as its launch failed: released": len(world.were_held),
            "Slurm calls it running although it has ended: cancelled": len(world.were_gone),
        },
        "sacct": world.by_sacct(),
        "longest_stall_s": round(longest[0].seconds, 1) if longest else 0.0,
        "longest_stalls": [
            {"job": s.job, "seconds": round(s.seconds, 1), "during": list(s.during)}
            for s in longest
        ],
        "loop_starts": world.loop.starts,
        "loop_ended_by_itself": world.loop.ended,
        "slowest_end_after_sigterm_s": round(max(world.slow_ends, default=0.0), 2),
        "nodes_put_back": world.was_out,
        "jobs_put_back": sorted(world.were_held),
        "jobs_gone": sorted(world.were_gone),
        "seconds": round(seconds),
        "details": {
            "lost": [describe(world, job.id) for job in gone],
            "stuck": [describe(world, job.id) for job in waiting],
            "nodes": world.cluster.run("sinfo", "-h", "-N", "-o", "%N %T %E", check=False)
            .strip()
            .splitlines()
            if stuck or lost
            else [],
            "doubled": {
                job: world.marks(job)
                for job in (*doubled.ours, *doubled.forgotten, *doubled.preempted)
            },
        },
    }


def describe(world: World, job: str) -> str:
    """Slurm's record of a job."""
    shown = world.cluster.run("scontrol", "--oneliner", "show", "job", job, check=False)
    wanted = ("JobId", "JobState", "Reason", "Priority", "ReqNodeList", "NumNodes", "Restarts")
    wanted += ("Dependency", "EligibleTime", "NodeList")
    return " ".join(word for word in shown.split() if word.partition("=")[0] in wanted) or job


if __name__ == "__main__":
    sys.exit(main())
