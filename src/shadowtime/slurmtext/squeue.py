"""What squeue and sinfo print: the requested columns, and their rows."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from shadowtime.errors import ClusterError, PortError
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.reasons import WaitReason, wait_reason
from shadowtime.slurmtext.scontrol import records
from shadowtime.slurmtext.times import parse_limit
from shadowtime.slurmtext.tres import gres_entries, parse_gres, parse_tres
from shadowtime.types import MAX_SPAN

BETWEEN = "\x1f"
"""The separator of columns. Users can write it into accounts, since 24.11 into QOS and TRES, too: a
reader that acts on the answer adds a secret to it."""
_PLAIN = re.compile("[!-~]*")
_REQUESTS = (
    "gres_per_task", "gres_per_node", "gres_per_job", "gres_per_socket", "cpus_per_tres",
    "mem_per_tres", "licenses", "partition", "wanted",
)  # fmt: skip
_JOB = re.compile(r"\d+(?:[_+]\d+)?")

ENVIRONMENT = {"SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0"}
"""Times in seconds, arrays in full."""


NONE = ("", "(null)", "N/A")
"""What squeue prints where a job asks for nothing."""


class QueueRow(NamedTuple):
    """One line of squeue: a job or a task of an array."""

    id: str
    state: str
    reason: str
    priority: int
    tres: str
    limit: int
    submit: int
    eligible: int
    start: int
    end: int
    user: str
    partition: str
    nodes: str
    wanted: str
    dependency: str
    sharing: str
    node_count: int
    cpus: int
    reservation: str
    per_task: int
    per_node: int
    tasks: int
    restarts: int
    requeue: int
    gres_per_task: str
    gres_per_node: str
    features: str
    licenses: str = ""
    gres_per_job: str = ""
    gres_per_socket: str = ""
    account: str = ""
    qos: str = ""
    contiguous: int = 0
    min_cpus: int = 0
    cpus_per_tres: str = ""
    mem_per_tres: str = ""
    sockets: str = ""
    """Sockets, cores and threads that it requests, as in ``*:*:*``."""
    exclusive: str = ""
    """What it shares with nobody (NODE, USER, MCS, TOPO, NO); empty before Slurm 26.05."""

    @property
    def waits_for(self) -> WaitReason:
        """The kind of its reason."""
        return wait_reason(self.reason)

    @property
    def amounts(self) -> Mapping[str, int]:
        """What is allocated or will be, by TRES; memory in KB."""
        try:
            return parse_tres(self.tres) if self.tres not in NONE else {}
        except ValueError:
            raise PortError(f"squeue printed unreadable resources: {self.tres[:80]!r}") from None

    @property
    def strange(self) -> str:
        """A column in which its user has written what is no request in Slurm's notation.

        Since 24.11 Slurm accepts any text as TRES per task. It must not get into a command.
        """
        return next((name for name in _REQUESTS if not _PLAIN.fullmatch(getattr(self, name))), "")

    @property
    def gres_names(self) -> frozenset[str]:
        """The families of the GRES that it requests by task or by node."""
        asked = (*gres_entries(self.gres_per_task), *gres_entries(self.gres_per_node))
        return frozenset(one.name for one in asked)


COLUMNS = (
    "JobArrayID", "State", "Reason", "PriorityLong", "tres-alloc", "TimeLimit", "SubmitTime",
    "EligibleTime", "StartTime", "EndTime", "UserName", "Partition", "NodeList", "ReqNodes",
    "Dependency", "OverSubscribe", "NumNodes", "NumCPUs", "Reservation", "cpus-per-task",
    "NTPerNode", "NumTasks", "RestartCnt", "Requeue",
    "tres-per-task", "tres-per-node", "Feature", "Licenses", "tres-per-job", "tres-per-socket",
    "Account", "QOS", "Contiguous", "MinCpus", "cpus-per-tres", "mem-per-tres", "SCT",
    "Exclusive",
)  # fmt: skip

"""Slurm before 26.05 does not know Exclusive: it leaves the column empty, and complains about it
without failing."""

QUEUE = ("squeue", "--noheader", "--all", "--array", "--states=all")
"""Every job in the controller's memory; the columns are those of SQUEUE_FORMAT2."""


def queue_format(between: str = BETWEEN) -> str:
    """The columns in squeue's notation, each followed by the separator."""
    return ",".join(f"{name}:{between}" for name in COLUMNS)


