"""From a state and a memory to the simulator's tables."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.engine.corrections import LADDER
from shadowtime.engine.estimates import known_at_submission
from shadowtime.engine.live_pass.memory import Note
from shadowtime.engine.simulate import mark_classes
from shadowtime.kernel import fields as f
from shadowtime.kernel.estimates import FIXED, LAST_TWO
from shadowtime.kernel.registers import ARRIVED
from shadowtime.kernel.state import build
from shadowtime.policy.estimate import Predicted
from shadowtime.policy.snapshot import natural
from shadowtime.types import MAX_SPAN
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.cluster import Cluster
    from shadowtime.engine.live_pass.memory import Memory
    from shadowtime.policy import Policy
    from shadowtime.policy.snapshot import Snapshot

UNKNOWN = Note(since=-1)
FOREIGN = -1
"""Submission of jobs that no policy may stop: they outrank every other job."""


class Table(NamedTuple):
    """The filled tables, and which job is in which row."""

    state: Any
    world: Any
    ids: list[str]
    row_of: dict[str, int]
    users: dict[str, int]
    fresh: int
    """The first row submitted since the last pass."""
    ended: tuple[str, ...]
    workload: Workload
    """The same jobs as columns, those that ended lately among them."""


Row = tuple[Any, ...]
"""One job on its way into the tables: since, new, order of its id, what it is, and the job.

Plain tuples: there may be ten thousand of them, and a tenth of a second for everything.
"""
SINCE, NEW, ORDER, WHAT, JOB = range(5)


def table_of(
    policy: Policy, state: Snapshot, memory: Memory, machine: Cluster, *, kept: bool = False
) -> Table:
    """The simulator's tables for a state; newcomers lie behind all known jobs.

    ``kept``: a job that holds no promise yet is a newcomer.
    """
    from shadowtime.engine.live_pass.compiled import fill

    rows = rows_of(state, memory, kept=kept)
    jobs = [row[JOB] for row in rows]
    what = [row[WHAT] for row in rows]
    ids = [job.id for job in jobs]
    names = sorted({job.user for job in jobs} - {""})
    number = {name: k for k, name in enumerate(names)} | {"": -1}
    workload = workload_of(rows, jobs, number, machine.resources)
    known = known_at_submission(policy.estimate, workload)
    kernel, world = build(workload, machine, estimate=known.estimate, learner=known.learner)
    n = len(rows)
    kernel = kernel._replace(
        running=np.zeros(n + 2, np.int64),
        ended=np.zeros(n + 2, np.int64),
        tried=np.zeros((f.TRIED, n + 2), np.int64),
    )
    mark_classes(kernel, workload, machine, policy)
    kernel.reg[ARRIVED] = n
    predicted = isinstance(policy.estimate, Predicted)
    write_notes(kernel.job, ids, memory, learner=known.learner, predicted=predicted)
    write_runs(kernel.job, rows, machine, learner=known.learner)
    dense = {}
    if known.learner:  # only what learns looks at users
        dense = dict(zip((job.user for job in jobs), kernel.job[:, f.USER].tolist(), strict=True))
    dense.pop("", None)
    for user, at in dense.items():
        if user in memory.users:
            columns = [f.LAST_RUN, f.LAST_REQUEST, f.BEFORE_RUN]
            kernel.user[at, columns] = memory.users[user]
    fill.fill(kernel, world, facts_of(rows), state.now)
    fresh = what.index(fill.NEWS_SUBMIT) if fill.NEWS_SUBMIT in what else n
    gone = tuple(job for job, kind in zip(ids, what, strict=True) if kind == fill.NEWS_END)
    row_of = dict(zip(ids, range(n), strict=True))
    return Table(kernel, world, ids, row_of, dense, fresh, gone, workload)


def rows_of(state: Snapshot, memory: Memory, *, kept: bool) -> list[Row]:
    """All jobs in the order of the tables: (since, id), newcomers behind all known jobs."""
    from shadowtime.engine.live_pass.compiled.fill import NEWS_END, NEWS_SUBMIT, RUNS, WAITS

    notes = memory.jobs
    rows: list[Row] = []
    latest = -1
    newcomers = []
    for job in state.waiting:
        note = notes.get(job.id)
        if note is None or (kept and note.due < 0):
            newcomers.append((job, job.submit if note is None else note.since))
            continue
        rows.append((note.since, False, natural(job.id), WAITS, job))
        latest = max(latest, note.since)
    rows += [
        (max(since, latest), True, natural(job.id), NEWS_SUBMIT, job) for job, since in newcomers
    ]
    for run in state.running:
        note = notes.get(run.id)
        since = (note.since if note else run.submit) if run.ours else FOREIGN
        rows.append((since, False, natural(run.id), RUNS, run))
    if state.ended:
        present = {job.id for job in state.waiting} | {run.id for run in state.running}
        rows += [
            (end.start, False, natural(end.id), NEWS_END, end)
            for end in state.ended
            if end.id not in present and (end.id in notes or end.end > memory.now)
        ]
    rows.sort(key=itemgetter(SINCE, NEW, ORDER))
    if kept:  # newcomers are one range of rows then; rank matters to others only
        rows.sort(key=itemgetter(NEW))
    return rows


def workload_of(
    rows: Sequence[Row], jobs: Sequence[Any], number: dict[str, int], resources: tuple[str, ...]
) -> Workload:
    """The jobs as the simulator's columns; the request stands in for the unknown run time."""
    nothing = (1,) + (0,) * (len(resources) - 1)
    need = np.array([getattr(job, "need", nothing) for job in jobs], np.int64)
    need = need.reshape(len(jobs), len(resources))
    request = np.array([job.request for job in jobs], np.int64).clip(1, MAX_SPAN)
    unknown = np.full(len(jobs), -1, np.int64)
    return Workload(
        name="live",
        job_id=np.arange(len(jobs)),
        submit=np.array([row[SINCE] for row in rows], np.int64),
        run=request,
        request=request,
        limit=request,
        demand=need,
        resources=resources,
        user=np.array([number[job.user] for job in jobs], np.int64),
        group=unknown,
        executable=unknown,
        queue=unknown,
        partition=unknown,
        status=unknown,
        recorded_start=unknown,
    )


