"""One pass on a snapshot of a site: from a state to the site's tables, and back to decisions.

From a state on a site on into the future: the simulator run on with assumed run times.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shadowtime.cluster.shape import Shapes
from shadowtime.cluster.site import Site
from shadowtime.engine.live_pass.memory import Memory
from shadowtime.engine.live_pass.outcome import Decided
from shadowtime.engine.live_pass.own import refuse_begins
from shadowtime.engine.live_pass.site_rows import Rows, live_workload
from shadowtime.engine.live_pass.site_tables import Tables
from shadowtime.engine.python_policy import estimate_of, policy_parts
from shadowtime.engine.site.plans import Run, Verdict
from shadowtime.engine.site.simulate import simulate_site
from shadowtime.errors import PolicyError
from shadowtime.policy.estimate import Requested
from shadowtime.policy.policy import Policy
from shadowtime.policy.snapshot import (
    Decision,
    Held,
    Promise,
    RunningJob,
    Snapshot,
    Start,
    Stop,
    Wait,
    WaitingJob,
    Wake,
    name_of,
)
from shadowtime.types import MAX_SPAN
from shadowtime.workload.request import Request, Requests


def refuse_on_site(policy: Policy | Any) -> None:
    """PolicyError for a policy that cannot decide about real jobs on a site.

    Examples
    --------
    >>> from shadowtime.policy import parse_policy
    >>> refuse_on_site(parse_policy("easy"))
    >>> refuse_on_site(parse_policy("easy++"))
    Traceback (most recent call last):
    ...
    shadowtime.errors.PolicyError: easy++: estimate=last-two cannot run live on a site; use \
requested or last, or --shape pool
    """
    if isinstance(policy, Policy):
        policy.refuse_nonsense("site")
        refuse_begins(policy)
    if not estimate_of(policy).live_on_site:
        raise PolicyError(
            f"{name_of(policy)}: estimate={estimate_of(policy)} cannot run live on a site; use "
            "requested or last, or --shape pool"
        )
    if isinstance(policy, Policy):
        for part in policy.parts.values():
            if getattr(part, "memory", 0):
                raise PolicyError(
                    f"{policy.name}: {part.slot}={part} keeps a memory, which a live loop does not "
                    "do on a site; use --shape pool"
                )


def decide(policy: Policy | Any, state: Snapshot, memory: Memory) -> Decided:
    """One pass of a policy on a site; see :func:`shadowtime.engine.live_pass.decide`."""
    refuse_on_site(policy)
    written = None if isinstance(policy, Policy) else policy
    made = Tables.of(policy_parts(policy), state, memory)
    verdict = made.decide(None if written is None else made.decider(written))
    unfit = tuple(made.rows.ids[row] for row in verdict.nowhere)
    return Decided(
        decisions=tuple(decisions_of(made.rows, verdict, made.site)),
        memory=made.remember(verdict),
        wake=None if verdict.wake is None else verdict.wake + made.base,
        promises=made.promised(verdict),
        unfit=unfit,
    )


def decisions_of(rows: Rows, verdict: Verdict, site: Site) -> list[Decision]:
    """Stops in front of the start that they make room for, and starts in order, with hosts."""
    shapes = Shapes(site)
    found: list[Decision] = []
    for at, run in verdict.starts.items():
        found += [Stop(rows.ids[row]) for row, head in verdict.stops.items() if head == at]
        held = held_by(shapes, rows.asks[at], run)
        found.append(
            Start(
                job=rows.ids[at],
                place=tuple((host, amounts[0]) for host, amounts in held),
                reason=verdict.reasons[at],
                partition=run.partition,
                held=held,
            )
        )
    found += [Stop(rows.ids[row]) for row, head in verdict.stops.items() if head < 0]
    return found


def held_by(shapes: Shapes, ask: Request, run: Run) -> Held:
    """What a job takes on each node by a run, in the site's order of nodes."""
    # The amounts are those of every way to satisfy its features.
    shape = shapes.all_of(ask, shapes.partitions[shapes.number[run.partition]])[0]
    nodes = shapes.site.nodes
    order = sorted(run.tasks, key=shapes.index.__getitem__)
    return tuple(
        (name, shape.amounts(nodes[shapes.index[name]].amounts, run.tasks[name], shapes.memory))
        for name in order
    )


