"""PV-EASY on a site: shadow-load preemption and venture backfilling on named nodes.

The rules are in docs/decisions/site.md, "PV-EASY". The pass is plain Python around compiled
questions: preemption asks few of them, and nothing else needs them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.site import Site
from shadowtime.engine.events import PASS_DUE, ROOM_NEEDED
from shadowtime.engine.run_tables import keep_work
from shadowtime.engine.saved import Pauses, reading
from shadowtime.engine.site import steps
from shadowtime.engine.site.candidates import make_general
from shadowtime.engine.site.plan import Prepared
from shadowtime.engine.site.run_tables import PreparedRun, prepared_run, with_more_room
from shadowtime.engine.steps import call_own
from shadowtime.engine.watch import Watch
from shadowtime.kernel import fields as columns
from shadowtime.kernel.registers import ARRIVED, BIG, BITS, FAILED, NEVER, NOW, RUNNING
from shadowtime.kernel.site import fields as f
from shadowtime.kernel.site.start import ASIDE
from shadowtime.kernel.slots import ESTIMATE, LEARN_START, SLOT_SHIFT, VICTIM
from shadowtime.kernel.state import State, World
from shadowtime.policy import Policy
from shadowtime.types import AnyArray, Ints, Reason
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from shadowtime.engine.custom import Own


@dataclass(frozen=True)
class Venture:
    """The parts of the policy that differ between its variants."""

    stops: bool
    prune: bool
    safe: bool
    """Backfill jobs that are expected to end by the head's reservation first."""
    any_job: bool
    """Then every job that fits."""

    @classmethod
    def of(cls, policy: Policy) -> Venture:
        """From a policy whose reservation is that of the sunny jobs."""
        tests = {phase.test for phase in policy.backfill.phases}
        return cls(
            stops=policy.preempt.stops,
            prune=policy.preempt.spares,
            safe="by-shadow" in tests,
            any_job="fits" in tests,
        )


def run_venture(
    workload: Workload, site: Site, policy: Policy, chosen: Prepared, watch: Watch | None = None
) -> tuple[PreparedRun, State, f.Ground]:
    """Run a workload; returns what it worked on, and the tables as they are at the end."""
    made = prepared_run(workload, site, policy.estimate, chosen)
    keep_work(made.state, policy)
    with reading(watch, workload, made.state.reg, saves=True) as pauses:
        return made, *_run_to_the_end(made, policy, chosen.own, len(workload), pauses)


def _run_to_the_end(
    made: PreparedRun, policy: Policy, own: Own, jobs: int, pauses: Pauses
) -> tuple[State, f.Ground]:
    parts = Venture.of(policy)
    frame = make_general(n=jobs, depth=0, own=own)
    held = made.state, made.world, made.ground, made.events, frame
    (state, world, ground, events, frame), _ = pauses.continued(held)
    while True:
        code = steps.go_to_pass(state, world, ground, events)
        if code == ROOM_NEEDED:
            if not pauses.paused((state, world, ground, events, frame)):
                state, ground = with_more_room(state, ground)
            continue
        if code != PASS_DUE:
            return state, ground
        if own.bits >> ESTIMATE:
            steps.report_news(state, frame, own.pointer)
        if made.volatile:
            steps.update_expected(state, ground)
        Pass(state, world, ground, parts, own).carry_out()
        if own.bits & 1 << LEARN_START:
            steps.report_starts(state, frame, own.pointer)
        if state.reg[FAILED] >= 0:
            return state, ground
        steps.finish_pass(state, world, ground, events)


def decide_venture(
    policy: Policy, own: Own, state: State, world: World, ground: f.Ground
) -> dict[int, int]:
    """One pass on filled tables; returns the stopped jobs, each with the job it makes room for."""
    made = Pass(state, world, ground, Venture.of(policy), own)
    made.carry_out()
    return made.stopped


