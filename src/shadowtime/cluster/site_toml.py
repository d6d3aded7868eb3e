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
from collections.abc import Callable, Mapping
from dataclasses import fields
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


def _read(one: Group, kind: Any, **given: Any) -> Any:
    """A value of a class whose fields are the keys of a table, by what each of them is.

    ``given`` are the fields that are read otherwise; a key that is missing is as usual.
    """
    for each in fields(kind):
        if each.name not in given and (read := _BY_TYPE.get(str(each.type))) is not None:
            given[each.name] = read(one, each.name, each.default)
    return kind(**given)


_BY_TYPE: Mapping[str, Callable[[Group, str, Any], Any]] = {
    "int": lambda one, key, usual: one.whole(key, usual),
    "int | None": lambda one, key, usual: one.maybe(key),
    "float": lambda one, key, usual: one.real(key, usual),
    "bool": lambda one, key, usual: one.flag(key, usual),
    "str": lambda one, key, usual: one.text(key),
    "frozenset[str]": lambda one, key, usual: frozenset(one.texts(key)),
    "tuple[str, ...]": lambda one, key, usual: one.texts(key),
    "Mapping[str, float]": lambda one, key, usual: one.weights(key),
    "Preempting | None": lambda one, key, usual: one.preempt(key),
    "Limits": lambda one, key, usual: _limits(one),
    "Literal['cpu', 'node']": lambda one, key, usual: one.choice(key, ("cpu", "node")) or usual,
}


def _partition(one: Group, every: tuple[str, ...]) -> Any:
    return _read(
        one, Partition, name=one.text("name", needed=True), nodes=one.hosts("nodes", every),
        **{key: one.span(key) for key in ("max_time", "default_time")},
        **{key: one.memory(key) for key in ("default_memory", "max_memory")},
    )  # fmt: skip


def _limits(one: Group) -> Limits:
    table = one.table("limits")
    reads: dict[str, Callable[..., Any]]
    reads = {"span": table.span, "amounts": table.amounts, "count": table.maybe}
    return Limits(
        **{each.name: reads[Limits.kind(each.name)](each.name) for each in fields(Limits)}
    )


def _qos(one: Group) -> Any:
    return _read(one, Qos, name=one.text("name", needed=True), grace=one.span("grace") or 0)


def _association(one: Group) -> Any:
    account, user = one.text("account", needed=True), one.text("user")
    above = account if user else "" if account == "root" else "root"
    return _read(
        one, Association, account=account, parent=one.text("parent") or above,
        shares=one.shares("shares"),
    )  # fmt: skip


def _span(one: Group) -> dict[str, Any]:
    """Begin, end, and from when both are known."""
    begin, end, known = one.moment("begin"), one.moment("end"), one.moment("known_at")
    if begin is None:
        raise ClusterError(f"{one.where}: begin is missing: write it like 2026-03-01T08:00:00Z")
    return {"begin": begin, "end": FOREVER if end is None else end, "known_at": known}


def _reservation(one: Group, every: tuple[str, ...]) -> Any:
    name, nodes = one.text("name", needed=True), one.hosts("nodes", every)
    return _read(one, Reservation, name=name, nodes=nodes, **_span(one))


def _outages(one: Group, every: tuple[str, ...]) -> list[Outage]:
    """An outage names one node or several."""
    span = _span(one)
    return [_read(one, Outage, node=name, **span) for name in one.hosts("nodes", every)]
