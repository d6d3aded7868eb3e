"""Through which jobs a change reaches another job: each link is caused by the one before it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.study.counterfactual.pair import LATE
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from shadowtime.study.counterfactual.pair import Pair, Side
    from shadowtime.types import Ints


class Via(StrEnum):
    """How a link follows from the one before it."""

    CHANGED = "changed"
    """The beginning: a job that was changed by hand."""
    HELD = "held"
    """The job before it holds processors in one of the two runs only."""
    AHEAD = "ahead"
    """The job before it waits, in one of the two runs only, and was promised a start."""
    QUEUED = "queued"
    """The job before it waits in one of the two runs only, without a promise."""
    EARLIER = "earlier"
    """Nothing of these: the runs differed since the job before it, in order or estimates."""


@dataclass(frozen=True, kw_only=True)
class Link:
    """A job of the chain: its starts in both runs (-1: none) and how it follows from the last."""

    job: int
    via: Via
    before: int
    after: int
    at: int = UNKNOWN
    """When it first differs."""
    procs: int = 0
    until: int = UNKNOWN
    """``held``: how many processors the job before it holds, and until when."""
    promised: int = UNKNOWN
    """``ahead``: what the job before it was promised."""
    in_old_run: bool = True
    """True if the job before it holds or waits in the run as it was, else in the other."""


def chain(pair: Pair, row: int) -> tuple[Link, ...]:
    """From a changed job to the one at ``row``, which starts at another time.

    Rules
    -----
    Followed backwards. A job starts at ``t`` in one run, and in the other it waits then. A job that
    holds processors at ``t`` only in the run where it waits is its cause; else one that waits only
    there with a promise, else one that only waits there; else the job that differed last before
    ``t``. Changed jobs are preferred, then wider ones, then those ahead in the order. A cause
    differs earlier than its effect, so a chain ends at a changed job.
    """
    links: list[Link] = []
    while not pair.changed[row]:
        cause, link = _cause(pair, row)
        links.append(link)
        row = cause
    links.append(_link(pair, row, via=Via.CHANGED))
    return tuple(reversed(links))


def _cause(pair: Pair, row: int) -> tuple[int, Link]:
    """The job that this one follows from, and the link of this one."""
    now = int(pair.since[row])
    old_is_late = bool(pair.before.start[row] > pair.after.start[row])
    late, early = (pair.before, pair.after) if old_is_late else (pair.after, pair.before)
    earlier = pair.changed | (pair.moved & (pair.since < now))
    earlier[row] = False
    held, free = late.holds(now), early.holds(now)
    holders = [one for one in held if one not in free and earlier[one]]
    if holders:
        cause = _first(pair, holders)
        procs = int(late.schedule.procs[late.row[cause]])
        return cause, _link(
            pair, row, via=Via.HELD, in_old_run=old_is_late, until=held[cause], procs=procs
        )
    waiting = late.waits(now) & ~early.waits(now) & earlier
    promised = _promised(late, now)
    for via, mask in ((Via.AHEAD, waiting & (promised >= 0)), (Via.QUEUED, waiting)):
        rows = np.flatnonzero(mask).tolist()
        if rows:
            cause = _first(pair, rows)
            known = int(promised[cause])
            return cause, _link(pair, row, via=via, in_old_run=old_is_late, promised=known)
    last = np.where(earlier & (pair.since <= now), pair.since, UNKNOWN)
    cause = int(np.argmax(last)) if last.max() >= 0 else int(np.argmax(pair.changed))
    return cause, _link(pair, row, via=Via.EARLIER)


def _first(pair: Pair, rows: list[int]) -> int:
    """A changed one, the widest, the first in the order."""
    procs = pair.before.schedule.procs
    return min(rows, key=lambda one: (not pair.changed[one], -int(procs[one]), one))


def _promised(side: Side, now: int) -> Ints:
    """What each job had been promised by then, -1 where nothing."""
    blocked = side.column("blocked_at")
    known: Ints = np.where((blocked >= 0) & (blocked <= now), side.column("promised"), UNKNOWN)
    return known


def _link(
    pair: Pair,
    row: int,
    *,
    via: Via,
    in_old_run: bool = True,
    procs: int = 0,
    until: int = UNKNOWN,
    promised: int = UNKNOWN,
) -> Link:
    starts = [int(side.start[row]) for side in (pair.before, pair.after)]
    before, after = (UNKNOWN if one == LATE else one for one in starts)
    return Link(
        job=int(pair.before.schedule.job_id[row]), via=via, before=before, after=after,
        at=int(pair.since[row]), in_old_run=in_old_run, procs=procs, until=until,
        promised=promised,
    )  # fmt: skip
