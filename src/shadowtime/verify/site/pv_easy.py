"""A pass of PV-EASY, which stops jobs for the one at the head."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.verify.site.passes import Rules, fits_but_over_a_limit, try_start
from shadowtime.verify.site.shapes import FOREVER
from shadowtime.verify.world import BACKFILLED, PREEMPTING

if TYPE_CHECKING:
    from shadowtime.verify.site.state import Held, Run
    from shadowtime.verify.site.world import SiteWorld


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
