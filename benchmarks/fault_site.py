"""The fault injector on a mixed site: jobs of twenty kinds, faults of slurmdbd and its limits."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks import mixed_site as mixed
from benchmarks.fault_evidence import is_unchangeable
from benchmarks.fault_kinds import FAULTS, NEED_CONTROLLER
from benchmarks.fault_world import NOT_YET, Job, World

from shadowtime.errors import UsageError
from shadowtime.slurmtext.hostlist import expand
from shadowtime.testing.slurm import wait_for

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from benchmarks.fault_kinds import Undo
    from benchmarks.mixed_site import MixedJob

MANY = 100_000


@dataclass
class SiteWorld(World):
    """A mixed site under the live loop; see :mod:`benchmarks.mixed_site`.

    Which job could start on mixed nodes depends on limits and policy: a stall is a time in which
    every node is idle, a job waits for no other one and nothing begins. A job whose every change
    slurmctld refuses cannot be started and does not count.
    """

    partitions: dict[str, str] = field(
        default_factory=lambda: dict(zip(mixed.NAMES, ("60", "60", "30"), strict=True))
    )
    drawn: Iterator[MixedJob] | None = None
    last: str = "1"

    def submit_one(self, rng: random.Random) -> bool:
        """The next job of twenty kinds, with all tasks of its array."""
        if self.drawn is None:
            self.drawn = iter(mixed.draw_mixed(rng.randrange(MANY), MANY // 100, longest=4))
        job = next(self.drawn)
        options = [word.replace("LAST", self.last) for word in job.options]
        name = self.sbatch(*options, seconds=job.seconds)
        if not name:
            return False
        self.last = name
        names = [f"{name}_{k}" for k in range(1, job.tasks + 1)] if job.tasks > 1 else [name]
        for one in names:
            self.jobs[one] = Job(one, 1, False, time.monotonic(), kind=" ".join(options))
        return True

    def ties(self, job: Job) -> bool:
        """Jobs that request one processor and nothing else."""
        return job.kind.startswith("-p cpu -n1 ")

    @property
    def may_tie_to(self) -> list[str]:
        """Those of the first partition that no reservation takes."""
        return [name for name in self.cluster.names[:12] if name != mixed.RESERVED]

    def fits(self, job: Job, idle: set[str], free: dict[str, int]) -> bool:
        """Whether idle nodes suffice for a job that requests nodes and processors alone."""
        asked = simple_request(job.kind)
        if asked is None:
            return False
        partitions, nodes, cpus, excluded = asked
        small = len(self.cluster.names) * 3 // 4
        members = {
            "cpu": self.cluster.names[:small],
            "gpu": self.cluster.names[small:],
            "all": self.cluster.names,
        }
        for partition in partitions:
            mine = (idle & {*members[partition]}) - {*excluded, mixed.RESERVED}
            mine &= {*job.only} if job.only else mine
            if len(mine) >= nodes and sum(free.get(name, 0) for name in mine) >= cpus:
                return True
        return False

    def _first(self, waits: dict[str, str], idle: set[str], free: dict[str, int]) -> str | None:
        if idle != set(self.cluster.names):
            return None
        ready = [job.id for job in self.jobs.values() if job.id in waits and not job.odd]
        ready = [job for job in ready if waits[job] not in NOT_YET]
        log = self.controller_log() if ready else ""
        return next((job for job in ready if not is_unchangeable(job, log)), None)

    def free(self) -> tuple[set[str], dict[str, int]]:
        """As elsewhere; a reserved node is idle too."""
        idle, free = super().free()
        listed = self.cluster.run("sinfo", "-h", "-N", "-o", "%N %T").splitlines()
        return idle | {line.split()[0] for line in listed if line.endswith(" reserved")}, free


def simple_request(kind: str) -> tuple[list[str], int, int, list[str]] | None:
    """Partitions, nodes, processors and excluded nodes of a request that names nothing else.

    Examples
    --------
    >>> simple_request("-p cpu,all -n3 --time=2"), simple_request("-p cpu -x n1,n2 -N2-4 -n6 -c2")
    ((['cpu', 'all'], 1, 3, []), (['cpu'], 2, 12, ['n1', 'n2']))
    >>> simple_request("-p cpu --qos=few -n3")
    """
    partitions, excluded = ["cpu"], []
    counts = {"n": 1, "N": 1, "c": 1}
    words = iter(kind.split())
    for word in words:
        if word == "-p":
            partitions = next(words).split(",")
        elif word == "-x":
            excluded = expand(next(words))
        elif found := re.fullmatch(r"-([nNc])(\d+)(?:-\d+)?", word):
            counts[found[1]] = int(found[2])
        elif not word.startswith("--time="):
            return None
    return partitions, counts["N"], counts["n"] * counts["c"], excluded


def accounting_killed(world: World, rng: random.Random) -> Undo:
    """kill -9 slurmdbd; it is started again. A loop that starts meanwhile knows no limits.

    Not while slurmctld is down: it does not come up without slurmdbd. Nor while limits are changed:
    sacctmgr would wait for slurmdbd, and the injector for sacctmgr.
    """
    if not world.controller or "QOS limit" in world.going_on:
        raise UsageError("slurmctld and sacctmgr need slurmdbd")
    world.cluster.kill("slurmdbd", signal.SIGKILL)

    def back() -> None:
        world.cluster.start_slurmdbd()
        show = ("sacctmgr", "--noheader", "show", "cluster")
        wait_for(lambda: bool(world.cluster.run(*show, check=False).strip()), "slurmdbd")

    return rng.uniform(2, 8), back


def qos_limit(world: World, rng: random.Random) -> Undo:
    """The limits of both QOS fall to one job at a time, and are lifted again.

    Not while slurmdbd is down.
    """
    if "slurmdbd killed" in world.going_on:
        raise UsageError("sacctmgr needs slurmdbd")
    _modify(world, dict.fromkeys(mixed.QOS, "MaxJobsPerUser=1"))
    lifted = {
        name: limit if "MaxJobsPerUser" in limit else f"MaxJobsPerUser=-1 {limit}"
        for name, limit in mixed.QOS.items()
    }
    return rng.uniform(3, 8), lambda: _modify(world, lifted)


def _modify(world: World, limits: dict[str, str]) -> None:
    with contextlib.suppress(UsageError, subprocess.TimeoutExpired):
        for name, limit in limits.items():
            world.cluster.run(
                "sacctmgr", "-i", "modify", "qos", name, "set", *limit.split(), check=False
            )


def controller_killed_on_site(world: World, rng: random.Random) -> Undo:
    """As elsewhere, while slurmdbd is up."""
    if "slurmdbd killed" in world.going_on:
        raise UsageError("slurmctld needs slurmdbd to come up")
    return FAULTS["slurmctld killed"](world, rng)


ON_SITE = FAULTS | {
    "slurmctld killed": controller_killed_on_site,
    "slurmdbd killed": accounting_killed,
    "QOS limit": qos_limit,
}
NEED_CONTROLLER_ON_SITE = NEED_CONTROLLER | {"QOS limit"}
