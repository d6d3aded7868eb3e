"""EASY and conservative backfilling on a pool (spec: algorithms 1.2, 1.3).

Readings chosen where the specification leaves room
---------------------------------------------------
- Conservative, a running job past its estimate: the promises that still hold around the running
  jobs (checked in submit order) stay; the broken ones are re-inserted in submit order around
  them, before the compression sweep and the arrivals. An end is early iff it comes before the
  expected end as it stood one second earlier.
"""

from __future__ import annotations

from shadowtime.verify.world import (
    BACKFILLED,
    HEAD,
    RESERVED,
    Held,
    Job,
    Running,
    Vector,
    World,
    earliest,
    fits,
    fits_during,
    held_by_running,
    minus,
    replay,
)


def easy(
    world: World,
    *,
    backfill: str = "in-order",
    extra_update: bool = True,
    fixed_reservation: str = "no",
) -> World:
    """EASY; with ``backfill="sjbf"`` and estimates from the last two runs it is EASY++.

    spec: algorithms 1.6.
    """
    assert backfill in ("in-order", "sjbf")
    kept: dict[int, int] = {}  # fixed_reservation: head -> shadow

    def one_pass(world: World) -> None:
        # 1. while the first queued job fits: start it
        while world.waiting and fits(world.waiting[0].need, world.free()):
            world.start_first(world.waiting[0])
        if not world.waiting:
            return
        head, rest = world.waiting[0], world.waiting[1:]
        # 2. shadow time and extra
        missed = fixed_reservation == "until-missed" and kept.get(head.id, 0) <= world.now
        if fixed_reservation != "no" and head.id in kept and not missed:
            shadow = kept[head.id]
            extra = minus(world.free_at(shadow), head.need)
        else:
            shadow, extra = shadow_and_extra(world, head)
        world.block(head, promised=shadow)
        # 3. scan the rest
        if backfill == "sjbf":
            rest = sorted(rest, key=world.estimate)  # stable: ties in queue order
        for job in rest:
            if not fits(job.need, world.free()):
                continue
            ends_in_time = world.now + world.estimate(job) <= shadow
            if ends_in_time or fits(job.need, extra):
                world.start(job, BACKFILLED)
                if not ends_in_time and extra_update:
                    extra = minus(extra, job.need)
        # 4. recomputed at every pass, unless the first shadow time is kept
        kept[head.id] = shadow

    return replay(world, one_pass)


def shadow_and_extra(world: World, head: Job) -> tuple[int, Vector]:
    """The first expected end at which the head fits, and what is left beside it then."""
    for t in sorted({r.expected_end(world.now) for r in world.running}):
        if fits(head.need, world.free_at(t)):
            return t, minus(world.free_at(t), head.need)
    raise AssertionError("the head does not even fit into the empty machine")


# ----------------------------------------------------------------------------- conservative
def conservative(world: World, *, compress: bool = True) -> World:
    """Every waiting job holds a promise; promises live on between passes."""
    assert world.estimates.kind != "last", "a promise needs an estimate that stays"
    promise: dict[int, int] = {}  # of the waiting jobs

    def plan(world: World, without: Job | None = None) -> list[Held]:
        """Running jobs and the promises, but for one job's."""
        held = held_by_running(world)
        for job in world.waiting:
            if job is not without and job.id in promise:
                start = promise[job.id]
                held.append(Held(start, start + world.estimate(job), job.need))
        return held

    def earliest_for(world: World, job: Job) -> int:
        held = plan(world, without=job)
        return earliest(world.capacity, held, job.need, world.estimate(job), world.now)

    def repair(world: World) -> None:
        """Promises that no longer hold, since a job outran its estimate, are renewed."""
        held, broken = held_by_running(world), []
        for job in world.waiting:
            start, length = promise[job.id], world.estimate(job)
            if fits_during(world.capacity, held, job.need, start, length):
                held.append(Held(start, start + length, job.need))
            else:
                broken.append(job)
        for job in broken:
            del promise[job.id]
        for job in broken:
            promise[job.id] = earliest_for(world, job)

    def after_ends(world: World, ended: list[Running]) -> None:
        repair(world)
        early = [r for r in ended if r.expected_end(world.now - 1) > world.now]
        if compress and early:
            for job in world.waiting:  # one sweep in submit order
                better = earliest_for(world, job)
                assert better <= promise[job.id], "compression never moves a promise later"
                promise[job.id] = better

    def arrived(world: World, job: Job) -> None:
        promise[job.id] = earliest_for(world, job)
        world.promised[job.id] = promise[job.id]

    def next_timer(world: World) -> int | None:
        return min((promise[job.id] for job in world.waiting), default=None)

    def one_pass(world: World) -> None:
        started = []
        for job in list(world.waiting):
            due = promise[job.id] == world.now
            if not due and not compress:
                held, length = plan(world, without=job), world.estimate(job)
                due = fits_during(world.capacity, held, job.need, world.now, length)
            if due:
                world.start(job, HEAD)
                started.append(job)
        for job in started:  # the reason is known when the pass is over
            if any(other.priority < job.priority for other in world.waiting):
                world.reason[job.id] = BACKFILLED
            elif job.id in world.blocks:
                world.reason[job.id] = RESERVED
        if world.waiting:
            world.block(world.waiting[0])

    return replay(world, one_pass, after_ends=after_ends, arrived=arrived, next_timer=next_timer)
