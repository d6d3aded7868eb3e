"""Where each job ran: partitions, features, numbers of nodes and tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.shape import missing as lacking
from shadowtime.schedule.check.report import Proof, proved, violated
from shadowtime.schedule.places import compressed
from shadowtime.types import Ints

if TYPE_CHECKING:
    from shadowtime.schedule.check.site_case import SiteCase


def in_partitions(case: SiteCase) -> Proof:
    """All nodes of a job lie in one of its partitions, whose bounds on time and nodes hold."""
    name = "site-partitions"
    rows = np.flatnonzero(case.ran).tolist()
    for row in rows:
        nodes = [node for node, _ in case.places[row]]
        strange = [node for node in nodes if node not in case.shapes.index]
        if strange or not nodes:
            what = f"node {strange[0]}, which the site does not have" if strange else "no node"
            return violated(name, f"{case.case.name(row)} ran on {what}")
        if case.partition[row] < 0:
            wanted = ", ".join(one.name for one in case.shapes.chosen(case.request(row))) or "none"
            return violated(
                name,
                f"{case.case.name(row)} ran on {compressed(nodes)}, which is not within one of "
                f"its partitions ({wanted})",
            )
        partition = case.shapes.partitions[case.partition[row]]
        asked = int(case.workload.request[row])
        if partition.max_time is not None and asked > partition.max_time:
            return violated(
                name,
                f"{case.case.name(row)} asks for {asked} s, more than partition "
                f"{partition.name}'s {partition.max_time} s",
            )
        if partition.max_nodes is not None and len(nodes) > partition.max_nodes:
            return violated(
                name,
                f"{case.case.name(row)} ran on {len(nodes)} nodes, more than partition "
                f"{partition.name}'s {partition.max_nodes}",
            )
    return proved(name, f"{len(rows)} jobs within their partitions")


def with_features(case: SiteCase) -> Proof:
    """Every node has the requested features, and enough of them have what is counted; wanted nodes
    are used, excluded ones are not."""
    name = "site-features"
    rows = np.flatnonzero(case.ran).tolist()
    for row in rows:
        shape = case.shape(row)
        if shape is None:
            continue
        allowed = set(shape.nodes)
        nodes = [case.shapes.index[node] for node, _ in case.places[row]]
        wrong = [node for node in nodes if node not in allowed]
        if wrong:
            return violated(
                name,
                f"{case.case.name(row)} ran on node {case.site.nodes[wrong[0]].name}, which its "
                "features, excluded nodes or reservation rule out",
            )
        missing = [node for node in shape.nodes[: shape.wanted] if node not in nodes]
        if missing:
            return violated(
                name,
                f"{case.case.name(row)} asked for node {case.site.nodes[missing[0]].name} and did "
                "not get it",
            )
        short = lacking(shape.counts, nodes)
        if short:
            return violated(
                name,
                f"{case.case.name(row)} asks for nodes with {case.request(row).features}, and "
                f"{short} of those it ran on are missing",
            )
    return proved(name, f"{len(rows)} jobs on nodes with what they asked for")


def in_classes(case: SiteCase) -> Proof | None:
    """The nodes of a job are of one class, which its own may use; None without classes."""
    rules = case.case.rules
    if rules is None or rules.classes is None:
        return None
    name, classes = "class-eligible", rules.classes
    rows = np.flatnonzero(case.ran).tolist()
    for row in rows:
        nodes = [case.shapes.index[node] for node, _ in case.places[row]]
        kind = int(classes.kind[row])
        wrong = [node for node in nodes if not classes.allowed[kind, node]]
        if wrong:
            return violated(
                name,
                f"{case.case.name(row)} ran on {case.site.nodes[wrong[0]].name}, where "
                f"{classes.names[kind]} jobs may not run",
            )
        if len({classes.group[node] for node in nodes}) > 1:
            return violated(name, f"{case.case.name(row)} ran on nodes of both classes")
    return proved(name, f"{len(rows)} jobs, each on nodes of one class that it may use")


def as_asked(case: SiteCase) -> Proof:
    """Nodes and tasks are those of the request: not too few nodes, not too many, all tasks."""
    name = "site-requests"
    rows = np.flatnonzero(case.ran).tolist()
    for row in rows:
        shape = case.shape(row)
        if shape is None:
            if case.partition[row] >= 0:
                return violated(name, f"{case.case.name(row)} can run in no partition it asks for")
            continue
        nodes = case.places[row]
        if not shape.least <= len(nodes) <= shape.most:
            return violated(
                name,
                f"{case.case.name(row)} ran on {len(nodes)} nodes, and asks for {shape.least} to "
                f"{shape.most}",
            )
        places = sorted(case.shapes.index[node] for node, _ in nodes)
        if shape.in_a_row and places[-1] - places[0] != len(places) - 1:
            return violated(name, f"{case.case.name(row)} asks for neighbours and ran on others")
        if any(cpus is None for _, cpus in nodes):
            continue
        if shape.exclusive:
            for node, cpus in nodes:
                whole = case.site.nodes[case.shapes.index[node]].amounts[0]
                if cpus != whole:
                    return violated(
                        name,
                        f"{case.case.name(row)} has node {node} for itself, that is {whole} cpus, "
                        f"and its place says {cpus}",
                    )
            continue
        each = [int(cpus or 0) for _, cpus in nodes]
        most = shape.cpus(shape.per_node)
        if sum(each) < shape.asked[0] or min(each) < shape.cpus(1):
            return violated(
                name,
                f"{case.case.name(row)} had {sum(each)} cpus, {min(each)} of them on one node, and "
                f"asks for {shape.asked[0]}",
            )
        if max(each) > most:
            return violated(
                name, f"{case.case.name(row)} had {max(each)} cpus on one node, at most {most}"
            )
    return proved(name, f"{len(rows)} jobs with the nodes and cpus they asked for")


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
    level = np.cumsum(change, axis=0)  # every job leaves, so each node's turn begins at nothing
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
