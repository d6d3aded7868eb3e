"""Where every run is drawn: rows found by colouring on a pool, real hosts elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.errors import InputError
from shadowtime.kernel.jit import entry
from shadowtime.report.places import spread
from shadowtime.schedule.runs import lost_runs
from shadowtime.schedule.runs import runs as every_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from shadowtime.cluster import Cluster
    from shadowtime.schedule import Schedule
    from shadowtime.types import AnyArray, Ints, SmallInts


COMPILE_FROM = 20_000
"""Number of runs from which the compiled colouring is worth loading."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Runs:
    """Everything that occupied the machine: the last attempts, then those that were lost.

    ``job`` is the job's place in (submit, id) order.
    """

    job: Ints
    start: Ints
    end: Ints
    lost: SmallInts
    procs: Ints

    def __len__(self) -> int:
        return len(self.job)


def runs_of(schedule: Schedule) -> Runs:
    """The runs of a schedule; jobs without a start and an end have none, suspended ones no rows.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 0], run=[5, 5], procs=[1, 1], recorded_start=[2, -1])
    >>> from shadowtime.schedule import Schedule
    >>> runs_of(Schedule.recorded(w)).job.tolist()
    [0]
    """
    spans = every_run(schedule)
    last = len(spans) - len(lost_runs(schedule))
    lost = (np.arange(len(spans)) >= last).astype(np.int8)
    procs = spans.taken(schedule.procs)
    if spans.procs is not None:
        drawn = procs > 0
        spans, lost, procs = spans.at(drawn), lost[drawn], procs[drawn]
    return Runs(job=spans.row, start=spans.since, end=spans.until, lost=lost, procs=procs)


@dataclass(frozen=True, kw_only=True)
class Band:
    """Rows that belong together: a host, or the whole pool. ``beyond`` lie above its capacity."""

    name: str
    row: int
    rows: int
    beyond: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Rows:
    """The pieces of every run, in the order of the runs.

    Rows are counted in ``unit`` processors (the largest unit that divides everything), so a
    machine that hands out whole nodes has a row per node. ``count`` pieces belong to each run.
    """

    runs: Runs
    unit: int
    rows: int
    bands: tuple[Band, ...]
    count: Ints
    row: Ints
    width: Ints
    real: bool
    """True where the rows are those the jobs really had."""

    @property
    def owner(self) -> Ints:
        """The run of every piece."""
        return np.repeat(np.arange(len(self.runs)), self.count)


