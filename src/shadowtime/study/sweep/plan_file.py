"""A plan as a TOML file, and what a folder of results records of it and has done of it."""

from __future__ import annotations

import json
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shadowtime import plain
from shadowtime.engine.semantics import SEMANTICS
from shadowtime.errors import InputError, ShadowtimeError, UsageError, suggested
from shadowtime.policy.files import with_files
from shadowtime.private import replace_whole
from shadowtime.study.sweep.plan import Log, Plan
from shadowtime.study.sweep.shards import Shards

TOP = ("logs", "clusters", "policies", "loads", "shake", "resample", "seeds", "phases", "window",
       "metrics", "cleaning", "jobs", "log", "check", "held_out", "series")  # fmt: skip
ONE = ("path", "cluster", "clusters", "name", "jobs", "cleaning", "demand", "series")
CLEANING = ("overrun", "cancelled", "too_wide", "rules", "tz", "slurm_cluster", "unlimited",
            "bad_lines", "max_size")  # fmt: skip


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """The plan in a TOML file; paths in it start at its folder.

    Rules
    -----
    ``logs`` and ``policies`` are required; ``clusters``, ``loads``, ``shake`` or ``resample``,
    ``seeds``, ``phases`` (offsets of Slurm's own passes), ``window``, ``metrics``, ``jobs`` (use
    only this many), ``series`` (values over time, such as "price=prices.csv") and the table
    ``cleaning`` are optional. A table ``[[log]]`` names one log with a cluster, name, jobs, series
    and cleaning of its own.
    """
    file = Path(path)
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError("no such plan", path=str(file), hint="Check the name.") from None
    except IsADirectoryError:
        raise InputError("this is a folder", path=str(file), hint="Name a TOML file.") from None
    except (ValueError, RecursionError, OSError) as error:
        raise InputError(f"not a readable TOML file ({error})", path=str(file)) from None
    try:
        return _plan(table, file.resolve().parent)
    except InputError:
        raise
    except ShadowtimeError as error:
        raise InputError(str(error), path=str(file)) from None


def _plan(table: dict[str, Any], folder: Path) -> Plan:
    _only(table, TOP, "a plan")
    common = _cleaning(table.get("cleaning", {})) | _series(folder, table)
    first = _count(table, "jobs")
    clusters = _texts(table, "clusters") or [None]
    logs = [
        Log.of(_at(folder, path), _machine(folder, machine), first=first, cleaning=common)
        for path in _texts(table, "logs")
        for machine in clusters
    ]
    for one in _tables(table, "log"):
        _only(one, ONE, "a [[log]]")
        if not isinstance(one.get("path"), str):
            raise UsageError('a [[log]] needs path = "FILE"')
        machines = [one["cluster"]] if "cluster" in one else _texts(one, "clusters") or clusters
        logs += [
            Log.of(
                _at(folder, one["path"]), _machine(folder, machine), name=one.get("name"),
                first=_count(one, "jobs") or first, demand=one.get("demand"),
                cleaning={
                    **common, **_cleaning(one.get("cleaning", {})), **_series(folder, one),
                },
            )
            for machine in machines
        ]  # fmt: skip
    seeds = table.get("seeds", [1])
    if not isinstance(seeds, list) or not all(type(one) is int for one in seeds):
        raise UsageError("seeds must be a list of whole numbers, such as [1, 2, 3]")
    check, held_out = table.get("check", False), table.get("held_out", 0.0)
    if not isinstance(check, bool):
        raise UsageError("check must be true or false")
    if isinstance(held_out, bool) or not isinstance(held_out, int | float):
        raise UsageError("held_out must be a share of the jobs, such as 0.2")
    return Plan.of(
        logs,
        [_policy(folder, text) for text in _texts(table, "policies")],
        loads=[str(one) for one in _list(table, "loads")] or ["1"],
        shake=_count(table, "shake") or 0,
        resample=_count(table, "resample") or 0,
        seeds=seeds,
        phases=_count(table, "phases") or 0,
        window=table.get("window"),
        metrics=_texts(table, "metrics"),
        check=check,
        held_out=float(held_out),
    )


