"""Policies of one's own: functions in slots, sets in Python and compiled, agents' decisions."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from math import log10, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.inputs import path_of
from benchmarks.rows import Row

import shadowtime as st
from shadowtime.api.sweep import load_log
from shadowtime.engine import simulate
from shadowtime.engine.episodes import Episodes
from shadowtime.study.sweep import Log
from shadowtime.workload.embedded import demo_workload
from shadowtime.workload.slicing import first_jobs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@st.order
def f1(now: int, job: Any) -> float:
    """F1 of Carastan-Santos and de Camargo, as a user writes it."""
    return -(log10(job.estimate) * job.procs + 870 * log10(max(1, job.submit)))


@st.order
def aged_area(now: int, job: Any) -> float:
    """An order that changes while jobs wait, so that every pass evaluates all of them."""
    return job.wait / sqrt(job.estimate * job.procs)


@st.order(memory=8)
def by_history(now: int, job: Any, user: Any) -> float:
    """Three reads of the memory for each job at every pass, each with its bounds checked."""
    return float(job.wait / (1 + user[0] + 0.5 * user[1] + 0.25 * user[int(job.procs) % 8]))


@by_history.learn  # type: ignore[untyped-decorator]
def _(now: int, job: Any, user: Any) -> None:
    user[0] += job.ran * job.procs / 1000
    user[1 + int(job.procs) % 7] += 1


@st.backfill_key
def least_area(now: int, job: Any) -> float:
    """SAF backfilling."""
    return -job.estimate * job.procs


@st.select(compiled=False)
def easy_in_python(now: int, jobs: Any, free: Any) -> None:
    """EASY over arrays, in Python."""
    room = int(free.level[0, 0])
    procs, estimate = jobs.procs.tolist(), jobs.estimate.tolist()
    head = 0
    while head < len(procs) and procs[head] <= room:
        room -= procs[head]
        jobs.start[head] = 1
        st.occupy(free, jobs.need[head], now, now + estimate[head])
        head += 1
    if head == len(procs) or room == 0 or min(procs[head:]) > room:
        return
    steps = int(free.count[0])
    level = free.level[:steps, 0]
    at = int(np.argmax(level >= procs[head]))
    left, extra = int(free.time[at]) - now, int(level[at]) - procs[head]
    for i in range(head + 1, len(procs)):
        if procs[i] <= room and (estimate[i] <= left or procs[i] <= extra):
            if estimate[i] > left:
                extra -= procs[i]
            room -= procs[i]
            jobs.start[i] = 1


def own(folder: Path) -> Iterator[Row]:
    """CPU seconds, in one process, so that other work on the machine does not count."""
    jobs, machine = load_log(Log.of(path_of("KTH", folder)))
    yield _own_function(jobs, machine, "an order written by a user (F1)", st.easy(order=f1), 5e5)
    keyed = st.easy(backfill=least_area)
    yield _own_function(jobs, machine, "a backfill key written by a user (SAF)", keyed, 6e5)
    aged = st.easy(order=aged_area)
    yield _own_function(jobs, machine, "an order that changes with every second", aged, None)
    kept = st.easy(order=by_history)
    yield _own_function(jobs, machine, "an order that reads a memory", kept, None)
    yield _small_runs()
    yield _second_process(folder)
    mine = st.easy(backfill=easy_in_python)
    same = simulate(jobs, machine, st.policy("easy")).start
    assert (simulate(jobs, machine, mine).start == same).all(), "easy in Python is not EASY"
    for policy, bar in ((mine, 25_000.0), *((st.policy(name), None) for name in COMPILED)):
        simulate(jobs, machine, policy)  # compiled, if it is
        begin = time.process_time()
        simulate(jobs, machine, policy)
        spent = time.process_time() - begin
        yield Row(
            what=f"KTH, {NAMES.get(policy.name, policy.name)}",
            value=1e6 * spent / len(jobs),
            unit="us/job",
            bar=None if bar is None else 1e6 / bar,
            note=f"{len(jobs) / spent:,.0f} jobs/s",
        )
    for mode in ("order", "backfill"):
        yield _decisions(jobs, machine, mode)


def _own_function(jobs: Any, machine: Any, what: str, policy: Any, bar: float | None) -> Row:
    """The best of five runs."""
    simulate(jobs, machine, policy)  # compiled
    rates = []
    for _ in range(5):
        begin = time.process_time()
        simulate(jobs, machine, policy)
        rates.append(len(jobs) / (time.process_time() - begin))
    return Row(
        what=f"KTH, {what}", value=max(rates), unit="jobs/s", bar=bar, at_least=True,
        note=f"{len(jobs):,} jobs, simulate()",
    )  # fmt: skip


def _small_runs() -> Row:
    jobs, policy = first_jobs(demo_workload(), 1000), st.easy(order=f1)
    machine = st.Cluster.pool(256)
    simulate(jobs, machine, policy)
    begin = time.process_time()
    for _ in range(500):
        simulate(jobs, machine, policy)
    rate = 500 / (time.process_time() - begin)
    return Row(
        what="simulations of 1,000 jobs with an order written by a user",
        value=rate, unit="runs/s", bar=500.0, at_least=True, note="one process",
    )  # fmt: skip


PROGRAM = """
import time, sys
import shadowtime as st

@st.order
def fresh(now, job):
    return -job.estimate * job.procs - {number} * job.submit

jobs = st.demo().take(range(500))
begin = time.process_time()
st.simulate(jobs, "pool:256", st.easy(order=fresh))
print(time.process_time() - begin)
"""


def _second_process(folder: Path) -> Row:
    """Files that a second process adds to the cache for a function that a first one compiled."""
    program = folder / "fresh.py"
    program.write_text(PROGRAM.format(number=time.time_ns() % 1_000_003))
    cache = folder / "cache"
    environment = {**os.environ, "SHADOWTIME_CACHE": str(cache)}
    spent, counts = [], []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, str(program)], env=environment, capture_output=True, text=True,
            check=True, timeout=900,
        )  # fmt: skip
        spent.append(float(done.stdout))
        counts.append(sum(path.is_file() for path in cache.rglob("*")))
    return Row(
        what="files that a second process compiles for a function of a user's own",
        value=counts[1] - counts[0], unit="files", bar=0.0,
        note=f"first {spent[0]:.1f} s of CPU and {counts[0]} files, second {spent[1]:.2f} s",
    )  # fmt: skip


COMPILED = ("los", "priority-conservative")
NAMES = {"easy(backfill=easy_in_python)": "easy written in Python over arrays"}
LANES, WINDOW, SLOTS = 64, 256, 128


def _decisions(jobs: Any, machine: Any, mode: str) -> Row:
    """The first possible action in all lanes at once, without the cost of an agent."""
    made = Episodes(
        jobs, machine, mode=mode, window=WINDOW, slots=SLOTS, lanes=LANES, windows=128, seed=1
    )
    made.reset(seed=1)
    zeros = np.zeros(LANES, np.int64)
    made.step(zeros)
    before = made.decisions
    begin = time.process_time()
    while time.process_time() - begin < 2.0:
        for _ in range(100):
            made.step(zeros)
    spent = time.process_time() - begin
    rate = (made.decisions - before) / spent
    return Row(
        what=f"an agent's decisions, mode {mode}: {LANES} windows of {WINDOW} jobs side by side",
        value=1e6 / rate, unit="us", bar=10.0, note=f"{rate:,.0f} decisions/s on one core",
    )  # fmt: skip
