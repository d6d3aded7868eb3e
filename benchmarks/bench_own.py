"""Policies of one's own: functions that choose sets, in Python and compiled; agents' decisions."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.inputs import path_of
from benchmarks.rows import Row

import shadowtime as st
from shadowtime.api.sweep import load_log
from shadowtime.engine import simulate
from shadowtime.engine.episodes import Episodes
from shadowtime.study.sweep import Log

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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


COMPILED = ("los", "priority-conservative")
NAMES = {"easy(backfill=easy_in_python)": "easy written in Python over arrays"}
LANES, WINDOW, SLOTS = 64, 256, 128


def _decisions(jobs: Any, machine: Any, mode: str) -> Row:
    """The first possible action in all lanes at once: what an agent costs is left out."""
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
