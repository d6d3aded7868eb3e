"""Job numbers that occur more than once in a log: parts of one job, copies, or plain clashes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from shadowtime.types import AnyArray, Ints
    from shadowtime.workload.raw import RawTrace


def _again(values: Ints) -> AnyArray:
    """True where a value occurred earlier."""
    again = np.zeros(len(values), bool)
    if len(values) < 2 or bool((values[1:] > values[:-1]).all()):
        return again  # increasing, as in nearly every log: nothing to sort
    order = np.argsort(values, kind="stable")
    again[order[1:]] = values[order[1:]] == values[order[:-1]]
    return again


def identical_lines(raw: RawTrace, kept: AnyArray) -> AnyArray:
    """Lines equal to an earlier kept line in all 18 fields, number included."""
    identical = np.zeros(len(raw), bool)
    at = np.flatnonzero(kept & (raw["job_id"] >= 0))
    job_id = raw["job_id"][at]
    suspects = at[np.isin(job_id, job_id[_again(job_id)])]
    seen: set[bytes] = set()
    for line in suspects.tolist():
        text = raw.table[:, line].tobytes()
        identical[line] = text in seen
        seen.add(text)
    return identical


def fresh_ids(job_id: Ints, kept: AnyArray) -> tuple[Ints, AnyArray, AnyArray]:
    """Job numbers made unique among the kept lines: (numbers, which were repeated, which missing).

    The first job with a number keeps it; the others get the numbers above the largest, in the
    order of the log.
    """
    missing = kept & (job_id < 0)
    at = np.flatnonzero(kept & ~missing)
    repeated = np.zeros(len(job_id), bool)
    repeated[at] = _again(job_id[at])
    renumber = repeated | missing
    count = int(renumber.sum())
    if count == 0:
        return job_id, repeated, missing
    fresh = job_id.copy()
    top = int(job_id[at].max()) if len(at) else 0
    fresh[renumber] = top + 1 + np.arange(count)
    return fresh, repeated, missing


def chain_parts(raw: RawTrace, part: AnyArray) -> Ints:
    """Submit times, where a part of a job without one is submitted as the part before it ends.

    In a log with ``Preemption: Double`` only the first part has a submission; the wait of each
    further one counts from the end of the part before it.
    """
    submit = raw["submit"].copy()
    ends: dict[int, int] = {}
    columns = (raw["job_id"], raw["wait"], raw["run"])
    for line in np.flatnonzero(part).tolist():
        job, wait, run = (int(column[line]) for column in columns)
        if submit[line] < 0 and job in ends:
            submit[line] = ends[job]
        if submit[line] >= 0:
            ends[job] = int(submit[line]) + max(wait, 0) + max(run, 0)
        else:
            submit[line] = UNKNOWN
    return submit
