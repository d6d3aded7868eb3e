"""On nodes: how long every job had to run, given the jobs that shared its nodes.

spec: algorithms 4.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.contention import Contention, Terms, contention_of
from shadowtime.errors import ClusterError, UsageError
from shadowtime.schedule.check.capacity import Entries, entries_of
from shadowtime.schedule.check.report import Proof, not_proved, proved, such, violated
from shadowtime.schedule.runs import started
from shadowtime.schedule.timeline import instants, totals
from shadowtime.types import UNKNOWN, AnyArray, Ints
from shadowtime.workload.draws import demand_of, work_unit

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case

NAME = "contention"


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the nodes made of each job, row by row, up to its recorded end.

    ``done`` is the first whole second at which all its parts were, -1 if they never were;
    ``left`` the work its slowest part had left then (or, where windows are counted, the penalty
    it had gathered), in ``unit`` parts of a second.
    """

    done: Ints
    left: Ints
    unit: int


def contention_recomputed(case: Case) -> Proof | None:
    """Every job ends when its slowest part is done, or is killed at its limit before that.

    Given starts, places and the ends of the others, the demand on each node and with it the rate
    at which its parts work is known at every instant. What follows for each job is compared with
    its end, with ``killed`` and with ``penalised``. A false end would have to be paid for by
    those that share its nodes: the earliest false one is always found.
    """
    s, w = case.schedule, case.workload
    if case.cluster.shape != "nodes":
        return None
    shared = contention_of(case.cluster)
    if shared is None or len(w) == 0:
        return None
    if s.place is None:
        return not_proved(NAME, "the schedule has no column place")
    entries = entries_of(case)
    if len(entries.row) == 0 or (entries.host == UNKNOWN).any() or (entries.procs < 1).any():
        return not_proved(NAME, "the hosts of some jobs are not known")
    try:
        found = _outcome(case, entries, shared)
    except (UsageError, ClusterError) as wrong:
        return not_proved(NAME, str(wrong))
    ran, length, work = started(s), s.end - s.start, w.effective_run
    limit = case.limit
    finished = found.done != UNKNOWN
    due = np.where(finished, np.minimum(found.done - s.start, limit), limit)
    cut = ~finished | (found.done - s.start > limit)
    if shared.stretch == "window":
        lost = -(-found.left // found.unit)
    else:
        lost = np.where(cut, length - work - (-found.left // found.unit), length - work)
    checks: list[tuple[AnyArray, Ints | None, str, Ints]] = [
        (
            length != due,
            None,
            "ran {is_} s, but its nodes were shared so that it had to run {} s",
            due,
        )
    ]
    if "killed" not in s.missing:
        shown = s.killed.astype(np.int64)
        checks.append(
            (shown != cut, shown, "has killed = {is_}, and it must be {}", cut.astype(np.int64))
        )
    if s.penalised is not None:
        shown = s.penalised
        checks.append(
            (shown != lost, shown, "has penalised = {is_}, and others cost it {} s", lost)
        )
    for wrong_, says, what, true in checks:
        rows = np.flatnonzero(ran & wrong_)
        if len(rows):
            row = int(rows[np.argmin(s.end[rows])])
            is_ = length[row] if says is None else says[row]
            detail = what.format(true[row], is_=is_)
            return violated(NAME, f"{case.name(row)} {detail}{such(len(rows), 'jobs')}")
    slowed = int((ran & (lost > 0)).sum())
    return proved(NAME, f"every end follows from who shared its nodes; {slowed} jobs slowed down")


def _outcome(case: Case, entries: Entries, shared: Contention) -> Outcome:
    """Follow every part of every job along the rates of its node."""
    s, w = case.schedule, case.workload
    draws = demand_of(w, shared)
    terms, names = shared.law.terms(shared.capacity), tuple(shared.capacity)
    cores = int(case.cluster.hosts[0].capacity[0])
    windows = shared.stretch == "window"
    unit = terms.base if windows else work_unit(draws, cores, terms, names)[0]
    column = [names.index(hinge.resource) for hinge in terms.hinges]
    done = np.full(len(s), UNKNOWN, np.int64)
    left = np.zeros(len(s), np.int64)
    late = np.zeros(len(s), bool)  # some part was not done by the job's end
    by_node = np.argsort(entries.host, kind="stable")
    first = np.searchsorted(entries.host[by_node], np.arange(len(case.cluster.hosts) + 1))
    for k in range(len(case.cluster.hosts)):
        some = by_node[first[k] : first[k + 1]]
        if len(some) == 0:
            continue
        row = entries.row[some]
        since, until = s.start[row], s.end[row]
        at = instants(since, until)
        level = totals(at, since, until, entries.procs[some][:, None] * draws[row][:, column])
        over = _over(level, terms)
        if windows:
            own = np.minimum(until, since + w.effective_run[row])
            gathered = _until(at, over, own) - _until(at, over, since)
            np.maximum.at(left, row, gathered)
            continue
        rate = _rates(over, terms.base, unit)
        target = _until(at, rate, since) + w.effective_run[row] * unit
        missing = target - _until(at, rate, until)
        np.maximum.at(left, row, np.maximum(missing, 0))
        late[row[missing > 0]] = True
        ready = missing <= 0
        np.maximum.at(done, row[ready], _reached(at, rate, target[ready], since[ready]))
    if windows:
        done = s.start + w.effective_run + -(-left // unit)
    done[late] = UNKNOWN
    return Outcome(done, left, unit)


def _over(level: Ints, terms: Terms) -> Ints:
    """Sum of the law's terms at each instant."""
    edge = np.array([hinge.threshold for hinge in terms.hinges], np.int64)
    weight = np.array([hinge.weight for hinge in terms.hinges], np.int64)
    summed: Ints = (np.maximum(0, level - edge) * weight).sum(axis=1)
    return summed


def _rates(over: Ints, base: int, unit: int) -> Ints:
    """Units of work a part does in a second, rounded down, at each instant."""
    kinds, which = np.unique(over, return_inverse=True)
    # Whole numbers of Python: the product may pass 64 bits.
    each = np.array([unit * base // (base + kind) for kind in kinds.tolist()], np.int64)
    rates: Ints = each[which]
    return rates


def _until(at: Ints, rate: Ints, times: Ints) -> Ints:
    """What has been gathered at these times, all of them between the first and last instant."""
    whole = np.concatenate([[0], np.cumsum(rate[:-1] * np.diff(at))])
    k = np.clip(np.searchsorted(at, times, side="right") - 1, 0, len(at) - 1)
    gathered: Ints = whole[k] + rate[k] * (times - at[k])
    return gathered


def _reached(at: Ints, rate: Ints, target: Ints, since: Ints) -> Ints:
    """The first whole second at which this much has been gathered."""
    whole = np.concatenate([[0], np.cumsum(rate[:-1] * np.diff(at))])
    k = np.maximum(np.searchsorted(whole, target, side="left") - 1, 0)
    second: Ints = np.maximum(at[k] + -(-(target - whole[k]) // rate[k]), since)
    return second
