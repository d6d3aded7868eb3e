"""The metadata of a large sweep: a million runs on a thousand tasks, without the simulations.

Every task computes its stretch of the plan, looks up what is done and writes its shards, as
``sweep run --shard I/1000`` does; the numbers in the rows are random.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.rows import Row

from shadowtime.study.sweep import Log, Plan, Shards
from shadowtime.study.sweep import shards as index_of
from shadowtime.study.sweep.run import split
from shadowtime.workload.embedded import demo_workload
from shadowtime.workload.slicing import first_jobs

if TYPE_CHECKING:
    from collections.abc import Iterator

TASKS, COPIES = 1000, 9999
METRICS = ("bsld_mean", "utilisation", "wait_mean_s")


def metadata(folder: Path) -> Iterator[Row]:
    """CPU seconds of what surrounds a million runs, in one process."""
    jobs = first_jobs(demo_workload(), 1000)
    with tempfile.TemporaryDirectory() as place:
        shards = Shards(Path(place))
        shards.make()
        rng = np.random.default_rng(1)
        written = starts = 0.0
        for task in range(1, TASKS + 1):
            begin = time.process_time()
            plan = Plan.of([Log.of(jobs, "pool:256")], ["easy(reserve=1..100)"], shake=COPIES)
            cases = list(plan.cases(f"{task}/{TASKS}"))
            starts += time.process_time() - begin
            begin = time.process_time()
            index_of.WRITERS.clear()  # another process
            for unit in split(cases, workers=1, jobs={}):
                values = rng.random((len(unit), len(METRICS))).tolist()
                rows = zip(unit, values, strict=True)
                shards.write(
                    [case.row() | dict(zip(METRICS, row, strict=True)) for case, row in rows]
                )
            written += time.process_time() - begin
        runs = len(list(plan.keys()))
        files = [path for path in Path(place).rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        spent, done = _looked_up(shards)
        assert len(done) == runs == 1_000_000
        yield Row(
            what="sweep: what is done of 1,000,000 runs of 1,000 tasks",
            value=spent, unit="s", bar=5.0, note="CPU, with the index; each task does this once",
        )  # fmt: skip
        yield Row(
            what="sweep: the plan of one of 1,000 tasks, its 1,000 runs with their keys",
            value=starts / TASKS, unit="s", bar=1.0, note="CPU, 100 policies x 10,000 copies",
        )  # fmt: skip
        count, index = len(shards.files()), Path(place) / index_of.FOLDER
        yield Row(
            what="sweep: writing 1,000,000 rows and their index",
            value=written, unit="s", bar=120.0,
            note=f"CPU; {count:,} shards, {len(list(index.iterdir())):,} files of the index, "
            f"{size / 2**20:,.0f} MiB",
        )  # fmt: skip
        begin = time.process_time()
        shards.collect()
        yield Row(
            what="sweep: 1,000,000 rows of these shards collected and sorted",
            value=time.process_time() - begin, unit="s", bar=30.0, note="CPU, three metrics",
        )  # fmt: skip
        shutil.rmtree(index)
        spent, done = _looked_up(shards)
        yield Row(
            what="sweep: what is done, in a folder without an index",
            value=spent, unit="s", bar=60.0, note="CPU; opens every shard, and writes the index",
        )  # fmt: skip


def _looked_up(shards: Shards) -> tuple[float, dict[str, bool]]:
    begin = time.process_time()
    done = shards.done()
    return time.process_time() - begin, done
