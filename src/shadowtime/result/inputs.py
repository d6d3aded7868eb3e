"""The jobs and the machine of a result folder: written so that they can be read again.

SWF has fields for most properties of a job. The others (kill limits that are not the request,
resources other than processors, further columns) go to ``columns.csv.gz``, which exists only if
needed. What jobs request from a site is in ``jobs.csv.gz``, the table of jobs of the trace readers;
the names behind numbers, the clock of the log and its series in ``names.json``.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shadowtime.cluster import Cluster, Host, toml
from shadowtime.errors import InputError
from shadowtime.printable import shown
from shadowtime.private import write_result
from shadowtime.trace import job_table, job_table_files, read_swf, write_swf
from shadowtime.trace._bytes import load, save
from shadowtime.types import NO_LIMIT, UNKNOWN, AnyArray, Ints
from shadowtime.workload import Workload
from shadowtime.workload.raw import KEPT
from shadowtime.workload.request import Requests
from shadowtime.workload.series import Series

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site


JOBS, NAMES = "jobs.csv.gz", "names.json"


def _wrong(path: Path, why: str) -> InputError:
    """What is wrong with a file of the folder."""
    return InputError(why, path=str(path), hint="Write the folder again.")


def write_asked(workload: Workload, folder: Path) -> None:
    """The requests and the names of a workload; files of an older result are removed."""
    for name in (JOBS, NAMES):
        (folder / name).unlink(missing_ok=True)
    if workload.requests is not None:
        columns = job_table.table_of(workload)
        for name in ("qos", "account"):  # as requested: the job's own are in names.json
            columns[name] = [
                getattr(workload.requests[row], name) or None for row in range(len(workload))
            ]
        out = io.StringIO()
        table = csv.writer(out, lineterminator="\n")
        table.writerow(columns)
        table.writerows(zip(*columns.values(), strict=True))
        save(out.getvalue().encode("utf-8"), folder / JOBS)
    known = _known(workload)
    if known:
        write_result(folder / NAMES, json.dumps(known, indent=1, ensure_ascii=False) + "\n")


def _known(workload: Workload) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if workload.names:
        found["names"] = {column: list(names) for column, names in workload.names.items()}
    if workload.epoch is not None:
        found["epoch"] = workload.epoch
    if workload.lost_runs:
        found["lost_runs"] = {str(job): list(runs) for job, runs in workload.lost_runs.items()}
    if workload.series:
        found["series"] = {name: one.as_dict() for name, one in workload.series.items()}
    if len(workload.follows):
        found["follows"] = workload.follows.tolist()
    asked = workload.requests
    if asked is not None:
        found["inferred"] = dict(asked.inferred)
    return found


def read_asked(folder: Path, job_id: Ints) -> dict[str, Any]:
    """The fields of the workload that :func:`write_asked` saved; none if it saved none."""
    known = _read_names(folder / NAMES)
    epoch = known.get("epoch")
    found: dict[str, Any] = {
        "names": {str(column): tuple(names) for column, names in known.get("names", {}).items()},
        "epoch": None if epoch is None else int(epoch),
        "lost_runs": {
            int(job): tuple((int(begin), int(end)) for begin, end in runs)
            for job, runs in known.get("lost_runs", {}).items()
        },
    }
    try:
        series = {name: Series.of(name, one) for name, one in known.get("series", {}).items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        raise _wrong(folder / NAMES, "contains a series that is none") from None
    found["series"] = series
    try:
        found["follows"] = np.array(known.get("follows", []), np.int64).reshape(-1, 4)
    except (TypeError, ValueError, OverflowError):
        raise _wrong(folder / NAMES, "does not say which jobs follow which") from None
    if (folder / JOBS).exists():
        found["requests"] = _read_requests(
            folder / JOBS, job_id, found["epoch"] or 0, known.get("inferred", {})
        )
    return found


def _read_names(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        known = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _wrong(path, f"cannot be read ({error})") from None
    if not isinstance(known, dict):
        raise _wrong(path, "contains no names of a log")
    return known


def _read_requests(path: Path, job_id: Ints, base: int, inferred: Mapping[str, int]) -> Requests:
    try:
        text = load(path).decode("utf-8")
    except UnicodeDecodeError:
        raise _wrong(path, "is not text in UTF-8") from None
    raw = job_table_files.parse_job_csv(text, name=path.name, path=str(path))
    if raw.requests is None or not np.array_equal(raw["job_id"], job_id):
        raise _wrong(path, "these are not the jobs of the trace beside it")
    # The reader counts from the first submission; the workload's clock may have begun earlier.
    shift = (raw.epoch or 0) - base
    times = {
        name: np.where(values != UNKNOWN, values + shift, values)
        for name in ("begin", "cancel_at")
        for values in (getattr(raw.requests, name),)
    }
    return replace(raw.requests, inferred=dict(inferred), **times)


TRACE, COLUMNS, CLUSTER = "trace.swf.gz", "columns.csv.gz", "cluster.json"
SAME = ("user", "group", "executable", "queue", "partition", "status")
"""Columns that SWF has under the same name."""

DEMAND = "demand."
"""The prefix of a resource's name in a heading of ``columns.csv.gz``."""


