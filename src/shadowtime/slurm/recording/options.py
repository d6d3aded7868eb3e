"""What a job was submitted with (sbatch, scontrol, sacct), and its record in slurmctld."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shadowtime.cluster.hostlist import expand
from shadowtime.cluster.slurm_text import parse_limit
from shadowtime.cluster.units import parse_memory
from shadowtime.engine.priority.factors import default_memory
from shadowtime.errors import InputError
from shadowtime.slurm.ask import ask_of
from shadowtime.slurm.job import Job
from shadowtime.workload.request import Gres, Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.slurm.machine import Machine
    from shadowtime.slurm.recording.folder import Recording


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


NO_LIMIT = 365 * 86400
"""Seconds that stand for a limit nothing in the recording shows."""


def record_of(recording: Recording, machine: Machine, number: int) -> Job:
    """A new record of a submitted job."""
    rows = recording.runs.get(number, [])
    row = rows[0].columns if rows else {}
    asked = recording.submitted.get(number) or from_sacct(row)
    request = asked.request
    site = recording.site
    default = next((one for one in site.partitions if one.default), None)
    names = request.partitions or ((default.name,) if default else ())
    if not names:
        names = tuple(machine.sections)[:1]
    memory, per_cpu = default_memory(site, names[0])
    limit = asked.limit
    if limit is None:
        minutes = row.get("TimelimitRaw", "")
        limit = int(minutes) * 60 if minutes.isdigit() else NO_LIMIT
    submit = rows[0].seconds("Submit") if rows else None
    return Job(
        id=number,
        ask=ask_of(request, machine, default_memory=memory, default_memory_per_cpu=per_cpu),
        limit=limit,
        user=asked.user or row.get("User", ""),
        account=request.account or row.get("Account", ""),
        qos=request.qos or row.get("QOS", ""),
        partitions=tuple(names),
        submit=submit or 0,
        eligible=submit or 0,
        name=asked.name or row.get("JobName", ""),
        reservation=request.reservation,
        least_time=asked.least_time,
        licences=request.licences,
        tasks=list(asked.array),
        array=number if asked.array else 0,
        throttle=asked.throttle,
        requeues=asked.requeue,
    )


def from_sacct(row: Mapping[str, str]) -> Submitted:
    """A guess from sacct alone: whole nodes where all their cpus were given unasked.

    Examples
    --------
    >>> guess = from_sacct({"NNodes": "2", "ReqCPUS": "2", "NCPUS": "32"})
    >>> guess.request.exclusive, guess.request.nodes
    (True, 2)
    """
    nodes = int(row.get("NNodes") or 1)
    asked = int(row.get("ReqCPUS") or 1)
    got = int(row.get("NCPUS") or asked)
    exclusive = got > asked and got % max(nodes, 1) == 0
    request = Request(
        nodes=nodes if exclusive else 1,
        max_nodes=nodes if exclusive else None,
        tasks=asked,
        exclusive=exclusive,
        partitions=tuple(filter(None, row.get("Partition", "").split(","))),
        features=row.get("Constraints", ""),
    )
    return Submitted(request=request)
