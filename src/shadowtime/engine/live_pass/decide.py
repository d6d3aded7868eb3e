"""decide(policy, state, memory): one pass of the simulator's own code on a snapshot.

forward(policy, state, memory): from there on into the future, with assumed run times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shadowtime.engine import steps
from shadowtime.engine.events import ROOM_NEEDED
from shadowtime.engine.failures import raise_failure
from shadowtime.engine.live_pass import outcome, python_policy
from shadowtime.engine.live_pass.memory import Memory
from shadowtime.engine.live_pass.outcome import Decided, Shape
from shadowtime.engine.live_pass.own import numbers_of, own_functions, refuse_begins
from shadowtime.engine.live_pass.table import Table, assume, set_aside, table_of
from shadowtime.engine.plan import Prepared, prepare, refuse_functions_on_nodes
from shadowtime.engine.python_policy import estimate_of
from shadowtime.engine.run_tables import with_more_room
from shadowtime.errors import PolicyError
from shadowtime.kernel import fields as f
from shadowtime.kernel import registers as r
from shadowtime.kernel.changing import SEEN
from shadowtime.kernel.choice import HOW, ONCE, Queue
from shadowtime.kernel.record import Job
from shadowtime.policy.changing import FULL
from shadowtime.policy.functions import fields_read, takes_series, where
from shadowtime.policy.policy import Policy
from shadowtime.policy.snapshot import Snapshot, name_of

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.engine.custom import Own

DONE = 0


def decide(
    policy: Policy | Any, state: Snapshot, memory: Memory | None = None, *, shape: Shape = "pool"
) -> Decided:
    """One pass of a policy on a state: the same compiled code as in a simulation.

    Rules
    -----
    ``shape`` is how the policy sees the machine: the hosts as one pool, as hosts that each hold
    whole jobs, as nodes that share bandwidth, or as the state's site with its partitions, limits
    and reservations. On a pool a start names no hosts.
    Estimates that need the true run time are rejected: it is unknown for a real job.
    A job that the hosts at hand could not hold even when empty (``unfit``) is left out of the
    pass: nothing is reserved for it and no job waits for it.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster, Host
    >>> from shadowtime.engine.live_pass import RunningJob, Snapshot, WaitingJob
    >>> from shadowtime.policy import parse_policy
    >>> four = Cluster(shape="nodes", hosts=(Host("n1", (4,)),))
    >>> state = Snapshot(now=2, cluster=four,
    ...     running=(RunningJob(id="1", submit=0, need=(3,), request=9, start=0),),
    ...     waiting=(WaitingJob(id="2", submit=1, need=(4,), request=5),
    ...              WaitingJob(id="3", submit=2, need=(1,), request=4)))
    >>> made = decide(parse_policy("easy"), state)
    >>> made.decisions[0].job, made.decisions[0].reason.label, made.promises
    ('3', 'backfilled', {'2': 9})
    """
    refuse(policy, resizes=shape == "pool")
    memory = memory or Memory()
    if not isinstance(policy, Policy) and shape != "site":
        return python_policy.decide(policy, state, memory, shape=shape)
    if (other := other_passes(policy, shape)) is not None:
        found: Decided = other.decide(policy, state, memory)
        return found
    if policy.backfill.changes:
        from shadowtime.engine.live_pass import changing

        return changing.decide(policy, state, memory)
    machine, table, own, made = prepared(policy, state, memory, shape)
    reg = table.state.reg
    due, wake = None, r.NEVER
    if policy.backfill.selects:
        choice = made.arguments[1]
        outcome.recall_promises(choice, table, state.now)
        choice.mark[HOW] = ONCE  # what it planned is for the next snapshot
    if policy.reserve.kept:
        once(table.state, *made.arguments)
        due, wake = made.arguments[0].due, int(reg[r.WAKE])
        table.state.did[:, int(reg[r.DECISIONS]) :] = outcome.NOTHING
    else:
        run_one_instant(policy, made, table, state.now, own)
    if policy.backfill.selects:
        due, wake = made.arguments[1].due, int(reg[r.WAKE])
    kept_numbers = memory.own if own is None else numbers_of(policy, table, state, memory, own)
    return Decided(
        decisions=tuple(outcome.decisions_of(table, machine)),
        memory=replace(outcome.remember(table, state, memory, due), own=kept_numbers),
        wake=wake if wake < r.NEVER else None,
        promises=outcome.promises_of(table, None if policy.backfill.selects else due),
        unfit=outcome.unfit_of(table, state),
    )


def other_passes(policy: Policy | Any, shape: Shape) -> Any:
    """Where passes on sites and on nodes with shared bandwidth are; None for pools and hosts."""
    if shape == "site":
        from shadowtime.engine.live_pass import site_pass

        return site_pass
    if shape == "nodes":
        from shadowtime.engine.nodes.slurm import live_pass

        refuse_functions_on_nodes(policy)
        return live_pass
    return None


def prepared(
    policy: Policy, state: Snapshot, memory: Memory, shape: Shape
) -> tuple[Cluster, Table, Own | None, Prepared]:
    """The machine as the policy sees it, its tables as the last pass left them, and the pass."""
    machine = outcome.seen_as(state.cluster, shape)
    kept = policy.reserve.kept
    table = table_of(policy, state, memory, machine, kept=kept)
    set_aside(table.state)
    reg = table.state.reg
    reg[r.VOLATILE] = reg[r.CHANGED] = 1  # a real job may outlive anything: nothing is cached
    reg[r.FRESH] = table.fresh
    reg[r.HEAD] = table.row_of.get(memory.head, -1)
    reg[r.SHADOW] = memory.shadow
    own = own_functions(policy, table, state, memory)
    made = prepare(policy, machine, len(table.ids), own)
    if kept:
        outcome.recall_promises(made.arguments[0], table, state.now)
    return machine, table, own, made


def once(*tables: Any) -> None:
    """One pass of conservative backfilling, without the event loop."""
    import_module("shadowtime.engine.passes.conservative").once(*tables)


def run_one_instant(
    policy: Policy, made: Prepared, table: Table, now: int, own: Own | None
) -> None:
    """The simulator's event loop itself, for an instant at which a timer goes off.

    No end is queued and no job ends before the horizon, so the loop is done after one pass; it
    may correct predictions of the future then, which is why the log is counted, not the register.
    """
    kernel, world = table.state, table.world
    kernel.reg[r.WAKE] = now
    kernel.reg[r.CORRECTIONS] = 0
    kernel.did[:] = outcome.NOTHING
    kernel.job[:, f.LIMIT] = world.truth[:, f.RUN] = r.NEVER
    run = import_module(f"shadowtime.engine.passes.{made.name}").run
    code = int(run(kernel, world, *made.arguments))
    raise_failure(policy, code, kernel, own, lambda job: table.ids[job])
    assert code == DONE, f"the event loop stopped with {code}"


def refuse(policy: Policy | Any, *, resizes: bool = False) -> None:
    """Reject policies that cannot decide about real jobs.

    ``resizes``: whether jobs run on equal nodes of a scheduler that shrinks them.
    """
    if hasattr(policy, "simulate"):
        raise PolicyError(
            f"{name_of(policy)} is a whole scheduler and cannot decide live: use a catalogue policy"
        )
    name, guess = name_of(policy), estimate_of(policy)
    if guess.needs_truth:
        raise PolicyError(
            f"{name}: estimate={guess} needs the true run time, which is unknown for a real job; "
            "use requested, last or last-two"
        )
    if guess.from_log:
        raise PolicyError(
            f"{name}: estimate={guess} predicts from a whole log, which a live "
            "loop does not have; use last, last-two or a function with a memory (st.estimate)"
        )
    if not isinstance(policy, Policy):
        if guess.written:
            raise PolicyError(
                f"{name}: a policy written in Python cannot use estimate={guess} live; use "
                "requested, last or last-two"
            )
        return
    if policy.backfill.changes:
        refuse_changes(policy, resizes=resizes)
    refuse_what_a_log_has(policy)
    if policy.preempt.changes_runs:
        why = "the loop cannot see what a job has saved, and plans with its whole request"
        if policy.preempt.save_every == 1:
            why = "a suspended job keeps its memory and continues only on its own nodes"
        raise PolicyError(
            f"{policy.name}: preempt={policy.preempt} is for simulations: live, {why}; use "
            "mode=kill with overhead=0"
        )
    refuse_begins(policy)
    if policy.order.by_event:
        raise PolicyError(f"{policy.name}: ties=pyss is an order of simulated events: leave it out")
    if policy.order.by_usage:
        raise PolicyError(
            f"{policy.name}: order={policy.order.name} follows usage through a whole run, which a "
            "live loop does not have; use another order live"
        )


def refuse_changes(policy: Policy, *, resizes: bool) -> None:
    """Reject changes of running jobs that no real scheduler makes."""
    part: Any = policy.backfill
    if part.paces or part.speeds != FULL:
        raise PolicyError(
            f"{policy.name}: backfill={part} chooses speeds, which is for simulations: live, no "
            "scheduler sets the clock of a job; use a function of @st.resize without speeds"
        )
    if not resizes:
        raise PolicyError(
            f"{policy.name}: backfill={part} changes sizes of running jobs: live, that works in "
            "the loop of one partition of equal nodes of Slurm, which shrinks and requeues them; "
            "here use a policy that starts and stops jobs"
        )


def refuse_what_a_log_has(policy: Policy) -> None:
    """Reject functions that read columns or series: a real cluster has fields of jobs alone."""
    for part in policy.parts.values():
        for one in part.functions:
            needs = ["series"] if takes_series(one.function) else []
            needs += [f"the column {name}" for name, _ in one.columns]
            for argument, known in (("job", Job._fields), ("jobs", (*Queue._fields, *SEEN))):
                read = fields_read(argument, one.function)
                needs += [f"the column {name}" for name in read if name not in known]
            if needs:
                raise PolicyError(
                    f"{policy.name}: {where(one.function)} needs {needs[0]} of a log, which a live "
                    "loop does not have; use the fields of every job, or a memory that learns"
                )


def forward(
    policy: Policy | Any,
    state: Snapshot,
    memory: Memory | None = None,
    *,
    runs: Mapping[str, int] | None = None,
    shape: Shape = "pool",
) -> dict[str, int]:
    """When every waiting job starts if no other job is submitted.

    ``runs`` is how long each job will run, from its start; a job that is not named runs as long as
    the policy expects. Running jobs that should have ended already end in the next second. A job
    that would not even start on the empty machine is not in the answer.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster, Host
    >>> from shadowtime.engine.live_pass import RunningJob, Snapshot, WaitingJob
    >>> from shadowtime.policy import parse_policy
    >>> four = Cluster(shape="nodes", hosts=(Host("n1", (4,)),))
    >>> state = Snapshot(now=2, cluster=four,
    ...     running=(RunningJob(id="1", submit=0, need=(3,), request=9, start=0),),
    ...     waiting=(WaitingJob(id="2", submit=1, need=(4,), request=5),
    ...              WaitingJob(id="3", submit=2, need=(1,), request=4)))
    >>> forward(parse_policy("easy"), state)
    {'2': 9, '3': 2}
    >>> forward(parse_policy("easy"), state, runs={"1": 4})
    {'2': 6, '3': 2}
    """
    refuse(policy)
    memory = memory or Memory()
    if not isinstance(policy, Policy) and shape != "site":
        return python_policy.forward(policy, state, memory, runs=runs, shape=shape)
    if (other := other_passes(policy, shape)) is not None:
        answer: dict[str, int] = other.forward(policy, state, memory, runs=runs)
        return answer
    _, table, own, made = prepared(policy, state, memory, shape)
    kernel, world = table.state, assume(table, state, runs or {})
    if policy.reserve.kept:
        once(kernel, *made.arguments)
        steps.finish_pass(kernel, world)
    else:
        kernel.reg[r.WAKE] = state.now
    run_on = import_module(f"shadowtime.engine.passes.{made.name}").run
    while (code := int(run_on(kernel, world, *made.arguments))) == ROOM_NEEDED:
        kernel = with_more_room(kernel)
    raise_failure(policy, code, kernel, own, lambda job: table.ids[job])
    return outcome.starts_of(kernel, table, state)
