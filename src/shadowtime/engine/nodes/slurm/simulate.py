"""simulate() for Slurm's policies on nodes: consres, lessc and hperf (spec: algorithms 6)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.cluster.contention import contention_of
from shadowtime.engine.claims import claims_of
from shadowtime.engine.nodes import run_tables
from shadowtime.engine.nodes.slurm import availability as bk
from shadowtime.engine.saved import reading
from shadowtime.engine.watch import Watch
from shadowtime.errors import ClusterError, PolicyError, StoreError, StoreWarning, UsageError
from shadowtime.kernel.registers import NEVER
from shadowtime.kernel.state import build
from shadowtime.policy import Policy, estimate, reserve
from shadowtime.schedule import Schedule
from shadowtime.types import NO_LIMIT, UNKNOWN, AnyArray, Ints, Rows
from shadowtime.workload import Workload
from shadowtime.workload.draws import demand_of

GRAIN = 1000
"""Counted bandwidth is in thousandths of a MB/s, so that measured means are whole numbers."""


def simulate_slurm(
    workload: Workload, cluster: Cluster, policy: Policy, *, watch: Watch | None = None
) -> Schedule:
    """Run a workload through Slurm's scheduler on nodes.

    Rules
    -----
    What the scheduler counts is not what a node suffers: rates follow the demands of the workload
    and the cluster's law, plans follow what is declared (lessc) or measured (hperf). The column
    ``limit`` of the result is when a job is killed: its time limit and the grace.

    Examples
    --------
    >>> from shadowtime.cluster.contention import node_cluster
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 0, 0], run=[60] * 3, procs=[2] * 3, request=[60] * 3,
    ...     extra={"bandwidth": np.array([600, 600, 600]), "tag": np.array([0, 0, 0])})
    >>> machine = node_cluster(2, procs=4, bandwidth=1300)
    >>> simulate_slurm(jobs, machine, parse_policy("lessc")).start.tolist()
    [0, 0, 60]
    >>> simulate_slurm(jobs, machine, parse_policy("consres(grace=unlimited)")).end.tolist()
    [111, 111, 60]
    """
    from shadowtime.engine.events import ROOM_NEEDED
    from shadowtime.engine.nodes.slurm import passes as slurm

    refuse_nonsense(policy)
    nodes, cores = run_tables.shape_of(cluster)
    run_tables.refuse_unfit(workload, nodes * cores)
    request = np.maximum(workload.request, 1)
    law = run_tables.law_for(workload, cluster, cores, estimate.Requested())
    run_tables.check_range(law, cores, request, predicted=False)
    state, world = build(workload, cluster, estimate=request)
    limit = kill_limit(policy, request)
    none = np.zeros((0, 2), np.int64)
    table = run_tables.table_for(
        workload, law, request, np.minimum(limit, NEVER), shape=(nodes, cores), thresholds=none
    )
    rates = run_tables.rates_for(workload, law, shape=(nodes, cores))
    availability = book_for(workload, cluster, policy, nodes=nodes, cores=cores)
    with reading(watch, workload, state.reg, saves=True) as pauses:
        held = state, world, table, rates, availability
        held, _ = pauses.continued(held)
        while slurm.run(*held) == ROOM_NEEDED:
            if not pauses.paused(held):
                more = bk.rows(2 * len(held[-1].when), nodes, cores)
                held = *held[:-1], held[-1]._replace(**more)
    state, world, table, rates, _ = held
    made = run_tables.as_schedule(workload, cluster, state, table, rates)
    return made.replace(
        policy=policy.name,
        limit=limit,
        claims=claims_of(policy, workload),
        counters={**made.counters, "rates_rounded_down": int(not law.exact)},
    )


def kill_limit(policy: Policy, request: Ints) -> Ints:
    """How long each job may run: its time limit and the grace."""
    grace = policy.place.seconds()
    if grace is None:
        return np.full(len(request), NO_LIMIT, np.int64)
    return request + grace


def book_for(
    workload: Workload, cluster: Cluster, policy: Policy, *, nodes: int, cores: int
) -> bk.Availability:
    """The scheduler's book before the first job, with what is declared or known by tag."""
    part = policy.estimate.tags
    counts = policy.place.caps
    cap, demand = declared(workload, cluster, counts=counts)
    jobs = np.zeros(len(workload), bk.JOBS)
    jobs["procs"] = workload.procs
    jobs["length"] = np.maximum(workload.request, 1)
    jobs["wish"] = demand * GRAIN if counts else 0
    jobs["tag"] = UNKNOWN
    tags = np.zeros(1, bk.TAGS)
    registers = {"cap": cap * GRAIN, "counts": int(counts), "share": cores}
    if part is not None:
        share = min(part.share or cores, cores)
        registers |= {
            "by_tag": 1,
            "share": share,
            "late": int(part.predict == "start"),
            "by_rate": int(part.record == "rate"),
        }
        jobs["tag"] = tags_of(workload)
        jobs["measured"] = measured(part, jobs["tag"], demand)
        tags = history(part, workload, jobs)
        refuse_too_wide(workload, -(-workload.procs // share) > nodes, "on nodes of their own")
    if counts:
        worst = largest_wish(jobs, tags) if part is not None else jobs["wish"]
        greedy = "are counted with more bandwidth per process than a node has"
        _refuse(workload, worst > cap * GRAIN, greedy)
        room = np.minimum(cores, np.where(worst > 0, cap * GRAIN // np.maximum(worst, 1), cores))
        refuse_too_wide(workload, workload.procs > nodes * room, f"within {cap} MB/s a node")
    return bk.make_book(
        nodes=nodes, cores=cores, jobs=jobs, tags=tags, registers=registers, segments=256
    )


def declared(workload: Workload, cluster: Cluster, *, counts: bool) -> tuple[int, Ints]:
    """(bandwidth of a node, what each process draws), both as they are counted."""
    contention = contention_of(cluster)
    if contention is None:
        if counts:
            raise ClusterError(
                "bandwidth is to be limited, but no node gives its own: give the nodes a bandwidth"
            )
        return 0, np.zeros(len(workload), np.int64)
    if len(contention.capacity) != 1:
        shared = ", ".join(contention.capacity)
        raise ClusterError(f"one shared resource can be counted, this cluster has {shared}")
    (cap,) = contention.capacity.values()
    return cap, demand_of(workload, contention)[:, 0]


def tags_of(workload: Workload) -> Ints:
    """The number of each job's tag: the column ``tag``, else the executable; -1 if unknown."""
    column = np.asarray(workload.extra.get("tag", workload.executable), np.int64)
    if (column < UNKNOWN).any():
        raise UsageError("a tag's number must be 0 or more, -1 if unknown")
    return column


def measured(part: estimate.ByTag, tags: Ints, demand: Ints) -> Ints:
    """What the counters would measure for each job, in grains: the factor times the demand."""
    general, special = part.factors()
    return np.array(
        [
            math.floor(special.get(tag, general) * int(drawn) * GRAIN)
            for tag, drawn in zip(tags.tolist(), demand.tolist(), strict=True)
        ],
        np.int64,
    )


def history(part: estimate.ByTag, workload: Workload, jobs: Rows) -> Rows:
    """Sum and number of the records of each tag before the first job."""
    known = np.zeros(int(jobs["tag"].max(initial=0)) + 1, bk.TAGS)
    if part.preloaded:
        found, first = np.unique(jobs["tag"], return_index=True)
        for tag, job in zip(found.tolist(), first.tolist(), strict=True):
            if tag >= 0:
                known[tag] = jobs["measured"][job], 1
    if part.store:
        from shadowtime.hperf.history import load

        try:
            averages = load(part.store, workload)
        except StoreError as wrong:  # the schedule goes on by the rule for unknown tags
            warnings.warn(
                f"{wrong}; the run goes on without it: tags are unknown at the beginning, and the "
                "first run of each has nodes of its own",
                StoreWarning,
                stacklevel=2,
            )
            averages = {}
        for tag, (mean, records) in averages.items():
            known["sum"][tag] += math.ceil(Fraction(mean) * records * GRAIN)
            known["records"][tag] += records
    return known


def largest_wish(jobs: Rows, tags: Rows) -> Ints:
    """The most each job can ever be counted with: no mean is above the largest record."""
    most = np.where(tags["records"] > 0, -(-tags["sum"] // np.maximum(1, tags["records"])), 0)
    known = jobs["tag"] >= 0
    np.maximum.at(most, jobs["tag"][known], jobs["measured"][known])
    return np.where(known, most[jobs["tag"]], 0)


def refuse_too_wide(workload: Workload, wide: AnyArray, how: str) -> None:
    """Reject jobs that the empty machine could not hold."""
    _refuse(workload, wide, f"do not fit on the empty machine {how}")


def _refuse(workload: Workload, wrong: AnyArray, what: str) -> None:
    if wrong.any():
        first = int(workload.job_id[int(np.argmax(wrong))])
        raise UsageError(
            f"{int(wrong.sum())} of {len(workload)} jobs {what}, the first is job {first}: leave "
            "them out, or describe a larger machine"
        )


def refuse_nonsense(policy: Policy) -> None:
    """Reject parts that Slurm's scheduler on nodes does not know."""
    rules: list[tuple[bool, Callable[[], str]]] = [
        (policy.order.by_arrival, lambda: "order=fcfs"),
        (policy.backfill.in_order, lambda: "backfill=in-order"),
        (policy.reserve == reserve.Depth(reserve.ALL), lambda: "reserve=all"),
        (not policy.preempt.stops, lambda: "preempt=never"),
        (not policy.partition.restricts, lambda: "partition=anywhere"),
        (
            type(policy.estimate) in (estimate.Requested, estimate.ByTag),
            lambda: "estimate=requested or by-tag",
        ),
        (
            policy.place.caps or not policy.estimate.by_tag,
            lambda: "place=capped with estimate=by-tag",
        ),
    ]
    for holds, needed in rules:
        if not holds:
            raise PolicyError(f"{policy.name}: place={policy.place} needs {needed()}")
