"""A private Slurm under the live loop as the fault injector sees it: jobs, the loop, stalls.

What the loop reports about itself is not used. Every run of a job writes a line when it begins and
one when it ends, and what could start is found from squeue and sinfo by separate rules.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchmarks.fault_evidence import (
    delayed_until,
    is_delayed_by_slurm,
    is_unchangeable,
    lost_at_launch,
    marked_stops,
    seconds_of,
    stops_of,
    was_forgotten,
    was_requeued,
    was_stopped_as_it_ended,
)

from shadowtime.errors import UsageError
from shadowtime.live.slurm.gate import leased

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Mapping
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from benchmarks.fault_loop import LoopProcess

    from shadowtime.testing.slurm import SlurmCluster

HELD, ADMIN, GATE = "held", "JobHeldAdmin", "at the gate"
"""The last word of Slurm's own hold after a failed launch; how it calls an operator's."""
NOT_YET = ("Dependency", "BeginTime", HELD)
"""Last words of the reasons of jobs that may not start: they wait for another one or a time, or
Slurm itself holds them, as their launch failed."""
GONE = 20.0
"""Seconds after the end of a job's script by which Slurm has heard of it, if it ever will."""
SCRIPT = """
name=${{SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}}${{SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}}
mark() {{ echo "$1 $(date +%s.%N)" >>{out}/$name; }}
mark begin
sleep {seconds} && mark end
"""


@dataclass
class Job:
    """A job as it was submitted, and what was done to it since."""

    id: str
    width: int
    """Nodes of its own, or processors where it shares them."""
    whole: bool
    submitted: float
    odd: str = ""
    """Why it may never start, empty for an ordinary job."""
    only: tuple[str, ...] = ()
    """The nodes that an operator has tied it to."""
    cancelled: bool = False
    kind: str = ""
    """The words of its request, where that is more than a width."""


@dataclass
class Stall:
    """A time in which the first job fitted on free nodes and nothing at all began to run."""

    job: str
    """The first job in the queue when it began."""
    began: float
    seconds: float
    during: tuple[str, ...]
    """Faults in those seconds."""


@dataclass
class Doubled:
    """Jobs that began again after they had ended.

    ``forgotten``: it began or ended after a killed slurmctld had last saved, so Slurm did not know
    of it when it came back. ``preempted``: the policy stopped the job within seconds of its end, so
    that Slurm may not have heard of the end yet when it put the job back into the queue.
    """

    ours: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    preempted: list[str] = field(default_factory=list)


