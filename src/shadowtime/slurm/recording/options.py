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
    given = _pairs(shlex.split(text))
    low, high = _range(given.get("--nodes", ""))
    tasks = given.get("--ntasks")
    array, throttle = parse_array(given["--array"]) if "--array" in given else ((), 0)
    memory: int | None = None
    per = "node"
    if "--mem" in given:
        memory = parse_memory(given["--mem"], bare="M")
    elif "--mem-per-cpu" in given:
        memory, per = parse_memory(given["--mem-per-cpu"], bare="M"), "cpu"
    request = Request(
        nodes=low or 1,
        max_nodes=high,
        tasks=int(tasks) if tasks else _tasks(given, low or 1),
        cpus_per_task=int(given.get("--cpus-per-task", "1")),
        tasks_per_node=int(given["--ntasks-per-node"]) if "--ntasks-per-node" in given else None,
        memory=memory,
        memory_per="cpu" if per == "cpu" else "node",
        gres=tuple(_gres(given)),
        cpus_per_gpu=int(given["--cpus-per-gpu"]) if "--cpus-per-gpu" in given else None,
        features=given.get("--constraint", ""),
        exclusive="--exclusive" in given,
        contiguous="--contiguous" in given,
        partitions=tuple(filter(None, given.get("--partition", "").split(","))),
        qos=given.get("--qos", ""),
        account=given.get("--account", ""),
        reservation=given.get("--reservation", ""),
        wanted=tuple(expand(given.get("--nodelist", ""))),
        excluded=tuple(expand(given.get("--exclude", ""))),
        licences=tuple(_licences(given.get("--licenses", ""))),
    )
    return Submitted(
        request=request,
        limit=parse_limit(given["--time"]) if "--time" in given else None,
        least_time=(parse_limit(given["--time-min"]) or 0) if "--time-min" in given else 0,
        user=given.get("--uid", ""),
        name=given.get("--job-name", ""),
        begin=given.get("--begin", ""),
        dependency=given.get("--dependency", ""),
        array=array,
        throttle=throttle,
        held="--hold" in given,
        requeue="--no-requeue" not in given,
    )


def _pairs(words: list[str]) -> dict[str, str]:
    """Long names to values."""
    given: dict[str, str] = {}
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
        given[name] = value
    return given


def _range(text: str) -> tuple[int, int | None]:
    """Lowest and highest of ``3`` or ``1-3``; 0 and None where nothing is given."""
    match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", text.strip())
    if not match:
        return 0, None
    return int(match[1]), int(match[2] or match[1])


def _tasks(given: dict[str, str], nodes: int) -> int:
    per_node = given.get("--ntasks-per-node")
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


def _gres(given: dict[str, str]) -> list[Gres]:
    found = []
    for option, per in (
        ("--gres", "node"),
        ("--gpus-per-node", "node"),
        ("--gpus", "job"),
        ("--gpus-per-task", "task"),
    ):
        if option not in given:
            continue
        for word in given[option].split(","):
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
