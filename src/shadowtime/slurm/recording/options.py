"""What a job was submitted with, from sbatch's options."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from shadowtime.cluster.hostlist import expand
from shadowtime.cluster.slurm_text import parse_limit
from shadowtime.cluster.units import parse_memory
from shadowtime.errors import InputError
from shadowtime.workload.request import Gres, Request

SHORT = {
    "-n": "--ntasks",
    "-N": "--nodes",
    "-t": "--time",
    "-p": "--partition",
    "-A": "--account",
    "-q": "--qos",
    "-c": "--cpus-per-task",
    "-C": "--constraint",
    "-w": "--nodelist",
    "-x": "--exclude",
    "-d": "--dependency",
    "-a": "--array",
    "-b": "--begin",
    "-L": "--licenses",
    "-J": "--job-name",
    "-G": "--gpus",
    "-H": "--hold",
}
FLAGS = {"--hold", "--exclusive", "--contiguous", "--no-requeue", "--requeue"}


@dataclass(frozen=True, kw_only=True)
class Submitted:
    """A request and what differs from job to job."""

    request: Request
    limit: int | None = None
    """Seconds."""
    least_time: int = 0
    user: str = ""
    name: str = ""
    begin: str = ""
    dependency: str = ""
    array: tuple[int, ...] = ()
    throttle: int = 0
    held: bool = False
    requeue: bool = True


def parse_options(text: str) -> Submitted:
    """From the options of one sbatch call.

    Examples
    --------
    >>> job = parse_options("-t 2 -N 1-3 -n 16 --array=1-4%2 -p short,long")
    >>> job.limit, job.request.nodes, job.request.max_nodes, job.array, job.throttle
    (120, 1, 3, (1, 2, 3, 4), 2)
    """
    said = _pairs(shlex.split(text))
    low, high = _range(said.get("--nodes", ""))
    tasks = said.get("--ntasks")
    array, throttle = parse_array(said["--array"]) if "--array" in said else ((), 0)
    memory: int | None = None
    per = "node"
    if "--mem" in said:
        memory = parse_memory(said["--mem"], bare="M")
    elif "--mem-per-cpu" in said:
        memory, per = parse_memory(said["--mem-per-cpu"], bare="M"), "cpu"
    request = Request(
        nodes=low or 1,
        max_nodes=high,
        tasks=int(tasks) if tasks else _tasks(said, low or 1),
        cpus_per_task=int(said.get("--cpus-per-task", "1")),
        tasks_per_node=int(said["--ntasks-per-node"]) if "--ntasks-per-node" in said else None,
        memory=memory,
        memory_per="cpu" if per == "cpu" else "node",
        gres=tuple(_gres(said)),
        cpus_per_gpu=int(said["--cpus-per-gpu"]) if "--cpus-per-gpu" in said else None,
        features=said.get("--constraint", ""),
        exclusive="--exclusive" in said,
        contiguous="--contiguous" in said,
        partitions=tuple(filter(None, said.get("--partition", "").split(","))),
        qos=said.get("--qos", ""),
        account=said.get("--account", ""),
        reservation=said.get("--reservation", ""),
        wanted=tuple(expand(said.get("--nodelist", ""))),
        excluded=tuple(expand(said.get("--exclude", ""))),
        licences=tuple(_licences(said.get("--licenses", ""))),
    )
    return Submitted(
        request=request,
        limit=parse_limit(said["--time"]) if "--time" in said else None,
        least_time=(parse_limit(said["--time-min"]) or 0) if "--time-min" in said else 0,
        user=said.get("--uid", ""),
        name=said.get("--job-name", ""),
        begin=said.get("--begin", ""),
        dependency=said.get("--dependency", ""),
        array=array,
        throttle=throttle,
        held="--hold" in said,
        requeue="--no-requeue" not in said,
    )


def _pairs(words: list[str]) -> dict[str, str]:
    """Long names to values."""
    said: dict[str, str] = {}
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not word.startswith("-"):
            continue
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            if not equals and name not in FLAGS and at < len(words):
                value = words[at]
                at += 1
        else:
            name = SHORT.get(word[:2], word[:2])
            value = word[2:]
            if not value and name not in FLAGS and at < len(words):
                value = words[at]
                at += 1
        said[name] = value
    return said


def _range(text: str) -> tuple[int, int | None]:
    """Lowest and highest of ``3`` or ``1-3``; 0 and None where nothing is said."""
    match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", text.strip())
    if not match:
        return 0, None
    return int(match[1]), int(match[2] or match[1])


def _tasks(said: dict[str, str], nodes: int) -> int:
    per_node = said.get("--ntasks-per-node")
    return nodes * int(per_node) if per_node else nodes


def parse_array(text: str) -> tuple[tuple[int, ...], int]:
    """Tasks and throttle of ``1-9:2%3``.

    Examples
    --------
    >>> parse_array("1-5:2,9%2")
    ((1, 3, 5, 9), 2)
    """
    inside, _, throttle = text.strip("[]").partition("%")
    tasks: list[int] = []
    for word in inside.split(","):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", word)
        if not match:
            raise InputError(f"{text!r} is not an array like 1-9:2%3")
        first = int(match[1])
        tasks += range(first, int(match[2] or first) + 1, int(match[3] or 1))
    return tuple(tasks), int(throttle or 0)


def _gres(said: dict[str, str]) -> list[Gres]:
    found = []
    for option, per in (
        ("--gres", "node"),
        ("--gpus-per-node", "node"),
        ("--gpus", "job"),
        ("--gpus-per-task", "task"),
    ):
        if option not in said:
            continue
        for word in said[option].split(","):
            parts = word.split(":")
            if option != "--gres":
                parts = ["gpu", *parts]
            count = int(parts[-1]) if parts[-1].isdigit() else 1
            name = ":".join(parts[:-1] if parts[-1].isdigit() else parts)
            found.append(Gres(name=name, count=count, per=per))  # type: ignore[arg-type]
    return found


def _licences(text: str) -> list[tuple[str, int]]:
    found = []
    for word in filter(None, re.split(r"[,;]", text)):
        name, _, count = word.partition(":")
        found.append((name, int(count or 1)))
    return found
