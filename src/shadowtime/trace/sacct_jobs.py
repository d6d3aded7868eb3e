"""The rows of an sacct export as the fields of a raw trace."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import InputError
from shadowtime.slurmtext import fields, sacct_columns, times
from shadowtime.slurmtext.job_id import tasks_of
from shadowtime.slurmtext.sacct_codes import TextCodes
from shadowtime.slurmtext.sacct_columns import counts as counts_of
from shadowtime.slurmtext.sacct_ids import Ids, SacctIds, ids_at
from shadowtime.slurmtext.sacct_texts import Piece, Taken
from shadowtime.trace.sacct_requests import AMOUNTS, SacctRequests
from shadowtime.types import MAX_SPAN, UNKNOWN, AnyArray, Ints
from shadowtime.workload import raw as swf
from shadowtime.workload.request import Requests

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

_STATES = tuple(fields.STATES)
_STATUS = {"COMPLETED": swf.STATUS_COMPLETED, "CANCELLED": swf.STATUS_CANCELLED}
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
    "submit": swf.MAX_TIME,
    "wait": swf.MAX_TIME,
    "eligible": swf.MAX_TIME,
    "run": MAX_SPAN,
    "request": MAX_SPAN,
    "procs": swf.MAX_PROCS,
    "requested_procs": swf.MAX_PROCS,
    "memory": swf.MAX_AMOUNT,
}
_BESIDE = ("eligible", "nodes", "memory", "gpus")
"""Columns beside the 18 fields of SWF."""
_READ_TOO = ("node_list", "started_by", "pending_reason", "line", "asked")
_STATUS_OF = np.array([_STATUS.get(name, swf.STATUS_FAILED) for name in _STATES], np.int64)
_OPEN = np.array([name in fields.NOT_ENDED for name in _STATES])
_REQUEUED = _STATES.index("REQUEUED")
_EMPTY = -3
"""No time limit stands where it is looked for."""
PLACE = {name: place for place, name in enumerate((*swf.FIELDS, *_BESIDE, *_READ_TOO))}


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


def is_sacct_table(first_line: str) -> bool:
    """Are these names sacct's columns of jobs? Between commas there must be more of them.

    Examples
    --------
    >>> is_sacct_table("JobID,User,Submit,State,Elapsed"), is_sacct_table("id,user,state")
    (True, False)
    """
    names = {name.strip().strip('"').lower() for name in re.split(r"[,;|\t\x1f]", first_line)}
    some = 1 if re.search(r"[|\x1f]", first_line) else 3
    return all(names & set(known) for known in list(_NEEDED.values())[:some])


@dataclass
class _Numbers:
    """Names as numbers, in the order of their first appearance."""

    numbers: dict[str, int] = field(default_factory=dict)
    known: sacct_columns.Known = field(init=False)

    def __post_init__(self) -> None:
        self.known = sacct_columns.Known(self.__call__)

    def __call__(self, name: str) -> int:
        word = name.strip()
        return self.numbers.setdefault(word, len(self.numbers) + 1) if word else UNKNOWN


class SacctJobs:
    """The jobs read so far, of about as many as ``expected``."""

    def __init__(
        self,
        place: Mapping[str, int],
        zone: ZoneInfo,
        *,
        zone_told: bool,
        cluster: str | None,
        unlimited: int,
        expected: int,
    ) -> None:
        self.place, self.zone, self.zone_told = place, zone, zone_told
        self.cluster, self.unlimited = cluster, unlimited
        self.clock = sacct_columns.Clock(zone)
        self.table = sacct_columns.Table(len(PLACE), expected)
        """The fields of SWF, those beside them, and those of ``_READ_TOO``."""
        self.asked_for = sacct_columns.Table(len(Requests.COLUMNS), expected)
        self.ids = SacctIds()
        self.labels: list[Ints] = []
        """The ids of the rows of each piece, as the numbers of ``ids.labels``."""
        self.requeued: list[int] = []
        """Rows of runs that went back to the queue."""
        self.waiting: set[int] = set()
        """Ids with a row that has not ended."""
        self.asked = SacctRequests(place)
        self.used: dict[int, int] = {}
        self.clusters: dict[str, int] = {}
        self.names = {kind: _Numbers() for kind in ("user", "group", "queue", "partition")}
        self.job_names = _Numbers()
        self.reasons = _Numbers()
        """Why jobs waited, as far as accounting says."""
        self.reason = sacct_columns.Known(lambda text: self.reasons(_reason(text)))
        self.started_by = sacct_columns.Known(_started_by)
        self.state = sacct_columns.Known(lambda text: _STATES.index(fields.parse_state(text)))
        self.elsewhere = sacct_columns.Known(lambda text: int(text.strip() != self.cluster))
        self.minutes = sacct_columns.Known(
            lambda text: times.parse_minutes(text) if text.strip() else _EMPTY
        )
        self.span = sacct_columns.Known(times.parse_span)
        self.sites = TextCodes()
        self.named = np.zeros((3, 0), np.int64)
        """Group, queue and partition of what is asked for, by its place in ``asked.each``."""
        self.counts = dict.fromkeys(
            ("bad_lines_dropped", "steps_dropped", "unfinished_dropped", "array_blocks_dropped",
             "array_blocks_split",
             "other_clusters_dropped", "names_joined", "local_times_as_utc", "request_unlimited",
             "requeued_joined"),
            0,
        )  # fmt: skip

    def add(self, piece: Piece) -> None:
        """Add rows, or count why not; BadRows, and nothing is added, if some are invalid.

        The checks are made in one order, so that the first problem of a row is reported.
        """
        n = len(piece)
        every = Taken(self.place, piece, None)
        ids = self.ids.parse(every("jobidraw"), every("jobid"))
        counts: Counter[str] = Counter()
        left_out = np.zeros(n, bool)
        if self.cluster is not None:
            left_out = self.elsewhere.column(every("cluster")) > 0
            counts["other_clusters_dropped"] += int(left_out.sum())
        steps = ids.step & ~left_out
        used = self._steps(np.flatnonzero(steps), every) if steps.any() else {}
        counts["steps_dropped"] += int(steps.sum())
        left_out |= steps
        status, open_ = np.full(n, swf.STATUS_FAILED, np.int64), np.zeros(n, bool)
        rows = np.flatnonzero(~left_out)
        with sacct_columns.rows_among(rows):
            state = self.state.column(every("state")[rows])
        status[rows], open_[rows] = _STATUS_OF[state], _OPEN[state]
        again = self._went_back(rows[state == _REQUEUED], every)
        open_[again] = False
        blocks = np.zeros(n, bool)
        blocks[list(ids.blocks)] = True
        counts["array_blocks_dropped"] += int((open_ & blocks).sum())
        counts["unfinished_dropped"] += int((open_ & ~blocks).sum())
        left_out |= open_
        split = self._blocks(ids, status, left_out, every, counts) if ids.blocks else {}
        taken, lines = every, piece.lines
        waiting = ids.label[open_ & ~blocks].tolist()
        if split or left_out.any():
            times = (~left_out).astype(np.int64)
            times[list(split)] = [len(tasks) for tasks in split.values()]
            at = np.repeat(np.arange(n), times)
            ids = ids_at(ids, at, split, self.ids.labels)
            taken, lines, status = Taken(self.place, piece, at), lines[at], status[at]
            again = np.flatnonzero(np.isin(at, [row for row in again.tolist() if row not in split]))
        if taken.n:
            if taken.at is None:
                self._take(taken, ids, status, lines, counts)
            else:
                with sacct_columns.rows_among(taken.at):
                    self._take(taken, ids, status, lines, counts)
            self.requeued += (self.table.rows - taken.n + again).tolist()
        for job, memory in used.items():
            self.used[job] = max(self.used.get(job, 0), memory)
        self.waiting.update(waiting)
        for rule, count in counts.items():
            self.counts[rule] += count

    def _went_back(self, rows: Ints, get: Taken) -> Ints:
        """Those of these rows that are runs with an end."""
        if not len(rows):
            return rows
        ends = sacct_columns.one_by_one(rows.tolist(), lambda row: self._stamp("end", row, get))
        return rows[np.array(ends, np.int64) >= 0]

    def _stamp(self, name: str, row: int, get: Taken) -> int:
        return times.parse_stamp(get(name)[row], self.zone)

    def _steps(self, rows: Ints, get: Taken) -> dict[int, int]:
        """Used memory is only known by step: the largest process times the processes."""
        found: dict[int, int] = {}
        if "maxrss" not in self.place:
            return found
        sizes, processes = get("maxrss"), get("ntasks")
        raw, shown = get("jobidraw"), get("jobid")

        def take(row: int) -> int:
            rss = sizes[row].strip()
            if rss:
                tasks = max(fields.parse_count(processes[row], "NTasks"), 1)
                label = raw[row].strip() or shown[row].strip()
                job = self.ids.labels.number(label.partition(".")[0])
                size = fields.parse_reqmem(rss if rss[-1:].isalpha() else f"{rss}B", 1, 1)
                found[job] = max(found.get(job, 0), size * tasks)
            return row

        sacct_columns.one_by_one(rows[sizes.size[rows] > 0].tolist(), take)
        return found

    def _blocks(
        self, ids: Ids, status: Ints, left_out: AnyArray, get: Taken, counts: Counter[str]
    ) -> dict[int, list[int]]:
        """Array tasks cancelled together while they waited: one line stands for all of them.

        The rows of such lines and their tasks; other blocks are left out.
        """
        split: dict[int, list[int]] = {}
        rows = [row for row in sorted(ids.blocks) if not left_out[row]]
        starts = sacct_columns.one_by_one(rows, lambda row: self._stamp("start", row, get))
        for row, start in zip(rows, starts, strict=True):
            tasks = tasks_of(ids.blocks[row].block)
            if status[row] != swf.STATUS_CANCELLED or start >= 0 or not tasks:
                counts["array_blocks_dropped"] += 1
                left_out[row] = True
            else:
                counts["array_blocks_split"] += 1
                split[row] = tasks
        return split

    def _take(self, get: Taken, ids: Ids, status: Ints, lines: Ints, counts: Counter[str]) -> None:
        """Jobs that have ended; every check is made before anything is kept."""
        submits = get("submit")
        submit = self.clock.stamps(submits)
        _refuse(submit < 0, lambda row: "the job has no submission time")
        start = self.clock.stamps(get("start"), not_before=submit)
        end = self.clock.stamps(get("end"), not_before=np.maximum(start, submit))
        until = np.where(start >= 0, start, end)  # one that never started waited until its end
        found = self.asked.find(get.together(self.asked.read), get, ids.part)
        procs, wanted, nodes, memory, gpus = self.asked.amounts[:, found]
        request = self._limit(get)
        unlimited = request == times.UNLIMITED
        request[unlimited] = self.unlimited
        cpu_time = self.span.column(get("totalcpu")) if "totalcpu" in self.place else None
        wait = np.where(until >= 0, until - submit, UNKNOWN)
        run = self._run(start, end, get)
        eligible = self.clock.stamps(get("eligible"))
        _check_bounds(
            {"submit": submit, "wait": wait, "run": run, "procs": procs,
             "requested_procs": wanted, "request": request, "eligible": eligible,
             "memory": memory},
            lambda row: self.asked.each[int(found[row])].amounts,
        )  # fmt: skip
        _refuse(self.asked.trouble[found], lambda row: self.asked.each[int(found[row])].trouble)
        priority = counts_of(get("priority"), "Priority") if "priority" in self.place else UNKNOWN
        # No check fails after this line.
        counts["request_unlimited"] += int(unlimited.sum())
        if not self.zone_told:
            counts["local_times_as_utc"] += int(submits.has("-").sum())
        self._name(found)
        some = np.maximum(procs, 1)
        group, queue, partition = self.named[:, found]
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
        table = self.table.more(get.n)
        for name, place in PLACE.items():
            table[place] = values.get(name, UNKNOWN)
        queued = (status == swf.STATUS_CANCELLED) & (run <= 0) & (wait >= 0)
        left = np.where(queued, submit + wait, UNKNOWN)
        asked_for = self.asked_for.more(get.n)
        self.asked.columns(asked_for, found, ids, submit=submit, left=left)
        asked_for[Requests.COLUMNS.index("priority")] = priority
        self.labels.append(ids.label)
        sites = get("cluster")
        for row in sacct_columns.first_rows(self.sites.of(sites))[1].tolist():
            self.clusters.setdefault(sites[row].strip(), int(lines[row]))

    def _name(self, found: Ints) -> None:
        """Number the names in what is asked for, as they turn up."""
        more = len(self.asked.each) - self.named.shape[1]
        if more:
            unknown = np.full((3, more), UNKNOWN, np.int64)
            self.named = np.concatenate([self.named, unknown], axis=1)
        for place in self.asked.new(found):
            row = self.asked.each[place].row
            self.named[:, place] = (
                self.names["group"](row["account"]),
                self.names["queue"](row["qos"]),
                self.names["partition"](row["partition"]),
            )

    def _limit(self, get: Taken) -> Ints:
        """Seconds of TimelimitRaw, else of Timelimit; UNLIMITED without a bound."""
        limit = self.minutes.column(get("timelimitraw"))
        rows = np.flatnonzero(limit == _EMPTY)
        if len(rows):
            with sacct_columns.rows_among(rows):
                limit[rows] = self.span.column(get("timelimit")[rows])
        return limit

    def _run(self, start: Ints, end: Ints, get: Taken) -> Ints:
        given = get("elapsedraw")
        run, plain = given.numbers(15)
        if plain.all():
            return run

        def single(row: int) -> int:
            text = given[row]
            return fields.parse_count(text, "ElapsedRaw") if text.strip() else _EMPTY

        odd = np.flatnonzero(~plain & (given.size > 0))
        run[given.size == 0] = _EMPTY
        run[odd] = sacct_columns.one_by_one(odd.tolist(), single)
        rows = np.flatnonzero(run == _EMPTY)
        with sacct_columns.rows_among(rows):
            span = self.span.column(get("elapsed")[rows])
        start, end = start[rows], end[rows]
        run[rows] = np.where((span < 0) & (start >= 0) & (start <= end), end - start, span)
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


def _check_bounds(columns: Mapping[str, Ints], exact: Callable[[int], tuple[int, ...]]) -> None:
    """BadRows if values are beyond all bounds; ``exact`` has the amounts of a row."""
    for name, column in columns.items():

        def why(row: int, name: str = name, column: Ints = column) -> str:
            value = exact(row)[AMOUNTS.index(name)] if name in AMOUNTS else int(column[row])
            what = name.replace("_", " ")
            return f"the job's {what} is {value}, beyond {_HIGHEST[name]}"

        _refuse(column > _HIGHEST[name], why)


def _refuse(bad: AnyArray, why: Callable[[int], str]) -> None:
    """BadRows if there are any."""
    if bad.any():
        rows = np.flatnonzero(bad)
        raise sacct_columns.BadRows(rows, why(int(rows[0])))
