"""Functions of the user's own in a live pass: their memory, what they learn, what they predict.

In a simulation the pass itself reports what ended and what was submitted. Here that happened since
the last pass, each thing at its own instant, so it is reported before the pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.engine.failures import failure_of
from shadowtime.engine.live_pass.memory import Memory
from shadowtime.engine.live_pass.table import Table
from shadowtime.engine.steps import call_own, change_estimate
from shadowtime.errors import PolicyError
from shadowtime.kernel import fields as f
from shadowtime.kernel import slots
from shadowtime.kernel.registers import CLAMPED
from shadowtime.policy import Policy
from shadowtime.policy.snapshot import Snapshot, natural
from shadowtime.policy.written import Written
from shadowtime.types import Floats

if TYPE_CHECKING:
    from shadowtime.engine.custom import Own


def refuse_begins(policy: Policy) -> None:
    """Reject begin times by a function, which a live loop asks for nowhere."""
    if policy.order.begins:
        raise PolicyError(
            f"{policy.name}: order={policy.order} gives begin times, which is for simulations; "
            "live, give them with sbatch --begin"
        )


def own_functions(policy: Policy, table: Table, state: Snapshot, memory: Memory) -> Own | None:
    """What the policy's functions work with, after they received the news; None without any.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster, Host
    >>> from shadowtime.engine.live_pass import RunningJob, Snapshot, WaitingJob, decide
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.policy.estimate import Predicted
    >>> def half(now, job): return job.request / 2
    >>> state = Snapshot(now=2, cluster=Cluster(shape="nodes", hosts=(Host("n1", (4,)),)),
    ...     running=(RunningJob(id="1", submit=0, need=(4,), request=9, start=0),),
    ...     waiting=(WaitingJob(id="2", submit=1, need=(4,), request=50),))
    >>> made = decide(parse_policy("easy").replace(estimate=Predicted(half)), state)
    >>> made.memory.jobs["2"].estimate
    25
    """
    if not any(isinstance(part, Written) for part in policy.parts.values()):
        return None
    for part in policy.parts.values():
        if isinstance(part, Written) and part.memory and part.by not in ("user", "all"):
            raise PolicyError(
                f"{policy.name}: {part.label} remembers by {part.by}; a live memory is kept by "
                "user, or for all jobs together"
            )
    from shadowtime.engine.custom import own_of

    own = own_of(policy, table.workload)
    for name, row in rows_of(table, state, own):
        known = memory.own.get(name, ())
        own.memory[row, : len(known)] = known[: own.memory.shape[1]]
    for job in table.ended:  # a list of ended jobs has no submission times
        if job in memory.jobs:
            table.state.job[table.row_of[job], f.SUBMIT] = memory.jobs[job].since
    tell_the_news(policy, table, state, memory, own)
    return own


def rows_of(table: Table, state: Snapshot, own: Own) -> Iterator[tuple[str, int]]:
    """Whose each row of the memory is: each user's in the snapshot, the last one all jobs'."""
    found = {}
    everybody: tuple[Any, ...] = (*state.waiting, *state.running, *state.ended)
    for job in everybody:
        at = table.row_of.get(job.id)
        if at is not None:
            found[f"user:{job.user}"] = int(own.fact[at, 0])
    yield from found.items()
    yield "all", len(own.memory) - 1


def numbers_of(
    policy: Policy, table: Table, state: Snapshot, memory: Memory, own: Own
) -> dict[str, tuple[float, ...]]:
    """The memory as it is kept between passes; rows of zeros need not be."""
    kept = dict(memory.own)
    if not any(isinstance(part, Written) and part.memory for part in policy.parts.values()):
        return kept
    here = dict(rows_of(table, state, own))
    absent = [name for name in kept if name not in here]
    if own.timers and absent:  # timers go off for users without a job too
        rows = np.zeros((len(absent) + 1, own.memory.shape[1]))
        for at, name in enumerate(absent):
            rows[at, : len(kept[name])] = kept[name][: rows.shape[1]]
        for when, timer in ticks(own, memory.now, state.now):
            if not own.timers[timer][2]:
                go_off(policy, table, own, timer, when, rows)
        kept |= {name: tuple(rows[at].tolist()) for at, name in enumerate(absent)}
    for name, row in here.items():
        numbers = tuple(own.memory[row].tolist())
        if any(numbers) or name in kept:
            kept[name] = numbers
    return kept


ENDED, SUBMITTED, TIMER = 0, 1, 2
"""The order in which the news of one instant is reported."""


def tell_the_news(policy: Policy, table: Table, state: Snapshot, memory: Memory, own: Own) -> None:
    """Report ends, submissions and timers since the last pass by time, and ask for estimates."""
    gone = set(table.ended)
    news: list[tuple[int, int, Any, int]] = [
        (end.end, ENDED, natural(end.id), table.row_of[end.id])
        for end in state.ended
        if end.id in gone
    ]
    kernel = table.state
    fresh = range(table.fresh, len(table.ids))
    waiting = {table.row_of[job.id] for job in state.waiting}
    news += [
        (int(kernel.job[at, f.SUBMIT]), SUBMITTED, natural(table.ids[at]), at)
        for at in fresh
        if at in waiting
    ]
    news += [(when, TIMER, timer, -1) for when, timer in ticks(own, memory.now, state.now)]
    for when, kind, which, at in sorted(news):
        if kind == ENDED:
            answer(policy, table, own, slots.LEARN_END, at, when)
            continue
        if kind == TIMER:
            go_off(policy, table, own, which, when, own.memory)
            continue
        if own.bits & 1 << slots.ESTIMATE:
            predict(policy, table, own, at, when)
        answer(policy, table, own, slots.LEARN_SUBMIT, at, when)


def ticks(own: Own, since: int, until: int) -> list[tuple[int, int]]:
    """When timers go off behind one instant and up to another, with their numbers."""
    if since < 0:  # the first pass: nothing before it is known
        return []
    return sorted(
        (when, timer)
        for timer, (every, _, _) in enumerate(own.timers)
        for when in range((since // every + 1) * every, until + 1, every)
    )


def go_off(policy: Policy, table: Table, own: Own, timer: int, when: int, memory: Floats) -> None:
    """Call a timer for the rows of a memory; the last row is that of all jobs."""
    last = len(memory) - 1
    whole = own.timers[timer][2]
    rows = np.array([last] if whole else range(last), np.int64)
    slot, kernel = slots.LEARN_TIMER + timer, table.state
    args = (slot, when, kernel.job, own.fact, rows, memory, own.series, np.zeros(len(rows)))
    failed = call_own(own.pointer, *args) if len(rows) else -1
    if failed >= 0:
        raise failure_of(policy, slot, kernel.job, own, int(rows[failed]), when, "")


def predict(policy: Policy, table: Table, own: Own, at: int, when: int) -> None:
    """The estimate of a new job, by the rule of passes/learning.py."""
    guess = np.floor(answer(policy, table, own, slots.ESTIMATE, at, when) + 0.5)
    kernel = table.state
    within = int(max(1.0, min(float(kernel.job[at, f.REQUEST]), guess)))
    kernel.reg[CLAMPED] += within != guess
    change_estimate(kernel, at, within)
    kernel.job[at, f.INITIAL] = within


def answer(policy: Policy, table: Table, own: Own, slot: int, at: int, when: int) -> float:
    """What a function returns for one job; 0 where no function fills the slot."""
    out = np.zeros(1)
    if own.bits & 1 << slot:
        kernel = table.state
        jobs = np.array([at], np.int64)
        args = (slot, when, kernel.job, own.fact, jobs, own.memory, own.series, out)
        if call_own(own.pointer, *args) >= 0:
            raise failure_of(policy, slot, kernel.job, own, at, when, table.ids[at])
    return float(out[0])
