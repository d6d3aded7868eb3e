"""From Slurm's rows to a State: jobs at the gate, what each job holds, which are not touched.

A pending job may be started by the loop, by Slurm, or by nobody yet (:func:`why_not_ours`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Protocol

from shadowtime.errors import ShadowtimeError
from shadowtime.eta.held import even
from shadowtime.live.ineligible import Case, Ineligible
from shadowtime.live.port import Ended, Place, PortError, RunningJob, Snapshot, WaitingJob
from shadowtime.live.slurm.asks import detail_of
from shadowtime.live.slurm.configuration import Scope
from shadowtime.live.slurm.dependency import Ends
from shadowtime.live.slurm.equal_nodes import EqualNodes, permitted
from shadowtime.live.slurm.gate import LAST, leased
from shadowtime.live.slurm.remembered import Remembered
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.reasons import WaitReason
from shadowtime.slurmtext.show_job import Detail
from shadowtime.slurmtext.squeue import NodeRow, QueueRow, Window

if TYPE_CHECKING:
    from shadowtime.live.slurm.touched import Touched


RELEASED = Ineligible(Case.LET_THROUGH)
SLURMS = Ineligible(Case.LEFT)


def why_not_ours(
    row: QueueRow,
    now: int,
    stopped: Callable[[str], bool],
    *,
    named: bool,
    ends: Ends,
    begin: int = 0,
) -> Ineligible | None:
    """Why a pending job does not wait at the gate; None if it does.

    ``named``: whether the hosts it asks for are the ones that we named; ``begin``: the begin time
    that a lease has replaced, if there was one.
    """
    if row.priority == 0:
        # Slurm itself holds a job that it could not run where it was sent.
        if row.waits_for is not WaitReason.BAD_CONSTRAINTS:
            return Ineligible(Case.HELD, (row.reason,))
        if named or not leased(row.eligible, now):
            return RELEASED if named else Ineligible(Case.CANNOT_RUN, (row.reason,))
        # The scheduler sched/builtin also tries the job behind one of several partitions, whether
        # it may start or not, and writes this down: the job has never been let through.
    if row.priority == LAST:
        return Ineligible(Case.HANDED_OVER, (row.reason,))
    back = row.restarts > 0 and stopped(row.id)
    if row.eligible > now:
        # Of a job that the loop has stopped, the two minutes that Slurm adds are ours to skip.
        if not leased(row.eligible, now) and not back:
            return not_before(row.eligible, requeued=row.restarts > 0)
        if begin > now:
            return not_before(begin, requeued=row.restarts > 0)
    elif not back or named:
        held_back = row.waits_for in (WaitReason.DEPENDENCY, WaitReason.ARRAY)
        return RELEASED if row.wanted and (named or not held_back) else SLURMS
    unmet = "unfulfilled" in row.dependency and not ends.met(row.dependency)
    if unmet or "failed" in row.dependency:
        return Ineligible(Case.DEPENDS, (row.dependency,))
    return None


def not_before(begin: int, *, requeued: bool) -> Ineligible:
    """Why a job whose begin time lies ahead does not wait."""
    if requeued:
        when = datetime.fromtimestamp(begin).astimezone().strftime("%H:%M:%S")
        return Ineligible(Case.REQUEUED, (when,))
    return Ineligible(Case.BEGINS_LATER)


__all__ = ["HOLDS", "Scope", "Sorted", "sort_jobs"]

HOLDS = {"RUNNING", "CONFIGURING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"}
"""States of jobs that hold resources."""
UNREADABLE = (ShadowtimeError, ValueError, LookupError, ArithmeticError)
"""What a row may raise that Slurm's notation does not allow."""
CLEANS_UP = 10
"""Seconds for which a node may clean up after a job and still counts as free: Slurm starts the next
job there shortly after. A node whose epilog takes longer is not free."""
SOON = 20
"""Seconds before a begin time that is not the gate's at which a job is brought to the gate."""


@dataclass(frozen=True)
class Sorted:
    """Slurm's jobs, grouped by what the loop may do with them."""

    state: Snapshot
    ineligible: Mapping[str, Ineligible] = field(default_factory=dict)
    """Pending jobs the loop does not touch, with the reason."""
    released: Mapping[str, str] = field(default_factory=dict)
    """Released jobs that have not started, with Slurm's reason."""
    beyond: Mapping[str, str] = field(default_factory=dict)
    """Jobs at the gate, or released without a start, to be handed to Slurm, with the reason."""
    slipped: tuple[str, ...] = ()
    """Jobs of the partition that have bypassed the gate, or whose leases have ended."""
    stopped: tuple[str, ...] = ()
    """Jobs that the loop has stopped and that are not at the gate again."""
    delayed: tuple[str, ...] = ()
    """Jobs with a begin time that is not the gate's and that it has to replace: Slurm has put them
    back into the queue with a delay, or their users' begin time is near."""
    mislabelled: tuple[str, ...] = ()
    """Jobs at the gate that Slurm has held because it took them for impossible."""
    halted: tuple[str, ...] = ()
    """Jobs that a loop has suspended and that no pass decides on: their nodes cannot be used, or
    the policy changes no jobs."""


