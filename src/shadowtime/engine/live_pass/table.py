"""From a state and a memory to the simulator's tables, filled by the event loop's own steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any, NamedTuple

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine.estimates import known_at_submission
from shadowtime.engine.events import carry_out_corrections
from shadowtime.engine.live_pass.memory import (
    BLOCKED_AT,
    DUE,
    ESTIMATE,
    INITIAL,
    KILLS,
    PROMISED,
    SINCE,
    Memory,
)
from shadowtime.engine.run_tables import mark_classes
from shadowtime.kernel import fields as f
from shadowtime.kernel.estimates import FIXED, LAST, LAST_TWO, learn_end, learn_submit
from shadowtime.kernel.jit import entry, kernel
from shadowtime.kernel.queue import dequeue, enqueue
from shadowtime.kernel.registers import ARRIVED, BIG, BITS, ENDED, ENDS, LEARNER, NEVER, NOW
from shadowtime.kernel.running import LADDER, first_correction, insert, take
from shadowtime.kernel.state import State, World, build
from shadowtime.policy import Policy
from shadowtime.policy.snapshot import Snapshot, natural
from shadowtime.types import MAX_SPAN, Ints
from shadowtime.workload import Workload
from shadowtime.workload.workload import unknown_columns

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
    waits: Any
    """By row, whether the job waits."""
    notes: Ints
    """By row, what was remembered of the job: columns of memory.py."""


class Rows(NamedTuple):
    """The jobs of a state in the order of the tables: a list, and columns beside it."""

    jobs: list[Any]
    ids: list[str]
    since: Ints
    what: Ints
    """Whether it runs, waits, ended, or is new."""
    notes: Ints
    """What is remembered of each, as columns of memory.py."""


def table_of(
    policy: Policy, state: Snapshot, memory: Memory, machine: Cluster, *, kept: bool = False
) -> Table:
    """The simulator's tables for a state; newcomers come after all known jobs.

    ``kept``: a job that holds no promise yet is a newcomer.
    """
    rows = rows_of(state, memory, kept=kept)
    jobs, ids = rows.jobs, rows.ids
    workload = workload_of(rows, machine.resources)
    known = known_at_submission(policy.estimate, workload)
    kernel, world = build(workload, machine, estimate=known.estimate, learner=known.learner)
    n = len(ids)
    kernel = kernel._replace(
        running=np.zeros(n + 2, np.int64),
        ended=np.zeros(n + 2, np.int64),
        tried=np.zeros((f.TRIED, n + 2), np.int64),
    )
    mark_classes(kernel, workload, machine, policy)
    kernel.reg[ARRIVED] = n
    predicted = policy.estimate.written
    write_notes(kernel.job, rows, memory, learner=known.learner, predicted=predicted)
    write_runs(kernel.job, rows, machine, learner=known.learner)
    dense = {}
    if known.learner:  # only what learns looks at users
        dense = dict(zip((job.user for job in jobs), kernel.job[:, f.USER].tolist(), strict=True))
    dense.pop("", None)
    for user, at in dense.items():
        if user in memory.users:
            columns = [f.LAST_RUN, f.LAST_REQUEST, f.BEFORE_RUN]
            kernel.user[at, columns] = memory.users[user]
    fill(kernel, world, facts_of(rows), state.now)
    new = np.flatnonzero(rows.what == NEWS_SUBMIT)
    gone = tuple(ids[at] for at in np.flatnonzero(rows.what == NEWS_END).tolist())
    return Table(
        state=kernel,
        world=world,
        ids=ids,
        row_of=dict(zip(ids, range(n), strict=True)),
        users=dense,
        fresh=int(new[0]) if len(new) else n,
        ended=gone,
        workload=workload,
        waits=(rows.what == WAITS) | (rows.what == NEWS_SUBMIT),
        notes=rows.notes,
    )


def rows_of(state: Snapshot, memory: Memory, *, kept: bool) -> Rows:
    """All jobs in the order of the tables: (since, id), newcomers after all known jobs."""
    ended = ended_since(state, memory)
    jobs = [*state.waiting, *state.running, *ended]
    ids = [job.id for job in jobs]
    waiting, running = len(state.waiting), len(state.waiting) + len(state.running)
    at = memory.notes.rows_of(ids)
    notes = memory.notes.take(at)
    since = notes[:, SINCE].copy()
    for k in np.flatnonzero(at[:running] < 0).tolist():
        since[k] = jobs[k].submit
    since[running:] = [end.start for end in ended]
    since[waiting:running][[not run.ours for run in state.running]] = FOREIGN
    new = at < 0
    if kept:
        new |= notes[:, DUE] < 0
    new[waiting:] = False
    latest = since[:waiting][~new[:waiting]].max(initial=-1)
    since[new] = np.maximum(since[new], latest)
    what = np.full(len(jobs), WAITS, np.int64)
    what[new] = NEWS_SUBMIT
    what[waiting:running] = RUNS
    what[running:] = NEWS_END
    # Promises for good are made for one range of rows; to others rank alone matters.
    first = (since, new) if kept else (new, since)
    order = np.lexsort((*reversed(natural_columns(ids)), *first))
    places = order.tolist()
    return Rows(
        jobs=[jobs[k] for k in places],
        ids=[ids[k] for k in places],
        since=since[order],
        what=what[order],
        notes=notes[order],
    )


def ended_since(state: Snapshot, memory: Memory) -> list[Any]:
    """The jobs that ended since the last pass."""
    if not state.ended:
        return []
    present = {job.id for job in state.waiting} | {run.id for run in state.running}
    return [
        end
        for end in state.ended
        if end.id not in present and (end.id in memory.jobs or end.end > memory.now)
    ]


def natural_columns(ids: Sequence[str]) -> list[Ints]:
    """The numbers in the jobs' names, by place: sorted by them, jobs are in natural order.

    Examples
    --------
    >>> [column.tolist() for column in natural_columns(["12_10", "9", "12_9"])]
    [[12, 9, 12], [10, -1, 9]]
    """
    keys = list(map(natural, ids))
    if {1}.issuperset(map(len, keys)):
        return [np.fromiter(chain.from_iterable(keys), np.int64, len(keys))]
    return [np.array(column, np.int64) for column in zip_longest(*keys, fillvalue=-1)]


def workload_of(rows: Rows, resources: tuple[str, ...]) -> Workload:
    """The jobs as the simulator's columns; the request stands in for the unknown run time."""
    jobs, n, width = rows.jobs, len(rows.jobs), len(resources)
    nothing = (1,) + (0,) * (width - 1)
    each = chain.from_iterable([getattr(job, "need", nothing) for job in jobs])
    request = np.array([job.request for job in jobs], np.int64).clip(1, MAX_SPAN)
    users = [job.user for job in jobs]
    names = sorted(set(users) - {""})
    number = {name: k for k, name in enumerate(names)} | {"": -1}
    user = np.array([number[name] for name in users], np.int64)
    return Workload(
        name="live",
        job_id=np.arange(n),
        submit=rows.since,
        run=request,
        request=request,
        limit=request,
        demand=np.fromiter(each, np.int64, n * width).reshape(n, width),
        resources=resources,
        **(unknown_columns(n) | {"user": user}),
    )


