"""Do the jobs fit on the machine? Those that fit nowhere cannot be scheduled by any policy."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

import numpy as np

from shadowtime.errors import InputError, UsageError
from shadowtime.types import AnyArray, Ints
from shadowtime.workload.workload import Workload

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster

TOLERATED_PERCENT = 1
"""Percentage of the jobs that may be too wide; beyond it the machine is wrong, not the jobs."""


def fit(
    workload: Workload,
    cluster: Cluster,
    *,
    too_wide: Literal["drop", "refuse"] = "drop",
    uncounted: Literal["refuse", "ignore"] = "refuse",
) -> Workload:
    """The jobs that fit somewhere on the machine, with the machine's resources as columns.

    Rules
    -----
    A pool or a host holds a job if it has enough of every resource. Nodes hold it if its
    processes can be spread over them, each with its share of the other resources.
    ``too_wide="drop"`` drops and counts such jobs up to 1 % of all and rejects the log beyond
    that, with the likely cause; ``refuse`` rejects the first.
    A resource of the machine that the jobs do not name is demand 0, counted as ``NAME_unknown``.
    One that the jobs demand but the machine does not count is rejected, or ignored and counted as
    ``NAME_ignored`` with ``uncounted="ignore"``.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=range(200), run=[9] * 200, procs=[1] * 199 + [8])
    >>> narrow = fit(w, Cluster.pool(4, memory=1024))
    >>> len(narrow), narrow.resources, narrow.cleaning["too_wide_dropped"]
    (199, ('procs', 'memory'), 1)
    """
    if too_wide not in ("drop", "refuse"):
        raise UsageError(f"too_wide must be drop or refuse, not {too_wide!r}")
    if uncounted not in ("refuse", "ignore"):
        raise UsageError(f"uncounted must be refuse or ignore, not {uncounted!r}")
    aligned = _align(workload, cluster, uncounted)
    wide = ~fits(aligned.demand, cluster)
    count = int(wide.sum())
    allowed = 0 if too_wide == "refuse" else len(workload) * TOLERATED_PERCENT // 100
    if count > allowed:
        raise InputError(_complaint(aligned, cluster, wide, too_wide))
    cleaning = {**aligned.cleaning, "too_wide_dropped": count}
    return (aligned.take(~wide) if count else aligned).replace(cleaning=cleaning)


def too_wide_jobs(workload: Workload, cluster: Cluster) -> Workload:
    """The jobs that fit nowhere on the machine: those :func:`fit` drops, to be listed.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 1], run=[9, 9], procs=[8, 1])
    >>> too_wide_jobs(w, Cluster.pool(4)).job_id.tolist()
    [1]
    """
    aligned = _align(workload, cluster, "ignore")
    return aligned.take(~fits(aligned.demand, cluster))


def fits(demand: Ints, cluster: Cluster) -> AnyArray:
    """Which rows of demand (a column per resource of the machine) fit somewhere on it."""
    kinds = Counter(host.capacity for host in cluster.hosts)
    if cluster.shape != "nodes":
        roomy = np.zeros(len(demand), bool)
        for kind in kinds:
            roomy |= (demand <= np.array(kind)).all(axis=1)
        return roomy
    procs = demand[:, 0]
    room = np.zeros(len(demand), np.int64)
    for kind, number in kinds.items():
        processes = np.full(len(demand), kind[0], np.int64)
        for k in range(1, len(kind)):
            share = np.maximum(-(-demand[:, k] // procs), 1)  # of one process, rounded up
            held = np.where(demand[:, k] > 0, kind[k] // share, kind[0])
            processes = np.minimum(processes, held)
        room += number * processes
    return np.asarray(room >= procs)


def _align(workload: Workload, cluster: Cluster, uncounted: str) -> Workload:
    """The workload with exactly the machine's resources, in the machine's order."""
    if workload.resources == cluster.resources:
        return workload
    column = {name: workload.demand[:, k] for k, name in enumerate(workload.resources)}
    cleaning = dict(workload.cleaning)
    for name in workload.resources:
        if name in cluster.resources:
            continue
        asking = int((column[name] > 0).sum())
        if asking and uncounted == "refuse":
            raise UsageError(
                f"{asking} jobs of {workload.name} demand {name}, which the cluster does not "
                f"count: add it (as in pool:{cluster.procs},{name}=AMOUNT), or leave {name} out"
            )
        cleaning[f"{name}_ignored"] = asking
    for name in cluster.resources:
        if name not in column:
            cleaning[f"{name}_unknown"] = len(workload)
    zero = np.zeros(len(workload), np.int64)
    demand = np.stack([column.get(name, zero) for name in cluster.resources], axis=1)
    return workload.replace(demand=demand, resources=cluster.resources, cleaning=cleaning)


def _complaint(workload: Workload, cluster: Cluster, wide: AnyArray, too_wide: str) -> str:
    count, n = int(wide.sum()), len(workload)
    first = int(np.argmax(wide))
    widest = dict(zip(workload.resources, workload.demand.max(axis=0).tolist(), strict=True))
    wanted = ", ".join(f"{amount} {name}" for name, amount in widest.items())
    has = ", ".join(f"{amount} {name}" for name, amount in _largest(cluster).items())
    place = "the machine" if cluster.shape != "hosts" else "the largest host"
    share = f"{count} of {n} jobs ({100 * count / n:.1f} %)"
    limit = "" if too_wide == "refuse" else f", more than {TOLERATED_PERCENT} %"
    return (
        f"{share} of {workload.name} fit nowhere{limit} (first: job "
        f"{int(workload.job_id[first])}): the most asked for is {wanted}, {place} has {has}. "
        f"{_cause(workload, cluster, wide)}"
    )


def _largest(cluster: Cluster) -> dict[str, int]:
    if cluster.shape == "nodes":
        return cluster.total
    return {
        name: max(host.capacity[k] for host in cluster.hosts)
        for k, name in enumerate(cluster.resources)
    }


def _cause(workload: Workload, cluster: Cluster, wide: AnyArray) -> str:
    """The likely mistake, and what to do about it."""
    procs, machine = workload.procs, workload.machine
    largest = _largest(cluster)
    if not bool((procs[wide] > largest["procs"]).any()):
        others = [
            name
            for k, name in enumerate(cluster.resources)
            if bool((workload.demand[wide, k] > largest[name]).any())
        ]
        named = " and ".join(others) or "the mix of resources on one place"
        return (
            f"Likely cause: {named} (memory counts KB of the whole job, and a bare number in "
            f"--cluster is KB: write 64GB); give the machine more of it, or leave it out."
        )
    if cluster.shape == "hosts" and int(procs.max()) <= cluster.procs:
        return (
            "Likely cause: with the shape hosts a job must fit inside one host; these span "
            "several: use the shape nodes or a pool."
        )
    nodes, all_procs = machine.get("nodes", 0), machine.get("procs", 0)
    if cluster.procs == nodes < all_procs:
        return (
            f"Likely cause: the log counts processors and the cluster nodes: its header says "
            f"{nodes} nodes with {all_procs} processors: use pool:{all_procs}."
        )
    if all_procs > cluster.procs:
        return (
            f"Likely cause: the cluster is smaller than the log's machine: its header says "
            f"{all_procs} processors: use pool:{all_procs}."
        )
    return (
        f"Likely cause: the cluster is smaller than the machine of this log; its widest job has "
        f"{int(procs.max())} processors."
    )
