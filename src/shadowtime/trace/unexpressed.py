"""The jobs of a log that its site's model cannot express, by reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.features import counts_nodes
from shadowtime.cluster.limits import job_allowed
from shadowtime.cluster.shape import Shape, Shapes, in_a_row
from shadowtime.engine.site.tables import fits_empty, most_held
from shadowtime.errors import InputError

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site
    from shadowtime.workload import Workload
    from shadowtime.workload.request import Request


@dataclass(frozen=True, kw_only=True)
class Unexpressed:
    """Jobs with one reason; ``runs`` where they run all the same, without what they asked for."""

    reason: str
    runs: bool
    jobs: tuple[int, ...]


def unexpressed(site: Site, workload: Workload) -> list[Unexpressed]:
    """Jobs that cannot run on the site, or not as they asked, the largest group first.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> from shadowtime.workload import Workload
    >>> from shadowtime.workload.request import Request, Requests
    >>> site = Site(nodes=(Node(name="n1", amounts=(4,)),))
    >>> asked = Requests.of_jobs([Request(tasks=1), Request(tasks=9)])
    >>> w = Workload.build(submit=[0, 1], run=[5, 5], procs=[1, 9], requests=asked)
    >>> [(one.reason, one.jobs) for one in unexpressed(site, w)]
    [('asks for more than the nodes of its partition have together', (2,))]
    """
    requests = workload.requests
    if requests is None:
        return []
    made = Shapes(site)
    names = workload.names.get("user", ())
    known: dict[tuple[int, int, int], tuple[str, bool]] = {}
    groups: dict[tuple[str, bool], list[int]] = {}
    rows = zip(
        workload.job_id.tolist(), requests.index.tolist(), workload.user.tolist(),
        workload.request.tolist(), strict=True,
    )  # fmt: skip
    for job, number, who, seconds in rows:
        key = (number, who, seconds)
        if key not in known:
            user = names[who] if 0 <= who < len(names) else str(who)
            known[key] = _why(made, requests.distinct[number], max(seconds, 1), user)
        if known[key][0]:
            groups.setdefault(known[key], []).append(job)
    found = [
        Unexpressed(reason=reason, runs=runs, jobs=tuple(jobs))
        for (reason, runs), jobs in groups.items()
    ]
    return sorted(found, key=lambda one: (-len(one.jobs), one.reason))


def _why(made: Shapes, request: Request, seconds: int, user: str) -> tuple[str, bool]:
    """Why a job cannot run, or what it runs without; empty where all is well."""
    site = made.site
    chosen = made.chosen(request)
    if not chosen:
        return (
            f"names partition {','.join(request.partitions)}, which the site does not have",
            False,
        )
    if request.reservation and request.reservation not in made.reservation:
        return f"runs in reservation {request.reservation}, which is not in the folder", False
    for gres in request.gres:
        if gres.name not in made.resource:
            return f"asks for {gres.name}, which no node has", False
    missing = [name for name in request.wanted if name not in made.index]
    if missing:
        return "asks for nodes that the site does not have", False
    for name, _ in request.licences:
        if name not in site.licences:
            return f"asks for licence {name}, which the site does not have", False
    if not any(one.up for one in chosen):
        return f"names partition {chosen[0].name}, which is down", False
    reason = ""
    for partition in chosen:
        try:
            shape = made.of(request, partition)
        except InputError:
            return "has a feature expression that cannot be read", False
        if shape is None:
            reason = "asks for a number of nodes or GPUs that its partition's bounds rule out"
        elif not shape.nodes:
            reason = "asks for features or nodes that its partition does not have"
        elif not _fits(site, shape):
            reason = "asks for more than the nodes of its partition have together"
        elif partition.max_time is not None and seconds > partition.max_time:
            reason = "has a time limit beyond that of its partition"
        elif not job_allowed(site, request, partition, shape, seconds, user):
            reason = "exceeds a limit of its QOS, account or reservation"
        else:
            return _runs_without(request), True
    return reason, False


def _runs_without(request: Request) -> str:
    if counts_nodes(request.features):
        return "asks for so many nodes of a feature: the numbers are left out"
    if request.contiguous and not in_a_row(request):
        return "asks for contiguous nodes beside nodes it names: that is left out"
    return ""


def _fits(site: Site, shape: Shape) -> bool:
    """Do the empty nodes hold the shape?"""
    capacity = np.array([site.nodes[at].amounts for at in shape.nodes], np.int64)
    return fits_empty(shape, most_held(shape, capacity))
