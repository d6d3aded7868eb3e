"""From a state on into the future: the event loop begun in the middle, with assumed run times."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from shadowtime.engine import steps
from shadowtime.engine.events import ROOM_NEEDED
from shadowtime.engine.failures import raise_failure
from shadowtime.engine.live_pass import python_policy
from shadowtime.engine.live_pass.compiled import fill
from shadowtime.engine.live_pass.decide import refuse
from shadowtime.engine.live_pass.memory import Memory
from shadowtime.engine.live_pass.outcome import Shape, pooled, recall_promises
from shadowtime.engine.live_pass.own import own_functions
from shadowtime.engine.live_pass.table import assume, table_of
from shadowtime.engine.plan import prepare, refuse_functions_on_nodes
from shadowtime.engine.run_tables import with_more_room
from shadowtime.kernel import fields as f
from shadowtime.kernel import registers as r
from shadowtime.policy.policy import Policy
from shadowtime.policy.snapshot import Snapshot


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
    if shape == "site":
        from shadowtime.engine.live_pass import site_forward

        return site_forward.forward(policy, state, memory, runs=runs)
    if shape == "nodes":
        from shadowtime.engine.nodes.slurm import live_forward

        refuse_functions_on_nodes(policy)
        return live_forward.forward(policy, state, memory, runs=runs)
    machine = pooled(state.cluster) if shape == "pool" else state.cluster.replace(shape="hosts")
    kept = policy.reserve.kept
    table = table_of(policy, state, memory, machine, kept=kept)
    kernel, n = table.state, len(table.ids)
    fill.set_aside(kernel)
    reg = kernel.reg
    reg[r.VOLATILE] = reg[r.CHANGED] = 1
    reg[r.FRESH] = table.fresh
    reg[r.HEAD] = table.row_of.get(memory.head, -1)
    reg[r.SHADOW] = memory.shadow
    own = own_functions(policy, table, state, memory)
    world = assume(table, state, runs or {})
    made = prepare(policy, machine, n, own)
    if kept:
        recall_promises(made.arguments[0], table, state.now)
        import_module("shadowtime.engine.live_pass.compiled.conservative").once(
            kernel, *made.arguments
        )
        steps.finish_pass(kernel, world)
    else:
        reg[r.WAKE] = state.now
    run_on = import_module(f"shadowtime.engine.passes.{made.name}").run
    while (code := int(run_on(kernel, world, *made.arguments))) == ROOM_NEEDED:
        kernel = with_more_room(kernel)
    raise_failure(policy, code, kernel, own, lambda job: table.ids[job])
    start = kernel.job[:, f.START]
    found = {job.id: int(start[table.row_of[job.id]]) for job in state.waiting}
    return {job: when for job, when in found.items() if when >= 0}
