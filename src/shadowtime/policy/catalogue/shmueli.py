"""LOS, the lookahead optimizing scheduler (Shmueli and Feitelson 2003 and 2005)."""

from __future__ import annotations

from typing import Any

import numpy as np

from shadowtime.kernel.choice import earliest, occupy
from shadowtime.policy.backfill import Selected
from shadowtime.policy.policy import Policy


def los(now: int, jobs: Any, free: Any, depth: int = 50, area: bool = False) -> None:
    """the set of jobs that fills the processors best around the head's reservation."""
    if depth < 1 or depth > 62:
        raise ValueError("depth must lie between 1 and 62")
    count = len(jobs.procs)
    head = 0
    while head < count and earliest(free, jobs.need[head], jobs.estimate[head]) == now:
        jobs.start[head] = 1
        occupy(free, jobs.need[head], now, now + jobs.estimate[head])
        head += 1
    if head == count:
        return
    shadow = earliest(free, jobs.need[head], jobs.estimate[head])
    jobs.promised[head] = shadow
    occupy(free, jobs.need[head], shadow, shadow + jobs.estimate[head])
    room = free.level[0, 0]
    extra = room  # of processors now, those that are left at the shadow time
    for step in range(free.count[0]):
        if free.time[step] == shadow:
            extra = min(room, free.level[step, 0])
    last = min(count, head + 1 + depth)
    sizes = np.zeros(last - head - 1, np.int64)
    ends_late = np.zeros(last - head - 1, np.int64)
    for i in range(head + 1, last):
        size = jobs.procs[i]
        beyond = 0 if now + jobs.estimate[i] <= shadow else size
        if size <= room and beyond <= extra:
            sizes[i - head - 1], ends_late[i - head - 1] = size, beyond
    # What all of them together cannot fill makes no difference, and would make the tables long.
    room, extra = min(room, sizes.sum()), min(extra, ends_late.sum())
    # best[k, e]: the most processors (or area) that some of the jobs so far fill, if given k
    # processors now, e of them beyond the shadow time; chosen[k, e]: which jobs they are, a bit
    # each.
    best = np.zeros((room + 1, extra + 1), np.int64)
    chosen = np.zeros((room + 1, extra + 1), np.int64)
    for at in range(last - head - 1):
        size, beyond = sizes[at], ends_late[at]
        if size == 0:
            continue
        worth = size * jobs.estimate[head + 1 + at] if area else size
        for k in range(room, size - 1, -1):
            for e in range(extra, beyond - 1, -1):
                filled = best[k - size, e - beyond] + worth
                if filled > best[k, e]:  # on a tie without it: nearer to the head
                    best[k, e] = filled
                    chosen[k, e] = chosen[k - size, e - beyond] | (1 << at)
    for i in range(head + 1, last):
        fits = earliest(free, jobs.need[i], jobs.estimate[i]) == now  # in other resources too
        if fits and (chosen[room, extra] >> (i - head - 1)) & 1:
            jobs.start[i] = 1
            occupy(free, jobs.need[i], now, now + jobs.estimate[i])


PARTS = (
    Selected(los, claims=("queue-by-arrival", "head-never-idle", "promises-kept",
                          "no-reservation-violation")),
)  # fmt: skip
POLICIES = (
    Policy(
        name="los",
        backfill=PARTS[0],
        summary="EASY; of all sets that may overtake, the one that fills most processors",
        paper="Shmueli and Feitelson 2005 (JPDC), abstract; lookahead of 50 jobs",
    ),
)