def write_jobs(workload: Workload, folder: Path) -> None:
    """The workload as SWF, and beside it what SWF cannot represent."""
    write_swf(workload, folder / TRACE)
    write_asked(workload, folder)
    columns = _not_in_swf(workload)
    if not columns:
        (folder / COLUMNS).unlink(missing_ok=True)  # of an older result in the same folder
        return
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(columns)
    table.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    save(out.getvalue().encode("utf-8"), folder / COLUMNS)


def _not_in_swf(workload: Workload) -> dict[str, AnyArray]:
    columns: dict[str, AnyArray] = {}
    if not np.array_equal(workload.limit, workload.request):
        columns["limit"] = np.where(workload.limit >= NO_LIMIT, UNKNOWN, workload.limit)
    for place, resource in enumerate(workload.resources[1:], 1):
        columns[DEMAND + resource] = workload.demand[:, place]
    others = workload.extra.items()
    return columns | {n: column for n, column in others if n not in KEPT and column.ndim == 1}


def read_jobs(folder: Path, *, header_lines: int | None = None, **known: Any) -> Workload:
    """The workload of a folder; ``known`` are its name and its cleaning.

    ``header_lines`` are those of the log itself: the writer adds some of its own below.
    """
    raw = read_swf(folder / TRACE)
    asked = read_asked(folder, raw["job_id"])
    more = _read_columns(folder / COLUMNS, len(raw))
    demand = {
        name.removeprefix(DEMAND): _whole(more.pop(name), name, folder)
        for name in list(more)
        if name.startswith(DEMAND)
    }
    limit = _whole(more.pop("limit", raw["request"]), "limit", folder)
    start = np.where(raw["wait"] >= 0, raw["submit"] + raw["wait"], UNKNOWN)
    kept = {name: raw[name] for name in KEPT if bool((raw[name] != UNKNOWN).any())}
    same: dict[str, Any] = {name: raw[name] for name in SAME}
    return Workload.build(
        submit=raw["submit"],
        run=raw["run"],
        procs=raw["procs"],
        request=raw["request"],
        limit=np.where(limit == UNKNOWN, NO_LIMIT, limit),
        job_id=raw["job_id"],
        demand=demand,
        recorded_start=start,
        **same,
        extra={**kept, **more},
        header=raw.header[:header_lines],
        machine=raw.machine,
        **asked,
        **known,
    )


def _read_columns(path: Path, jobs: int) -> dict[str, AnyArray]:
    """Each column as whole numbers, else as numbers, else as text."""
    if not path.exists():
        return {}

    try:
        names, *rows = csv.reader(io.StringIO(load(path).decode("utf-8")))
    except (ValueError, csv.Error) as error:
        raise _wrong(path, f"is not a table ({error})") from None
    if len(rows) != jobs or any(len(row) != len(names) for row in rows):
        why = f"does not have {jobs:,} rows of {len(names)} columns, as {TRACE} beside it"
        raise _wrong(path, why)
    return {name: _numbers([row[i] for row in rows]) for i, name in enumerate(names)}


def _whole(column: AnyArray, name: str, folder: Path) -> AnyArray:
    if column.dtype.kind != "i":
        why = f"the column {shown(name)} has values that are not whole numbers"
        raise _wrong(folder / COLUMNS, why)
    return column


def _numbers(cells: list[str]) -> AnyArray:
    """A column of text as the narrowest type that can represent it.

    Examples
    --------
    >>> [_numbers(cells).dtype.kind for cells in (["1", "2"], ["1", "2.5"], ["1", "a"])]
    ['i', 'f', 'U']
    """
    for kind in (np.int64, np.float64):
        try:
            return np.array([kind(cell) for cell in cells])
        except (ValueError, OverflowError):
            continue
    return np.array(cells)


def whole_cluster(cluster: Cluster) -> dict[str, Any]:
    """The machine so that it can be read again."""
    if cluster.shape not in toml.SHAPES:
        from shadowtime.cluster.site_toml_write import format_site_toml

        site = cast("Site", cluster)
        return {"name": site.name, "shape": site.shape, "toml": format_site_toml(site)}
    return {
        "name": cluster.name,
        "shape": cluster.shape,
        "resources": cluster.resources,
        "hosts": [[host.name, *host.capacity] for host in cluster.hosts],
        "options": dict(cluster.options),
    }


def read_cluster(folder: Path, name: str = CLUSTER) -> Cluster:
    """The machine of a folder, or of one run that has its own."""
    path = folder / name
    try:
        content: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
        if "toml" in content:
            from shadowtime.cluster.site_toml import parse_site_toml

            return cast("Cluster", parse_site_toml(str(content["toml"]), path=str(path)))
        return Cluster(
            name=content["name"],
            shape=content["shape"],
            resources=tuple(content["resources"]),
            hosts=tuple(Host(str(name), tuple(capacity)) for name, *capacity in content["hosts"]),
            options=content["options"],
        )
    except FileNotFoundError:
        raise _wrong(path, "no such file") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _wrong(path, f"does not describe a machine ({error})") from None
