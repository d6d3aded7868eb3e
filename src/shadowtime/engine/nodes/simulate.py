"""simulate() for a cluster of nodes: jobs that share bandwidth and slow each other down."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from math import gcd
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.contention import contention_of
from shadowtime.engine.claims import claims_of
from shadowtime.engine.estimates import known_at_submission
from shadowtime.engine.nodes import fields as nf
from shadowtime.engine.nodes.demands import believed
from shadowtime.engine.nodes.rates import Rates, make_rates
from shadowtime.engine.nodes.rua.plan import loop_of, parameters
from shadowtime.engine.nodes.running_table import Table, make_table, numbered
from shadowtime.errors import ClusterError, PolicyError, UsageError
from shadowtime.kernel import fields as f
from shadowtime.kernel.estimates import FIXED
from shadowtime.kernel.registers import EVENTS, NEVER, PASSES, SLIPPED, VOLATILE
from shadowtime.kernel.state import State, build
from shadowtime.policy import place
from shadowtime.policy.estimate import Estimate, Requested
from shadowtime.policy.policy import Policy
from shadowtime.schedule import Schedule
from shadowtime.schedule.node_places import NodePlaces
from shadowtime.workload.draws import demand_of, work_unit

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.types import Ints
    from shadowtime.workload import Workload

LARGEST = 1 << 62


def simulate_nodes(workload: Workload, cluster: Cluster, policy: Policy) -> Schedule:
    """Run a workload through a policy on nodes (spec section 4).

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

        return simulate_slurm(workload, cluster, policy)
    chosen = parameters(policy) if isinstance(policy, Policy) else {}
    if not chosen:
        raise PolicyError("policies written in Python see pools, not nodes")
    nodes, cores = shape_of(cluster)
    refuse_unfit(workload, nodes * cores)
    request = np.maximum(workload.request, 1)
    known = known_at_submission(policy.estimate, workload)
    law = law_for(workload, cluster, cores, policy.estimate)
    check_range(law, cores, request, predicted=not isinstance(policy.estimate, Requested))
    state, world = build(workload, cluster, estimate=request, learner=known.learner)
    state.reg[VOLATILE] = bool((workload.limit > request).any())
    table = make_table(
        nodes=nodes,
        cores=cores,
        demand=law.demand,
        base=law.base,
        hinges=law.hinges,
        thresholds=thresholds_for(policy.place, law.base, request),
    )
    for register, value in chosen.items():
        table.par[register] = value
    table.job[:, nf.PROCS] = workload.procs
    table.job[:, nf.LENGTH] = request
    table.job[:, nf.SPAN] = np.minimum(known.estimate, request)
    table.job[:, nf.LIMIT] = workload.limit
    table.job[:, nf.REACH] = reach_of(policy.place, request)
    if table.par[nf.BACKFILL] == nf.LEAST_PENALTY:
        table.job[:, nf.LIKE] = alike(table, learned=known.learner != FIXED)
    rates = make_rates(
        run=workload.effective_run,  # a longer limit gives no job more work (spec 4.5)
        procs=workload.procs,
        draws=law.draws,
        nodes=nodes,
        cores=cores,
        unit=law.unit,
        windows=law.windows,
    )
    loop_of(policy, table)(state, world, rates)
    made = as_schedule(workload, cluster, state, table, rates)
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
    columns = (nf.LENGTH, nf.SPAN, nf.REACH, nf.PROCS, nf.KIND)
    number: Ints = numbered(len(table.job), (table.job[:, column] for column in columns))
    return number


def shape_of(cluster: Cluster) -> tuple[int, int]:
    """(nodes, processors of each)."""
    cores = {host.capacity[0] for host in cluster.hosts}
    if len(cores) != 1:
        raise ClusterError(
            f"all nodes must have the same number of processors, not {sorted(cores)}: "
            "describe the groups as clusters of their own, or use the shape hosts"
        )
    return len(cluster.hosts), cores.pop()


def refuse_unfit(workload: Workload, procs: int) -> None:
    """Refuse jobs that could never start."""
    wide = workload.procs > procs
    if wide.any():
        first = int(workload.job_id[int(np.argmax(wide))])
        raise UsageError(
            f"{int(wide.sum())} of {len(workload)} jobs want more than the {procs} processors of "
            f"all nodes, the first is job {first}; drop them with workload.clean.fit, or describe "
            "a larger machine"
        )
    if (workload.procs < 1).any() or (workload.run < 0).any():
        raise UsageError("every job needs at least one processor and a run time from 0 on")


