"""The head's plan, kept from pass to pass while nothing is released."""

from __future__ import annotations

from shadowtime.engine.passes.phases import FITS
from shadowtime.engine.site import candidates as parts
from shadowtime.engine.site.candidates import General, sorted_already
from shadowtime.kernel.fields import ESTIMATE
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import NEVER, NOW, VOLATILE
from shadowtime.kernel.site import fields as sf
from shadowtime.kernel.site.choose import choose
from shadowtime.kernel.site.limits import count_reservation
from shadowtime.kernel.site.start import hold_plan, keep_place
from shadowtime.kernel.slots import PLAN, RESERVE, asks
from shadowtime.kernel.state import State


@kernel
def may_keep(state: State, ground: sf.Ground, f: General) -> bool:
    """True where the head's plan outlives a pass in which nothing was released: it stays right.

    One reservation in order of arrival, no job outlives its estimate, nothing but ends lets a job
    in or keeps it out, and no function that may follow the clock chooses its nodes or its start.
    What starts leaves the plan its nodes: its start stays the earliest.
    """
    return bool(
        f.par[parts.DEPTH] == 1
        and f.par[parts.PHASES] != 0
        and f.par[parts.TEST] != FITS
        and sorted_already(ground, f)
        and state.reg[VOLATILE] == 0
        and ground.mark[sf.HAS_LIMITS] == 0
        and ground.mark[sf.ANY_CLOSING] == 0
        and ground.mark[sf.TIMES] == 0
        and ground.mark[sf.PLACE_RULE] != sf.SCORE
        and not asks(f, RESERVE)
        and not asks(f, PLAN)
    )


@kernel
def keep_plan(state: State, ground: sf.Ground, f: General) -> None:
    """Remember the plan of this pass."""
    job = f.planned[0]
    f.kept[parts.KEPT_HEAD] = job
    f.kept[parts.KEPT_START] = ground.job[job, sf.DUE]
    f.kept[parts.KEPT_AT] = ground.mark[sf.RELEASED]


@routine
def make_plan(state: State, ground: sf.Ground, job: int, alt: int, at: int) -> None:
    """Hold the nodes found last for a job from an instant on."""
    keep_place(ground, job, alt)
    ground.job[job, sf.DUE] = at
    hold_plan(ground, job, state.reg[NOW], at, at + state.job[job, ESTIMATE], sf.number(-1))
    if ground.mark[sf.TIMES] != 0:
        count_reservation(ground, job, alt, ground.job[job, sf.SHAPE], sf.number(1))


@routine
def drop_plan(state: State, ground: sf.Ground, job: int) -> None:
    """Give these nodes back."""
    at = ground.job[job, sf.DUE]
    hold_plan(ground, job, state.reg[NOW], at, at + state.job[job, ESTIMATE], sf.number(1))
    ground.job[job, sf.DUE] = NEVER
    if ground.mark[sf.TIMES] != 0:
        count_reservation(
            ground, job, ground.job[job, sf.ALT], ground.job[job, sf.SHAPE], sf.number(-1)
        )


@routine
def give_plan_up(state: State, ground: sf.Ground, f: General) -> None:
    """Drop the plan that was kept; its start remains known."""
    job = f.kept[parts.KEPT_HEAD]
    start = ground.job[job, sf.DUE]
    if start < NEVER:
        end = start + state.job[job, ESTIMATE]
        hold_plan(ground, job, state.reg[NOW], start, end, sf.number(1))
        ground.job[job, sf.DUE] = NEVER
        ground.mark[sf.RELEASED] += 1
    f.kept[parts.KEPT_HEAD] = -1
    f.kept[parts.KEPT_LAST] = job


@kernel
def plan_stands(state: State, ground: sf.Ground, f: General, size: int) -> bool:
    """True if nothing was released since the plan was made and the head is the same."""
    if f.kept[parts.KEPT_AT] != ground.mark[sf.RELEASED]:
        return False
    at = 0
    while at < size and not fits_somewhere(ground, f.jobs[at]):
        at += 1
    return bool(at < size and f.jobs[at] == f.kept[parts.KEPT_HEAD])


@kernel
def fits_somewhere(ground: sf.Ground, job: int) -> bool:
    """True if one of the job's shapes fits on the empty nodes."""
    ask = ground.job[job, sf.ASK]
    at = ground.ask[ask, 0]
    while at < ground.ask[ask, 1] and ground.shape[ground.alt[at, sf.ALT_SHAPE], sf.PLACEABLE] == 0:
        at += 1
    return bool(at < ground.ask[ask, 1])


@routine
def behind_head(state: State, ground: sf.Ground, f: General, size: int) -> int:
    """The candidates behind the head whose plan stands; its nodes are chosen again after starts."""
    head = f.kept[parts.KEPT_HEAD]
    if (
        f.kept[parts.KEPT_CHANGES] != ground.mark[sf.CHANGES]
        and ground.mark[sf.PLACE_RULE] != sf.FIRST_FIT
    ):
        now = state.reg[NOW]
        length = state.job[head, ESTIMATE]
        start = f.kept[parts.KEPT_START]
        hold_plan(ground, head, now, start, start + length, sf.number(1))
        choose(state, ground, head, ground.job[head, sf.SHAPE], start, length)
        if moved(ground, head):
            if ground.mark[sf.PLACED] > ground.job[head, sf.PLACE_COUNT]:
                keep_place(ground, head, ground.job[head, sf.ALT])
            else:
                first = ground.job[head, sf.PLACE_FROM]
                for at in range(ground.mark[sf.PLACED]):
                    ground.place[first + at] = (
                        ground.scratch[sf.CHOSEN, at] << 32 | ground.scratch[sf.GIVEN, at]
                    )
                ground.job[head, sf.PLACE_COUNT] = ground.mark[sf.PLACED]
            ground.mark[sf.RELEASED] += 1
            f.kept[parts.KEPT_AT] = ground.mark[sf.RELEASED]
        hold_plan(ground, head, now, start, start + length, sf.number(-1))
        f.kept[parts.KEPT_CHANGES] = ground.mark[sf.CHANGES]
    count = 0
    for i in range(size):
        if f.jobs[i] > head:
            f.heap[count] = i
            count += 1
    return count


@kernel
def moved(ground: sf.Ground, job: int) -> bool:
    """True if the placement found last is not the job's own."""
    if ground.mark[sf.PLACED] != ground.job[job, sf.PLACE_COUNT]:
        return True
    first = ground.job[job, sf.PLACE_FROM]
    at = 0
    while (
        at < ground.mark[sf.PLACED]
        and ground.place[first + at]
        == ground.scratch[sf.CHOSEN, at] << 32 | ground.scratch[sf.GIVEN, at]
    ):
        at += 1
    return bool(at < ground.mark[sf.PLACED])
