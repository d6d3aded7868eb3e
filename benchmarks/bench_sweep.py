"""Sweeps: what they cost over bare simulations, and a million rows collected and grouped."""

from __future__ import annotations

import hashlib
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.inputs import log_path
from benchmarks.rows import Row

from shadowtime.api.sweep import load_log
from shadowtime.engine import simulate
from shadowtime.metrics import measure
from shadowtime.study.replicas import Replicas
from shadowtime.study.sweep import Log, Plan, Shards, run_plan
from shadowtime.workload.embedded import demo_workload
from shadowtime.workload.slicing import first_jobs

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS, EACH = 1_000_000, 1000


def sweep(folder: Path) -> Iterator[Row]:
    """CPU seconds and ratios in one process, so that other work on the machine does not count."""
    path = log_path("KTH")
    if path is not None:
        yield _overhead(path)
    yield _many()
    yield _collected()


def _overhead(path: Path) -> Row:
    jobs, machine = load_log(Log.of(path))
    while True:  # about 0.05 s a run
        begin = time.process_time()
        measure(simulate(jobs, machine, _easy()), jobs, machine)
        spent = time.process_time() - begin
        if spent < 0.07 or len(jobs) < 2000:
            break
        jobs = first_jobs(jobs, len(jobs) * 2 // 3)
    plan = Plan.of([Log.of(jobs, machine)], ["easy"], shake=40)
    swept = []
    for _ in range(2):  # the first one also loads what writes the shards
        with tempfile.TemporaryDirectory() as place:
            begin = time.process_time()
            run_plan(plan, place, load=load_log, workers=1)
            swept.append(time.process_time() - begin)
    replicas = Replicas("shaken", 40, 1)
    begin = time.process_time()
    for case in plan.cases():
        copy = replicas.make(jobs, machine, case.load, case.copy)
        measure(simulate(copy, machine, _easy()), copy, machine)
    bare = time.process_time() - begin
    return Row(
        what="sweep: CPU over that of the bare simulations",
        value=swept[1] / bare, unit="x", bar=1.1,
        note=f"41 runs of {bare / 41:.3f} s, one process; {swept[0] / bare:.2f} x with imports",
    )  # fmt: skip


def _many() -> Row:
    jobs = first_jobs(demo_workload(), 1000)
    plan = Plan.of([Log.of(jobs, "pool:256")], ["easy"], shake=9_999)
    with tempfile.TemporaryDirectory() as place:
        begin = time.process_time()
        done = run_plan(plan, place, load=load_log, workers=1)
        spent = time.process_time() - begin
    assert (done.ran, done.failed) == (10_000, 0)
    return Row(
        what="sweep: 10,000 simulations of 1,000 jobs with all metrics",
        value=spent, unit="s", bar=30.0, note="CPU, one process",
    )  # fmt: skip


def _collected() -> Row:
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as place:
        shards = Shards(Path(place))
        shards.make()
        for unit in range(ROWS // EACH):
            values = rng.random((EACH, 3))
            shards.write(
                [
                    {
                        "key": hashlib.md5(b"%d-%d" % (unit, k)).hexdigest(), "log": "log",
                        "trace": "t", "machine": "pool:1", "policy": f"p{k % 20}",
                        "template": "p", "policy_digest": "d", "load": "1", "kind": "shaken",
                        "copy": unit, "seed": 1, "window": "all jobs", "semantics": 1,
                        "bsld_mean": values[k, 0], "wait_mean_s": values[k, 1],
                        "utilisation": values[k, 2],
                    }
                    for k in range(EACH)
                ]
            )  # fmt: skip
        begin, worked = time.perf_counter(), time.process_time()
        table = shards.collect()
        means = table.group_by("policy").aggregate([("bsld_mean", "mean"), ("wait_mean_s", "mean")])
        spent, worked = time.perf_counter() - begin, time.process_time() - worked
    assert (table.num_rows, means.num_rows) == (ROWS, 20)
    return Row(
        what="sweep: 1,000,000 rows of 1,000 shards collected, sorted and grouped",
        value=spent, unit="s", bar=5.0, note=f"wall clock, three metrics; {worked:.1f} s of CPU",
    )  # fmt: skip


def _easy() -> object:
    from shadowtime.policy import parse_policy

    return parse_policy("easy")
