"""No resource is used beyond what there is, at any instant, and each job ran where it may."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.amounts import kind_of
from shadowtime.cluster.cluster import dedicated
from shadowtime.cluster.contention import contention_of
from shadowtime.schedule.check.report import NO_ATTEMPTS, Proof, not_proved, proved, such, violated
from shadowtime.schedule.check.rules import WITHIN_SHARED
from shadowtime.schedule.places import shares
from shadowtime.schedule.runs import started
from shadowtime.schedule.timeline import instants, totals
from shadowtime.types import UNKNOWN, Ints
from shadowtime.workload.site_requests import column_of

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case


def whole_machine(case: Case) -> Proof:
    """Capacity of every resource of the whole machine at every instant, lost runs counted."""
    name = "capacity"
    over = (case.used > case.capacity).any(axis=1)
    if over.any():
        return violated(name, _excess_in_all(case, int(np.argmax(over))))
    if case.lost_are_missing:
        return not_proved(name, NO_ATTEMPTS)
    peak = case.used.max(axis=0, initial=0)
    parts = [
        f"{most} of {there} {resource}"
        for most, there, resource in zip(peak, case.capacity, case.cluster.resources, strict=True)
        if resource not in case.silent
    ]
    silent = "".join(f"; the trace says nothing of {resource}" for resource in case.silent)
    return proved(name, f"at {len(case.at)} instants at most {', '.join(parts)} in use{silent}")


def _excess_in_all(case: Case, instant: int) -> str:
    """The sentence about the first instant with too much in use."""
    used, capacity = case.used[instant], case.capacity
    k = int(np.argmax(used > capacity))
    now = case.at[instant]
    there = np.flatnonzero((case.runs.since <= now) & (now < case.runs.until))
    # The last to start is the one that did not fit; among equals the last in order.
    last = there[np.lexsort((case.runs.row[there], case.runs.since[there]))[-1]]
    row = int(case.runs.row[last])
    resource = case.cluster.resources[k]
    return (
        f"at {now} s {used[k]} of {capacity[k]} {resource} are in use: {case.name(row)}, "
        f"started at {case.runs.since[last]} s, takes {case.demand[row, k]}"
    )


PER_HOST = "capacity-per-host"


@dataclass(frozen=True, eq=False)
class Entries:
    """Every job on every host it names: -1 for a host that is not there, a count not given."""

    row: Ints
    host: Ints
    procs: Ints
    hosts_of_row: Ints


def each_host(case: Case) -> Proof | None:
    """Capacity of every resource on every host; nothing to say where the machine is a pool.

    On hosts a job lies on one host with all it takes. On nodes a job's processors are counted
    where they lie; its other resources are not divided among nodes and count on the whole
    machine only. Preempted runs have no place and count there too.
    """
    if case.cluster.shape == "pool":
        return None
    if case.schedule.place is None:
        return not_proved(PER_HOST, "the schedule has no column place")
    entries = entries_of(case)
    wrong = _misplaced(case, entries)
    if wrong:
        return violated(PER_HOST, wrong)
    spread = case.cluster.shape == "nodes"
    excess = _excess_on_host(
        case, entries, entries.procs[:, None] if spread else case.demand[entries.row]
    )
    if excess:
        return violated(PER_HOST, excess)
    lost = f"; {len(case.lost)} preempted runs have no place" if len(case.lost) else ""
    one = "" if spread else ", no job spans hosts"
    return proved(PER_HOST, f"{len(case.cluster.hosts)} hosts, none over its capacity{one}{lost}")


def entries_of(case: Case) -> Entries:
    """Where every job that ran lies, host by host."""
    index = {host.name: number for number, host in enumerate(case.cluster.hosts)}
    places = case.schedule.place or ()
    code = {place: number for number, place in enumerate(dict.fromkeys(places))}
    parsed = [shares(place) for place in code]
    lengths = np.array([len(entries) for entries in parsed], np.int64)
    flat = [entry for entries in parsed for entry in entries]
    host = np.array([index.get(name, UNKNOWN) for name, _ in flat], np.int64)
    count = np.array([UNKNOWN if procs is None else procs for _, procs in flat], np.int64)
    rows = np.flatnonzero(started(case.schedule))
    place = np.array([code[place] for place in places], np.int64)[rows]
    each = lengths[place]
    row = np.repeat(rows, each)
    # Entry k of a row's place: the place's first entry, plus how far we are into the row.
    first = np.repeat((np.cumsum(lengths) - lengths)[place], each)
    entry = first + np.arange(len(row)) - np.repeat(np.cumsum(each) - each, each)
    alone = np.repeat(each, each) == 1
    procs = np.where(alone & (count[entry] == UNKNOWN), case.demand[row, 0], count[entry])
    hosts_of_row = np.ones(len(case.schedule), np.int64)
    hosts_of_row[rows] = each
    return Entries(row=row, host=host[entry], procs=procs, hosts_of_row=hosts_of_row)


def _misplaced(case: Case, entries: Entries) -> str:
    """The first job whose place cannot be, as a sentence; or nothing."""
    places = case.schedule.place or ()
    nowhere = np.flatnonzero(entries.hosts_of_row == 0)
    if len(nowhere):
        return f"{case.name(int(nowhere[0]))} has no place"
    many = np.flatnonzero(entries.hosts_of_row > 1)
    if len(many) and case.cluster.shape == "hosts":
        row = int(many[0])
        return f"{case.name(row)} spans {entries.hosts_of_row[row]} hosts ({places[row]})"
    for wrong, what in (
        (entries.host == UNKNOWN, "names a host the cluster does not have"),
        (entries.procs == UNKNOWN, "does not say how many processors are where"),
    ):
        if wrong.any():
            row = int(entries.row[np.argmax(wrong)])
            return f"{case.name(row)}: its place ({places[row]}) {what}"
    placed = np.zeros(len(case.schedule), np.int64)
    np.add.at(placed, entries.row, entries.procs)
    differ = np.flatnonzero(started(case.schedule) & (placed != case.demand[:, 0]))
    if len(differ):
        row = int(differ[0])
        takes = case.demand[row, 0]
        return f"{case.name(row)} takes {takes} procs, its place adds up to {placed[row]}"
    return ""


def _levels(case: Case, row: Ints, host: Ints, weight: Ints) -> tuple[Ints, Ints, Ints]:
    """What is in use on each host: (host, instant, level), an entry for every instant there.

    The hosts' time axes lie end to end: everything on one is over before the next begins.
    """
    start, end = case.schedule.start[row], case.schedule.end[row]
    length = int(end.max()) + 1
    since, until = host * length + start, host * length + end
    at = instants(since, until)
    return at // length, at % length, totals(at, since, until, weight)


def _excess_on_host(case: Case, entries: Entries, weight: Ints) -> str:
    """The first instant with too much on a host, as a sentence; or nothing."""
    if len(entries.row) == 0:
        return ""
    capacity = np.array([host.capacity for host in case.cluster.hosts], np.int64)
    capacity = capacity[:, : weight.shape[1]]
    host, time, level = _levels(case, entries.row, entries.host, weight)
    over = level > capacity[host]
    wrong = np.flatnonzero(over.any(axis=1))
    if len(wrong) == 0:
        return ""
    k = int(wrong[np.argmin(time[wrong])])
    resource = int(np.argmax(over[k]))
    there = case.cluster.hosts[int(host[k])]
    return (
        f"at {time[k]} s {level[k, resource]} of {there.capacity[resource]} "
        f"{case.cluster.resources[resource]} are in use on {there.name}"
    )


ALONE = "dedicated-alone"


def dedicated_alone(case: Case) -> Proof | None:
    """No other job is on a host while a dedicated job runs there.

    Nothing to say where the machine takes no job for dedicated: it is not one of hosts, has no
    limits, or lets such jobs share.

    References
    ----------
    S.-H. Chiang and M. K. Vernon, Class-partitioning job scheduling for large-scale parallel
    systems, section 2.1.
    """
    if case.cluster.shape != "hosts" or len(case.workload) == 0:
        return None
    alone = dedicated(case.workload, case.cluster)
    if not alone.any():
        return None
    if case.schedule.place is None:
        return not_proved(ALONE, "the schedule has no column place")
    entries = entries_of(case)
    known = entries.host != UNKNOWN
    row, host = entries.row[known], entries.host[known]
    if len(row) == 0:
        return not_proved(ALONE, "no job ran on a host of the cluster")
    weight = np.stack([np.ones(len(row), np.int64), alone[row].astype(np.int64)], axis=1)
    there, time, level = _levels(case, row, host, weight)
    crowded = np.flatnonzero((level[:, 1] > 0) & (level[:, 0] > 1))
    if len(crowded) == 0:
        return proved(ALONE, f"{int(alone[row].sum())} dedicated jobs, each alone on its host")
    first = int(crowded[np.argmin(time[crowded])])
    when, start, end = time[first], case.schedule.start[row], case.schedule.end[row]
    both = row[(host == there[first]) & (start <= when) & (when < end)]
    mine = int(both[np.argmax(alone[both])])
    other = int(both[both != mine][0])
    name = case.cluster.hosts[int(there[first])].name
    return violated(
        ALONE,
        f"at {when} s {case.name(other)} shares {name} with {case.name(mine)}, which takes the "
        "whole host",
    )


def within_shared(case: Case) -> Proof:
    """Processes times what each draws, node by node and at every instant."""
    name = WITHIN_SHARED
    shared = contention_of(case.cluster) if case.cluster.shape == "nodes" else None
    if shared is None:
        return not_proved(name, "the nodes have no shared resource")
    if case.schedule.place is None:
        return not_proved(name, "the schedule has no column place")
    entries = entries_of(case)
    if len(entries.row) == 0 or (entries.host == UNKNOWN).any():
        return not_proved(name, "the hosts of some jobs are not known")
    for resource, capacity in shared.capacity.items():
        if resource not in case.workload.extra:
            return not_proved(name, f"the trace has no column {resource}")
        drawn = np.asarray(case.workload.extra[resource], np.int64)
        if (drawn == UNKNOWN).any():
            return not_proved(name, f"the {resource} of some jobs is not known")
        weight = entries.procs * drawn[entries.row]
        host, time, level = _levels(case, entries.row, entries.host, weight)
        wrong = np.flatnonzero(level > capacity)
        if len(wrong):
            k = int(wrong[np.argmin(time[wrong])])
            node = case.cluster.hosts[int(host[k])].name
            return violated(
                name,
                f"at {time[k]} s the jobs on {node} ask for {level[k]} of {capacity} {resource}",
            )
    return proved(name, f"{len(case.cluster.hosts)} nodes, demand never above capacity")


ELIGIBLE = "class-eligible"


def class_eligible(case: Case) -> Proof | None:
    """The host of every job is one of its class; nothing to say of policies without classes.

    References
    ----------
    S.-H. Chiang and M. K. Vernon, Class-partitioning job scheduling for large-scale parallel
    systems, section 4.
    """
    classes = None if case.rules is None else case.rules.classes
    if classes is None:
        return None
    if case.schedule.place is None:
        return not_proved(ELIGIBLE, "the schedule has no column place")
    entries = entries_of(case)
    known = entries.host != UNKNOWN
    row, host = entries.row[known], entries.host[known]
    wrong = np.flatnonzero(~classes.allowed[classes.kind[row], host])
    if len(wrong):
        first = int(wrong[0])
        job, where = int(row[first]), case.cluster.hosts[int(host[first])].name
        return violated(
            ELIGIBLE,
            f"{case.name(job)} ran on {where}, where {classes.names[int(classes.kind[job])]} jobs "
            f"may not run{such(len(wrong), 'jobs')}",
        )
    return proved(ELIGIBLE, f"{len(row)} jobs, each on a host of its class")


NAME = "series-bounds"


def within_bounds(case: Case) -> Proof | None:
    """What running jobs hold stays within the series of the amount's name; None without one.

    Rules
    -----
    A job that outlives its estimate keeps what it holds: under a policy that predicts run times a
    bound that falls meanwhile can be passed, which is a violation like any other.
    """
    bounds = case.bounds
    if not bounds:
        return None
    ran = case.runs
    for name, bound in bounds.items():
        column = column_of(case.workload, name)
        if column is None:
            continue
        held = np.maximum(column[ran.row], 0)
        at = instants(ran.since, ran.until, bound.time)
        level = totals(at, ran.since, ran.until, held)
        over = np.flatnonzero(level > bound.at(at))
        if len(over):
            k, kind = int(over[0]), kind_of(name)
            used, most = (kind.count(f"{n:,.0f}") for n in (level[k], bound.at(at[k])))
            return violated(
                NAME, f"at {at[k]} s {used} of {kind.title(name)} are in use, and the "
                f"series allows {most}"
            )  # fmt: skip
    return proved(NAME, f"{', '.join(bounds)}: never more in use than the series allows")
