"""A job log as it was written, before any cleaning: the 18 fields of the Standard Workload Format.

Every reader delivers this value, whatever the format of its file, so that one set of cleaning
rules (:mod:`shadowtime.workload.clean`) serves them all.

Also here: job numbers that occur more than once in a log, as parts of one job, copies or clashes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import InputError
from shadowtime.types import UNKNOWN, AnyArray, Ints

if TYPE_CHECKING:
    from shadowtime.workload.request import Requests


FIELDS = (
    "job_id",
    "submit",
    "wait",
    "run",
    "procs",
    "cpu_time",
    "used_memory",
    "requested_procs",
    "request",
    "requested_memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding_job",
    "think_time",
)
"""SWF's fields 1 to 18; -1 is 'unknown', memory is KB per processor, times are seconds."""

KEPT = (
    "cpu_time",
    "used_memory",
    "requested_procs",
    "requested_memory",
    "preceding_job",
    "think_time",
)
"""Fields without a column of their own in a Workload: kept in ``extra`` where they say anything."""

STATUS_FAILED, STATUS_COMPLETED, STATUS_CANCELLED = 0, 1, 5
STATUS_PARTIAL = (2, 3, 4)
"""Parts of a job that ran in bursts: to be continued, last and completed, last and failed."""

MAX_TIME = (1 << 39) - 1
"""The latest submission in seconds: schedules may go on as long again without leaving 40 bits."""

MAX_PROCS = (1 << 31) - 2
MAX_AMOUNT = 1 << 53
"""Largest job number, memory size or other amount: exact in every tool that reads our output."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RawTrace:
    """The lines of a log as numbers, with everything else the file contains.

    ``table`` has a row per field (see FIELDS) and a column per line. ``demands`` holds amounts
    of whole jobs from formats that know them (memory in KB, gpus); ``extra`` any other column.
    """

    name: str
    table: Ints
    line: Ints
    """Where each job stands in the file, counted from 1."""
    path: str | None = None
    header: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    """What the reader repaired, by rule."""
    machine: Mapping[str, int] = field(default_factory=dict)
    demands: Mapping[str, Ints] = field(default_factory=dict)
    extra: Mapping[str, AnyArray] = field(default_factory=dict)
    requests: Requests | None = None
    """What each job asks of a site, where the format knows more than amounts."""
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names behind the numbers of a column, as in a Workload."""
    follows: Ints = field(default_factory=lambda: np.empty((0, 4), np.int64))
    """Jobs that follow others, by id, as in a Workload."""
    epoch: int | None = None
    """Seconds since 1970 at which the log's clock reads 0."""

    lost_runs: Mapping[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    """By place: begin and end of runs that were requeued, in seconds from the submission."""

    def __post_init__(self) -> None:
        if self.table.shape != (len(FIELDS), len(self.line)):
            raise InputError(
                f"a raw trace of {len(self.line)} lines needs a table of "
                f"{len(FIELDS)} x {len(self.line)}, not {self.table.shape}"
            )

    def __len__(self) -> int:
        return len(self.line)

    @property
    def in_parts(self) -> bool:
        """The header states ``Preemption: Double``: jobs are listed whole and in parts."""
        entries = (line.lstrip("; \t").lower().partition(":") for line in self.header)
        return any(
            key.strip() == "preemption" and value.split()[:1] == ["double"]
            for key, _, value in entries
        )

    def __getitem__(self, name: str) -> Ints:
        """A field by its name in FIELDS."""
        column: Ints = self.table[FIELDS.index(name)]
        return column


def _again(values: Ints) -> AnyArray:
    """True where a value occurred earlier."""
    again = np.zeros(len(values), bool)
    if len(values) < 2 or bool((values[1:] > values[:-1]).all()):
        return again  # increasing, as in nearly every log: nothing to sort
    order = np.argsort(values, kind="stable")
    again[order[1:]] = values[order[1:]] == values[order[:-1]]
    return again


def _taken(column: Ints, mask: AnyArray) -> Ints:
    """The values where the mask is true; the column itself where it is all over."""
    return column if mask.all() else column[mask]


def identical_lines(raw: RawTrace, kept: AnyArray) -> AnyArray:
    """Lines equal to an earlier kept line in all 18 fields, number included."""
    identical = np.zeros(len(raw), bool)
    known = kept & (raw["job_id"] >= 0)
    job_id = _taken(raw["job_id"], known)
    again = _again(job_id)
    if not again.any():
        return identical
    suspects = np.flatnonzero(known)[np.isin(job_id, job_id[again])]
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
    known = kept & ~missing
    repeated = np.zeros(len(job_id), bool)
    again = _again(_taken(job_id, known))
    if again.any():
        repeated[known] = again
    renumber = repeated | missing
    count = int(renumber.sum())
    if count == 0:
        return job_id, repeated, missing
    fresh = job_id.copy()
    top = int(job_id[known].max(initial=0))
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
