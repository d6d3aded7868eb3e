"""A site as it was known at a moment of its log: no failure, drain or reservation of later."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shadowtime.cluster.site import FOREVER, Site

if TYPE_CHECKING:
    from shadowtime.workload.request import Request


def unusable(site: Site, now: int) -> frozenset[str]:
    """The nodes that take no jobs at a time, in seconds since 1970."""
    return frozenset(one.node for one in site.outages if one.begin <= now < one.end)


def as_known(site: Site, now: int) -> Site:
    """The site with what could be known of it at a time, in seconds since 1970.

    Rules
    -----
    A node that is out stays out: nobody knows until when. An outage that begins later counts if it
    was known by then, a reservation unless it was created later.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Outage, Site
    >>> site = Site(nodes=(Node(name="a", amounts=(4,)),), outages=(
    ...     Outage(node="a", begin=10, end=20), Outage(node="a", begin=30, end=40),
    ...     Outage(node="a", begin=50, end=60, known_at=15)))
    >>> [(one.begin, one.end == FOREVER) for one in as_known(site, 16).outages]
    [(10, True), (50, False)]
    """
    if not site.outages and not site.reservations:
        return site
    out = [replace(one, end=FOREVER) for one in site.outages if one.begin <= now < one.end]
    planned = [
        one
        for one in site.outages
        if one.begin > now and one.known_at is not None and one.known_at <= now
    ]
    return site.replace(
        outages=(*out, *planned),
        reservations=tuple(
            one for one in site.reservations if one.known_at is None or one.known_at <= now
        ),
    )


def reserved_from(site: Site, piece: Request, now: int) -> int | None:
    """When nodes that a running job holds are reserved for others next; None: never.

    Slurm starts nothing that would run into a reservation, but what runs may have begun before the
    reservation was made.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Reservation, Site
    >>> from shadowtime.workload.request import Request
    >>> site = Site(nodes=(Node(name="a", amounts=(4,)),), reservations=(
    ...     Reservation(name="r", nodes=("a",), begin=10, end=20),))
    >>> held = Request(wanted=("a",))
    >>> [reserved_from(site, held, now) for now in (5, 15, 25)]
    [10, 10, None]
    >>> reserved_from(site, Request(wanted=("a",), reservation="r"), 5)
    """
    return min(
        (
            one.begin
            for one in site.reservations
            if one.end > now and one.name != piece.reservation and {*one.nodes} & {*piece.wanted}
        ),
        default=None,
    )
