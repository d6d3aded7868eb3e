"""No resource of any host is used beyond what it has; on hosts, no job spans two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.check.report import Proof, not_made, proved, violated
from shadowtime.schedule.places import shares
from shadowtime.schedule.runs import started
from shadowtime.schedule.timeline import instants, totals
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case
    from shadowtime.types import Ints

NAME = "capacity-per-host"


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
        return not_made(NAME, "the schedule has no column place")
    entries = entries_of(case)
    wrong = _misplaced(case, entries)
    if wrong:
        return violated(NAME, wrong)
    spread = case.cluster.shape == "nodes"
    excess = _excess(case, entries, entries.procs[:, None] if spread else case.demand[entries.row])
    if excess:
        return violated(NAME, excess)
    lost = f"; {len(case.lost)} preempted runs have no place" if len(case.lost) else ""
    one = "" if spread else ", no job spans hosts"
    return proved(NAME, f"{len(case.cluster.hosts)} hosts, none over its capacity{one}{lost}")


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


def _excess(case: Case, entries: Entries, weight: Ints) -> str:
    """The first instant with too much on a host, as a sentence; or nothing."""
    if len(entries.row) == 0:
        return ""
    capacity = np.array([host.capacity for host in case.cluster.hosts], np.int64)
    capacity = capacity[:, : weight.shape[1]]
    start, end = case.schedule.start[entries.row], case.schedule.end[entries.row]
    # The hosts' time axes end to end: everything on one is over before the next begins.
    length = int(end.max()) + 1
    since, until = entries.host * length + start, entries.host * length + end
    at = instants(since, until)
    host, time = at // length, at % length
    over = totals(at, since, until, weight) - capacity[host]
    wrong = np.flatnonzero((over > 0).any(axis=1))
    if len(wrong) == 0:
        return ""
    k = int(wrong[np.argmin(time[wrong])])
    resource = int(np.argmax(over[k] > 0))
    there = case.cluster.hosts[int(host[k])]
    return (
        f"at {time[k]} s {over[k, resource] + there.capacity[resource]} of "
        f"{there.capacity[resource]} {case.cluster.resources[resource]} are in use on {there.name}"
    )
