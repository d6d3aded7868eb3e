"""When Slurm's own scheduler will start the waiting jobs: its model continued from the present
state, many times (spec: estimates 4.1).

Read-only: squeue, scontrol show, and what accounting remembers. For a Slurm that schedules by
itself, with or without a loop in shadow mode beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from shadowtime.cluster.site import Site
from shadowtime.cluster.slurm_site import SlurmTexts, site_from_slurm
from shadowtime.engine.live_pass import natural
from shadowtime.errors import ClusterError
from shadowtime.eta import present
from shadowtime.eta.held import even, pieces_on
from shadowtime.eta.ranges import Corrections, estimates_of
from shadowtime.eta.shares import Observed
from shadowtime.eta.starts import How, draw_starts
from shadowtime.live.ineligible import Case, Ineligible
from shadowtime.live.port import PortError
from shadowtime.live.predicted import Eta
from shadowtime.live.slurm.accounting import Accounting, Learned
from shadowtime.live.slurm.asks import detail_of, licences_of, request_of
from shadowtime.live.slurm.state import HOLDS
from shadowtime.slurmtext.conf import parse_config
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.reasons import WaitReason
from shadowtime.slurmtext.show_job import Detail, parse_details
from shadowtime.slurmtext.squeue import NONE, QueueRow
from shadowtime.slurmtext.tres import parse_gres
from shadowtime.workload.request import NEVER

if TYPE_CHECKING:
    from shadowtime.live.slurm.answers import Answers

GPU = "gpu"
"""The one generic resource that the model of Slurm counts."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What Slurm reports at one time."""

    now: int
    site: Site
    rows: tuple[QueueRow, ...]
    details: Mapping[str, Detail] = field(default_factory=dict)
    learned: Learned = field(default_factory=Learned)
    missing: tuple[str, ...] = ()
    """What accounting does not tell, a sentence each."""


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """Predicted starts, and the jobs for which none is made, with the reason."""

    now: int
    etas: Mapping[str, Eta]
    unknown: Mapping[str, str]


def look(answers: Answers, accounting: Accounting | None = None) -> Seen:
    """Query Slurm; nothing is changed. PortError if it does not answer.

    ``accounting`` remembers what slurmdbd said from one look to the next.
    """
    accounting = accounting or Accounting()
    show = ("scontrol", "--oneliner", "show")
    nodes, partitions = answers.text((*show, "node")), answers.text((*show, "partition"))
    config = answers.text(("scontrol", "show", "config"))
    reservations = answers.text((*show, "reservation"))
    rows = answers.queue()
    now = int(answers.clock.now())
    accounting.refresh(answers, now, parse_config(config).get("SLURM_VERSION", ""))
    texts = SlurmTexts(
        nodes=nodes,
        partitions=partitions,
        config=config,
        reservations=reservations,
        qos=accounting.texts.get("qos", ""),
        associations=accounting.texts.get("associations", ""),
        shares=accounting.texts.get("shares", ""),
    )
    try:
        site = site_from_slurm(texts, unusable="drop")
    except ClusterError as error:
        raise PortError(str(error)) from None
    details: dict[str, Detail] = {}
    for job, detail in parse_details(answers.about_jobs(["show job"])[0]):
        details.setdefault(job, detail)
    seen = Seen(
        now=now,
        site=site,
        rows=tuple(rows),
        details=details,
        learned=accounting.learned(site, now),
        missing=tuple(accounting.missing.values()),
    )
    return replace(seen, missing=(*seen.missing, *_about_depth(seen)))


def _about_depth(seen: Seen) -> list[str]:
    """What to say where a long queue is estimated with other passes than Slurm's."""
    waiting, _ = predictable(seen)
    stand_in = How().stand_in(seen.site, len(waiting))
    many = f"{len(waiting):,} jobs wait: their starts are estimated with {stand_in} in place of"
    return [f"{many} Slurm's own passes"] if stand_in else []


def why_unknown(row: QueueRow, site: Site) -> str:
    """Why no start of a pending job is predicted; empty if one is.

    Rules
    -----
    It is unknown when a hold ends or a dependency is met: these do not depend on nodes. A limit of
    a QOS or an account is followed if accounting tells it, and that of an array always. What the
    model does not count cannot be predicted either.
    """
    kind = row.waits_for
    asked = {*parse_gres(row.gres_per_task), *parse_gres(row.gres_per_node)}
    asked |= {*parse_gres(row.gres_per_job), *parse_gres(row.gres_per_socket)}
    strange = sorted(name for name in asked if name.partition(":")[0] != GPU)
    partitions = {one.name for one in site.partitions}
    reservations = {one.name for one in site.reservations}
    checks = (
        (row.priority == 0, str(Ineligible(Case.HELD, (row.reason,)))),
        (kind.dependency, "it depends on others"),
        (kind.partition, f"its partition keeps it ({row.reason})"),
        (
            kind.beside_nodes
            and kind not in (WaitReason.RESERVATION, WaitReason.LICENCES)
            and not (kind.limit and "limits" in site.enforce and site.qos),
            f"a limit keeps it from starting ({row.reason})",
        ),
        ("+" in row.id, "it is part of a heterogeneous job"),
        (
            row.reservation not in NONE and row.reservation not in reservations,
            f"it belongs to the reservation {row.reservation}",
        ),
        (
            not {name for name, _ in licences_of(row.licenses)} <= site.amounts.keys(),
            f"it requests licences ({row.licenses})",
        ),
        (bool(strange), f"it requests {', '.join(strange)}, which is not modelled"),
        (not partitions & {*row.partition.split(",")}, f"partition {row.partition} has no nodes"),
    )
    return next((why for wrong, why in checks if wrong), "")


