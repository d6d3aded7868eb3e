"""Reservations as ``scontrol show reservation`` prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.cluster.site import FOREVER, Reservation
from shadowtime.cluster.slurm_nodes import hosts_of
from shadowtime.errors import ClusterError
from shadowtime.slurmtext.scontrol import names_of, records_and_unknown
from shadowtime.slurmtext.times import parse_stamp

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import tzinfo

NOT_MODELLED = ("licenses", "burstbuffer", "groups", "maxstartdelay", "watts")
"""Properties of a reservation that change nothing here."""


def parse_reservations(
    text: str, zone: tzinfo, *, path: str, ignore: Callable[[str], None]
) -> tuple[Reservation, ...]:
    """The reservations; "No reservations in the system" is none.

    Examples
    --------
    >>> from zoneinfo import ZoneInfo
    >>> text = '''ReservationName=m StartTime=2026-03-01T00:00:00 EndTime=2026-03-01T01:00:00
    ...    Nodes=n[1-2] NodeCnt=2 CoreCnt=32 PartitionName=(null) Flags=MAINT,SPEC_NODES
    ...    Users=root Accounts=(null) State=INACTIVE'''
    >>> one = parse_reservations(text, ZoneInfo("UTC"), path="r.txt", ignore=print)[0]
    >>> one.nodes, one.end - one.begin, sorted(one.users), sorted(one.flags)
    (('n1', 'n2'), 3600, ['root'], ['MAINT', 'SPEC_NODES'])
    """
    found = []
    for line, record, unknown in records_and_unknown(text):
        where = f"{path}, line {line}"
        if "reservationname" not in record:
            raise ClusterError(f"{where}: this is not the output of scontrol show reservation")
        for key in unknown:
            if key not in ("CoreIDs", "NodeName"):  # cores of a node; the reservation has both
                ignore(f"reservation {key}")
        for key in NOT_MODELLED:
            if record.get(key, "").lower() not in ("", "(null)", "n/a", "none"):
                ignore(f"reservation {key}")
        users = names_of(record.get("users", ""))
        if any(user.startswith("-") for user in users):
            ignore("reservation users who may not")
        try:
            begin = parse_stamp(record.get("starttime", ""), zone)
            end = parse_stamp(record.get("endtime", ""), zone)
        except ValueError as error:
            raise ClusterError(f"{where}: {error}") from None
        if begin < 0:
            raise ClusterError(f"{where}: the reservation has no StartTime")
        found.append(
            Reservation(
                name=record["reservationname"],
                nodes=tuple(hosts_of(record.get("nodes", ""), where)),
                begin=begin,
                end=end if end > 0 else FOREVER,
                users=frozenset(user for user in users if not user.startswith("-")),
                accounts=frozenset(names_of(record.get("accounts", ""))),
                flags=frozenset(names_of(record.get("flags", ""))),
            )
        )
    return tuple(found)
