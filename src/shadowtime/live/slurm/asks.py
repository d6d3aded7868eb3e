"""What a pending Slurm job requests from a site, and which requests the site model lacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from shadowtime.cluster.features import choices
from shadowtime.errors import ClusterError, InputError
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.show_job import Detail, parse_details
from shadowtime.slurmtext.squeue import NONE, QueueRow
from shadowtime.slurmtext.tres import LICENCE_PREFIX, asked_gres, parse_gres, parse_licences
from shadowtime.workload.request import Gres, Request

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site
    from shadowtime.slurmtext.squeue import QueueRow

    Ask = Callable[[Sequence[str]], list[str]]
    """scontrol's answers to some lines, one for each."""


def detail_of(details: Mapping[str, Detail], job: str) -> Detail | None:
    """What is known of a job, or of the array it has not been split off yet."""
    found = details.get(job)
    if found is None and "_" in job:
        return details.get(f"{job.partition('_')[0]}_*")
    return found


COMMENTS_EVERY = 30.0
"""Seconds after which every waiting job is queried again for a policy that reads comments."""
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
        ask: Ask,
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
            pending = row.state == "PENDING"
            informative = row.node_count > 1 or site
            if pending or (row.state == "RUNNING" and informative):
                wanted[row.id] = (pending, row.node_count, row.cpus, row.restarts)
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
        for job, detail in self._believed(ask, unknown, asked).items():
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

    def _believed(self, ask: Ask, jobs: Sequence[str], known: set[str]) -> dict[str, Detail]:
        """What is reported about these jobs; where these are many, all are queried at once.

        A job that is reported twice then is queried separately, unless it is known.
        """
        if len(jobs) <= MANY:
            return _each_alone(ask, jobs)
        found: dict[str, Detail] = {}
        doubtful: dict[str, None] = {}
        unknown = {*jobs, *arrays_of(jobs)}
        for job, detail in parse_details(ask(["show job"])[0]):
            if job in unknown and found.setdefault(job, detail) != detail:
                doubtful[job] = None
        settled = {job: self.by_job[job] for job in doubtful if job in known & self.by_job.keys()}
        return found | _each_alone(ask, [job for job in doubtful if job not in settled]) | settled


def _each_alone(ask: Ask, jobs: Sequence[str]) -> dict[str, Detail]:
    """Slurm's own record of each job, which comes first in the answer about it."""
    names = [job.removesuffix("_*") for job in jobs]
    found: dict[str, Detail] = {}
    answers = ask([f"show job {name}" for name in names]) if jobs else []
    for job, text in zip(jobs, answers, strict=True):
        ours = {job, *arrays_of([job])}
        name, detail = next((one for one in parse_details(text) if one[0] in ours), (job, Detail()))
        found[name] = detail
    return found


def arrays_of(jobs: Iterable[str]) -> set[str]:
    """The names under which Slurm reports tasks of arrays that it has not split off yet.

    Examples
    --------
    >>> arrays_of(["7", "8_1", "8_2"])
    {'8_*'}
    """
    return {f"{job.partition('_')[0]}_*" for job in jobs if "_" in job}


_NODES = re.compile(r"\bnode=(\d+)")


def least_nodes(tres: str) -> int:
    """The smallest number of nodes of a waiting job, 0 if one is enough.

    Examples
    --------
    >>> least_nodes("cpu=2,mem=62.50G,node=2,billing=2"), least_nodes("cpu=20,node=1")
    (2, 0)
    """
    found = _NODES.search(tres)
    return int(found[1]) if found and int(found[1]) > 1 else 0


def licences_of(text: str) -> tuple[tuple[str, int], ...]:
    """Licences that a job requests; alternatives, which are not modelled, are one strange name.

    Examples
    --------
    >>> licences_of("matlab:2,ansys"), licences_of("(null)"), licences_of("a:1|b:2")
    ((('license/matlab', 2), ('license/ansys', 1)), (), (('license/a:1|b:2', 1),))
    """
    try:
        return tuple(parse_licences(text).items())
    except ClusterError:
        return ((LICENCE_PREFIX + text, 1),)


