"""From a state and a memory to the simulator's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.engine.corrections import LADDER
from shadowtime.engine.estimates import known_at_submission
from shadowtime.engine.once.moment import natural
from shadowtime.engine.simulate import mark_classes
from shadowtime.kernel import fields as f
from shadowtime.kernel.estimates import FIXED, LAST_TWO
from shadowtime.kernel.registers import ARRIVED
from shadowtime.kernel.state import build
from shadowtime.types import MAX_SPAN
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.cluster import Cluster
    from shadowtime.engine.once.memory import Memory
    from shadowtime.engine.once.moment import Ended, Running, State, Waiting
    from shadowtime.policy import Policy

FOREIGN = -1
"""Submission of jobs that no policy may stop: they outrank everybody."""


class Table(NamedTuple):
    """The filled tables, and who is in which row."""

    state: Any
    world: Any
    ids: list[str]
    row_of: dict[str, int]
    users: dict[str, int]
    fresh: int
    """The first row submitted since the last pass."""
    ended: tuple[str, ...]


class Row(NamedTuple):
    """One job on its way into the tables; sorted as it stands."""

    since: int
    new: bool
    order: tuple[int, ...]
    what: int
    job: Waiting | Running | Ended


def table_of(
    policy: Policy, state: State, memory: Memory, machine: Cluster, *, kept: bool = False
) -> Table:
    """The simulator's tables for a state; newcomers lie behind everybody known.

    ``kept``: whoever holds no promise yet is a newcomer.
    """
    rows = rows_of(state, memory, kept=kept)
    ids = [row.job.id for row in rows]
    names = sorted({row.job.user for row in rows} - {""})
    number = {name: k for k, name in enumerate(names)} | {"": -1}
    workload = workload_of(rows, number, machine.resources)
    known = known_at_submission(policy.estimate, workload)
    kernel, world = build(workload, machine, estimate=known.estimate, learner=known.learner)
    n = len(rows)
    kernel = kernel._replace(
        running=np.zeros(n + 2, np.int64),
        ended=np.zeros(n + 2, np.int64),
        tried=np.zeros((3, n + 2), np.int64),
    )
    mark_classes(kernel, workload, machine, policy)
    kernel.reg[ARRIVED] = n
    write_rows(kernel.job, rows, memory, machine, learner=known.learner)
    users = {}
    if known.learner:  # only what learns looks at users
        for row, dense in zip(rows, kernel.job[:, f.USER].tolist(), strict=True):
            users[row.job.user] = dense
    users.pop("", None)
    for user, dense in users.items():
        if user in memory.users:
            history = memory.users[user]
            at = [f.LAST_RUN, f.LAST_REQUEST, f.BEFORE_RUN]
            kernel.user[dense, at] = history
    from shadowtime.engine.once.compiled import fill

    fill.fill(kernel, world, facts_of(rows), state.now)
    fresh = next((k for k, row in enumerate(rows) if row.what == fill.NEWS_SUBMIT), n)
    gone = tuple(row.job.id for row in rows if row.what == fill.NEWS_END)
    row_of = {job: at for at, job in enumerate(ids)}
    return Table(kernel, world, ids, row_of, users, fresh, gone)


def rows_of(state: State, memory: Memory, *, kept: bool) -> list[Row]:
    """All jobs in the order of the tables: (since, id), newcomers behind everybody known."""
    from shadowtime.engine.once.compiled.fill import NEWS_END, NEWS_SUBMIT, RUNS, WAITS

    notes = memory.jobs
    rows: list[Row] = []
    latest = -1
    newcomers = []
    for job in state.waiting:
        note = notes.get(job.id)
        if note is None or (kept and note.due < 0):
            newcomers.append((job, job.submit if note is None else note.since))
            continue
        rows.append(Row(note.since, False, natural(job.id), WAITS, job))
        latest = max(latest, note.since)
    rows += [
        Row(max(since, latest), True, natural(job.id), NEWS_SUBMIT, job) for job, since in newcomers
    ]
    present = {job.id for job in state.waiting}
    for run in state.running:
        present.add(run.id)
        note = notes.get(run.id)
        since = (note.since if note else run.submit) if run.ours else FOREIGN
        rows.append(Row(since, False, natural(run.id), RUNS, run))
    rows += [
        Row(end.start, False, natural(end.id), NEWS_END, end)
        for end in state.ended
        if end.id not in present and (end.id in notes or end.end > memory.now)
    ]
    # With promises for good, newcomers are a range of rows; rank matters to others only.
    rows.sort(key=lambda row: (kept and row.new, row.since, row.new, row.order))
    return rows


def workload_of(
    rows: Sequence[Row], number: dict[str, int], resources: tuple[str, ...]
) -> Workload:
    """The jobs as the simulator's columns; the request stands in for the unknown run time."""
    nothing = (1,) + (0,) * (len(resources) - 1)
    need = np.array([getattr(row.job, "need", nothing) for row in rows], np.int64)
    need = need.reshape(len(rows), len(resources))
    request = np.array([row.job.request for row in rows], np.int64).clip(1, MAX_SPAN)
    unknown = np.full(len(rows), -1, np.int64)
    return Workload(
        name="live",
        job_id=np.arange(len(rows)),
        submit=np.array([row.since for row in rows], np.int64),
        run=request,
        request=request,
        limit=request,
        demand=need,
        resources=resources,
        user=np.array([number[row.job.user] for row in rows], np.int64),
        group=unknown,
        executable=unknown,
        queue=unknown,
        partition=unknown,
        status=unknown,
        recorded_start=unknown,
    )


