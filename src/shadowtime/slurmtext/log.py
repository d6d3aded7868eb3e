"""slurmctld's log with DebugFlags=Backfill as a list of events."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from shadowtime.errors import InputError

RECORD = "record it with SlurmctldDebug=verbose and DebugFlags=Backfill,HetJob"
_LINE = re.compile(r"\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\] (.*)")
_JOB = r"JobId=(\S+)"
_FLAG = r"(?:[A-Z]+: )?"
"""24.11 begins lines that a debug flag asks for with its name."""
_PATTERNS: list[tuple[str, re.Pattern[str]]] = [
    (
        "plan",
        re.compile(
            rf"sched/backfill: _dump_job_sched: {_FLAG}{_JOB} to start at (\S+), end at (\S+) "
            r"on nodes (\S+) in partition (\S+)"
        ),
    ),
    (
        "test",
        re.compile(rf"sched/backfill: _attempt_backfill: {_FLAG}test for {_JOB} .*Partition=(\S+)"),
    ),
    ("begun", re.compile(rf"sched/backfill: _start_job: {_FLAG}Jobs backfilled since boot")),
    ("begin", re.compile(r"sched/backfill: _attempt_backfill: beginning")),
    (
        "finish",
        re.compile(
            r"sched/backfill: _attempt_backfill: "
            r"(?:completed testing (\d+)\(\d+\)|completed|no jobs)"
        ),
    ),
    (
        "backfill",
        re.compile(rf"sched/backfill: _start_job: {_FLAG}Started {_JOB} in (\S+) on (\S+)"),
    ),
    ("main", re.compile(rf"sched: Allocate {_JOB} NodeList=(\S+) #CPUs=(\d+) Partition=(\S+)")),
    ("submit", re.compile(rf"_slurm_rpc_submit_batch_job: {_JOB}(?: SLUID=\S+)? InitPrio=(\d+)")),
    ("refused", re.compile(r"_slurm_rpc_submit_batch_job: (.*)")),
    ("status", re.compile(rf"_job_complete: {_JOB} WEXITSTATUS (\d+)")),
    ("status", re.compile(rf"_job_complete: {_JOB} WTERMSIG (\d+)")),
    ("done", re.compile(rf"_job_complete: {_JOB} done")),
    (
        "preempted",
        re.compile(rf"preempted {_JOB} has been (\S+) to reclaim resources for {_JOB}"),
    ),
    ("requeued", re.compile(rf"Requeuing {_JOB}")),
    ("hold", re.compile(rf"sched: _hold_job_rec: hold on {_JOB}")),
    ("release", re.compile(rf"sched: _release_job_rec: release hold on {_JOB}")),
    ("kill", re.compile(rf"_slurm_rpc_kill_job: REQUEST_KILL_JOB {_JOB}")),
    ("killed", re.compile(rf"\w+: preempted {_JOB} had to be killed")),
    ("killed", re.compile(rf"Killing {_JOB} on failed node")),
    ("limit", re.compile(rf"sched: _update_job: setting time_limit to (\d+) for {_JOB}")),
    (
        "limit cut",
        re.compile(
            rf"sched/backfill: _reset_job_time_limit: {_JOB} time limit changed from \d+ to (\d+)"
        ),
    ),
    ("throttle", re.compile(rf"_update_job: set max_run_tasks to (\d+) for job array {_JOB}")),
    ("set priority", re.compile(rf"sched: _update_job: set priority to (\d+) for {_JOB}")),
    (
        "set priority",
        re.compile(
            r"sched: _update_job: nice changed from \d+ to \d+, "
            rf"setting priority to (\d+) for {_JOB}"
        ),
    ),
    ("suspend", re.compile(r"_slurm_rpc_suspend\((suspend|resume)\) for (\S+)")),
    ("over", re.compile(rf"{_JOB} timed out, (.*)")),
    ("over", re.compile(rf"Time limit exhausted for {_JOB}")),
    (
        "priority",
        re.compile(r"priority/multifactor: _get_priority_internal: Job (\d+) priority: .* = (\S+)"),
    ),
    ("usage", re.compile(r"priority/multifactor: _apply_new_usage: job (\d+) ran for")),
    ("tick", re.compile(r"priority/multifactor: _ft_debug:")),
    ("tick", re.compile(r"priority/multifactor: _priority_p_set_assoc_usage_debug:")),
    ("responding", re.compile(r"Node (\S+) now responding")),
    ("responding", re.compile(r"(?:node_did_resp: )?node (\S+) returned to service")),
    ("lost", re.compile(r"error: Nodes (\S+) not responding")),
    ("node", re.compile(r"update_node: node (\S+) state set to (\S+)")),
    (
        "reserve",
        re.compile(
            r"sched: (?:Created|Updated) reservation=(\S+) users=(\S+) nodes=(\S+) "
            r".*?start=(\S+) end=(\S+)"
        ),
    ),
    ("unreserve", re.compile(r"sched: (?:Deleted|Cleaned up) .*?reservation=?\s?(\S+)")),
    ("version", re.compile(r"slurmctld version (\S+) started")),
]


_STARTS = ("main", "backfill")
_NAMED = re.compile(r"(.*?)\bJobId=(\d[\d_]*)")
_DETAIL = (
    "debug", "priority/", "select/", "sched/backfill: ", "PRIO: ", "GRES: ", "BACKFILL: ",
    "topology/", "gres/", "prolog_running_decr", "job_time_limit: Configuration",
    "cleanup_completing", "email msg", "job_signal", "_slurm_rpc_update_job",
)  # fmt: skip
"""How lines begin that explain a decision; the decision has a line of its own."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line of interest: seconds since 1970 (in the log's local time), kind, and fields."""

    time: float
    kind: str
    fields: tuple[str, ...] = ()
    line: int = 0