def write_notes(
    table: Any, ids: Sequence[str], memory: Memory, *, learner: int, predicted: bool
) -> None:
    """Write down what is remembered of each job."""
    table[:, f.INITIAL] = table[:, f.ESTIMATE]
    if not memory.jobs:
        return
    notes = [memory.jobs.get(job, UNKNOWN) for job in ids]
    table[:, f.PROMISED] = [note.promised for note in notes]
    table[:, f.BLOCKED_AT] = [note.blocked_at for note in notes]
    table[:, f.KILLS] = [note.kills for note in notes]
    if learner != FIXED or predicted:
        # EASY++ begins at the prediction at submission; its corrections follow again.
        guess = [note.initial if learner == LAST_TWO else note.estimate for note in notes]
        known = np.array(guess, np.int64)
        known = np.where(known > 0, known, table[:, f.ESTIMATE])
        table[:, f.ESTIMATE] = table[:, f.INITIAL] = known


def write_runs(table: Any, rows: Sequence[Row], machine: Cluster, *, learner: int) -> None:
    """Write down since when and where the running jobs run, and the ended ones ran."""
    from shadowtime.engine.live_pass.compiled.fill import NEWS_END, RUNS

    host_of = {host.name: at for at, host in enumerate(machine.hosts)}
    several = machine.shape == "hosts"
    for at, (_, _, _, what, job) in enumerate(rows):
        if what != RUNS and what != NEWS_END:
            continue
        if what == NEWS_END and learner == LAST_TWO:
            table[at, f.ESTIMATE] = corrected(table[at], job.end - job.start)
        table[at, f.START] = job.start
        table[at, f.EXPECTED] = job.start + table[at, f.ESTIMATE]
        if several and what == RUNS and job.place:
            table[at, f.HOST] = host_of.get(job.place[0][0], 0)


def corrected(row: Any, run: int) -> int:
    """EASY++'s prediction for a job at its end, after the corrections made while it ran.

    One that was due in the second of the end was not made: ends come first.
    """
    longer = int(row[f.ESTIMATE])
    for step in (*LADDER.tolist(), MAX_SPAN):
        if longer >= run or longer >= row[f.REQUEST]:
            break
        longer = min(int(row[f.REQUEST]), int(row[f.INITIAL]) + step)
    return longer


def facts_of(rows: Sequence[Row]) -> Any:
    """Running jobs, waiting jobs, then the news by time: ends before submissions."""
    from shadowtime.engine.live_pass.compiled.fill import NEWS_END, RUNS, WAITS

    what = np.array([row[WHAT] for row in rows], np.int64)
    runs, waits = np.flatnonzero(what == RUNS), np.flatnonzero(what == WAITS)
    news = []
    for at in np.flatnonzero(what > WAITS).tolist():
        row = rows[at]
        ends = row[WHAT] == NEWS_END
        when = row[JOB].end if ends else row[SINCE]
        news.append((when, not ends, row[ORDER], (row[WHAT], at, when)))
    news.sort()
    facts = np.zeros((3, len(rows)), np.int64)
    facts[1, : len(runs)] = runs
    facts[1, len(runs) : len(runs) + len(waits)] = waits
    facts[0, : len(runs) + len(waits)] = np.repeat([RUNS, WAITS], [len(runs), len(waits)])
    if news:
        facts[:, len(runs) + len(waits) :] = np.array([fact for *_, fact in news], np.int64).T
    return facts
