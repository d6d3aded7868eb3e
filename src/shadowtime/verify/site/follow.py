"""A whole run, instant by instant."""

from __future__ import annotations

from typing import Any

from shadowtime.verify.multifactor import Priority
from shadowtime.verify.site.passes import Classes, NowhereError, Rules, in_class, one_pass
from shadowtime.verify.site.plans import Conservative, pv_easy
from shadowtime.verify.site.shapes import FOREVER, EveryNode, Shape, possible, shape_of, ways
from shadowtime.verify.site.state import Asked, Closing, Run
from shadowtime.verify.site.world import SiteWorld
from shadowtime.verify.world import CORRECTIONS, Estimates, Job


def met(world: SiteWorld, row: int) -> bool:
    """Are the job's dependencies met?"""
    rows = {int(number): i for i, number in enumerate(world.workload.job_id)}
    verdicts: list[bool] = []
    one_of: list[bool] = []
    for d in world.workload.requests.dependencies:
        if d.job != row:
            continue
        if d.kind == "singleton":
            w = world.workload
            same = [
                i
                for i in range(row)
                if (w.user[i], w.executable[i]) == (w.user[row], w.executable[row])
            ]
            good = all(i in world.over for i in same)
        else:
            others = [rows[number] for number in d.on if number in rows]
            good = all(satisfied(world, d.kind, other) for other in others)
        (one_of if d.any_of else verdicts).append(good)
    return all(verdicts) and (not one_of or any(one_of))


def satisfied(world: SiteWorld, kind: str, other: int) -> bool:
    if kind == "after":
        return other in world.started or other in world.over
    if kind == "afterany":
        return other in world.over
    job, w = world.jobs[other], world.workload
    well = (
        world.over.get(other) == "ended"
        and job.run <= job.limit
        and int(w.status[other]) not in (0, 5)
    )
    return other in world.over and (well if kind != "afternotok" else not well)


def closings_of(site: Any, epoch: int) -> list[Closing]:
    index = {node.name: i for i, node in enumerate(site.nodes)}
    found = []
    for o in site.outages:
        begin = o.begin - epoch
        known = begin if o.known_at is None else min(begin, o.known_at - epoch)
        end = FOREVER if o.end >= FOREVER else o.end - epoch
        found.append(Closing(index[o.node], begin, end, known, failure=not o.drain))
    for r in site.reservations:
        known = -(1 << 60) if r.known_at is None else r.known_at - epoch
        begin, end = r.begin - epoch, FOREVER if r.end >= FOREVER else r.end - epoch
        found += [Closing(index[name], begin, end, known, r.name) for name in r.nodes]
    return found


def divide(world: SiteWorld, classes: Classes) -> None:
    """Every job's shapes on the nodes of each class that it may use, the preferred one first."""
    one = classes.one(world.site)

    def fits(row: int, shape: Shape) -> bool:
        room = {n: world.holds(shape, n, world.capacity(n)) for n in shape.nodes}
        able = {n: tasks for n, tasks in room.items() if tasks > 0}
        if not world.allowed_ever(row, shape) or not shape.partition.up:
            return False
        return (
            world.row_of_nodes(shape, able) is not None if shape.in_a_row else possible(shape, able)
        )

    for row, mine in enumerate(world.shapes):
        job = world.jobs[row]
        wished = int(world.workload.request[row])
        world.shapes[row] = [
            inside
            for group in classes.preference(job.need[0], wished)
            for shape in mine
            if (inside := in_class(shape, one, group)) is not None
        ]
        anywhere = any(fits(row, shape) for shape in mine)
        if anywhere and not any(fits(row, shape) for shape in world.shapes[row]):
            raise NowhereError(job.id)


