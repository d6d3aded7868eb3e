"""Reservations and outages that a what-if adds."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from shadowtime.cluster.site import FOREVER, Outage
from shadowtime.cluster.slurm_reservations import parse_reservations
from shadowtime.cluster.slurm_text import parse_limit
from shadowtime.cluster.slurm_values import parse_stamp
from shadowtime.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.study.site.world import SiteWorld


def with_reservation(world: SiteWorld, name: str, words: str) -> SiteWorld:
    """A reservation by the words of ``scontrol create reservation``; ``no`` removes one.

    Duration is in Slurm's forms (minutes, days-hours, ...), in place of EndTime.
    """
    site = world.site
    others = tuple(one for one in site.reservations if one.name != name)
    if words.strip().lower() == "no":
        if len(others) == len(site.reservations):
            raise ClusterError(f"there is no reservation {name}")
        return world.on_site(reservations=others)
    given = re.search(r"\bDuration=(\S+)", words, re.IGNORECASE)
    text = re.sub(r"\bDuration=\S+", "", words, flags=re.IGNORECASE)
    ignored: list[str] = []
    found = parse_reservations(
        f"ReservationName={name} {text}", world.zone, path=f"reservation {name}",
        ignore=ignored.append,
    )[0]  # fmt: skip
    if ignored:
        raise ClusterError(f"not modelled: {', '.join(ignored)}")
    known = {node.name for node in site.nodes}
    strange = [node for node in found.nodes if node not in known]
    if strange or not found.nodes:
        raise ClusterError(f"there is no node {strange[0]}" if strange else "give Nodes=...")
    if given:
        lasts = parse_limit(given[1])
        found = replace(found, end=FOREVER if lasts is None else found.begin + lasts)
    if found.end <= found.begin:
        raise ClusterError("it ends before it begins: give EndTime or Duration")
    return world.on_site(reservations=(*others, found))


def with_outage(world: SiteWorld, nodes: Sequence[str], value: str, *, drain: bool) -> SiteWorld:
    """Nodes that take no jobs FROM/UNTIL; running ones go on if they are drained."""
    first, slash, last = value.partition("/")
    try:
        begin = parse_stamp(first.strip(), world.zone)
        end = parse_stamp(last.strip(), world.zone) if last.strip() else FOREVER
    except ValueError as error:
        raise ClusterError(str(error)) from None
    if begin < 0 or not slash or end <= begin:
        raise ClusterError("write FROM/UNTIL, as in 2026-05-04T08:00:00/2026-05-04T12:00:00")
    more = tuple(Outage(node=name, begin=begin, end=end, drain=drain) for name in nodes)
    return world.on_site(outages=(*world.site.outages, *more))
