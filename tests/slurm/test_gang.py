"""PreemptMode=SUSPEND,GANG: jobs above suspended ones, which keep their work and their memory."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

import shadowtime as st
from shadowtime.cluster.site import Node, Partition, Site
from shadowtime.engine.rules import rules_of
from shadowtime.policy import parse_policy
from shadowtime.slurm.gang import shadowed
from shadowtime.slurm.job import Job
from shadowtime.slurm.machine import Section
from shadowtime.slurm.usage import Share
from shadowtime.workload.request import Request, Requests

GIGABYTE = 1 << 20
TIERS = {"scav": 1, "low": 5, "late": 5, "high": 10}
SECTIONS = {name: Section(name=name, nodes=7, tier=tier) for name, tier in TIERS.items()}
GANG = {"PreemptType": "preempt/partition_prio", "PreemptMode": "GANG,SUSPEND"}
GANG["SchedulerParameters"] = "bf_interval=2,bf_resolution=1,batch_sched_delay=0"


@dataclass
class Row:
    """A partition as slurmctld's gang scheduler keeps it: its jobs, and the shadows above."""

    tier: int
    jobs: list[Job] = field(default_factory=list)
    shadows: list[Job] = field(default_factory=list)
    active: set[int] = field(default_factory=set)


class Rotation:
    """The gang scheduler step by step: shadows are cast and cleared job by job."""

    def __init__(self) -> None:
        self.rows = {name: Row(tier) for name, tier in TIERS.items()}

    def start(self, job: Job) -> None:
        self.rows[job.partition].jobs.append(job)
        self.update()

    def end(self, job: Job) -> None:
        self.clear(job)
        self.rows[job.partition].jobs.remove(job)
        self.rows[job.partition].active.discard(job.id)
        self.update()

    def cast(self, job: Job, tier: int) -> None:
        for row in self.rows.values():
            if row.tier < tier and job not in row.shadows:
                row.shadows.append(job)

    def clear(self, job: Job) -> None:
        for row in self.rows.values():
            row.shadows = [one for one in row.shadows if one is not job]

    def update(self) -> None:
        for row in sorted(self.rows.values(), key=lambda one: -one.tier):
            taken: dict[int, int] = {}

            def add(job: Job, taken: dict[int, int] = taken) -> None:
                for share in job.holding:
                    taken[share.node] = taken.get(share.node, 0) | share.cores

            def fits(job: Job, taken: dict[int, int] = taken) -> bool:
                return not any(taken.get(one.node, 0) & one.cores for one in job.holding)

            for job in row.shadows:
                add(job)
            for active in (True, False):
                for job in row.jobs:
                    if (job.id in row.active) is not active:
                        continue
                    if fits(job):
                        add(job)
                        row.active.add(job.id)
                        self.cast(job, row.tier)
                    else:
                        row.active.discard(job.id)
                        self.clear(job)

    @property
    def suspended(self) -> set[int]:
        return {job.id for row in self.rows.values() for job in row.jobs} - {
            number for row in self.rows.values() for number in row.active
        }


def free_in_row(jobs: list[Job], partition: str, wanted: list[tuple[int, int]]) -> bool:
    """Jobs of one partition never share a core."""
    held = [
        (one.node, one.cores) for job in jobs if job.partition == partition for one in job.holding
    ]
    return not any(node == at and cores & mask for node, cores in held for at, mask in wanted)


@given(
    some.lists(
        some.tuples(
            some.sampled_from(sorted(TIERS)),
            some.lists(
                some.tuples(some.integers(0, 2), some.integers(1, 15)),
                min_size=1,
                max_size=3,
                unique_by=lambda one: one[0],
            ),
            some.booleans(),
        ),
        max_size=14,
    )
)
def test_suspended_jobs_equal_those_of_the_gang_scheduler_step_by_step(
    events: list[tuple[str, list[tuple[int, int]], bool]],
) -> None:
    """Whatever starts and ends in whatever order: the jobs that are there determine which run."""
    rotation, jobs = Rotation(), []
    for number, (partition, wanted, ends) in enumerate(events):
        if ends and jobs:
            rotation.end(jobs.pop(number % len(jobs)))
        elif free_in_row(jobs, partition, wanted):
            held = tuple(Share(node, cores) for node, cores in sorted(wanted))
            job = Job(id=number, ask=None, limit=60, partition=partition, holding=held)  # type: ignore[arg-type]
            jobs.append(job)
            rotation.start(job)
        assert shadowed(jobs, SECTIONS) == rotation.suspended


