"""From a compressed log to a cleaned workload."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.inputs import path_of, title_of
from benchmarks.rows import Row
from benchmarks.timing import best_cpu

from shadowtime.trace import read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def reading(folder: Path) -> Iterator[Row]:
    """Seconds of read(), the compiled parser being there."""
    path = path_of("SDSC-BLUE", folder)
    jobs = len(read(path))
    (seconds,) = best_cpu(lambda: partial(read, path), runs=7)
    yield Row(
        what=f"reading and cleaning {title_of('SDSC-BLUE')} (.swf.gz)",
        value=seconds, unit="s", bar=0.4, note=f"{jobs:,} jobs",
    )  # fmt: skip
