"""What ``scontrol --details show job`` prints about jobs."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from shadowtime.slurmtext.fields import parse_memory
from shadowtime.slurmtext.hostlist import expand, numbers
from shadowtime.slurmtext.sbatch import parse_line
from shadowtime.slurmtext.tres import parse_gres


class Detail(NamedTuple):
    """What only scontrol reports about a job."""

    nodes: int = 0
    """Nodes it requests, 0 if unspecified."""
    excluded: tuple[str, ...] = ()
    throttle: int = 0
    held: tuple[tuple[str, int], ...] = ()
    """Processors it holds by node."""
    gres: tuple[tuple[str, Mapping[str, int]], ...] = ()
    """Generic resources it holds by node."""
    comment: str = ""
    memory: str = ""
    """Whether its memory is counted by node or by processor (cpu), if reported."""
    memory_held: tuple[tuple[str, int], ...] = ()
    """KB of memory it holds by node."""
    most: int = 0
    """The largest number of nodes, 0 if unspecified."""
    memory_each: int = -1
    """KB of memory for each processor or node (0: all of a node's), -1 where it is not reported."""
    remarked: bool = False
    """Whether an administrator, or a user who writes like one, has commented on it."""


_RECORD = re.compile(
    r"(?:scontrol: )*JobId=(\d+) (?:ArrayJobId=(\d+) ArrayTaskId=(\S+) "
    r"(?:ArrayTaskThrottle=(\d+) )?)?"
)
"""How a record begins: what precedes the job's name."""
_BEGIN, _END = " ReqNodeList=", " OverSubscribe="
"""Between these two Slurm writes and users do not."""
_RANGE = re.compile(r" NumNodes=(\d{1,6})-(\d+) ")
_TASKS = re.compile(r" NumTasks=(\d+) ")
_SINCE_26 = re.compile(r" OverSubscribe=\S+ Exclusive=")
_SUBMITTED = re.compile(r" SubmitLine=(.*?) WorkDir=")
_EXCLUDED = re.compile(r" ExcNodeList=(\S+) NodeList=")
_PIECE = re.compile(r" Nodes=(\S+) CPU_IDs=([\d,-]+) Mem=(\S*)(?: GRES=(\S+))?")
_INDEX = re.compile(r"\bgpu[^(,]*\(IDX:([\d,-]+)\)")
_MEMORY = re.compile(r" MinMemory(Node|CPU)=(\S+) ")
_REMARK = re.compile(r" AdminComment=(?!shadowtime\?)(?=\S)")
_COMMENT = re.compile(r" Comment=(.*?)(?: StdErr=|$)")


class Piece(NamedTuple):
    """What a job holds on a node."""

    node: str
    cpus: tuple[int, ...]
    memory: int = 0
    """KB; 0 where memory is not counted."""
    gres: str = ""

    @property
    def gpus(self) -> tuple[int, ...] | None:
        """The indices of its GPUs, None where they are not reported.

        Examples
        --------
        >>> Piece("n1", (0,), 0, "gpu:a:2(IDX:0-1),gpu:b:1(IDX:3)").gpus
        (0, 1, 3)
        """
        found = [number for part in _INDEX.findall(self.gres) for number in numbers(part)]
        return tuple(found) or None


def pieces(record: str) -> list[Piece]:
    """What a job holds node by node, by ``scontrol --details show job``.

    Examples
    --------
    >>> [one[:3] for one in pieces(" Nodes=n[1-2] CPU_IDs=0-3,7 Mem=9 GRES=")]
    [('n1', (0, 1, 2, 3, 7), 9216), ('n2', (0, 1, 2, 3, 7), 9216)]
    """
    return [
        Piece(host, tuple(numbers(ids)), parse_memory(memory or "0", bare="M"), gres)
        for hosts, ids, memory, gres in _PIECE.findall(record)
        for host in expand(hosts)
    ]


def parse_details(text: str) -> Iterator[tuple[str, Detail]]:
    """Details by job in ``scontrol --oneliner --details show job``.

    Rules
    -----
    A job's name, account, paths and comment are arbitrary text of users. A line break is printed
    unchanged, so what looks like a record may be a user's comment: if a job is reported twice, it
    is queried separately, and the first record counts. A line that begins no record continues the
    one before. Hosts are looked for where Slurm alone writes; a record in which that place is not
    clear, or cannot be read, reports nothing about hosts.

    Examples
    --------
    >>> line = (
    ...     "JobId=7 JobName=x ReqNodeList=(null) ExcNodeList=n3 NodeList= NumNodes=2-2 X=1 "
    ...     "  Nodes=n1 CPU_IDs=0-3,7 Mem=0 GRES=membw(CNT:9) X= OverSubscribe=OK "
    ...     "Comment=tag=cg, bw=9 StdErr=x"
    ... )
    >>> detail = dict(parse_details(line))["7"]
    >>> detail[:4]
    (2, ('n3',), 0, (('n1', 5),))
    >>> detail.gres, detail.comment
    ((('n1', {'membw': 9}),), 'tag=cg, bw=9')
    >>> sharing = "OverSubscribe=NO Exclusive=NO"
    >>> since_26 = f"JobId=7 ReqNodeList=(null) NumNodes=1-8 NumTasks=8 {sharing}"
    >>> dict(parse_details(since_26))["7"][0], dict(parse_details(since_26))["7"].most
    (0, 0)
    """
    for line in _records(text):
        record = _RECORD.match(line)
        if record is None:
            continue
        job, array, task, throttle = record.groups()
        comment = _COMMENT.search(line)
        detail = Detail(
            throttle=int(throttle or 0),
            comment=comment[1].rstrip("\r") if comment else "",
            remarked=_REMARK.search(line) is not None,
        )
        with contextlib.suppress(ValueError):  # ClusterError among them
            detail = _with_hosts(detail, line)
        name = f"{array}_{task if task.isdecimal() else '*'}" if array else job
        yield name, detail


def _names_nodes(line: str) -> bool:
    """Whether a job was submitted with a number of nodes: its line says so, its script may.

    Since 26.05 ``-n 8`` alone has at most as many nodes as tasks and shows NumNodes=1-8, but Slurm
    aims at the least number, as before: this range is no request.
    """
    submitted = _SUBMITTED.search(line)
    return submitted is not None and "nodes" in parse_line(submitted[1])


def _records(text: str) -> Iterator[str]:
    """The records in a text; a line break in a job's name does not end one."""
    lines: list[str] = []
    for line in text.split("\n"):
        if _RECORD.match(line) and lines:
            yield " ".join(lines)
            lines = []
        lines.append(line)
    yield " ".join(lines)


def _with_hosts(detail: Detail, line: str) -> Detail:
    """With what Slurm itself writes about nodes, if that part is unambiguous."""
    begin, end = line.find(_BEGIN), line.find(_END)
    if not 0 <= begin < end or line.count(_BEGIN) > 1 or line.count(_END) > 1:
        return detail
    implied = _SINCE_26.match(line, end) and not _names_nodes(line)
    line = line[begin : end + 1]
    range_, excluded = _RANGE.search(line), _EXCLUDED.search(line)
    if range_ and implied and range_[2] in _TASKS.findall(line):
        range_ = None
    held = pieces(line)
    memory = _MEMORY.search(line)
    return detail._replace(
        nodes=int(range_[1]) if range_ else 0,
        excluded=tuple(expand(excluded[1])) if excluded else (),
        held=tuple((one.node, len(one.cpus)) for one in held),
        gres=tuple((one.node, parse_gres(one.gres)) for one in held if one.gres),
        memory=memory[1].lower() if memory else "",
        most=int(range_[2]) if range_ else 0,
        memory_each=parse_memory(memory[2], bare="M") if memory else -1,
        memory_held=tuple((one.node, one.memory) for one in held),
    )
