"""Nodes that are closed for good, and shapes that fit nowhere without them."""

from __future__ import annotations

from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.site import fields as sf
from shadowtime.kernel.site.earliest import suffices
from shadowtime.kernel.site.room import holds


@entry
def note_gone_at(ground: sf.Ground, now: int) -> None:
    """The same, called from Python before a run."""
    note_gone(ground, now)


@routine
def note_gone(ground: sf.Ground, now: int) -> None:
    """Nodes that are known to be closed for good, and shapes that therefore fit nowhere."""
    fresh = False
    for node in range(ground.node.shape[0]):
        first = ground.node[node, sf.CLOSE_FROM]
        for at in range(first, first + ground.node[node, sf.CLOSE_COUNT]):
            if (
                ground.close[at, sf.END] >= sf.EVER
                and ground.close[at, sf.KNOWN] <= now
                and ground.close[at, sf.WHOSE] < 0
            ):
                fresh = fresh or ground.node[node, sf.GONE] == 0
                ground.node[node, sf.GONE] = 1
    if not fresh:
        return
    for shape in range(ground.shape.shape[0]):
        if ground.shape[shape, sf.PLACEABLE] != 0:
            ground.shape[shape, sf.PLACEABLE] = fits_what_is_left(ground, shape)


@kernel
def fits_what_is_left(ground: sf.Ground, shape: int) -> bool:
    """True if the shape fits on the empty nodes that are not gone."""
    resources = ground.step.shape[1] - sf.LEVEL
    scratch = ground.scratch
    for held in range(scratch.shape[1]):
        scratch[sf.TALLY, held] = 0
    first = ground.shape[shape, sf.MASK_FROM]
    wanted = ground.shape[shape, sf.WANTED]
    count = 0
    total = 0
    size = ground.shape[shape, sf.MASK_COUNT]
    for at in range(size):
        node = ground.mask[first + at]
        tasks = 0
        if ground.node[node, sf.GONE] == 0:
            tasks = holds(ground, shape, node, ground.node, node, sf.FREE + resources)
        scratch[sf.ROOM, at] = tasks
        if tasks == 0:
            if at < wanted:
                return False
            continue
        count += 1
        total += tasks
        if at >= wanted:
            scratch[sf.TALLY, tasks] += 1
    if count < ground.shape[shape, sf.LEAST] or total < ground.shape[shape, sf.TASKS]:
        return False
    return suffices(ground, shape, bool(ground.shape[shape, sf.MOST] < size))