class Model(Protocol):
    """How jobs and nodes are interpreted: on equal nodes, or on a site."""

    timeless: bool
    """Whether the interpretation of a waiting job does not depend on the time."""

    @property
    def machine(self) -> object:
        """What the interpretation of a waiting job depends on besides the job."""

    def why_beyond(self, row: QueueRow, detail: Detail | None) -> str:
        """Why the model cannot express a job; nothing if it can."""

    def waiting(self, row: QueueRow, detail: Detail | None) -> WaitingJob:
        """A job at the gate."""

    def running(self, row: QueueRow, detail: Detail | None, *, mine: bool) -> RunningJob | None:
        """A job that holds something; None if that is not part of the machine."""

    def completing(self, row: QueueRow, detail: Detail | None) -> RunningJob | None:
        """A job that has ended and whose nodes still clean up."""

    def about_to_start(self, row: QueueRow, place: Place, detail: Detail | None) -> RunningJob:
        """A job that was released."""

    def state(
        self, waiting: Sequence[WaitingJob], running: Sequence[RunningJob], ended: Sequence[Ended]
    ) -> Snapshot:
        """Everything together."""


def nodes_of(nodes: Sequence[NodeRow], scope: Scope) -> list[NodeRow]:
    """The nodes of the partitions that the loop drives; PortError if there are none."""
    ours = [node for node in nodes if not scope.driven.isdisjoint(node.partitions)]
    if not ours:
        raise PortError(f"Slurm has no partition {scope.partition} with nodes")
    return ours