def write_notes(table: Any, rows: Rows, memory: Memory, *, learner: int, predicted: bool) -> None:
    """Write down what is remembered of each job."""
    table[:, f.INITIAL] = table[:, f.ESTIMATE]
    if not memory.jobs:
        return
    notes = rows.notes
    table[:, f.PROMISED] = notes[:, PROMISED]
    table[:, f.BLOCKED_AT] = notes[:, BLOCKED_AT]
    table[:, f.KILLS] = notes[:, KILLS]
    if learner != FIXED or predicted:
        # EASY++ begins at the prediction at submission; its corrections follow again.
        guess = notes[:, INITIAL if learner == LAST_TWO else ESTIMATE]
        known = np.where(guess > 0, guess, table[:, f.ESTIMATE])
        table[:, f.ESTIMATE] = table[:, f.INITIAL] = known


def write_runs(table: Any, rows: Rows, machine: Cluster, *, learner: int) -> None:
    """Write down since when and where the running jobs run, and the ended ones ran."""
    several = machine.shape == "hosts"
    host_of = {host.name: at for at, host in enumerate(machine.hosts)} if several else {}
    for at in np.flatnonzero((rows.what == RUNS) | (rows.what == NEWS_END)).tolist():
        job, runs = rows.jobs[at], rows.what[at] == RUNS
        if not runs and learner == LAST_TWO:
            table[at, f.ESTIMATE] = corrected(table[at], job.end - job.start)
        table[at, f.START] = job.start
        table[at, f.EXPECTED] = job.start + table[at, f.ESTIMATE]
        if several and runs and job.place:
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


