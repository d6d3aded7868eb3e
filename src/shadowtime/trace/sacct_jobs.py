"""The rows of an sacct export as the fields of a raw trace."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import InputError
from shadowtime.trace import slurm_fields as fields
from shadowtime.trace.sacct_requests import SacctRequests
from shadowtime.trace.sacct_runs import SUBMIT, WAIT, join_runs
from shadowtime.trace.slurm_job_id import JobId, parse_job_id, tasks_of
from shadowtime.trace.tres_demands import TresDemands
from shadowtime.types import MAX_SPAN, UNKNOWN
from shadowtime.workload.raw import (
    FIELDS,
    MAX_AMOUNT,
    MAX_PROCS,
    MAX_TIME,
    STATUS_CANCELLED,
    STATUS_COMPLETED,
    STATUS_FAILED,
    RawTrace,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from zoneinfo import ZoneInfo

    from shadowtime.types import AnyArray

    Getter = Callable[[str], str]

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

    def __call__(self, name: str) -> int:
        word = name.strip()
        return self.numbers.setdefault(word, len(self.numbers) + 1) if word else UNKNOWN


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
        self.rows: list[tuple[int, ...]] = []
        self.lines: list[int] = []
        self.raw_ids: list[str] = []
        self.requeued: list[int] = []
        """Rows of runs that went back to the queue."""
        self.waiting: set[str] = set()
        """Ids with a row that has not ended."""
        self.tres: list[Mapping[str, int]] = []
        self.asked = SacctRequests()
        self.used: dict[str, int] = {}
        self.clusters: dict[str, int] = {}
        self.names = {kind: _Numbers() for kind in ("user", "group", "queue", "partition")}
        self.job_names = _Numbers()
        self.started_by: list[int] = []
        self.reasons = _Numbers()
        """Why jobs waited, as far as accounting says."""
        self.waited_for: list[int] = []
        self.counts = dict.fromkeys(
            ("bad_lines_dropped", "steps_dropped", "unfinished_dropped", "array_blocks_dropped",
             "array_blocks_split",
             "other_clusters_dropped", "names_joined", "local_times_as_utc", "request_unlimited",
             "requeued_joined"),
            0,
        )  # fmt: skip

    def add(self, line: int, row: list[str]) -> None:
        """Take a row in, or count why not; ValueError if it makes no sense."""
        place = self.place
        get: Getter = lambda name: row[place[name]] if name in place else ""  # noqa: E731
        raw_id, shown_id = get("jobidraw").strip(), get("jobid").strip()
        job = parse_job_id(raw_id or shown_id)
        shown = parse_job_id(shown_id) if shown_id not in ("", raw_id) else job
        site = get("cluster").strip()
        if self.cluster is not None and site != self.cluster:
            self.counts["other_clusters_dropped"] += 1
        elif job.step or shown.step:
            self._step(raw_id or shown_id, get)
            self.counts["steps_dropped"] += 1
        elif (state := fields.parse_state(get("state"))) in fields.NOT_ENDED and not (
            state == "REQUEUED" and fields.parse_stamp(get("end"), self.zone) >= 0
        ):
            blocks = bool(job.tasks or shown.tasks)
            self.counts["array_blocks_dropped" if blocks else "unfinished_dropped"] += 1
            if not blocks:
                self.waiting.add(raw_id or shown_id)
        elif job.tasks or shown.tasks:
            self._block(line, job if job.tasks else shown, state, get, site)
        else:
            number = job.number if raw_id else UNKNOWN
            if not raw_id and shown.task < 0:
                number = shown.number + max(shown.component, 0)
            self._take(line, number, shown, state, get, site, raw_id or shown_id)
            if state == "REQUEUED":
                self.requeued.append(len(self.rows) - 1)

    def _block(self, line: int, block: JobId, state: str, get: Getter, site: str) -> None:
        """Array tasks cancelled together while they waited: one line stands for all of them."""
        tasks = tasks_of(block.block)
        started = fields.parse_stamp(get("start"), self.zone) >= 0
        if state != "CANCELLED" or started or not tasks:
            self.counts["array_blocks_dropped"] += 1
            return
        for task in tasks:
            number = block.number if task == tasks[-1] else UNKNOWN  # the last keeps the array's
            shown = replace(block, task=task, tasks=0)
            self._take(line, number, shown, state, get, site, f"{block.number}_{task}")
        self.counts["array_blocks_split"] += 1

    def _take(
        self, line: int, number: int, shown: JobId, state: str, get: Getter, site: str, label: str
    ) -> None:
        found = self._ended(number, state, get)  # every check is behind us after this line
        submit, wait, run, status = found[1], found[2], found[3], found[10]
        queued = status == STATUS_CANCELLED and run <= 0 and wait >= 0
        self.asked.add(get, shown, submit=submit, cancelled_at=submit + wait if queued else -1)
        self.rows.append(found)
        tres = fields.parse_tres(get("alloctres")) or fields.parse_tres(get("reqtres"))
        self.tres.append(tres)
        self.started_by.append(_started_by(get("flags")))
        self.waited_for.append(self.reasons(_reason(get("reason"))))
        self.lines.append(line)
        self.raw_ids.append(label)
        self.clusters.setdefault(site, line)

    def _ended(self, number: int, state: str, get: Getter) -> tuple[int, ...]:
        """The 18 fields of SWF in their order, then those beside them."""
        submit = fields.parse_stamp(get("submit"), self.zone)
        if submit < 0:
            raise ValueError("the job has no submission time")
        start = fields.parse_stamp(get("start"), self.zone, not_before=submit)
        end = fields.parse_stamp(get("end"), self.zone, not_before=max(start, submit))
        until = start if start >= 0 else end  # a job that never started waited until its end
        got, asked = fields.parse_tres(get("alloctres")), fields.parse_tres(get("reqtres"))
        procs = got.get("cpu") or fields.parse_count(get("ncpus") or get("alloccpus"), "NCPUS")
        wanted = asked.get("cpu") or fields.parse_count(get("reqcpus"), "ReqCPUS")
        nodes = fields.parse_count(get("nnodes") or get("allocnodes"), "NNodes")
        memory = got.get("mem") or asked.get("mem") or UNKNOWN
        if memory < 0:
            memory = fields.parse_reqmem(get("reqmem"), max(procs, wanted), nodes)
        request, unlimited = self._request(get)
        cpu_time = fields.parse_span(get("totalcpu"))
        values = {
            "submit": submit,
            "wait": until - submit if until >= 0 else UNKNOWN,
            "run": self._run(start, end, get),
            "procs": procs,
            "requested_procs": wanted,
            "request": request,
            "eligible": fields.parse_stamp(get("eligible"), self.zone),
            "memory": memory,
        }
        for name, value in values.items():
            if value > _HIGHEST[name]:
                what = name.replace("_", " ")
                raise ValueError(f"the job's {what} is {value}, beyond {_HIGHEST[name]}")
        self.counts["request_unlimited"] += unlimited
        self.counts["local_times_as_utc"] += not self.zone_told and "-" in get("submit")
        return (
            number,
            submit,
            values["wait"],
            values["run"],
            procs,
            cpu_time // procs if cpu_time >= 0 and procs > 0 else UNKNOWN,
            UNKNOWN,  # used memory: known when all steps have been seen
            wanted,
            request,
            -(-memory // procs) if memory > 0 and procs > 0 else UNKNOWN,
            _STATUS.get(state, STATUS_FAILED),
            self.names["user"](get("user")),
            self.names["group"](get("account")),
            self.job_names(get("jobname")),
            self.names["queue"](get("qos")),
            self.names["partition"](get("partition")),
            UNKNOWN,
            UNKNOWN,
            values["eligible"],
            nodes,
            memory,
            fields.gpus_of(got or asked) if got or asked else UNKNOWN,
        )

    def _run(self, start: int, end: int, get: Getter) -> int:
        if get("elapsedraw").strip():
            return fields.parse_count(get("elapsedraw"), "ElapsedRaw")
        run = fields.parse_span(get("elapsed"))
        if run < 0 <= start <= end:
            run = end - start
        return max(run, UNKNOWN)

    def _request(self, get: Getter) -> tuple[int, bool]:
        raw = get("timelimitraw")
        span = fields.parse_minutes(raw) if raw.strip() else fields.parse_span(get("timelimit"))
        if span == fields.UNLIMITED:
            return self.unlimited, True
        return span, False

    def _step(self, step_id: str, get: Getter) -> None:
        """Used memory is only known by step: the largest process times the processes."""
        rss = get("maxrss").strip()
        if not rss:
            return
        tasks = max(fields.parse_count(get("ntasks"), "NTasks"), 1)
        job = step_id.strip().partition(".")[0]
        used = fields.parse_reqmem(rss if rss[-1:].isalpha() else f"{rss}B", 1, 1) * tasks
        self.used[job] = max(self.used.get(job, 0), used)

    def trace(self, name: str, path: str | None) -> RawTrace:
        """All of it as a raw trace."""
        if len(self.clusters) > 1:
            raise InputError(
                f"the export holds jobs of several clusters: {', '.join(sorted(self.clusters))}",
                path=path,
                line=max(self.clusters.values()),
                hint="Choose one with --slurm-cluster NAME.",
            )
        jobs, unfinished = join_runs(
            self.rows, self.raw_ids, requeued=self.requeued, waiting=self.waiting
        )
        self.counts["unfinished_dropped"] += unfinished
        self.counts["requeued_joined"] = sum(len(job.lost) for job in jobs)
        if not jobs:
            told = ", ".join(f"{count} {rule}" for rule, count in self.counts.items() if count)
            what = f"there is no ended job in it ({told or 'no line at all'})"
            raise InputError(what, path=path, hint="Was a time span given to sacct (-S, -E)?")
        first = np.array([job.first for job in jobs], np.int64)
        last = np.array([job.last for job in jobs], np.int64)
        rows = np.array(self.rows, np.int64).T
        table = rows[:, last]
        # A job waits from its first submission to the start of the run that counts.
        again = rows[SUBMIT, last] - rows[SUBMIT, first]
        table[SUBMIT] = rows[SUBMIT, first]
        table[WAIT] = np.where(table[WAIT] >= 0, table[WAIT] + again, UNKNOWN)
        table[len(FIELDS)] = rows[len(FIELDS), first]  # eligible
        beside = dict(zip(_BESIDE, table[len(FIELDS) :], strict=True))
        table = table[: len(FIELDS)]
        submit, procs = table[FIELDS.index("submit")], table[FIELDS.index("procs")]
        origin = int(submit.min())
        submit -= origin
        ids = [self.raw_ids[row] for row in last.tolist()]
        used = np.array([self.used.get(job, UNKNOWN) for job in ids], np.int64)
        each = -(-used // np.maximum(procs, 1))
        table[FIELDS.index("used_memory")] = np.where((used > 0) & (procs > 0), each, UNKNOWN)
        eligible = beside["eligible"]
        tres = [self.tres[row] for row in last.tolist()]
        places, node_lists = self.asked.node_list()
        asked = self.asked.requests(origin)
        left = asked.cancel_at[last]
        return RawTrace(
            name=name,
            table=table,
            line=np.array(self.lines, np.int64)[last],
            path=path,
            header=self._header(origin),
            counts=self.counts,
            demands=TresDemands(tres, memory=beside["memory"], gpus=beside["gpus"]),
            extra={
                "eligible": np.where(eligible >= origin, eligible - origin, UNKNOWN),
                "nodes": beside["nodes"],
                "node_list": places[last],
                **self._scheduling(last),
            },
            requests=replace(asked.take(first), cancel_at=left),
            lost_runs={row: job.lost for row, job in enumerate(jobs) if job.lost},
            names={
                **{kind: ("", *names.numbers) for kind, names in self.names.items()},
                "node_list": node_lists,
                **(
                    {"pending_reason": ("", *self.reasons.numbers)}
                    if "reason" in self.place
                    else {}
                ),
            },
            epoch=origin,
        )

    def _scheduling(self, rows: AnyArray) -> dict[str, AnyArray]:
        """Which pass started each job and what it waited for, where these were exported."""
        found = {
            "flags": ("started_by", self.started_by),
            "reason": ("pending_reason", self.waited_for),
        }
        return {
            name: np.array(column, np.int64)[rows]
            for source, (name, column) in found.items()
            if source in self.place
        }

    def _header(self, origin: int) -> tuple[str, ...]:
        lines = ["; Version: 2.2", "; Conversion: from sacct by shadowtime"]
        lines += [f"; Computer: {site}" for site in self.clusters if site]
        lines += [f"; UnixStartTime: {origin}", f"; TimeZoneString: {self.zone.key}"]
        for kind, names in self.names.items():
            lines += [
                f"; {kind.capitalize()}: {number} {'_'.join(label.split())}"
                for label, number in names.numbers.items()
            ]
        return tuple(lines)


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
