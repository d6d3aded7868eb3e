"""What a site consists of, in numbers and short lists: for people and for JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from shadowtime.cluster.amounts import described
from shadowtime.slurmtext.hostlist import compress

if TYPE_CHECKING:
    from shadowtime.cluster.site import Limits, Node, Site


def summarise(site: Site) -> dict[str, Any]:
    """Nodes by kind, partitions, limits, and what was ignored.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> found = summarise(Site(nodes=tuple(Node(name=f"n{i}", amounts=(8,)) for i in (1, 2))))
    >>> found["total"], found["nodes"]
    ({'cpus': 16}, [{'count': 2, 'names': 'n[1-2]', 'cpus': 8, 'weight': 1, 'features': []}])
    """
    kinds: dict[Node, list[str]] = {}
    for node in site.nodes:
        kinds.setdefault(replace(node, name=""), []).append(node.name)
    limited = [
        *(_limited(f"QOS {one.name}", one.limits) for one in site.qos),
        *(
            _limited(f"{'user' if one.user else 'account'} {one.user or one.account}", one.limits)
            for one in site.associations
        ),
    ]
    return {
        "name": site.name,
        "total": site.total,
        "nodes": [_kind(kind, names, site.resources) for kind, names in kinds.items()],
        "partitions": [
            {
                "name": one.name,
                "nodes": len(one.nodes),
                "cpus": _cpus(site, one.nodes),
                "max_time": one.max_time,
                "tier": one.tier,
                "priority_factor": one.priority_factor,
                "exclusive": one.exclusive,
                "qos": one.qos,
                "preempt": one.preempt,
                "default": one.default,
            }
            for one in site.partitions
        ],
        "qos": len(site.qos),
        "accounts": sum(not one.user for one in site.associations),
        "users": len({one.user for one in site.associations if one.user}),
        "limits": dict(one for one in limited if one[1]),
        "limits_enforced": "limits" in site.enforce,
        "reservations": len(site.reservations),
        "outages": len(site.outages),
        **{kind.entry: value for kind, value in described(site.amounts)},
        "switches": len(site.switches),
        "unusable": list(site.unusable),
        "scheduler": {
            name: site.setting(name)
            for name in ("SchedulerType", "SchedulerParameters", "PriorityType", "PreemptType",
                         "SelectTypeParameters", "AccountingStorageEnforce")
            if site.setting(name)
        },
        "ignored": {key: list(names) for key, names in site.ignored.items()},
        "notes": list(site.notes),
    }  # fmt: skip


def _kind(node: Node, names: list[str], resources: tuple[str, ...]) -> dict[str, Any]:
    return {
        "count": len(names),
        "names": compress(names),
        **dict(zip(resources, node.amounts, strict=True)),
        "weight": node.weight,
        "features": sorted(node.features),
    }


def _cpus(site: Site, names: tuple[str, ...]) -> int:
    size = Counter({node.name: node.amounts[0] for node in site.nodes})
    return sum(size[name] for name in names)


def _limited(who: str, limits: Limits) -> tuple[str, dict[str, Any]]:
    return who, {name: value for name, value in asdict(limits).items() if value not in (None, {})}
