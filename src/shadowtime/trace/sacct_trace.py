"""The jobs of an sacct export, once all rows are read, as a raw trace."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import InputError
from shadowtime.trace.sacct_jobs import PLACE
from shadowtime.trace.sacct_runs import SUBMIT, WAIT, join_runs
from shadowtime.trace.tres_demands import TresDemands
from shadowtime.types import UNKNOWN
from shadowtime.workload.raw import FIELDS, RawTrace
from shadowtime.workload.request import Requests

if TYPE_CHECKING:
    from shadowtime.trace.sacct_jobs import SacctJobs
    from shadowtime.types import Ints


def as_trace(read: SacctJobs, name: str, path: str | None) -> RawTrace:
    """All of it as a raw trace."""
    if len(read.clusters) > 1:
        raise InputError(
            f"the export holds jobs of several clusters: {', '.join(sorted(read.clusters))}",
            path=path,
            line=max(read.clusters.values()),
            hint="Choose one with --slurm-cluster NAME.",
        )
    rows = _together(read.tables, len(PLACE))
    jobs = join_runs(rows, read.raw_ids, requeued=read.requeued, waiting=read.waiting)
    read.counts["unfinished_dropped"] += jobs.unfinished
    read.counts["requeued_joined"] = sum(map(len, jobs.lost.values()))
    first, last = jobs.first, jobs.last
    if not len(first):
        told = ", ".join(f"{count} {rule}" for rule, count in read.counts.items() if count)
        what = f"there is no ended job in it ({told or 'no line at all'})"
        raise InputError(what, path=path, hint="Was a time span given to sacct (-S, -E)?")
    origin = int(rows[SUBMIT, first].min())
    asked = read.asked.requests(
        rows[PLACE["asked"]], _together(read.asked_for, len(Requests.COLUMNS)), origin
    )
    table = rows
    if len(first) < read.rows:  # else each row is a job of its own
        table = rows[:, last]
        # A job waits from its first submission to the start of the run that counts.
        again = table[SUBMIT] - rows[SUBMIT, first]
        table[SUBMIT] = rows[SUBMIT, first]
        table[WAIT] += np.where(table[WAIT] >= 0, again, 0)
        table[PLACE["eligible"]] = rows[PLACE["eligible"], first]
        asked = replace(asked.take(first), cancel_at=asked.cancel_at[last])
    np.maximum(table[WAIT], UNKNOWN, out=table[WAIT])  # a start before the submission is none
    column = {name: table[place] for name, place in PLACE.items()}
    column["submit"] -= origin
    column["used_memory"][:] = _used(read, last, column["procs"])
    eligible = column["eligible"]
    return RawTrace(
        name=name,
        table=table[: len(FIELDS)],
        line=column["line"],
        path=path,
        header=_header(read, origin),
        counts=read.counts,
        demands=TresDemands(
            [one.tres for one in read.asked.each], column["asked"],
            memory=column["memory"], gpus=column["gpus"],
        ),
        extra={
            "eligible": np.where(eligible >= origin, eligible - origin, UNKNOWN),
            "nodes": column["nodes"],
            "node_list": column["node_list"],
            # Which pass started each job and what it waited for, where these were exported.
            **({"started_by": column["started_by"]} if "flags" in read.place else {}),
            **({"pending_reason": column["pending_reason"]} if "reason" in read.place else {}),
        },
        requests=asked,
        lost_runs=jobs.lost,
        names={
            **{kind: ("", *names.numbers) for kind, names in read.names.items()},
            "node_list": tuple(read.asked.lists),
            **(
                {"pending_reason": ("", *read.reasons.numbers)}
                if "reason" in read.place
                else {}
            ),
        },
        epoch=origin,
    )  # fmt: skip


def _used(read: SacctJobs, rows: Ints, procs: Ints) -> Ints:
    """KB per processor of the steps of the jobs in these rows."""
    if not read.used:
        return np.full(len(rows), UNKNOWN, np.int64)
    ids = [read.raw_ids[row] for row in rows.tolist()]
    used = np.array([read.used.get(job, UNKNOWN) for job in ids], np.int64)
    each = -(-used // np.maximum(procs, 1))
    return np.where((used > 0) & (procs > 0), each, UNKNOWN)


def _header(read: SacctJobs, origin: int) -> tuple[str, ...]:
    lines = ["; Version: 2.2", "; Conversion: from sacct by shadowtime"]
    lines += [f"; Computer: {site}" for site in read.clusters if site]
    lines += [f"; UnixStartTime: {origin}", f"; TimeZoneString: {read.zone.key}"]
    for kind, names in read.names.items():
        lines += [
            f"; {kind.capitalize()}: {number} {'_'.join(label.split())}"
            for label, number in names.numbers.items()
        ]
    return tuple(lines)


def _together(tables: list[Ints], fields: int) -> Ints:
    """Tables side by side; they are given up as they are copied, so memory is needed once."""
    whole = np.empty((fields, sum(table.shape[1] for table in tables)), np.int64)
    at = 0
    tables.reverse()
    while tables:
        table = tables.pop()
        whole[:, at : at + table.shape[1]] = table
        at += table.shape[1]
    return whole
