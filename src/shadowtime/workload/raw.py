"""A job log as it was written, before any cleaning: the 18 fields of the Standard Workload Format.

Every reader delivers this value, whatever the format of its file, so that one set of cleaning
rules (:mod:`shadowtime.workload.clean`) serves them all.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from shadowtime.errors import InputError
from shadowtime.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.types import AnyArray, Ints
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
