"""Workflows in WfCommons' WfFormat: tasks, what they follow, run times and cores.

A file is one workflow (https://github.com/wfcommons/WfFormat): since version 1.5 the graph is in
``workflow.specification.tasks`` and what was measured in ``workflow.execution.tasks``, before in
``workflow.tasks`` alone. A folder of them is a log: ``arrivals.txt`` beside them has a line of a
file's name and seconds for each that does not arrive at 0.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from shadowtime import plain
from shadowtime.errors import InputError
from shadowtime.trace._bytes import load
from shadowtime.types import MAX_SPAN, UNKNOWN
from shadowtime.workload import raw as swf
from shadowtime.workload.follows import ENDED, follow_table
from shadowtime.workload.raw import RawTrace

ARRIVALS = "arrivals.txt"
HINT = "Check the file against WfCommons' schema, version 1.4 or later."


def is_wfformat(line: str, head: bytes) -> bool:
    """True if a file begins as such a workflow does."""
    return line.startswith("{") and (b'"schemaVersion"' in head or b'"workflow"' in head)


def read_wfformat(paths: list[str], *, name: str, path: str, max_size: int) -> RawTrace:
    """One workflow, or several that are one log.

    Rules
    -----
    Run times are rounded up to whole seconds, at least one, and are what is requested too, as the
    format has no requests. A task without cores takes one. Parents and children are joined; ids are
    numbered from 1 over all files. The user is the author, the executable the program.

    Examples
    --------
    >>> text = '''{"name": "w", "schemaVersion": "1.4", "workflow": {"tasks": [
    ...     {"name": "a", "id": "1", "runtimeInSeconds": 2.5, "cores": 2, "children": ["2"]},
    ...     {"name": "b", "id": "2", "runtimeInSeconds": 3}]}}'''
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
    ...     _ = file.write(text), file.flush()
    ...     raw = read_wfformat([file.name], name="w", path=file.name, max_size=1 << 20)
    >>> raw["run"].tolist(), raw["procs"].tolist(), raw.follows.tolist()
    ([3, 3], [2, 1], [[2, 1, 0, 0]])
    """
    arrivals = _arrivals(os.path.join(path, ARRIVALS), paths) if os.path.isdir(path) else {}
    rows: list[list[int]] = []
    follows: list[tuple[int, int, int, int]] = []
    names: dict[str, dict[str, int]] = {"user": {"": 0}, "executable": {"": 0}}
    memory, flow, cores, rounded = [], [], 0, 0
    for number, one in enumerate(paths, 1):
        try:
            document = plain.load(load(one, max_size=max_size))
            workflow = plain.mapping(plain.entry(document, "workflow"), "workflow")
            tasks = _tasks(workflow)
            author = document.get("author")
            who = author.get("name") if isinstance(author, dict) else None
            user = _numbered(names["user"], who)
            first = len(rows) + 1
            place = _places(tasks, first)
            for row, task in enumerate(tasks, first):
                seconds, procs = _seconds(task), _cores(task)
                rounded += seconds != task.get("runtimeInSeconds", task.get("runtime"))
                command = task.get("command")
                program = command.get("program") if isinstance(command, dict) else task.get("name")
                entry = dict.fromkeys(swf.FIELDS, UNKNOWN) | {
                    "job_id": row, "submit": arrivals.get(os.path.basename(one), 0),
                    "run": seconds, "procs": procs, "requested_procs": procs, "request": seconds,
                    "status": swf.STATUS_COMPLETED, "user": user,
                    "executable": _numbered(names["executable"], program),
                }  # fmt: skip
                rows.append(list(entry.values()))
                memory.append(_kilobytes(task))
                flow.append(number)
            edges = {
                pair for row, task in enumerate(tasks, first) for pair in _edges(row, task, place)
            }
            follows += [(child, parent, 0, ENDED) for child, parent in sorted(edges)]
            cores = max(cores, _machine(workflow))
        except InputError as error:
            raise InputError(str(error).rstrip("."), path=one, hint=HINT) from None
    table = np.array(rows, np.int64).reshape(-1, len(swf.FIELDS)).T
    return RawTrace(
        name=name, table=np.ascontiguousarray(table), line=np.arange(1, len(rows) + 1), path=path,
        counts={"times_rounded": int(rounded)}, machine={"procs": cores} if cores else {},
        demands={"memory": np.array(memory, np.int64)} if max(memory, default=-1) >= 0 else {},
        extra={"workflow": np.array(flow, np.int64)}, follows=follow_table(follows),
        names={kind: tuple(known) for kind, known in names.items()},
    )  # fmt: skip


def _tasks(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    """The tasks with everything that is known of them."""
    graph = workflow.get("specification", workflow)
    given = plain.items(plain.entry(plain.mapping(graph, "specification"), "tasks"), "tasks")
    tasks = [plain.mapping(one, "a task") for one in given]
    if not tasks:
        raise InputError("it has no tasks")
    ran: dict[str, Any] = {}
    execution = workflow.get("execution")
    if isinstance(execution, dict):
        for one in plain.items(execution.get("tasks", []), "execution.tasks"):
            ran[str(plain.mapping(one, "a task").get("id"))] = one
    return [{**one, **ran.get(str(_identity(one)), {})} for one in tasks]


def _identity(task: dict[str, Any]) -> str:
    found = task.get("id", task.get("name"))
    if found is None:
        raise InputError("a task has neither an id nor a name")
    return str(found)


def _places(tasks: list[dict[str, Any]], first: int) -> dict[str, int]:
    """The number of each task by its id, and by its name where no id is so called."""
    place: dict[str, int] = {}
    for row, task in enumerate(tasks, first):
        if place.setdefault(_identity(task), row) != row:
            raise InputError(f"two tasks have the id {_identity(task)[:60]!r}")
    for row, task in enumerate(tasks, first):
        place.setdefault(str(task.get("name")), row)
    return place


def _edges(row: int, task: dict[str, Any], place: dict[str, int]) -> Iterator[tuple[int, int]]:
    """(child, parent) of the relations that a task names."""
    for kind in ("parents", "children"):
        for other in plain.items(task.get(kind) or [], kind):
            if str(other) not in place:
                raise InputError(
                    f"the task {_identity(task)[:60]!r} names {str(other)[:60]!r} in its {kind}, "
                    "which is no task"
                )
            pair = row, place[str(other)]
            yield pair if kind == "parents" else pair[::-1]


def _number(task: dict[str, Any], names: tuple[str, ...], highest: float) -> float:
    """The first of these values that a task has; -1 where it has none."""
    for name in names:
        value = task.get(name)
        if value is not None:
            known = isinstance(value, int | float) and not isinstance(value, bool)
            if not known or not 0 <= value <= highest:
                raise InputError(f"the task {_identity(task)[:60]!r} has {name} {str(value)[:30]}")
            return float(value)
    return -1.0


def _seconds(task: dict[str, Any]) -> int:
    found = _number(task, ("runtimeInSeconds", "runtime"), MAX_SPAN - 1)
    if found < 0:
        raise InputError(f"the task {_identity(task)[:60]!r} has no runtimeInSeconds")
    return max(1, math.ceil(found))


def _cores(task: dict[str, Any]) -> int:
    return max(1, math.ceil(_number(task, ("coreCount", "cores"), swf.MAX_PROCS)))


def _kilobytes(task: dict[str, Any]) -> int:
    found = _number(task, ("memoryInBytes",), swf.MAX_AMOUNT)
    return UNKNOWN if found < 0 else math.ceil(found / 1024)


def _machine(workflow: dict[str, Any]) -> int:
    """Cores of the machines that ran it, 0 where the file does not say."""
    execution = workflow.get("execution", workflow)
    given = execution.get("machines") if isinstance(execution, dict) else None
    found = 0
    for one in given if isinstance(given, list) else []:
        cpu = one.get("cpu") if isinstance(one, dict) else None
        count = cpu.get("coreCount", cpu.get("count")) if isinstance(cpu, dict) else None
        if isinstance(count, int) and 0 < count <= swf.MAX_PROCS:
            found += count
    return min(found, swf.MAX_PROCS)


def _numbered(known: dict[str, int], text: Any) -> int:
    """The number of a name, a new one where it is new."""
    if not isinstance(text, str) or not text:
        return UNKNOWN
    return known.setdefault(plain.text(text, "a name"), len(known))


def _arrivals(path: str, files: list[str]) -> dict[str, int]:
    """Seconds by the name of a file."""
    if not os.path.exists(path):
        return {}
    there = {os.path.basename(one) for one in files}
    found: dict[str, int] = {}
    for number, line in enumerate(load(path).decode("utf-8", "replace").splitlines(), 1):
        words = line.rsplit(maxsplit=1)
        if not words:
            continue
        if (
            len(words) != 2
            or words[0] not in there
            or not words[1].isascii()
            or not words[1].isdigit()
            or int(words[1]) > swf.MAX_TIME
        ):
            raise InputError(
                "expected a file of this folder and whole seconds", path=path, line=number,
                hint="As in: montage.json 3600.",
            )  # fmt: skip
        found[words[0]] = int(words[1])
    return found
