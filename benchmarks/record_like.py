"""Record a run of Slurm's own scheduler that resembles a recorded one, and check the model on it.

    .venv/bin/python benchmarks/record_like.py RECORDING FOLDER --set SelectTypeParameters=CR_LLN
    .venv/bin/python benchmarks/record_like.py RECORDING FOLDER --scheduler bf_max_job_start=2
    .venv/bin/python benchmarks/record_like.py RECORDING FOLDER --again --slurm 26.05

Nodes, partitions, accounts and QOS are those of RECORDING; jobs are drawn anew from its
submissions, with other run times in another order, so that nothing of the model can have been
fitted to them. ``--set`` replaces settings of slurm.conf, ``--scheduler`` adds to
SchedulerParameters, ``--ask`` lets half of the jobs ask for memory, licences, features (a, b and
c, as recording K has) or a part of a node. ``--again`` submits the very jobs of RECORDING at their
times, each as long as it ran: the daemon against itself, to which the model's error compares.
``--slurm`` is another version than the system's.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shadowtime.slurm.recording.check import check_recording
from shadowtime.testing.slurm import SlurmCluster, slurm_root
from shadowtime.testing.slurm_recording import Submission, record

if TYPE_CHECKING:
    from collections.abc import Sequence

KEPT = ("SelectType", "Scheduler", "Priority", "Preempt", "AccountingStorageEnforce", "GresTypes")
KEPT += ("TopologyPlugin", "NodeName", "PartitionName", "Licenses", "DefMem", "EnforcePart")
"""Lines of the recording's slurm.conf that are taken over."""
OWN = ("SelectType", "Scheduler", "PriorityType", "NodeName", "PartitionName", "GresTypes")
OWN += ("AccountingStorageEnforce", "MinJobAge")
"""Lines of the private cluster's slurm.conf that make room for them."""
ASKS = {
    "memory": ("--mem=4000", "--mem=9000", "--mem-per-cpu=2500", "--mem-per-cpu=900"),
    "licences": ("-L matlab:1", "-L matlab:2", "-L abaqus:3", "-L matlab:1,abaqus:2"),
    "features": ("-C [a|b]", "-C [a|c]", "-C [b|c]", "-C a|c", "-C b&c"),
    "cpus": tuple(f"-n {count}" for count in (1, 2, 4, 6, 8, 12, 20, 33)),
}
STEP = 0.1
"""Seconds that a job lasts beyond its sleep."""
QOS_LIMITS = ("Priority", "Preempt", "PreemptMode", "GrpTRES", "GrpTRESMins", "GrpTRESRunMins")
QOS_LIMITS += ("GrpJobs", "MaxTRESPU", "MaxJobsPU")
ACCOUNT_LIMITS = ("GrpTRES", "GrpTRESMins", "GrpTRESRunMins", "GrpJobs", "MaxJobs", "MaxTRES")


@dataclass(frozen=True, kw_only=True)
class Variant:
    """How the new run differs from the recorded one."""

    seed: int
    jobs: int
    pace: float
    """Factor for run times and times between submissions."""
    settings: dict[str, str]
    scheduler: str
    asks: str
    again: bool = False
    """The recorded submissions as they were."""
    slurm: str = ""
    """Another version than the system's."""


def again(base: Path) -> list[Submission]:
    """The recorded submissions, each as long as sacct says that it ran."""
    ran: dict[str, float] = {}
    for row in _rows(base / "jobs.psv"):  # the tasks of an array sleep alike
        ran.setdefault(row["JobID"].partition("_")[0], float(row["ElapsedRaw"]))
    lines = [line.split("|", 4) for line in (base / "submits.psv").read_text().splitlines()[1:]]
    first = float(lines[0][2])
    return [
        Submission(
            at=float(at) - first,
            seconds=max(ran.get(job, 1.0) - STEP, 0.1),
            options=tuple(re.sub(r" -J \S+", "", words).split()),
        )
        for _, job, at, _, words in lines
    ]


def draw(base: Path, variant: Variant) -> list[Submission]:
    """Submissions drawn with replacement, with run times scaled by 0.6 to 1.5."""
    coin = random.Random(variant.seed)
    work = json.loads((base / "workload.json").read_text())["jobs"]
    lines = [line.split("|", 4) for line in (base / "submits.psv").read_text().splitlines()[1:]]
    span = work[-1]["at"] * variant.pace * variant.jobs / len(work)
    drawn = []
    for at in sorted(coin.uniform(0, span) for _ in range(variant.jobs)):
        number, _, _, _, words = coin.choice(lines)
        # Holds and dependencies name other jobs of the recording.
        words = re.sub(r" (-J \S+|-H|--dependency=\S+)", "", words)
        options = words.split()
        if variant.asks and coin.random() < 0.5:
            options = asking(options, coin.choice(ASKS[variant.asks]).split())
        seconds = max(2.0, work[int(number)]["run"] * variant.pace * coin.uniform(0.6, 1.5))
        drawn.append(Submission(at=at, seconds=round(seconds, 1), options=tuple(options)))
    return drawn


def asking(options: list[str], wish: list[str]) -> list[str]:
    """The options with another request; cpus replace whole nodes.

    >>> asking(["-t", "2", "-N", "3", "--exclusive"], ["-n", "4"])
    ['-t', '2', '-n', '4']
    """
    if wish[0] == "-n":
        if "--exclusive" not in options:
            return options
        text = re.sub(r" -N \S+| --exclusive", "", " " + " ".join(options))
        return [*text.split(), *wish]
    if wish[0] == "-C":
        kept = re.sub(
            r" (-C|-w|-x|--constraint|--nodelist|--exclude)[ =]\S+", "", " " + " ".join(options)
        )
        return [*kept.split(), *wish]
    exclusive = "--exclusive" in options and wish[0].startswith("--mem-per-cpu")
    return options if exclusive or "--mem" in " ".join(options) else [*options, *wish]


