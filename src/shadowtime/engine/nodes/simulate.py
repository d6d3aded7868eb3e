"""simulate() for a cluster of nodes: jobs that share bandwidth and slow each other down."""

from __future__ import annotations

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine.claims import claims_of
from shadowtime.engine.estimates import known_at_submission
from shadowtime.engine.nodes import fields as nf
from shadowtime.engine.nodes import run_tables
from shadowtime.engine.nodes.rua.plan import loop_of, parameters
from shadowtime.engine.nodes.running_table import Table, numbered
from shadowtime.engine.saved import reading
from shadowtime.engine.watch import Watch
from shadowtime.errors import PolicyError
from shadowtime.kernel.estimates import FIXED
from shadowtime.kernel.registers import NEVER, SLIPPED, VOLATILE
from shadowtime.kernel.state import build
from shadowtime.policy import place
from shadowtime.policy.policy import Policy
from shadowtime.schedule import Schedule
from shadowtime.types import Ints
from shadowtime.workload import Workload


def simulate_nodes(
    workload: Workload, cluster: Cluster, policy: Policy, *, watch: Watch | None = None
) -> Schedule:
    """Run a workload through a policy on nodes (spec: algorithms 4).

    Examples
    --------
    >>> from shadowtime.cluster.contention import node_cluster
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 0], run=[10, 10], procs=[2, 2], request=[20, 20],
    ...                       extra={"bandwidth": np.array([2000, 2000])})
    >>> made = simulate_nodes(jobs, node_cluster(1, bandwidth=6000),
    ...                       parse_policy("easy-sjbf(place=first-fit)"))
    >>> made.end.tolist(), made.place[0], made.penalised.tolist()
    ([14, 14], 'n1:2', [4, 4])
    """
    if isinstance(policy, Policy) and policy.place.fills:
        from shadowtime.engine.nodes.slurm.simulate import simulate_slurm

        return simulate_slurm(workload, cluster, policy, watch=watch)
    chosen = parameters(policy) if isinstance(policy, Policy) else {}
    if not chosen:
        raise PolicyError("policies written in Python see pools, not nodes")
    nodes, cores = run_tables.shape_of(cluster)
    run_tables.refuse_unfit(workload, nodes * cores)
    request = np.maximum(workload.request, 1)
    known = known_at_submission(policy.estimate, workload)
    law = run_tables.law_for(workload, cluster, cores, policy.estimate)
    run_tables.check_range(law, cores, request, predicted=not policy.estimate.requested)
    state, world = build(workload, cluster, estimate=request, learner=known.learner)
    state.reg[VOLATILE] = bool((workload.limit > request).any())
    thresholds = thresholds_for(policy.place, law.base, request)
    table = run_tables.table_for(
        workload, law, request, workload.limit, shape=(nodes, cores), thresholds=thresholds
    )
    for register, value in chosen.items():
        table.par[register] = value
    table.job["span"] = np.minimum(known.estimate, request)
    # How far each job looks ahead after first fit's start, in whole seconds.
    reach = np.minimum(np.floor(policy.place.looks_ahead * request), NEVER)
    table.job["reach"] = reach.astype(np.int64)
    if table.par["backfill"][0] == nf.LEAST_PENALTY:
        table.job["like"] = alike(table, learned=known.learner != FIXED)
    rates = run_tables.rates_for(workload, law, shape=(nodes, cores))
    from shadowtime.engine.events import ROOM_NEEDED
    from shadowtime.engine.nodes.rua.timeline import with_more_room

    run, plans, units = loop_of(policy, table)
    with reading(watch, workload, state.reg, saves=True) as pauses:
        (state, world, table, rates, plans), _ = pauses.continued(
            (state, world, table, rates, plans)
        )
        while run(state, world, table, rates, *plans, units) == ROOM_NEEDED:
            if not pauses.paused((state, world, table, rates, plans)):
                plans = tuple(with_more_room(one, len(one.room)) for one in plans)
    made = run_tables.as_schedule(workload, cluster, state, table, rates)
    return made.replace(
        policy=policy.name,
        claims=claims_of(policy, workload, contended=len(law.hinges) > 0),
        counters={
            **made.counters,
            "rates_rounded_down": int(not law.exact),
            "slipped_promises": int(state.reg[SLIPPED]),
        },
    )


def alike(table: Table, *, learned: bool) -> Ints:
    """By job: those with the same number differ in nothing that a plan depends on."""
    if learned:  # how long a job is expected to run is known at its submission only
        return np.arange(len(table.job))
    columns = ("length", "span", "reach", "procs", "kind")
    number: Ints = numbered(len(table.job), (table.job[column] for column in columns))
    return number


def thresholds_for(part: place.Place, base: int, request: Ints) -> Ints:
    """Thresholds as the kernels take them: a cost is within if <= request * factor // share."""
    rows = []
    for theta in part.factors():
        factor, share = (theta.numerator - theta.denominator) * base, theta.denominator
        if factor * int(request.max(initial=1)) >= run_tables.LARGEST:
            raise PolicyError(
                f"a threshold of {float(theta):g} has too many digits or is too large"
            )
        rows.append((factor, share))
    return np.array(rows, np.int64).reshape(-1, 2)
