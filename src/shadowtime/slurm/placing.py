"""Where and when a backfill pass puts one job: try after try, until it starts, has a plan or is
given up (spec: slurm 3.3 to 3.10).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.slurm.ends import WillRunTest
from shadowtime.slurm.job import planned_limit
from shadowtime.slurm.preempt import candidates_for

if TYPE_CHECKING:
    from shadowtime.slurm.ask import Ask
    from shadowtime.slurm.backfill import BackfillPass
    from shadowtime.slurm.ends import WillRun
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.machine import Section

AFTER_LIMIT = 500
"""Seconds after which a job over a limit is planned if nothing else determines the time."""


def place(
    made: BackfillPass, job: Job, section: Section, *, now_only: bool, first_plan: int
) -> str:
    """TRY until the job starts, gets a plan, or is given up (spec: slurm 3.3 to 3.10)."""
    state, ask = made.state, job.ask
    if made.clock is not None:
        made.now = max(made.now, made.clock(job.id))
    now = made.now
    limit = planned_limit(job, section)
    candidates = (candidates_for(state, job, section) if state.preemption.on else None) or None
    later = max(now, made.blocked.get(job.qos, 0), made.blocked.get(section.qos, 0))
    counted = False
    first = earliest = 0
    if made.shortcuts and candidates is None and not ask.gpus:
        first = made.ends.first(ask, section.nodes & state.up & ask.suits)
        if first > len(made.ends.times):
            if not made.may_run_out:
                return "given up"
        elif first:
            earliest = made.ends.times[first - 1]
    hops = not state.windows and not now_only
    step = made.parameters.bf_resolution
    for _ in range(10_000):
        try_at, later = later, 0
        if try_at > made.window_end:
            return "given up"
        end = max(try_at, now) + limit
        if hops and try_at < earliest and (counted or not made.may_run_out):
            # Any plan would lie after the next try: go there at once.
            later = made.map.next_try(searched(made, section, ask), try_at, end)
            if later and later < earliest:
                continue
        nodes, later = room(made, job, section, try_at, end)
        if not nodes:
            if later and not now_only:
                continue
            return "given up"
        if not counted:
            counted = True
            made.tested += 1
        if later and later < earliest and not now_only:
            continue
        found = soonest(
            made,
            job,
            section,
            nodes,
            candidates,
            now_only=now_only,
            first=first,
            start=try_at,
            until=later,
        )
        if found is None:
            if later and not now_only:
                continue
            return "given up"
        start = max(found.start, try_at)
        chosen = found.choice
        if made.rules.map_before_later and start > now:
            slot = start // step * step, made.slot_end(start + limit)
            if made.map.conflicts(*slot, chosen.nodes):
                later = start
                if made.rules.overlap_moves_on and start == try_at:
                    later += step
                continue
        if start <= now and chosen.nodes & state.completing:
            start, later = now + 1, 0
        if start <= now:
            answer = made.start(job, section, nodes, limit, found.preempts)
            if answer == "started":
                return answer
            if answer == "limit":
                if made.limits_skip:
                    return "given up"
                start = later or now + AFTER_LIMIT
                made.block(job, start)
            else:
                later = 0
        if start > now and now_only:
            return "given up"
        if later and start > later:
            continue
        answer = made.plan(job, section, chosen, start, limit, first_plan=first_plan)
        if answer != "conflict":
            return answer
        later = start
    return "given up"


def searched(made: BackfillPass, section: Section, ask: Ask) -> int:
    """The nodes among which the map of plans is searched."""
    nodes = section.nodes & made.state.up
    return nodes & ~ask.excluded if made.rules.search_goes_on else nodes


def room(made: BackfillPass, job: Job, section: Section, begin: int, end: int) -> tuple[int, int]:
    """Nodes for a job that no plan and no reservation takes meanwhile; and the next try.

    spec: slurm 3.4.

    No nodes if there are too few for it.
    """
    state, ask = made.state, job.ask
    barred = barred_to = 0
    if state.windows:
        barred, barred_to = state.barred(job, begin, end)
    nodes, later = made.map.search(searched(made, section, ask) & ~barred, begin, end)
    after = barred_to + 1
    if barred & section.nodes and after < made.window_end and (not later or after < later):
        later = after
    nodes &= ~ask.excluded & ask.suits
    enough = nodes.bit_count() >= ask.min_nodes and not ask.required & ~nodes
    return (nodes if enough else 0), later


def soonest(
    made: BackfillPass,
    job: Job,
    section: Section,
    nodes: int,
    candidates: list[Job] | None,
    *,
    now_only: bool,
    first: int,
    start: int,
    until: int,
) -> WillRun | None:
    """When and where a job would start on these nodes, by the ends of running jobs.

    spec: slurm 3.6.
    """
    state, ask = made.state, job.ask
    found = None
    for mask in ask.either or (nodes,):
        if (nodes & mask).bit_count() < ask.min_nodes:
            continue
        one = WillRunTest(
            state.chooser,
            state.usage,
            nodes & mask,
            made.ends,
            state.weights,
            now=made.now,
            now_only=now_only,
            candidates=candidates,
            first=first,
            kill_wait=state.preemption.kill_wait,
            rows=state.rows if state.preemption.gang else None,
            section=section,
            start=start,
            until=until,
            completing=state.completing,
            licences=job.licences,
        ).of(ask)
        if one is not None and (found is None or one.start < found.start):
            found = one
    return found
