"""From the jobs' requests to asks: distinct lists of alternatives, each a shape and its limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.features import counts_nodes
from shadowtime.cluster.limits import bounded_shape, buckets_of, job_allowed
from shadowtime.cluster.shape import Shape, Shapes, in_a_row

if TYPE_CHECKING:
    from collections.abc import Collection

    from shadowtime.cluster.limits import Bucket
    from shadowtime.cluster.site import Site
    from shadowtime.types import Ints
    from shadowtime.workload import Workload
    from shadowtime.workload.request import Requests


@dataclass(frozen=True)
class Alternative:
    """A shape, and the buckets of limits that a start by it is charged to."""

    shape: int
    buckets: tuple[int, ...]
    licences: tuple[tuple[str, int], ...]
    tier: int


@dataclass(frozen=True, eq=False)
class Asks:
    """What the jobs of a workload ask of a site."""

    shapes: tuple[Shape, ...]
    buckets: tuple[Bucket, ...]
    each: tuple[tuple[Alternative, ...], ...]
    of_job: Ints
    not_modelled: int
    """Jobs that ask for something the engine leaves out (feature counts)."""


def asks_of(
    workload: Workload, site: Site, requests: Requests, *, running: Collection[int] = ()
) -> Asks:
    """Everything the engine needs to know of the requests, each distinct one once.

    ``running`` are rows of jobs that run already: no bound on a job alone keeps them out.
    """
    made = Shapes(site)
    seated = Shapes(without_bounds(site)) if running else made
    shapes: dict[Shape, int] = {}
    buckets: dict[Bucket, int] = {}
    each: dict[tuple[Alternative, ...], int] = {}
    seen: dict[tuple[int, int, int, int, bool], int] = {}
    runs = set(running)
    enforced = "limits" in site.enforce
    named = bool(site.reservations)
    user = workload.user
    request_s = np.maximum(workload.request, 1)
    of_job = np.empty(len(workload), np.int64)
    limits_time = time_classes(site, made, request_s)
    odd = 0
    rows = zip(
        requests.index.tolist(),
        user.tolist(),
        request_s.tolist(),
        limits_time.tolist(),
        strict=True,
    )
    odd_requests = [
        counts_nodes(one.features) or (one.contiguous and not in_a_row(one))
        for one in requests.distinct
    ]
    for row, (number, who, seconds, kind) in enumerate(rows):
        odd += odd_requests[number]
        there = row in runs
        key = (number, who if enforced or named else -1, kind, seconds if enforced else -1, there)
        if key not in seen:
            request = requests.distinct[number]
            found = []
            name = user_name(workload, who)
            shapes_here = seated if there else made
            for partition in shapes_here.chosen(request):
                shape = shapes_here.of(request, partition)
                if shape is None:
                    continue
                if not there:
                    if not partition.up:
                        continue
                    if not job_allowed(site, request, partition, shape, seconds, name):
                        continue
                    shape = bounded_shape(site, request, partition, shape, name)
                if shape is None:
                    continue
                at = shapes.setdefault(shape, len(shapes))
                shared = buckets_of(site, request, partition, name) if enforced else ()
                numbers = tuple(buckets.setdefault(one, len(buckets)) for one in shared)
                found.append(Alternative(at, numbers, request.licences, partition.tier))
            seen[key] = each.setdefault(tuple(found), len(each))
        of_job[row] = seen[key]
    return Asks(tuple(shapes), tuple(buckets), tuple(each), of_job, odd)


def without_bounds(site: Site) -> Site:
    """The site with partitions that bound no job; all else about them stays."""
    partitions = tuple(
        replace(one, min_nodes=0, max_nodes=None, max_cpus_per_node=None) for one in site.partitions
    )
    return site.replace(partitions=partitions)


def time_classes(site: Site, made: Shapes, seconds: Ints) -> Ints:
    """Which of the partitions' time bounds a job's wall time passes, as a number."""
    bounds = sorted({one.max_time for one in made.partitions if one.max_time is not None})
    found: Ints = np.searchsorted(np.array(bounds, np.int64), seconds, side="left")
    return found


def user_name(workload: Workload, number: int) -> str:
    """The user's name, or its number where the log has none."""
    if number < 0:
        return ""
    names = workload.names.get("user", ())
    return names[number] if number < len(names) else str(number)
