"""The changes of a what-if: each a value that turns one world into another."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from shadowtime.cluster.amounts import COUNTED
from shadowtime.cluster.site import Node, Site
from shadowtime.errors import ClusterError, UsageError, near
from shadowtime.metrics.window import seconds_of
from shadowtime.policy import make_policy
from shadowtime.slurmtext.hostlist import expand
from shadowtime.study.replicas import Load
from shadowtime.study.site import keys
from shadowtime.study.site.settings import canonical, with_setting
from shadowtime.study.site.world import SiteWorld
from shadowtime.types import NO_LIMIT
from shadowtime.workload.site_requests import requests_of

MOST = 100_000
"""Nodes that can be added at once."""


def add_nodes(site: Site, text: str) -> Site:
    """``KIND=N``: N more nodes like those of a kind, in the same partitions.

    Rules
    -----
    KIND is a node, a partition, a feature, a GRES (``gpu``, ``gpu:a100``) or the beginning of node
    names; the first that matches. Of several kinds of nodes in it the most frequent is used. New
    nodes continue the numbering and come last in the order.

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
        known = next((one.name for one in site.partitions), "gpu")
        raise UsageError(
            f"--add-nodes {text}: write KIND=N, as in {known}=8: a partition, a feature, a GRES or "
            "a node, and how many more of them"
        )
    pattern = like_kind(site, kind.strip())
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


def like_kind(site: Site, kind: str) -> Node:
    """The node that new ones of a kind are like."""
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


Kind = Literal["set", "add-nodes", "remove-nodes", "max-limit", "policy", "load"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Change:
    """One change by its option and the text given to it.

    Examples
    --------
    >>> Change("set", "BF_INTERVAL=60").label, Change("add-nodes", "gpu=8").label
    ('bf_interval=60', '8 more nodes like gpu')
    """

    kind: Kind
    text: str

    def __post_init__(self) -> None:
        if self.kind == "set":
            key, equals, _ = self.text.partition("=")
            if not equals or not key.strip():
                raise UsageError(f"--set {self.text}: write KEY=VALUE, as in bf_max_job_test=2000")
            canonical(key.strip())

    @property
    def key(self) -> str:
        """What a --set changes, as Slurm spells it; the option for the others."""
        return canonical(self.text.partition("=")[0].strip()) if self.kind == "set" else self.kind

    @property
    def value(self) -> str:
        """What it is set to."""
        return self.text.partition("=")[2].strip() if self.kind == "set" else self.text.strip()

    @property
    def label(self) -> str:
        """In a table."""
        if self.kind == "set":
            return f"{self.key}={self.value}"
        if self.kind == "add-nodes":
            kind, _, count = self.text.rpartition("=")
            return f"{count} more node{'' if count == '1' else 's'} like {kind}"
        words = {"remove-nodes": "without", "max-limit": "time limits up to", "load": "load"}
        return f"{words.get(self.kind, self.kind)} {self.value}"

    def apply(self, world: SiteWorld) -> SiteWorld:
        """The world with this change."""
        site = world.site
        if self.kind == "set":
            return with_setting(world, self.text.partition("=")[0].strip(), self.value)
        if self.kind == "add-nodes":
            return world.replace(site=add_nodes(site, self.text))
        if self.kind == "remove-nodes":
            return world.replace(site=remove_nodes(site, self.text))
        if self.kind == "max-limit":
            return _limited(world, seconds_of(self.value, option=f"--max-limit {self.value}"))
        if self.kind == "load":
            return world.replace(jobs=Load.parse(self.value).apply(world.jobs, site))  # type: ignore[arg-type]
        return world.replace(policy=make_policy(self.value))


def _limited(world: SiteWorld, most: int) -> SiteWorld:
    """A cap on requests: higher ones are lowered, and jobs end there."""
    jobs = world.jobs
    limit = np.where(jobs.limit == NO_LIMIT, jobs.limit, np.minimum(jobs.limit, most))
    return world.replace(jobs=jobs.replace(request=np.minimum(jobs.request, most), limit=limit))


def apply_all(world: SiteWorld, changes: Iterable[Change]) -> SiteWorld:
    """All of them, in their order."""
    for change in changes:
        world = change.apply(world)
    return world


def changes_of(given: Any) -> tuple[Change, ...]:
    """Changes from pairs (kind, text), a mapping of settings, or changes themselves."""
    if isinstance(given, dict):
        return tuple(Change("set", f"{key}={value}") for key, value in given.items())
    return tuple(one if isinstance(one, Change) else Change(*one) for one in given)


def without_effect(world: SiteWorld, changes: Sequence[Change]) -> list[str]:
    """Sentences about changes that have no effect in the changed world, each with what to do."""
    found = []
    site = world.site
    slurm = hasattr(world.policy, "phase")
    multifactor = "multifactor" in site.setting("PriorityType")
    for change in changes:
        key = change.key
        name = key.rpartition(".")[2]
        own = key in keys.GLOBAL and key not in (
            "AccountingStorageEnforce",
            *(kind.setting for kind in COUNTED),
            "JobRequeue",
        )
        if own and not slurm:
            found.append(f"{key} has no effect under {world.policy.name}: only slurm models it")
        elif own and key.startswith(("Priority", "FairShare")) and not multifactor:
            if key != "PriorityType":
                found.append(f"{key} has no effect: add --set PriorityType=priority/multifactor")
        elif key.startswith("bf_") and site.setting("SchedulerType").endswith("builtin"):
            found.append(f"{key} has no effect: SchedulerType is sched/builtin")
        kind = next((one for one in COUNTED if one.setting == key), None)
        if kind is not None:
            asked = requests_of(world.jobs, site).distinct
            if not any(kind.cell(one.amounts) for one in asked):
                found.append(f"{key} has no effect: no job of the log takes {kind.entry}")
        limits = keys.QOS_LIMITS | keys.ASSOCIATION_LIMITS
        scoped = key.startswith(("qos.", "account.", "user."))
        if scoped and name in limits and "limits" not in site.enforce:
            found.append(
                f"{key} has no effect: limits are not enforced; add "
                "--set AccountingStorageEnforce=limits"
            )
    return found