def lay_out(schedule: Schedule, cluster: Cluster) -> Rows:
    """Rows of every run of a schedule.

    If a log used more than the machine has, rows are added beyond its capacity.
    A run of no length takes no row from the others; it is drawn from row 0.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> jobs = {"submit": [0, 0, 0], "run": [5, 9, 5], "procs": [1, 1, 2]}
    >>> recorded = Schedule.recorded(Workload.build(**jobs, recorded_start=[0, 0, 5]))
    >>> rows = lay_out(recorded, Cluster.pool(3))
    >>> rows.row.tolist(), rows.width.tolist()
    ([0, 1, 0, 2], [1, 1, 1, 1])
    """
    runs = runs_of(schedule)
    hosts = {host.name: host.capacity[0] for host in cluster.hosts}
    real = schedule.place is not None and cluster.shape != "pool"
    if real:
        run, host, width = _on_hosts(schedule, runs, tuple(hosts))
    else:
        run, host, width = np.arange(len(runs)), np.zeros(len(runs), np.int64), runs.procs
        hosts = {cluster.name or "pool": cluster.procs}
    unit = int(np.gcd.reduce(np.concatenate([list(hosts.values()), width[width > 0]])))
    return _stacked(runs, run, host, width // unit, unit, hosts, real=real)


def _on_hosts(schedule: Schedule, runs: Runs, names: tuple[str, ...]) -> tuple[Ints, Ints, Ints]:
    """Run, host and processors of every share; a lost attempt is drawn where the job ended."""
    number = {name: index for index, name in enumerate(names)}
    places = schedule.place or ()
    known: dict[tuple[str, int], tuple[tuple[str, int], ...]] = {}
    run, host, width = [], [], []
    for index, job in enumerate(runs.job.tolist()):
        key = (places[job], int(schedule.procs[job]))
        if key not in known:
            known[key] = spread(*key)
        for name, procs in known[key]:
            if name not in number:
                raise InputError(
                    f"job {schedule.job_id[job]} ran on the host {name}, which the cluster "
                    "does not have",
                    hint="Report it with the cluster it was simulated on.",
                )
            run.append(index)
            host.append(number[name])
            width.append(procs)
    return np.array(run, np.int64), np.array(host, np.int64), np.array(width, np.int64)


def _stacked(
    runs: Runs, run: Ints, host: Ints, width: Ints, unit: int, hosts: dict[str, int], *, real: bool
) -> Rows:
    """Colour host by host and stack the bands."""
    bands, owner, row, size, base = [], [], [], [], 0
    by_host = np.argsort(host, kind="stable")
    edges = np.searchsorted(host[by_host], np.arange(len(hosts) + 1))
    for index, (name, capacity) in enumerate(hosts.items()):
        at = by_host[edges[index] : edges[index + 1]]
        rows = capacity // unit
        used, count, pieces, widths = _coloured(
            runs.start[run[at]], runs.end[run[at]], width[at], rows
        )
        owner.append(np.repeat(run[at], count))
        row.append(pieces + base)
        size.append(widths)
        bands.append(Band(name=name, row=base, rows=used, beyond=max(0, used - rows)))
        base += used
    owners = np.concatenate(owner)
    order = np.argsort(owners, kind="stable")
    return Rows(
        runs=runs,
        unit=unit,
        rows=base,
        bands=tuple(bands),
        count=np.bincount(owners, minlength=len(runs)),
        row=np.concatenate(row)[order],
        width=np.concatenate(size)[order],
        real=real,
    )


def _coloured(start: Ints, end: Ints, width: Ints, rows: int) -> tuple[int, Ints, Ints, Ints]:
    """Rows used, and pieces per run with their rows and widths."""
    n = len(start)
    long = np.flatnonzero((end > start) & (width > 0))
    times = np.concatenate([end[long], start[long]])
    marks = np.concatenate([~long, long])
    order = np.argsort(times, kind="stable")  # ends come first in the input, so also at ties
    events = marks[order]
    change = np.where(events >= 0, width[events], -width[~events])
    rows = max(rows, int(np.cumsum(change).max(initial=0)))
    first, count = np.zeros(n, np.int64), np.zeros(n, np.int64)
    room = 2 * n + rows
    colour = _colour(n)
    while True:
        gap_row, gap_width = np.zeros(rows + 2, np.int64), np.zeros(rows + 2, np.int64)
        gap_width[0] = rows
        row, size = np.empty(room, np.int64), np.empty(room, np.int64)
        if colour(events, width, first, count, row, size, gap_row, gap_width) >= 0:
            break
        room *= 2
    at = _ranges(first, count)
    short = count == 0
    pieces = np.zeros(int(np.where(short, 1, count).sum()), np.int64)
    widths = np.repeat(width, np.where(short, 1, count))
    mask = np.repeat(~short, np.where(short, 1, count))
    pieces[mask], widths[mask] = row[at], size[at]
    return rows, np.where(short, 1, count), pieces, widths


def _ranges(first: Ints, count: Ints) -> AnyArray:
    """Indices first[i] .. first[i]+count[i]-1 of every i, one after another."""
    offset = np.repeat(first - np.concatenate([[0], np.cumsum(count)[:-1]]), count)
    return offset + np.arange(len(offset))


def _colour(n: int) -> Callable[..., Any]:
    """The compiled colouring for many runs, the same source as plain Python for few."""

    return colour if n >= COMPILE_FROM else getattr(colour, "py_func", colour)


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
