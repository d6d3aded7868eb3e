"""A site as TOML: what :func:`shadowtime.cluster.site_toml.parse_site_toml` reads back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from shadowtime.cluster.amounts import described
from shadowtime.cluster.site import FOREVER, Association, Limits, Node, Partition, Qos, Site
from shadowtime.slurmtext.hostlist import compress


def format_site_toml(site: Site) -> str:
    """The site as TOML text; only what differs from the usual is written.

    What the readers ignored or noted is not part of a description, and is left out.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> nodes = tuple(Node(name=f"n{i}", amounts=(16,)) for i in (1, 2, 3))
    >>> print(format_site_toml(Site(nodes=nodes, name="c1")))
    [site]
    name = "c1"
    <BLANKLINE>
    [[nodes]]
    names = "n[1-3]"
    cpus = 16
    <BLANKLINE>
    """
    every = tuple(node.name for node in site.nodes)
    lines = ["[site]"]
    lines += _pairs({
        "name": site.name,
        "resources": list(site.resources) if len(site.resources) > 1 else [],
        "requeue": None if site.requeue else False,
        "enforce": sorted(site.enforce),
        **{kind.entry: value for kind, value in described(site.amounts) if not kind.prefix},
    })  # fmt: skip
    lines.append("")
    for _, alike in groupby(site.nodes, lambda node: replace(node, name="")):
        same = list(alike)
        lines += _group("nodes", _node(same, site.resources))
    for partition in site.partitions:
        lines += _group("partitions", _partition(partition, every))
    for qos in site.qos:
        lines += _group("qos", _different(qos, Qos(name="")))
    for one in site.associations:
        lines += _group("accounts", _association(one))
    for resv in site.reservations:
        lines += _group("reservations", {
            "name": resv.name, "nodes": compress(resv.nodes), "begin": _Moment(resv.begin),
            "end": None if resv.end == FOREVER else _Moment(resv.end),
            "users": sorted(resv.users), "accounts": sorted(resv.accounts),
            "flags": sorted(resv.flags), "cpus": resv.cpus or None,
            "known_at": None if resv.known_at is None else _Moment(resv.known_at),
        })  # fmt: skip
    for outage in site.outages:
        lines += _group("outages", {
            "nodes": outage.node, "begin": _Moment(outage.begin),
            "end": None if outage.end == FOREVER else _Moment(outage.end),
            "drain": outage.drain or None, "reason": outage.reason,
            "known_at": None if outage.known_at is None else _Moment(outage.known_at),
        })  # fmt: skip
    for name, nodes in site.switches:
        lines += _group("switches", {"name": name, "nodes": compress(nodes)})
    tables = {kind.entry: table for kind, table in described(site.amounts) if kind.prefix}
    for title, table in (*tables.items(), ("config", site.config)):
        if table:
            lines += [f"[{title}]", *_pairs(table, every=True), ""]
    return "\n".join(lines)


class _Moment(int):
    """Seconds since 1970, to be written as a date."""


def _node(same: list[Node], resources: tuple[str, ...]) -> dict[str, Any]:
    first = same[0]
    amounts = dict(zip(resources, first.amounts, strict=True))
    gres = {name: n for name, n in amounts.items() if name not in ("cpus", "memory")}
    entries: dict[str, Any] = {
        "names": compress([node.name for node in same]),
        "cpus": amounts["cpus"],
    }
    if "memory" in amounts:
        entries["memory"] = _size(amounts["memory"])
    if first.real_memory and first.real_memory != amounts.get("memory"):
        entries["real_memory"] = _size(first.real_memory)
    entries["gres"] = _gres(gres)
    entries["features"] = sorted(first.features)
    usual = Node(name="", amounts=())
    for key in ("weight", "sockets", "threads_per_core"):
        if getattr(first, key) != getattr(usual, key):
            entries[key] = getattr(first, key)
    entries["near"] = list(first.near)
    return entries


def _gres(amounts: Mapping[str, int]) -> str:
    """Types, then what the family has besides; a family of none is written for its name."""
    parts = [f"{name}:{count}" for name, count in amounts.items() if ":" in name]
    for name, count in amounts.items():
        if ":" not in name:
            typed = sum(n for other, n in amounts.items() if other.startswith(f"{name}:"))
            if count != typed or not typed:
                parts.append(f"{name}:{count - typed}")
    return ",".join(parts)


def _partition(one: Partition, every: tuple[str, ...]) -> dict[str, Any]:
    entries = _different(one, Partition(name="", nodes=()))
    entries["nodes"] = "ALL" if one.nodes == every else compress(one.nodes)
    if one.default_memory is not None:
        entries["default_memory"] = _size(one.default_memory)
    return entries


def _association(one: Association) -> dict[str, Any]:
    entries = _different(one, Association(account=""))
    if one.shares is None:
        entries["shares"] = "parent"
    usual = one.account if one.user else "" if one.account == "root" else "root"
    entries["parent"] = None if one.parent == usual else one.parent
    return entries


def _different(one: Any, usual: Any) -> dict[str, Any]:
    """The fields that are not as usual, in their order."""
    entries: dict[str, Any] = {}
    for each in fields(one):
        value = getattr(one, each.name)
        if value != getattr(usual, each.name):
            entries[each.name] = _different(value, Limits()) if each.name == "limits" else value
    return entries


def _size(kb: int) -> str | int:
    for unit, factor in (("GB", 1 << 20), ("MB", 1 << 10)):
        if kb and kb % factor == 0:
            return f"{kb // factor}{unit}"
    return kb


def _group(title: str, entries: Mapping[str, Any]) -> list[str]:
    return [f"[[{title}]]", *_pairs(entries), ""]


def _pairs(entries: Mapping[str, Any], *, every: bool = False) -> list[str]:
    """Lines ``key = value``; what is empty is left out unless ``every`` is wanted."""
    return [
        f"{_key(name)} = {_value(value)}"
        for name, value in entries.items()
        if every or (value is not None and value != "" and not _is_empty(value))
    ]


def _is_empty(value: object) -> bool:
    return isinstance(value, list | tuple | frozenset | dict) and not value


def _key(name: str) -> str:
    plain = name.replace("_", "").replace("-", "")
    return name if plain.isascii() and plain.isalnum() else _quoted(name)


def _value(value: Any) -> str:
    if isinstance(value, _Moment):
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, frozenset):
        return _value(sorted(value))
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return f"{{ {', '.join(_inline(value.items()))} }}"


def _inline(items: Iterable[tuple[str, Any]]) -> list[str]:
    return [f"{_key(name)} = {_value(value)}" for name, value in items]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