def write_rows(
    table: Any, rows: Sequence[Row], memory: Memory, machine: Cluster, *, learner: int
) -> None:
    """Write down what is known of each job besides its demands."""
    from shadowtime.engine.once.compiled.fill import NEWS_END, RUNS

    host_of = {host.name: at for at, host in enumerate(machine.hosts)}
    several = machine.shape == "hosts"
    table[:, f.INITIAL] = table[:, f.ESTIMATE]
    for at, row in enumerate(rows):
        note = memory.jobs.get(row.job.id)
        if note is not None:
            table[at, f.PROMISED] = note.promised
            table[at, f.BLOCKED_AT] = note.blocked_at
            table[at, f.KILLS] = note.kills
            if learner != FIXED and note.estimate > 0:
                # EASY++ begins at the prediction at submission; its corrections follow anew.
                first = note.initial if learner == LAST_TWO else note.estimate
                table[at, f.ESTIMATE] = table[at, f.INITIAL] = max(1, first)
        if row.what == RUNS or row.what == NEWS_END:
            start = row.job.start  # type: ignore[union-attr]
            if row.what == NEWS_END and learner == LAST_TWO:
                table[at, f.ESTIMATE] = corrected(table[at], row.job.end - start)  # type: ignore[union-attr]
            table[at, f.START] = start
            table[at, f.EXPECTED] = start + table[at, f.ESTIMATE]
            place = getattr(row.job, "place", ())
            if several and place:
                table[at, f.HOST] = host_of.get(place[0][0], 0)


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
    """Who runs, who waits, then the news by time: ends before submissions."""
    from shadowtime.engine.once.compiled.fill import NEWS_END, RUNS, WAITS

    runs = [(RUNS, at, 0) for at, row in enumerate(rows) if row.what == RUNS]
    waits = [(WAITS, at, 0) for at, row in enumerate(rows) if row.what == WAITS]
    news = []
    for at, row in enumerate(rows):
        if row.what > WAITS:
            ends = row.what == NEWS_END
            when = row.job.end if ends else row.since  # type: ignore[union-attr]
            news.append((when, not ends, row.order, (row.what, at, when)))
    news.sort()
    facts = runs + waits + [fact for *_, fact in news]
    return np.array(facts, np.int64).reshape(-1, 3).T.copy()
