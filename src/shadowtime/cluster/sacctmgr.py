"""What ``sacctmgr show ... -P`` lists: QOS, node events, past reservations, the tree of accounts.

The usage of the accounts so far is in ``sshare -a -P -l``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any

from shadowtime.cluster.known_settings import QOS_FLAGS
from shadowtime.cluster.site import FOREVER, Association, Limits, Outage, Qos, Reservation
from shadowtime.cluster.slurm_records import preempting
from shadowtime.errors import ClusterError
from shadowtime.slurmtext.fields import lines_of
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.scontrol import NONE, Row, Table, read_table
from shadowtime.slurmtext.times import parse_stamp

_QOS = ("name", "priority", "gracetime", "preempt", "preemptmode", "flags", "usagefactor",
        "description", "id")  # fmt: skip


def parse_qos(table: Table, *, ignore: Callable[[str, str], None]) -> tuple[Qos, ...]:
    """The QOS of ``sacctmgr show qos -P``.

    Examples
    --------
    >>> from shadowtime.slurmtext.scontrol import read_table
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
        for flag in row.words("flags"):
            if flag.lower() not in QOS_FLAGS:
                ignore(f"QOS flag {flag}", name)
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

    A node in DRAIN lets its jobs finish; the record begins when the last has ended. Events without
    an end last forever.
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

    The usual columns do not name the nodes: then ``cpus`` is the number that was set aside. Add
    ``format=...,NodeNames,Flags`` to have them; Slurm then heads the column NodeName.

    Examples
    --------
    >>> from zoneinfo import ZoneInfo
    >>> from shadowtime.slurmtext.scontrol import read_table
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


_KNOWN = ("cluster", "account", "user", "partition", "share", "fairshare", "priority", "qos",
          "defqos", "defaultqos", "parentname", "parentid", "id", "lft", "rgt", "lineage",
          "flags", "comment")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Share:
    """A line of sshare: usage so far, and the account above."""

    account: str
    user: str
    partition: str
    parent: str
    shares: int | None
    usage: float


def parse_associations(
    table: Table, *, ignore: Callable[[str, str], None], note: Callable[[str], None]
) -> tuple[Association, ...]:
    """The accounts and users of ``sacctmgr show assoc -P``.

    The tree is given by ParentName, or by the blanks before an account (``tree``);
    without either accounts are put below root, which sshare may correct.

    Examples
    --------
    >>> text = "Account|User|Share|ParentName|MaxJobs\\nroot||1||\\nphys||50|root|\\nphys|eva|1||3"
    >>> found = parse_associations(read_table(text, path="a.txt"), ignore=print, note=print)
    >>> [(one.account, one.user, one.parent, one.limits.user_jobs) for one in found]
    [('root', '', '', None), ('phys', '', 'root', None), ('phys', 'eva', 'phys', 3)]
    """
    ignore_rest(table, _KNOWN, "association", ignore)
    above: list[tuple[int, str]] = []
    rooted = "parentname" in table.columns or any(
        row.get("account")[:1] == " " for row in table.rows
    )
    found = []
    for row in table.rows:
        account, user = row.get("account"), row.get("user").strip()
        if not account.strip():
            raise ClusterError(f"{row.where}: the association has no account")
        parent = _parent(account, user, above) or ("" if user else row.get("parentname").strip())
        account = account.strip()
        if not parent and not user and account != "root" and not rooted:
            parent = "root"
        priority = row.count("priority")
        found.append(
            Association(
                account=account,
                user=user,
                partition=row.get("partition").strip(),
                parent=account if user else parent,
                shares=_shares(row, "share", "fairshare"),
                limits=limits_of(row),
                default_qos=row.get("defqos", "defaultqos").strip(),
                allowed_qos=row.words("qos"),
                priority=priority or 0,
            )
        )
    if not rooted and any(one.parent == "root" and not one.user for one in found):
        note(
            "the associations do not give the parents of accounts: all are put below root; add "
            "ParentName to their format, or sshare's output"
        )
    return tuple(found)


def parse_shares(text: str, *, path: str) -> tuple[Share, ...]:
    """The lines of ``sshare -a -P -l``; leading blanks give the depth of an account.

    Samples taken one after another, each line with its moment in front, count as the first.

    Examples
    --------
    >>> text = "Account|User|RawShares|RawUsage\\nroot||||0\\n phys||50|7\\n  phys|eva|parent|7"
    >>> [(s.account, s.user, s.parent, s.shares) for s in parse_shares(
    ...     text.replace("root||||0", "root|||0"), path="s")]
    [('root', '', '', None), ('phys', '', 'root', 50), ('phys', 'eva', 'phys', None)]
    """
    lines = lines_of(text)
    head = lines[0].partition("|")[0].strip() if lines else ""
    if head.replace(".", "").isdigit():
        lines = [line.partition("|")[2] for line in lines if line.partition("|")[0] == head]
    above: list[tuple[int, str]] = []
    found = []
    for row in read_table("\n".join(lines), path=path).rows:
        account, user = row.get("account"), row.get("user").strip()
        parent = _parent(account, user, above)
        account = account.strip()
        found.append(
            Share(
                account=account,
                user=user,
                partition=row.get("partition").strip(),
                parent=account if user else parent,
                shares=_shares(row, "rawshares"),
                usage=row.number(0.0, "rawusage"),
            )
        )
    return tuple(found)


