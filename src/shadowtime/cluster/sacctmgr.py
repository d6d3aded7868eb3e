"""QOS, node events and past reservations, as ``sacctmgr show ... -P`` lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.cluster.hostlist import expand
from shadowtime.cluster.sacctmgr_table import Row, Table, ignore_rest, limits_of
from shadowtime.cluster.site import FOREVER, Outage, Qos, Reservation
from shadowtime.cluster.slurm_partitions import preempting
from shadowtime.cluster.slurm_values import parse_stamp
from shadowtime.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import tzinfo

_QOS = ("name", "priority", "gracetime", "preempt", "preemptmode", "flags", "usagefactor",
        "description", "id")  # fmt: skip


def parse_qos(table: Table, *, ignore: Callable[[str], None]) -> tuple[Qos, ...]:
    """The QOS of ``sacctmgr show qos -P``.

    Examples
    --------
    >>> from shadowtime.cluster.sacctmgr_table import read_table
    >>> text = "Name|Priority|Preempt|PreemptMode|MaxJobsPU|GrpTRES\\nhigh|9|low|requeue|2|cpu=64"
    >>> one = parse_qos(read_table(text, path="qos.txt"), ignore=print)[0]
    >>> one.priority, one.preempts, one.preempt, one.limits.user_jobs, one.limits.group_resources
    (9, ('low',), 'requeue', 2, {'cpus': 64})
    """
    ignore_rest(table, _QOS, "QOS", ignore)
    found: dict[str, Qos] = {}
    for row in table.rows:
        name = row.get("name").strip()
        if not name:
            raise ClusterError(f"{row.where}: the QOS has no name")
        if name in found:
            raise ClusterError(f"{row.where}: QOS {name} is described twice")
        found[name] = Qos(
            name=name,
            priority=row.count("priority") or 0,
            limits=limits_of(row),
            preempts=row.words("preempt"),
            preempt=preempting(row.get("preemptmode")),
            flags=frozenset(row.words("flags")),
            usage_factor=row.number(1.0, "usagefactor"),
            grace=row.seconds("gracetime") or 0,
        )
    return tuple(found.values())


def parse_events(table: Table, zone: tzinfo) -> tuple[Outage, ...]:
    """The outages in ``sacctmgr show event -P``; events of the whole cluster are not outages.

    A node in DRAIN lets its jobs go on; the record begins when the last has left. Events that
    have not ended last for ever.
    """
    found = []
    for row in table.rows:
        state = row.get("state").upper()
        for node in _hosts(row, "nodename"):
            begin = _stamp(row, zone, "timestart", "start")
            end = _stamp(row, zone, "timeend", "end")
            if begin is None:
                raise ClusterError(f"{row.where}: the event of node {node} has no beginning")
            found.append(
                Outage(
                    node=node,
                    begin=begin,
                    end=FOREVER if end is None else end,
                    drain="DRAIN" in state and "DOWN" not in state,
                    reason=row.get("reason").strip(),
                )
            )
    return tuple(found)


def parse_past_reservations(table: Table, zone: tzinfo) -> tuple[Reservation, ...]:
    """The reservations of ``sacctmgr show reservation -P``.

    The usual columns do not name the nodes: then ``cpus`` says how many were set aside. Add
    ``format=...,NodeNames,Flags`` to have them; Slurm then heads the column NodeName.

    Examples
    --------
    >>> from zoneinfo import ZoneInfo
    >>> from shadowtime.cluster.sacctmgr_table import read_table
    >>> text = "Name|TRES|TimeStart|TimeEnd|NodeName\\nm|cpu=32|100|200|n[1-2]"
    >>> parse_past_reservations(read_table(text, path="r.txt"), ZoneInfo("UTC"))[0].nodes
    ('n1', 'n2')
    """
    found = []
    for row in table.rows:
        begin = _stamp(row, zone, "timestart", "start")
        end = _stamp(row, zone, "timeend", "end")
        if begin is None:
            raise ClusterError(f"{row.where}: reservation {row.get('name')} has no beginning")
        nodes = tuple(_hosts(row, "nodenames", "nodename", "nodes"))
        found.append(
            Reservation(
                name=row.get("name").strip(),
                nodes=nodes,
                begin=begin,
                end=FOREVER if end is None else end,
                flags=frozenset(row.words("flags")),
                cpus=0 if nodes else row.amounts("tres").get("cpus", 0),
            )
        )
    return tuple(found)


def _hosts(row: Row, *columns: str) -> list[str]:
    try:
        return expand(row.get(*columns))
    except ClusterError as error:
        raise ClusterError(f"{row.where}: {error}") from None


def _stamp(row: Row, zone: tzinfo, *columns: str) -> int | None:
    try:
        stamp = parse_stamp(row.get(*columns), zone)
    except ValueError as error:
        raise ClusterError(f"{row.where}: {error}") from None
    return stamp if stamp > 0 else None
