"""The performance store with a million records, and the HPerf thesis reproduced."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.rows import Row

from shadowtime.hperf import Record, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORDS, TAGS, BATCH = 1_000_000, 15, 50_000


def store(folder: Path) -> Iterator[Row]:
    """Seconds of the average by tag on SQLite, opening included and not."""
    with tempfile.TemporaryDirectory() as place:
        path = str(Path(place) / "store.sqlite")
        made = open_store(path)
        begin = time.perf_counter()
        for first in range(0, RECORDS, BATCH):
            made.add(
                Record(tag=f"tag{i % TAGS}", bandwidth=float(i % 5000), key=str(i))
                for i in range(first, first + BATCH)
            )
        filled = time.perf_counter() - begin
        asked = []
        for i in range(200):
            begin = time.perf_counter()
            found = made.average(f"tag{i % TAGS}")
            asked.append(time.perf_counter() - begin)
        assert found is not None and found.records >= RECORDS // TAGS
        yield Row(
            what="hperf store: average by tag among 1,000,000 records (SQLite)",
            value=sorted(asked)[len(asked) // 2], unit="s", bar=0.005,
            note=f"median of 200, the slowest {1000 * max(asked):.1f} ms; {filled:.0f} s to fill",
        )  # fmt: skip


def hperf_paper(folder: Path) -> Iterator[Row]:
    """Seconds of `shadowtime paper hperf`, 30 draws, compiled before."""
    command = [sys.executable, "-m", "shadowtime", "paper", "hperf", "--json"]
    subprocess.run([*command, "--seeds", "1", "--quick"], check=True, capture_output=True)
    begin = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    yield Row(
        what="shadowtime paper hperf, 30 draws",
        value=time.perf_counter() - begin, unit="s", bar=60.0, note="wall clock",
    )  # fmt: skip