def site(**config: str) -> Site:
    """Two nodes of four cpus and 8 GB, and a partition above the other."""
    nodes = tuple(Node(name=name, amounts=(4, 8 * GIGABYTE)) for name in "ab")
    names = ("a", "b")
    return Site(
        nodes=nodes,
        resources=("cpus", "memory"),
        partitions=(
            Partition(name="low", nodes=names, tier=1, preempt="suspend", default=True),
            Partition(name="high", nodes=names, tier=2, preempt="off"),
        ),
        config=GANG | config,
    )


def jobs(*asks: tuple[int, int, Request], request: int = 200) -> st.Workload:
    """(submit, run, request) each."""
    made = st.Workload.build(
        submit=[submit for submit, _, _ in asks],
        run=[run for _, run, _ in asks],
        procs=[max(1, ask.tasks) for _, _, ask in asks],
        request=[request] * len(asks),
    )
    return made.replace(requests=Requests.of_jobs([ask for _, _, ask in asks]))


def whole(partition: str, *, memory: int = 1) -> Request:
    return Request(tasks=4, nodes=1, partitions=(partition,), memory=memory * GIGABYTE)


def test_a_suspended_job_goes_on_where_it_was() -> None:
    """Its work is kept, its limit is paused, and check proves the schedule."""
    work = jobs(
        (0, 100, whole("low")), (0, 100, whole("low")), (30, 20, whole("high")), request=100
    )
    run = st.simulate(work, site(), "slurm")
    made = run.schedule
    attempts = made.attempts
    assert made.kills.tolist() == [1, 0, 0]  # one node is enough: the other job keeps running
    assert len(attempts) == 2
    assert attempts.kept is not None
    assert attempts.kept.tolist() == (attempts.end - attempts.start).tolist()
    last = int(attempts.start[1])
    stopped = int(attempts.end[0])
    assert 30 <= stopped <= 34 and made.start[2] == stopped
    assert last == made.end[2] == pytest.approx(stopped + 20, abs=1)
    assert made.worked[0] == pytest.approx(100, abs=2)
    assert made.killed.tolist() == [0, 0, 0]
    assert made.place is not None and made.place[0] == made.place[2]
    report = run.check()
    assert not [proof for proof in report.proofs if proof.verdict == "violated"], report
    rules = rules_of(parse_policy("slurm"), work, site())
    assert rules is not None and rules.grain == 1


def test_memory_of_a_suspended_job_stays_in_use() -> None:
    """The job above takes its cores; what needs its memory waits for its end."""
    asks = [(0, 60, whole("low", memory=6)), (0, 60, whole("low", memory=6))]
    light = st.simulate(jobs(*asks, (20, 10, whole("high", memory=2))), site(), "slurm").schedule
    heavy = st.simulate(jobs(*asks, (20, 10, whole("high", memory=4))), site(), "slurm").schedule
    assert light.start[2] < 30 and light.kills.sum() == 1
    assert heavy.start[2] >= 59 and heavy.kills.sum() == 0


def test_a_partition_may_requeue_instead() -> None:
    """Under GANG a job of a partition with PreemptMode=REQUEUE makes room at once, too."""
    base = site()
    low, high = base.partitions
    requeues = base.replace(
        partitions=(Partition(name="low", nodes=low.nodes, tier=1, preempt="requeue"), high)
    )
    work = jobs((0, 50, whole("low")), (0, 50, whole("low")), (20, 10, whole("high")))
    made = st.simulate(work, requeues, "slurm").schedule
    assert made.start[2] < 25 and made.kills.sum() == 1
    row = int(np.argmax(made.kills))
    assert made.start[row] >= 120  # as long as its credential lives
    assert made.worked[row] == pytest.approx(50, abs=1)


def test_no_job_is_put_above_a_partition_that_is_not_preempted() -> None:
    """PreemptMode=OFF of the lower partition: the higher one waits for its end."""
    base = site()
    low, high = base.partitions
    spared = base.replace(
        partitions=(Partition(name="low", nodes=low.nodes, tier=1, preempt="off"), high)
    )
    work = jobs((0, 50, whole("low")), (0, 50, whole("low")), (20, 10, whole("high")))
    made = st.simulate(work, spared, "slurm").schedule
    assert made.kills.sum() == 0 and made.start[2] >= 49
