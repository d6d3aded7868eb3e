"""Record a run of Slurm's own scheduler in a folder that ``shadowtime check slurm`` reads."""

from __future__ import annotations

import math
import random
import re
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from shadowtime.errors import UsageError
from shadowtime.slurmtext.sacct_rows import RECOMMENDED
from shadowtime.testing.slurm import SlurmCluster, wait_for

SETTINGS = (
    "SchedulerType=sched/backfill",
    "SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2,bf_resolution=1",
    "SlurmctldDebug=verbose",
    "DebugFlags=Backfill,HetJob",
)
"""Slurm's backfill with times compressed, every plan in the log (24.11 writes them at verbose), and
every start (26.05 writes those of backfill with HetJob alone)."""
SAMPLED = 60.0
"""Seconds between two looks at what running jobs hold."""


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A job to submit: when (seconds after the first), how long it sleeps, sbatch's options."""

    at: float
    seconds: float
    options: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Act:
    """What an operator does: when (seconds after the first submission), and the command.

    ``{3}`` in a word stands for the id of the fourth job.
    """

    at: float
    words: tuple[str, ...]


def draw_jobs(
    seed: int, count: int, *, nodes: int, cpus: int, load: float = 1.2, mean: float = 6.0
) -> list[Submission]:
    """Jobs of whole nodes and of some cpus, with limits of one to six minutes.

    ``load`` is the offered load, ``mean`` the mean run in seconds.

    Examples
    --------
    >>> jobs = draw_jobs(1, 100, nodes=8, cpus=16)
    >>> len(jobs), jobs == draw_jobs(1, 100, nodes=8, cpus=16)
    (100, True)
    """
    coin = random.Random(seed)
    jobs = []
    at = 0.0
    for _ in range(count):
        limit = coin.choice((1, 1, 2, 3, 6))
        seconds = round(min(4 * mean, 1 + coin.expovariate(1 / (mean - 1))), 1)
        if coin.random() < 0.6:
            wanted = coin.choice((1, 1, 2, 2, 3, max(1, nodes // 2)))
            options = ("-N", str(wanted), "--exclusive")
            share = wanted / nodes
        else:
            wanted = coin.choice((1, 2, cpus // 2, cpus, 2 * cpus))
            options = (
                "-n",
                str(wanted),
                *(("-N", "1") if coin.random() < 0.3 * (wanted <= cpus) else ()),
            )
            share = wanted / (nodes * cpus)
        jobs.append(Submission(at=at, seconds=seconds, options=("-t", str(limit), *options)))
        at += share * seconds / load
    return jobs


def record(
    cluster: SlurmCluster,
    jobs: Sequence[Submission],
    folder: Path,
    *,
    acts: Sequence[Act] = (),
    lenient: bool = False,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Submit the jobs at their times, wait for the last end, and write the recording.

    ``acts`` are done meanwhile, whether Slurm accepts them or not. ``lenient``: jobs that Slurm
    rejects are left out, and jobs that still wait a minute and more after the last submission are
    cancelled, where both would end the recording.
    """
    folder.mkdir(parents=True, exist_ok=True)
    begun = clock()
    sampled = begun
    lines = ["k|jobid|t_before|t_after|args"]
    details: list[str] = []
    ids: list[str] = []
    due = sorted(acts, key=lambda act: act.at)

    def wait_until(at: float) -> None:
        nonlocal sampled
        while clock() < begun + at:
            sleep(min(0.5, max(0.0, begun + at - clock())))
            if clock() - sampled > SAMPLED:
                details.append(_details(cluster))
                sampled = clock()

    def act_until(at: float) -> None:
        while due and due[0].at <= at:
            act = due.pop(0)
            wait_until(act.at)
            cluster.run(*(_named(word, ids) for word in act.words), check=False)

    for number, job in enumerate(jobs):
        act_until(job.at)
        wait_until(job.at)
        before = clock()
        words = (*(_named(word, ids) for word in job.options), "-J", f"w{number + 1}")
        try:
            given = cluster.sbatch(*words, script=f"sleep {job.seconds}")
        except UsageError:
            if not lenient:
                raise
            ids.append("0")
            continue
        ids.append(given)
        lines.append(f"{number}|{given}|{before:.3f}|{clock():.3f}|{' '.join(words)}")

    act_until(math.inf)

    def over() -> bool:
        nonlocal sampled
        if clock() - sampled > SAMPLED:
            details.append(_details(cluster))
            sampled = clock()
        return not cluster.run("squeue", "-h", "-a").strip()

    try:
        patience = 60 + jobs[-1].at if lenient else 300 + 4 * jobs[-1].at
        wait_for(over, "the last job to end", patience)
    except UsageError:
        if not lenient:
            raise
        cluster.clear()
    details.append(_details(cluster))
    (folder / "submits.psv").write_text("\n".join(lines) + "\n")
    (folder / "detail.txt").write_text("".join(details))
    _write_site(cluster, folder)
    _write_sacct(cluster, folder, int(begun), len(lines) - 1)
    shutil.copyfile(cluster.folder / "log" / "slurmctld.log", folder / "slurmctld.log")


def _named(word: str, ids: Sequence[str]) -> str:
    """A word with the ids of jobs in the places of their numbers."""
    return re.sub(r"\{(\d+)\}", lambda one: ids[int(one[1])], word)


def _details(cluster: SlurmCluster) -> str:
    """What jobs hold on each node, one job to a line."""
    return cluster.run("scontrol", "-d", "-o", "show", "jobs", check=False)


def _write_site(cluster: SlurmCluster, folder: Path) -> None:
    """The machine and its settings."""
    shutil.copyfile(cluster.conf, folder / "slurm.conf")
    for name, words in (
        ("nodes.txt", ("-o", "show", "nodes")),
        ("partitions.txt", ("-o", "show", "partitions")),
        ("config.txt", ("show", "config")),
    ):
        (folder / name).write_text(cluster.run("scontrol", *words))
    for name in ("gres.conf", "topology.conf"):
        if (cluster.conf.parent / name).exists():
            shutil.copyfile(cluster.conf.parent / name, folder / name)


def _write_sacct(cluster: SlurmCluster, folder: Path, since: int, count: int) -> None:
    """sacct's table, once it knows the end of every job."""
    begin = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(since - 60))
    path = folder / "jobs.psv"

    def complete() -> bool:
        output = cluster.run(
            "sacct",
            *("-a", "-X", "-D", "-P", "--noconvert", "-S", begin, "-E", "now+1minutes"),
            f"--format={RECOMMENDED}",
            env={"SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0"},
        )
        path.write_text(output)
        rows = output.splitlines()[1:]
        return len(rows) >= count and not any("RUNNING" in row for row in rows)

    wait_for(complete, "sacct to know every end")
