"""What Slurm shows of a site: records, and tables with a header and a row per line.

Records are those of ``scontrol show node|partition|reservation``, tables those of ``sacctmgr show
... -P`` and ``sshare -P``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from shadowtime.errors import ClusterError
from shadowtime.slurmtext.fields import lines_of
from shadowtime.slurmtext.times import parse_limit
from shadowtime.slurmtext.tres import tres_amounts

_NODE_KEYS = (
    "NodeName|Arch|CoresPerSocket|CPUAlloc|CPUEfctv|CPUErr|CPUTot|CPULoad|AvailableFeatures"
    "|ActiveFeatures|Gres|GresDrain|GresUsed|NodeAddr|NodeHostName|Port|Version|OS|RealMemory"
    "|AllocMem|FreeMem|Sockets|Boards|CoreSpecCount|CPUSpecList|MemSpecLimit|State"
    "|ThreadsPerCore|TmpDisk|Weight|Owner|MCS_label|Partitions|NextState|BootTime"
    "|SlurmdStartTime|LastBusyTime|ResumeAfterTime|CfgTRES|AllocTRES|CapWatts|CurrentWatts"
    "|LowestJoules|ConsumedJoules|AveWatts|ExtSensorsJoules|ExtSensorsWatts|ExtSensorsTemp"
    "|Reason|Comment|Extra|ReservationName|SuspendTime|Topology|InstanceId|InstanceType"
)
_PARTITION_KEYS = (
    "PartitionName|AllowGroups|DenyAccounts|AllowAccounts|AllowQos|DenyQos|AllocNodes"
    "|Alternate|Default|QoS|DefaultTime|DisableRootJobs|Exclusive|ExclusiveUser|ExclusiveTopo|GraceTime"
    "|Hidden|MaxNodes|MaxTime|MinNodes|LLN|MaxCPUsPerNode|MaxCPUsPerSocket|Nodes|NodeSets"
    "|PriorityJobFactor|PriorityTier|RootOnly|ReqResv|OverSubscribe|OverTimeLimit|PreemptMode"
    "|State|TotalCPUs|TotalNodes|SelectTypeParameters|JobDefaults|DefMemPerCPU|DefMemPerNode"
    "|MaxMemPerCPU|MaxMemPerNode|TRES|TRESBillingWeights|Topology|ResumeTimeout"
    "|SuspendTimeout|SuspendTime|PowerDownOnIdle|Priority"
)
_RESERVATION_KEYS = (
    "ReservationName|StartTime|EndTime|Duration|Nodes|NodeCnt|CoreCnt|Features|PartitionName"
    "|Flags|TRES|Users|Groups|Accounts|Licenses|State|BurstBuffer|Watts|MaxStartDelay|Comment"
    "|AllowedPartitions|QOS"
)
_NODE = re.compile(rf"(?:^|\s)({_NODE_KEYS})=")
_PARTITION = re.compile(rf"(?:^|\s)({_PARTITION_KEYS})=")
_RESERVATION = re.compile(rf"(?:^|\s)({_RESERVATION_KEYS})=")
_BEGINS = ("NodeName=", "PartitionName=", "ReservationName=")
_FREE = ("os", "reason", "comment", "extra", "version")
"""Keys whose values are free text, in which anything may look like a key."""
_STRANGE = re.compile(r"\s([A-Z][A-Za-z_]*)=(\S*)")


def split_record(text: str) -> tuple[dict[str, str], list[str]]:
    """Keys (lower case) and values of one record, and the keys that no version we know writes.

    Values may hold blanks and equals signs, so a value ends where a *known* key begins.

    Examples
    --------
    >>> split_record("NodeName=n1 OS=Linux 5.15 #1 SMP CfgTRES=cpu=64,mem=1G Reason=bad a=b")[0]
    {'nodename': 'n1', 'os': 'Linux 5.15 #1 SMP', 'cfgtres': 'cpu=64,mem=1G', 'reason': 'bad a=b'}
    >>> split_record("NodeName=n1 CPUTot=4 Warp=9 State=IDLE")
    ({'nodename': 'n1', 'cputot': '4', 'state': 'IDLE'}, ['Warp'])
    """
    flat = " ".join(text.split())
    kinds = {"PartitionName=": _PARTITION, "ReservationName=": _RESERVATION}
    pattern = next((kinds[kind] for kind in kinds if flat.startswith(kind)), _NODE)
    found = list(pattern.finditer(flat))
    ends = [match.start() for match in found[1:]] + [len(flat)]
    record: dict[str, str] = {}
    unknown: list[str] = []
    for match, end in zip(found, ends, strict=True):
        key, value = match[1].lower(), flat[match.end() : end].strip()
        strange = None if key in _FREE else _STRANGE.search(value)
        if strange:
            unknown += [other[1] for other in _STRANGE.finditer(value)]
            value = value[: strange.start()].strip()
        record.setdefault(key, value)
    return record, unknown


def records(text: str) -> list[tuple[int, dict[str, str]]]:
    """The records of scontrol's output with their lines, one to a line or spread over several."""
    return [(line, record) for line, record, _ in records_and_unknown(text)]


