"""The vocabulary of a pass: what a policy sees, and what it may decide.

One set of types for simulations, live passes and ``demo --step``: a :class:`Snapshot` holds a
:class:`WaitingJob` per job in the queue and a :class:`RunningJob` per job that holds resources,
but no true run time. An object with ``decide(snapshot)`` is a policy; it returns Start, Stop,
Promise, Wake and Wait in the order in which they take effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from shadowtime.errors import PolicyError, ShadowtimeError
from shadowtime.policy.functions import in_words
from shadowtime.types import Reason

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.cluster.site import Site
    from shadowtime.workload.request import Request

JobId = Any
"""A whole number in a log, a text such as "12_3" in a live scheduler: compare, do not compute."""
UserId = Any
"""A number in a log (-1: unknown), a name in a live scheduler ("": unknown)."""
Held = tuple[tuple[str, tuple[int, ...]], ...]
"""What a job holds on each host: (host, amounts per resource)."""
Place = tuple[tuple[str, int], ...]
"""Where a job runs: (host, processors there), in the cluster's order of hosts."""

Sizes = tuple[int, int]
"""Bounds of the number of hosts of a job, (0, 0) where it has no choice."""

NO_HOST = "none"
"""Name of the host of a cluster without hosts: a cluster needs one."""


@dataclass(frozen=True, slots=True)
class WaitingJob:
    """A job in the queue; ``need`` has an entry per resource of the cluster, processors first.

    ``estimate`` and ``fits`` are filled in by the pass before a policy sees them. ``nodes`` is the
    number of hosts the job requests (0: any), ``alone`` whether it shares none of them.
    ``only`` names the hosts it may use, all where empty; ``chunk`` processors must be on one host
    together. ``bandwidth`` is the demand of a process in MB/s, to a thousandth, -1 if unknown.
    ``each`` is what it takes on every host it runs on, however many of its processors are there: an
    entry per resource, 0 where ``need`` is divided by processors; empty where all of it is. On a
    site ``ask`` is the whole request, and only id, submit, request and user count besides.
    """

    id: JobId
    submit: int
    need: tuple[int, ...]
    request: int
    estimate: int = 0
    """Expected run time in seconds."""
    user: UserId = ""
    fits: bool = True
    """False on a site if no nodes hold it now or a limit forbids it; elsewhere see ``free``."""
    _: KW_ONLY
    nodes: int = 0
    alone: bool = False
    only: tuple[str, ...] = ()
    chunk: int = 1
    tag: str = ""
    bandwidth: float = -1
    each: tuple[int, ...] = ()
    ask: Request | None = None
    sizes: Sizes = (0, 0)
    """The fewest and most hosts that its user permits, where a policy chooses among them."""
    serial: float = -1
    """For a moldable job, the share of its work that cannot run in parallel; else -1."""
    columns: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Further columns of the log: ``job.deadline`` is ``job.columns["deadline"]``."""

    def __getattr__(self, name: str) -> Any:
        """A column of the log; called for what is no field of every job."""
        if not name.startswith("_") and name in self.columns:
            return self.columns[name]
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
        )

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *self.columns]

    @property
    def procs(self) -> int:
        """Processors it needs."""
        return self.need[0]

    def estimate_at(self, procs: int) -> int:
        """Expected run time in seconds of a moldable job on this many processors.

        Examples
        --------
        >>> WaitingJob(id=1, submit=0, need=(8,), request=9, estimate=9, serial=0).estimate_at(2)
        36
        """
        from shadowtime.workload.speedup import seconds_at

        return int(seconds_at(self.estimate, self.serial, of=self.procs, to=procs))


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A job that holds resources: it runs, or has been released and is about to start.

    ``estimate`` and ``expected_end`` are filled in by the pass. ``need`` counts what it holds of
    the hosts in the cluster. Where ``ours`` is False it counts, but no policy may stop it; where
    ``settled`` is False it is starting or ending and cannot be stopped now. ``held`` is
    what it holds per host beyond the processors in ``place``, where a port knows it. On a site
    ``held`` has every host, and ``ask`` is what limits count: partition, QOS, account, licences.
    """

    id: JobId
    submit: int
    need: tuple[int, ...]
    request: int
    estimate: int = 0
    """Expected run time in seconds."""
    user: UserId = ""
    _: KW_ONLY
    start: int
    expected_end: int = -1
    place: Place = ()
    ours: bool = True
    settled: bool = True
    alone: bool = False
    held: Held = ()
    tag: str = ""
    bandwidth: float = -1
    sizes: Sizes = (0, 0)
    """The fewest and most hosts that its user permits; (0, 0) keeps what it has."""
    suspended: bool = False
    """True if the loop has suspended it: its processors are free, the rest of what it holds not."""
    ask: Request | None = None

    @property
    def procs(self) -> int:
        """Processors it holds."""
        return self.need[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """A job that ended by itself or at its limit; preempted ones are waiting again."""

    id: JobId
    start: int
    end: int
    request: int
    user: UserId = ""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A cluster at one instant: which jobs wait, run and ended lately.

    A policy sees the queue in (submit, id) order and the running jobs by expected end, with
    ``free`` and ``capacity`` per resource, processors first. A port that observes a real scheduler
    leaves these two, estimates and expected ends to the pass. ``cluster`` lists the hosts that
    jobs may be started on now. ``ended`` may hold jobs that were reported before; the pass's memory
    knows which are new. ``site`` is the whole machine with its rules where the policy sees it so;
    ``shut`` are its nodes on which no job may be started now, whatever runs there.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster, Host
    >>> two = Cluster(shape="nodes", hosts=(Host("n1", (4,)), Host("n2", (4,))))
    >>> job = WaitingJob(id="7", submit=3, need=(2,), request=60)
    >>> Snapshot(now=9, cluster=two, waiting=(job,)).waiting[0].procs
    2
    """

    now: int
    cluster: Cluster
    waiting: tuple[WaitingJob, ...] = ()
    running: tuple[RunningJob, ...] = ()
    ended: tuple[Ended, ...] = ()
    site: Site | None = None
    shut: tuple[str, ...] = ()
    free: tuple[int, ...] = ()
    capacity: tuple[int, ...] = ()

    @property
    def closed(self) -> bool:
        """True if there is no host that jobs may be started on."""
        return self.cluster.hosts[0].name == NO_HOST

    def replace(self, **changes: Any) -> Snapshot:
        """A variant of this snapshot."""
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class Start:
    """Start a waiting job now; an ``optional`` start is skipped if the job does not fit.

    With an empty ``place`` the machine that carries it out chooses the hosts.
    """

    kind: ClassVar[str] = "start"
    job: JobId
    optional: bool = False
    _: KW_ONLY
    procs: int = 0
    """For a moldable job, the processors that it starts with; 0: those it requests."""
    place: Place = ()
    reason: Reason = Reason.HEAD
    limit: int = 0
    """A new wall time limit in seconds, 0: unchanged."""
    alone: bool = False
    """On exclusive hosts, whether it requests them or not."""
    bandwidth: int = 0
    """MB/s counted per process, 0: none."""
    partition: str = ""
    """On a site, the one of its partitions that it starts in."""
    held: Held = ()
    """On a site, what it uses on each of its hosts."""
    why: str = ""
    """The reason in words, printed by ``demo --step``."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Preempt a running job: it waits again, its work is lost."""

    kind: ClassVar[str] = "stop"
    job: JobId


@dataclass(frozen=True, slots=True)
class Resize:
    """Leave a running job of a live pass fewer processors: it goes on with those in ``place``."""

    kind: ClassVar[str] = "shrink"
    job: JobId
    procs: int
    place: Place = ()


@dataclass(frozen=True, slots=True)
class Suspend:
    """Let a running job of a live pass stand still: its processors are free for others."""

    kind: ClassVar[str] = "suspend"
    job: JobId


@dataclass(frozen=True, slots=True)
class Continue:
    """Let a suspended job of a live pass go on where it was; with no ``place`` there is no room."""

    kind: ClassVar[str] = "continue"
    job: JobId
    place: Place = ()


@dataclass(frozen=True, slots=True)
class Promise:
    """When a blocked job is expected to start; its first promise is recorded."""

    job: JobId
    start: int
    _: KW_ONLY
    partition: str = ""
    """On a site, where it is promised to run: the partition, and tasks by node."""
    place: Place = ()
    ask: int = 0
    """A checksum of the request it was made for: a changed request voids the promise."""
    extra: int | None = None
    """Processors left over at its start, for jobs that run past it (EASY's extra nodes)."""
    why: str = ""
    """The reason in words, printed by ``demo --step``."""


@dataclass(frozen=True, slots=True)
class Wake:
    """Request a pass at a time even if nothing else happens then."""

    at: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Why a job stays in the queue, in words: printed by ``demo --step``, otherwise ignored."""

    job: JobId
    why: str


Decision = Start | Stop | Resize | Suspend | Continue
"""What a machine carries out."""
KINDS = tuple(one.kind for one in (Start, Stop, Resize, Suspend, Continue))
"""What decisions are called in logs, recordings, metrics and state files."""


class PythonPolicy(Protocol):
    """A policy written in Python; ``name``, ``estimate`` and ``place`` are optional attributes.

    Examples
    --------
    >>> class FirstFit:
    ...     name = "first-fit"
    ...     def decide(self, snapshot):
    ...         free = snapshot.free[0]
    ...         for job in snapshot.waiting:
    ...             if job.procs <= free:
    ...                 free -= job.procs
    ...                 yield Start(job.id)
    """

    def decide(self, snapshot: Snapshot) -> object:
        """The decisions of one pass, an iterable of Start, Stop, Promise, Wake and Wait."""


def name_of(policy: Any) -> str:
    """The name of a policy, of a class's instance if it has none."""
    return str(getattr(policy, "name", type(policy).__name__))


def ask_policy(policy: PythonPolicy, snapshot: Snapshot) -> list[object]:
    """The decisions of a policy written in Python; an exception in it is reported as its own.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> class Broken:
    ...     def decide(self, snapshot):
    ...         return 1 / 0
    >>> ask_policy(Broken(), Snapshot(now=7, cluster=Cluster.pool(4)))
    Traceback (most recent call last):
    ...
    shadowtime.errors.PolicyError: Broken.decide failed at 7: ZeroDivisionError: division by zero
    """
    try:
        decisions = policy.decide(snapshot)
        if isinstance(decisions, Iterable):
            return list(decisions)
    except ShadowtimeError:
        raise
    except Exception as error:
        raise PolicyError(
            f"{name_of(policy)}.decide failed at {snapshot.now}: {in_words(error)}"
        ) from error
    raise PolicyError(
        f"{name_of(policy)}: decide must return decisions, not {type(decisions).__name__}"
    )


_NUMBER = re.compile(r"\d{1,18}")  # Python reads no number of more than 4,300 digits


@lru_cache(maxsize=1 << 17)
def natural(job: str) -> tuple[int, ...]:
    """The numbers in a job's name, which order jobs submitted in the same second.

    Examples
    --------
    >>> sorted(["12_10", "9", "12_9"], key=natural)
    ['9', '12_9', '12_10']
    """
    return tuple(map(int, _NUMBER.findall(job)))
