"""What runs on nodes share: the law of slowdown in whole numbers, checks, and the schedule."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from math import gcd

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.cluster.contention import Contention, contention_of
from shadowtime.engine.nodes.rates import Rates, make_rates
from shadowtime.engine.nodes.running_table import Table, make_table
from shadowtime.errors import ClusterError, UsageError
from shadowtime.kernel import fields as f
from shadowtime.kernel.registers import EVENTS, PASSES
from shadowtime.kernel.state import State
from shadowtime.policy.estimate import Estimate, NoisyDemand
from shadowtime.schedule import Schedule
from shadowtime.schedule.places import NodePlaces
from shadowtime.types import Ints
from shadowtime.workload import Workload
from shadowtime.workload.draws import demand_of, work_unit

LARGEST = 1 << 62
"""Costs and work must stay below this to be counted exactly."""


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
    """Reject jobs that could never start."""
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
    """The cluster's law for these jobs; nothing is shared where the cluster declares nothing."""
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


def table_for(
    workload: Workload,
    law: ScaledLaw,
    request: Ints,
    limit: Ints,
    *,
    shape: tuple[int, int],
    thresholds: Ints,
) -> Table:
    """What the scheduler knows of the jobs: size, request and limit, and the law it plans by."""
    nodes, cores = shape
    table = make_table(
        nodes=nodes,
        cores=cores,
        demand=law.demand,
        base=law.base,
        hinges=law.hinges,
        thresholds=thresholds,
    )
    table.job["procs"] = workload.procs
    table.job["length"] = request
    table.job["limit"] = limit
    return table


def rates_for(workload: Workload, law: ScaledLaw, *, shape: tuple[int, int]) -> Rates:
    """The work of the jobs and how fast it is done; a longer limit gives no job more.

    spec: algorithms 4.5.
    """
    nodes, cores = shape
    return make_rates(
        run=workload.effective_run,
        procs=workload.procs,
        draws=law.draws,
        nodes=nodes,
        cores=cores,
        unit=law.unit,
        windows=law.windows,
    )


def as_schedule(
    workload: Workload, cluster: Cluster, state: State, table: Table, rates: Rates
) -> Schedule:
    """The rows of a finished run."""
    job, truth = state.job, rates.job
    column = lambda at: np.ascontiguousarray(job[:, at])  # noqa: E731
    exact = np.stack([truth["whole"] * truth["parts"] + truth["rest"], truth["parts"]], axis=1)
    return Schedule(
        job_id=workload.job_id,
        submit=workload.submit,
        start=np.ascontiguousarray(table.job["start"]),
        end=np.ascontiguousarray(truth["ended_at"]),
        procs=workload.procs,
        reason=job[:, f.REASON].astype(np.int8),
        kills=column(f.KILLS),
        killed=truth["cut"].astype(np.int8),
        promised=column(f.PROMISED),
        blocked_at=column(f.BLOCKED_AT),
        limit=np.ascontiguousarray(table.job["limit"]),
        place=NodePlaces(
            names=tuple(host.name for host in cluster.hosts),
            first=np.ascontiguousarray(truth["logged"]),
            entries=rates.places[: rates.par["places"][0]],
            procs=workload.procs,
        ),
        penalised=-(-exact[:, 0] // exact[:, 1]),
        penalised_exact=exact,
        counters={"passes": int(state.reg[PASSES]), "events": int(state.reg[EVENTS])},
    )


def believed(draws: Ints, contention: Contention, part: Estimate) -> Ints:
    """The demands that a policy assumes: the true ones, unless its estimates are wrong.

    Examples
    --------
    >>> from shadowtime.cluster.contention import Contention
    >>> from shadowtime.policy.estimate import NoisyDemand
    >>> true = np.array([[1000], [1000], [6000]])
    >>> believed(true, Contention(capacity={"bandwidth": 6000}), NoisyDemand(x=0.5)).tolist()
    [[1012], [1450], [3865]]
    """
    if not isinstance(part, NoisyDemand):
        return draws
    rng = np.random.default_rng(part.seed)
    guess = np.rint(draws * (1.0 + rng.uniform(-part.x, part.x, draws.shape)))
    return np.clip(guess, 0, list(contention.capacity.values())).astype(np.int64)
