"""A site described in TOML, for people: see docs/reference/site.md for every key.

.. code-block:: toml

    [site]
    name = "c1"
    enforce = ["limits"]

    [[nodes]]
    names = "n[001-100]"
    cpus = 64
    memory = "256GB"
    gres = "gpu:a100:4"

    [[partitions]]
    name = "batch"
    nodes = "ALL"
    max_time = "1-00:00:00"
"""

from __future__ import annotations

import tomllib
from typing import Any

from shadowtime.cluster.amounts import COUNTED, from_toml
from shadowtime.cluster.site import (
    FOREVER,
    Association,
    Limits,
    Node,
    Outage,
    Partition,
    Qos,
    Reservation,
    Site,
)
from shadowtime.cluster.site_table import Document, Group
from shadowtime.errors import ClusterError
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.tres import parse_gres

TABLES = ("site", "nodes", "partitions", "qos", "accounts", "reservations", "outages",
          *(kind.entry for kind in COUNTED if kind.prefix), "config", "switches")  # fmt: skip
MAX_NODES = 1_000_000


def is_site_toml(text: str) -> bool:
    """Does this TOML describe a site (it has a table [site])?"""
    return any(line.split("#")[0].strip() == "[site]" for line in text.splitlines())


def parse_site_toml(text: str, *, path: str = "the site file") -> Site:
    """The site that a TOML text describes.

    Examples
    --------
    >>> site = parse_site_toml('''
    ... [site]
    ... name = "c1"
    ... [[nodes]]
    ... names = "n[1-2]"
    ... cpus = 16
    ... memory = "64GB"
    ... [[nodes]]
    ... names = "g1"
    ... cpus = 32
    ... memory = "256GB"
    ... gres = "gpu:a100:4"
    ... [[partitions]]
    ... name = "all"
    ... nodes = "ALL"
    ... max_time = "12:00:00"
    ... ''')
    >>> site.resources, site.nodes[2].amounts
    (('cpus', 'memory', 'gpu', 'gpu:a100'), (32, 268435456, 4, 4))
    >>> parse_site_toml("[site]\\n[[nodes]]\\nname = 'n1'\\ncpus = 4", path="s.toml")
    Traceback (most recent call last):
    ...
    shadowtime.errors.ClusterError: s.toml: nodes 1: there is no key 'name': did you mean names?
    """
    try:
        whole = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits are ValueErrors
        raise ClusterError(f"{path}: {error}") from None
    document = Document(whole, path)
    document.only(TABLES)
    head = document.table("site")
    groups = [_nodes(group) for group in document.groups("nodes")]
    if not groups:
        raise ClusterError(f"{path}: there is no node in it: write [[nodes]] with names and cpus")
    counted = _resources(head, groups)
    nodes = [node for group in groups for node in _named(group, counted, path)]
    if len(nodes) > MAX_NODES:
        raise ClusterError(f"{path}: more than {MAX_NODES} nodes")
    every = tuple(node.name for node in nodes)
    config = document.table("config")
    site = Site(
        nodes=tuple(nodes),
        resources=counted,
        name=head.text("name"),
        requeue=head.flag("requeue", True),
        enforce=frozenset(head.texts("enforce")),
        partitions=tuple(_partition(one, every) for one in document.groups("partitions")),
        qos=tuple(_qos(one) for one in document.groups("qos")),
        associations=tuple(_association(one) for one in document.groups("accounts")),
        reservations=tuple(_reservation(one, every) for one in document.groups("reservations")),
        outages=tuple(o for one in document.groups("outages") for o in _outages(one, every)),
        switches=tuple(
            (one.text("name"), one.hosts("nodes", every)) for one in document.groups("switches")
        ),
        amounts=from_toml(document, head),
        config={name: config.text(name) for name in config.names()},
    )
    document.done()
    return site


def _nodes(group: Group) -> dict[str, Any]:
    listed = group.text("names", needed=True)
    try:
        names = expand(listed)
    except ClusterError as error:
        raise ClusterError(f"{group.where}: {error}") from None
    if not names:
        raise ClusterError(f"{group.where}: names must be a host list like n[001-100]")
    amounts = {"cpus": group.whole("cpus", low=1)}
    memory = group.memory("memory")
    if memory is not None:
        amounts["memory"] = memory
    gres = parse_gres(group.text("gres"))
    near = group.wholes("near")
    return {
        "names": names,
        "amounts": amounts | gres,
        "features": frozenset(group.texts("features")),
        "weight": group.whole("weight", 1),
        "sockets": group.whole("sockets", 1, low=1),
        "threads_per_core": group.whole("threads_per_core", 1, low=1),
        "near": tuple(near),
        "real_memory": group.memory("real_memory") or memory or 0,
    }