def simulate(workload: Any, site: Any, rules: Rules, *, until: int = FOREVER) -> SiteWorld:
    """Go from instant to instant until nothing is left to happen, or until an instant."""
    w = workload
    asks = w.requests
    jobs = [
        Job(
            id=int(w.job_id[i]),
            submit=int(w.submit[i]),
            need=(int(w.demand[i, 0]),),
            request=max(1, int(w.request[i])),
            run=int(w.run[i]),
            limit=int(w.limit[i]),
            user=int(w.user[i]),
        )
        for i in range(len(w))
    ]
    partitions = list(site.partitions) or [EveryNode(tuple(n.name for n in site.nodes))]
    default = next((p for p in partitions if getattr(p, "default", False)), partitions[0])
    shapes: list[list[Shape]] = []
    for i in range(len(w)):
        request = asks[i]
        chosen = [p for name in request.partitions for p in partitions if p.name == name]
        if not request.partitions:
            chosen = [default]
        shapes.append(
            [
                shape
                for partition in chosen
                for way in ways(request.features)
                if (shape := shape_of(site, request, partition, way)) is not None
            ]
        )
    closings = closings_of(site, w.epoch or 0)
    world = SiteWorld(
        site=site,
        workload=w,
        rule=rules.place,
        jobs=jobs,
        estimates=Estimates(rules.estimate, jobs),
        shapes=shapes,
        closings=closings,
        every=rules.every,
        restart=rules.restart,
        score=rules.score,
    )
    for row, mine in enumerate(shapes):
        shapes[row] = [world.bounded(row, shape) for shape in mine]
    if rules.classes is not None:
        world.times = rules.classes.times
        divide(world, rules.classes)
    if rules.own is not None:
        world.own = Asked(rules.own, world)
        if rules.own.predict is not None:
            world.estimates = world.own.estimates
    kept = Conservative(rules) if rules.depth < 0 else None
    if rules.priority is not None:
        world.priority = Priority(world, rules.priority)
    coming = list(range(len(jobs)))
    cancel = [int(asks.cancel_at[i]) for i in range(len(jobs))]
    begin = [max(jobs[i].submit, int(asks.begin[i])) for i in range(len(jobs))]
    timer: int | None = None
    world.now = min((job.submit for job in jobs), default=0) - 1
    while True:
        times = [run.end for run in world.running]
        times += [jobs[i].submit for i in coming]
        times += [begin[i] for i in world.pending]
        times += [cancel[i] for i in world.pending + world.waiting]
        times += [t for c in closings for t in (c.known, c.begin, c.end)] + world.changes()
        if kept is not None:
            times += [plan.start for row, plan in kept.plan.items() if row in world.waiting]
        if timer is not None:
            times.append(timer)
        times = [t for t in times if world.now < t < min(until, FOREVER)]
        if not times or not (coming or world.pending or world.waiting or world.running):
            break
        world.now = now = min(times)
        timer = None

        def queued(row: int) -> bool:
            return row in world.waiting or any(run.job is jobs[row] for run in world.running)

        if world.own is not None:
            world.own.tick(now - 1)
        news: list[tuple[int, Run]] = []
        for run in sorted((r for r in world.running if r.end == now), key=lambda r: r.job.id):
            row = world.row_of(run)
            news.append((row, run))
            if kept is not None and run.expected_end(now - 1) > now:
                kept.released = True
            world.leave(row, run)
            world.over[row] = "ended"
            world.estimates.ended(run.job)
        if world.estimates.corrected:
            for run in world.running:
                while run.start + run.estimate <= now and run.estimate < run.left_of(
                    run.job.request
                ):
                    more = (
                        CORRECTIONS[run.corrections]
                        if run.corrections < len(CORRECTIONS)
                        else FOREVER
                    )
                    run.estimate = run.left_of(min(run.job.request, run.frozen + more))
                    run.corrections += 1
        failed = {c.node for c in closings if c.failure and c.begin == now}
        for run in sorted((r for r in world.running if failed & set(r.tasks)), key=world.row_of):
            row = world.row_of(run)
            if kept is not None:
                kept.released = True
            world.over_at[row] = now
            if site.requeue and asks.requeue[row] != 0:
                world.stop(row, run)
            else:
                world.leave(row, run)
                world.over[row] = "lost"
        for row in [i for i in world.pending + world.waiting if 0 <= cancel[i] == now]:
            world.over[row] = "cancelled"
            (world.waiting if row in world.waiting else world.pending).remove(row)
            if kept is not None and row in kept.plan:
                kept.released = True
                del kept.plan[row]
        if world.own is not None:
            for row, run in news:
                world.own.ended(row, run)
        while coming and jobs[coming[0]].submit <= now:
            row = coming.pop(0)
            world.estimates.submitted(jobs[row])
            if world.own is not None:
                world.own.submitted(row)
            if 0 <= cancel[row] <= now:
                world.over[row] = "cancelled"
            else:
                world.pending.append(row)
        for row in sorted(world.pending):
            if begin[row] > now or not met(world, row):
                continue
            throttle = int(asks.throttle[row])
            if throttle > 0 and asks.array[row] >= 0:
                fellows = [i for i in range(len(jobs)) if asks.array[i] == asks.array[row]]
                if sum(queued(i) for i in fellows) >= throttle:
                    continue
            world.pending.remove(row)
            world.waiting.append(row)
        before = set(world.started)
        if world.own is not None:
            world.own.tick(now)
            running = list(world.running)
        if world.priority is not None:
            world.priority.before_pass()
        if kept is not None:
            kept.one_pass(world)
        elif rules.sunny or rules.backfill == "venture":
            pv_easy(world, rules)
        else:
            one_pass(world, rules)
        world.passes += 1
        for row in world.promised.keys() - world.promised_at.keys():
            world.promised_at[row] = now
        if world.priority is not None:
            world.priority.after_pass()
        if world.own is not None:
            new = [run for run in world.running if not any(run is old for old in running)]
            world.own.started([world.row_of(run) for run in new])
        fresh = {jobs[row].id for row in world.started - before}
        if any(
            d.job in world.pending and d.kind == "after" and fresh & set(d.on)
            for d in asks.dependencies
        ):
            timer = now + 1
        if kept is not None and kept.released:
            timer = now + 1
    return world