SQUEUE = (*QUEUE, f"--Format={queue_format()}")
"""The same with the columns in the command, which every user can read while it runs."""

SINFO = (
    "sinfo", "--noheader", "--Node", "--all",
    "--Format=" + ",".join(
        f"{name}:{BETWEEN}"
        for name in ("NodeList", "StateComplete", "CPUsState", "Memory", "Gres", "Partition",
                     "Features_act")
    ),
)  # fmt: skip


class NodeRow(NamedTuple):
    """A node: what it has, whether jobs may be started there, and its partitions."""

    name: str
    state: str
    cpus: int
    memory: int
    gres: Mapping[str, int]
    partitions: tuple[str, ...]
    features: tuple[str, ...]

    @property
    def usable(self) -> bool:
        """True if jobs may be started there now.

        Examples
        --------
        >>> row = NodeRow("n1", "mixed", 4, 0, {}, (), ())
        >>> row.usable, row._replace(state="mixed+drain").usable, row._replace(state="idle*").usable
        (True, False, False)
        """
        return self._in_service()

    @property
    def open(self) -> bool:
        """The same if reservations are known: a reserved node is open to the users of its
        reservation.

        Examples
        --------
        >>> NodeRow("n1", "idle+reserved", 4, 0, {}, (), ()).open
        True
        """
        return self._in_service("reserved", "maint", "maintenance")

    def _in_service(self, *also: str) -> bool:
        base, *flags = self.state.split("+")
        harmless = {"cloud", "completing", "planned", "dynamic_norm", *also}
        known = {"idle", "mixed", "allocated", "completing", *also}
        return base in known and not set(flags) - harmless


def read_queue(text: str, between: str = BETWEEN) -> tuple[list[QueueRow], dict[str, str]]:
    """The jobs in squeue's answer, each once, and what cannot be read, by job, with the reason.

    Rules
    -----
    A row ends with the separator and a line break, and nowhere else: with a secret separator
    nothing that users write into a job begins a row or a column. An answer that ends inside a row
    is a PortError. If a job is listed twice because it changes while squeue is answered, the last
    row counts.

    Examples
    --------
    >>> read_queue("7|RUNNING|\\n", "|")
    ([], {'7': 'squeue printed a row of 2 columns about it'})
    """
    lines = text.split(f"{between}\n")
    if lines.pop():
        raise PortError("squeue's answer is not complete")
    rows: dict[str, QueueRow] = {}
    bad: dict[str, str] = {}
    for number, line in enumerate(lines):
        try:
            row = _queue_row(line, between)
        except (ValueError, ClusterError):
            first, *rest = line.split(between)
            wrong = f"{len(rest) + 1} columns" if len(rest) + 1 != len(COLUMNS) else "wrong values"
            name = first if _JOB.fullmatch(first) else f"row {number + 1}"
            bad[name] = f"squeue printed a row of {wrong} about it"
        else:
            rows[row.id] = row
    return list(rows.values()), {job: why for job, why in bad.items() if job not in rows}


def parse_queue(text: str) -> list[QueueRow]:
    """The jobs in squeue's output, of which every row must be readable."""
    rows, bad = read_queue(text)
    if bad:
        raise PortError("; ".join(f"{job}: {why}" for job, why in bad.items()))
    return rows


@lru_cache(maxsize=1 << 16)
def _queue_row(line: str, between: str = BETWEEN) -> QueueRow:
    """Most lines are the same from one poll to the next; ValueError if it is not a job."""
    parts: list[Any] = line.split(between)
    if len(parts) != len(COLUMNS) or not _JOB.fullmatch(parts[0]):
        raise ValueError("not a job")
    for at, read in _READERS:
        parts[at] = read(parts[at])
    row = QueueRow(*parts)
    shared = sharing_of(row.sharing, row.exclusive)
    return row if shared == row.sharing else row._replace(sharing=shared)


def sharing_of(oversubscribe: str, exclusive: str) -> str:
    """How a job shares nodes, in the words of OverSubscribe up to 25.11: NO is a node alone.

    Since 26.05 OverSubscribe is NO for ordinary jobs too, and Exclusive tells them apart.

    Examples
    --------
    >>> sharing_of("OK", ""), sharing_of("NO", ""), sharing_of("NO", "NO"), sharing_of("NO", "NODE")
    ('OK', 'NO', 'OK', 'NO')
    """
    if exclusive in ("", "NODE"):
        return "NO" if exclusive else oversubscribe
    if exclusive != "NO":
        return exclusive
    return "OK" if oversubscribe == "NO" else oversubscribe


