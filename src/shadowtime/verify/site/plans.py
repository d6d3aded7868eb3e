"""Policies whose plans are kept: conservative and its relatives; and PV-EASY, which stops jobs."""

from __future__ import annotations

from shadowtime.verify.site.passes import Rules, fits_but_over_a_limit, try_start
from shadowtime.verify.site.shapes import FOREVER
from shadowtime.verify.site.state import Held, Plan, Run
from shadowtime.verify.site.world import SiteWorld
from shadowtime.verify.world import BACKFILLED, PREEMPTING


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


def pv_easy(world: SiteWorld, rules: Rules) -> None:
    """PV-EASY: heads stop jobs they outrank on nodes they may use; venture backfilling."""

    def rank(row: int) -> tuple[int, int]:
        return (-world.tier(row), row)

    def runs_without(gone: list[Run]) -> list[Held]:
        kept = [run for run in world.running if run not in gone]
        return [held for run in kept for held in world.held_by_run(run)]

    def shadow(row: int) -> list[Run]:
        behind = [run for run in world.running if rank(world.row_of(run)) > rank(row)]
        return sorted(behind, key=lambda run: rank(world.row_of(run)), reverse=True)

    def wish(run: Run) -> float:
        """The function's number of a running job; the highest goes first, ties by rank."""
        own = world.own
        if own is None or own.do.victim is None:
            return 0.0
        return float(own.call(own.do.victim, world.row_of(run), run=run))

    def starts(row: int, gone: list[Run]) -> bool:
        return try_start(world, row, runs_without(gone)) is not None

    def choose_victims(row: int) -> list[Run]:
        shapes = world.considered_ever(row)
        usable: set[int | str] = {node for shape in shapes for node in shape.nodes}
        usable |= {name for shape in shapes for name, _ in world.of_site(shape)}
        victims: list[Run] = []
        for run in sorted(shadow(row), key=wish, reverse=True):
            if usable & {what for what, _ in world.parts(run.shape, run.tasks)}:
                victims.append(run)
                if starts(row, victims):
                    break
        else:
            return []
        if rules.prune:
            for run in reversed(list(victims)):
                others = [v for v in victims if v is not run]
                if starts(row, others):
                    victims = others
        return victims

    def begin(row: int, reason: int) -> bool:
        found = try_start(world, row, world.held_by_running())
        if found is not None:
            world.start(row, *found, reason)
        return found is not None

    passed: list[int] = []
    while True:
        queue = [row for row in sorted(world.waiting, key=rank) if row not in passed]
        if not queue:
            return
        head = queue[0]
        if begin(head, world.first_reason(head)):
            continue
        if not world.considered(head) or fits_but_over_a_limit(
            world, head, world.held_by_running()
        ):
            passed.append(head)
            continue
        victims = choose_victims(head) if rules.preempt else []
        if not victims:
            break
        for run in victims:
            world.stop(world.row_of(run), run)
        began = begin(head, PREEMPTING)
        assert began
    plan = world.earliest(head, world.considered(head), runs_without(shadow(head)))
    if head not in world.blocked:
        world.blocked[head] = world.now
        if plan is not None:
            world.promised[head] = plan.start
    if rules.backfill == "never":
        return
    reserved = plan.start if plan is not None else FOREVER
    rest = [row for row in sorted(world.waiting, key=rank) if row != head]
    safe = [row for row in rest if world.now + world.estimate(row) <= reserved]
    for row in sorted(safe, key=world.estimate):
        begin(row, BACKFILLED)
    if rules.venture:
        for row in rest:
            if row in world.waiting:
                begin(row, BACKFILLED)