@dataclass(slots=True)
class Log:
    """All events in order."""

    events: list[Event] = field(default_factory=list)
    version: str = ""
    unread: dict[str, set[str]] = field(default_factory=dict)
    """Lines about jobs that are of no known kind: how each begins, and the jobs that it names."""


def stamp(text: str) -> int:
    """Seconds since 1970 of a time as the log writes it, taken as UTC.

    Examples
    --------
    >>> stamp("1970-01-02T00:00:01")
    86401
    """
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def read_log(path: Path) -> Log:
    """The events of a log, packed or not."""
    opener = gzip.open if path.suffix == ".gz" else open
    log = Log()
    try:
        with opener(path, "rt", encoding="utf-8", errors="replace") as lines:
            for event in events_of(lines, log.unread):
                if event.kind == "version":
                    log.version = event.fields[0]
                log.events.append(event)
    except (OSError, EOFError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    log.events = submitted_first(log.events)
    kinds = Counter(event.kind for event in log.events)
    if not kinds.keys() & {"begin", "main", "submit"}:
        raise InputError(f"{path}: no scheduler's line in this log; {RECORD}")
    tested = sum(int(one.fields[0] or 0) for one in log.events if one.kind == "finish")
    if tested and not kinds["plan"] + kinds["backfill"] + kinds["unnamed"]:
        raise InputError(
            f"{path}: backfill tested {tested} jobs and this log shows no plan and no start of "
            f"it; {RECORD}"
        )
    return log


def submitted_first(events: list[Event]) -> list[Event]:
    """The events with each submission before the pass that starts the job.

    slurmctld prints a submission when it has released its locks: a pass may have started the job by
    then.

    Examples
    --------
    >>> late = [Event(5.0, "main", ("7",)), Event(5.1, "main", ("8",))]
    >>> late.append(Event(5.2, "submit", ("8",)))
    >>> [(one.time, one.kind, *one.fields) for one in submitted_first(late)]
    [(5.0, 'submit', '8'), (5.0, 'main', '7'), (5.1, 'main', '8')]
    """
    started: dict[int, int] = {}
    late: dict[int, list[Event]] = {}
    behind: set[int] = set()
    known: set[int] = set()
    for at, event in enumerate(events):
        if event.kind in _STARTS:
            raw, array, _ = job_number(event.fields[0])
            started.setdefault(array or raw, at)
        elif event.kind == "submit":
            raw, array, _ = job_number(event.fields[0])
            number = array or raw
            first = started.get(number)
            if first is not None and number not in known and event.time - events[first].time < 1:
                late.setdefault(_pass_of(events, first), []).append(event)
                behind.add(at)
            known.add(number)
    made: list[Event] = []
    for at, event in enumerate(events):
        made += [replace(one, time=event.time) for one in late.get(at, ())]
        if at not in behind:
            made.append(event)
    return made


def _pass_of(events: list[Event], at: int) -> int:
    """The first event of the pass in which a job starts."""
    if events[at].kind == "main":
        while at > 0 and events[at - 1].kind in ("main", "preempted"):
            at -= 1
        return at
    return next((k for k in range(at, -1, -1) if events[k].kind == "begin"), at)


def events_of(lines: Iterator[str], unread: dict[str, set[str]]) -> Iterator[Event]:
    """The lines of interest; starts of backfill without a line of their own are ``unnamed``.

    26.05 names them with DebugFlags=HetJob only; the line before tells which job was tested.
    """
    tested: Event | None = None
    for event in _matching(lines, unread):
        if event.kind == "test":
            tested = event
        elif event.kind == "begun":
            if tested is not None:
                yield replace(event, kind="unnamed", fields=tested.fields)
            tested = None
        else:
            if event.kind == "backfill":
                tested = None
            yield event


def _matching(lines: Iterator[str], unread: dict[str, set[str]]) -> Iterator[Event]:
    seconds: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        match = _LINE.match(line)
        if not match:
            continue
        text = match[3]
        for kind, pattern in _PATTERNS:
            found = pattern.match(text)
            if found:
                when = match[1]
                if when not in seconds:
                    seconds[when] = stamp(when)
                fraction = float(f"0.{match[2]}") if match[2] else 0.0
                yield Event(seconds[when] + fraction, kind, found.groups(), number)
                break
        else:
            named = _NAMED.match(text)
            if named and not text.startswith(_DETAIL):
                unread.setdefault(re.sub(r"\d+", "#", named[1]).strip(), set()).add(named[2])


def job_number(label: str) -> tuple[int, int, int | None]:
    """Raw id, array id (0: none) and task of ``12``, ``5_2(7)``, ``5_*`` or ``5_[2-4]``.

    Examples
    --------
    >>> [job_number(label) for label in ("12", "5_2(7)", "5_*", "5_[2-4]")]
    [(12, 0, None), (7, 5, 2), (5, 5, None), (5, 5, None)]
    """
    match = re.fullmatch(r"(\d{1,10})(?:[_+](\*|\d+|\[[^\]]*\]))?(?:\((\d+)\))?", label)
    if not match:
        raise InputError(f"{label!r} is not a job's number in Slurm's log")
    raw = int(match[3] or match[1])
    if match[2] is None:
        return raw, 0, None
    task = int(match[2]) if match[2].isdigit() else None
    return raw, int(match[1]), task