def with_shares(
    associations: Sequence[Association], shares: Sequence[Share]
) -> tuple[Association, ...]:
    """The associations with usage and place in the tree from sshare; sshare's own without any."""
    known = {(one.account, one.user, one.partition): one for one in shares}
    if not associations:
        return tuple(
            Association(
                account=one.account, user=one.user, partition=one.partition, parent=one.parent,
                shares=one.shares if one.shares is not None or one.user else 1, usage=one.usage,
            )
            for one in shares
        )  # fmt: skip
    found = []
    for one in associations:
        share = known.get((one.account, one.user, one.partition))
        if share is None:
            found.append(one)
        else:
            found.append(replace(one, parent=share.parent or one.parent, usage=share.usage))
    return tuple(found)


def _parent(account: str, user: str, above: list[tuple[int, str]]) -> str:
    """The parent account, by the leading blanks; ``above`` is the path to here."""
    depth = len(account) - len(account.lstrip(" "))
    while above and above[-1][0] >= depth:
        above.pop()
    parent = above[-1][1] if above else ""
    if not user:
        above.append((depth, account.strip()))
    return parent


def _shares(row: Row, *columns: str) -> int | None:
    """Shares; None for ``parent``, 1 where empty."""
    text = row.get(*columns).strip()
    if text.lower() in ("parent", "2147483647"):
        return None
    if not text:
        return None if "rawshares" in columns else 1
    return row.count(*columns)


def limits_of(row: Row) -> Limits:
    """The limits in a row of QOS or associations, whose columns have the same names.

    A plain Max* limit of an association holds for each user, or for each job where it is one of
    resources or time.
    """
    reads: dict[str, Callable[..., Any]]
    reads = {"span": row.seconds, "amounts": row.amounts, "count": row.count}
    return Limits(**{name: reads[Limits.kind(name)](*names) for name, names in _LIMITS.items()})


_LIMITS: Mapping[str, tuple[str, ...]] = {
    "group_jobs": ("grpjobs",),
    "group_submitted": ("grpsubmit", "grpsubmitjobs"),
    "group_wall": ("grpwall",),
    "group_resources": ("grptres",),
    "group_minutes": ("grptresmins",),
    "group_run_minutes": ("grptresrunmins",),
    "group_accruing": ("grpjobsaccrue",),
    "user_jobs": ("maxjobspu", "maxjobsperuser", "maxjobs"),
    "user_submitted": ("maxsubmitpu", "maxsubmitjobsperuser", "maxsubmit", "maxsubmitjobs"),
    "user_resources": ("maxtrespu", "maxtresperuser"),
    "user_accruing": ("maxjobsaccruepu", "maxjobsaccrueperuser", "maxjobsaccrue"),
    "account_jobs": ("maxjobspa", "maxjobsperaccount"),
    "account_submitted": ("maxsubmitpa", "maxsubmitjobsperaccount"),
    "account_resources": ("maxtrespa", "maxtresperaccount"),
    "job_wall": ("maxwall", "maxwalldurationperjob"),
    "job_resources": ("maxtres", "maxtresperjob"),
    "job_node_resources": ("maxtrespernode",),
    "job_minutes": ("maxtresmins", "maxtresminsperjob"),
}
"""The columns of each limit, of which the first that is not empty counts."""
_USUAL = {"usagefactor": ("1.000000", "1", "1.0")}
UNFOLLOWED = ("grpwall", "grpjobsaccrue", "usagefactor", "gracetime")
"""Columns that Slurm's model here does not follow."""
_LIMIT_COLUMNS = frozenset(name for names in _LIMITS.values() for name in names)


def ignore_rest(
    table: Table, known: Sequence[str], what: str, ignore: Callable[[str, str], None]
) -> None:
    """Report each value in a column that is not modelled."""
    rest = [
        column
        for column in table.columns
        if column in UNFOLLOWED or (column not in _LIMIT_COLUMNS and column not in known)
    ]
    for row in table.rows:
        for column in rest:
            if row.get(column).strip().lower() not in (
                *NONE,
                *_USUAL.get(column, ("0", "00:00:00")),
            ):
                ignore(f"{what} {column}", _name(row))


def _name(row: Row) -> str:
    """Whose row it is: a QOS, a user, or an account."""
    return row.get("name").strip() or row.get("user").strip() or row.get("account").strip()
