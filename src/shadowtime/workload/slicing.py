"""A part of a workload, by number of jobs or by time, and several workloads as one."""

from __future__ import annotations

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.types import UNKNOWN, AnyArray, Ints
from shadowtime.workload.scale import from_zero
from shadowtime.workload.workload import COLUMNS, Workload


def first_jobs(workload: Workload, count: int) -> Workload:
    """The first ``count`` jobs; all of them if there are fewer.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 10, 20], run=[1, 1, 1], procs=[1, 1, 1])
    >>> first_jobs(w, 2).job_id.tolist()
    [1, 2]
    """
    return job_range(workload, 0, count)


def job_range(workload: Workload, start: int, stop: int) -> Workload:
    """The jobs at the places start, start + 1, ... stop - 1, counted from 0 in (submit, id) order.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 10, 20], run=[1, 1, 1], procs=[1, 1, 1])
    >>> job_range(w, 1, 3).job_id.tolist()
    [2, 3]
    """
    if not 0 <= start <= stop:
        raise UsageError(f"jobs {start} to {stop} are not a range; give 0 <= start <= stop")
    return workload.take(np.arange(start, max(start, min(stop, len(workload)))))


def time_window(workload: Workload, start: int, end: int) -> Workload:
    """The jobs submitted at start <= time < end, in seconds of the trace; times stay as they are.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 10, 20], run=[1, 1, 1], procs=[1, 1, 1])
    >>> time_window(w, 10, 20).job_id.tolist()
    [2]
    """
    if start > end:
        raise UsageError(f"the window {start} to {end} s ends before it starts")
    at = np.searchsorted(workload.submit, [start, end], side="left")
    return workload.take(np.arange(at[0], at[1]))


PEOPLE = ("user", "group", "executable")
"""Columns whose numbers have another meaning in another log."""

MISSING: dict[str, object] = {"f": np.nan, "b": False, "u": 0, "S": b"", "U": ""}
"""What stands in an extra column where a workload does not have it, by kind; else -1."""


def merge(first: Workload, second: Workload, *more: Workload, name: str = "") -> Workload:
    """The jobs of several workloads on one time axis.

    Rules
    -----
    Each is shifted to start at 0; of each, the jobs submitted within the shortest span are kept
    (the last second included). Order: submission, then the workload given first, then job id;
    the jobs are renumbered from 1 in that order. Resources are the union, 0 where a workload
    does not know one. Users, groups and executables of a later workload are numbered past the
    earlier ones: user 1 of two logs is two users. ``extra["source"]`` is the workload that a job
    is from (0, 1, ...) and ``extra["source_id"]`` its number there; an extra column that a
    workload lacks is -1 there (NaN for floats, empty for text). The machine is the sum of
    the machines.

    Examples
    --------
    >>> a = Workload.build(submit=[5, 15, 99], run=[1, 1, 1], procs=[1, 1, 1], user=[1, 2, 1])
    >>> b = Workload.build(submit=[0, 10, 20], run=[2, 2, 2], procs=[3, 3, 3], user=[1, 1, 1])
    >>> w = merge(a, b)
    >>> w.submit.tolist(), w.procs.tolist(), w.user.tolist()
    ([0, 0, 10, 10, 20], [1, 3, 1, 3, 3], [1, 3, 2, 3, 3])

    References
    ----------
    L. Liu, Z. Luan, H. Wang and D. Qian, IBB: improved K-resource aware backfill balanced
    scheduling for HTCondor, NPC 2016: the mixed LANL-CM5 and METACENTRUM load.
    """
    parts = [from_zero(part) for part in (first, second, *more)]
    if any(len(part) == 0 for part in parts):
        raise UsageError("a workload without jobs cannot be merged; leave it out")
    span = min(int(part.submit[-1]) for part in parts)
    parts = [part.take(np.flatnonzero(part.submit <= span)) for part in parts]
    source = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    source_id = np.concatenate([part.job_id for part in parts])
    submit = np.concatenate([part.submit for part in parts])
    order = np.lexsort((source_id, source, submit))
    resources = tuple(dict.fromkeys(name for part in parts for name in part.resources))
    columns = {
        column: np.concatenate([getattr(part, column) for part in parts])
        for column in ("run", "request", "limit", *COLUMNS)
    }
    columns |= {column: _apart([getattr(part, column) for part in parts]) for column in PEOPLE}
    names = dict.fromkeys(name for part in parts for name in part.extra)
    extra = {name: _joined(parts, name) for name in names}
    extra |= {"source": source, "source_id": source_id}
    return Workload(
        name=name or "+".join(part.name for part in parts),
        job_id=np.arange(1, len(order) + 1),
        submit=submit[order],
        demand=np.concatenate([_demand(part, resources) for part in parts])[order],
        resources=resources,
        **{column: values[order] for column, values in columns.items()},  # type: ignore[arg-type]
        extra={name: values[order] for name, values in extra.items()},
        cleaning=_sums([dict(part.cleaning) for part in parts]),
        machine=_common(_sums([dict(part.machine) for part in parts]), parts),
    )


def _demand(part: Workload, resources: tuple[str, ...]) -> Ints:
    none = np.zeros(len(part), np.int64)
    known = {name: part.demand[:, i] for i, name in enumerate(part.resources)}
    return np.stack([known.get(name, none) for name in resources], axis=1)


def _apart(columns: list[Ints]) -> Ints:
    """One column in which no number of one part is a number of another; -1 stays."""
    shifted, top = [], 0
    for place, values in enumerate(columns):
        known = values != UNKNOWN
        shift = top + 1 - int(values[known].min(initial=top + 1)) if place else 0
        shifted.append(np.where(known, values + shift, UNKNOWN))
        top = max(top, int(shifted[-1].max(initial=0)))
    return np.concatenate(shifted)


def _joined(parts: list[Workload], name: str) -> AnyArray:
    kind = np.result_type(*(part.extra[name] for part in parts if name in part.extra))
    missing = MISSING.get(kind.kind, UNKNOWN)
    return np.concatenate(
        [part.extra.get(name, np.full(len(part), missing, kind)) for part in parts]
    )


def _sums(counts: list[dict[str, int]]) -> dict[str, int]:
    names = dict.fromkeys(name for count in counts for name in count)
    return {name: sum(count.get(name, 0) for count in counts) for name in names}


def _common(machine: dict[str, int], parts: list[Workload]) -> dict[str, int]:
    """Only what every part states: half a machine's memory is not the machine's memory."""
    return {
        name: amount for name, amount in machine.items() if all(name in p.machine for p in parts)
    }
