"""A mixed site on a private Slurm: two sizes of nodes, three partitions, limits, a reservation.

For tests and benchmarks of the live loop on the site model.
"""

from __future__ import annotations

import os
import pwd
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shadowtime.live.slurm import setup
from shadowtime.testing.slurm_conf import NodeKind

if TYPE_CHECKING:
    from shadowtime.testing.slurm import SlurmCluster

NAMES = ("cpu", "gpu", "all")


def site_of(nodes: int) -> dict[str, Any]:
    """Nodes and partitions, as :func:`shadowtime.testing.slurm.slurm_cluster` takes them.

    Three quarters of the nodes are small, the others are big and have GPUs.

    Examples
    --------
    >>> [kind.count for kind in site_of(16)["kinds"]]
    [12, 4]
    """
    small = nodes * 3 // 4
    return {
        "kinds": (
            NodeKind(count=small, cpus=4, memory=8000, features=("small",)),
            NodeKind(
                count=nodes - small,
                cpus=8,
                memory=32000,
                gres=(("gpu", 2), ("fpga", 3)),
                features=("big", "ib"),
                weight=10,
            ),
        ),
        "partitions": (
            f"PartitionName=cpu Nodes=n[1-{small}] Default=YES MaxTime=60 DefaultTime=1 State=UP",
            f"PartitionName=gpu Nodes=n[{small + 1}-{nodes}] MaxTime=60 DefaultTime=1 State=UP",
            f"PartitionName=all Nodes=n[1-{nodes}] MaxTime=30 DefaultTime=1 MaxNodes=8 State=UP",
        ),
        "accounting": True,
    }


OPTIONS = site_of(16)
"""The site of tests and benchmarks."""
QOS = {"small": "MaxTRESPerUser=cpu=8", "few": "MaxJobsPerUser=2"}
RESERVED = "n12"


def prepare(cluster: SlurmCluster, *, gate: bool = True) -> None:
    """Memory and generic resources counted, limits enforced, every job to the gate."""
    text = cluster.conf.read_text()
    changes = {
        "SelectTypeParameters=CR_Core\n": (
            "SelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=500\n"
            "AccountingStorageEnforce=limits,qos\n"
        ),
        "AccountingStorageTRES=gres/membw": "AccountingStorageTRES=gres/gpu,gres/fpga",
    }
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    cluster.conf.write_text(text)
    if not gate:
        return
    folder = cluster.conf.parent
    changed = setup.plan_setup(folder, partitions=list(NAMES), default=True, masters=[0])
    setup.carry_out(changed, folder)


def submitter() -> str:
    """The user who submits: an ordinary one where Slurm runs as root."""
    return "daemon" if os.geteuid() == 0 else pwd.getpwuid(os.getuid()).pw_name


def add_limits(cluster: SlurmCluster, user: str) -> None:
    """QOS with limits, an account, and a user who may use them."""
    for name, limit in QOS.items():
        cluster.run("sacctmgr", "-i", "add", "qos", name, "set", limit)
    cluster.run("sacctmgr", "-i", "add", "account", "science")
    allowed = ",".join(("normal", *QOS))
    cluster.run("sacctmgr", "-i", "add", "user", user, "account=science", f"qos={allowed}")


def reserve(cluster: SlurmCluster, user: str, *, begin: int, minutes: int = 2) -> None:
    """A node that belongs to a user for a while, ``begin`` seconds from now."""
    cluster.run(
        "scontrol",
        "create",
        "reservation",
        "ReservationName=course",
        f"StartTime=now+{begin}",
        f"Duration={minutes}",
        f"Nodes={RESERVED}",
        f"Users={user}",
    )


@dataclass(frozen=True)
class MixedJob:
    """What sbatch is given."""

    options: tuple[str, ...]
    seconds: int
    tasks: int = 1
    """How many runs it is: the tasks of an array."""


def draw_mixed(seed: int, count: int, *, longest: int = 6) -> list[MixedJob]:
    """Jobs of every kind on the site; the same for the same seed.

    Examples
    --------
    >>> jobs = draw_mixed(1, 40)
    >>> sum(job.tasks for job in jobs) >= 40, jobs == draw_mixed(1, 40)
    (True, True)
    """
    rng = random.Random(seed)
    jobs: list[MixedJob] = []
    left = count
    while left > 0:
        job = _draw(rng, longest, left, len(jobs))
        jobs.append(job)
        left -= job.tasks
    return jobs


def _draw(rng: random.Random, longest: int, left: int, before: int) -> MixedJob:
    seconds = rng.randint(1, longest)
    minutes = f"--time={rng.choice((1, 1, 2, 5))}"
    size = rng.choice((1, 1, 2, 3, 4, 6, 8))
    kinds = {
        "plain": ("-p", "cpu", f"-n{size}"),
        "several": ("-p", "cpu,all", f"-n{size}"),
        "both": ("-p", "gpu,cpu,all", f"-n{rng.randint(1, 4)}"),
        "nodes": ("-p", rng.choice(("cpu", "all")), f"-N{rng.randint(2, 3)}"),
        "range": ("-p", "all", "-N2-4", "-n6"),
        "memory": ("-p", rng.choice(("cpu", "all")), f"--mem={rng.choice((2000, 4000, 7500))}"),
        "by_cpu": ("-p", "all", "-n2", "-c2", f"--mem-per-cpu={rng.choice((300, 1500))}"),
        "gpu": ("-p", rng.choice(("gpu", "all")), f"--gres=gpu:{rng.randint(1, 2)}"),
        "gpus": ("-p", "gpu", f"--gpus={rng.randint(1, 4)}", "-n2"),
        "per_task": ("-p", "gpu", "-n2", "--gpus-per-task=1"),
        "fpga": ("-p", "all", f"--gres=fpga:{rng.randint(1, 3)}"),
        "feature": ("-p", "all", "-C", rng.choice(("big", "small", "big&ib", "small|ib"))),
        "whole": ("-p", rng.choice(("cpu", "gpu")), "--exclusive"),
        "all_memory": ("-p", "cpu", "--mem=0"),
        "small_qos": ("-p", "cpu", "--qos=small", f"-n{rng.randint(2, 4)}"),
        "few_qos": ("-p", "all", "--qos=few"),
        "course": ("-p", "cpu", "--reservation=course"),
        "beside": ("-p", "cpu", "-x", "n1,n2", "-n2"),
        "exactly": ("-p", "cpu", "-w", f"n{rng.randint(1, 6)}"),
        "neighbours": ("-p", "cpu", "--contiguous", "-N2"),
    }
    if left >= 4 and rng.random() < 0.08:
        return MixedJob(("-p", "cpu", "--array=1-4%2", minutes), seconds, 4)
    if before > 2 and rng.random() < 0.08:
        return MixedJob(("-p", "all", "-d", "afterany:LAST", minutes), seconds)
    options = rng.choice(sorted(kinds.items()))[1]
    return MixedJob((*options, minutes), seconds)