def number(text: str) -> int:
    """A count; 0 for the values that Slurm writes if there is none (such as 4294967294).

    Examples
    --------
    >>> number("12"), number("4294967294"), number("N/A")
    (12, 0, 0)
    """
    if text in ("N/A", "(null)", ""):
        return 0
    value = int(text)
    return 0 if value >= 0xFFFF_FFF0 else value


def moment(text: str) -> int:
    """Seconds since 1970, -1 where unknown."""
    return -1 if text in ("N/A", "Unknown", "NONE", "") else int(text)


def seconds(text: str) -> int:
    """A time limit; the longest possible if there is none."""
    if text in ("INVALID", "NOT_SET"):
        return MAX_SPAN
    limit = parse_limit(text)
    return MAX_SPAN if limit is None else min(limit, MAX_SPAN)


_READ: dict[str, Callable[[str], int]] = {
    "priority": int,
    "limit": seconds,
    **dict.fromkeys(("submit", "eligible", "start", "end"), moment),
    **dict.fromkeys(("node_count", "cpus", "per_task", "per_node", "tasks", "restarts"), number),
    **dict.fromkeys(("requeue", "contiguous", "min_cpus"), number),
}
_READERS = [(QueueRow._fields.index(name), read) for name, read in _READ.items()]
"""The columns that are no texts; :data:`COLUMNS` are the fields of a row, in their order."""

LARGEST = 1 << 48
"""No node has more of anything; a larger number is not from sinfo."""


def read_nodes(text: str) -> tuple[list[NodeRow], dict[str, str]]:
    """The nodes in sinfo's answer, each once with all its partitions, and what cannot be read."""
    *lines, rest = text.split("\n")
    if rest:
        raise PortError("sinfo's answer is not complete")
    nodes: dict[str, NodeRow] = {}
    bad: dict[str, str] = {}
    for line in filter(None, lines):
        try:
            row = _node_row(line)
        except (ValueError, LookupError):
            bad[line.partition(BETWEEN)[0][:80]] = (
                f"sinfo printed a line that is not a node: {line[:80]!r}"
            )
            continue
        known = nodes.get(row.name)
        if known is not None:
            row = row._replace(partitions=known.partitions + row.partitions)
        nodes[row.name] = row
    return list(nodes.values()), bad


def parse_nodes(text: str) -> list[NodeRow]:
    """The nodes in sinfo's output, of which every line must be readable."""
    nodes, bad = read_nodes(text)
    if bad:
        raise PortError("; ".join(bad.values()))
    return nodes


@lru_cache(maxsize=1 << 15)
def _node_row(line: str) -> NodeRow:
    """A line of sinfo: most are the same from one poll to the next."""
    name, state, cpus, memory, gres, partition, features, last = line.split(BETWEEN)
    counts = [int(count) for count in cpus.split("/")]
    row = NodeRow(
        name=name,
        state=state.lower(),
        cpus=counts[3],
        memory=int(memory) * 1024,
        gres=parse_gres(gres),
        partitions=(partition.rstrip("*"),),
        features=tuple(f for f in features.split(",") if f and f != "(null)"),
    )
    if not name or last.strip() or max(row.cpus, row.memory, *row.gres.values()) >= LARGEST:
        raise ValueError("not a node")
    return row


class Window(NamedTuple):
    """A reservation of Slurm's: nodes that are not ours for a while."""

    begin: int
    end: int
    nodes: tuple[str, ...]


def parse_reservations(text: str) -> list[Window]:
    """Reservations in ``scontrol --oneliner show reservation``.

    An unreadable one is skipped: Slurm itself lets no other job onto its nodes.

    Examples
    --------
    >>> parse_reservations("ReservationName=r StartTime=5 EndTime=9 Duration=4 Nodes=n[1-2] X=1")
    [Window(begin=5, end=9, nodes=('n1', 'n2'))]
    """
    found = []
    for _, record in records(text):
        begin, end = record.get("starttime", ""), record.get("endtime", "")
        if begin.isdecimal() and end.isdecimal() and "nodes" in record:
            with contextlib.suppress(ClusterError):
                found.append(Window(int(begin), int(end), tuple(expand(record["nodes"]))))
    return found
