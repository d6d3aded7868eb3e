"""One pass on a snapshot of a site: from a state to the site's tables, and back to decisions."""

from __future__ import annotations

from typing import Any

from shadowtime.cluster.shape import Shapes
from shadowtime.cluster.site import Site
from shadowtime.engine.live_pass.memory import Memory
from shadowtime.engine.live_pass.outcome import Decided
from shadowtime.engine.live_pass.own import refuse_begins
from shadowtime.engine.live_pass.site_rows import Rows, rows_of, site_now, with_ends
from shadowtime.engine.live_pass.site_tables import Tables
from shadowtime.engine.python_policy import estimate_of, policy_parts
from shadowtime.engine.site.plans import Run, Verdict
from shadowtime.errors import PolicyError
from shadowtime.policy.policy import Policy
from shadowtime.policy.snapshot import Decision, Held, Snapshot, Start, Stop, name_of
from shadowtime.workload.request import Request


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
    policy = policy_parts(policy)
    site = site_now(state)
    users = with_ends(memory, state.ended, present_in(state) if state.ended else set())
    rows = rows_of(state, memory, site)
    made = Tables(policy, state, memory, site, rows, users)
    verdict = made.decide(None if written is None else made.decider(written))
    unfit = tuple(rows.ids[row] for row in verdict.nowhere)
    return Decided(
        decisions=tuple(decisions_of(rows, verdict, site)),
        memory=made.remember(verdict, users),
        wake=None if verdict.wake is None else verdict.wake + made.base,
        promises=made.promised(verdict),
        unfit=unfit,
    )


def present_in(state: Snapshot) -> set[str]:
    """The jobs that wait or run."""
    return {job.id for job in state.waiting} | {run.id for run in state.running}


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
