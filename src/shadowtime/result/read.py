"""A result folder read again: everything that a report or an explanation needs."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.errors import InputError, ShadowtimeError, UsageError, near
from shadowtime.metrics import Window
from shadowtime.metrics.unstarted import Unstarted
from shadowtime.report import Claim, PaperTable, PaperValue, PolicyRun, ReportInput
from shadowtime.result.inputs import TRACE, read_cluster, read_jobs
from shadowtime.schedule import Schedule, read
from shadowtime.schedule.match import match
from shadowtime.study.trust import Trust
from shadowtime.workload import Workload

AS_IN = "with -o, as in: shadowtime compare LOG -p easy -p easy-sjbf -o DIR"
AGAIN = f"Write it again {AS_IN}"


@dataclass(frozen=True, eq=False)
class Folder:
    """What was in a result folder."""

    root: Path
    content: Mapping[str, Any]
    result: ReportInput
    window: Window


def read_folder(folder: str, *, policies: Sequence[str] = ()) -> Folder:
    """Read a result folder, all of its policies or those named, in the order of the folder.

    Rules
    -----
    The schedules must contain the folder's own jobs. A folder of several results (a comparison over
    loads) is rejected with the names of the folders inside it.
    """
    root = Path(folder)
    content = read_content(folder)
    with _understood(root / "result.json"):
        return _folder(root, content, policies)


def inner_folders(folder: str) -> list[Path]:
    """The results inside a folder of several (a comparison over loads), in the order of its list.

    Empty if the folder is a result itself or contains none.
    """
    root = Path(folder)
    inner = {found.parent.name: found.parent for found in root.glob("*/result.json")}
    if is_result_folder(folder) or not inner:
        return []
    return [inner[name] for name in sorted(inner, key=_natural)]


def _natural(name: str) -> list[tuple[float, str]]:
    """Numbers in a name by their size: load-0.9 before load-1.1 before load-10."""
    parts = re.split(r"(\d+(?:\.\d+)?)", name)
    return [(float(part), "") if i % 2 else (0.0, part) for i, part in enumerate(parts)]


def is_result_folder(path: str) -> bool:
    """Does this folder contain the inputs of a result?"""
    return os.path.isfile(os.path.join(path, "inputs", TRACE))


def read_inputs(folder: str) -> tuple[Workload, Cluster]:
    """The jobs as they were scheduled, and the machine, without any schedule."""
    root = Path(folder)
    with _understood(root / "result.json"):
        content = read_content(folder)
        return _workload(root, content), read_cluster(root / "inputs")


def _workload(root: Path, content: Mapping[str, Any]) -> Workload:
    return read_jobs(
        root / "inputs",
        header_lines=content.get("report", {}).get("header_lines"),
        name=str(content["trace"]["name"]),
        cleaning=dict(content["trace"].get("cleaning", {})),
    )


def _folder(root: Path, content: dict[str, Any], policies: Sequence[str]) -> Folder:
    entries = _chosen(content["policies"], policies, root)
    shown = content.get("report", {})
    window = read_window(content)
    workload = _workload(root, content)
    runs = tuple(_run(entry, workload, root) for entry in entries)
    judged = shown.get("trust") or {}  # of an earlier version: a word
    result = ReportInput(
        title=shown.get("title") or workload.name,
        workload=workload,
        cluster=read_cluster(root / "inputs"),
        runs=runs,
        window=window,
        where=str(content.get("where", "")),
        versions=dict(content.get("versions", {})),
        command=str(content.get("command", "")),
        seeds=tuple(shown.get("seeds", ())),
        interval_note=shown.get("interval_note", ""),
        paper=tuple(_paper(item) for item in shown.get("paper", ())),
        trust=Trust.from_dict(judged) if "expected_error" in judged else None,
        replay=bool(shown.get("replay", False)) and len(runs) > 1,
        replayed=dict(shown.get("replayed", {})) if len(runs) > 1 else {},
        effects=dict(shown.get("effects", {})) if len(runs) > 1 else {},
    )
    return Folder(root, content, result, window)


@contextmanager
def _understood(path: Path) -> Iterator[None]:
    """Invalid JSON structure is reported as an error of the file, wherever it occurs."""
    try:
        yield
    except ShadowtimeError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        why = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"is not a result of Shadowtime ({why})", path=str(path), hint=AGAIN
        ) from None


def read_content(folder: str) -> dict[str, Any]:
    """result.json, if it is one of a single result with schedules."""
    root = Path(folder)
    path = root / "result.json"
    try:
        content = json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(_no_result(root)) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot be read ({error})", path=str(path), hint=AGAIN) from None
    try:
        entries, _ = content["policies"], content["trace"]["name"]
        there = bool(entries) and all("schedule" in entry for entry in entries)
    except (KeyError, TypeError):
        raise InputError("is not a result of Shadowtime", path=str(path), hint=AGAIN) from None
    if not there:
        raise UsageError(_no_result(root, "its result.json names no schedules"))
    return dict(content)


def _no_result(root: Path, why: str = "no result.json in it") -> str:
    from shadowtime.trace.site_folder import is_site_folder  # used in this sentence only

    inner = sorted(found.parent.name for found in root.glob("*/result.json"))
    if is_site_folder(root):
        return (
            f"{root} is a site's folder, not a result: shadowtime replay {root} "
            "--report page.html writes its page"
        )
    if not root.exists():
        return f"{root}: no such folder. Check the name, or write a result folder {AS_IN}"
    if not inner:
        return f"{root} is not a folder that can be reported: {why}. {AGAIN}"
    return (
        f"{root} contains several results ({', '.join(inner)}): name one of them, such as "
        f"{root / inner[0]}"
    )


def _chosen(
    entries: Sequence[dict[str, Any]], wanted: Sequence[str], root: Path
) -> list[dict[str, Any]]:
    names = [entry["name"] for entry in entries]
    for name in wanted:
        if name not in names:
            raise UsageError(f"{root} has no policy {name}{near(name, names)}")
    return [entry for entry in entries if not wanted or entry["name"] in wanted]


def _run(entry: Mapping[str, Any], workload: Workload, root: Path) -> PolicyRun:
    return PolicyRun(
        name=entry["name"],
        schedule=_schedule(root / entry["schedule"], workload).replace(policy=entry["name"]),
        parameters=entry.get("parameters", {}),
        cluster=read_cluster(root, str(entry["cluster"])) if "cluster" in entry else None,
        metrics={name: _number(value) for name, value in entry.get("metrics", {}).items()},
        unstarted=tuple(
            Unstarted(**{**one, "first": tuple(one["first"])}) for one in entry.get("unstarted", ())
        ),
        copies={
            name: [_number(value) for value in values]
            for name, values in entry.get("copies", {}).items()
        },
    )


def _schedule(path: Path, workload: Workload) -> Schedule:
    if not os.path.exists(path):  # unlike Path.exists, returns False for any invalid name
        raise InputError("the schedule is missing", path=str(path), hint=AGAIN)
    schedule = read(path)
    columns: tuple[str, ...] = ("job_id", "submit", "procs")
    if len(workload.follows):  # its submissions are the run's own, and so is its order
        schedule, columns = match(schedule, workload).schedule, ("job_id", "procs")
    same = all(np.array_equal(getattr(schedule, name), getattr(workload, name)) for name in columns)
    if not same:
        raise InputError(
            f"these are not the jobs of inputs/{TRACE} beside it", path=str(path), hint=AGAIN
        )
    return schedule


def _number(value: float | None) -> float:
    """JSON has no 'not a number': it is null there."""
    return math.nan if value is None else value


def read_window(content: Mapping[str, Any]) -> Window:
    """The window of a result."""
    values = content.get("window", {})
    known = {field.name for field in fields(Window)}
    return Window(**{name: value for name, value in values.items() if name in known})


def _paper(item: Mapping[str, Any]) -> PaperTable | Claim:
    facts = dict(item)
    if facts.pop("kind") == "Claim":
        return Claim(**facts)
    values = tuple(PaperValue(**value) for value in facts.pop("values"))
    return PaperTable(**facts, values=values)
