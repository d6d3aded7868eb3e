"""A plan as a TOML file."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from shadowtime.errors import InputError, ShadowtimeError, UsageError, suggested
from shadowtime.policy.files import with_files
from shadowtime.study.sweep.plan import Log, Plan

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
