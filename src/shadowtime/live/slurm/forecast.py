"""When Slurm's own scheduler will start the waiting jobs: its model continued from the present
state.

Read-only: squeue and scontrol show. For a Slurm that schedules by itself, with or without a loop in
shadow mode beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.slurm_site import SlurmTexts, site_from_slurm
from shadowtime.engine.live_pass import natural
from shadowtime.errors import ClusterError
from shadowtime.live.eta import FEW, LONG, SHORT, Eta
from shadowtime.live.port import PortError
from shadowtime.live.slurm.asks import request_of
from shadowtime.live.slurm.beyond import LIMITS
from shadowtime.live.slurm.details import detail_of
from shadowtime.live.slurm.holding import spread
from shadowtime.live.slurm.state import HOLDS
from shadowtime.slurm.policy import SlurmPolicy
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.show_job import parse_details
from shadowtime.slurmtext.squeue import NONE
from shadowtime.slurmtext.tres import parse_gres
from shadowtime.workload import Workload
from shadowtime.workload.request import NEVER, Gres, Request, Requests

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from shadowtime.cluster.site import Site
    from shadowtime.live.slurm.answers import Answers
    from shadowtime.slurmtext.show_job import Detail
    from shadowtime.slurmtext.squeue import QueueRow

LEAD, EACH_PASS, SEATED = 12, 4, 50
"""Seconds before now at which the model begins, so that it can place the running jobs: a main pass
takes place every few seconds and starts at least this many."""
GPU = "gpu"
"""The one generic resource that the model of Slurm counts."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What Slurm reports at one time."""

    now: int
    site: Site
    rows: tuple[QueueRow, ...]
    details: Mapping[str, Detail] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """Predicted starts, and the jobs for which none is made, with the reason."""

    now: int
    etas: Mapping[str, Eta]
    unknown: Mapping[str, str]


def look(answers: Answers) -> Seen:
    """Query Slurm; nothing is changed. PortError if it does not answer."""
    show = ("scontrol", "--oneliner", "show")
    texts = SlurmTexts(
        nodes=answers.text((*show, "node")),
        partitions=answers.text((*show, "partition")),
        config=answers.text(("scontrol", "show", "config")),
        reservations=answers.text((*show, "reservation")),
    )
    rows = answers.queue()
    now = int(answers.clock.now())
    try:
        site = site_from_slurm(texts, unusable="drop")
    except ClusterError as error:
        raise PortError(str(error)) from None
    details: dict[str, Detail] = {}
    for job, detail in parse_details(answers.about_jobs(["show job"])[0]):
        details.setdefault(job, detail)
    return Seen(now=now, site=site, rows=tuple(rows), details=details)


def why_unknown(row: QueueRow, site: Site) -> str:
    """Why no start of a pending job is predicted; empty if one is.

    Rules
    -----
    It is unknown when a hold ends, a dependency is met or a limit of a QOS or an account permits a
    job: these do not depend on nodes. What the model does not count cannot be predicted either.
    """
    asked = {*parse_gres(row.gres_per_task), *parse_gres(row.gres_per_node)}
    asked |= {*parse_gres(row.gres_per_job), *parse_gres(row.gres_per_socket)}
    strange = sorted(name for name in asked if name.partition(":")[0] != GPU)
    partitions = {one.name for one in site.partitions}
    checks = (
        (row.priority == 0, f"it is held ({row.reason})"),
        (row.reason.startswith("Dependency"), "it depends on others"),
        (row.reason.startswith("Partition"), f"its partition keeps it ({row.reason})"),
        (row.reason.startswith("JobArrayTaskLimit"), "its array may not run more tasks at once"),
        (
            row.reason.startswith(LIMITS) and not row.reason.startswith("Reservation"),
            f"a limit keeps it from starting ({row.reason})",
        ),
        ("+" in row.id, "it is part of a heterogeneous job"),
        (row.reservation not in NONE, f"it belongs to the reservation {row.reservation}"),
        (row.licenses not in NONE, f"it requests licences ({row.licenses})"),
        (bool(strange), f"it requests {', '.join(strange)}, which is not modelled"),
        (not partitions & {*row.partition.split(",")}, f"partition {row.partition} has no nodes"),
    )
    return next((why for wrong, why in checks if wrong), "")


def pieces_of(row: QueueRow, detail: Detail | None, nodes: Mapping[str, int]) -> Iterator[Request]:
    """What a running job holds: a request for each of its nodes, which fits there and nowhere else.

    ``nodes`` are the processors of the nodes that can be used.
    """
    held = dict(detail.held) if detail is not None else {}
    hosts = expand(row.nodes)
    if set(held) != set(hosts):
        held = dict(spread(hosts, row.cpus))
    memory = dict(detail.memory_held) if detail is not None else {}
    generic = dict(detail.gres) if detail is not None else {}
    for host, count in held.items():
        if host in nodes:
            gpus = generic.get(host, {}).get(GPU, 0)
            yield Request(
                max_nodes=1,
                tasks=min(max(1, count), nodes[host]),
                memory=memory.get(host, 0) or 1,
                gres=(Gres(name=GPU, count=gpus),) if gpus else (),
                partitions=(row.partition.split(",")[0],),
                wanted=(host,),
            )


