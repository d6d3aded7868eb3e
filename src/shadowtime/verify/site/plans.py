"""Policies whose plans are kept: conservative and its relatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.verify.site.state import Held, Plan
from shadowtime.verify.world import BACKFILLED

if TYPE_CHECKING:
    from shadowtime.verify.site.passes import Rules
    from shadowtime.verify.site.world import SiteWorld


class Conservative:
    """Conservative: plans that outlive the pass."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.plan: dict[int, Plan] = {}
        self.released = False
        self.withdrawn: dict[int, int] = {}
        """Runs that had left when a limit withdrew a job's promise: it waits for the next."""

    def held(self, world: SiteWorld, without: int | None = None) -> list[Held]:
        held = world.held_by_running()
        for row, plan in self.plan.items():
            if row != without:
                held += world.held_by(plan, world.estimate(row))
        return held

    def holds(self, world: SiteWorld, row: int, held: list[Held]) -> bool:
        plan, length = self.plan[row], world.estimate(row)
        if not world.reservation_open(plan.shape, plan.start, length) or plan.start < world.now:
            return False
        if not world.amounts_free(plan.shape, held, plan.start, length):
            return False
        for node, tasks in plan.tasks.items():
            free = world.free_during(held, node, plan.start, length)
            needs = world.takes(plan.shape, node, tasks)
            if world.closed(plan.shape, node, plan.start, length):
                return False
            if not all(a <= b for a, b in zip(needs, free, strict=True)):
                return False
        return True

    def one_pass(self, world: SiteWorld) -> None:
        for row in [row for row in self.plan if row not in world.waiting]:
            del self.plan[row]
        queue = world.order(self.rules.order)
        held, broken = world.held_by_running(), []
        for row in queue:
            if row in self.plan:
                if self.holds(world, row, held):
                    held += world.held_by(self.plan[row], world.estimate(row))
                else:
                    broken.append(row)
        for row in broken:
            del self.plan[row]
        for row in broken:
            world.slipped += 1
            self.give(world, row)
        if (self.released and self.rules.compress) or self.rules.every_pass:
            for row in queue:
                if row in self.plan:
                    self.improve(world, row)
                elif self.rules.every_pass and row not in broken:
                    self.give_first(world, row)
        self.released = False
        for row in queue:
            if row not in self.plan and row not in broken:
                self.give_first(world, row)
        self.start_due(world, queue)

    def give_first(self, world: SiteWorld, row: int) -> None:
        if self.withdrawn.get(row) == world.left:
            return
        self.give(world, row)
        if row in self.plan and row not in world.promised:
            world.promised[row] = self.plan[row].start

    def give(self, world: SiteWorld, row: int) -> None:
        plan = world.earliest(row, world.considered(row), self.held(world))
        if plan is not None:
            self.plan[row] = plan

    def improve(self, world: SiteWorld, row: int) -> None:
        before = self.plan[row].start
        shapes = [
            s for s in world.shapes[row] if world.allowed_ever(row, s) and world.placeable(row, s)
        ]
        plan = world.earliest(row, shapes, self.held(world, without=row), before, bare=True)
        if plan is not None:
            self.plan[row] = plan

    def start_due(self, world: SiteWorld, queue: list[int]) -> None:
        ahead = False
        for row in queue:
            if row not in self.plan:
                continue
            plan = self.plan[row]
            if plan.start > world.now and not self.rules.compress:
                for shape in world.considered(row):
                    tasks = world.under_limits(
                        row, shape, self.held(world, without=row), world.now, world.estimate(row)
                    )
                    if tasks is not None:
                        self.plan[row] = plan = Plan(world.now, shape, tasks)
                        break
            if plan.start > world.now:
                if not ahead and row not in world.blocked:
                    world.blocked[row] = world.now
                ahead = True
                continue
            del self.plan[row]
            if not world.within(row, plan.shape, plan.tasks):
                world.slipped += 1
                self.released = True
                self.withdrawn[row] = world.left
                continue
            world.start(
                row, plan.shape, plan.tasks, BACKFILLED if ahead else world.first_reason(row)
            )
