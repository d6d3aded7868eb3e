"""Interval colouring: which rows of the machine a run lies on, found after the run.

A pool does not say which processors a job had. For a picture we choose them: walking through
starts and ends in time, a run takes the narrowest gap that holds it, and where no gap does it
is split over the widest ones. Nothing here depends on the policy and nothing overlaps.

One function without helpers: the same source also runs as plain Python on small schedules,
where a compiled helper would have to be loaded first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.kernel.jit import entry

if TYPE_CHECKING:
    from shadowtime.types import Ints


@entry
def colour(
    events: Ints,
    width: Ints,
    first: Ints,
    count: Ints,
    piece_row: Ints,
    piece_width: Ints,
    gap_row: Ints,
    gap_width: Ints,
) -> int:
    """Walk the events and write the pieces of every run; return how many, -1 if out of room.

    ``events`` hold r for the start of run r and ~r for its end, in time order, ends first.
    ``gap_row`` and ``gap_width`` are the free rows, sorted, the first entry holding them all.
    ``first`` and ``count`` are each run's place in the pieces. All but ``events`` and ``width``
    are modified in place.
    """
    gaps = 1
    used = 0
    for event in events:
        if event >= 0:
            need = width[event]
            first[event] = used
            while need > 0:
                best = -1  # the narrowest gap that is wide enough, else the widest
                best_size = 0
                for g in range(gaps):
                    size = gap_width[g]
                    if (need <= size and (size < best_size or best_size < need)) or (
                        best_size < size < need
                    ):
                        best = g
                        best_size = size
                if best < 0 or used == len(piece_row):
                    return -1
                take = min(need, best_size)
                piece_row[used] = gap_row[best]
                piece_width[used] = take
                used += 1
                need -= take
                if take == best_size:
                    for g in range(best, gaps - 1):
                        gap_row[g] = gap_row[g + 1]
                        gap_width[g] = gap_width[g + 1]
                    gaps -= 1
                else:
                    gap_row[best] += take
                    gap_width[best] -= take
            count[event] = used - first[event]
            continue
        run = ~event
        for piece in range(first[run], first[run] + count[run]):
            row = piece_row[piece]
            size = piece_width[piece]
            at = gaps  # the gap above the rows that come back
            while at > 0 and gap_row[at - 1] > row:
                at -= 1
            joins_below = at > 0 and gap_row[at - 1] + gap_width[at - 1] == row
            joins_above = at < gaps and row + size == gap_row[at]
            if joins_below and joins_above:
                gap_width[at - 1] += size + gap_width[at]
                for g in range(at, gaps - 1):
                    gap_row[g] = gap_row[g + 1]
                    gap_width[g] = gap_width[g + 1]
                gaps -= 1
            elif joins_below:
                gap_width[at - 1] += size
            elif joins_above:
                gap_row[at] = row
                gap_width[at] += size
            else:
                for g in range(gaps, at, -1):
                    gap_row[g] = gap_row[g - 1]
                    gap_width[g] = gap_width[g - 1]
                gap_row[at] = row
                gap_width[at] = size
                gaps += 1
    return used