def records_and_unknown(text: str) -> list[tuple[int, dict[str, str], list[str]]]:
    """The records with their lines, and the unknown keys of each."""
    starts: list[tuple[int, list[str]]] = []
    for number, line in enumerate(lines_of(text), 1):
        # Reservations have NodeName lines of their own, indented, one per node with its cores.
        inside = bool(starts) and starts[-1][1][0].startswith(_BEGINS[2])
        if line.startswith(_BEGINS) or (not inside and line.lstrip().startswith(_BEGINS)):
            starts.append((number, [line]))
        elif line.strip() and starts:
            starts[-1][1].append(line)
    return [(number, *split_record(" ".join(lines))) for number, lines in starts]


def names_of(text: str) -> list[str]:
    """A comma list as Slurm writes it, where ``(null)`` is none."""
    return [name for name in text.split(",") if name and name != "(null)"]


NONE = ("", "-1", "n/a", "none", "(null)")


@dataclass(frozen=True)
class Row:
    """The fields of a line by column (lower case, no blanks), with its place."""

    fields: Mapping[str, str]
    where: str

    def get(self, *columns: str) -> str:
        """The first of these columns that is not empty."""
        return next((word for word in (self.fields.get(c, "") for c in columns) if word), "")

    def count(self, *columns: str) -> int | None:
        """A whole number, None where there is no bound."""
        text = self.get(*columns).strip()
        if text.lower() in NONE:
            return None
        if not re.fullmatch(r"[0-9]{1,15}", text):
            raise ClusterError(f"{self.where}: {columns[0]} must be a whole number, not {text!r}")
        return int(text)

    def number(self, otherwise: float, *columns: str) -> float:
        """A number with a fraction."""
        text = self.get(*columns).strip()
        if text.lower() in NONE:
            return otherwise
        try:
            return float(text)
        except ValueError:
            raise ClusterError(
                f"{self.where}: {columns[0]} must be a number, not {text!r}"
            ) from None

    def seconds(self, *columns: str) -> int | None:
        """A time limit."""
        try:
            return parse_limit(self.get(*columns))
        except ClusterError as error:
            raise ClusterError(f"{self.where}: {error}") from None

    def amounts(self, *columns: str) -> dict[str, int]:
        """A TRES list by the site's names."""
        try:
            return tres_amounts(self.get(*columns))
        except ValueError as error:
            raise ClusterError(f"{self.where}: {error}") from None

    def words(self, *columns: str) -> tuple[str, ...]:
        """A comma list; QOS lists may contain +name."""
        parts = (word.strip().lstrip("+") for word in self.get(*columns).split(","))
        return tuple(word for word in parts if word and word.lower() != "(null)")


@dataclass(frozen=True)
class Table:
    """Columns and rows; both empty where there was no text."""

    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()


def read_table(text: str, *, path: str, cluster: str = "") -> Table:
    """A table with the delimiter ``|``.

    If rows of several clusters are listed, only those of ``cluster`` are kept.

    Examples
    --------
    >>> table = read_table("Name|Def QOS|\\nnormal|x|\\n", path="qos.txt")
    >>> table.columns, table.rows[0].get("defqos")
    (('name', 'defqos'), 'x')
    """
    lines = [(number, line) for number, line in enumerate(lines_of(text), 1) if line.strip()]
    if not lines:
        return Table()
    head = lines[0][1]
    if "|" not in head:
        raise ClusterError(
            f"{path}, line {lines[0][0]}: there is no header with columns: "
            "export it with -P (--parsable2) and without --noheader"
        )
    columns = tuple("".join(name.split()).lower() for name in head.split("|"))
    trailing = columns[-1] == ""  # -p ends every line with the delimiter
    columns = columns[:-1] if trailing else columns
    rows = []
    for number, line in lines[1:]:
        fields = line.split("|")
        if trailing and fields[-1] == "":
            fields.pop()
        if len(fields) > len(columns) and "reason" in columns:  # the one free text
            at, more = columns.index("reason"), len(fields) - len(columns)
            fields[at : at + more + 1] = ["|".join(fields[at : at + more + 1])]
        where = f"{path}, line {number}"
        if len(fields) != len(columns):
            raise ClusterError(f"{where}: expected {len(columns)} columns, found {len(fields)}")
        rows.append(Row(dict(zip(columns, fields, strict=True)), where))
    clusters = {row.get("cluster") for row in rows}
    if cluster and cluster in clusters and len(clusters) > 1:
        rows = [row for row in rows if row.get("cluster") == cluster]
    return Table(columns, tuple(rows))
