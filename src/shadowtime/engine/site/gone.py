"""Nodes that are closed for good, and shapes that fit nowhere without them."""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.site.fields import (
    CLOSE_COUNT,
    CLOSE_FROM,
    END,
    EVER,
    FREE,
    GONE,
    IN_A_ROW,
    KNOWN,
    LEAST,
    LEVEL,
    MASK_COUNT,
    MASK_FROM,
    MOST,
    PLACEABLE,
    ROOM,
    TALLY,
    TASKS,
    WANTED,
    WHOSE,
)
from shadowtime.kernel.site.neighbours import has_row
from shadowtime.kernel.site.room import holds


@entry
def note_gone_at(g: Any, now: int) -> None:
    """The same, called from Python before a run."""
    note_gone(g, now)


@routine
def note_gone(g: Any, now: int) -> None:
    """Nodes that are known to be closed for good, and shapes that therefore fit nowhere."""
    fresh = False
    for node in range(g.node.shape[0]):
        first = g.node[node, CLOSE_FROM]
        for at in range(first, first + g.node[node, CLOSE_COUNT]):
            if g.close[at, END] >= EVER and g.close[at, KNOWN] <= now and g.close[at, WHOSE] < 0:
                fresh = fresh or g.node[node, GONE] == 0
                g.node[node, GONE] = 1
    if not fresh:
        return
    for shape in range(g.shape.shape[0]):
        if g.shape[shape, PLACEABLE] != 0:
            g.shape[shape, PLACEABLE] = fits_what_is_left(g, shape)


@kernel
def fits_what_is_left(g: Any, shape: int) -> bool:
    """True if the shape fits on the empty nodes that are not gone."""
    resources = g.step.shape[1] - LEVEL
    scratch = g.scratch
    for held in range(scratch.shape[1]):
        scratch[TALLY, held] = 0
    first = g.shape[shape, MASK_FROM]
    wanted = g.shape[shape, WANTED]
    count = 0
    total = 0
    for at in range(g.shape[shape, MASK_COUNT]):
        node = g.mask[first + at]
        tasks = 0
        if g.node[node, GONE] == 0:
            tasks = holds(g, shape, node, g.node, node, FREE + resources)
        scratch[ROOM, at] = tasks
        if tasks == 0:
            if at < wanted:
                return False
            continue
        count += 1
        if at < wanted:
            total += tasks
        else:
            scratch[TALLY, tasks] += 1
    if g.shape[shape, IN_A_ROW] != 0:
        return has_row(g, shape)
    left = g.shape[shape, MOST] - wanted
    held = scratch.shape[1] - 1
    while held > 0 and left > 0:
        nodes = min(left, scratch[TALLY, held])
        total += nodes * held
        left -= nodes
        held -= 1
    return bool(count >= g.shape[shape, LEAST] and total >= g.shape[shape, TASKS])