def _only(table: dict[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in table:
        if key not in known:
            raise UsageError(f"{what} has no key {key!r}. {suggested(key, known)}")


def _list(table: dict[str, Any], key: str) -> list[Any]:
    value = table.get(key, [])
    if not isinstance(value, list):
        value = [value]
    if not all(isinstance(one, str | int | float) and not isinstance(one, bool) for one in value):
        raise UsageError(f"{key} must be a list of strings or numbers")
    return value


def _texts(table: dict[str, Any], key: str) -> list[Any]:
    found = _list(table, key)
    if not all(isinstance(one, str) for one in found):
        raise UsageError(f"{key} must be a list of strings")
    return found


def _tables(table: dict[str, Any], key: str) -> list[dict[str, Any]]:
    found = table.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise UsageError(
            f"write [[{key}]], with two brackets, for a log with settings of its own, or {key}s = "
            '["FILE", ...] for files'
        )
    return found


def _count(table: dict[str, Any], key: str) -> int | None:
    value = table.get(key)
    if value is not None and (type(value) is not int or value < 0):
        raise UsageError(f"{key} must be a whole number from 0, not {value!r}")
    return value


def _cleaning(table: Any) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise UsageError("cleaning must be a table of rules")
    _only(table, CLEANING, "the table cleaning")
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def _series(folder: Path, table: dict[str, Any]) -> dict[str, Any]:
    """Values over time, from files that are relative to the plan's folder."""
    given = [text.partition("=") for text in _texts(table, "series")]
    for name, _, file in given:
        if not name or not file:
            raise UsageError('series must be a list like ["price=prices.csv"]')
    found = tuple(f"{name}={_at(folder, file)}" for name, _, file in given)
    return {"series": found} if found else {}


def _at(folder: Path, name: str) -> str:
    return str(folder / name)


def _machine(folder: Path, text: str | None) -> str | None:
    """A file of a machine is relative to the plan's folder."""
    if text is not None and os.path.exists(folder / text):  # no error, however long the name is
        return str(folder / text)
    return text


def _policy(folder: Path, text: str) -> str:
    """A file of a policy is relative to the plan's folder."""
    if text.endswith(".toml"):
        return str(folder / text)
    return with_files(text, lambda file: str(folder / file))


NAME = "sweep.json"


def write_record(plan: Plan, path: str, folder: str | os.PathLike[str]) -> None:
    """Record the path of the plan and what it read, for ``sweep status`` and for readers."""
    Shards(Path(folder)).make()
    content = {
        "plan": os.path.abspath(path),
        "text": Path(path).read_text("utf-8"),
        "semantics": SEMANTICS,
        "logs": [
            {"name": log.name, "trace": log.trace, "machine": log.machine} for log in plan.logs
        ],
    }
    raw = json.dumps(content, indent=1).encode()
    replace_whole(Path(folder) / NAME, raw + b"\n", mode=0o644)


def recorded_text(folder: str | os.PathLike[str]) -> str:
    """The text of the plan last run with a folder; empty if there is none."""
    found = _recorded(Path(folder) / NAME)
    return plain.text(found.get("text", ""), "text") if found else ""


def recorded_plan(folder: str | os.PathLike[str]) -> str | None:
    """The path of the plan last run with a folder; None if it is no longer known."""
    found = _recorded(Path(folder) / NAME)
    if found is None:
        return None
    name = plain.text(plain.entry(found, "plan"), "plan")
    return name if os.path.isfile(name) else None


def _recorded(path: Path) -> dict[str, Any] | None:
    try:
        return plain.load(path.read_bytes())
    except FileNotFoundError:
        return None
    except InputError as error:
        raise InputError(str(error), path=str(path), hint="Delete it.") from None


SHOWN = 10
"""The number of kinds of errors that are listed."""


@dataclass(frozen=True, kw_only=True)
class Status:
    """What a folder contains of a plan."""

    planned: int | None
    """Runs of the plan; None if the plan is not known."""
    done: int
    """Of these (or of all) the runs that have a row."""
    failed: int
    shards: int
    errors: tuple[tuple[str, int], ...]
    """The most frequent errors with their numbers."""
    seconds_left: int | None
    """At the rate so far."""

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "planned": self.planned,
            "done": self.done,
            "failed": self.failed,
            "shards": self.shards,
            "errors": [{"error": error, "runs": runs} for error, runs in self.errors],
            "seconds_left": self.seconds_left,
        }


def status_of(folder: str | os.PathLike[str], plan: str | None = None) -> Status:
    """The state of a sweep's folder, compared with a plan or the one last run with it."""
    shards = Shards(Path(folder))
    files = shards.files()
    done = shards.done()
    path = plan or recorded_plan(folder)
    keys = set(read_plan(path).keys()) if path else None
    mine = done if keys is None else {key: ok for key, ok in done.items() if key in keys}
    failed = {key for key, ok in mine.items() if not ok}
    left = None
    if keys is not None and len(files) > 1 and len(mine) < len(keys):
        times = sorted(file.stat().st_mtime for file in files)
        rate = len(mine) / max(times[-1] - times[0], 1.0)
        left = round((len(keys) - len(mine)) / rate)
    return Status(
        planned=None if keys is None else len(keys),
        done=len(mine),
        failed=len(failed),
        shards=len(files),
        errors=tuple(shards.errors(failed).most_common(SHOWN)) if failed else (),
        seconds_left=left,
    )
