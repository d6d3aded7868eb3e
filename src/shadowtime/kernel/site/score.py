"""What a place function of the user's own is asked about the nodes with room, in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from shadowtime.kernel.jit import routine
from shadowtime.kernel.record import NODE_WORDS, OFFERS_FROM
from shadowtime.kernel.registers import FAILED, NOW
from shadowtime.kernel.site import fields as sf
from shadowtime.kernel.slots import PLACE, SLOT_SHIFT

if TYPE_CHECKING:
    from shadowtime.kernel.state import State


class Scoring(NamedTuple):
    """What place functions work with."""

    pointer: Any
    fact: Any  # int64[n, FACTS]
    memory: Any  # float64[rows, numbers]
    series: Any  # float64[words]: kernel/curve.py
    offers: Any  # int64[OFFERS_FROM + NODE_WORDS * N]: kernel/record.py
    answer: Any  # float64[N]: scores of the nodes that were asked about
    score: Any  # float64[N]: by place of the mask


@routine
def fill_scores(state: State, ground: sf.Ground, job: int, shape: int, start: int) -> None:
    """Ask the function about every node with room; the first failure of a run is noted."""
    if state.reg[FAILED] >= 0:
        return  # what was asked then is still needed, for the message
    own = ground.own
    resources = ground.step.shape[1] - sf.LEVEL
    first = ground.shape[shape, sf.MASK_FROM]
    count = 0
    for place in range(ground.shape[shape, sf.MASK_COUNT]):
        if ground.scratch[sf.ROOM, place] <= 0:
            continue
        node = ground.mask[first + place]
        at = OFFERS_FROM + NODE_WORDS * count
        own.offers[at] = ground.node[node, sf.INDEX]
        own.offers[at + 1] = ground.node[node, sf.WEIGHT]
        own.offers[at + 2] = ground.scratch[sf.ROOM, place]
        own.offers[at + 3] = start
        step = ground.scratch[sf.BEST, place]
        for k in range(3):
            column = 0
            if k > 0:
                column = ground.mark[sf.MEMORY] if k == 1 else ground.mark[sf.GPUS]
            counted = column >= 0
            own.offers[at + 4 + k] = (
                ground.node[node, sf.FREE + resources + column] if counted else -1
            )
            own.offers[at + 7 + k] = ground.step[step, sf.LEVEL + column] if counted else -1
        count += 1
    own.offers[0] = job
    offers = own.offers[: OFFERS_FROM + NODE_WORDS * count]
    now, out = state.reg[NOW], own.answer[:count]
    failed = own.pointer(PLACE, now, state.job, own.fact, offers, own.memory, own.series, out)
    if failed >= 0:
        own.offers[1] = failed
        state.reg[FAILED] = PLACE << SLOT_SHIFT | job
    count = 0
    for place in range(ground.shape[shape, sf.MASK_COUNT]):
        if ground.scratch[sf.ROOM, place] > 0:
            own.score[place] = own.answer[count]
            count += 1
