"""The bounds that a site's QOS and accounts put on jobs: which jobs share which bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shadowtime.cluster.amounts import short_of

if TYPE_CHECKING:
    from shadowtime.cluster.shape import Shape
    from shadowtime.cluster.site import Association, Limits, Partition, Site
    from shadowtime.workload.request import Request

NODES = "nodes"
"""Nodes are counted beside the resources."""


@dataclass(frozen=True)
class Bucket:
    """All jobs that share one set of bounds; amounts by name, seconds where time is bound."""

    who: tuple[str, ...]
    jobs: int | None = None
    wall: int | None = None
    amounts: tuple[tuple[str, int], ...] = ()
    run_seconds: tuple[tuple[str, int], ...] = ()
    seconds: tuple[tuple[str, int], ...] = ()

    def bounds_anybody(self) -> bool:
        """True if anything is bound at all."""
        given = self.amounts or self.run_seconds or self.seconds
        return bool(given) or self.jobs is not None or self.wall is not None


def limits_of(
    site: Site, request: Request, partition: Partition, user: str
) -> Iterator[tuple[tuple[str, ...], Limits, bool]]:
    """(who, the limits, is it a QOS) of every QOS and association that a job counts in."""
    named = site.qos_by_name
    for name in dict.fromkeys((request.qos, partition.qos)):
        if name in named:
            yield ("qos", name), named[name].limits, True
    for one in chain(site, request.account, user, partition.name):
        yield ("assoc", one.account, one.user), one.limits, False


def chain(site: Site, account: str, user: str, partition: str) -> Iterator[Association]:
    """The user's association, its account, and the accounts above.

    A user's association for the partition takes precedence over the one for all.
    """
    known = site.associations_by_name
    if user:
        mine = known.get((account, user), ())
        here = [one for one in mine if one.partition == partition]
        yield from here or [one for one in mine if not one.partition]
    seen: set[str] = set()
    while (account, "") in known and account not in seen:
        seen.add(account)
        above = known[account, ""][-1]
        yield above
        account = above.parent


def buckets_of(site: Site, request: Request, partition: Partition, user: str) -> tuple[Bucket, ...]:
    """The buckets a job's start is charged to, without those that bound nothing.

    Examples
    --------
    >>> from shadowtime.cluster.site import Limits, Node, Partition, Qos, Site
    >>> from shadowtime.workload.request import Request
    >>> normal = Qos(name="normal", limits=Limits(user_jobs=2, group_resources={"cpus": 8}))
    >>> site = Site(nodes=(Node(name="n", amounts=(8,)),), qos=(normal,))
    >>> whole = Partition(name="p", nodes=("n",))
    >>> [b.who for b in buckets_of(site, Request(qos="normal"), whole, "ann")]
    [('qos', 'normal'), ('qos', 'normal', 'user', 'ann')]
    """
    found = []
    for who, limits, is_qos in limits_of(site, request, partition, user):
        found.append(
            Bucket(
                who,
                limits.group_jobs,
                limits.group_wall,
                _sorted(limits.group_resources),
                _sorted(limits.group_run_minutes, 60),
                _sorted(limits.group_minutes, 60),
            )
        )
        each = (*who, "user", user)
        found.append(Bucket(each, limits.user_jobs, None, _sorted(limits.user_resources)))
        if is_qos:
            each = (*who, "account", request.account)
            amounts = _sorted(limits.account_resources)
            found.append(Bucket(each, limits.account_jobs, None, amounts))
    return tuple(bucket for bucket in found if bucket.bounds_anybody())


def _sorted(amounts: Mapping[str, int], times: int = 1) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((name, times * amount) for name, amount in amounts.items()))


def bounded_shape(
    site: Site, request: Request, partition: Partition, shape: Shape, user: str
) -> Shape | None:
    """The shape with no more tasks on a node than ``job_node_resources`` allow; None: not one.

    Examples
    --------
    >>> from shadowtime.cluster.shape import Shapes
    >>> from shadowtime.cluster.site import Limits, Node, Qos, Site
    >>> from shadowtime.workload.request import Request
    >>> thin = Qos(name="thin", limits=Limits(job_node_resources={"cpus": 3}))
    >>> site = Site(nodes=(Node(name="n", amounts=(8,)),), qos=(thin,),
    ...             enforce=frozenset({"limits"}))
    >>> made, asked = Shapes(site), Request(tasks=8, cpus_per_task=2, qos="thin")
    >>> shape = made.of(asked, made.partitions[0])
    >>> bounded_shape(site, asked, made.partitions[0], shape, "ann").per_node
    1
    """
    if "limits" not in site.enforce:
        return shape
    most = shape.per_node
    for _, limits, _ in limits_of(site, request, partition, user):
        for k, name in enumerate(site.resources):
            bound = limits.job_node_resources.get(name)
            if bound is None:
                continue
            left = (bound - shape.fixed[k]) * shape.divisor
            if left < shape.per_task[k] or (k == 0 and shape.floor > bound):
                return None
            if shape.per_task[k] > 0:
                most = min(most, left // shape.per_task[k])
    return shape if most == shape.per_node else replace(shape, per_node=most)


LIFTS: Mapping[str, Mapping[str, Any]] = {
    "partitiontimelimit": {"max_time": None},
    "partitionmaxnodes": {"max_nodes": None},
    "partitionminnodes": {"min_nodes": 0},
    "overpartqos": {"qos": ""},
}
"""Bounds of a partition that a QOS with this flag sets aside."""


def lifted(site: Site, qos: str, place: Partition) -> Partition:
    """A partition with the bounds that jobs of a QOS have there.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Partition, Qos, Site
    >>> short = Partition(name="short", nodes=("a",), max_time=600, max_nodes=1)
    >>> long = Qos(name="long", flags=frozenset({"PartitionTimeLimit"}))
    >>> site = Site(nodes=(Node(name="a", amounts=(4,)),), partitions=(short,), qos=(long,))
    >>> lifted(site, "long", short).max_time, lifted(site, "long", short).max_nodes
    (None, 1)
    """
    flags = site.qos_by_name[qos].lower_flags if qos in site.qos_by_name else ()
    changes = [LIFTS[flag] for flag in flags if flag in LIFTS]
    lifts = {name: value for one in changes for name, value in one.items()}
    return replace(place, **lifts) if lifts else place


def job_allowed(
    site: Site,
    request: Request,
    partition: Partition,
    shape: Shape,
    seconds: int,
    user: str,
) -> bool:
    """True if no bound on the job alone forbids it permanently.

    Wall time, unless its QOS lifts that of the partition, amounts, a reservation, or more than the
    whole site has.
    """
    longest = lifted(site, request.qos, partition).max_time
    if longest is not None and seconds > longest:
        return False
    if short_of(request.amounts, site.amounts, site.amounts):
        return False
    if shape.reservation >= 0:
        named = site.reservations[shape.reservation]
        closed = bool(named.users or named.accounts)
        if closed and user not in named.users and request.account not in named.accounts:
            return False
    if "limits" not in site.enforce:
        return True
    asked = dict(zip(site.resources, shape.asked, strict=True)) | {NODES: shape.least}
    for _, limits, _ in limits_of(site, request, partition, user):
        if limits.job_wall is not None and seconds > limits.job_wall:
            return False
        for name, amount in asked.items():
            if amount > limits.job_resources.get(name, amount):
                return False
            if name in limits.job_minutes and amount * seconds > 60 * limits.job_minutes[name]:
                return False
    return True
