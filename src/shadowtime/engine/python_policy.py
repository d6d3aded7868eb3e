"""The easy door: a policy written in Python, run by the same event loop (slower, same results)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from shadowtime.engine.estimates import known_at_submission
from shadowtime.errors import PolicyError, ShadowtimeError
from shadowtime.kernel import fields as f
from shadowtime.kernel.registers import (
    ARRIVED,
    BIG,
    BITS,
    NEVER,
    NOW,
    RUNNING,
    VOLATILE,
    WAKE,
)
from shadowtime.kernel.state import State, build
from shadowtime.policy.estimate import Requested
from shadowtime.policy.view import Promise, RunningJob, Start, Stop, View, WaitingJob, Wake
from shadowtime.types import Reason

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.schedule import Schedule
    from shadowtime.workload import Workload


def simulate_object(workload: Workload, cluster: Cluster, policy: Any) -> Schedule:
    """Run a workload through an object with ``decide(view)``."""
    from shadowtime.engine import steps
    from shadowtime.engine.events import PASS_DUE, ROOM_NEEDED
    from shadowtime.engine.simulate import as_schedule, with_more_room

    known = known_at_submission(getattr(policy, "estimate", Requested()), workload)
    state, world = build(workload, cluster, estimate=known.estimate, learner=known.learner)
    state.reg[VOLATILE] = not known.safe
    index = {int(job_id): place for place, job_id in enumerate(workload.job_id)}
    name = str(getattr(policy, "name", type(policy).__name__))
    while True:
        code = steps.go_to_pass(state, world)
        if code == ROOM_NEEDED:
            state = with_more_room(state)
            continue
        if code != PASS_DUE:
            break
        if not known.safe:
            steps.update_expected(state)
        view = view_of(state, workload)
        carry_out(state, decisions_of(policy, view, name), index, name, OnHosts(state))
        steps.finish_pass(state, world)
    if (state.job[:, f.START] < 0).any():
        stuck = int(workload.job_id[state.job[:, f.START] < 0][0])
        raise PolicyError(f"{name} never starts job {stuck}: nothing is left to wait for")
    claims = tuple(getattr(policy, "claims", ()))
    return as_schedule(workload, state, world, name=name, claims=claims)


def decisions_of(policy: Any, view: View, name: str) -> Iterable[object]:
    """What the policy decides; whatever it raises is its own mistake, not ours."""
    try:
        decisions = policy.decide(view)
        if isinstance(decisions, Iterable):
            return list(decisions)
    except ShadowtimeError:
        raise
    except Exception as error:
        raise PolicyError(
            f"{name}.decide failed at {view.now}: {type(error).__name__}: {error}"
        ) from error
    raise PolicyError(f"{name}: decide must return decisions, not {type(decisions).__name__}")


def view_of(state: State, workload: Workload) -> View:
    """What the policy is shown."""
    reg, job = state.reg, state.job
    now = int(reg[NOW])

    def common(place: int) -> tuple[int, int, tuple[int, ...], int, int, int]:
        row = job[place]
        need = tuple(int(x) for x in row[f.NEED :])
        return (
            int(workload.job_id[place]),
            int(row[f.SUBMIT]),
            need,
            int(row[f.REQUEST]),
            int(row[f.ESTIMATE]),
            int(workload.user[place]),
        )

    queue = np.flatnonzero(state.wait[f.PROCS, : reg[ARRIVED]] != BIG)
    keys = state.running[: reg[RUNNING]]
    mask = (1 << int(reg[BITS])) - 1
    running = []
    for key in keys:
        place = int(key & mask)
        start, end = int(job[place, f.START]), max(int(key >> reg[BITS]), now + 1)
        running.append(RunningJob(*common(place), start=start, expected_end=end))
    return View(
        now=now,
        waiting=tuple(WaitingJob(*common(int(place))) for place in queue),
        running=tuple(running),
        free=tuple(int(x) for x in state.host[f.FREE].sum(axis=0)),
        capacity=tuple(int(x) for x in state.host[f.CAPACITY].sum(axis=0)),
    )


class Machine(Protocol):
    """How a machine carries decisions out."""

    def begin(self, place: int, reason: int) -> bool:
        """Start a waiting job now; False if it does not fit."""

    def stop(self, place: int) -> None:
        """Stop a running job."""


@dataclass(frozen=True)
class OnHosts:
    """Pools and hosts: a job goes where it fits first."""

    state: State

    def begin(self, place: int, reason: int) -> bool:
        """Start a waiting job now; False if it does not fit."""
        from shadowtime.engine import steps

        host = steps.host_with_room(self.state, place)
        if host >= 0:
            steps.begin_job(self.state, place, host, reason)
        return bool(host >= 0)

    def stop(self, place: int) -> None:
        """Stop a running job."""
        from shadowtime.engine import steps

        steps.stop_job(self.state, place)


def carry_out(
    state: State,
    decisions: Iterable[object],
    index: dict[int, int],
    name: str,
    machine: Machine,
) -> None:
    """Check and apply the decisions of one pass, then note reasons and who stays blocked."""
    now = int(state.reg[NOW])
    started: list[int] = []
    preempted = False
    for decision in decisions:
        if isinstance(decision, Wake):
            if decision.at > now:
                state.reg[WAKE] = min(int(state.reg[WAKE]), decision.at, NEVER)
            continue
        place = index.get(getattr(decision, "job", None))  # type: ignore[arg-type]
        if place is None:
            raise PolicyError(f"{name} at {now}: no job for the decision {decision!r}")
        waiting = state.wait[f.PROCS, place] != BIG and place < state.reg[ARRIVED]
        if isinstance(decision, Promise):
            if state.job[place, f.PROMISED] < 0:
                state.job[place, f.PROMISED] = decision.start
        elif isinstance(decision, Start):
            reason = Reason.PREEMPTING if preempted else Reason.HEAD
            if not waiting or not machine.begin(place, int(reason)):
                if waiting and decision.optional:
                    continue
                why = "it does not fit now" if waiting else "it does not wait"
                raise PolicyError(f"{name} at {now} starts job {decision.job}, but {why}")
            started.append(place)
            preempted = False
        elif isinstance(decision, Stop):
            if waiting or state.job[place, f.START] < 0 or not is_running(state, place):
                raise PolicyError(f"{name} at {now} stops job {decision.job}, but it does not run")
            machine.stop(place)
            preempted = True
        else:
            raise PolicyError(f"{name} at {now}: {decision!r} is not a decision")
    note_reasons(state, started, now)


def is_running(state: State, place: int) -> bool:
    """True if a job is in the running list."""
    mask = (1 << int(state.reg[BITS])) - 1
    return bool(((state.running[: state.reg[RUNNING]] & mask) == place).any())


def note_reasons(state: State, started: list[int], now: int) -> None:
    """Backfilled is a job that started while one submitted earlier still waits."""
    queue = np.flatnonzero(state.wait[f.PROCS, : state.reg[ARRIVED]] != BIG)
    first = int(queue[0]) if len(queue) else len(state.job)
    for place in started:
        row = state.job[place]
        if place > first:
            row[f.REASON] = Reason.BACKFILLED
        elif row[f.REASON] == Reason.HEAD and row[f.BLOCKED_AT] >= 0:
            row[f.REASON] = Reason.RESERVED
    if first < len(state.job) and state.job[first, f.BLOCKED_AT] < 0:
        state.job[first, f.BLOCKED_AT] = now
