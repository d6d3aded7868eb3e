"""From the jobs' requests to asks: distinct lists of alternatives, each a shape and its limits."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shadowtime.cluster.amounts import amounts_taken
from shadowtime.cluster.limits import Bucket, bounded_shape, buckets_of, job_allowed
from shadowtime.cluster.shape import Shape, Shapes, left_out
from shadowtime.cluster.site import Partition, Site
from shadowtime.kernel.site.fields import RESERVES_FREELY
from shadowtime.types import AnyArray, Ints
from shadowtime.workload import Workload
from shadowtime.workload.request import Request, Requests


@dataclass(frozen=True)
class Alternative:
    """A shape, and the buckets of limits that a start by it is charged to."""

    shape: int
    buckets: tuple[int, ...]
    amounts: tuple[tuple[str, int], ...]
    """What it takes of amounts that are counted over the whole site."""
    tier: int
    reserves: int = RESERVES_FREELY
    """Whether it may be planned, and how plans are counted (kernel/site/fields.py)."""
    jobs: int = 1
    """Jobs that limits count."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SiteClasses:
    """The classes of a workload's jobs, and the nodes each may use and reserve (classes.py)."""

    kind: Ints
    """The class of every job."""
    group: tuple[int, ...]
    """The group of every node of the site."""
    order: tuple[tuple[tuple[int, int], ...], ...]
    """For each class of jobs: groups of nodes in order of preference, each with how it reserves."""
    reservations: int
    """Plans that are counted, at most."""
    times: int
    """Plans counted by node take at most this multiple of each node's resources."""
    most_planned: int
    """Nodes that plans counted by node can hold, each counted for each plan."""


@dataclass(frozen=True, eq=False)
class Asks:
    """What the jobs of a workload ask of a site."""

    shapes: tuple[Shape, ...]
    buckets: tuple[Bucket, ...]
    each: tuple[tuple[Alternative, ...], ...]
    of_job: Ints
    not_modelled: int
    """Jobs that ask for something the engine leaves out (cluster/shape.py, ``left_out``)."""


def asks_of(
    workload: Workload,
    site: Site,
    requests: Requests,
    *,
    running: Collection[int] = (),
    classes: SiteClasses | None = None,
) -> Asks:
    """Everything the engine needs to know of the requests, each distinct one once.

    ``running`` are rows of jobs that run already: no bound on a job alone keeps them out, and no
    class.
    """
    made = Shapes(site)
    seated = made.without_bounds() if running else made
    shapes: dict[Shape, int] = {}
    buckets: dict[Bucket, int] = {}
    each: dict[tuple[Alternative, ...], int] = {}
    charged = Charged(site)
    enforced = "limits" in site.enforce
    named = bool(site.reservations)
    user = workload.user
    request_s = np.maximum(workload.request, 1)
    bounds = sorted({one.max_time for one in made.partitions if one.max_time is not None})
    # Which of the partitions' bounds a job's wall time passes, as a number.
    limits_time = np.searchsorted(np.array(bounds, np.int64), request_s, side="left")
    odd_requests = [left_out(one) for one in requests.distinct]
    seated_here = np.zeros(len(workload), np.bool_)
    seated_here[list(running)] = True
    columns: list[AnyArray] = [requests.index, limits_time, seated_here]
    columns += [user] if enforced or named else []
    columns += [request_s] if enforced else []
    columns += [classes.kind] if classes is not None else []
    firsts, of_key = distinct_rows(columns)
    of_first = np.empty(len(firsts), np.int64)
    for at, row in enumerate(firsts.tolist()):
        request = requests.distinct[int(requests.index[row])]
        there = bool(seated_here[row])
        seconds = int(request_s[row])
        usable: list[tuple[Partition, Shape]] = []
        name = user_name(workload, int(user[row]))
        shapes_here = seated if there else made
        for partition in shapes_here.chosen(request):
            for shape in shapes_here.all_of(request, partition):
                bounded: Shape | None = shape
                if not there:
                    if not partition.up:
                        continue
                    if not job_allowed(site, request, partition, shape, seconds, name):
                        continue
                    bounded = bounded_shape(site, request, partition, shape, name)
                if bounded is not None:
                    usable.append((partition, bounded))
        found = []
        for partition, shape, reserves in in_groups(usable, None if there else classes, row):
            number = shapes.setdefault(shape, len(shapes))
            shared = charged.to(request, partition, name) if enforced else ()
            numbers = tuple(buckets.setdefault(one, len(buckets)) for one in shared)
            tier = partition.tier
            counted = int(request.counts)
            held = amounts_taken(request.amounts, site.amounts)
            found.append(Alternative(number, numbers, held, tier, reserves, counted))
        of_first[at] = each.setdefault(tuple(found), len(each))
    of_job = of_first[of_key]
    odd = int(np.array(odd_requests, np.int64)[requests.index].sum()) if len(workload) else 0
    return Asks(tuple(shapes), tuple(buckets), tuple(each), of_job, odd)


class Charged:
    """The buckets that starts are charged to: the same for all jobs of a user under a QOS."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._known: dict[tuple[str, str, str, str], tuple[Bucket, ...]] = {}

    def to(self, request: Request, partition: Partition, user: str) -> tuple[Bucket, ...]:
        """The buckets of a job's start in a partition."""
        key = (request.qos, request.account, partition.name, user)
        if key not in self._known:
            self._known[key] = buckets_of(self.site, request, partition, user)
        return self._known[key]


def in_groups(
    usable: list[tuple[Partition, Shape]], classes: SiteClasses | None, row: int
) -> Iterator[tuple[Partition, Shape, int]]:
    """Shapes as they are, or within each group of nodes that a job's class may use, in order."""
    if classes is None:
        yield from ((partition, shape, RESERVES_FREELY) for partition, shape in usable)
        return
    for group, reserves in classes.order[int(classes.kind[row])]:
        for partition, shape in usable:
            here = shape.among(tuple(n for n in shape.nodes if classes.group[n] == group))
            if here is not None:
                yield partition, here, reserves


LARGEST_KEY = 1 << 62


def distinct_rows(columns: Sequence[AnyArray]) -> tuple[Ints, Ints]:
    """The first row of each distinct one, in their order, and which of these each row equals.

    Examples
    --------
    >>> firsts, which = distinct_rows([np.array([7, 2, 7, 2]), np.array([1, 0, 1, 1])])
    >>> firsts.tolist(), which.tolist()
    ([0, 1, 3], [0, 1, 0, 2])
    >>> far = np.array([0, 1 << 62, 0, 1 << 62])
    >>> distinct_rows([far, far, np.array([1, 0, 1, 1])])[1].tolist()
    [0, 1, 0, 2]
    """
    key: Ints = np.zeros(len(columns[0]), np.int64)
    size = 1
    for column in columns if len(key) else ():
        number = column.astype(np.int64)
        low = int(number.min())
        span = int(number.max()) - low + 1
        if size * span > LARGEST_KEY:  # numbers of distinct values are below the count of rows
            values, key = np.unique(key, return_inverse=True)
            size = len(values)
        if size * span > LARGEST_KEY:
            values, number = np.unique(number, return_inverse=True)
            low, span = 0, len(values)
        key = key * span + (number - low)
        size *= span
    _, firsts, which = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return firsts[order], place[which]


def user_name(workload: Workload, number: int) -> str:
    """The user's name, or its number where the log has none."""
    if number < 0:
        return ""
    names = workload.names.get("user", ())
    return names[number] if number < len(names) else str(number)
