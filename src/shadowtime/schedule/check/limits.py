"""Every job runs as long as it needs, or until its limit stops it, at a size it may have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.cluster.contention import Terms, contention_of
from shadowtime.schedule.check.capacity import entries_of
from shadowtime.schedule.check.pieces import changed
from shadowtime.schedule.check.report import Proof, not_proved, proved, such, violated
from shadowtime.schedule.runs import started
from shadowtime.types import NO_LIMIT, UNKNOWN, Ints, Reason, SmallInts
from shadowtime.workload.speedup import COLUMN, as_started, serial_of

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case
    from shadowtime.schedule.check.rules import Rules
    from shadowtime.schedule.match import Match


def limits_kept(case: Case) -> Proof:
    """end - start = min(run, limit), and ``killed`` says which; never more than the limit.

    Where stopped jobs keep their work, the sum of what their attempts kept takes the place of
    end - start.

    The limit is the one of trace and policy; where the policy is not known or stretches limits,
    the schedule's own, which is proved apart (limits-recomputed), else the trace's. A job that
    others slowed down (``penalised`` > 0) may take longer than its run, but not longer than its
    limit; its work is that of the trace cut at the trace's limit, and a job that has done it is not
    killed. A second per attempt is let pass where the policy has parts of seconds.
    """
    name, s, w = "limits-kept", case.schedule, case.workload
    ran = started(s) & ~changed(s)  # of those that changed, the work is proved
    length = s.worked
    limit = case.limit
    slowed = np.zeros(len(s), bool) if s.penalised is None else s.penalised > 0
    killed_known = "killed" not in s.missing
    work = w.run if s.penalised is None else w.effective_run
    needs = np.minimum(work, limit)
    slack = case.slack
    for wrong, what in (
        (length - slack > limit, "longer than its limit of {limit} s"),
        (~slowed & (abs(length - needs) > slack), "but its run is {run} s and its limit {limit} s"),
        (length < needs - slack, "shorter than its run of {run} s, though nothing stopped it"),
        (
            killed_known & (s.killed == 1) & (abs(length - limit) > slack),
            "and is marked as killed at its limit of {limit} s",
        ),
        (
            killed_known & ~slowed & ((s.killed == 1) != (work > limit)),
            "with a run of {run} s, a limit of {limit} s and killed = {killed}",
        ),
    ):
        rows = np.flatnonzero(ran & wrong)
        if len(rows):
            row = int(rows[0])
            shown = "none" if limit[row] >= NO_LIMIT else str(limit[row])
            detail = what.format(run=w.run[row], limit=shown, killed=s.killed[row])
            return violated(
                name, f"{case.name(row)} ran {length[row]} s, {detail}{such(len(rows), 'jobs')}"
            )
    stopped = int((s.killed[ran] == 1).sum())
    return proved(name, f"{int(ran.sum())} runs within their limits, {stopped} stopped there")


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
    """The shortest and the longest limit each job can have been given; None if unknown.

    Jobs that were first in the order were planned against the jobs that ran then: both are equal.
    For the others the least is without, the most with the reservation and all jobs started with it.
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
                if first != case.no_job
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
    """The jobs in the table when a job was planned; of those that overtook with it: all or none."""
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


RECOMPUTED = "limits-recomputed"


