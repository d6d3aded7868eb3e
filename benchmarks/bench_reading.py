"""From a log to a cleaned workload: a compressed one, and a million lines of two formats."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.bench_memory import peak_megabytes
from benchmarks.inputs import generated, path_of, title_of
from benchmarks.rows import Row
from benchmarks.timing import best_cpu, python

from shadowtime.trace import read

if TYPE_CHECKING:
    from collections.abc import Iterator

LINES = 1_000_000


def reading(folder: Path) -> Iterator[Row]:
    """Seconds of read(), the compiled parser being there."""
    from shadowtime.trace import write_swf

    path = path_of("SDSC-BLUE", folder)
    jobs = len(read(path))
    (seconds,) = best_cpu(lambda: partial(read, path), runs=7)
    yield Row(
        what=f"reading and cleaning {title_of('SDSC-BLUE')} (.swf.gz)",
        value=seconds, unit="s", bar=0.4, note=f"{jobs:,} jobs",
    )  # fmt: skip
    swf, export = folder / "lines.swf", folder / "lines.psv"
    write_swf(generated(LINES, 0.9), swf)
    write_export(export, LINES)
    here = str(Path(__file__))
    for what, file, goal in (("SWF", swf, 0.4), ("sacct", export, 4.0)):
        runs = [python([here, str(file)]).output.split() for _ in range(2)]
        yield Row(
            what=f"reading and cleaning {LINES:,} lines of {what}",
            value=min(float(seconds) for seconds, _ in runs), unit="s", goal=goal,
            note="in a process of its own, without start-up and loading the compiled parser",
        )  # fmt: skip
        yield Row(
            what=f"peak memory, reading {LINES:,} lines of {what}",
            value=min(float(megabytes) for _, megabytes in runs), unit="MB", goal=1000.0, clock="-",
        )  # fmt: skip


def write_export(path: Path, lines: int) -> None:
    """An export as our own command writes it: 300 users, every third job a task of an array."""
    from shadowtime.slurmtext.sacct_rows import RECOMMENDED

    rng = random.Random(1)
    time_ = 1_700_000_000
    with path.open("w") as file:
        file.write("|".join(RECOMMENDED.split(",")) + "\n")
        for job in range(1000, 1000 + lines):
            time_ += rng.randrange(60)
            start, run = time_ + rng.randrange(5000), rng.randrange(1, 40000)
            user, cpus = rng.randrange(300), 1 << rng.randrange(7)
            nodes = max(1, cpus // 16)
            memory = cpus * (2 << rng.randrange(3))
            gpus = f",gres/gpu={nodes}" if rng.random() < 0.2 else ""
            tres = f"billing={cpus},cpu={cpus}{gpus},mem={memory}G,node={nodes}"
            shown = str(job) if job % 3 else f"{job - job % 51}_{job % 51}"
            low = rng.randrange(200)
            hosts = f"n{low:03}" if nodes == 1 else f"n[{low}-{low + nodes - 1}]"
            state = rng.choice(("COMPLETED",) * 6 + ("FAILED", "TIMEOUT", f"CANCELLED by {user}"))
            words = (
                job, shown, "c1", rng.choice(("batch", "long", "gpu")), "normal",
                f"account{user % 40}", f"user{user}", time_, time_, start, start + run, run,
                "00:00:00", rng.choice((60, 120, 1440, 2880)), state, "0:0",
                rng.randrange(4_294_900_000), rng.choice(("SchedMain", "SchedBackfill")),
                rng.choice(("None", "Priority", "Resources")), nodes, cpus, cpus, f"{memory}G",
                tres, tres, "", "", hosts, f"job_{rng.randrange(5000)}",
            )  # fmt: skip
            file.write("|".join(map(str, words)) + "\n")


def load_parser(path: Path) -> None:
    """Read the first lines of a log, so that what reads the rest is there."""
    with tempfile.TemporaryDirectory() as folder, path.open() as file:
        few = Path(folder) / path.name
        few.write_text("".join(islice(file, 100)))
        read(few)


if __name__ == "__main__":
    load_parser(Path(sys.argv[1]))
    before = time.process_time()
    read(sys.argv[1])
    print(time.process_time() - before, peak_megabytes())
