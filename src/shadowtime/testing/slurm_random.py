"""Configurations, jobs and operators' acts drawn by a seed, for runs of a real Slurm that nobody
chose: each is recorded on a private cluster and checked pass by pass.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path

from shadowtime.slurm.recording.check import Tallies, check_recording
from shadowtime.testing.slurm import SlurmCluster, slurm_cluster
from shadowtime.testing.slurm_conf import NodeKind
from shadowtime.testing.slurm_recording import SETTINGS, Act, Submission, record

ANSWERED = 2.0
"""Seconds after an end in which a busy machine may not have answered for a node yet."""
CPUS = 16
RULES = (
    " LLN=YES", " MaxCPUsPerNode=8", " MaxMemPerCPU=900", " MaxMemPerNode=3000", " MaxNodes=2",
    " MinNodes=2 MaxNodes=4",
)  # fmt: skip
"""Of a partition; the memory that jobs ask for is more than these."""


@dataclass(frozen=True, kw_only=True)
class RandomRun:
    """What a seed stands for."""

    seed: int
    kinds: tuple[NodeKind, ...]
    settings: tuple[str, ...]
    partitions: tuple[str, ...]
    accounting: tuple[tuple[str, ...], ...]
    """Commands for sacctmgr before the first job."""
    jobs: tuple[Submission, ...]
    acts: tuple[Act, ...]

    def __str__(self) -> str:
        words = [line for line in self.settings if line.startswith(("Select", "Sched", "Preempt"))]
        kinds = [f"{one.count} x {one.cpus} cpus {dict(one.gres)}" for one in self.kinds]
        return f"seed {self.seed}: {'; '.join((*kinds, *words, *self.partitions))}"


def draw_run(seed: int, *, jobs: int = 40, mean: float = 6.0, load: float = 1.3) -> RandomRun:
    """A machine of six to eight nodes with its settings, ``jobs`` jobs and a few acts.

    Examples
    --------
    >>> draw_run(7) == draw_run(7), draw_run(7) == draw_run(8), len(draw_run(7).jobs)
    (True, False, 40)
    """
    coin = random.Random(seed)
    kinds = _machine(coin)
    count = sum(one.count for one in kinds)
    tiers = coin.random() < 0.4
    preempts = tiers and coin.random() < 0.5
    alone = not tiers and coin.random() < 0.2
    limited = coin.random() < 0.3
    rule = "" if alone else coin.choice(("", "", "", *RULES))
    gpus = any(name[:3] == "gpu" for one in kinds for name, _ in one.gres)
    made = _jobs(coin, jobs, kinds, mean=mean, load=load, tiers=tiers, limited=limited)
    if "MaxCPUs" in rule:  # whole nodes would never fit there
        made = tuple(
            replace(one, options=tuple(word for word in one.options if word != "--exclusive"))
            for one in made
        )
    return RandomRun(
        seed=seed,
        kinds=kinds,
        settings=_settings(
            coin, preempts=preempts, limited=limited, memory="Mem" in rule, gpus=gpus
        ),
        partitions=_partitions(coin, count, rule, tiers=tiers, preempts=preempts, alone=alone),
        accounting=_accounting(coin) if limited else (),
        jobs=made,
        acts=_acts(coin, made, count),
    )


def _machine(coin: random.Random) -> tuple[NodeKind, ...]:
    count = coin.randint(6, 8)
    if coin.random() < 0.4:
        return (NodeKind(count=count, cpus=CPUS, memory=32000),)
    kind = coin.choice(("gpu", "gpu:a100", "fpga"))
    gres = ((kind, coin.choice((2, 4))),) if coin.random() < 0.4 else ()
    wide = coin.randint(2, count - 2)
    other = coin.choice((CPUS // 2, CPUS))
    return (
        NodeKind(
            count=wide, cpus=CPUS, memory=32000, features=("big",), weight=coin.choice((1, 5))
        ),
        NodeKind(count=count - wide, cpus=other, memory=16000, features=("small",), gres=gres),
    )


def _settings(
    coin: random.Random, *, preempts: bool, limited: bool, memory: bool, gpus: bool
) -> tuple[str, ...]:
    words = ["batch_sched_delay=0", "sched_interval=2", f"bf_interval={coin.choice((2, 3))}"]
    words.append(f"bf_resolution={coin.choice((1, 1, 60))}")
    more = (
        "bf_window_linear=45", "bf_busy_nodes", "bf_one_resv_per_job", "bf_max_job_part=8",
        "bf_max_job_test=12", "bf_max_job_array_resv=3", "bf_window=5", "partition_job_depth=4",
        "bf_running_job_reserve", "default_queue_depth=5", "pack_serial_at_end", "defer",
        "bf_max_job_user=4", "bf_max_job_start=2", "bf_min_age_reserve=10",
    )  # fmt: skip
    words += coin.sample(more, coin.randint(0, 2))
    lines = [line for line in SETTINGS if not line.startswith("SchedulerParameters")]
    lines.append(f"SchedulerParameters={','.join(words)}")
    if coin.random() < 0.5 or memory:  # else jobs ask for all memory, which is more than any bound
        loaded = coin.choice(("", "", ",CR_LLN"))
        lines += [f"SelectTypeParameters=CR_Core_Memory{loaded}", "DefMemPerCPU=500"]
    if preempts:
        mode = coin.choice(("REQUEUE", "CANCEL"))
        lines += ["PreemptType=preempt/partition_prio", f"PreemptMode={mode}"]
    if limited:
        lines.append("AccountingStorageEnforce=limits")
    if gpus and coin.random() < 0.4:
        lines.append("DefCpuPerGPU=2")
    lines.append("Licenses=tool:3")
    return tuple(lines)


def _partitions(
    coin: random.Random, count: int, rule: str, *, tiers: bool, preempts: bool, alone: bool
) -> tuple[str, ...]:
    mode = "" if preempts else " PreemptMode=OFF"
    mode += " OverSubscribe=EXCLUSIVE" if alone else rule
    first = f"PartitionName=batch Nodes=ALL Default=YES MaxTime=60 DefaultTime=2 State=UP{mode}"
    if not tiers:
        return (first,)
    part = f"n[1-{count // 2 + 1}]"
    whole = "" if preempts else coin.choice(("", "", " OverSubscribe=EXCLUSIVE"))
    return (
        f"{first} PriorityTier=1",
        f"PartitionName=fast Nodes={part} MaxTime=60 DefaultTime=2 State=UP PriorityTier=5 "
        f"PreemptMode=OFF{whole}",
    )


def _accounting(coin: random.Random) -> tuple[tuple[str, ...], ...]:
    bound = coin.choice(("MaxJobsPU=2", "GrpTRES=cpu=24", "GrpTRES=node=3", "GrpJobs=3"))
    flags = coin.choice(((), (), ("Flags=NoReserve",), ("Flags=PartitionMaxNodes",)))
    return (
        ("add", "qos", "few"),
        ("modify", "qos", "few", "set", bound, *flags),
        ("modify", "user", "root", "set", "qos+=few"),
    )


def _jobs(
    coin: random.Random,
    count: int,
    kinds: tuple[NodeKind, ...],
    *,
    mean: float,
    load: float,
    tiers: bool,
    limited: bool,
) -> tuple[Submission, ...]:
    nodes = sum(one.count for one in kinds)
    cpus = sum(one.count * one.cpus for one in kinds)
    gpus = any(one.gres for one in kinds)
    found = []
    at = 0.0
    for number in range(count):
        seconds = round(min(4 * mean, 1 + coin.expovariate(1 / (mean - 1))), 1)
        words, share = _request(coin, nodes, cpus, kinds, gpus=gpus)
        options = ["-t", str(coin.choice((1, 1, 2, 3, 6))), *words]
        if coin.random() < 0.08:
            options += coin.choice((["--time-min=1"], ["--deadline=now+3600"], ["--nice=50"]))
        if tiers and coin.random() < 0.4:
            options += ["-p", coin.choice(("fast", "batch,fast"))]
        if limited and coin.random() < 0.4:
            options += ["--qos=few"]
        if coin.random() < 0.08:
            options += ["-L", f"tool:{coin.randint(1, 2)}"]
        if coin.random() < 0.06:
            options += [f"--begin=now+{coin.randint(3, 12)}"]
        elif number > 3 and coin.random() < 0.06:
            options += [f"--dependency=afterany:{{{coin.randrange(number)}}}"]
        elif coin.random() < 0.08:
            tasks = coin.randint(3, 6)
            options += [f"--array=1-{tasks}" + coin.choice(("", "%2"))]
            share *= tasks
        found.append(Submission(at=round(at, 2), seconds=seconds, options=tuple(options)))
        at += share * seconds / load
    return tuple(found)


def _request(
    coin: random.Random, nodes: int, cpus: int, kinds: tuple[NodeKind, ...], *, gpus: bool
) -> tuple[list[str], float]:
    """Options of one job, and its share of the machine."""
    most = min(one.cpus for one in kinds)
    kind = coin.random()
    if kind < 0.4:
        wide = coin.choice((1, 1, 2, 2, 3, max(1, nodes // 2)))
        words = ["-N", str(wide), "--exclusive"]
        if wide > 1 and coin.random() < 0.15:
            words.append("--contiguous")
        elif coin.random() < 0.15:
            words[1] = f"{wide}-{min(wide + coin.randint(1, 2), nodes)}"
            words += coin.choice(([], ["--use-min-nodes"]))
        return words, wide / nodes
    if gpus and kind < 0.55:
        named = next(name for one in kinds for name, _ in one.gres)
        name = coin.choice((named.partition(":")[0], named))
        return ["-n", "1", f"--gres={name}:{coin.randint(1, 2)}"], 4 / cpus
    if kind < 0.6:
        each = coin.choice((2, 3, 4))
        tasks = coin.randint(1, 6)
        return ["-n", str(tasks), "-c", str(each)], tasks * each / cpus
    if kind < 0.68:
        wide, each = coin.randint(1, 3), coin.choice((1, 2, most // 2))
        words = ["-N", str(wide), f"--ntasks-per-node={each}"]
        return words, wide * each / cpus
    tasks = coin.choice((1, 2, most // 2, most, 2 * most))
    words = ["-n", str(tasks)]
    if coin.random() < 0.2 and tasks <= most:
        words += ["-N", "1"]
    elif tasks <= most and coin.random() < 0.1:
        words.append(f"--mincpus={coin.choice((2, most // 2))}")
    elif tasks > 1 and coin.random() < 0.1:
        words += coin.choice((["--spread-job"], ["-N", "1-2"]))
    if coin.random() < 0.2:
        words += coin.choice((["--mem-per-cpu=1500"], ["--mem=4000"]))
    if len(kinds) > 1 and coin.random() < 0.2:
        features = coin.choice(("big", "small", "big|small", "[big*1&small*1]"))
        if "*" in features:
            return ["-N", "2", "-C", features, *coin.choice(([], ["--exclusive"]))], 2 / nodes
        words += ["-C", features]
    elif coin.random() < 0.1:
        words += coin.choice((["-w", "n2"], ["-x", "n1,n3"]))
    return words, tasks / cpus


def _acts(coin: random.Random, jobs: tuple[Submission, ...], nodes: int) -> tuple[Act, ...]:
    last = jobs[-1].at
    found = []
    for _ in range(coin.randint(0, 5)):
        at = round(coin.uniform(2, last), 1)
        known = [number for number, job in enumerate(jobs) if job.at < at - 1]
        job = coin.choice(known) if known else 0
        node = f"NodeName=n{coin.randint(1, nodes)}"
        update = ("scontrol", "update")
        choices = (
            [("scancel", f"{{{job}}}")],
            [("scancel", f"{{{job}}}_2")],
            [("scontrol", "requeue", f"{{{job}}}")],
            [(*update, f"JobId={{{job}}}", f"TimeLimit={coin.choice((1, 2, 4))}")],
            [("scontrol", "hold", f"{{{job}}}"), ("scontrol", "release", f"{{{job}}}")],
            [(*update, node, "State=DRAIN", "Reason=drawn"), (*update, node, "State=RESUME")],
        )
        for late, words in enumerate(coin.choice(choices)):
            found.append(Act(at=round(at + 6 * late, 1), words=words))
    return tuple(found)


def record_run(run: RandomRun, cluster_folder: Path, folder: Path, *, root: Path | None) -> None:
    """Record what a seed stands for on a private cluster of the given Slurm."""

    def prepare(cluster: SlurmCluster) -> None:
        text = cluster.conf.read_text()
        names = tuple(line.partition("=")[0] for line in run.settings)
        kept = [line for line in text.splitlines() if not _again(line, names, run.settings)]
        cluster.conf.write_text("\n".join(kept) + "\n")

    with slurm_cluster(
        cluster_folder,
        prepare=prepare,
        kinds=run.kinds,
        accounting=True,
        settings=run.settings,
        partitions=run.partitions,
        root=root,
    ) as cluster:
        for words in run.accounting:
            cluster.run("sacctmgr", "--immediate", *words, check=False)
        record(cluster, run.jobs, folder, acts=run.acts, lenient=True)
        if run.accounting:
            for name, what in (("qos.txt", "qos"), ("associations.txt", "associations")):
                text = cluster.run("sacctmgr", "-P", "show", what)
                (folder / name).write_text(text)


def _again(line: str, names: tuple[str, ...], settings: tuple[str, ...]) -> bool:
    """A line of the common settings that the run's own replace."""
    return line.partition("=")[0] in names and line not in settings


def check_run(folder: Path, *, answered: float = ANSWERED) -> Tallies:
    """Check what :func:`record_run` wrote.

    On a busy machine nodes answer late after an end. Where a pass differs, only those count, equal
    or not, that came at least ``answered`` seconds after an end.
    """
    found = check_recording(folder)
    return check_recording(folder, completing=answered) if found.differences else found