def forecast(seen: Seen, policy: SlurmPolicy | None = None) -> Forecast:
    """The predicted start of every waiting job under Slurm's own passes.

    Rules
    -----
    Jobs keep the order of their present priorities. Expected: every job uses as much of its limit
    as the median of the jobs that ended lately; the range: as little or as much as the tenth and
    the nine tenths of them. Where fewer than five have ended: all of it, and from a tenth to all.
    No further job is submitted.
    """
    unknown: dict[str, str] = {}
    waiting: list[QueueRow] = []
    for row in seen.rows:
        if row.state == "PENDING":
            why = why_unknown(row, seen.site)
            if why:
                unknown[row.id] = why
            else:
                waiting.append(row)
    waiting.sort(key=lambda row: (-row.priority, row.submit, natural(row.id)))  # as Slurm does
    if not waiting:
        return Forecast(now=seen.now, etas={}, unknown=unknown)
    short, usual, long = used_shares(seen)
    runs = {
        share: _starts(seen, waiting, share, policy or SlurmPolicy())
        for share in {short, usual, long}
    }
    etas = {}
    for row in waiting:
        found = [runs[share].get(row.id) for share in (usual, short, long)]
        known = [at for at in found if at is not None]
        if found[0] is None:
            unknown[row.id] = "Slurm's scheduler does not start it on the nodes that can be used"
        else:
            etas[row.id] = Eta(known[0], min(known), max(known))
    return Forecast(now=seen.now, etas=etas, unknown=unknown)


def used_shares(seen: Seen) -> tuple[float, float, float]:
    """How much of their limits jobs used lately: little, usually, much."""
    shares = [
        (row.end - row.start) / row.limit
        for row in seen.rows
        if row.state not in HOLDS | {"PENDING", "COMPLETING", "CANCELLED"}
        and row.end >= row.start > 0
        and row.limit > 0
    ]
    if len(shares) < FEW:
        return SHORT, 1.0, 1.0
    low, usual, high = np.quantile(np.clip(shares, 0, 1), [SHORT, 0.5, LONG])
    return float(low), float(usual), float(high)


def _starts(
    seen: Seen, waiting: Sequence[QueueRow], share: float, policy: SlurmPolicy
) -> dict[str, int]:
    """Starts if every job uses this share of its limit."""
    nodes = {node.name: node.amounts[0] for node in seen.site.nodes}
    runs = [
        (row, list(pieces_of(row, detail_of(seen.details, row.id), nodes)))
        for row in seen.rows
        if row.state in HOLDS
    ]
    lead = LEAD + EACH_PASS * (sum(len(pieces) for _, pieces in runs) // SEATED)
    asked: list[Request] = []
    columns: dict[str, list[int]] = {"submit": [], "run": [], "limit": [], "begin": []}

    def add(request: Request, submit: int, run: int, limit: int, begin: int = NEVER) -> None:
        asked.append(request)
        values = (submit, max(1, run), max(1, limit), begin)
        for name, value in zip(columns, values, strict=True):
            columns[name].append(value)

    for row, pieces in runs:
        ran = max(0, seen.now - row.start)
        # A job that has run longer than usual is assumed to run to its limit: nothing else is
        # known.
        usual = round(row.limit * share)
        left = max(1, (usual if usual > ran else row.limit) - ran)
        for piece in pieces:
            add(piece, 0, lead + left, lead + max(left, row.limit - ran))
    first = len(asked)
    for row in waiting:
        begin = lead + row.eligible - seen.now if row.eligible > seen.now else NEVER
        request = request_of(row, detail_of(seen.details, row.id))
        add(request, lead, round(row.limit * share), row.limit, begin)
    jobs = Workload.build(
        submit=columns["submit"],
        run=columns["run"],
        procs=[one.cpus for one in asked],
        limit=columns["limit"],
        request=columns["limit"],
        epoch=seen.now - lead,
        requests=Requests.of_jobs(asked, begin=columns["begin"]),
    )
    schedule = policy.simulate(jobs, plain_site(seen.site))
    start = dict(zip(schedule.job_id.tolist(), schedule.start.tolist(), strict=True))
    return {
        row.id: seen.now + max(0, start[first + at + 1] - lead)
        for at, row in enumerate(waiting)
        if start[first + at + 1] >= 0
    }


def plain_site(site: Site) -> Site:
    """The site without what was decided before: a job submitted now may start.

    Jobs are in the order of their present priorities, which priority/basic keeps. Bounds of
    partitions apply to whole jobs, not to the pieces of running ones; Slurm itself reports a
    waiting job that violates one. No job is preempted: squeue does not show which may be.
    """
    config = {**site.config, "PriorityType": "priority/basic", "PreemptType": "preempt/none"}
    partitions = tuple(
        replace(one, min_nodes=0, max_nodes=None, max_time=None, qos="", up=True)
        for one in site.partitions
    )
    return replace(site, config=config, partitions=partitions)
