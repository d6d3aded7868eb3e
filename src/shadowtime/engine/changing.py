"""Runs of jobs that change on a pool: from a workload to the tables, and back to a schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine.claims import claims_of
from shadowtime.engine.columns import Column, add_columns, columns_of, columns_read, every_column
from shadowtime.engine.estimates import known_at_submission
from shadowtime.engine.events import BROKEN, ROOM_NEEDED
from shadowtime.engine.saved import Pauses, reading
from shadowtime.engine.selecting import Chooser
from shadowtime.engine.series import packed_series, series_read
from shadowtime.engine.uses import facts_of
from shadowtime.engine.watch import Watch
from shadowtime.errors import PolicyError
from shadowtime.kernel import changing as g
from shadowtime.kernel import registers as reg
from shadowtime.kernel.choice import COLUMNS, SELECT_BROKE, Choice, make_choice
from shadowtime.kernel.estimates import FIXED
from shadowtime.kernel.profile import make_profile
from shadowtime.kernel.slots import SLOT_SHIFT
from shadowtime.policy import Policy
from shadowtime.policy.functions import where
from shadowtime.schedule import Attempts, Schedule
from shadowtime.types import FULL_SPEED, MILLION, Ints
from shadowtime.workload import Workload
from shadowtime.workload.speedup import Changing, changing_of

SEEN = tuple(Column(name, name in g.FRACTIONS, name in g.WHOLE) for name in g.SEEN)


def simulate_changing(
    workload: Workload, cluster: Cluster, policy: Policy, *, watch: Watch | None = None
) -> Schedule:
    """Run a workload under a policy that gives running jobs other sizes and speeds.

    Examples
    --------
    >>> import shadowtime as st
    >>> @st.resize
    ... def all_to_the_first(now, jobs, free):
    ...     jobs.size[:] = 0
    ...     jobs.size[0] = jobs.most[0]
    >>> jobs = st.Workload.build(submit=[0, 1], run=[9, 5], procs=[2, 2], extra={
    ...     "serial": np.array([0.0, 0.0])})
    >>> made = simulate_changing(jobs, st.Cluster.pool(4), st.easy(backfill=all_to_the_first))
    >>> made.start.tolist(), made.end.tolist(), made.attempts.procs.tolist()
    ([0, 5], [5, 8], [4, 4])
    """
    made = Run.of(workload, cluster, policy)
    with reading(watch, workload, made.tables.reg, saves=True) as pauses:
        # The function finds its columns by their addresses; of these only its plans are kept.
        (made.tables, _), _ = pauses.continued((made.tables, made.asking.choice.due))
        made.go_on(pauses)
    return made.schedule()


@dataclass(eq=False)
class Run:
    """The tables of a run and the function that is asked in it."""

    workload: Workload
    cluster: Cluster
    policy: Policy
    changing: Changing
    tables: g.Tables
    asking: Asking

    @classmethod
    def of(cls, workload: Workload, cluster: Cluster, policy: Policy) -> Run:
        """A run before its first instant."""
        policy.refuse_nonsense(cluster.shape)
        changing = changing_of(workload, cluster.procs)
        tables = build(workload, changing, cluster, policy)
        asked = asking(policy, workload, changing, len(cluster.resources))
        return cls(workload, cluster, policy, changing, tables, asked)

    def go_on(self, pauses: Pauses | None = None) -> int:
        """Run to the end, or to the next pass of a session."""
        from shadowtime.engine.passes.changing import run

        chooser, *rest = self.asking
        while (code := run(self.tables, *rest)) == ROOM_NEEDED:
            if pauses is not None and pauses.paused((self.tables, self.asking.choice.due)):
                continue
            piece = self.tables.piece
            larger = np.zeros((g.P_ROWS, 2 * piece.shape[1]), np.int64)
            larger[:, : piece.shape[1]] = piece
            self.tables = self.tables._replace(piece=larger)
        if code == BROKEN:
            ids = self.workload.job_id.tolist()
            raise failure(self.policy, self.tables, chooser, ids, self.cluster.resources)
        return int(code)

    def schedule(self) -> Schedule:
        """The rows of a finished run."""
        never = self.tables.job[:, g.END] < 0
        if never.any():
            stuck = int(self.workload.job_id[never][0])
            raise PolicyError(
                f"{self.policy.name} never ends job {stuck}: nothing is left to wait for"
            )
        return _schedule(self.workload, self.policy, self.changing, self.tables)


class Asking(NamedTuple):
    """A policy's function, ready to be asked in a run."""

    chooser: Chooser
    profile: Any
    choice: Choice
    fact: Any
    pointer: Any


