"""What the loop does not model of Slurm's jobs: such a job is handed to Slurm, with the reason."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.squeue import NONE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.slurmtext.show_job import Detail
    from shadowtime.slurmtext.squeue import NodeRow, QueueRow

_FEATURE = r"[\w.:+=-]+"
_FEATURES = re.compile(rf"{_FEATURE}(?:(?:&{_FEATURE})*|(?:\|{_FEATURE})*)")
"""All of them, or one of them; counts and brackets are more than a list of nodes can express."""


def why_beyond(
    row: QueueRow, detail: Detail | None, nodes: Mapping[str, NodeRow], gres: tuple[str, ...]
) -> str:
    """Why the loop cannot decide where and when a job may start; nothing if it can.

    Rules
    -----
    This is the one place that lists what is not modelled: reservations, several partitions,
    licences, heterogeneous jobs, generic resources that are not counted, constraints beyond a plain
    list of features, and node lists that Slurm would add further nodes to.

    Examples
    --------
    >>> from shadowtime.slurmtext.squeue import COLUMNS, _queue_row, BETWEEN
    >>> columns = dict.fromkeys(COLUMNS, "") | {"JobArrayID": "7", "PriorityLong": "0"}
    >>> row = _queue_row(BETWEEN.join((columns | {"TimeLimit": "1:00"}).values()))
    >>> why_beyond(row._replace(licenses="matlab:1"), None, {}, ())
    'it requests licences (matlab:1)'
    >>> why_beyond(row._replace(features="big|small"), None, {}, ())
    ''
    """
    if "+" in row.id:
        return "it is part of a heterogeneous job"
    if row.reservation not in NONE:
        return f"it belongs to the reservation {row.reservation}"
    if "," in row.partition:
        return f"it may run in several partitions ({row.partition})"
    if row.licenses not in NONE:
        return f"it requests licences ({row.licenses})"
    for asked in (row.gres_per_job, row.gres_per_socket):
        if asked not in NONE:
            return f"it requests resources by job or socket ({asked})"
    uncounted = row.gres_names - {*gres}
    if uncounted:
        names = ", ".join(sorted(uncounted))
        return f"it requests {names}, which is not counted: name it with --gres to have it counted"
    if row.features not in NONE and not _FEATURES.fullmatch(row.features):
        return f"its constraint is more than a list of features ({row.features})"
    return _nodes_beyond(row, detail, nodes)


def _nodes_beyond(row: QueueRow, detail: Detail | None, nodes: Mapping[str, NodeRow]) -> str:
    """Slurm treats a node list as a minimum: it adds nodes if more are requested."""
    wanted = expand(row.wanted)
    if not wanted:
        return ""
    cpus = sum(nodes[name].cpus for name in wanted if name in nodes)
    known = all(name in nodes for name in wanted)
    if (detail is not None and detail.nodes > len(wanted)) or (known and row.cpus > cpus):
        return f"it requests the nodes {row.wanted} and further ones"
    return ""


def has_features(wish: str, node: NodeRow) -> bool:
    """Whether a node has the features that a job requests.

    Examples
    --------
    >>> from shadowtime.slurmtext.squeue import NodeRow
    >>> node = NodeRow("n1", "idle", 4, 0, {}, (), ("big", "ib"))
    >>> [has_features(wish, node) for wish in ("big|small", "big&gpu", "(null)")]
    [True, False, True]
    """
    if wish in NONE:
        return True
    if "|" in wish:
        return any(one in node.features for one in wish.split("|"))
    return all(one in node.features for one in wish.split("&"))
