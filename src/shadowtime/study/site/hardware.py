"""More nodes of a kind, or fewer nodes."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from shadowtime.cluster.hostlist import expand
from shadowtime.errors import ClusterError, UsageError
from shadowtime.study.site.keys import near

if TYPE_CHECKING:
    from shadowtime.cluster.site import Node, Site

MOST = 100_000
"""Nodes that can be added at once."""


def add_nodes(site: Site, text: str) -> Site:
    """``KIND=N``: N more nodes like those of a kind, in the same partitions.

    Rules
    -----
    KIND is a node, a partition, a feature, a GRES (``gpu``, ``gpu:a100``) or what the names of
    nodes begin with; the first that fits. Of several kinds of nodes in it the most frequent is
    taken. New nodes are numbered on and stand at the end of the order.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Partition, Site
    >>> site = Site(nodes=(Node(name="n09", amounts=(16,)),),
    ...             partitions=(Partition(name="batch", nodes=("n09",)),))
    >>> larger = add_nodes(site, "batch=2")
    >>> [node.name for node in larger.nodes], larger.partitions[0].nodes
    (['n09', 'n10', 'n11'], ('n09', 'n10', 'n11'))
    """
    kind, equals, count = text.strip().rpartition("=")
    if not equals or not kind or not re.fullmatch(r"\d{1,6}", count) or not 0 < int(count) <= MOST:
        raise UsageError(f"--add-nodes {text}: write KIND=N, as in gpu=8")
    pattern = _pattern(site, kind.strip())
    names = _numbered_on(site, pattern.name, int(count))
    new = tuple(replace(pattern, name=name) for name in names)
    return site.replace(
        nodes=(*site.nodes, *new),
        partitions=tuple(
            replace(one, nodes=(*one.nodes, *names)) if pattern.name in one.nodes else one
            for one in site.partitions
        ),
        switches=tuple(
            (switch, (*nodes, *names) if pattern.name in nodes else nodes)
            for switch, nodes in site.switches
        ),
    )


def _pattern(site: Site, kind: str) -> Node:
    """The node that new ones are like."""
    members = {one.name: set(one.nodes) for one in site.partitions}
    at = {name: number for number, name in enumerate(site.resources)}
    ways = (
        [node for node in site.nodes if node.name == kind],
        [node for node in site.nodes if node.name in members.get(kind, ())],
        [node for node in site.nodes if kind in node.features],
        [node for node in site.nodes if kind in at and at[kind] and node.amounts[at[kind]]],
        [node for node in site.nodes if re.fullmatch(re.escape(kind) + r"\d+", node.name)],
    )
    found = next((way for way in ways if way), [])
    if not found:
        beginnings = {re.sub(r"\d+$", "", node.name) for node in site.nodes}
        features = {feature for node in site.nodes for feature in node.features}
        known = sorted({*members, *features, *site.resources[1:], *beginnings} - {""})
        raise UsageError(f"--add-nodes: no node is of kind {kind!r}{near(kind, known)}")
    alike = Counter(replace(node, name="") for node in found)
    usual = alike.most_common(1)[0][0]
    return next(node for node in found if replace(node, name="") == usual)


def _numbered_on(site: Site, like: str, count: int) -> list[str]:
    match = re.fullmatch(r"(.*?)(\d+)(\D*)", like)
    head, digits, tail = match.groups() if match else (f"{like}-", "0", "")
    taken = {node.name for node in site.nodes}
    same = re.compile(re.escape(head) + r"(\d+)" + re.escape(tail))
    numbers = [int(hit[1]) for name in taken if (hit := same.fullmatch(name))]
    number = max(numbers, default=0)
    names: list[str] = []
    while len(names) < count:
        number += 1
        names.append(f"{head}{str(number).zfill(len(digits))}{tail}")
    return names


def remove_nodes(site: Site, text: str) -> Site:
    """Without the nodes of a host list, in all partitions, reservations and switches.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> site = Site(nodes=tuple(Node(name=f"n{k}", amounts=(4,)) for k in (1, 2, 3)))
    >>> [node.name for node in remove_nodes(site, "n[2-3]").nodes]
    ['n1']
    """
    try:
        gone = set(expand(text))
    except ClusterError as error:
        raise UsageError(f"--remove-nodes: {error}") from None
    known = [node.name for node in site.nodes]
    strange = sorted(gone - set(known))
    if strange or not gone:
        name = strange[0] if strange else text
        raise UsageError(f"--remove-nodes: there is no node {name}{near(name, known)}")
    if len(gone) == len(known):
        raise UsageError(f"--remove-nodes {text}: no node would be left")

    def left(nodes: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in nodes if name not in gone)

    reservations = tuple(replace(one, nodes=left(one.nodes)) for one in site.reservations)
    switches = tuple((switch, left(nodes)) for switch, nodes in site.switches)
    return site.replace(
        nodes=tuple(node for node in site.nodes if node.name not in gone),
        partitions=tuple(replace(one, nodes=left(one.nodes)) for one in site.partitions),
        reservations=tuple(one for one in reservations if one.nodes or one.cpus),
        outages=tuple(one for one in site.outages if one.node not in gone),
        switches=tuple((switch, nodes) for switch, nodes in switches if nodes),
        unusable=left(site.unusable),
    )