def limits_recomputed(case: Case) -> Proof:
    """The column ``limit`` equals what trace and policy give.

    Off nodes no policy changes a limit: it is the trace's. On nodes Slurm's policies add their
    grace, and limits may be stretched by the planned penalty, which is recomputed from what
    ran on the job's nodes when it started. What the reservation then added is not in a schedule:
    for jobs that overtook, the limit must lie between the penalty without and with it.
    """
    s, w, rules = case.schedule, case.workload, case.rules
    if s.limit is None:
        return proved(RECOMPUTED, "the schedule states no limits: the trace's are taken")
    ran = started(s)
    if rules is None:
        rows = np.flatnonzero(ran & (s.limit != w.limit))
        if len(rows) == 0:
            return proved(RECOMPUTED, f"{int(ran.sum())} limits, all the trace's")
        if case.cluster.shape != "nodes":
            return violated(
                RECOMPUTED, _says(case, int(rows[0]), w.limit) + such(len(rows), "jobs")
            )
        short = np.flatnonzero(ran & (s.limit < w.limit))
        if len(short):
            return violated(
                RECOMPUTED, _says(case, int(short[0]), w.limit) + such(len(short), "jobs")
            )
        return not_proved(
            RECOMPUTED,
            f"{len(rows)} limits are longer than the trace's, the first is that of "
            f"{case.name(int(rows[0]))}; name the policy that set them",
        )
    if not rules.stretched:
        rows = np.flatnonzero(ran & (s.limit != rules.limit))
        if len(rows):
            return violated(
                RECOMPUTED, _says(case, int(rows[0]), rules.limit) + such(len(rows), "jobs")
            )
        return proved(RECOMPUTED, f"{int(ran.sum())} limits, all as {rules.policy} gives them")
    short = np.flatnonzero(ran & (s.limit < rules.limit))
    if len(short):
        return violated(
            RECOMPUTED, _says(case, int(short[0]), rules.limit) + such(len(short), "jobs")
        )
    bounds = least_and_most(case)
    if bounds is None:
        return not_proved(RECOMPUTED, "limits grow with plans that the schedule does not show")
    least, most = bounds
    rows = np.flatnonzero(ran & ((s.limit < least) | (s.limit > most)))
    if len(rows):
        row = int(rows[np.argmin(s.start[rows])])
        span = f"{least[row]}" if least[row] == most[row] else f"{least[row]} to {most[row]}"
        return violated(
            RECOMPUTED,
            f"{case.name(row)} has limit {s.limit[row]} s, and its planned penalty gives {span} s"
            f"{such(len(rows), 'jobs')}",
        )
    exact = int((ran & (least == most)).sum())
    return proved(
        RECOMPUTED, f"{exact} stretched limits exactly, {int(ran.sum()) - exact} within bounds"
    )


def _says(case: Case, row: int, true: Ints) -> str:
    shown = case.schedule.limit
    assert shown is not None
    source = "the trace" if case.rules is None else f"the trace with {case.rules.policy}"
    return f"{case.name(row)} has limit {shown[row]} s, and {source} gives {true[row]} s"


SIZES = "sizes-allowed"


def sizes_allowed(found: Match, cluster: Cluster) -> Proof | None:
    """Only moldable jobs run on other processors than they asked for, and no more than there are.

    None where no job is moldable. How long each must run at its size is proved with its limit.
    """
    workload, procs = found.workload, found.schedule.procs
    if COLUMN not in workload.extra:
        return None
    moldable = serial_of(workload) >= 0
    other = procs != workload.procs
    most = max(host.capacity[0] for host in cluster.hosts)
    for wrong, what in (
        (other & ~moldable, "has no speed-up in its column serial, and so a fixed size"),
        (moldable & ((procs < 1) | (procs > most)), f"may have 1 to {most}"),
    ):
        rows = np.flatnonzero(wrong)
        if len(rows):
            row = int(rows[0])
            return violated(
                SIZES,
                f"job {workload.job_id[row]} runs on {procs[row]} processors and asked for "
                f"{workload.procs[row]}: it {what}{such(len(rows), 'jobs')}",
            )
    count = int((other & moldable).sum())
    return proved(SIZES, f"{count} of {int(moldable.sum())} moldable jobs started at another size")


def at_started_sizes(found: Match, rules: Rules | None) -> tuple[Match, Rules | None]:
    """The jobs and the policy's limits at the sizes at which the schedule started them."""
    made = as_started(found.workload, found.schedule)
    if rules is not None and np.array_equal(rules.limit, found.workload.limit):
        rules = replace(rules, limit=made.limit)
    return replace(found, workload=made), rules
