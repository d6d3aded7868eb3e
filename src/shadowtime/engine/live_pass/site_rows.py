"""The jobs of a snapshot as rows of a site's tables: in order, with what each one holds."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from shadowtime.cluster.site import Outage, Partition, Site, in_one_order
from shadowtime.engine.live_pass.memory import SINCE, History, Memory
from shadowtime.engine.live_pass.table import ended_since, natural_columns
from shadowtime.policy.snapshot import RunningJob, Snapshot, WaitingJob, natural
from shadowtime.types import NO_LIMIT, AnyArray, Ints
from shadowtime.workload import Workload
from shadowtime.workload.request import Gres, Request, Requests
from shadowtime.workload.workload import unknown_columns

ELSEWHERE = "(elsewhere)"
"""A partition of all nodes for jobs that run where their own one has no nodes any more."""


class Rows(NamedTuple):
    """The jobs of a state, and the parts of running ones, in the order of the tables."""

    jobs: list[WaitingJob | RunningJob]
    ids: list[str]
    since: Ints
    asks: list[Request]
    tasks: Mapping[int, dict[str, int]]
    """Where those that run do so, by row."""
    parts: frozenset[int]
    """Rows of parts of jobs, which are never stopped by themselves."""
    known: AnyArray
    """By row, whether there is a note of the job, and"""
    notes: Ints
    """its columns (memory.py)."""

    @property
    def waits(self) -> Any:
        """By row, whether the job waits."""
        found = np.ones(len(self.ids), np.bool_)
        found[list(self.tasks)] = False
        return found


def site_now(state: Snapshot) -> Site:
    """The site with the nodes that are shut now closed for good."""
    assert state.site is not None, "a state on a site has one"
    site = state.site
    outages = tuple(
        Outage(node=name, begin=0, end=NO_LIMIT, drain=True, known_at=0) for name in state.shut
    )
    partitions = site.partitions
    if not state.shut and not any(
        run.ask is not None and ELSEWHERE in run.ask.partitions for run in state.running
    ):
        return site
    if any(run.ask is not None and ELSEWHERE in run.ask.partitions for run in state.running):
        every = tuple(node.name for node in site.nodes)
        partitions = (*partitions, Partition(name=ELSEWHERE, nodes=every))
    return site.replace(outages=(*site.outages, *outages), partitions=partitions)


def rows_of(state: Snapshot, memory: Memory, site: Site) -> Rows:
    """All jobs in the order of the tables: (since, id); newcomers after the known ones."""
    jobs: list[Any] = list(state.waiting)
    asks: list[Any] = [job.ask for job in jobs]
    assert type(None) not in set(map(type, asks)), "a waiting job on a site asks for something"
    waiting = len(jobs)
    tasks: list[dict[str, int]] = []
    split: list[bool] = []
    bare: dict[tuple[str, ...], bool] = {}
    for run in state.running:
        parts = parts_of(run, site, bare)
        for held, where in parts:
            jobs.append(run)
            asks.append(held)
            tasks.append(where)
            split.append(len(parts) > 1)
    ids = [job.id for job in jobs]
    at = memory.notes.rows_of(ids)
    notes = memory.notes.take(at)
    since = notes[:, SINCE].copy()
    new = at < 0
    for k in np.flatnonzero(new).tolist():
        since[k] = jobs[k].submit
    latest = since[:waiting][~new[:waiting]].max(initial=-1)
    new[waiting:] = False
    since[new] = np.maximum(since[new], latest)
    for k, parted in enumerate(split, waiting):
        if parted or not jobs[k].ours:
            since[k] = -1
    order = np.lexsort((*reversed(natural_columns(ids)), new, since))
    places = order.tolist()
    runs = [row for row, k in enumerate(places) if k >= waiting]
    return Rows(
        jobs=[jobs[k] for k in places],
        ids=[ids[k] for k in places],
        since=since[order],
        asks=[asks[k] for k in places],
        tasks={row: tasks[places[row] - waiting] for row in runs},
        parts=frozenset(row for row in runs if split[places[row] - waiting]),
        known=(at >= 0)[order],
        notes=notes[order],
    )


def parts_of(
    run: RunningJob, site: Site, bare: dict[tuple[str, ...], bool]
) -> list[tuple[Request, dict[str, int]]]:
    """What a running job holds as a request that fits there and takes just that.

    Where its amounts lie by node or by processor it is one request; otherwise one for each node,
    of which the first stands for the job where limits count jobs and wall time
    and the site its amounts.
    ``bare`` keeps, by partitions, whether a job that asks for no memory gets none there.
    """
    base = run.ask or Request()
    held = [one for one in run.held if one[1][0] > 0]
    if not held:
        return []
    none = bare.get(base.partitions)
    if none is None:
        none = bare[base.partitions] = _without_default(base, site)
    key = (base.partitions, base.qos, base.account, base.amounts, none)
    whole = _as_one(key, tuple([amounts for _, amounts in held]), site.resources)
    if whole is not None:
        return [(whole, {host: amounts[0] for host, amounts in held})]
    found: list[tuple[Request, dict[str, int]]] = []
    for host, amounts in held:
        part = _as_one(key, (amounts,), site.resources)
        assert part is not None, "amounts on one node lie by node"
        if found:
            part = replace(part, counts=False, amounts=())
        found.append((part, {host: amounts[0]}))
    return found


@lru_cache(maxsize=1 << 14)
def _as_one(
    base: tuple[Any, ...], held: tuple[tuple[int, ...], ...], resources: tuple[str, ...]
) -> Request | None:
    """The request of a job that holds these amounts; most jobs hold the same from look to look.

    ``base``: its partitions, QOS, account, amounts, and whether it gets no memory without asking.
    """
    partitions, qos, account, amounts, bare = base
    cpus = sum(amounts[0] for amounts in held)
    memory: int | None = None
    memory_per = "node"
    gres: list[Gres] = []
    typed = {name.partition(":")[0] for name in resources if ":" in name}
    for k, name in enumerate(resources[1:], 1):
        each = [amounts[k] for amounts in held]
        if name in typed:  # counted with its types; what has none is left over
            each = [
                amount
                - sum(a[j] for j, other in enumerate(resources) if other.startswith(f"{name}:"))
                for amount, a in zip(each, held, strict=True)
            ]
        if not any(each) and name != "memory":
            continue
        by_node = len(set(each)) == 1
        shares = {divmod(amount, amounts[0]) for amount, amounts in zip(each, held, strict=True)}
        by_cpu = len(shares) == 1 and next(iter(shares))[1] == 0 and next(iter(shares))[0] > 0
        if not by_node and not by_cpu:
            return None
        amount = each[0] if by_node else next(iter(shares))[0]
        if name == "memory":
            # 0 would mean all of a node's, and None what the partition gives by default.
            memory = amount or (None if bare else 1)
            memory_per = "node" if by_node else "cpu"
        else:
            gres.append(Gres(name=name, count=amount, per="node" if by_node else "task"))
    return Request(
        nodes=len(held),
        max_nodes=len(held),
        tasks=cpus,
        memory=memory,
        memory_per=memory_per,  # type: ignore[arg-type]
        gres=tuple(gres),
        partitions=partitions,
        qos=qos,
        account=account,
        amounts=amounts,
    )


def _without_default(ask: Request, site: Site) -> bool:
    """True if a job that asks for no memory gets none."""
    return all(
        one.default_memory is None
        for one in site.partitions
        if not ask.partitions or one.name in ask.partitions
    )


def live_workload(
    *, submit: Ints, run: Ints, request: Ints, users: Sequence[str], requests: Requests, epoch: int
) -> Workload:
    """Live jobs as columns, in this order; times count from ``epoch``."""
    names = sorted(set(users) - {""})
    number = {name: k for k, name in enumerate(names, 1)} | {"": -1}
    cpus = np.array([ask.cpus for ask in requests.distinct], np.int64)
    user = np.array([number[name] for name in users], np.int64)
    return Workload(
        name="live",
        job_id=np.arange(len(users)),
        submit=submit,
        run=run,
        request=request,
        limit=request,
        demand=cpus[requests.index].reshape(-1, 1),
        requests=requests,
        names={"user": ("", *names)},
        epoch=epoch,
        **(unknown_columns(len(users)) | {"user": user}),
    )


def limits_checksum(site: Site) -> int:
    """A number that distinguishes two sets of limits, the same in every process.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Qos, Site
    >>> site = Site(nodes=(Node(name="n1", amounts=(4,)),), qos=(Qos(name="normal"),))
    >>> limits_checksum(site) == limits_checksum(site.replace(qos=(Qos(name="normal"),)))
    True
    >>> limits_checksum(site) == limits_checksum(site.replace(qos=(Qos(name="high"),)))
    False
    """
    return zlib.crc32(repr(in_one_order((site.qos, site.associations))).encode())


@lru_cache(maxsize=1 << 15)
def ask_checksum(ask: Request) -> int:
    """A number that distinguishes two requests: thousands ask for the very same in every pass."""
    return zlib.crc32(repr(ask).encode())


def last_model(known: History | None, request: int) -> int:
    """The share of the request that the user's last job used, times this request.

    spec: algorithms 1.6.

    Examples
    --------
    >>> last_model(History(last_run=30, last_request=60), 100), last_model(None, 100)
    (50, 100)
    """
    request = max(1, request)
    if known is None or known.last_run < 0 or known.last_request <= 0:
        return request
    guess = (known.last_run * request + known.last_request // 2) // known.last_request
    return max(1, min(request, guess))


def with_ends(state: Snapshot, memory: Memory) -> dict[str, History]:
    """What is known of each user after the jobs that ended since the last pass."""
    users = dict(memory.users)
    for job in sorted(ended_since(state, memory), key=lambda job: (job.end, natural(job.id))):
        if job.user:
            before = users.get(job.user, History())
            users[job.user] = History(job.end - job.start, job.request, before.last_run)
    return users
