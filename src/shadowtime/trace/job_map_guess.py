"""A proposed map for a table whose columns nobody knows, to be corrected by its owner.

A column is guessed by its name, if its cells can be what the name says. Units are those that the
name ends in, else those in which the numbers make sense: times that count from 1970 lie in this
century, runs are end - start, limits are not below the runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from shadowtime.cluster.node_table import plain_name
from shadowtime.errors import ClusterError, InputError
from shadowtime.printable import shown
from shadowtime.trace._bytes import map_beside
from shadowtime.trace.job_map import NUMBERS, SECONDS, SPANS, STATES, TIMES, JobMap
from shadowtime.trace.job_map_cells import is_empty, mapped, span

_TIME = r"(_(time|timestamp|ts|date|datetime|at|on|epoch|unix|utc))*"
_COUNT = r"(num|number|n|no|count|total|nb)?_?(of_)?"
_ASKED = r"(_?(req|requested|request|asked))"
_NAMES: dict[str, tuple[str, ...]] = {
    "submit": (
        rf"(time_|date_)?(submit|submitted|submission|subm){_TIME}",
        rf"(time_|date_)?(queued|enqueued?|qtime|queue_time){_TIME}",
        rf"(time_|date_)?(creation|created?|ctime){_TIME}",
        rf"(time_|date_)?(arrival|arrived?|release|adt){_TIME}",
        r"time|timestamp",
    ),
    "start": (
        rf"(time_|date_)?(job_)?(start|started){_TIME}",
        rf"(time_|date_)?(begin|began|begun|sdt){_TIME}",
        rf"(time_|date_)?(scheduled?|dispatch|dispatched|launch|launched){_TIME}",
    ),
    "end": (
        rf"(time_|date_)?(job_)?(end|ended){_TIME}",
        rf"(time_|date_)?(finish|finished|complete|completed|completion|edt){_TIME}",
        rf"(time_|date_)?(deletion|deleted|stop|stopped|terminated?|termination){_TIME}",
    ),
    "eligible": (rf"(time_)?eligible{_TIME}",),
    "run": (
        r"(job_)?(run_?time|elapsed(_time)?|actual_(duration|run_?time))(_raw)?",
        r"(wall_?(clock|time)_)?(run_?time|duration|used|elapsed|execution_time|service_time)",
        r"(job_)?duration",
    ),
    "request": (
        r"(req|requested)_(duration|wall_?time|wall_?clock|time|run_?time)",
        r"(wall_?time|wall_?clock|time|duration)_(req|requested|limit|limit_req)",
        r"time_?limit(_raw)?|elpl|(wall|max)_?(time|clock|run_?time)(_limit)?|wall|limit|timeout",
        r"estimate(d_run_?time)?|wallclock",
    ),
    "wait": (r"(submit_|queue_|queued?_)?wait(ing)?(_time)?|time_in_queue|queued_time",),
    "procs": (
        rf"{_COUNT}(cpus?|cores?|processors?|procs?|slots|pes){_ASKED}",
        rf"(req|requested|asked)_{_COUNT}(cpus?|cores?|processors?|procs?)",
        rf"{_COUNT}(cpus?|cores?|processors?|procs?|slots|cnumr)(_(num|count))?",
        r"(alloc|allocated|used)_(cpus?|cores?|processors?)|total_?cores|(n|total_?)cpus?",
        rf"{_COUNT}(cpus?|cores?|processors?)_(alloc|allocated|used)",
    ),
    "nodes": (
        rf"{_COUNT}nodes?{_ASKED}",
        rf"(req|requested|asked)_{_COUNT}nodes?",
        rf"{_COUNT}(nodes?|hosts?)(_num)?|nnodes|nnumr",
        rf"(alloc|allocated|used)_nodes?|{_COUNT}nodes?_(alloc|allocated|used|occupied)|node_count",
    ),
    "gpus": (
        rf"{_COUNT}gpus?{_ASKED}",
        rf"(req|requested|asked)_{_COUNT}gpus?",
        rf"{_COUNT}gpus?(_(num|count))?|ngpus",
        rf"(alloc|allocated)_gpus?|{_COUNT}gpus?_(alloc|allocated)",
    ),
    "memory": (
        rf"(total_)?(mem|memory){_ASKED}(_total)?|(req|requested)_(mem|memory)(_total)?",
        r"(total_)?(mem|memory|ram)",
        rf"(mem|memory){_ASKED}?_per_(cpu|core|node)|(req|requested)_(mem|memory)_per_(cpu|node)",
    ),
    "tres": (r"(req|requested|asked)_?tres|tres_?req(_str)?|(tres_?alloc|alloc_?tres)(_str)?",),
    "priority": (r"(job_)?(priority|prio)",),
    "nice": (r"nice",),
    "user": (
        r"user(_?name)?|owner|usr|submitter",
        r"(user|owner)(_?name)?_(id|hash|genid|key)|uid|user_?id|id_user",
    ),
    "account": (
        r"account(_name)?|acct|project(_name)?|allocation",
        r"(account|project|group)(_name)?_(id|hash|genid|key)|group(_name)?|gid|cost_center",
    ),
    "partition": (
        r"partition(_name)?", r"queue(_name)?|pool|job_class|class",
        r"(partition|queue)_id|vc|virtual_cluster",
    ),
    "qos": (r"qos(_name|_id)?|id_qos|quality_of_service|service_class",),
    "state": (
        r"(job_|exit_|final_)?(state|status)(_current)?",
        r"(pod_|job_)?phase|(job_)?result|state_simple",
        r"exit_code|exit_status",
    ),
    "job_id": (
        r"job_?id(_raw)?|id_job|jid|job_?(number|no)|pod_?id|task_?id",
        r"(job_)?(unique_)?id|job_(unique|uu|global)_?id|job|uid|uuid",
        r"(pod_|job_|task_)?name|pod|(instance_|pod_|job_)?sn|inst(ance)?_id",
    ),
    "name": (r"(job|pod|task)_?name|executable|application|name|jnam",),
    "features": (r"constraints?|features?|gpu_(spec|type|model)",),
    "reservation": (r"reservation(_name)?|resv",),
    "node_list": (r"node_?list|nodes_(list|used)|exec_?hosts?|hosts?_list",),
}  # fmt: skip
"""For each of our columns the names that others give it, the best first."""
_DATE = re.compile(
    r"\d{4}[-/]\d\d[-/]\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?( ?UTC|Z|[+-]\d\d:?\d\d)?"
)
_NUMBER = re.compile(r"-?\d+(\.\d*)?(e[+-]?\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class _Column:
    """A column of theirs: its name in plain words, the unit at the end of it, some cells."""

    name: str
    plain: str
    unit: str
    cells: Sequence[Any]
    """Those of the sample that say something."""

    def numbers(self) -> list[float]:
        return [float(cell) for cell in self.cells if _is_number(cell)]


def propose(columns: Mapping[str, Sequence[Any]], path: str | None) -> InputError:
    """The answer to a table without a map: one is written beside it, or told.

    ``columns`` are those of the first rows. The error names what to do next.
    """
    text, lacking = proposed_map(columns)
    what = "its columns are not known"
    if lacking:
        what += f", and none of them looks like {' or '.join(lacking)}"
    beside = map_beside(path)
    try:
        if not beside:
            raise OSError
        with open(beside, "x", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        entries = "; ".join(line for line in text.splitlines() if line and line[0] != "#")
        hint = f"Put a map into {beside or 'TABLE.map.toml'}, for example: {entries}"
        return InputError(what, path=path, hint=hint)
    name = os.path.join(os.path.dirname(beside), Path(beside).name)
    hint = f"A map with guesses is in {name}: check it, correct it, and run the command again."
    return InputError(what, path=path, hint=hint)


def proposed_map(columns: Mapping[str, Sequence[Any]]) -> tuple[str, list[str]]:
    """The text of a map for these columns, and what must be in it and was not found.

    Examples
    --------
    >>> text, lacking = proposed_map({"queued_at": ["2021-05-04 12:00:00"], "wall_min": ["7"],
    ...     "began": ["2021-05-04 12:01:00"], "ended": ["2021-05-04 12:02:00"], "cores": ["4"]})
    >>> print("\\n".join(line for line in text.splitlines() if line[:1] not in ("", "#")))
    submit = "queued_at"        # such as 2021-05-04 12:00:00
    start = "began"             # such as 2021-05-04 12:01:00
    end = "ended"               # such as 2021-05-04 12:02:00
    request = "wall_min"        # such as 7
    procs = "cores"             # such as 4
    [units]
    request = "min"
    """
    given = [_column(name, cells) for name, cells in columns.items()]
    found = _matches(given)
    units = _units(found)
    per = {}
    if "memory" in found:
        plain = found["memory"].plain
        per["memory"] = next((one for one in ("cpu", "node") if f"per_{one}" in plain), "")
        if "per_core" in plain:
            per["memory"] = "cpu"
        per["memory"] = per["memory"] or "job"
    lacking = []
    if "submit" not in found:
        lacking.append("a time of submission")
    if not ({"run"} & found.keys() or {"start", "end"} <= found.keys()):
        lacking.append("a run time")
    lines = [
        "# What the columns of this table are, guessed by their names and cells: OURS = THEIRS.",
        "# Correct it; see docs/reference/formats.md for what can stand here.",
        "",
    ]
    for ours, column in found.items():
        such = str(next(iter(column.cells), ""))
        entry = f"{ours} = {_quoted(column.name)}"
        lines.append(f"{entry:<27} # such as {shown(such)[:60].strip(chr(39))}" if such else entry)
    lines += [f"# {what}: not found" for what in lacking]
    for title, table in (("units", units), ("per", per)):
        if table:
            lines += ["", f"[{title}]"]
            lines += [f"{key} = {_quoted(value)}" for key, value in table.items()]
    left = [one.name for one in given if one.name and one not in found.values()]
    if left:
        lines += ["", "# Not used: " + ", ".join(map(_quoted, left))]
    text = "\n".join(lines) + "\n"
    return text, lacking


def _column(name: str, cells: Sequence[Any]) -> _Column:
    plain, unit = plain_name(name)
    told = [cell for cell in cells[:1000] if not is_empty(cell)]
    return _Column(name, plain, unit, told)


def _matches(given: list[_Column]) -> dict[str, _Column]:
    """The best column for each of ours, each used once."""
    found: dict[str, _Column] = {}
    used: set[str] = set()
    for ours, patterns in _NAMES.items():
        for pattern in patterns:
            match = next(
                (
                    one for one in given
                    if one.name not in used and re.fullmatch(pattern, one.plain)
                    and _can_be(ours, one)
                ),
                None,
            )  # fmt: skip
            if match is not None:
                found[ours] = match
                used.add(match.name)
                break
    if "wait" in found and "start" in found:
        del found["wait"]
    return found


def _can_be(ours: str, column: _Column) -> bool:
    """Can the cells be that? A column without any may be."""
    cells = column.cells
    if not cells:
        return ours not in ("gpus", "features", "reservation", "priority", "nice")
    if ours in TIMES:
        dates = all(_is_date(cell) for cell in cells)
        return dates or (all(map(_is_number, cells)) and column.unit not in ("h", "d", "milli"))
    if ours in SPANS:
        return all(_is_span(cell) for cell in cells)
    if ours in NUMBERS or ours == "memory":
        if ours == "memory":
            return all(_is_size(cell) for cell in cells)
        whole = column.unit == "milli" or all(x.is_integer() for x in column.numbers())
        return whole and all(map(_is_number, cells))
    if ours == "tres":
        return any("=" in str(cell) for cell in cells)
    if ours == "node_list":
        return not all(map(_is_number, cells))
    if ours == "partition":  # a column queue may be the time in it
        return len(set(map(str, cells))) <= 100
    if ours == "job_id":
        return len(set(map(str, cells))) > len(cells) // 2
    return True


def _is_number(cell: Any) -> bool:
    if isinstance(cell, str):
        return _NUMBER.fullmatch(cell.strip()) is not None
    return not isinstance(cell, date | timedelta | list | dict | tuple)


def _is_date(cell: Any) -> bool:
    if isinstance(cell, str):
        return _DATE.fullmatch(cell.strip()) is not None
    return isinstance(cell, date)


def _is_span(cell: Any) -> bool:
    if isinstance(cell, datetime | date):
        return False
    if str(cell).strip().lower() in ("unlimited", "infinite", "partition_limit"):
        return True
    try:
        return span(cell) >= -1
    except (ValueError, TypeError, OverflowError):
        return False


def _is_size(cell: Any) -> bool:
    size = r"[\d.]+ ?[kmgtp]i?b?[cn]?"
    return _is_number(cell) or re.fullmatch(size, str(cell), re.IGNORECASE) is not None


def _units(found: dict[str, _Column]) -> dict[str, str]:
    """The units that are not ours: as the names say, else as the numbers make sense."""
    units = {ours: one.unit for ours, one in found.items() if one.unit not in ("", "s")}
    for ours in TIMES:
        if ours in found and ours not in units and (many := found[ours].numbers()):
            largest = max(many)
            for unit, least in (("ns", 1e17), ("us", 1e14), ("ms", 1e11)):
                if largest > least:
                    units[ours] = unit
                    break
    if "memory" in found and "memory" not in units and found["memory"].numbers():
        largest = max(found["memory"].numbers())
        units["memory"] = "B" if largest > 1e10 else "KB" if largest > 3e7 else "MB"
    if "state" in found:
        units.pop("state", None)
        numbers = found["state"].numbers() if all(map(_is_number, found["state"].cells)) else []
        small = all(0 <= one < len(STATES) for one in numbers)
        if small and numbers.count(3) > numbers.count(0):  # 0 would be an exit code: most are 0
            units["state"] = "slurm"
    for ours in ("procs", "gpus"):
        if ours in units and units[ours] != "milli":
            del units[ours]
    runs = _runs(found, units)
    for ours, far in (("run", _differ), ("request", _below)):
        column = found.get(ours)
        if column is None or ours in units or column.unit or not runs:
            continue
        if not all(map(_is_number, column.cells)):
            continue
        fits = {
            unit: far([x * SECONDS[unit] for x in column.numbers()], runs)
            for unit in ("s", "min", "h", "ms")
        }
        best = min(fits, key=lambda unit: fits[unit])
        if best != "s" and fits["s"] > 0.5 and fits[best] < 0.5:
            units[ours] = best
    return units


def _runs(found: dict[str, _Column], units: dict[str, str]) -> list[float]:
    """Run times in seconds by start and end, in the order of the sample."""
    if not {"start", "end"} <= found.keys():
        return []
    keys: dict[str, str] = {
        ours: found[ours].name for ours in ("submit", "start", "end") if ours in found
    }
    keys.setdefault("submit", found["start"].name)
    rows = min(len(found["start"].cells), len(found["end"].cells))
    made = JobMap(name="guess", columns=keys, units={k: v for k, v in units.items() if k in keys})
    try:
        ours = mapped({name: _first(found, name, rows) for name in keys.values()}, made, path=None)
    except (InputError, ClusterError):
        return []
    return [float(one) for one in ours["run"] if one is not None]


def _first(found: dict[str, _Column], name: str, rows: int) -> list[Any]:
    column = next(one for one in found.values() if one.name == name)
    return [*column.cells[:rows], *[None] * (rows - len(column.cells))]


def _differ(values: list[float], runs: list[float]) -> float:
    """The share of values far from the run times, both sorted."""
    pairs = list(zip(sorted(values), sorted(runs), strict=False))
    return sum(abs(a - b) > 60 + 0.1 * b for a, b in pairs) / max(len(pairs), 1)


def _below(values: list[float], runs: list[float]) -> float:
    """The share of limits below the run times, both sorted, or beyond a year."""
    pairs = list(zip(sorted(values), sorted(runs), strict=False))
    return sum(a < 0.9 * b or a > 366 * 86_400 for a, b in pairs) / max(len(pairs), 1)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