@dataclass
class World:
    """Cluster, loop, jobs, and the longest stall so far."""

    cluster: SlurmCluster
    loop: LoopProcess
    out: Path
    user: str = ""
    """The submitting user; empty: the one that runs this."""
    partitions: dict[str, str] = field(default_factory=lambda: {"batch": "UNLIMITED"})
    """The partitions that the loop drives, with their longest time limit."""
    kinds: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """The faults that may happen here, by name."""
    need_controller: AbstractSet[str] = frozenset()
    """Those that slurmctld takes part in."""
    on_controller: AbstractSet[str] = frozenset({"slurmctld killed", "slurmctld stopped"})
    """Those that take slurmctld away: one at a time."""
    jobs: dict[str, Job] = field(default_factory=dict)
    faults: list[tuple[float, str]] = field(default_factory=list)
    stalls: list[Stall] = field(default_factory=list)
    limited: bool = False
    """True while a limit of the partition lets nothing start."""
    controller: bool = True
    going_on: set[str] = field(default_factory=set)
    """Faults that are not over yet."""
    submitted: float = 0.0
    """When the last job was submitted, by the machine's clock."""
    unsaved: list[tuple[float, float]] = field(default_factory=list)
    """Spans of which a killed slurmctld remembers nothing."""
    without_daemon: list[tuple[str, float, float]] = field(default_factory=list)
    """Nodes whose slurmd was killed, from when to when."""
    slow_ends: list[float] = field(default_factory=list)
    """Seconds from SIGTERM to the end of a loop."""
    was_out: dict[str, str] = field(default_factory=dict)
    """Nodes that Slurm had taken out when all faults were over, with its reason."""
    were_held: set[str] = field(default_factory=set)
    """Jobs that Slurm held when all faults were over, as their launch had failed."""
    were_gone: set[str] = field(default_factory=set)
    """Jobs that had ended and that Slurm still called running when all faults were over."""
    waits: dict[str, float] = field(default_factory=dict)
    """The longest time for which each job could have started at once and did not, faults aside."""
    _since: dict[str, float] = field(default_factory=dict)
    _stall: Stall | None = None
    _looked: float = field(default_factory=time.monotonic)
    _begun: int = 0

    def submit(self, *options: str, width: int, whole: bool, seconds: float, odd: str = "") -> bool:
        """Submit a job; False where Slurm itself refuses it."""
        size = [f"--nodes={width}", "--exclusive"] if whole else [f"--ntasks={width}"]
        name = self.sbatch(*size, *options, seconds=seconds)
        if name:
            self.jobs[name] = Job(name, width, whole, time.monotonic(), odd)
        return bool(name)

    def sbatch(self, *options: str, seconds: float) -> str:
        """Submit a script that records its begins and ends; its id, empty if refused."""
        script = SCRIPT.format(out=self.out, seconds=seconds)
        try:
            name = self.cluster.sbatch(*options, script=script, as_user=self.user)
        except UsageError:
            return ""
        self.submitted = time.time()
        return name

    def submit_one(self, rng: random.Random) -> bool:
        """An ordinary job: nodes of its own or shared ones, for one to four seconds."""
        whole = rng.random() < 0.5
        most = self.cluster.nodes if whole else 2 * self.cluster.cpus
        limit = f"--time={rng.choice([1, 2, 5])}"
        return self.submit(
            limit, width=rng.randint(1, most), whole=whole, seconds=rng.uniform(1, 4)
        )

    def tied(
        self, rng: random.Random, waits: Mapping[str, str]
    ) -> tuple[Job, tuple[str, ...]] | None:
        """A job at the gate, and as many nodes as it needs, to which an operator may tie it."""
        free = [
            job
            for job in self.jobs.values()
            if waits.get(job.id) == GATE and not job.odd and not job.only and self.ties(job)
        ]
        if not free:
            return None
        job = rng.choice(free)
        count = job.width if job.whole else -(-job.width // self.cluster.cpus)
        return job, tuple(rng.sample(self.may_tie_to, count))

    def ties(self, job: Job) -> bool:
        """Whether a job asks for nothing that the nodes could lack."""
        return True

    @property
    def may_tie_to(self) -> list[str]:
        """The nodes that jobs are tied to."""
        return self.cluster.names

    def marks(self, job: str) -> list[tuple[str, float]]:
        """The begins and ends of a job's runs, as it wrote them."""
        with contextlib.suppress(OSError):
            lines = (self.out / job).read_text().splitlines()
            return [(line.split()[0], float(line.split()[1])) for line in lines]
        return []

    def pending(self) -> dict[str, str]:
        """Waiting jobs with Slurm's reason; raises where the controller does not answer.

        Of a job at the gate that waits for another one, too, Slurm tells that alone.
        """
        listed = self.cluster.run("squeue", "-h", "-a", "-r", "-t", "PD", "-o", "%i %E %r")
        found = {}
        for line in listed.splitlines():
            job, *rest = line.split()
            found[job] = "Dependency" if "unfulfilled" in " ".join(rest[:-1]) else rest[-1]
            if found[job] == "BeginTime":  # that of a lease, unless Slurm delays it
                found[job] = GATE
        found |= dict.fromkeys(self.delayed() & found.keys(), "BeginTime")
        return {
            job: HELD if why == ADMIN and self.requeued(job) else why for job, why in found.items()
        }

    def delayed(self) -> set[str]:
        """Waiting jobs that Slurm itself does not start before a time that lies ahead."""
        wanted = "JobArrayID:40,EligibleTime:40"
        listed = self.cluster.run("squeue", "-h", "-a", "-r", "-t", "PD", "-O", wanted)
        found, now = set(), time.time()
        for line in listed.splitlines():
            job, *rest = line.split()
            with contextlib.suppress(ValueError, IndexError):  # N/A
                eligible = seconds_of(rest[0])
                if leased(int(eligible), now):
                    eligible = delayed_until(job, self.controller_log())
                if eligible > now and is_delayed_by_slurm(
                    eligible, now, stops_of(job, self.loop_log())
                ):
                    found.add(job)
        return found

    def free(self) -> tuple[set[str], dict[str, int]]:
        """Idle nodes, and free processors by node, of those that jobs may be started on."""
        idle, free = set(), {}
        for line in self.cluster.run("sinfo", "-h", "-N", "-o", "%N %T %C").splitlines():
            name, state, cpus = line.split()
            if state in ("idle", "mixed", "allocated"):
                free[name] = int(cpus.split("/")[1])
                if state == "idle":
                    idle.add(name)
        return idle, free

    def looked_away(self) -> None:
        """The seconds since the last poll do not count: none was possible, and nothing started."""
        self._looked = time.monotonic()

    def put_back(self) -> None:
        """Do what operators do: resume nodes, release jobs that Slurm holds, cancel those gone.

        A job whose launch failed is held by Slurm. It is released where it has not ended, or where
        another one waits for it. A job that has ended and that Slurm calls running, as slurmctld
        was killed before it had saved the end, occupies its nodes until its time limit.
        """
        with contextlib.suppress(UsageError, subprocess.TimeoutExpired):
            for line in self.cluster.run("sinfo", "-h", "-N", "-o", "%N %T %E").splitlines():
                name, state, why = line.split(maxsplit=2)
                if state.startswith(("down", "drain", "fail")):
                    self.was_out[name] = f"{state}: {why}"
                    words = (f"NodeName={name}", "State=RESUME")
                    self.cluster.run("scontrol", "update", *words, check=False)
            waits = self.pending()
            left = {job.id for job in self.unfinished()}
            wanted = left | self.waited_for(left)
            for job in sorted(job for job, why in waits.items() if why == HELD):
                # Its launch failed: Slurm leaves it to an operator. A dependency on a whole array
                # names the array's number alone.
                if not wanted.isdisjoint((job, job.partition("_")[0])):
                    self.were_held.add(job)
                    self.cluster.run("scontrol", "release", job, check=False)
            running = self.cluster.run("squeue", "-h", "-a", "-r", "-t", "R", "-o", "%i").split()
            for job in running:
                if self.gone(job):
                    self.were_gone.add(job)
                    self.cluster.run("scancel", job, check=False)

    def waited_for(self, jobs: AbstractSet[str]) -> set[str]:
        """Those that some of these jobs wait for."""
        return set().union(*(on for job, on in self.dependencies().items() if job in jobs))

    def dependencies(self) -> dict[str, set[str]]:
        """By waiting job those that it waits for: jobs, tasks, or arrays by their number alone."""
        listed = self.cluster.run("squeue", "-h", "-a", "-r", "-t", "PD", "-o", "%i %E")
        rows = (line.split(maxsplit=1) for line in listed.splitlines())
        return {
            words[0]: set(re.findall(r"\d+(?:_\d+)?", words[-1])) for words in rows if words[1:]
        }

    def gone(self, job: str) -> bool:
        """Whether a job ended so long ago that Slurm will not hear of it any more."""
        marks = self.marks(job)
        return bool(marks) and marks[-1][0] == "end" and time.time() - marks[-1][1] > GONE

    def requeued(self, job: str) -> bool:
        """Whether slurmctld has put a job back into the queue: nothing else holds jobs here."""
        return was_requeued(job, self.controller_log())

    def controller_log(self) -> str:
        """What slurmctld wrote down."""
        with contextlib.suppress(OSError):
            log = self.cluster.folder / "log" / "slurmctld.log"
            return log.read_text(errors="replace")
        return ""

    def sample(self) -> None:
        """Look once: how long has the first job fitted on free nodes without anything beginning?

        While the controller is down or the partition closed nothing can begin: that time does not
        count, and what was counted before it goes on afterwards.
        """
        now = time.monotonic()
        passed, self._looked = now - self._looked, now
        try:
            waits, (idle, free) = self.pending(), self.free()
        except (UsageError, subprocess.TimeoutExpired):
            return
        begun = sum(1 for job in self.jobs for what, _ in self.marks(job) if what == "begin")
        if begun > self._begun:
            self._close()
        self._begun = begun
        if self.limited:
            return
        if not self.going_on:
            self._count_waits(waits, idle, free, passed)
        first = self._first(waits, idle, free)
        if first is None:
            self._close()
        elif self._stall is None:
            self._stall = Stall(first, now, 0.0, ())
        else:
            self._stall.seconds += passed

    def _count_waits(
        self, waits: dict[str, str], idle: set[str], free: dict[str, int], passed: float
    ) -> None:
        """How long each job has fitted on free nodes without a break, whatever else began."""
        before, self._since = self._since, {}
        for job in self.jobs.values():
            ready = job.id in waits and not job.odd and waits[job.id] not in NOT_YET
            if ready and self.fits(job, idle, free):
                self._since[job.id] = before.get(job.id, 0.0) + passed
                self.waits[job.id] = max(self.waits.get(job.id, 0.0), self._since[job.id])

    def fits(self, job: Job, idle: set[str], free: dict[str, int]) -> bool:
        """Whether a job fits on what is free now."""
        mine = {name: n for name, n in free.items() if not job.only or name in job.only}
        return job.width <= (len(idle & mine.keys()) if job.whole else sum(mine.values()))

    def by_sacct(self) -> dict[str, int]:
        """What Slurm's accounting says: ended twice, ended by their files and not by sacct."""
        if not self.cluster.accounting:
            return {}
        words = ("sacct", "-a", "-X", "-n", "-P", "--duplicates", "-S", "now-1day", "-o")
        listed = self.cluster.run(*words, "JobID,State", check=False).split("\n")
        done = [line.partition("|")[0] for line in listed if line.endswith("|COMPLETED")]
        ended = {
            job for job in self.jobs if self.marks(job)[-1:] and self.marks(job)[-1][0] == "end"
        }
        return {
            "completed twice": sum(done.count(job) > 1 for job in {*done} & self.jobs.keys()),
            "ended without a record of it": len(ended - {*done}),
        }

    def _first(self, waits: dict[str, str], idle: set[str], free: dict[str, int]) -> str | None:
        """The first ordinary job in order of submission, if it fits on what is free now.

        Jobs that the usable nodes could not hold even if they were empty are passed over. Where
        the first that they could hold does not fit now, whether a later one may start depends on
        the policy: that is no stall.
        """
        for job in self.jobs.values():
            if job.id not in waits or job.odd or waits[job.id] in NOT_YET:
                continue
            mine = {name: n for name, n in free.items() if not job.only or name in job.only}
            room = len(mine) if job.whole else self.cluster.cpus * len(mine)
            if job.width > room:
                continue
            now = len(idle & mine.keys()) if job.whole else sum(mine.values())
            fits = job.width <= now
            return job.id if fits else None
        return None

    def _close(self) -> None:
        if self._stall is not None:
            began = self._stall.began
            self._stall.during = tuple(kind for when, kind in self.faults if when >= began - 3)
            self.stalls.append(self._stall)
        self._stall = None

    def finish(self) -> None:
        """No more polls: a stall that lasts until now counts too."""
        self._close()

    def saved(self) -> float:
        """When slurmctld last saved its jobs, by the machine's clock."""
        with contextlib.suppress(OSError):
            return (self.cluster.folder / "state" / "job_state").stat().st_mtime
        return 0.0

    def doubled(self) -> Doubled:
        """Jobs that began again after they had ended, by the cause."""
        found, log = Doubled(), self.controller_log()
        for job in self.jobs:
            marks = self.marks(job)
            kinds = [what for what, _ in marks]
            if "end" not in kinds[:-1]:
                continue
            first = marks[: kinds.index("end") + 1]
            if was_forgotten(job, first, unsaved=self.unsaved, log=log):
                found.forgotten.append(job)
            elif was_stopped_as_it_ended(
                first[-1][1], [*stops_of(job, self.loop_log()), *marked_stops(job, log)]
            ):
                found.preempted.append(job)
            else:
                found.ours.append(job)
        return found

    def never_launched(self, job: str) -> bool:
        """Whether slurmd was killed as it was about to launch a job."""
        shown = self.cluster.run("scontrol", "--oneliner", "show", "job", job, check=False)
        return lost_at_launch(shown, self.without_daemon)

    def unchangeable(self, jobs: Iterable[str]) -> set[str]:
        """Of these jobs, those that slurmctld refuses to change and those that depend on one."""
        waiting, log, on = set(jobs), self.controller_log(), self.dependencies()
        found = {job for job in waiting if is_unchangeable(job, log)}
        while True:
            names = found | {job.partition("_")[0] for job in found}
            more = {job for job in waiting - found if on.get(job, set()) & names}
            if not more:
                return found
            found |= more

    def loop_log(self) -> str:
        """What the loop wrote down."""
        with contextlib.suppress(OSError):
            return self.loop.log.read_text(errors="replace")
        return ""

    def unfinished(self) -> list[Job]:
        """Ordinary jobs that were not cancelled and have not ended."""
        return [
            job
            for job in self.jobs.values()
            if not job.odd
            and not job.cancelled
            and "end" not in [what for what, _ in self.marks(job.id)]
        ]
