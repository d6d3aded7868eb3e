"""What a recording contains about a site: the site as TOML, and what each job requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from shadowtime import plain
from shadowtime.cluster.site import Site
from shadowtime.cluster.site_toml import parse_site_toml
from shadowtime.cluster.site_toml_write import format_site_toml
from shadowtime.errors import InputError
from shadowtime.slurmtext.tres import LICENCE_PREFIX
from shadowtime.types import MAX_SPAN
from shadowtime.workload.request import Gres, Request

if TYPE_CHECKING:
    from shadowtime.live.port import Snapshot


def site_to_json(site: Site) -> str:
    """The site as TOML text, which people can read too; Slurm's own settings are omitted."""
    return format_site_toml(site.replace(config={}))


def site_from_json(value: Any) -> Site:
    """The site that :func:`site_to_json` wrote.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> site = Site(nodes=(Node(name="n1", amounts=(4,)),), name="c1")
    >>> site_from_json(site_to_json(site)) == site
    True
    """
    return _parsed(plain.text(value, "site"))


@lru_cache(maxsize=16)
def _parsed(text: str) -> Site:
    """Most passes of a recording have the same site."""
    return parse_site_toml(text, path="the recorded site")


def ask_to_json(ask: Request) -> dict[str, Any]:
    """A request as plain values; only what differs from the default."""
    usual = asdict(Request())
    return {name: value for name, value in asdict(ask).items() if value != usual[name]}


def ask_from_json(value: Any, name: str) -> Request:
    """The request that :func:`ask_to_json` wrote; InputError names the first wrong value.

    Examples
    --------
    >>> import json
    >>> ask = Request(tasks=4, gres=(Gres(name="gpu", count=1),), partitions=("a", "b"))
    >>> ask_from_json(json.loads(json.dumps(ask_to_json(ask))), "ask") == ask
    True
    >>> ask_from_json({"licences": [["matlab", 2]]}, "ask").amounts
    (('license/matlab', 2),)
    """
    values = dict(plain.mapping(value, name))
    if "licences" in values:  # in records that earlier releases wrote
        old = plain.pairs(values.pop("licences"), "licences", _amount)
        values["amounts"] = [[f"{LICENCE_PREFIX}{one}", count] for one, count in old]
    plain.known(values, [one.name for one in fields(Request)], "a request")
    return Request(**{key: FIELDS[key](entry, key) for key, entry in values.items()})


def _count(value: Any, name: str) -> int:
    return plain.whole(value, name, low=1, high=MAX_SPAN)


def _amount(value: Any, name: str) -> int:
    return plain.whole(value, name, low=0)


def _gres(value: Any, name: str) -> tuple[Gres, ...]:
    found = []
    for one in plain.items(value, name):
        values = plain.mapping(one, name)
        per = plain.text(plain.entry(values, "per"), "per")
        if per not in ("node", "task", "job"):
            raise InputError(f"{name} is counted per node, task or job, not {per[:40]!r}")
        count = plain.whole(plain.entry(values, "count"), name, low=0)
        found.append(Gres(name=plain.text(plain.entry(values, "name"), name), count=count, per=per))  # type: ignore[arg-type]
    return tuple(found)


def _one_of(*words: str) -> Callable[[Any, str], str]:
    def read(value: Any, name: str) -> str:
        if value not in words:
            raise InputError(f"{name} must be {' or '.join(words)}")
        return str(value)

    return read


FIELDS: Mapping[str, Callable[[Any, str], Any]] = {
    "nodes": _count,
    "max_nodes": _count,
    "aim": _one_of("most", "least", "spread"),
    "tasks": _count,
    "cpus_per_task": _count,
    "tasks_per_node": _count,
    "least_cpus": _count,
    "memory": _amount,
    "memory_per": _one_of("node", "cpu"),
    "gres": _gres,
    "cpus_per_gpu": _count,
    "features": plain.text,
    "exclusive": plain.flag,
    "exclusive_user": plain.flag,
    "contiguous": plain.flag,
    "partitions": plain.texts,
    "qos": plain.text,
    "account": plain.text,
    "reservation": plain.text,
    "wanted": plain.texts,
    "excluded": plain.texts,
    "amounts": lambda value, name: plain.pairs(value, name, _amount),
}
"""What every field of a request must be."""


def refuse_incomplete(state: Snapshot) -> None:
    """InputError if a pass on a site lacks the site, or a job its request."""
    if state.site is None:
        raise InputError("a pass on a site must have the site")
    known = {node.name for node in state.site.nodes}
    width = len(state.site.resources)
    for job in state.waiting:
        if job.ask is None:
            raise InputError(f"job {job.id} lacks its request from the site")
    for run in state.running:
        if not all(host in known and len(amounts) == width for host, amounts in run.held):
            raise InputError(f"job {run.id} lacks what it holds on each of its nodes")
    if not known.issuperset(state.shut):
        raise InputError("a node that is shut is not described")
