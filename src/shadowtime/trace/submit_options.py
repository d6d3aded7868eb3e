"""From the options of a submission to a request, by Slurm's rules."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shadowtime.cluster.hostlist import expand
from shadowtime.cluster.slurm_config import parse_licences
from shadowtime.cluster.slurm_text import parse_limit
from shadowtime.cluster.units import parse_memory
from shadowtime.errors import ClusterError
from shadowtime.workload.request import Gres, Request

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_GRES = re.compile(r"(?:gres[:/])?([A-Za-z_]\w*)(?::([A-Za-z_][\w.-]*))?(?:[:=](\d{1,9}))?")
_GPUS = re.compile(r"(?:([A-Za-z_][\w.-]*):)?(\d{1,9})")
_NOW = re.compile(r"now(?:\+(\d{1,9})([a-z]*))?", re.IGNORECASE)
_UNIT = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DEPENDENCY = re.compile(r"(after\w*)((?::\d+(?:_\d+)?(?:\+\d+)?)+)", re.IGNORECASE)


def apply_options(options: Mapping[str, str], request: Request) -> Request:
    """The request with what the options say; the rest stays as accounting has it.

    Rules
    -----
    ``-N k`` is both bounds, ``-N k-m`` one each. Tasks are -n, else the nodes. A number of tasks
    per node raises the minimum number of nodes. An invalid value is ignored.

    Examples
    --------
    >>> from shadowtime.trace.sbatch_line import parse_line
    >>> asked = apply_options(parse_line("sbatch -N 2-4 -n 8 -c 2 --mem-per-cpu=1G"), Request())
    >>> asked.nodes, asked.max_nodes, asked.tasks, asked.cpus_per_task, asked.memory_per
    (2, 4, 8, 2, 'cpu')
    """
    changes: dict[str, Any] = {}
    nodes = _RANGE.fullmatch(options.get("nodes", ""))
    if nodes:
        changes["nodes"] = max(int(nodes[1]), 1)
        changes["max_nodes"] = int(nodes[2] or nodes[1])
    each = _count(options, "cpus-per-task")
    if each:
        changes["cpus_per_task"] = each
    tasks = _count(options, "ntasks")
    per_node = _count(options, "ntasks-per-node")
    if tasks:
        changes["tasks"] = tasks
    elif per_node and (nodes or request.nodes):
        changes["tasks"] = per_node * changes.get("nodes", request.nodes)
    elif nodes:
        changes["tasks"] = changes["nodes"]
    elif each:
        changes["tasks"] = max(request.cpus // each, 1)
    if per_node:
        changes["tasks_per_node"] = per_node
        least = -(-changes.get("tasks", request.tasks) // per_node)
        changes["nodes"] = max(changes.get("nodes", 1), least)
    changes |= _memory(options) | _lists(options)
    gres = _gres(options)
    if gres:
        changes["gres"] = gres
    if _count(options, "cpus-per-gpu"):
        changes["cpus_per_gpu"] = _count(options, "cpus-per-gpu")
    if "constraint" in options:
        changes["features"] = options["constraint"]
    if options.get("exclusive", "no") in ("", "exclusive"):
        changes["exclusive"] = "exclusive" in options or request.exclusive
    if "contiguous" in options:
        changes["contiguous"] = True
    for option in ("qos", "account", "reservation"):
        if options.get(option) and not getattr(request, option):
            changes[option] = options[option]
    if options.get("partition"):
        changes["partitions"] = tuple(p for p in options["partition"].split(",") if p)
    wanted = changes.get("wanted", ())
    if len(wanted) > changes.get("nodes", request.nodes):
        changes["nodes"] = len(wanted)
    if changes.get("max_nodes") is not None:
        changes["max_nodes"] = max(changes["max_nodes"], changes.get("nodes", 1))
    return replace(request, **changes)


def _count(options: Mapping[str, str], name: str) -> int:
    text = options.get(name, "")
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else 0


def _memory(options: Mapping[str, str]) -> dict[str, Any]:
    for name, per in (("mem", "node"), ("mem-per-cpu", "cpu")):
        if name in options:
            try:
                return {"memory": parse_memory(options[name], bare="M"), "memory_per": per}
            except ClusterError:
                continue
    return {}


def _lists(options: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, field in (("nodelist", "wanted"), ("exclude", "excluded")):
        if options.get(name):
            try:
                found[field] = tuple(expand(options[name]))
            except ClusterError:
                continue
    if options.get("licenses"):
        with suppress(ClusterError):
            found["licences"] = tuple(parse_licences(options["licenses"]).items())
    return found


def _gres(options: Mapping[str, str]) -> tuple[Gres, ...]:
    found: list[Gres] = []
    for part in options.get("gres", "").split(","):
        match = _GRES.fullmatch(part.strip())
        if match and match[1].lower() != "none":
            name = f"{match[1]}:{match[2]}" if match[2] else match[1]
            found.append(Gres(name=name, count=int(match[3] or 1), per="node"))
    how: tuple[tuple[str, Literal["node", "task", "job"]], ...] = (
        ("gpus", "job"), ("gpus-per-node", "node"), ("gpus-per-task", "task"),
    )  # fmt: skip
    for option, per in how:
        for part in options.get(option, "").split(","):
            match = _GPUS.fullmatch(part.strip())
            if match:
                name = f"gpu:{match[1]}" if match[1] else "gpu"
                found.append(Gres(name=name, count=int(match[2]), per=per))
    return tuple(one for one in found if one.count)


def begin_of(options: Mapping[str, str], submit: int) -> int:
    """Seconds since 1970 of ``--begin=now+60``; -1 where it is not given or of another form.

    Examples
    --------
    >>> begin_of({"begin": "now+2hours"}, 100), begin_of({"begin": "teatime"}, 100)
    (7300, -1)
    """
    match = _NOW.fullmatch(options.get("begin", ""))
    unit = _UNIT.get((match[2] or "")[:1].lower()) if match else None
    if match is None or unit is None:
        return -1
    return submit + int(match[1] or 0) * unit


def least_time_of(options: Mapping[str, str]) -> int:
    """Seconds of --time-min, -1 without."""
    try:
        return parse_limit(options.get("time-min", "")) or -1
    except ClusterError:
        return -1


def nice_of(options: Mapping[str, str]) -> int:
    """--nice; the bare option is 100."""
    text = options.get("nice")
    if text is None:
        return 0
    return int(text) if re.fullmatch(r"-?[0-9]{1,10}", text) else 100 if text == "" else 0


def throttle_of(options: Mapping[str, str]) -> int:
    """Tasks of an array that may run at once, 0 for no bound."""
    last = options.get("array", "").partition("%")[2]
    return int(last) if re.fullmatch(r"[0-9]{1,9}", last) else 0


def dependencies_of(options: Mapping[str, str]) -> tuple[list[tuple[str, tuple[int, ...]]], bool]:
    """Kinds with the ids they wait for, and whether one of them suffices.

    Examples
    --------
    >>> dependencies_of({"dependency": "afterok:3:4,singleton"})
    ([('afterok', (3, 4)), ('singleton', ())], False)
    """
    text = options.get("dependency", "")
    found: list[tuple[str, tuple[int, ...]]] = []
    for part in re.split(r"[,?]", text):
        if part.strip().lower() == "singleton":
            found.append(("singleton", ()))
        match = _DEPENDENCY.fullmatch(part.strip())
        if match:
            ids = tuple(int(re.split(r"[_+]", one)[0]) for one in match[2][1:].split(":"))
            found.append((match[1].lower(), ids))
    return found, "?" in text