@dataclass(frozen=True, eq=False)
class ScaledLaw:
    """The law of slowdown in the smallest whole numbers, with the jobs' demands."""

    base: int
    hinges: Ints
    draws: Ints
    """What a process really draws, a column a hinge."""
    demand: Ints
    """What the policy believes it draws."""
    unit: int
    exact: bool
    windows: bool


def law_for(workload: Workload, cluster: Cluster, cores: int, part: Estimate) -> ScaledLaw:
    """The cluster's law for these jobs; nothing is shared where the cluster says nothing."""
    contention = contention_of(cluster)
    if contention is None:
        none = np.zeros((len(workload), 0), np.int64)
        return ScaledLaw(1, np.zeros((0, 2), np.int64), none, none, 1, True, False)
    draws = demand_of(workload, contention)
    demand = believed(draws, contention, part)
    terms = contention.law.terms(contention.capacity)
    names = tuple(contention.capacity)
    unit, exact = work_unit(draws, cores, terms, names) if len(workload) else (1, True)
    column = [names.index(hinge.resource) for hinge in terms.hinges]
    edges = [hinge.threshold for hinge in terms.hinges]
    amounts = np.unique(np.concatenate([draws, demand])).tolist()
    common = reduce(gcd, amounts, reduce(gcd, edges, terms.base))
    hinges = [(hinge.threshold // common, hinge.weight) for hinge in terms.hinges]
    return ScaledLaw(
        base=terms.base // common,
        hinges=np.array(hinges, np.int64),
        draws=np.ascontiguousarray(draws[:, column]) // common,
        demand=np.ascontiguousarray(demand[:, column]) // common,
        unit=unit,
        exact=exact,
        windows=contention.stretch == "window",
    )


def thresholds_for(part: place.Place, base: int, request: Ints) -> Ints:
    """Thresholds as the kernels take them: a cost is within if <= request * factor // share."""
    rows = []
    for theta in part.factors():
        factor, share = (theta.numerator - theta.denominator) * base, theta.denominator
        if factor * int(request.max(initial=1)) >= LARGEST:
            raise PolicyError(
                f"a threshold of {float(theta):g} has too many digits or is too large"
            )
        rows.append((factor, share))
    return np.array(rows, np.int64).reshape(-1, 2)


def check_range(law: ScaledLaw, cores: int, request: Ints, *, predicted: bool) -> None:
    """Costs and work must fit 62 bits; with predictions, costs times a request too."""
    longest = int(request.max(initial=1))
    most = np.maximum(law.demand, law.draws).max(axis=0, initial=0) * cores * 2
    over = sum(int(d) * int(w) for d, w in zip(most, law.hinges[:, 1], strict=True))
    over *= longest if predicted else 1
    if over * longest >= LARGEST or law.unit * law.base >= LARGEST:
        raise UsageError(
            "the demands for shared resources are too large to be counted exactly: "
            "give them in a larger unit, as GB/s instead of KB/s"
        )


def reach_of(part: place.Place, request: Ints) -> Ints:
    """How far each job looks ahead after first fit's start, in whole seconds."""
    if not isinstance(part, place.LessConsume):
        return np.zeros(len(request), np.int64)
    return np.minimum(np.floor(part.horizon * request), NEVER).astype(np.int64)


def as_schedule(
    workload: Workload, cluster: Cluster, state: State, table: Table, rates: Rates
) -> Schedule:
    """The rows of a finished run."""
    job, truth = state.job, rates.job
    column = lambda at: np.ascontiguousarray(job[:, at])  # noqa: E731
    exact = np.stack(
        [truth[:, nf.WHOLE] * truth[:, nf.PARTS] + truth[:, nf.REST], truth[:, nf.PARTS]], axis=1
    )
    return Schedule(
        job_id=workload.job_id,
        submit=workload.submit,
        start=np.ascontiguousarray(table.job[:, nf.START]),
        end=np.ascontiguousarray(truth[:, nf.ENDED_AT]),
        procs=workload.procs,
        reason=job[:, f.REASON].astype(np.int8),
        kills=column(f.KILLS),
        killed=truth[:, nf.CUT].astype(np.int8),
        promised=column(f.PROMISED),
        blocked_at=column(f.BLOCKED_AT),
        limit=np.ascontiguousarray(table.job[:, nf.LIMIT]),
        place=NodePlaces(
            names=tuple(host.name for host in cluster.hosts),
            first=np.ascontiguousarray(truth[:, nf.LOGGED]),
            entries=rates.places[: rates.par[nf.PLACES]],
            procs=workload.procs,
        ),
        penalised=-(-exact[:, 0] // exact[:, 1]),
        penalised_exact=exact,
        counters={"passes": int(state.reg[PASSES]), "events": int(state.reg[EVENTS])},
    )
