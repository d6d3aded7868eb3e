"""The rows of an sacct export as the fields of a raw trace."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import InputError
from shadowtime.trace import slurm_fields as fields
from shadowtime.trace.sacct_columns import Clock, Known, are_digits
from shadowtime.trace.sacct_columns import counts as counts_of
from shadowtime.trace.sacct_ids import Ids, ids_at, parse_ids
from shadowtime.trace.sacct_requests import AMOUNTS, SacctRequests
from shadowtime.trace.slurm_job_id import tasks_of
from shadowtime.types import MAX_SPAN, UNKNOWN
from shadowtime.workload.raw import (
    FIELDS,
    MAX_AMOUNT,
    MAX_PROCS,
    MAX_TIME,
    STATUS_CANCELLED,
    STATUS_COMPLETED,
    STATUS_FAILED,
)
from shadowtime.workload.request import Requests

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from zoneinfo import ZoneInfo

    from shadowtime.trace.sacct_rows import Piece
    from shadowtime.types import AnyArray, Ints

_STATUS = {"COMPLETED": STATUS_COMPLETED, "CANCELLED": STATUS_CANCELLED}
_NEEDED = {
    "JobIDRaw or JobID": ("jobidraw", "jobid"),
    "Submit": ("submit",),
    "State": ("state",),
    "ElapsedRaw, Elapsed or End": ("elapsedraw", "elapsed", "end"),
    "NCPUS, AllocCPUS, ReqCPUS, AllocTRES or ReqTRES": (
        "ncpus", "alloccpus", "reqcpus", "alloctres", "reqtres",
    ),
}  # fmt: skip
_HIGHEST = {
    "submit": MAX_TIME,
    "wait": MAX_TIME,
    "eligible": MAX_TIME,
    "run": MAX_SPAN,
    "request": MAX_SPAN,
    "procs": MAX_PROCS,
    "requested_procs": MAX_PROCS,
    "memory": MAX_AMOUNT,
}
_BESIDE = ("eligible", "nodes", "memory", "gpus")
"""Columns beside the 18 fields of SWF."""
_READ_TOO = ("node_list", "started_by", "pending_reason", "line", "asked")
PLACE = {name: place for place, name in enumerate((*FIELDS, *_BESIDE, *_READ_TOO))}


def column_places(columns: tuple[str, ...], path: str | None) -> dict[str, int]:
    """Where each column stands (the first of two with one name), if all needed ones are there."""
    place = {column: i for i, column in reversed(list(enumerate(columns)))}
    for what, names in _NEEDED.items():
        if not any(name in place for name in names):
            raise InputError(
                f"the export has no column {what}",
                path=path,
                line=1,
                hint="Export with the command of `shadowtime trace sacct --print-command`.",
            )
    return place


@dataclass
class _Numbers:
    """Names as numbers, in the order in which they turn up."""

    numbers: dict[str, int] = field(default_factory=dict)
    known: Known[str] = field(init=False)

    def __post_init__(self) -> None:
        self.known = Known(self.__call__)

    def __call__(self, name: str) -> int:
        word = name.strip()
        return self.numbers.setdefault(word, len(self.numbers) + 1) if word else UNKNOWN


class _Taken:
    """The columns of those rows of a piece that are jobs, a row once per job."""

    def __init__(self, place: Mapping[str, int], piece: Piece, at: list[int] | None) -> None:
        self.place, self.piece, self.at = place, piece, at
        self.n = len(piece) if at is None else len(at)

    def __call__(self, name: str) -> Sequence[str]:
        if name not in self.place:
            return [""] * self.n
        column = self.piece.columns[self.place[name]]
        return column if self.at is None else [column[row] for row in self.at]


class SacctJobs:
    """The jobs read so far."""

    def __init__(
        self,
        place: Mapping[str, int],
        zone: ZoneInfo,
        *,
        zone_told: bool,
        cluster: str | None,
        unlimited: int,
    ) -> None:
        self.place, self.zone, self.zone_told = place, zone, zone_told
        self.cluster, self.unlimited = cluster, unlimited
        self.clock = Clock(zone)
        self.tables: list[Ints] = []
        """Of each piece: the fields of SWF, those beside them, and those of ``_READ_TOO``."""
        self.asked_for: list[Ints] = []
        self.rows = 0
        self.raw_ids: list[str] = []
        self.requeued: list[int] = []
        """Rows of runs that went back to the queue."""
        self.waiting: set[str] = set()
        """Ids with a row that has not ended."""
        self.asked = SacctRequests(place)
        self.used: dict[str, int] = {}
        self.clusters: dict[str, int] = {}
        self.names = {kind: _Numbers() for kind in ("user", "group", "queue", "partition")}
        self.job_names = _Numbers()
        self.reasons = _Numbers()
        """Why jobs waited, as far as accounting says."""
        self.reason: Known[str] = Known(lambda text: self.reasons(_reason(text)))
        self.started_by = Known(_started_by)
        self.limit: Known[tuple[str, str]] = Known(_limit)
        self.named = np.zeros((0, 3), np.int64)
        """Group, queue and partition of what is asked for, by its place in ``asked.each``."""
        self.counts = dict.fromkeys(
            ("bad_lines_dropped", "steps_dropped", "unfinished_dropped", "array_blocks_dropped",
             "array_blocks_split",
             "other_clusters_dropped", "names_joined", "local_times_as_utc", "request_unlimited",
             "requeued_joined"),
            0,
        )  # fmt: skip

    def add(self, piece: Piece) -> None:
        """Take rows in, or count why not; ValueError, and nothing is taken, if one makes no sense.

        The checks are made in one order, so that the first problem of a row is reported.
        """
        n = len(piece)
        every = _Taken(self.place, piece, None)
        ids = parse_ids(every("jobidraw"), every("jobid"))
        counts: Counter[str] = Counter()
        left_out = np.zeros(n, bool)
        if self.cluster is not None:
            left_out = np.array([one.strip() != self.cluster for one in every("cluster")], bool)
            counts["other_clusters_dropped"] += int(left_out.sum())
        steps = ids.step & ~left_out
        used = self._steps(np.flatnonzero(steps).tolist(), ids, every) if steps.any() else {}
        counts["steps_dropped"] += int(steps.sum())
        left_out |= steps
        rows = range(n) if not left_out.any() else np.flatnonzero(~left_out).tolist()
        states = every("state")
        state = [fields.parse_state(states[row]) for row in rows]
        kinds = set(state)
        waiting: list[str] = []
        again: set[int] = set()
        for row, name in zip(rows, state, strict=True) if kinds & fields.NOT_ENDED else ():
            if name in fields.NOT_ENDED:
                if name == "REQUEUED" and self._stamp("end", row, every) >= 0:
                    again.add(row)
                    continue
                left_out[row] = True
                blocks = row in ids.blocks
                counts["array_blocks_dropped" if blocks else "unfinished_dropped"] += 1
                if not blocks:
                    waiting.append(ids.label[row])
        status = np.full(n, STATUS_FAILED, np.int64)
        number = {name: _STATUS.get(name, STATUS_FAILED) for name in kinds}
        status[rows] = list(map(number.__getitem__, state))
        at: list[int] | None = None
        split = self._blocks(ids, status, left_out, every, counts) if ids.blocks else {}
        if split or left_out.any():
            one_by_one = [split.get(row, [row]) for row in np.flatnonzero(~left_out).tolist()]
            at = [row for rows in one_by_one for row in rows]
            ids = ids_at(ids, at, split)
            status = status[at]
        again.difference_update(split)
        taken = _Taken(self.place, piece, at)
        if taken.n:
            self._take(taken, ids, status, piece.lines if at is None else piece.lines[at], counts)
            origin = self.rows - taken.n
            if again:
                places = range(n) if at is None else at
                self.requeued += [origin + i for i, row in enumerate(places) if row in again]
        for job, memory in used.items():
            self.used[job] = max(self.used.get(job, 0), memory)
        self.waiting.update(waiting)
        for rule, count in counts.items():
            self.counts[rule] += count

    def _stamp(self, name: str, row: int, get: _Taken) -> int:
        return fields.parse_stamp(get(name)[row], self.zone)

    def _steps(self, rows: list[int], ids: Ids, get: _Taken) -> dict[str, int]:
        """Used memory is only known by step: the largest process times the processes."""
        found: dict[str, int] = {}
        if "maxrss" not in self.place:
            return found
        sizes, processes = get("maxrss"), get("ntasks")
        for row in rows:
            rss = sizes[row].strip()
            if rss:
                tasks = max(fields.parse_count(processes[row], "NTasks"), 1)
                job = ids.label[row].strip().partition(".")[0]
                size = fields.parse_reqmem(rss if rss[-1:].isalpha() else f"{rss}B", 1, 1)
                found[job] = max(found.get(job, 0), size * tasks)
        return found

    def _blocks(
        self, ids: Ids, status: Ints, left_out: AnyArray, get: _Taken, counts: Counter[str]
    ) -> dict[int, list[int]]:
        """Array tasks cancelled together while they waited: one line stands for all of them.

        The rows of such lines, each as often as it has tasks; other blocks are left out.
        """
        split: dict[int, list[int]] = {}
        for row, block in ids.blocks.items():
            if left_out[row]:
                continue
            tasks = tasks_of(block.block)
            started = self._stamp("start", row, get) >= 0
            if status[row] != STATUS_CANCELLED or started or not tasks:
                counts["array_blocks_dropped"] += 1
                left_out[row] = True
            else:
                counts["array_blocks_split"] += 1
                split[row] = [row] * len(tasks)
        return split

    def _take(self, get: _Taken, ids: Ids, status: Ints, lines: Ints, counts: Counter[str]) -> None:
        """Jobs that have ended; every check is made before anything is kept."""
        submits = get("submit")
        submit = self.clock.stamps(submits)
        if (submit < 0).any():
            raise ValueError("the job has no submission time")
        start = self.clock.stamps(get("start"), not_before=submit)
        end = self.clock.stamps(get("end"), not_before=np.maximum(start, submit))
        until = np.where(start >= 0, start, end)  # one that never started waited until its end
        found = self.asked.find([get(name) for name in self.asked.read] or [[""] * get.n])
        procs, wanted, nodes, memory, gpus = self.asked.amounts[found].T
        request = self.limit.column(zip(get("timelimitraw"), get("timelimit"), strict=True))
        unlimited = request == fields.UNLIMITED
        request[unlimited] = self.unlimited
        cpu_time = _spans(get("totalcpu")) if "totalcpu" in self.place else None
        wait = np.where(until >= 0, until - submit, UNKNOWN)
        run = self._run(start, end, get)
        eligibles = get("eligible")
        eligible = submit if eligibles == submits else self.clock.stamps(eligibles)
        _check_bounds(
            {"submit": submit, "wait": wait, "run": run, "procs": procs,
             "requested_procs": wanted, "request": request, "eligible": eligible,
             "memory": memory},
            self.asked.each[int(found[0])].amounts,
        )  # fmt: skip
        for place in np.unique(found).tolist():
            if self.asked.each[place].trouble:
                raise ValueError(self.asked.each[place].trouble)
        priority = counts_of(get("priority"), "Priority") if "priority" in self.place else UNKNOWN
        # Every check is behind us after this line.
        counts["request_unlimited"] += int(unlimited.sum())
        if not self.zone_told and "-" in "".join(submits):
            counts["local_times_as_utc"] += sum("-" in text for text in submits)
        self._name(found)
        some = np.maximum(procs, 1)
        table = np.full((len(FIELDS) + len(_BESIDE) + len(_READ_TOO), get.n), UNKNOWN, np.int64)
        group, queue, partition = self.named[found].T
        values = {
            "job_id": ids.number, "submit": submit, "wait": wait, "run": run, "procs": procs,
            "requested_procs": wanted, "request": request, "status": status,
            "requested_memory": np.where((memory > 0) & (procs > 0), -(-memory // some), UNKNOWN),
            "user": self.names["user"].known.column(get("user")), "group": group,
            "executable": self.job_names.known.column(get("jobname")), "queue": queue,
            "partition": partition, "eligible": eligible, "nodes": nodes, "memory": memory,
            "gpus": gpus, "line": lines, "asked": found,
            "node_list": self.asked.hosts.column(get("nodelist")),
            "started_by": self.started_by.column(get("flags")),
            "pending_reason": self.reason.column(get("reason")),
        }  # fmt: skip
        if cpu_time is not None:  # used memory is known when all steps have been seen
            known = (cpu_time >= 0) & (procs > 0)
            values["cpu_time"] = np.where(known, cpu_time // some, UNKNOWN)
        for name, column in values.items():
            table[PLACE[name]] = column
        queued = (status == STATUS_CANCELLED) & (run <= 0) & (wait >= 0)
        left = np.where(queued, submit + wait, UNKNOWN)
        asked_for = self.asked.columns(found, ids, submit=submit, left=left)
        asked_for[Requests.COLUMNS.index("priority")] = priority
        self.tables.append(table)
        self.asked_for.append(asked_for)
        self.raw_ids += ids.label
        self.rows += get.n
        sites = get("cluster")
        for site in dict.fromkeys(sites):
            self.clusters.setdefault(site.strip(), int(lines[sites.index(site)]))

    def _name(self, found: Ints) -> None:
        """Number the names in what is asked for, as they turn up."""
        more = len(self.asked.each) - len(self.named)
        if more:
            self.named = np.concatenate([self.named, np.full((more, 3), UNKNOWN, np.int64)])
        for place in self.asked.new(found):
            row = self.asked.each[place].row
            self.named[place] = (
                self.names["group"](row["account"]),
                self.names["queue"](row["qos"]),
                self.names["partition"](row["partition"]),
            )

    def _run(self, start: Ints, end: Ints, get: _Taken) -> Ints:
        given = get("elapsedraw")
        if are_digits(given, 15):
            return counts_of(given, "ElapsedRaw")
        spans = get("elapsed")
        run = np.empty(get.n, np.int64)
        for row, text in enumerate(given):
            if text.strip():
                run[row] = fields.parse_count(text, "ElapsedRaw")
                continue
            run[row] = fields.parse_span(spans[row])
            if run[row] < 0 <= start[row] <= end[row]:
                run[row] = end[row] - start[row]
        return np.maximum(run, UNKNOWN)


def _started_by(flags: str) -> int:
    """1 for the main pass, 2 for backfill, -1 where sacct's Flags do not say.

    Examples
    --------
    >>> _started_by("SchedBackfill,StartRecieved"), _started_by("SchedMain"), _started_by("")
    (2, 1, -1)
    """
    words = flags.split(",")
    return 2 if "SchedBackfill" in words else 1 if "SchedMain" in words else UNKNOWN


def _reason(text: str) -> str:
    """A reason of Slurm; ``None`` is none."""
    word = text.strip()
    return "" if word in ("None", "(null)", "Unknown") else word


def _limit(texts: tuple[str, str]) -> int:
    """Seconds of TimelimitRaw, else of Timelimit; UNLIMITED without a bound."""
    raw, span = texts
    return fields.parse_minutes(raw) if raw.strip() else fields.parse_span(span)


def _spans(texts: Sequence[str]) -> Ints:
    return np.array([fields.parse_span(text) for text in texts], np.int64)


def _check_bounds(columns: Mapping[str, Ints], exact: tuple[int, ...]) -> None:
    """ValueError if a value is beyond all bounds; ``exact`` are the amounts of the first row."""
    for name, column in columns.items():
        if (column > _HIGHEST[name]).any():
            value = exact[AMOUNTS.index(name)] if name in AMOUNTS else int(column[0])
            what = name.replace("_", " ")
            raise ValueError(f"the job's {what} is {value}, beyond {_HIGHEST[name]}")
