"""A policy written in Python, run by the same event loop: slower, same results.

A start may give a moldable job another size: what it needs, and how long it takes then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine import steps
from shadowtime.engine.columns import columns_of
from shadowtime.engine.estimates import known_at_submission
from shadowtime.engine.events import PASS_DUE, ROOM_NEEDED
from shadowtime.engine.run_tables import as_schedule, with_more_room
from shadowtime.engine.saved import reading
from shadowtime.engine.watch import Watch
from shadowtime.errors import PolicyError
from shadowtime.kernel import fields as f
from shadowtime.kernel import registers as r
from shadowtime.kernel.state import State, World, build
from shadowtime.policy.estimate import Estimate, Requested
from shadowtime.policy.place import NAMED, Place
from shadowtime.policy.policy import Policy
from shadowtime.policy.snapshot import (
    Continue,
    Promise,
    Resize,
    RunningJob,
    Snapshot,
    Start,
    Stop,
    Suspend,
    Wait,
    WaitingJob,
    Wake,
    ask_policy,
    name_of,
)
from shadowtime.schedule import Schedule
from shadowtime.types import Ints, Reason
from shadowtime.workload import Workload
from shadowtime.workload.speedup import COLUMN, at_sizes, seconds_at, serial_of


def simulate_object(
    workload: Workload, cluster: Cluster, policy: Any, *, watch: Watch | None = None
) -> Schedule:
    """Run a workload through an object with ``decide(snapshot)``."""
    known = known_at_submission(estimate_of(policy), workload)
    state, world = build(workload, cluster, estimate=known.estimate, learner=known.learner)
    state.reg[r.VOLATILE] = not known.safe
    index = {int(job_id): row for row, job_id in enumerate(workload.job_id)}
    observer = Observer(cluster, jobs_of(workload, state))
    name = name_of(policy)
    sizes = Sizes(workload, world)
    with reading(watch, workload, state.reg):
        while True:
            code = steps.go_to_pass(state, world)
            if code == ROOM_NEEDED:
                state = with_more_room(state)
                continue
            if code != PASS_DUE:
                break
            if not known.safe:
                steps.update_expected(state)
            decisions = ask_policy(policy, observer.snapshot(state))
            carry_out(state, decisions, index, name, OnHosts(state, sizes))
            steps.finish_pass(state, world)
    if (state.job[:, f.START] < 0).any():
        stuck = int(workload.job_id[state.job[:, f.START] < 0][0])
        raise PolicyError(f"{name} never starts job {stuck}: nothing is left to wait for")
    claims = tuple(getattr(policy, "claims", ()))
    return as_schedule(sizes.as_started(state), state, world, name=name, claims=claims)


def estimate_of(policy: Any) -> Estimate:
    """The estimate part that an object asks for; what users requested if it names none."""
    part: Estimate = getattr(policy, "estimate", Requested())
    return part


def place_of(policy: Any) -> Place:
    """The place part that an object names for a site; best-fit if it names none."""
    wanted = getattr(policy, "place", "best-fit")
    known = {part.name: part for part in NAMED.values() if part.on_site}
    if wanted not in known:
        raise PolicyError(f"{name_of(policy)}: place={wanted} is none of {', '.join(known)}")
    return known[wanted]


def policy_parts(policy: Policy | Any) -> Policy:
    """The parts of a policy; of an object with ``decide``, those that it names, else the usual.

    Tables, place rules and ports ask the parts; an object decides for itself all the same.

    Examples
    --------
    >>> class Mine:
    ...     name, place = "mine", "pack"
    >>> made = policy_parts(Mine())
    >>> made.name, str(made.place), str(made.estimate)
    ('mine', 'pack', 'requested')
    """
    if isinstance(policy, Policy):
        return policy
    return Policy(name=name_of(policy), estimate=estimate_of(policy), place=place_of(policy))


def jobs_of(workload: Workload, state: State) -> Callable[[int], WaitingJob]:
    """The jobs of a log by their row, as a policy sees them."""
    serial = serial_of(workload)
    columns = {
        name: values.tolist() for name, values in columns_of(workload).items() if name != COLUMN
    }

    def job(row: int) -> WaitingJob:
        known = state.job[row].tolist()
        return WaitingJob(
            int(workload.job_id[row]),
            known[f.SUBMIT],
            tuple(known[f.NEED :]),
            known[f.REQUEST],
            known[f.ESTIMATE],
            int(workload.user[row]),
            serial=float(serial[row]),
            columns={name: values[row] for name, values in columns.items()},
        )

    return job


@dataclass(frozen=True, eq=False)
class Observer:
    """Makes the snapshot of each pass; a job that is as it was is not made again.

    ``job`` gives a waiting job by its row, ``runs`` the jobs that ran before the first snapshot.
    """

    cluster: Cluster
    job: Callable[[int], WaitingJob]
    runs: Mapping[int, RunningJob] = field(default_factory=dict)
    _waiting: dict[int, WaitingJob] = field(default_factory=dict)
    _running: dict[int, RunningJob] = field(default_factory=dict)

    def snapshot(
        self, state: State, *, fits: Callable[[Ints], list[int]] | None = None, base: int = 0
    ) -> Snapshot:
        """What a policy sees now: queue in order, running jobs by expected end, what is free.

        ``fits`` reports of rows whether each could start by itself; ``base`` is added to instants.
        """
        reg = state.reg
        now, bits = int(reg[r.NOW]), int(reg[r.BITS])
        queue = np.flatnonzero(state.wait[f.PROCS, : reg[r.ARRIVED]] != r.BIG)
        able = [True] * len(queue) if fits is None else [bool(one) for one in fits(queue)]
        guess = state.job[queue, f.ESTIMATE].tolist()
        waiting = tuple(
            self._seen_waiting(row, estimate, can)
            for row, estimate, can in zip(queue.tolist(), guess, able, strict=True)
        )
        mask = (1 << bits) - 1
        keys = state.running[: reg[r.RUNNING]]
        rows = keys & mask
        start = state.job[rows, f.START].tolist()
        end = np.maximum(keys >> bits, now + 1).tolist()
        running = {}
        for row, begun, until in zip(rows.tolist(), start, end, strict=True):
            one = self._seen_running(state, row, begun + base, until + base)
            running[one.id] = one  # parts of one job (site_rows.py) are one job to a policy
        return Snapshot(
            now=now + base,
            cluster=self.cluster,
            waiting=waiting,
            running=tuple(running.values()),
            free=tuple(state.host[f.FREE].sum(axis=0).tolist()),
            capacity=tuple(state.host[f.CAPACITY].sum(axis=0).tolist()),
        )

    def _seen_waiting(self, row: int, estimate: int, fits: bool) -> WaitingJob:
        job = self._waiting.get(row)
        if job is None:
            job = self.job(row)
        elif job.estimate == estimate and job.fits == fits:
            return job
        if job.estimate != estimate or job.fits != fits:
            job = replace(job, estimate=estimate, fits=fits)
        self._waiting[row] = job
        return job

    def _seen_running(self, state: State, row: int, start: int, end: int) -> RunningJob:
        known = self._running.get(row)
        if known is not None and known.expected_end == end and known.start == start:
            return known
        estimate = int(state.job[row, f.ESTIMATE])
        before = self.runs.get(row)
        if before is not None and before.start == start:
            made = replace(before, estimate=estimate, expected_end=end)
        else:
            job = self._waiting.get(row) or self.job(row)
            need, request = job.need, job.request
            if job.serial >= 0:  # it has the size at which it was started
                need = tuple(state.job[row, f.NEED :].tolist())
                request = int(state.job[row, f.REQUEST])
            made = RunningJob(
                job.id,
                job.submit,
                need,
                request,
                estimate,
                job.user,
                start=start,
                expected_end=end,
                alone=job.alone,
                tag=job.tag,
                bandwidth=job.bandwidth,
                ask=job.ask,
            )
        self._running[row] = made
        return made


class Machine(Protocol):
    """How a machine carries decisions out."""

    def begin(self, row: int, reason: int) -> bool:
        """Start a waiting job now; False if it does not fit."""

    def stop(self, row: int) -> None:
        """Stop a running job."""


@dataclass(frozen=True)
class OnHosts:
    """Pools and hosts: a job goes where it fits first."""

    state: State
    sizes: Sizes | None = None

    def resize(self, row: int, procs: int) -> str:
        """Give a waiting job another size; why it cannot have it, nothing if it can."""
        if self.sizes is None:
            return "a job of a real cluster starts with what it asks for"
        return self.sizes.resize(self.state, row, procs)

    def begin(self, row: int, reason: int) -> bool:
        """Start a waiting job now; False if it does not fit."""
        host = steps.host_with_room(self.state, row)
        if host >= 0:
            steps.begin_job(self.state, row, host, reason)
        return bool(host >= 0)

    def stop(self, row: int) -> None:
        """Stop a running job."""
        steps.stop_job(self.state, row)


def carry_out(
    state: State,
    decisions: Iterable[object],
    index: Mapping[Any, int],
    name: str,
    machine: Machine,
    *,
    base: int = 0,
) -> None:
    """Check and apply the decisions of one pass, then note reasons and which job is blocked.

    ``index`` gives the row of a job by its id; ``base`` is what instants of the policy are ahead
    of the tables' clock.
    """
    now = int(state.reg[r.NOW])
    started: list[int] = []
    preempted = False
    for decision in decisions:
        if isinstance(decision, Wake):
            if decision.at - base > now:
                state.reg[r.WAKE] = min(int(state.reg[r.WAKE]), decision.at - base, r.NEVER)
            continue
        row = index.get(getattr(decision, "job", None))
        if row is None:
            raise PolicyError(f"{name} at {now + base}: no job for the decision {decision!r}")
        waiting = state.wait[f.PROCS, row] != r.BIG and row < state.reg[r.ARRIVED]
        if isinstance(decision, Promise):
            if state.job[row, f.PROMISED] < 0:
                state.job[row, f.PROMISED] = decision.start - base
        elif isinstance(decision, Start):
            reason = Reason.PREEMPTING if preempted else Reason.HEAD
            asked = int(state.job[row, f.NEED])
            if decision.procs and waiting:
                resize = getattr(machine, "resize", None)
                why = resize(row, decision.procs) if resize else "on a site jobs have fixed sizes"
                if why:
                    raise PolicyError(
                        f"{name} at {now + base} starts job {decision.job} on {decision.procs} "
                        f"processors, but {why}"
                    )
            if not waiting or not machine.begin(row, int(reason)):
                if waiting and decision.optional:
                    if decision.procs:
                        machine.resize(row, asked)  # type: ignore[attr-defined]
                    continue
                why = "it does not fit now" if waiting else "it does not wait"
                raise PolicyError(f"{name} at {now + base} starts job {decision.job}, but {why}")
            started.append(row)
            preempted = False
        elif isinstance(decision, Stop):
            if waiting or state.job[row, f.START] < 0 or not is_running(state, row):
                raise PolicyError(
                    f"{name} at {now + base} stops job {decision.job}, but it does not run"
                )
            machine.stop(row)
            preempted = True
        elif isinstance(decision, Resize | Suspend | Continue):
            raise PolicyError(
                f"{name} at {now + base} changes the running job {decision.job}, which a class "
                "cannot: write a function of @st.resize(compiled=False), with speed 0 to suspend"
            )
        elif not isinstance(decision, Wait):
            raise PolicyError(
                f"{name} at {now + base} returns {decision!r}, which is no decision: return Start, "
                "Stop, Promise, Wake or Wait"
            )
    note_reasons(state, started, now)


def is_running(state: State, row: int) -> bool:
    """True if a job is in the running list."""
    mask = (1 << int(state.reg[r.BITS])) - 1
    return bool(((state.running[: state.reg[r.RUNNING]] & mask) == row).any())


def note_reasons(state: State, started: list[int], now: int) -> None:
    """A job is backfilled if an earlier submission is still waiting."""
    queue = np.flatnonzero(state.wait[f.PROCS, : state.reg[r.ARRIVED]] != r.BIG)
    first = int(queue[0]) if len(queue) else len(state.job)
    for row in started:
        known = state.job[row]
        if row > first:
            known[f.REASON] = Reason.BACKFILLED
        elif known[f.REASON] == Reason.HEAD and known[f.BLOCKED_AT] >= 0:
            known[f.REASON] = Reason.RESERVED
    if first < len(state.job) and state.job[first, f.BLOCKED_AT] < 0:
        state.job[first, f.BLOCKED_AT] = now


@dataclass(frozen=True, eq=False)
class Sizes:
    """Changes the size of waiting jobs, by the speed-up of the workload."""

    workload: Workload
    world: World

    def resize(self, state: State, row: int, procs: int) -> str:
        """Give a waiting job another size; why it cannot have it, nothing if it can."""
        now = int(state.job[row, f.NEED])
        if procs == now:
            return ""
        serial, asked = serial_of(self.workload)[row], int(self.workload.procs[row])
        most = int(state.host[f.CAPACITY, :, 0].max())
        if serial < 0:
            return f"its {asked} processors are fixed: its column serial gives no speed-up"
        if not 1 <= procs <= most:
            return f"{procs} processors are not between 1 and {most}"
        if state.job[row, f.KILLS] > 0:
            return f"it ran on {now} processors before it was stopped, and keeps them"

        def at_size(seconds: int) -> int:
            return int(seconds_at(seconds, serial, of=asked, to=procs))

        whole = int(self.workload.request[row])
        guess = int(state.job[row, f.ESTIMATE])
        if now != asked:  # estimates are those of the size that it has
            guess = int(seconds_at(guess, serial, of=now, to=asked))
        state.job[row, f.NEED] = state.wait[f.PROCS, row] = procs
        state.job[row, f.REQUEST] = at_size(whole)
        state.job[row, f.LIMIT] = at_size(int(self.workload.limit[row]))
        self.world.truth[row, f.RUN] = at_size(int(self.workload.run[row]))
        steps.change_estimate(state, row, at_size(whole if guess >= whole else guess))
        return ""

    def as_started(self, state: State) -> Workload:
        """The workload at the sizes that its jobs have now."""
        return at_sizes(self.workload, np.ascontiguousarray(state.job[:, f.NEED]))
