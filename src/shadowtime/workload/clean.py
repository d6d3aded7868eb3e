"""From the lines of a log to jobs that can be scheduled: every rule named, switched and counted.

Logs are dirty, and how they are cleaned affects the results (Feitelson, Tsafrir & Krakov 2014), so
nothing is repaired or dropped without a count in ``Workload.cleaning``. A rule that was applied and
found nothing is listed with 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from shadowtime.errors import InputError, UsageError
from shadowtime.types import NO_LIMIT, UNKNOWN, AnyArray, Ints
from shadowtime.workload import raw as swf
from shadowtime.workload.fit import fit
from shadowtime.workload.never_ran import drawn_runs
from shadowtime.workload.raw import RawTrace, chain_parts, fresh_ids, identical_lines
from shadowtime.workload.rules import RULES, explain
from shadowtime.workload.workload import Workload

__all__ = ["RULES", "clean", "explain", "fit"]

Overrun = Literal["cut", "extend", "keep"]
Cancelled = Literal["drop", "queue-until-cancel", "refuse"]
Partial = Literal["by-header", "drop", "keep", "refuse"]
NoRun = Literal["drop", "one-second", "refuse"]
Drop = Literal["drop", "refuse"]
MissingRequest = Literal["run", "drop", "refuse"]
Repeated = Literal["renumber", "refuse"]
Order = Literal["sort", "refuse"]
ProcsField = Literal["allocated", "requested"]
MemField = Literal["requested", "used"]

PER_PROCESS = ("bandwidth", "network")
"""Extra columns of SWF that say what one process draws; others are amounts of the whole job."""


def clean(
    raw: RawTrace,
    *,
    overrun: Overrun = "cut",
    cancelled: Cancelled = "drop",
    partial: Partial = "by-header",
    no_run: NoRun = "drop",
    no_procs: Drop = "drop",
    negative_submit: Drop = "drop",
    missing_request: MissingRequest = "run",
    repeated: Repeated = "renumber",
    out_of_order: Order = "sort",
    procs_field: ProcsField = "allocated",
    procs_per_node: int = 1,
    memory: bool = False,
    mem_field: MemField = "requested",
    gpus: bool = False,
    others: Sequence[str] = (),
) -> Workload:
    """The jobs of a log that can be scheduled.

    Rules, in the order in which they are applied; a job is counted by the first that drops it
    -----
    partial : in a log whose header says ``Preemption: Double`` a job that ran in several bursts
        has a summary line (status 0, 1, 5) and a line per part (2, 3, 4). ``by-header`` drops the
        parts there, or work would count twice, and takes such lines for ordinary jobs elsewhere;
        ``drop`` drops them in any log; ``keep`` takes the parts instead of the summaries, each
        submitted when the one before it ended.
    negative_submit : submit < 0 is dropped.
    cancelled : status 5 and run <= 0. ``queue-until-cancel`` keeps such a job with the moment of
        its cancellation in ``extra["cancel_at"]`` (-1 elsewhere) and a run time drawn from those of
        its user and kind (:func:`shadowtime.workload.never_ran.drawn_runs`).
    no_run : run <= 0 otherwise. In SWF 0 means under half a second: ``one-second`` keeps those.
    no_procs : processors are those allocated, else those requested (``procs_field`` turns that
        round); neither is dropped. ``procs_per_node`` rounds up to whole nodes.
    missing_request : request <= 0 becomes the run time.
    repeated : a line equal to an earlier one is dropped; a number used twice for different jobs
        keeps its first job, the others get numbers above the largest (old ones in
        ``extra["log_id"]``). Numbers below 0 are replaced likewise.
    out_of_order : jobs are sorted by (submit, id); those that stood too low are counted.
    overrun : run > request. ``cut``: killed at the request. ``extend``: the request becomes the
        run time. ``keep``: no job has a limit.
    memory : adds the resource ``memory``, KB of the whole job: the requested memory per processor
        (else the used one; ``mem_field`` turns that round) times the processors.
    gpus : adds the resource ``gpus``; SWF does not know them, Slurm's formats do.
    others : adds these resources (a licence, a burst buffer) under the log's own names for them,
        ``license/matlab`` in Slurm's records, or those of the extra columns of SWF (amounts of the
        whole job; bandwidth and network are per process). A job that names none demands 0; where
        the log says nothing about a job's resources at all, that is counted as ``NAME_unknown``.

    ``refuse`` turns a rule into an error that names the first affected line.

    Examples
    --------
    >>> from shadowtime.trace.swf import parse_swf
    >>> raw = parse_swf(b"1 0 5 90 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1\\n"
    ...                 b"2 9 7 -1 4 -1 -1 4 60 -1 5 1 1 1 1 1 -1 -1\\n", name="two")
    >>> w = clean(raw)
    >>> w.run.tolist(), w.effective_run.tolist(), w.recorded_start.tolist()
    ([90], [60], [5])
    >>> w.cleaning["overrun_cut"], w.cleaning["cancelled_dropped"], w.cleaning["no_run_dropped"]
    (1, 1, 0)

    References
    ----------
    Feitelson, Tsafrir & Krakov, Experience with using the Parallel Workloads Archive, JPDC 2014.
    """
    _allowed("overrun", overrun, Overrun)
    _allowed("cancelled", cancelled, Cancelled)
    _allowed("partial", partial, Partial)
    _allowed("no_run", no_run, NoRun)
    _allowed("no_procs", no_procs, Drop)
    _allowed("negative_submit", negative_submit, Drop)
    _allowed("missing_request", missing_request, MissingRequest)
    _allowed("repeated", repeated, Repeated)
    _allowed("out_of_order", out_of_order, Order)
    _allowed("procs_field", procs_field, ProcsField)
    _allowed("mem_field", mem_field, MemField)
    if procs_per_node < 1:
        raise UsageError(f"procs_per_node must be at least 1, not {procs_per_node}")

    log = CleaningLog(raw)
    status, run, request = raw["status"], raw["run"], raw["request"]
    job_id, submit = raw["job_id"], raw["submit"]

    part = np.isin(status, swf.STATUS_PARTIAL)
    if partial == "by-header" and not raw.in_parts:
        log.counts["partial_as_jobs"] = int(part.sum())
    elif partial == "keep":
        log.drop("summary", np.isin(job_id, job_id[part]) & ~part)
        submit = chain_parts(raw, part)
    else:
        log.drop("partial", part, refuse=partial == "refuse")
    log.drop("negative_submit", submit < 0, refuse=negative_submit == "refuse")

    never = (status == swf.STATUS_CANCELLED) & (run <= 0)
    queued = np.zeros(len(raw), bool)
    if cancelled == "queue-until-cancel":
        queued = never & log.kept & (raw["wait"] >= 0) & (request > 0)
        if queued.any():
            wide, _ = _first_known(raw, "procs", "requested_procs", procs_field)
            run = drawn_runs(queued, user=raw["user"], procs=wide, request=request, run=run)
        log.counts["cancelled_queued"] = int(queued.sum())
        never &= ~queued
    log.drop("cancelled", never, refuse=cancelled == "refuse")
    if no_run == "one-second":
        run = log.repair("no_run_one_second", run == 0, run, 1)
    log.drop("no_run", run <= 0, refuse=no_run == "refuse")

    procs, procs_from_other = _first_known(raw, "procs", "requested_procs", procs_field)
    log.drop("no_procs", procs <= 0, refuse=no_procs == "refuse")
    if missing_request == "run":
        request = log.repair("request_from_run", request <= 0, request, run)
    else:
        log.drop("no_request", request <= 0, refuse=missing_request == "refuse")

    job_id = log.unique(identical_lines(raw, log.kept), refuse=repeated == "refuse")
    at = log.sorted(submit, job_id, refuse=out_of_order == "refuse")
    counts = log.counts

    # A log that is clean and in order keeps its columns: copies would take a tenth of the time.
    rows = slice(None) if len(at) == len(raw) and _ascend(at) else at
    wait = raw["wait"][rows]
    counts["negative_wait_ignored"] = int((wait < UNKNOWN).sum())
    submit, run, request, procs = submit[rows], run[rows], request[rows], procs[rows]
    other = "requested" if procs_field == "allocated" else "allocated"
    counts[f"procs_from_{other}"] = int(procs_from_other[rows].sum())

    extra: dict[str, AnyArray] = {
        name: raw[name][rows] for name in swf.KEPT if bool((raw[name] != UNKNOWN).any())
    }
    extra.update((name, column[rows]) for name, column in raw.extra.items())
    if bool((job_id != raw["job_id"]).any()):
        extra["log_id"] = raw["job_id"][rows]
    if cancelled == "queue-until-cancel":
        extra["cancel_at"] = np.where(queued[rows], submit + wait, UNKNOWN)

    demands: dict[str, Ints] = {}
    if memory:
        demands["memory"] = _memory(raw, at, procs, mem_field, counts)
    named = (*(["gpus"] if gpus else []), *others)
    demands |= {name: _amounts(raw, name, at, procs, counts) for name in named}
    if procs_per_node > 1:
        whole = -(-procs // procs_per_node) * procs_per_node
        counts["procs_rounded_to_nodes"] = int((whole != procs).sum())
        procs = whole

    over = run > request
    verb = {"cut": "cut", "extend": "extended", "keep": "kept"}[overrun]
    counts[f"overrun_{verb}"] = int(over.sum())
    if overrun == "extend":
        request = np.maximum(request, run)
    return Workload(
        name=raw.name,
        job_id=job_id[rows],
        submit=submit,
        run=run,
        request=request,
        limit=np.full(len(at), NO_LIMIT, np.int64) if overrun == "keep" else request,
        demand=np.stack([procs, *demands.values()], axis=1),
        resources=("procs", *demands),
        user=raw["user"][rows],
        group=raw["group"][rows],
        executable=raw["executable"][rows],
        queue=raw["queue"][rows],
        partition=raw["partition"][rows],
        status=status[rows],
        recorded_start=np.where(wait >= 0, submit + wait, UNKNOWN),
        extra=extra,
        header=raw.header,
        cleaning={**raw.counts, **counts},
        machine=raw.machine,
        requests=None if raw.requests is None else raw.requests.take(at),
        names=raw.names,
        lost_runs=_lost_runs(raw, job_id, at),
        epoch=raw.epoch,
        follows=raw.follows,
    )


def _lost_runs(raw: RawTrace, job_id: Ints, at: Ints) -> dict[int, tuple[tuple[int, int], ...]]:
    """The lost runs of the jobs that stay, by id; most logs hold none."""
    if not raw.lost_runs:
        return {}
    return {int(job_id[row]): raw.lost_runs[row] for row in at.tolist() if row in raw.lost_runs}


def _ascend(numbers: Ints) -> bool:
    """True if each is above the one before."""
    return bool((numbers[1:] > numbers[:-1]).all())


def _first_known(raw: RawTrace, one: str, two: str, choice: str) -> tuple[Ints, AnyArray]:
    """Field ``one`` where it is above 0, else ``two``; the other way round if so chosen."""
    first, second = (raw[one], raw[two]) if choice == "allocated" else (raw[two], raw[one])
    fallback = (first <= 0) & (second > 0)
    return np.where(fallback, second, first) if fallback.any() else first, fallback


def _memory(
    raw: RawTrace, at: Ints, procs: Ints, mem_field: MemField, counts: dict[str, int]
) -> Ints:
    """KB of whole jobs."""
    if "memory" in raw.demands:
        whole = raw.demands["memory"][at]
        counts["memory_unknown"] = int((whole < 0).sum())
        return np.maximum(whole, 0)
    asked, used = raw["requested_memory"][at], raw["used_memory"][at]
    first, second = (asked, used) if mem_field == "requested" else (used, asked)
    fallback = (first <= 0) & (second > 0)
    other = "used" if mem_field == "requested" else "requested"
    counts[f"memory_from_{other}"] = int(fallback.sum())
    each = np.maximum(np.where(fallback, second, first), 0)
    counts["memory_unknown"] = int((each == 0).sum())
    huge = each > swf.MAX_AMOUNT // procs
    if bool(huge.any()):
        line = at[int(np.argmax(huge))]
        raise InputError(
            f"job {int(raw['job_id'][line])} needs more than {swf.MAX_AMOUNT} KB of memory in all",
            path=raw.path,
            line=int(raw.line[line]),
            hint="SWF counts KB per processor: look for a figure in bytes.",
        )
    return each * procs


def _amounts(raw: RawTrace, name: str, at: Ints, procs: Ints, counts: dict[str, int]) -> Ints:
    """Whole jobs' amounts of a resource that only some formats know, or an extra column."""
    if name in raw.demands:
        known = raw.demands[name][at]
    elif name in raw.extra and raw.extra[name].dtype.kind == "i":
        known = raw.extra[name][at]
        if name in PER_PROCESS:
            known = np.where(known > 0, known * procs, known)
    else:
        known = np.full(len(at), UNKNOWN)
    counts[f"{name}_unknown"] = int((known < 0).sum())
    return np.maximum(known, 0)