@dataclass(frozen=True, eq=False)
class Pass:
    """One pass; jobs are rows."""

    state: State
    world: World
    ground: f.Ground
    parts: Venture
    own: Own
    stopped: dict[int, int] = field(default_factory=dict)
    """Which job was stopped for which."""

    @property
    def now(self) -> int:
        return int(self.state.reg[NOW])

    def by_rank(self, rows: Ints) -> list[int]:
        """Tier, then arrival."""
        tier = self.ground.job[rows, f.TIER]
        return [int(row) for row in rows[np.lexsort((rows, -tier))]]

    def waiting(self) -> list[int]:
        arrived = int(self.state.reg[ARRIVED])
        return self.by_rank(np.flatnonzero(self.state.wait[columns.PROCS, :arrived] != BIG))

    def carry_out(self) -> None:
        """Heads start, by stopping others where that helps; the first blocked one is reserved."""
        head = self.start_heads()
        if head < 0:
            return
        reserved = self.reserve(head)
        rest = [row for row in self.waiting() if row != head]
        if self.parts.safe:
            length = self.state.job[:, columns.ESTIMATE]
            safe = [row for row in rest if self.now + int(length[row]) <= reserved]
            self.fill(sorted(safe, key=lambda row: int(length[row])))
        if self.parts.any_job:
            self.fill([row for row in rest if self.state.wait[columns.PROCS, row] != BIG])

    def start_heads(self) -> int:
        """Start jobs in order; returns the first that is blocked, -1 if there is none."""
        todo = self.waiting()
        while todo:
            head = todo.pop(0)
            blocked_before = self.state.job[head, columns.BLOCKED_AT] >= 0
            reason = Reason.RESERVED if blocked_before else Reason.HEAD
            code = steps.begin_job(self.state, self.ground, head, int(reason))
            if code in (steps.STARTED, ASIDE):
                continue
            victims = self.victims(head) if self.parts.stops else []
            if not victims:
                return head
            for row in victims:
                steps.stop_job(self.state, self.world, self.ground, row)
                self.stopped[row] = head
            steps.begin_job(self.state, self.ground, head, int(Reason.PREEMPTING))
            todo = sorted({*todo, *victims}, key=lambda row: (-self.ground.job[row, f.TIER], row))
        return -1

    def shadow(self, head: int) -> list[int]:
        """Running jobs that the head outranks, the lowest rank first."""
        reg = self.state.reg
        rows = self.state.running[: int(reg[RUNNING])] & ((1 << int(reg[BITS])) - 1)
        ranked = self.by_rank(np.append(rows, head))
        return ranked[: ranked.index(head) : -1]

    def victims(self, head: int) -> list[int]:
        """What to stop so that the head starts now; nothing if it would still not fit."""
        usable, amounts = self.nodes_of(head), self.amounts_of(head)
        near = [
            row
            for row in self.shadow(head)
            if usable[self.places(row)].any() or (amounts & self.amounts_of(row)).any()
        ]
        if near and self.own.bits & 1 << VICTIM:
            near = self.as_wished(near)
        if not near or not self.fits(head, near):
            return []
        count = 1
        while not self.fits(head, near[:count]):
            count += 1
        found = near[:count]
        if self.parts.prune:
            for row in found[::-1]:
                others = [one for one in found if one != row]
                if self.fits(head, others):
                    found = others
        return found

    def as_wished(self, rows: list[int]) -> list[int]:
        """The rows in the order of the user's function, the highest first; none if it fails."""
        jobs, out, own = np.array(rows, np.int64), np.zeros(len(rows)), self.own
        table = self.state.job
        args = (VICTIM, self.now, table, own.fact, jobs, own.memory, own.series, out)
        failed = int(call_own(own.pointer, *args))
        if failed >= 0:
            self.state.reg[FAILED] = VICTIM << SLOT_SHIFT | rows[failed]
            return []
        return [rows[at] for at in np.argsort(-out, kind="stable").tolist()]

    def fits(self, head: int, without: list[int]) -> bool:
        others = np.array(without, np.int64)
        return bool(steps.fits_without(self.state, self.ground, head, others))

    def places(self, row: int) -> Ints:
        """Rows of the nodes that a job holds."""
        first, count = self.ground.job[row, [f.PLACE_FROM, f.PLACE_COUNT]].tolist()
        held: Ints = self.ground.place[first : first + count] >> 32
        return held

    def nodes_of(self, row: int) -> AnyArray:
        """Which nodes a job may use, by any of its alternatives."""
        ground = self.ground
        first, behind = ground.ask[ground.job[row, f.ASK]].tolist()
        masks = ground.shape[ground.alt[first:behind, f.ALT_SHAPE], f.MASK]
        usable: AnyArray = ground.bits[masks].any(axis=0)
        return usable

    def amounts_of(self, row: int) -> AnyArray:
        """Which counted amounts a job takes, by any of its alternatives."""
        ground = self.ground
        first, behind = ground.ask[ground.job[row, f.ASK]].tolist()
        taken: AnyArray = ground.alt[first:behind, f.ALT_AMOUNTS :].max(axis=0) > 0
        return taken

    def reserve(self, head: int) -> int:
        """The head's earliest start as if the shadow jobs were not there; noted the first time."""
        others = np.array(self.shadow(head), np.int64)
        when = int(steps.earliest_without(self.state, self.ground, head, others))
        if self.state.job[head, columns.BLOCKED_AT] < 0:
            self.state.job[head, columns.BLOCKED_AT] = self.now
            if when < NEVER:
                self.state.job[head, columns.PROMISED] = when
        return when

    def fill(self, rows: list[int]) -> None:
        """Start the jobs that fit, in this order."""
        jobs = np.array(rows, np.int64)
        fits = np.zeros(len(jobs), np.int8)
        steps.fits_now(self.state, self.ground, jobs, fits)
        for row in jobs[fits > 0].tolist():
            steps.begin_job(self.state, self.ground, row, int(Reason.BACKFILLED))