def asking(
    policy: Policy, workload: Workload, changing: Changing, resources: int, steps: int = 1
) -> Asking:
    """The function of a policy with the columns that it reads, and room for steps of ``free``."""
    if policy.estimate.written or known_at_submission(policy.estimate, workload).learner != FIXED:
        raise PolicyError(
            f"{policy.name} needs an estimate that is known before the run, and "
            f"estimate={policy.estimate} is not: use requested, actual or a predictor"
        )
    part: Any = policy.backfill
    known = {name: values for name, values in columns_of(workload).items() if name not in g.SEEN}
    more = columns_read((part.function,), known) if part.compiled else every_column(known)
    names = series_read((part.function,), workload)
    chooser = Chooser(part, SEEN + more, names, packed_series(names, workload))
    n = max(len(workload), len(changing.knot))
    profile = make_profile(1, 2 * len(workload) + steps + 9, resources)
    choice = make_choice(n, resources, profile, chooser.values, more=len(chooser.columns))
    choice.column[COLUMNS + g.KNOT_, : len(changing.knot)] = changing.knot.view(np.int64)
    pointer = chooser.attach(choice, profile)
    fact = add_columns(facts_of(workload), more, known)
    return Asking(chooser, profile, choice, fact, pointer)


def build(workload: Workload, changing: Changing, pool: Cluster, policy: Policy) -> g.Tables:
    """The tables at the beginning of a run."""
    need = np.zeros((len(workload), len(pool.resources)), np.int64)
    for k, name in enumerate(pool.resources):
        if name in workload.resources:
            need[:, k] = workload.demand[:, workload.resources.index(name)]
    need[:, 0] = changing.own
    n = len(workload)
    job = np.zeros((n, g.WORDS), np.int64)
    for column, values in (
        (g.SUBMIT, workload.submit), (g.REQUEST, np.maximum(workload.request, 1)),
        (g.ESTIMATE, known_at_submission(policy.estimate, workload).estimate),
        (g.OWN, changing.own), (g.LEAST, changing.least), (g.MOST, changing.most),
        (g.COST, changing.cost), (g.CHECKPOINT, changing.checkpoint), (g.KIND, changing.kind),
        (g.WORK, MILLION * np.minimum(workload.run, workload.limit)),
        (g.ENDS_AT, reg.NEVER), (g.START, -1), (g.END, -1), (g.PROMISED, -1), (g.BLOCKED_AT, -1),
    ):  # fmt: skip
        job[:, column] = values
    job[:, g.LEFT] = job[:, g.WORK]
    registers = np.zeros(reg.COUNT, np.int64)
    registers[reg.FAILED], registers[reg.WAKE] = -1, reg.NEVER
    fraction = np.ascontiguousarray(np.stack([changing.a, changing.b, changing.beta], axis=1))
    part: Any = policy.backfill
    return g.Tables(
        reg=registers,
        job=job,
        curve=fraction.view(np.int64),
        fraction=fraction,
        knot=changing.knot,
        speed=np.array([speed for speed, _ in part.levels], np.int64),
        here=np.zeros(n + 1, np.int64),
        piece=np.zeros((g.P_ROWS, 4 * n + 64), np.int64),
        need=need,
        there=np.array(pool.hosts[0].capacity, np.int64),
        later=np.zeros((2, 0), np.int64),
    )