def forward(
    policy: Policy | Any,
    state: Snapshot,
    memory: Memory,
    *,
    runs: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """When every waiting job starts if no other job is submitted; see ``live_pass.forward``.

    Rules
    -----
    Running jobs begin at this instant on their own nodes for the rest of their time, in front of
    all others, which are submitted in the next second, in the order of the queue. Expected run
    times are those of the pass: the prediction is made with them as requests.
    """
    refuse_on_site(policy)
    written = None if isinstance(policy, Policy) else policy
    policy = policy_parts(policy)
    made = Tables.of(policy, state, memory)
    site, rows, expected = made.site, made.rows, made.estimates
    assumed = runs or {}
    held = rows.tasks
    order = [*held, *(at for at in range(len(rows.ids)) if at not in held)]
    asks, submit, run, limit = [], [], [], []
    for at in order:
        job, ask = rows.jobs[at], rows.asks[at]
        usual = expected.get(at, max(1, job.request))
        length = max(1, assumed.get(rows.ids[at], usual))
        ran = 0
        if at in held:
            # The clock of the simulation begins a second ago, so that these come first.
            ran = max(0, state.now - getattr(job, "start", state.now)) - 1
            ask = replace(ask, wanted=tuple(held[at]))
        asks.append(ask)
        submit.append(0 if at in held else 1)
        run.append(max(1, length - ran))
        limit.append(max(1, job.request - ran, run[-1]))
    jobs = live_workload(
        submit=np.array(submit, np.int64),
        run=np.array(run, np.int64).clip(1, MAX_SPAN),
        request=np.array(limit, np.int64).clip(1, MAX_SPAN),
        users=[rows.jobs[at].user for at in order],
        requests=Requests.of_jobs(asks),
        epoch=state.now - 1,
    )
    chosen: Any = policy
    if written is not None:
        chosen = Translated(written, [rows.jobs[at] for at in order], state.now - 1)
    elif policy.estimate.changes:
        chosen = policy.replace(estimate=Requested())
    start = simulate_site(jobs, site, chosen).start.tolist()
    found = {rows.ids[at]: start[k] for k, at in enumerate(order) if at not in held}
    return {job: max(state.now, state.now - 1 + at) for job, at in found.items() if at >= 0}


class Translated:
    """A policy written in Python, shown the live jobs' own names and times in a prediction.

    The first pass puts the running jobs on their nodes; the policy is a copy and not asked then.
    """

    def __init__(self, policy: Any, jobs: Sequence[WaitingJob | RunningJob], base: int) -> None:
        parts = policy_parts(policy)
        self.name, self.place = parts.name, parts.place.name
        self.policy, self.jobs, self.base = copy.deepcopy(policy), jobs, base
        self.row = {job.id: at for at, job in enumerate(jobs)}

    def decide(self, snapshot: Snapshot) -> Iterator[object]:
        """The decisions of the policy, by the rows of the prediction."""
        if snapshot.now == 0:
            yield from (Start(job.id) for job in snapshot.waiting)
            return
        for decision in self.policy.decide(self.named(snapshot)):
            if isinstance(decision, Wake):
                yield Wake(decision.at - self.base)
            elif isinstance(decision, Start | Stop | Promise | Wait):
                yield replace(decision, job=self.row.get(decision.job, decision.job))
            else:
                yield decision

    def named(self, snapshot: Snapshot) -> Snapshot:
        """A snapshot of the prediction with the live jobs' names, users and times."""
        return snapshot.replace(
            now=snapshot.now + self.base,
            waiting=tuple(
                replace(job, id=live.id, user=live.user, submit=live.submit)
                for job in snapshot.waiting
                for live in [self.jobs[job.id]]
            ),
            running=tuple(
                replace(
                    job,
                    id=live.id,
                    user=live.user,
                    submit=live.submit,
                    start=getattr(live, "start", job.start + self.base),
                    expected_end=job.expected_end + self.base,
                )
                for job in snapshot.running
                for live in [self.jobs[job.id]]
            ),
        )
