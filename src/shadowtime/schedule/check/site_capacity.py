"""Every node and resource at every instant, and nodes that are one job's alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.check.report import Proof, proved, violated

if TYPE_CHECKING:
    from shadowtime.schedule.check.site_case import SiteCase
    from shadowtime.types import Ints


def each_node(case: SiteCase) -> Proof:
    """On no node more of a resource is in use at any instant than the node offers."""
    name, site = "site-capacity", case.site
    row, node, amounts = case.entries
    capacity = np.array([one.amounts for one in site.nodes], np.int64)
    order, time, level = levels(case, amounts)
    where = np.concatenate([node, node])[order]
    over = np.argwhere(level > capacity[where])
    if len(over):
        at, k = over[np.argmin(time[over[:, 0]])]
        job = int(np.concatenate([row, row])[order][at])
        return violated(
            name,
            f"at {time[at]} s {level[at, k]} of {capacity[where[at], k]} {site.resources[k]} of "
            f"node {site.nodes[where[at]].name} are in use: {case.case.name(job)} is one of those",
        )
    return proved(name, f"{len(row)} places on {len(site.nodes)} nodes, none beyond its amounts")


def levels(case: SiteCase, amounts: Ints) -> tuple[Ints, Ints, Ints]:
    """Order of all begins and ends by (node, time, ends first), their times, and what is in use."""
    row, node, _ = case.entries
    s = case.case.schedule
    time = np.concatenate([s.start[row], s.end[row]])
    sign = np.concatenate([np.ones(len(row), np.int64), -np.ones(len(row), np.int64)])
    both = np.concatenate([node, node])
    # A run of no length takes nothing at any instant: its end comes with its begin, ends first.
    order = np.lexsort((sign, time, both))
    change = (sign[:, None] * np.concatenate([amounts, amounts]))[order]
    level = np.cumsum(change, axis=0)  # everybody leaves, so each node's turn begins at nothing
    return order, time[order], level


def alone(case: SiteCase) -> Proof:
    """A job with whole nodes, by its request or its partition, shares none of them."""
    name = "site-exclusive"
    row, node, _ = case.entries
    s = case.case.schedule
    whole = np.array([bool((one := case.shape(int(r))) and one.exclusive) for r in row], bool)
    order = np.lexsort((s.end[row], s.start[row], node))
    last: dict[int, list[int]] = {}
    for at in order.tolist():
        here = int(node[at])
        if s.end[row[at]] <= s.start[row[at]]:
            continue
        running = [b for b in last.get(here, []) if s.end[row[b]] > s.start[row[at]]]
        for other in running:
            if whole[at] or whole[other]:
                mine, its = (at, other) if whole[at] else (other, at)
                return violated(
                    name,
                    f"{case.case.name(int(row[mine]))} has node {case.site.nodes[here].name} for "
                    f"itself, and {case.case.name(int(row[its]))} runs there too at "
                    f"{s.start[row[at]]} s",
                )
        last[here] = [*running, at]
    return proved(name, f"{int(whole.sum())} whole nodes given, none shared")