def sort_jobs(
    rows: Sequence[QueueRow],
    nodes: Sequence[NodeRow],
    *,
    scope: Scope,
    now: int,
    windows: Sequence[Window] = (),
    model: Model | None = None,
    details: Mapping[str, Detail] | None = None,
    placed: Mapping[str, Place] | None = None,
    stopped: Callable[[str], bool] = lambda job: False,
    let_go: Collection[str] = (),
    remembered: Remembered | None = None,
    touched: Mapping[str, Touched] | None = None,
    begins: Mapping[str, int] | None = None,
) -> Sorted:
    """The State in Slurm's rows.

    Rules
    -----
    A job waits if it is at the gate: pending, not held, its begin time that of a lease, the one
    that the lease has replaced (``begins``) reached, its dependencies met; or if the loop has
    stopped it. Jobs that users or operators hold, and those that an operator has ``let_go``, are
    not touched; any other that Slurm could start has bypassed the gate, or its lease has ended.
    Jobs beyond the model, and those that Slurm does not start for reasons beyond it, are to be
    handed to Slurm. A job that Slurm itself has requeued neither waits nor holds nodes before the
    end of the delay that Slurm gives it. Tasks of an array beyond its throttle do not wait yet.
    Nodes that are drained, down or reserved are not part of the cluster; jobs on the others that
    are not of the partition, are suspended or were handed to Slurm count, but are not ours. So do
    ended jobs on nodes that still clean up after a few seconds. A job that a loop has suspended and
    that no pass would let continue is ``halted``.
    """
    details, placed, touched, begins = details or {}, placed or {}, touched or {}, begins or {}
    ours = nodes_of(nodes, scope)
    model = model or EqualNodes(ours, scope=scope, now=now, windows=windows)
    remembered = remembered or Remembered()
    remembered.begin(model.machine)
    waiting: list[WaitingJob] = []
    running: list[RunningJob] = []
    ended: list[Ended] = []
    alone: dict[str, Ineligible] = {}
    released: dict[str, str] = {}
    beyond: dict[str, str] = {}
    slipped: list[str] = []
    back: list[str] = []
    wrong: list[str] = []
    halted: list[str] = []
    delayed: list[str] = []
    ends = Ends((row.id, row.state) for row in rows)
    driven = scope.driven
    ours_in: dict[str, bool] = {}  # by list of partitions: of thousands of jobs few differ

    def holds(row: QueueRow, interpreted: Callable[..., RunningJob | None]) -> None:
        try:
            job = interpreted(row, detail=detail_of(details, row.id))
            mark = touched.get(row.id)
            if mark is not None and mark.suspended and row.state == "SUSPENDED":
                halted.extend([] if job is not None and scope.sized else [row.id])
            if job is not None and scope.sized and mark is not None:
                job = standing(replace(job, sizes=mark.nodes), row, mark.suspended, now)
        except UNREADABLE as error:
            alone[row.id] = Ineligible(Case.NOT_UNDERSTOOD, (str(error),))
        else:
            running.extend([job] if job is not None else [])

    for row in rows:
        mine = ours_in.get(row.partition)
        if mine is None:
            mine = ours_in[row.partition] = not driven.isdisjoint(row.partition.split(","))
        if row.state in HOLDS or (row.state == "COMPLETING" and row.end > now):  # or requeued
            holds(row, partial(model.running, mine=mine))
        elif row.state == "PENDING":
            if not mine:
                continue
            mark = touched.get(row.id)
            named = mark is not None and mark.ours(row)
            begin = begins.get(row.id, 0)
            why = why_not_ours(row, now, stopped, named=named, ends=ends, begin=begin)
            wish = mark.before(row) if mark is not None else row
            detail = detail_of(details, row.id)
            if scope.sized and detail is not None:
                least, most = permitted(row, detail, mark)
                detail = detail._replace(nodes=least, most=most)
            if why is None:
                found = remembered.get(row, detail, named) if model.timeless else None
                if found is None:
                    # The lease is not what its user asked for.
                    asked = _interpreted(model, wish._replace(eligible=begin), detail)
                    if isinstance(asked, str):
                        beyond[row.id] = asked
                        alone[row.id] = Ineligible(Case.TO_HAND_OVER, (asked,))
                        continue
                    found = asked
                    if model.timeless:
                        remembered.put(row, detail, named, found)
                waiting.append(found)
                if row.priority == 0:
                    wrong.append(row.id)
                if not leased(row.eligible, now):
                    back.append(row.id)
            elif why == RELEASED and named and row.waits_for.beside_nodes:
                beyond[row.id] = f"Slurm does not start it where it was sent ({row.reason})"
                alone[row.id] = Ineligible(Case.TO_HAND_OVER, (row.reason,))
            elif why in (RELEASED, SLURMS) and not (named or row.priority <= LAST):
                if row.id in let_go:
                    alone[row.id] = SLURMS
                    continue
                slipped.append(row.id)
                alone[row.id] = Ineligible(Case.PAST_THE_GATE)
            elif why == RELEASED:
                place = placed.get(row.id) or tuple(even(expand(row.wanted), row.cpus).items())
                if named:
                    released[row.id] = row.reason
                holds(row, partial(model.about_to_start, place=place))
            else:
                alone[row.id] = why
                ahead = row.eligible - now if row.priority > LAST else 0
                foreign = not leased(row.eligible, now)
                # Slurm's delay may end in the second of leases: one in sixty does.
                if (foreign and 0 < ahead <= SOON) or (
                    named and ahead > 0 and (foreign or begin > now)
                ):
                    delayed.append(row.id)
        elif row.state == "COMPLETING" and now - row.end > CLEANS_UP:
            holds(row, model.completing)
        elif mine and row.nodes and row.end >= row.start > 0:
            ended.append(
                Ended(id=row.id, start=row.start, end=row.end, request=row.limit, user=row.user)
            )
    state = model.state(_throttled(waiting, running, details, alone), running, ended)
    return Sorted(
        state,
        alone,
        released,
        beyond,
        tuple(slipped),
        tuple(back),
        tuple(delayed),
        tuple(wrong),
        tuple(halted),
    )


def standing(job: RunningJob, row: QueueRow, since: int, now: int) -> RunningJob:
    """A job that the loop has suspended at ``since``: it may let it continue.

    Its limit stands still, so that it ends later by as long as it is suspended.
    """
    if row.state != "SUSPENDED" or not since:
        return job
    ours = row.requeue > 0 and row.priority != LAST
    request = job.request + max(0, now - since)
    return replace(job, suspended=True, settled=True, ours=ours, request=request)


def _interpreted(model: Model, row: QueueRow, detail: Detail | None) -> WaitingJob | str:
    """A job at the gate, or why it is Slurm's to start: one job must not stop all others."""
    if row.strange:
        return "its request is not in Slurm's notation"
    try:
        return model.why_beyond(row, detail) or model.waiting(row, detail)
    except UNREADABLE as error:
        return f"its request cannot be interpreted ({error})"


def _throttled(
    waiting: Sequence[WaitingJob],
    running: Sequence[RunningJob],
    details: Mapping[str, Detail],
    alone: dict[str, Ineligible],
) -> list[WaitingJob]:
    """Without the tasks of arrays that may not run at the same time yet."""
    active: dict[str, int] = {}
    for run in running:
        array, _, task = run.id.partition("_")
        if task:
            active[array] = active.get(array, 0) + 1
    kept = []
    for job in waiting:
        array, _, task = job.id.partition("_")
        detail = detail_of(details, job.id) if task else None
        if detail is not None and detail.throttle:
            if active.get(array, 0) >= detail.throttle:
                alone[job.id] = Ineligible(Case.ARRAY_LIMIT)
                continue
            active[array] = active.get(array, 0) + 1
        kept.append(job)
    return kept
