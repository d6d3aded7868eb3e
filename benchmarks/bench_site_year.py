"""A year of a site: a million jobs on 1,000 mixed nodes with 41 partitions; a large CSV.

Reading the folder and examining it with the doctor, each in a process of its own.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.bench_memory import peak_megabytes
from benchmarks.rows import Row
from benchmarks.timing import python

if TYPE_CHECKING:
    from collections.abc import Iterator

JOBS, NODES, GROUPS = 1_000_000, 1_000, 40
USERS, REQUESTS = 500, 20_000
"""Who submits, and how many different requests they make."""
TABLE = 100_000_000
"""Bytes of CSV."""
BARS = {"read": 10.0, "doctor": 30.0}
"""Seconds of CPU time."""
BEGIN = 1_700_000_000


def site_year(folder: Path) -> Iterator[Row]:
    """CPU time and peak memory of reading and of the doctor; peak memory of 100 MB of CSV."""
    year = folder / "year"
    write_year(year, JOBS)
    here = str(Path(__file__))
    for what, bar in BARS.items():
        seconds, megabytes = map(float, python([here, what, str(year)]).output.split()[-2:])
        yield Row(
            what=f"a year of {JOBS:,} jobs on {NODES:,} nodes, {GROUPS + 1} partitions: {what}",
            value=seconds, unit="s", bar=bar,
        )  # fmt: skip
        yield Row(
            what=f"the same, peak memory: {what}", value=megabytes, unit="MB", bar=1500.0, clock="-"
        )
    table = folder / "table.csv"
    write_table(table, TABLE)
    _, megabytes = map(float, python([here, "table", str(table)]).output.split()[-2:])
    yield Row(
        what=f"peak memory, {TABLE // 1_000_000} MB of CSV", value=megabytes, unit="MB", bar=500.0,
        clock="-",
    )  # fmt: skip


def write_year(folder: Path, jobs: int, *, seed: int = 1) -> None:
    """The folder of a site as `shadowtime pull slurm` leaves it."""
    from shadowtime.slurmtext.sacct_rows import BETWEEN, RECOMMENDED

    folder.mkdir(parents=True)
    rng = random.Random(seed)
    kinds = [(32, 128, 0, "thin"), (64, 512, 0, "fat"), (64, 512, 4, "gpu"), (128, 1024, 8, "gpu")]
    size = NODES // GROUPS
    with (folder / "nodes.txt").open("w") as file:
        for at in range(NODES):
            cpus, memory, gpus, feature = kinds[at // size % 4]
            gres = f"gpu:{gpus}" if gpus else "(null)"
            file.write(
                f"NodeName=n{at:04} Arch=x86_64 CoresPerSocket={cpus // 2} CPUAlloc=0 CPUTot={cpus}"
                f" AvailableFeatures={feature},rack{at % 20} Gres={gres} RealMemory={memory * 1000}"
                f" Sockets=2 ThreadsPerCore=1 State=IDLE Weight={1 + at // size % 4}\n"
            )
    with (folder / "partitions.txt").open("w") as file:
        spans = [f"n[{at * size:04}-{at * size + size - 1:04}]" for at in range(GROUPS)]
        for name, nodes in [*zip(map("p{}".format, range(GROUPS)), spans, strict=True),
                            ("all", f"n[0000-{NODES - 1:04}]")]:  # fmt: skip
            file.write(
                f"PartitionName={name} Nodes={nodes} MaxTime=14-00:00:00 State=UP Default=NO "
                "AllowGroups=ALL MaxNodes=UNLIMITED DefMemPerCPU=2000 PriorityTier=1\n"
            )
    (folder / "config.txt").write_text(
        "SelectType = select/cons_tres\nSelectTypeParameters = CR_CORE_MEMORY\n"
        "PriorityType = priority/multifactor\nSLURM_VERSION = 24.11.5\n"
    )
    habits = [[_habit(rng, kinds) for _ in range(REQUESTS // USERS)] for _ in range(USERS)]
    moment = BEGIN
    with (folder / "jobs.psv").open("w") as file:
        file.write(BETWEEN.join(RECOMMENDED.split(",")) + "\n")
        for job in range(1, jobs + 1):
            moment += rng.randrange(63)
            start, run = moment + rng.randrange(20_000), rng.randrange(1, 40_000)
            user = int(rng.paretovariate(0.8)) % USERS
            group, cpus, nodes, memory, gpus = rng.choice(habits[user])
            partition = f"p{group}" if group < GROUPS else "all"
            tres = f"billing={cpus},cpu={cpus}{gpus},mem={memory}M,node={nodes}"
            low = group * size if group < GROUPS else 0
            first = low + rng.randrange(max(size - nodes, 1))
            hosts = f"n{first:04}" if nodes == 1 else f"n[{first:04}-{first + nodes - 1:04}]"
            state = rng.choice(("COMPLETED",) * 6 + ("FAILED", "TIMEOUT", f"CANCELLED by {user}"))
            line = f"sbatch -p {partition} -n {cpus} -N {nodes} --mem-per-cpu={memory // cpus}"
            line += f" run-{user}-{rng.randrange(5)}.sh"
            words = (
                job, job, "c1", partition, "normal", f"account{user % 60}", f"user{user}", moment,
                moment, start, start + run, run, "00:00:00", rng.choice((60, 240, 1440, 2880)),
                state, rng.randrange(1_000_000), rng.choice(("SchedMain", "SchedBackfill")),
                "None", nodes, cpus, cpus, f"{memory}M", tres, tres, "", "", hosts,
                f"job{rng.randrange(5000)}", line, "0:0",
            )  # fmt: skip
            file.write(BETWEEN.join(map(str, words)) + "\n")


def _habit(rng: random.Random, kinds: list[tuple[int, int, int, str]]) -> tuple[Any, ...]:
    """What a user asks for again and again: partition, cpus, nodes, memory, the GPUs' TRES."""
    group = rng.randrange(GROUPS + 1)
    least, _, most, _ = kinds[group % 4] if group < GROUPS else kinds[0]
    cpus = min(1 << rng.randrange(8), least * 4)
    nodes = -(-cpus // least)
    memory = cpus * rng.randrange(500, 3900)
    gpus = f",gres/gpu={nodes}" if most and rng.random() < 0.7 else ""
    return group, cpus, nodes, memory, gpus


def write_table(path: Path, size: int) -> None:
    """Jobs with a site's own columns, until there are so many bytes."""
    rng, moment, job, written = random.Random(2), BEGIN, 0, 0
    Path(f"{path}.map.toml").write_text(
        'job_id = "id"\nsubmit = "queued"\nstart = "began"\nend = "ended"\nrequest = "limit"\n'
        'procs = "cores"\nuser = "who"\naccount = "project"\npartition = "queue"\n'
        'gpus = "gpus"\npriority = "prio"\n'
    )
    with path.open("w") as file:
        file.write("id,who,project,queue,queued,began,ended,limit,cores,gpus,prio\n")
        while written < size:
            job, moment = job + 1, moment + rng.randrange(60)
            start, run, who = moment + rng.randrange(5000), rng.randrange(1, 90_000), rng.random()
            written += file.write(
                f"{job},user{int(who * 900):04},project{int(who * 90):04},q{job % 9},{moment},"
                f"{start},{start + run},{run + 3600},{1 << job % 7},{job % 3},{job % 99_991}\n"
            )


def measure(what: str, path: str) -> None:
    """One of them in this process; prints seconds of CPU time and megabytes."""
    from datetime import date

    from shadowtime.study.site.doctor import examine
    from shadowtime.trace import read
    from shadowtime.trace.site_folder import read_site

    before = time.process_time()
    if what == "doctor":
        examine(Path(path), today=date(2026, 1, 1))
    elif what == "read":
        read_site(path)
    else:
        read(path)
    print(time.process_time() - before, peak_megabytes())


if __name__ == "__main__":
    measure(sys.argv[1], sys.argv[2])