def configure(cluster: SlurmCluster, base: Path, variant: Variant) -> None:
    """Put the recording's machine and settings into the private cluster's configuration."""
    used = cluster.port + 2
    lines = []
    for line in (base / "slurm.conf").read_text().splitlines():
        name = line.partition("=")[0]
        if not line.startswith(KEPT) or name in variant.settings:
            continue
        if name == "SchedulerParameters" and variant.scheduler:
            line += f",{variant.scheduler}"
        if name == "NodeName":
            first, last = map(int, re.findall(r"\[(\d+)-(\d+)\]", line)[0])
            ports = f"[{used}-{used + last - first}]"
            used += last - first + 1
            line = re.sub(r"Port=\S+", f"Port={ports}", line)
        lines.append(line)
    lines += [f"{name}={value}" for name, value in variant.settings.items()]
    debug = "Backfill,HetJob" + ",Priority" * any("multifactor" in line for line in lines)
    lines += ["MinJobAge=7200", "SlurmctldDebug=verbose", f"DebugFlags={debug}"]
    kept = [line for line in cluster.conf.read_text().splitlines() if not line.startswith(OWN)]
    cluster.conf.write_text("\n".join([*kept, *sorted(lines, key=_last)]) + "\n")
    for name in ("gres.conf", "topology.conf"):
        if (base / name).exists():
            shutil.copyfile(base / name, cluster.conf.parent / name)


def _last(line: str) -> int:
    """Nodes come behind the settings, partitions behind the nodes."""
    return line.startswith("NodeName") + 2 * line.startswith("PartitionName")


def add_accounts(cluster: SlurmCluster, base: Path) -> None:
    """The recording's QOS and accounts, all below the root."""
    kinds = list(_rows(base / "qos.txt"))
    for row in kinds:
        cluster.run("sacctmgr", "-i", "add", "qos", row["Name"], check=False)
    for row in kinds:
        words = [f"{name}={row[name]}" for name in QOS_LIMITS if row.get(name)]
        cluster.run("sacctmgr", "-i", "modify", "qos", row["Name"], "set", *words, check=False)
    every = ",".join(row["Name"] for row in kinds)
    for row in _rows(base / "associations.txt"):
        if row["Account"] == "root":
            continue
        words = [f"{name}={row[name]}" for name in ACCOUNT_LIMITS if row.get(name)]
        words += [f"qos={every}", f"Fairshare={row.get('Share') or 1}"]
        what = ("user", row["User"], f"account={row['Account']}")
        who = what if row["User"] else ("account", row["Account"])
        cluster.run("sacctmgr", "-i", "add", *who, *words, check=False)


def _rows(path: Path) -> list[dict[str, str]]:
    head, *lines = path.read_text().splitlines()
    return [dict(zip(head.split("|"), line.split("|"), strict=False)) for line in lines]


def record_like(base: Path, folder: Path, variant: Variant) -> None:
    """Run the variant on a private cluster and write the recording."""
    conf = (base / "slurm.conf").read_text()
    sizes = re.findall(r"^NodeName=\w*\[(\d+)-(\d+)\]", conf, re.MULTILINE)
    nodes = sum(int(last) - int(first) + 1 for first, last in sizes)
    with tempfile.TemporaryDirectory(prefix="shadowtime-record-") as work:
        root = slurm_root(variant.slurm) if variant.slurm else None
        cluster = SlurmCluster(folder=Path(work), nodes=nodes, gres=0, accounting=True, root=root)
        cluster.make()
        configure(cluster, base, variant)
        try:
            cluster.start()
            add_accounts(cluster, base)
            jobs = again(base) if variant.again else draw(base, variant)
            record(cluster, jobs, folder, lenient=True)
            for name in ("qos", "associations"):
                shown = {"qos": "qos", "associations": "assoc"}[name]
                columns = (base / f"{name}.txt").read_text().splitlines()[0]
                words = columns.replace("Def QOS", "DefaultQOS").replace("|", ",")
                text = cluster.run("sacctmgr", "-P", "show", shown, f"format={words}")
                (folder / f"{name}.txt").write_text(text)
        finally:
            cluster.stop()


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Record a run like a recorded one.")
    parser.add_argument("recording", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pace", type=float, default=0.55, help="factor for all times")
    parser.add_argument("--set", action="append", default=[], help="NAME=VALUE of slurm.conf")
    parser.add_argument("--scheduler", default="", help="added to SchedulerParameters")
    parser.add_argument("--ask", choices=sorted(ASKS), default="", help="what half of them ask for")
    parser.add_argument("--again", action="store_true", help="the recorded submissions themselves")
    parser.add_argument("--slurm", default="", help="a fetched version, instead of the system's")
    given = parser.parse_args(words)
    variant = Variant(
        seed=given.seed,
        jobs=given.jobs,
        pace=given.pace,
        settings=dict(one.split("=", 1) for one in given.set),
        scheduler=given.scheduler,
        asks=given.ask,
        again=given.again,
        slurm=given.slurm,
    )
    record_like(given.recording, given.folder, variant)
    found = check_recording(given.folder)
    print(f"passes {found.passes}, left out {found.left_out}")
    print(f"plans {found.plans_equal} of {found.plans} equal")
    print(f"backfill starts {found.starts_equal} of {found.starts}, too many {found.extra_starts}")
    print(f"main starts {found.main_starts_equal} of {found.main_starts}")
    print(f"victims {found.victims_equal} of {found.victims}")
    for note in found.lacking:
        print(note)


if __name__ == "__main__":
    main()