def running_of(row: QueueRow, detail: Detail | None, nodes: Mapping[str, int]) -> present.Running:
    """A running job with what it holds; ``nodes`` are the processors of those that can be used."""
    held = dict(detail.held) if detail is not None else {}
    hosts = expand(row.nodes)
    if set(held) != set(hosts):
        held = even(hosts, row.cpus)
    generic = dict(detail.gres) if detail is not None else {}
    request = request_of(row, detail)
    return present.Running(
        id=row.id,
        user=row.user,
        limit=limit_of(row),
        cpus=request.cpus,
        start=row.start,
        pieces=pieces_on(
            held,
            nodes=nodes,
            like=request,
            memory=dict(detail.memory_held) if detail is not None else None,
            gpus={host: generic.get(host, {}).get(GPU, 0) for host in held},
        ),
        array=array_of(row, detail)._replace(task=NEVER),
    )


def array_of(row: QueueRow, detail: Detail | None) -> present.Array:
    """The array that a task belongs to; that of a requeued one no longer plans with it."""
    number, _, task = row.id.partition("_")
    if not (number.isdecimal() and task.isdecimal()) or (row.restarts and row.state == "PENDING"):
        return present.NO_ARRAY
    return present.Array(int(number), int(task), detail.throttle if detail is not None else 0)


def limit_of(row: QueueRow) -> int:
    """A job's limit; one without any has the longest that is told apart."""
    return min(row.limit, present.LONGEST) if row.limit > 0 else present.LONGEST


def waiting_of(row: QueueRow, detail: Detail | None, now: int) -> present.Waiting:
    """A job that waits, with the priority it has now."""
    return present.Waiting(
        id=row.id,
        user=row.user,
        limit=limit_of(row),
        request=request_of(row, detail),
        begin=row.eligible if row.eligible > now else -1,
        priority=row.priority,
        array=array_of(row, detail),
    )


def present_of(seen: Seen, waiting: list[QueueRow]) -> present.Present:
    """What Slurm reports as the present of an estimate, with what accounting has learned.

    Jobs that ended since accounting was asked are still in the queue for some minutes.
    """
    nodes = {node.name: node.amounts[0] for node in seen.site.nodes}
    known = {(one.user, one.submit) for one in seen.learned.past}
    ended, arrived = [], []
    for row in seen.rows:
        detail = detail_of(seen.details, row.id)
        if (row.user, row.submit) in known or row.submit <= 0:
            continue
        over = row.state not in HOLDS | {"PENDING", "COMPLETING"} and row.end >= row.start > 0
        run = row.end - row.start if over else -1
        request = request_of(row, detail)
        if over:
            share = min(1.0, run / limit_of(row))
            used = Observed(row.user, limit_of(row), request.cpus, share, start=row.start)
            ended.append((row.end, used))
        arrived.append(
            present.Arrived(
                user=row.user, limit=limit_of(row), request=request, submit=row.submit, run=run
            )
        )
    lately = [one for _, one in sorted(ended, key=lambda each: each[0])]
    past = sorted((*seen.learned.past, *arrived), key=lambda one: one.submit)
    return present.Present(
        now=seen.now,
        machine=seen.site,
        running=tuple(
            running_of(row, detail_of(seen.details, row.id), nodes)
            for row in seen.rows
            if row.state in HOLDS
        ),
        waiting=tuple(
            waiting_of(row, detail_of(seen.details, row.id), seen.now) for row in waiting
        ),
        ended=(*seen.learned.ended, *lately),
        past=tuple(past),
    )


def predictable(seen: Seen) -> tuple[list[QueueRow], dict[str, str]]:
    """The waiting jobs whose starts are predicted, by priority, and why those of others are not."""
    unknown: dict[str, str] = {}
    waiting: list[QueueRow] = []
    for row in seen.rows:
        if row.state == "PENDING":
            why = why_unknown(row, seen.site)
            if why:
                unknown[row.id] = why
            else:
                waiting.append(row)
    # As Slurm does.
    waiting.sort(key=lambda row: (-row.priority, row.submit, natural(row.id)))
    return waiting, unknown


def forecast(
    seen: Seen, how: How | None = None, *, corrections: Corrections | None = None
) -> Forecast:
    """When every waiting job starts under Slurm's own passes: the median and a range of 80 %.

    ``corrections`` move the ends of ranges as earlier predictions came true.
    """
    waiting, unknown = predictable(seen)
    if not waiting:
        return Forecast(now=seen.now, etas={}, unknown=unknown)
    drawn = draw_starts(present_of(seen, waiting), how or How())
    etas = {}
    for one in estimates_of(drawn):
        if math.isfinite(one.expected):
            plain = Eta.of(one, seen.now)
            shown = plain if corrections is None else Eta.of(corrections.apply(one), seen.now)
            etas[one.job] = replace(shown, drawn=(plain.earliest, plain.latest))
        else:
            unknown[one.job] = "Slurm's scheduler does not start it on the nodes that can be used"
    return Forecast(now=seen.now, etas=etas, unknown=unknown)
