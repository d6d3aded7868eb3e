"""A machine described in TOML: groups of equal hosts.

.. code-block:: toml

    [cluster]
    name = "o2k"
    shape = "hosts"            # a job fits inside one host; "nodes": it spreads; "pool": one sum
    memory_unit = 1000         # what a GB is made of: 1024 (default) or 1000 MB
    resources = ["procs", "memory", "licences"]    # default: procs, and memory, gpus where given

    [[hosts]]
    name = "big"
    count = 3                  # default 1; hosts are called big-1, big-2, big-3;
                               # name = "n[1-3]" without count gives n1, n2, n3
    procs = 128
    memory = "64GB"            # text with a unit, or a number of KB
    licences = 2
    features = ["fast"]        # any other key is kept in Cluster.options["groups"]["big"]

    [dedicated]                # jobs above any of these take a whole host while they run
    procs = 64
    memory = "25GB"
    exclusive = true           # default; false: they share hosts like all others

Other keys of ``[cluster]`` and other tables (partitions, outages ...) are kept in
``Cluster.options`` as they stand. ``[[nodes]]`` may be written for ``[[hosts]]``, ``cpus`` for
``procs``, ``mem`` for ``memory`` and ``names`` for ``name``, as in a site's file.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from shadowtime.cluster.cluster import Cluster, Host
from shadowtime.errors import ClusterError
from shadowtime.printable import shown
from shadowtime.slurmtext.fields import parse_memory
from shadowtime.slurmtext.hostlist import expand

SHAPES = ("pool", "hosts", "nodes")
MAX_HOSTS = 100_000
MAX_PROCS = (1 << 31) - 2
MAX_AMOUNT = 1 << 53
_USUAL = ("procs", "memory", "gpus")
_ALIAS = {"cpus": "procs", "mem": "memory", "names": "name"}


def parse_cluster_toml(text: str, *, path: str = "the cluster file") -> Cluster:
    """The machine that a TOML text describes (the format is in the module's description).

    Examples
    --------
    >>> machine = parse_cluster_toml('''
    ... [cluster]
    ... shape = "hosts"
    ... [[hosts]]
    ... name = "big"
    ... count = 2
    ... procs = 128
    ... memory = "64GB"
    ... ''')
    >>> [host.name for host in machine.hosts], machine.total
    (['big-1', 'big-2'], {'procs': 256, 'memory': 134217728})
    """
    import tomllib

    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers of thousands of digits
        raise ClusterError(f"{path}: not TOML: {error}") from None
    head = document.pop("cluster", {})
    if not isinstance(head, dict):
        raise ClusterError(f"{path}: cluster must be a table: write [cluster]")
    given = [name for name in ("hosts", "nodes") if name in document]
    if len(given) != 1:
        raise ClusterError(f"{path}: describe the machine in tables [[hosts]] (or [[nodes]])")
    groups = document.pop(given[0])
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        raise ClusterError(f"{path}: write [[{given[0]}]] with double brackets, a table per group")
    shape = head.pop("shape", given[0])
    if shape not in SHAPES:
        raise ClusterError(f"{path}: shape must be one of {', '.join(SHAPES)}, not {shown(shape)}")
    unit = head.pop("memory_unit", 1024)
    if unit not in (1000, 1024) or isinstance(unit, float):
        raise ClusterError(f"{path}: memory_unit must be 1024 or 1000, not {shown(unit)}")
    name = head.pop("name", "")
    groups = [{_ALIAS.get(key, key): value for key, value in group.items()} for group in groups]
    resources = _resources(head.pop("resources", None), groups, path)

    hosts: list[Host] = []
    kept: dict[str, dict[str, Any]] = {}
    for number, group in enumerate(groups, 1):
        label = group.pop("name", None) or f"host{number}"
        if not isinstance(label, str) or label in kept:
            raise ClusterError(f"{path}: group {shown(label)} needs a name of its own")
        where = f"{path}: group {label}"
        names = _names(label, group.pop("count", None), where)
        capacity = tuple(_amount(group.pop(key, 0), key, where, unit) for key in resources)
        kept[label] = group
        if len(hosts) + len(names) > MAX_HOSTS:
            raise ClusterError(f"{where}: more than {MAX_HOSTS} hosts in all")
        hosts += [Host(host, capacity) for host in names]
    if not hosts:
        raise ClusterError(f"{path}: there is no host in it")
    twice = [name for name, times in Counter(host.name for host in hosts).items() if times > 1]
    if twice:
        raise ClusterError(f"{path}: two hosts are called {shown(twice[0])}; rename one")
    if shape == "pool":
        sums = (sum(column) for column in zip(*(h.capacity for h in hosts), strict=True))
        hosts = [Host("pool", tuple(sums))]
    if sum(host.capacity[0] for host in hosts) > MAX_PROCS:
        raise ClusterError(f"{path}: more than {MAX_PROCS} processors in all")
    options = {**head, **document}
    if "dedicated" in options:
        usual = options.get("dedicated_exclusive", True)
        options |= _dedicated(options["dedicated"], resources, path, unit, usual)
    if any(kept.values()):
        options["groups"] = kept
    return Cluster(
        shape=shape, resources=resources, hosts=tuple(hosts), name=str(name), options=options
    )


def _names(label: str, count: object, where: str) -> list[str]:
    """The hosts of a group: those of a host list, or as many as ``count``, numbered."""
    if any(mark in label for mark in "[],"):
        if count is not None:
            raise ClusterError(f"{where}: its name lists the hosts, so leave out count")
        try:
            return expand(label)
        except ClusterError as error:
            raise ClusterError(f"{where}: {error}") from None
    number = _whole(1 if count is None else count, f"{where}: count", 1, MAX_HOSTS)
    return [label] if number == 1 else [f"{label}-{i}" for i in range(1, number + 1)]


def _resources(wanted: object, groups: list[dict[str, Any]], path: str) -> tuple[str, ...]:
    if wanted is None:
        return tuple(key for key in _USUAL if key == "procs" or any(key in g for g in groups))
    if not isinstance(wanted, list) or not all(isinstance(name, str) for name in wanted):
        raise ClusterError(f'{path}: resources must be a list like ["procs", "memory"]')
    names = [_ALIAS.get(str(name), str(name)) for name in wanted]
    return ("procs", *(name for name in names if name != "procs"))


def _dedicated(
    group: object, resources: tuple[str, ...], path: str, unit: int, usual: object
) -> dict[str, dict[str, int] | bool]:
    """The options of :func:`shadowtime.cluster.cluster.dedicated`."""
    if not isinstance(group, dict):
        raise ClusterError(f"{path}: dedicated must be a table: write [dedicated] and procs = 64")
    limits: dict[str, object] = {_ALIAS.get(key, str(key)): group[key] for key in group}
    exclusive = limits.pop("exclusive", usual)
    if not isinstance(exclusive, bool):
        raise ClusterError(f"{path}: dedicated: exclusive must be true or false")
    strange = [name for name in limits if name not in resources]
    if strange or not limits:
        wrong = f"does not count {strange[0]}" if strange else "needs a limit"
        raise ClusterError(f"{path}: dedicated {wrong}: give some of {', '.join(resources)}")
    where = f"{path}: dedicated"
    found = {name: _amount(value, name, where, unit) for name, value in limits.items()}
    return {"dedicated": found, "dedicated_exclusive": exclusive}


def _amount(value: object, key: str, where: str, unit: int) -> int:
    if key == "memory" and isinstance(value, str):
        try:
            return parse_memory(value, unit=unit)
        except ClusterError as error:
            raise ClusterError(f"{where}: {error}") from None
    if key == "procs":
        return _whole(value, f"{where}: procs (processors per host)", 1, MAX_PROCS)
    return _whole(value, f"{where}: {key}", 0, MAX_AMOUNT)


def _whole(value: object, what: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ClusterError(
            f"{what} must be a whole number from {low} to {high}, not {shown(value)}"
        )
    return value
