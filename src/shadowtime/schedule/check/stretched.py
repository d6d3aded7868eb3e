"""Limits stretched by the penalty a job was planned with when it started (spec 4.3 to 4.5)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.contention import contention_of
from shadowtime.schedule.check.hosts import entries_of
from shadowtime.schedule.runs import started
from shadowtime.types import UNKNOWN, Reason

if TYPE_CHECKING:
    from shadowtime.cluster.contention import Terms
    from shadowtime.schedule.check.case import Case
    from shadowtime.types import Ints, SmallInts

Load = tuple[int, tuple[int, ...]]
"""(when it ends in the table, what it is taken to draw on the node by hinge)."""


@dataclass(frozen=True)
class Part:
    """A job's share of one node."""

    row: int
    start: int
    end: int
    books_until: int
    draws: tuple[int, ...]


def least_and_most(case: Case) -> tuple[Ints, Ints] | None:
    """The shortest and the longest limit each job can have been given; None if not to be told.

    Jobs that were first in the order were planned against who ran then: both are the same. For
    the others the least is without, the most with the reservation and all who started with it.
    """
    s, rules = case.schedule, case.rules
    contention = contention_of(case.cluster)
    if rules is None or rules.stretch is None or contention is None or s.limit is None:
        return None
    entries = entries_of(case) if s.place is not None else None
    if entries is None or (entries.host == UNKNOWN).any() or (entries.procs < 1).any():
        return None
    if "reason" in s.missing or len(case.at) == 0:
        return None
    terms = contention.law.terms(contention.capacity)
    names = tuple(contention.capacity)
    column = [names.index(hinge.resource) for hinge in terms.hinges]
    demand = rules.stretch.demand[:, column]
    books = s.start + rules.stretch.request + (s.limit - rules.limit)
    cores = int(case.cluster.hosts[0].capacity[0])
    head = case.head[case.place_in_time(s.start)]
    cost = np.zeros((2, len(s)), object)
    by_node: dict[int, list[Part]] = {}
    order = np.lexsort((entries.row, s.start[entries.row]))
    for k in order.tolist():
        row = int(entries.row[k])
        draws = tuple(int(entries.procs[k]) * int(amount) for amount in demand[row])
        part = Part(row, int(s.start[row]), int(s.end[row]), int(books[row]), draws)
        by_node.setdefault(int(entries.host[k]), []).append(part)
    for parts in by_node.values():
        there: list[Part] = []
        for i, part in enumerate(parts):
            there = [other for other in there if other.end > part.start]
            together = [
                other
                for other in parts[i + 1 : i + 1 + cores]
                if other.start == part.start and other.end > part.start
            ]
            first = head[part.row]
            held = (
                tuple(min(cores, int(case.demand[first, 0])) * int(d) for d in demand[first])
                if first != case.nobody
                else ()
            )
            for side in (0, 1):
                known = _known(s.reason, part, there + together, most=bool(side))
                until = part.start + int(rules.stretch.span[part.row])
                loads = [(max(o.books_until, part.start + 1), o.draws) for o in known]
                overtook = s.reason[part.row] == Reason.BACKFILLED
                if side and overtook and held:
                    loads.append((until, held))
                found = _cost(part, loads, until, terms)
                cost[side, part.row] = max(cost[side, part.row], found)
            there.append(part)
    limits = []
    for side in (0, 1):
        more = [
            -(-int(c) * int(request) // (terms.base * int(span)))
            for c, request, span in zip(
                cost[side], rules.stretch.request, rules.stretch.span, strict=True
            )
        ]
        limits.append(rules.limit + np.array(more, np.int64))
    ran = started(s)
    return np.where(ran, limits[0], 0), np.where(ran, limits[1], 0)


def _known(reason: SmallInts, part: Part, others: list[Part], *, most: bool) -> list[Part]:
    """Who was in the table when a job was planned; of those that overtook with it: all or none."""
    overtook = reason[part.row] == Reason.BACKFILLED
    known = []
    for other in others:
        if other.start < part.start:
            known.append(other)
        elif reason[other.row] != Reason.BACKFILLED:
            if overtook or other.row < part.row:
                known.append(other)
        elif overtook and most:
            known.append(other)
    return known


def _cost(part: Part, loads: list[Load], until: int, terms: Terms) -> int:
    """Sum over the windows until then of their length times the law's terms."""
    cuts = sorted({part.start, until, *(end for end, _ in loads if part.start < end < until)})
    total = 0
    for begin, end in pairwise(cuts):
        for h, hinge in enumerate(terms.hinges):
            level = part.draws[h] + sum(draws[h] for stop, draws in loads if stop > begin)
            total += (end - begin) * hinge.weight * max(0, level - hinge.threshold)
    return total