def facts_of(rows: Rows) -> Any:
    """Running jobs, waiting jobs, then the news by time: ends before submissions."""
    what = rows.what
    runs, waits = np.flatnonzero(what == RUNS), np.flatnonzero(what == WAITS)
    news = []
    for at in np.flatnonzero(what > WAITS).tolist():
        ends = what[at] == NEWS_END
        when = int(rows.jobs[at].end if ends else rows.since[at])
        news.append((when, not ends, natural(rows.ids[at]), (what[at], at, when)))
    news.sort()
    facts = np.zeros((3, len(what)), np.int64)
    facts[1, : len(runs)] = runs
    facts[1, len(runs) : len(runs) + len(waits)] = waits
    facts[0, : len(runs) + len(waits)] = np.repeat([RUNS, WAITS], [len(runs), len(waits)])
    if news:
        facts[:, len(runs) + len(waits) :] = np.array([fact for *_, fact in news], np.int64).T
    return facts


def assume(table: Table, state: Snapshot, runs: Mapping[str, int]) -> World:
    """A world in which jobs run as long as ``runs`` gives, else as long as they are expected to."""
    kernel, n = table.state, len(table.ids)
    assumed = kernel.job[:, f.ESTIMATE].copy()
    for job, run in runs.items():
        if job in table.row_of:
            assumed[table.row_of[job]] = max(1, run)
    kernel.job[:, f.LIMIT] = NEVER
    table.world.truth[:, f.RUN] = assumed
    world: World = table.world._replace(ends=np.empty(4 * n + 8, np.int64))
    queue_ends(kernel, world, [table.row_of[job.id] for job in state.running], assumed, state.now)
    return world


def queue_ends(kernel: Any, world: World, rows: list[int], assumed: Any, now: int) -> None:
    """Put the ends of the running jobs into the event loop's heap."""
    keys = []
    for row in rows:
        end = max(now + 1, int(kernel.job[row, f.START] + assumed[row]))
        world.truth[row, f.ENDS_AT] = end
        keys.append(end << int(kernel.reg[BITS]) | int(world.truth[row, f.RANK]))
    world.ends[: len(keys)] = sorted(keys)  # ascending: a heap
    kernel.reg[ENDS] = len(keys)


RUNS = 0
"""A job that holds resources."""
WAITS = 1
"""A job that waited at the last pass already."""
NEWS_END = 2
"""A job that ended since the last pass."""
NEWS_SUBMIT = 3
"""A job submitted since the last pass."""

WHAT, JOB, WHEN = 0, 1, 2
"""Rows of ``facts``."""


@entry
def fill(state: State, world: World, facts: Any, now: int) -> None:
    """Carry out facts in their order: running jobs, waiting jobs, then the news by time."""
    reg = state.reg
    for i in range(facts.shape[1]):
        what = facts[WHAT, i]
        job = facts[JOB, i]
        if what == RUNS:
            take(state, job, state.job[job, f.HOST])
            insert(state, job, state.job[job, f.START] + state.job[job, f.ESTIMATE])
            world.truth[job, f.ENDS_AT] = 1  # it runs: its prediction may be corrected
            if reg[LEARNER] != FIXED:
                first_correction(state, world, job)
        elif what == NEWS_END:
            state.ended[reg[ENDED]] = job
            reg[ENDED] += 1
            reg[NOW] = facts[WHEN, i]
            if reg[LEARNER] != FIXED:
                learn_end(state, job)
        else:
            if (what == NEWS_SUBMIT and reg[LEARNER] != FIXED) or reg[LEARNER] == LAST:
                learn_submit(state, job)
            enqueue(state, job)
    reg[NOW] = now
    if reg[LEARNER] != FIXED:
        carry_out_corrections(state, world, now)


@entry
def set_aside(state: State) -> None:
    """Take jobs out of the queue that no host could hold even when empty.

    They would keep every job waiting for a start that cannot come.
    """
    for job in range(state.reg[ARRIVED]):
        if state.wait[f.PROCS, job] != BIG and not ever_fits(state, job):
            dequeue(state, job)


@kernel
def ever_fits(state: State, job: int) -> bool:
    """True if some host could hold the job if it were empty."""
    for host in range(state.host.shape[1]):
        holds = True
        for k in range(state.host.shape[2]):
            if state.job[job, f.NEED + k] > state.host[f.CAPACITY, host, k]:
                holds = False
        if holds:
            return True
    return False