def request_of(row: QueueRow, detail: Detail | None) -> Request:
    """What a pending job requests.

    Examples
    --------
    >>> from shadowtime.slurmtext.squeue import COLUMNS, _queue_row, BETWEEN
    >>> texts = dict.fromkeys(COLUMNS, "") | {"JobArrayID": "7", "PriorityLong": "9"}
    >>> texts |= {"Partition": "a,b", "NumTasks": "8", "NumCPUs": "8", "tres-alloc": "cpu=8,node=2"}
    >>> texts["TimeLimit"] = "1:00"
    >>> request = request_of(_queue_row(BETWEEN.join(texts.values())), None)
    >>> request.nodes, request.tasks, request.partitions
    (2, 8, ('a', 'b'))
    """
    nodes = max(1, detail.nodes if detail is not None else 0, least_nodes(row.tres))
    per_task = max(1, row.per_task)
    exclusive = row.sharing == "NO"
    memory, memory_per = _memory(row, detail)
    gres = [(row.gres_per_node, "node"), (row.gres_per_task, "task"), (row.gres_per_job, "job")]
    # For an exclusive job that has run before, squeue reports all processors of its nodes.
    tasks = row.tasks if exclusive and row.tasks > 0 else max(row.tasks, row.cpus // per_task)
    return Request(
        nodes=nodes,
        max_nodes=max(nodes, detail.most) if detail is not None and detail.most else None,
        tasks=max(1, tasks),
        cpus_per_task=per_task,
        tasks_per_node=row.per_node or None,
        memory=memory,
        memory_per="cpu" if memory_per == "cpu" else "node",
        gres=tuple(
            Gres(name=name, count=count, per=per)  # type: ignore[arg-type]
            for text, per in gres
            for name, count in asked_gres(text).items()
        ),
        cpus_per_gpu=parse_gres(row.cpus_per_tres).get("gpu"),
        features="" if row.features in NONE else row.features,
        exclusive=exclusive,
        exclusive_user=row.sharing == "USER",
        contiguous=bool(row.contiguous),
        partitions=tuple(row.partition.split(",")),
        qos="" if row.qos in NONE else row.qos,
        account="" if row.account in NONE else row.account,
        reservation="" if row.reservation in NONE else row.reservation,
        wanted=tuple(expand(row.wanted)),
        excluded=detail.excluded if detail is not None else (),
        amounts=licences_of(row.licenses),
    )


def _memory(row: QueueRow, detail: Detail | None) -> tuple[int | None, str]:
    """KB for each processor or node, from scontrol if reported, else from squeue's total."""
    if detail is not None and detail.memory and detail.memory_each >= 0:
        return detail.memory_each if detail.memory == "node" else (
            detail.memory_each or None
        ), detail.memory
    tres = row.amounts
    by_cpu = detail is not None and detail.memory == "cpu"
    parts = max(1, row.cpus if by_cpu else tres.get("node", 1))
    return -(-tres.get("mem", 0) // parts) or None, "cpu" if by_cpu else "node"


def why_beyond_site(row: QueueRow, site: Site, driven: Collection[str]) -> str:
    """Why the loop cannot decide where and when a job may start on a site; nothing if it can.

    Rules
    -----
    Not modelled: heterogeneous jobs, partitions that the loop does not drive, reservations
    it does not see, licences that slurm.conf does not count, resources by socket, memory by GPU,
    sockets, cores and threads, a least number of processors on a node, features of several nodes
    together.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> from shadowtime.slurmtext.squeue import COLUMNS, _queue_row, BETWEEN
    >>> texts = dict.fromkeys(COLUMNS, "") | {"JobArrayID": "7", "PriorityLong": "0"}
    >>> row = _queue_row(BETWEEN.join((texts | {"TimeLimit": "1:00", "Partition": "a,b"}).values()))
    >>> site = Site(nodes=(Node(name="n1", amounts=(4,)),))
    >>> why_beyond_site(row, site, ("a",))
    'it may also run in b, which the loop does not drive'
    >>> why_beyond_site(row._replace(licenses="matlab:1"), site, ("a", "b"))
    'it requests licences that Slurm does not count itself (matlab:1)'
    """
    others = [name for name in row.partition.split(",") if name not in driven]
    named = {one.name for one in site.reservations}
    licences = {name for name, _ in licences_of(row.licenses)}
    threads = max(node.threads_per_core for node in site.nodes)
    on_node = max(1, row.per_task) * max(1, row.per_node)
    by_tres = parse_gres(row.cpus_per_tres)
    checks = (
        ("+" in row.id, "it is part of a heterogeneous job"),
        (bool(others), f"it may also run in {', '.join(others)}, which the loop does not drive"),
        (
            row.reservation not in NONE and row.reservation not in named,
            f"it belongs to the reservation {row.reservation}, which is not known",
        ),
        (
            not licences <= site.amounts.keys(),
            f"it requests licences that Slurm does not count itself ({row.licenses})",
        ),
        (
            row.gres_per_socket not in NONE,
            f"it requests resources by socket ({row.gres_per_socket})",
        ),
        (row.mem_per_tres not in NONE, f"it requests memory by resource ({row.mem_per_tres})"),
        (
            row.cpus_per_tres not in NONE and set(by_tres) != {"gpu"},
            f"it requests processors by resource ({row.cpus_per_tres})",
        ),
        (
            not _any_sockets(row.sockets, threads),
            f"it requests sockets, cores or threads ({row.sockets})",
        ),
        (row.min_cpus > on_node, f"it requests {row.min_cpus} processors on each node"),
        (
            not _readable(row.features),
            f"its constraint is more than features of a node ({row.features})",
        ),
    )
    return next((why for wrong, why in checks if wrong), "")


def _any_sockets(text: str, threads: int) -> bool:
    """Whether sockets, cores and threads are unspecified; or one thread, if cores have one."""
    parts = text.split(":") if text not in NONE else []
    least = ("*", "1") if threads == 1 else ("*",)
    return all(part == "*" for part in parts[:2]) and all(part in least for part in parts[2:])


def _readable(features: str) -> bool:
    if features in NONE:
        return True
    if "*" in features or "[" in features:  # placed in simulations, not compared with the daemon
        return False
    try:
        choices(features)
    except InputError:
        return False
    return True
