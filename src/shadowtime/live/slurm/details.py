"""What only ``scontrol show job`` reports about a job: parsed, and queried once."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, NamedTuple

from shadowtime.cluster.hostlist import expand
from shadowtime.cluster.units import parse_memory
from shadowtime.live.runner import checked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from shadowtime.live.runner import Runner
    from shadowtime.live.slurm.text import QueueRow


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
_EXCLUDED = re.compile(r" ExcNodeList=(\S+) NodeList=")
_HELD = re.compile(r" Nodes=(\S+) CPU_IDs=([\d,-]+) Mem=(\S*)(?: GRES=(\S+))?")
_MEMORY = re.compile(r" MinMemory(Node|CPU)=(\S+) ")
_REMARK = re.compile(r" AdminComment=(?!shadowtime\?)(?=\S)")
_COMMENT = re.compile(r" Comment=(.*?)(?: StdErr=|$)")
_COUNT = re.compile(r"([\w.-]+)((?::[a-zA-Z][\w.-]*)?)(?::(\d{1,15}))?\((?:CNT:(\d{1,15})|IDX:)")


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
    line = line[begin : end + 1]
    range_, excluded = _RANGE.search(line), _EXCLUDED.search(line)
    parts = [(expand(hosts), ids, mem, gres) for hosts, ids, mem, gres in _HELD.findall(line)]
    memory = _MEMORY.search(line)
    return detail._replace(
        nodes=int(range_[1]) if range_ else 0,
        excluded=tuple(expand(excluded[1])) if excluded else (),
        held=tuple((host, _count(ids)) for hosts, ids, *_ in parts for host in hosts),
        gres=tuple((host, _counts(gres)) for hosts, *_, gres in parts if gres for host in hosts),
        memory=memory[1].lower() if memory else "",
        most=int(range_[2]) if range_ else 0,
        memory_each=parse_memory(memory[2], bare="M") if memory else -1,
        memory_held=tuple(
            (host, parse_memory(mem, bare="M")) for hosts, _, mem, _ in parts for host in hosts
        ),
    )


def _counts(gres: str) -> Mapping[str, int]:
    """Generic resources by name, those with a type under both names.

    Examples
    --------
    >>> _counts("gpu:a100:2(IDX:0-1),gpu:1(IDX:2),membw(CNT:33000)")
    {'gpu': 3, 'gpu:a100': 2, 'membw': 33000}
    """
    found: dict[str, int] = {}
    for name, kind, devices, counted in _COUNT.findall(gres):
        for key in dict.fromkeys((name, name + kind)):
            found[key] = found.get(key, 0) + int(counted or devices or 0)
    return found


def _count(ids: str) -> int:
    """How many numbers a list of ranges holds."""
    total = 0
    for part in ids.split(","):
        low, _, high = part.partition("-")
        total += int(high or low) - int(low) + 1
    return total


def detail_of(details: Mapping[str, Detail], job: str) -> Detail | None:
    """What is known of a job, or of the array it has not been split off yet."""
    found = details.get(job)
    if found is None and "_" in job:
        return details.get(f"{job.partition('_')[0]}_*")
    return found


COMMENTS_EVERY = 30.0
"""Seconds after which every waiting job is queried again for a policy that reads comments."""
DETAILS = ("scontrol", "--oneliner", "--details")
MANY = 40
"""More unknown jobs than this are queried all at once."""


class Details:
    """The details of the jobs in a queue, by job; :meth:`learn` queries the missing ones.

    Rules
    -----
    A job is queried once, and again when its state, nodes, processors or restarts change or its
    reason begins with another word. If ``comments`` are read, every waiting job is queried again
    after :data:`COMMENTS_EVERY` seconds: users change them.
    """

    def __init__(self) -> None:
        self.by_job: dict[str, Detail] = {}
        self._asked: dict[str, tuple[object, ...]] = {}
        self._nodes: dict[str, tuple[int, int]] = {}
        self._comments_at = float("-inf")

    def get(self, job: str) -> Detail | None:
        """What is known about a job; a task that Slurm has not split off shares its array's."""
        return detail_of(self.by_job, job)

    def nodes(self, job: str) -> tuple[int, int]:
        """The smallest and largest number of nodes that a job requests, 0 if unspecified."""
        detail = self.get(job)
        return (detail.nodes, detail.most) if detail is not None else (0, 0)

    def remarked(self, job: str) -> bool:
        """Whether a job has a comment set by the site."""
        detail = self.get(job)
        return detail is not None and detail.remarked

    def learn(
        self,
        run: Runner,
        rows: Sequence[QueueRow],
        now: float,
        *,
        site: bool = False,
        comments: bool = False,
    ) -> None:
        """Query jobs that are new or have changed, and forget those that are gone.

        On a ``site`` every running job is queried, else those on several nodes.
        """
        wanted: dict[str, tuple[object, ...]] = {}
        for row in rows:
            pending = row.state == "PENDING" and row.priority == 0
            informative = row.node_count > 1 or site
            if pending or (row.state == "RUNNING" and informative):
                wanted[row.id] = (pending, row.node_count, row.cpus, row.restarts, row.reason[:8])
        again = comments and not 0 <= now - self._comments_at < COMMENTS_EVERY
        if again:
            self._comments_at = now
        unknown = [
            job for job, key in wanted.items() if self._asked.get(job) != key or (again and key[0])
        ]
        self._forget(rows, wanted)
        if not unknown:
            return
        asked = {job for job in unknown if self._asked.get(job) == wanted[job]}
        text = show_jobs(run, unknown)
        for job, detail in self._believed(run, text, set(unknown), asked).items():
            # Once a job has run, Slurm no longer reports how many nodes it may have.
            low, high = self._nodes.get(job, (0, 0))
            low, high = (detail.nodes, detail.most) if detail.nodes else (low, high)
            detail = detail._replace(nodes=low, most=high)
            if self.by_job.get(job) != detail:  # else the same value, by which jobs are known
                self.by_job[job] = detail
            self._nodes[job] = low, high
        self._asked.update({job: wanted[job] for job in unknown})

    def _forget(self, rows: Sequence[QueueRow], wanted: Mapping[str, object]) -> None:
        for job in self._asked.keys() - wanted.keys():
            del self._asked[job]
        # A released job that has not started still needs how its memory is counted.
        kept = {row.id for row in rows if row.state == "PENDING"} | wanted.keys()
        for job in self.by_job.keys() - (kept | arrays_of(kept)):
            del self.by_job[job]
        listed = {row.id for row in rows}
        for job in self._nodes.keys() - (listed | arrays_of(listed)):
            del self._nodes[job]

    def _believed(
        self, run: Runner, text: str, unknown: set[str], known: set[str]
    ) -> dict[str, Detail]:
        """What is reported about these jobs; a job reported twice is queried separately."""
        found: dict[str, Detail] = {}
        doubtful: set[str] = set()
        unknown |= arrays_of(unknown)
        for job, detail in parse_details(text):
            if job in unknown and found.setdefault(job, detail) != detail:
                doubtful.add(job)
        for job in sorted(doubtful):
            if job in known and job in self.by_job:  # not queried repeatedly
                found[job] = self.by_job[job]
                continue
            alone = parse_details(run((*DETAILS, "show", "job", job)).out)
            found[job] = next((detail for name, detail in alone if name == job), Detail())
        return found


def show_jobs(run: Runner, jobs: Sequence[str]) -> str:
    """The records of some jobs, or of all where these are many."""
    if len(jobs) > MANY:
        return checked(run, (*DETAILS, "show", "job"))
    return run(DETAILS, text="".join(f"show job {job}\n" for job in jobs)).out


def arrays_of(jobs: Iterable[str]) -> set[str]:
    """The names under which Slurm reports tasks of arrays that it has not split off yet.

    Examples
    --------
    >>> arrays_of(["7", "8_1", "8_2"])
    {'8_*'}
    """
    return {f"{job.partition('_')[0]}_*" for job in jobs if "_" in job}