def failure(
    policy: Policy,
    tables: g.Tables,
    chooser: Chooser,
    ids: Sequence[object],
    resources: Sequence[str] = ("procs",),
) -> BaseException:
    """What the function did wrong; ``ids`` names the jobs."""
    slot, at = divmod(int(tables.reg[reg.FAILED]), 1 << SLOT_SHIFT)
    now = int(tables.reg[reg.NOW])
    if slot == SELECT_BROKE:
        return chooser.failure(policy, slot, at, now, str)
    assert chooser.choice is not None
    place = tables.here.tolist().index(at)
    size, speed = chooser.choice.column[[COLUMNS + g.SIZE_, COLUMNS + g.SPEED_], place].tolist()
    least, most = tables.job[at, [g.LEAST, g.MOST]].tolist()
    speeds: Any = chooser.part
    declared = [each for each, _ in speeds.speeds]
    upto = chooser.choice.column[COLUMNS + g.SIZE_, : place + 1] > 0
    held = tables.need[tables.here[: place + 1]][upto].sum(axis=0)
    over = [name for name, a, b in zip(resources, held, tables.there, strict=True) if a > b]
    what = {
        g.RESIZE_SIZE: f"{size} processors, and it may have {least} to {most}, or 0 to wait",
        g.RESIZE_FULL: f"{size} processors, and all sizes together exceed {tables.there[0]}",
        g.RESIZE_SPEED: f"the speed {speed}, and declared are {declared}",
        g.RESIZE_KEEPS: f"{size} processors, and with it all jobs that run or are suspended hold "
        f"more {over[-1] if over else ''} than the pool has",
        g.RESIZE_WAITS: "the speed 0 though it waits: only running jobs are suspended",
    }[slot]
    return PolicyError(
        f"{policy.name}: the {chooser.part.takes.name} function {where(chooser.part.function)} "
        f"gives job {ids[at]} at {now} {what}"
    )


def _schedule(workload: Workload, policy: Policy, changing: Changing, tables: g.Tables) -> Schedule:
    """The rows of a finished run."""
    job, counted = tables.job, tables.reg
    return Schedule(
        job_id=workload.job_id,
        submit=workload.submit,
        start=job[:, g.START].copy(),
        end=job[:, g.END].copy(),
        procs=workload.procs,
        reason=job[:, g.REASON].astype(np.int8),
        kills=job[:, g.STOPS].copy(),
        killed=(workload.run > workload.limit).astype(np.int8),
        promised=job[:, g.PROMISED].copy(),
        blocked_at=job[:, g.BLOCKED_AT].copy(),
        limit=workload.limit,
        attempts=_pieces(workload, policy, changing, tables),
        policy=policy.name,
        claims=claims_of(policy, workload),
        counters={
            "passes": int(counted[reg.PASSES]),
            "events": int(counted[reg.EVENTS]),
            "preemptions": int(counted[reg.KILLS]),
        },
    )


def _pieces(workload: Workload, policy: Policy, changing: Changing, tables: g.Tables) -> Attempts:
    """The pieces of every job that changed (spec: changing 4.1)."""
    part: Any = policy.backfill
    made = tables.piece[:, : tables.reg[reg.ATTEMPTS]]
    row, size, level = made[g.P_JOB], made[g.P_SIZE], made[g.P_LEVEL]
    share = np.array([power for _, power in part.levels], np.int64)[level]
    speed = tables.speed[level]
    own = changing.own[row]
    halted = speed == 0
    plain = (size == own) & (speed == FULL_SPEED) & (share == MILLION) & (made[g.P_STOPPED] == 0)
    changed = np.zeros(len(workload), bool)
    changed[row[~plain]] = True
    kept = np.flatnonzero(changed[row])
    order = kept[np.lexsort((row[kept], made[g.P_FROM][kept]))]
    if len(order) == 0:
        return Attempts.none()

    def of(values: Ints) -> Ints:
        return np.ascontiguousarray(values[order])

    cost, stopped, work = of(made[g.P_COST]), of(made[g.P_STOPPED]), of(made[g.P_WORK])
    start, end = of(made[g.P_FROM]), of(made[g.P_UNTIL])
    rate = changing.rates(row[order], of(size), of(np.maximum(speed, 1)))
    counts = np.where(of(halted), 0, end - start - cost)
    counts = np.where(stopped == 1, np.minimum(work // rate, counts), counts)
    return Attempts(
        job_id=workload.job_id[row[order]],
        start=start,
        end=end,
        killed=stopped.astype(np.int8),
        kept=counts,
        overhead=cost,
        procs=of(np.where(halted, 0, size)),
        speed=of(speed),
        draw=of(share * size // own),
        work=work,
    )
