"""Starts of the simulator ElastiSim beside ours, for a workload whose input and output are public.

EPCC published what ElastiSim made of 11,635 jobs of the machine Cirrus, once as they were (rigid)
and once moldable (half to twice their cores, chosen at the start): first come, first served on
13,249 cores. With a clone of github.com/EPCCed/mira-cirrus-elastisim

    python benchmarks/elastisim.py CLONE

runs the same jobs here and prints both. ElastiSim asks its policy after every single event, also
where jobs end at one instant, and we ask once for each instant; the last line of a run is a plain
loop that asks as ElastiSim does. Nothing of the clone is part of this repository.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections import deque
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import Any

import numpy as np

import shadowtime as st
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy

PARTS = 1000
"""Ticks in one of ElastiSim's units of time, as it counts in fractions."""
RUNS = {
    "rigid": ("cirrus-cpu-simple-rigid", "iterations"),
    "moldable": ("cirrus-cpu-simple-moldable", "nstep"),
}


@st.resize
def first_come(now, jobs, free):  # type: ignore[no-untyped-def]
    """As many cores as the next job may have and are free; jobs keep them until they end."""
    left = free.level[0, 0] - jobs.held.sum()
    for i in range(len(jobs.held)):
        if jobs.held[i] == 0:
            size = min(left, jobs.most[i])
            if size < jobs.least[i]:
                break
            jobs.size[i] = size
            left -= size


def workload_of(folder: Path, work: str) -> st.Workload:
    """The jobs, a number each by their place; run times are those on ``base_nodes``."""
    [file] = folder.glob("data/input/*jobs*.json")
    jobs = json.loads(file.read_text())["jobs"]
    own = [job["arguments"]["base_nodes"] for job in jobs]
    run = [round(PARTS * job["arguments"][work]) for job in jobs]
    least = np.array([job.get("num_nodes_min", -1) for job in jobs])
    most = np.array([job.get("num_nodes_max", -1) for job in jobs])
    return st.Workload.build(
        submit=[round(PARTS * job["submit_time"]) for job in jobs], run=run, request=run, procs=own,
        job_id=np.arange(len(jobs)), extra={"min_procs": least, "max_procs": most},
    )  # fmt: skip


def after_each_event(jobs: st.Workload, cores: int) -> list[float]:
    """The starts, by number, if moldable jobs are looked at after each single end or submission."""
    least, most = jobs.extra["min_procs"].tolist(), jobs.extra["max_procs"].tolist()
    submit, own, run = (jobs.submit / PARTS).tolist(), jobs.procs.tolist(), jobs.run / PARTS
    events = [(when, 1, number, 0) for number, when in enumerate(submit)]
    start, free, waiting = [-1.0] * len(submit), cores, deque[int]()
    heapify(events)
    while events:
        now, submits, job, held = heappop(events)
        free += held
        if submits:
            waiting.append(job)
        while waiting and (size := min(free, most[waiting[0]])) >= least[waiting[0]]:
            job = waiting.popleft()
            start[job], free = now, free - size
            heappush(events, (now + run[job] * (own[job] / size), 0, job, size))
    return start


def cores(folder: Path) -> int:
    """How many nodes the platform has, each of which stands for a core."""
    found = re.search(r'radical="(\d+)-(\d+)"', (folder / "data/input/cirrus_cpu.xml").read_text())
    assert found is not None, f"{folder} has no range of nodes"
    return int(found[2]) - int(found[1]) + 1


def compare(clone: Path, kind: str) -> dict[str, Any]:
    """Both runs as numbers, in ElastiSim's units of time."""
    name, work = RUNS[kind]
    jobs = workload_of(clone / name, work)
    policy = parse_policy("fcfs") if kind == "rigid" else st.easy(backfill=first_come)
    machine = st.Cluster.pool(cores(clone / name))
    ours = simulate(jobs, machine, policy)
    with (clone / name / "data/output/job_statistics.csv").open() as file:
        rows = sorted(csv.DictReader(file), key=lambda row: int(row["ID"]))
    order = np.argsort(ours.job_id)
    start, end = (
        np.array([float(row[f"{what} Time"]) for row in rows]) for what in ("Start", "End")
    )
    submit = np.array([float(row["Submit Time"]) for row in rows])
    mine, until = ours.start[order] / PARTS, ours.end[order] / PARTS
    found = {
        "jobs": len(rows),
        "mean wait": ((start - submit).mean(), (mine - submit).mean()),
        "mean response": ((end - submit).mean(), (until - submit).mean()),
        "last end": (end.max(), until.max()),
        "equal starts": same(mine, start),
    }
    if kind == "moldable":
        number = jobs.take(np.arange(len(jobs)))
        assert (number.job_id == np.arange(len(jobs))).all(), "jobs are in order of submission"
        asked = np.array(after_each_event(jobs, machine.procs))
        found["mean wait if asked after each event"] = (
            (start - submit).mean(),
            (asked - submit).mean(),
        )
        found["equal starts if asked after each event"] = same(asked, start)
    return found


def same(ours: Any, theirs: Any) -> str:
    """How many starts are equal, and the first that is not."""
    other = np.flatnonzero(np.abs(ours - theirs) > 0.01)
    first = f", the first other one is job {other[0]}" if len(other) else ""
    return f"{len(ours) - len(other):,} of {len(ours):,}{first}"


def main() -> None:
    """Print both, a line a figure."""
    clone = Path(sys.argv[1])
    for kind in RUNS:
        found = compare(clone, kind)
        print(f"{kind}, {found.pop('jobs'):,} jobs: ElastiSim, Shadowtime")
        for what, value in found.items():
            pair = isinstance(value, tuple)
            print(f"  {what}:", ", ".join(f"{one:,.3f}" for one in value) if pair else value)


if __name__ == "__main__":
    main()