def _resources(head: Group, groups: list[dict[str, Any]]) -> tuple[str, ...]:
    found = dict.fromkeys(name for group in groups for name in group["amounts"])
    named = head.texts("resources")
    if named:
        missing = [name for name in named if name not in found and name != "cpus"]
        if missing:
            raise ClusterError(f"{head.where}: no node has {missing[0]}")
        return ("cpus", *(name for name in named if name != "cpus"))
    others = sorted(
        (name for name in found if name not in ("cpus", "memory")),
        key=lambda name: (list(found).index(name.partition(":")[0]), ":" in name),
    )
    return ("cpus", *(["memory"] if "memory" in found else []), *others)


def _named(group: dict[str, Any], counted: tuple[str, ...], path: str) -> list[Node]:
    rest = {key: value for key, value in group.items() if key not in ("names", "amounts")}
    amounts = tuple(group["amounts"].get(name, 0) for name in counted)
    return [Node(name=name, amounts=amounts, **rest) for name in group["names"]]


def _partition(one: Group, every: tuple[str, ...]) -> Partition:
    usual = Partition(name="", nodes=())
    return Partition(
        name=one.text("name", needed=True),
        nodes=one.hosts("nodes", every),
        max_time=one.span("max_time"),
        default_time=one.span("default_time"),
        min_nodes=one.whole("min_nodes", 0),
        max_nodes=one.maybe("max_nodes"),
        max_cpus_per_node=one.maybe("max_cpus_per_node"),
        default_cpus_per_gpu=one.maybe("default_cpus_per_gpu"),
        tier=one.whole("tier", usual.tier),
        priority_factor=one.whole("priority_factor", usual.priority_factor),
        exclusive=one.flag("exclusive", False),
        exclusive_user=one.flag("exclusive_user", False),
        least_loaded=one.flag("least_loaded", False),
        default_memory=one.memory("default_memory"),
        default_memory_per=one.choice("default_memory_per", ("cpu", "node")) or "cpu",
        max_memory=one.memory("max_memory"),
        max_memory_per=one.choice("max_memory_per", ("cpu", "node")) or "cpu",
        qos=one.text("qos"),
        preempt=one.preempt("preempt"),
        up=one.flag("up", True),
        default=one.flag("default", False),
        billing=one.weights("billing"),
    )


def _limits(one: Group) -> Limits:
    table = one.table("limits")
    found: dict[str, Any] = {}
    for name in Limits.__dataclass_fields__:
        if name.endswith("_wall"):
            found[name] = table.span(name)
        elif name.endswith(("_resources", "_minutes")):
            found[name] = table.amounts(name)
        else:
            found[name] = table.maybe(name)
    return Limits(**found)


def _qos(one: Group) -> Qos:
    return Qos(
        name=one.text("name", needed=True),
        priority=one.whole("priority", 0),
        limits=_limits(one),
        preempts=one.texts("preempts"),
        preempt=one.preempt("preempt"),
        flags=frozenset(one.texts("flags")),
        usage_factor=one.real("usage_factor", 1.0),
        grace=one.span("grace") or 0,
    )


def _association(one: Group) -> Association:
    account, user = one.text("account", needed=True), one.text("user")
    shares = one.shares("shares")
    return Association(
        account=account,
        user=user,
        partition=one.text("partition"),
        parent=one.text("parent") or (account if user else "" if account == "root" else "root"),
        shares=shares,
        limits=_limits(one),
        default_qos=one.text("default_qos"),
        allowed_qos=one.texts("allowed_qos"),
        priority=one.whole("priority", 0),
        usage=one.real("usage", 0.0),
    )


def _reservation(one: Group, every: tuple[str, ...]) -> Reservation:
    end = one.moment("end")
    begin = one.moment("begin")
    if begin is None:
        raise ClusterError(f"{one.where}: begin is missing: write it like 2026-03-01T08:00:00Z")
    return Reservation(
        name=one.text("name", needed=True),
        nodes=one.hosts("nodes", every),
        begin=begin,
        end=FOREVER if end is None else end,
        users=frozenset(one.texts("users")),
        accounts=frozenset(one.texts("accounts")),
        flags=frozenset(one.texts("flags")),
        known_at=one.moment("known_at"),
        cpus=one.whole("cpus", 0),
    )


def _outages(one: Group, every: tuple[str, ...]) -> list[Outage]:
    """An outage names one node or several."""
    begin, end = one.moment("begin"), one.moment("end")
    if begin is None:
        raise ClusterError(f"{one.where}: begin is missing: write it like 2026-03-01T08:00:00Z")
    known, drain, reason = one.moment("known_at"), one.flag("drain", False), one.text("reason")
    return [
        Outage(
            node=name, begin=begin, end=FOREVER if end is None else end, drain=drain,
            known_at=known, reason=reason,
        )
        for name in one.hosts("nodes", every)
    ]  # fmt: skip