def _allowed(name: str, value: str, kind: object) -> None:
    if value not in get_args(kind):
        raise UsageError(f"{name} must be one of {', '.join(get_args(kind))}, not {value!r}")


def _switch(rule: str, choice: str) -> str:
    """How a rule is requested on the command line."""
    return f"--cancelled {choice}" if rule == "cancelled" else f"--rule {rule}={choice}"


class CleaningLog:
    """Which lines are still in, and what each rule has done so far."""

    def __init__(self, raw: RawTrace) -> None:
        self.raw = raw
        self.kept = np.ones(len(raw), bool)
        self.counts: dict[str, int] = {}

    def drop(self, rule: str, mask: AnyArray, *, refuse: bool = False) -> None:
        hit = mask & self.kept
        if refuse:
            self._refuse(
                hit, f"{rule}_dropped", f"{_switch(rule, 'drop')} drops and counts such jobs"
            )
        self.counts[f"{rule}_dropped"] = int(np.count_nonzero(hit))
        self.kept &= ~hit

    def repair(self, rule: str, mask: AnyArray, column: Ints, value: Ints | int) -> Ints:
        hit = mask & self.kept
        self.counts[rule] = int(np.count_nonzero(hit))
        return np.where(hit, value, column) if self.counts[rule] else column

    def unique(self, identical: AnyArray, *, refuse: bool) -> Ints:
        """Leave out identical lines; the job numbers, made unique among the lines kept."""
        if refuse:
            self._refuse(
                identical, "repeated_line_dropped", "--rule repeated=renumber drops such lines"
            )
        self.counts["repeated_line_dropped"] = int(identical.sum())
        self.kept &= ~identical
        job_id, repeated, missing = fresh_ids(self.raw["job_id"], self.kept)
        if refuse:
            hint = "--rule repeated=renumber gives such jobs new numbers"
            self._refuse(repeated, "repeated_id_renumbered", hint)
            self._refuse(missing, "missing_id_renumbered", hint)
        self.counts["repeated_id_renumbered"] = int(repeated.sum())
        self.counts["missing_id_renumbered"] = int(missing.sum())
        return job_id

    def sorted(self, submit: Ints, job_id: Ints, *, refuse: bool) -> Ints:
        """Places of the lines kept, in (submit, id) order."""
        at = np.flatnonzero(self.kept)
        if len(at) == 0:
            raise InputError(
                f"no job is left of {len(self.raw)}: {self._counted()}", path=self.raw.path
            )
        whole = len(at) == len(self.raw)  # of all lines the columns as they are: no copies
        times, ids = (submit, job_id) if whole else (submit[at], job_id[at])
        self.counts["out_of_order_sorted"] = 0
        if bool((times[1:] >= times[:-1]).all()):
            tied = np.flatnonzero(times[1:] == times[:-1])
            in_order = bool((ids[tied + 1] >= ids[tied]).all())
            return at if in_order else at[np.lexsort((ids, times))]
        late = times < np.maximum.accumulate(times)
        if refuse:
            hit = np.zeros(len(self.raw), bool)
            hit[at[late]] = True
            self._refuse(
                hit, "out_of_order_sorted", "--rule out_of_order=sort sorts and counts them"
            )
        self.counts["out_of_order_sorted"] = int(late.sum())
        return at[np.lexsort((ids, times))]

    def _refuse(self, hit: AnyArray, rule: str, hint: str) -> None:
        if bool(hit.any()):
            first = int(np.argmax(hit))
            raise InputError(
                f"{RULES[rule]}: {int(hit.sum())} of them, the first is job "
                f"{int(self.raw['job_id'][first])}",
                path=self.raw.path,
                line=int(self.raw.line[first]),
                hint=f"Fix the log, or give another switch: {hint}.",
            )

    def _counted(self) -> str:
        listed = [f"{count} {explain(rule)}" for rule, count in self.counts.items() if count]
        return "; ".join(listed) or "the log is empty"
