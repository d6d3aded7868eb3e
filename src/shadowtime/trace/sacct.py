"""Slurm's accounting records: what every admin of a Slurm cluster has.

Read with the column names of sacct(1), in any order and number; what cannot be done without is
the job id, Submit, State, the run time (ElapsedRaw, Elapsed or Start and End) and the processors.

``sacct -D`` has a row per run of a job that was preempted, requeued by hand or lost its node; the
rows of one job are joined. The next run's row has the second of the requeue as its Submit and,
later, an Eligible of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.site_folder import zone_of
from shadowtime.errors import InputError
from shadowtime.slurmtext.sacct_columns import BadRows
from shadowtime.slurmtext.sacct_rows import BY_HAND, RECOMMENDED, split_rows
from shadowtime.slurmtext.sacct_texts import BadRow, Piece
from shadowtime.trace._bytes import FIX_LINE, load, refuse_choice, stem
from shadowtime.trace.header import converted
from shadowtime.trace.sacct_jobs import PLACE, SacctJobs, column_places
from shadowtime.types import UNKNOWN, Ints
from shadowtime.workload.raw import FIELDS, MAX_AMOUNT, RawTrace

if TYPE_CHECKING:
    from shadowtime.trace.swf import BadLines

RECOMMENDED_COMMAND = f"""\
SLURM_TIME_FORMAT=%s SLURM_BITSTR_LEN=0 sacct -a -X -D -P --noconvert -S now-30days -E now \\
  --delimiter={BY_HAND} --format={RECOMMENDED} > jobs.psv
"""
"""What to run on the cluster: once, for a bounded time, never in a loop (others need slurmdbd)."""


def read_sacct(
    path: str | os.PathLike[str],
    *,
    tz: str | None = None,
    cluster: str | None = None,
    unlimited: int | None = None,
    bad_lines: BadLines = "refuse",
) -> RawTrace:
    """Read an sacct export, plain or gzip. See :func:`parse_sacct`."""
    return parse_sacct(
        load(path),
        name=stem(path),
        path=str(path),
        tz=tz,
        cluster=cluster,
        unlimited=unlimited,
        bad_lines=bad_lines,
    )


def parse_sacct(
    text: str | bytes,
    *,
    name: str,
    path: str | None = None,
    tz: str | None = None,
    cluster: str | None = None,
    unlimited: int | None = None,
    bad_lines: BadLines = "refuse",
) -> RawTrace:
    """The jobs of an sacct export as a raw trace.

    Rules
    -----
    Steps (``123.batch``) are dropped: their job has a line. Jobs that have not ended and blocks
    of array tasks that wait are dropped. Each is counted. The runs of a requeued job (-D) are one
    job, counted (see :mod:`shadowtime.trace.sacct`): its submission is the first, its result
    that of the last run, and the runs whose work was lost are kept in ``lost_runs``. The number is
    JobIDRaw; without that column, array tasks get new numbers.
    Processors are those of AllocTRES, else NCPUS; the request is the time limit; ``unlimited``
    seconds stand for UNLIMITED (left out: unknown). Memory (KB of the whole job) and GPUs are
    those of AllocTRES, else of ReqTRES, else ReqMem. Times without an offset are local times of
    ``tz`` (left out: UTC, and counted). Submissions count from the earliest one, and so does
    ``extra["eligible"]``, from which waits count where a job was held or depended on another.
    User, account, QOS, partition and job name become user, group, queue, partition and
    executable; the header lists the names behind the numbers (not of jobs).
    An export of several clusters needs ``cluster`` to choose one.

    Examples
    --------
    >>> raw = parse_sacct('''JobIDRaw|Submit|Start|End|ElapsedRaw|State|NCPUS|TimelimitRaw|JobName
    ... 17|100|160|260|100|CANCELLED by 5|4|60|a|b
    ... ''', name="one")
    >>> {f: int(raw[f][0]) for f in ("job_id", "wait", "run", "procs", "request", "status")}
    {'job_id': 17, 'wait': 60, 'run': 100, 'procs': 4, 'request': 3600, 'status': 5}
    """
    refuse_choice(bad_lines)
    # The C library returns large arrays to the system at once, and has to ask for the next one
    # again, until it has seen that arrays of such a size are freed soon.
    np.empty(31 << 20, np.uint8)
    rows = split_rows(text, path=path)
    jobs = SacctJobs(
        column_places(rows.columns, path),
        zone_of(tz),
        zone_told=tz is not None,
        cluster=cluster,
        unlimited=UNKNOWN if unlimited is None else unlimited,
        expected=_expected(text),
    )
    for piece in rows.pieces:
        if isinstance(piece, BadRow):
            _bad(jobs, piece, path, bad_lines)
        else:
            _add(jobs, piece, path, bad_lines)
    jobs.counts["names_joined"] = rows.joined
    return as_trace(jobs, name, path)


def _expected(text: str | bytes) -> int:
    """An estimate of the number of lines from those at the beginning, rather too high."""
    some = min(len(text), 1 << 20)
    ends = text.count(b"\n", 0, some) if isinstance(text, bytes) else text.count("\n", 0, some)
    return 1 + (ends + 1) * len(text) * 11 // (10 * max(some, 1))


def _add(jobs: SacctJobs, piece: Piece, path: str | None, bad_lines: BadLines) -> None:
    """Add a piece without its bad rows; each check finds all rows with its problem."""
    while len(piece):
        try:
            return jobs.add(piece)
        except BadRows as bad:
            first = int(bad.rows[0])
            if bad_lines == "refuse":
                _add(jobs, piece[:first], path, bad_lines)  # one above may have another problem
                _bad(jobs, BadRow(int(piece.lines[first]), bad.why), path, bad_lines)
            jobs.counts["bad_lines_dropped"] += len(bad.rows)
            piece = piece[np.delete(np.arange(len(piece)), bad.rows)]
    return None


def _bad(jobs: SacctJobs, row: BadRow, path: str | None, bad_lines: BadLines) -> None:
    if bad_lines == "refuse":
        raise InputError(row.why, path=path, line=row.line, hint=FIX_LINE)
    jobs.counts["bad_lines_dropped"] += 1


SUBMIT, WAIT, RUN = (FIELDS.index(name) for name in ("submit", "wait", "run"))
SAME = tuple(FIELDS.index(name) for name in ("user", "group", "executable"))
LATEST = 86_400
"""A run is requeued within a day of the end of the run before it: slurmctld forgets ended jobs
long before. A later row with the same id is another job: ids start again at the largest."""

Row = Sequence[int]


@dataclass(frozen=True, eq=False)
class JoinedRuns:
    """Jobs in the order of their first rows: the rows of the first and of the last run of each.

    ``lost`` has, by the place of the job, begin and end of each run whose work was lost, in seconds
    from the first submission. ``unfinished`` jobs had not ended.
    """

    first: Ints
    last: Ints
    lost: Mapping[int, tuple[tuple[int, int], ...]]
    unfinished: int


def join_runs(
    table: Ints,
    labels: Ints,
    *,
    requeued: Iterable[int] = (),
    waiting: AbstractSet[int] = frozenset(),
) -> JoinedRuns:
    """The jobs behind the rows of a table (a row per field), which have these job ids as numbers.

    Rules
    -----
    Rows of one id, of the same user, account and job name, whose Submit lies between the Submit
    of the row before and a day after its end, are runs of one job. Rows that say the same are left
    apart: an export that overlaps another repeats jobs, and that is another rule's business.
    ``requeued`` are rows of runs that went back to the queue: a job whose last row is one has not
    ended. Nor has one whose id is among ``waiting``, those with a row that has not ended; only the
    former are counted, the latter have been.

    Examples
    --------
    >>> rows = [(7, 0, 10, 32, *[0] * 14), (8, 5, 0, 9, *[0] * 14), (7, 42, 20, 72, *[0] * 14)]
    >>> runs = join_runs(np.array(rows).T, np.array([7, 8, 7]))
    >>> runs.first.tolist(), runs.last.tolist(), runs.lost
    ([0, 1], [2, 1], {0: ((10, 42),)})
    """
    back = set(requeued)
    groups = _several(labels, back, waiting)
    if not groups:
        single = np.arange(len(labels))
        return JoinedRuns(single, single, {}, 0)
    alone = np.ones(len(labels), bool)
    alone[[place for places in groups.values() for place in places]] = False
    single = np.flatnonzero(alone)
    found: list[tuple[int, int, tuple[tuple[int, int], ...]]] = []
    unfinished = 0
    for label, places in groups.items():
        rows = {place: table[:, place].tolist() for place in places}
        jobs: list[list[int]] = []
        for place in sorted(places, key=lambda one: (rows[one][SUBMIT], _end(rows[one]))):
            if jobs and _follows(rows[place], rows[jobs[-1][-1]]):
                jobs[-1].append(place)
            else:
                jobs.append([place])
        if label in waiting or jobs[-1][-1] in back:
            jobs.pop()
            unfinished += label not in waiting
        found += [(job[0], job[-1], _lost([rows[place] for place in job])) for job in jobs]
    first = np.concatenate([single, np.array([one[0] for one in found], np.int64)])
    last = np.concatenate([single, np.array([one[1] for one in found], np.int64)])
    order = np.argsort(first)
    place_of = np.empty(len(order), np.int64)
    place_of[order] = np.arange(len(order))
    lost = {int(place_of[len(single) + at]): one[2] for at, one in enumerate(found) if one[2]}
    return JoinedRuns(first[order], last[order], dict(sorted(lost.items())), unfinished)


def _several(labels: Ints, back: set[int], waiting: AbstractSet[int]) -> dict[int, list[int]]:
    """The rows of each id with several rows, with a row that went back, or that waits."""
    if not (back or waiting) and bool((labels[1:] > labels[:-1]).all()):
        return {}
    ids, each, times = np.unique(labels, return_inverse=True, return_counts=True)
    looked_at = times > 1
    looked_at[each[list(back)]] = True
    looked_at |= np.isin(ids, list(waiting))
    groups: dict[int, list[int]] = {}
    for place in np.flatnonzero(looked_at[each]).tolist():
        groups.setdefault(int(labels[place]), []).append(place)
    return groups


def _end(row: Row) -> int:
    return row[SUBMIT] + max(row[WAIT], 0) + max(row[RUN], 0)


def _follows(row: Row, before: Row) -> bool:
    """Is this row the next run of the job whose run ``before`` is?"""
    same = all(row[field] == before[field] for field in SAME)
    return same and before[SUBMIT] < row[SUBMIT] <= _end(before) + LATEST


def _lost(runs: Sequence[Row]) -> tuple[tuple[int, int], ...]:
    begin = runs[0][SUBMIT]
    return tuple(
        (_end(run) - run[RUN] - begin, _end(run) - begin) for run in runs[:-1] if run[RUN] > 0
    )


class TresDemands(Mapping[str, "Ints"]):
    """Amounts of whole jobs by resource: some given ones, and any that Slurm's TRES lists name.

    A site may define as many resources as it likes, so a column is made only when it is looked at.
    A job whose list does not name a resource asks for none of it; a job without a list is unknown.

    Examples
    --------
    >>> lists = [{"cpu": 4, "license/matlab": 2}, {"cpu": 1}, {}]
    >>> demands = TresDemands(lists, np.array([0, 1, 1, 2]), memory=np.array([10, 20, 20, 30]))
    >>> sorted(demands), demands["license/matlab"].tolist()
    (['license/matlab', 'memory'], [2, 0, 0, -1])
    """

    def __init__(self, lists: Sequence[Mapping[str, int]], index: Ints, **given: Ints) -> None:
        """``lists`` are the distinct ones, ``index`` the place of each job's."""
        self._lists, self._index, self._given = lists, index, given
        first = np.full(len(lists), len(index), np.int64)
        first[index[::-1]] = np.arange(len(index))[::-1]  # of several the last, here the first
        order = np.argsort(first, kind="stable")[: int((first < len(index)).sum())]
        in_order = (lists[at] for at in order.tolist())
        # Names with a slash: cpu, mem, node, billing ... are counted elsewhere, or not at all.
        self._names = dict.fromkeys(name for one in in_order for name in one if "/" in name)

    def __getitem__(self, name: str) -> Ints:
        if name in self._given:
            return self._given[name]
        if name not in self._names:
            raise KeyError(name)
        amounts = (min(one.get(name, 0), MAX_AMOUNT) if one else UNKNOWN for one in self._lists)
        return np.fromiter(amounts, np.int64, len(self._lists))[self._index]

    def __iter__(self) -> Iterator[str]:
        yield from self._given
        yield from self._names

    def __len__(self) -> int:
        return len(self._given) + len(self._names)


def as_trace(read: SacctJobs, name: str, path: str | None) -> RawTrace:
    """All of it as a raw trace."""
    if len(read.clusters) > 1:
        raise InputError(
            f"the export holds jobs of several clusters: {', '.join(sorted(read.clusters))}",
            path=path,
            line=max(read.clusters.values()),
            hint="Choose one with --slurm-cluster NAME.",
        )
    rows = read.table.written()
    labels = np.concatenate(read.labels) if read.labels else np.zeros(0, np.int64)
    jobs = join_runs(rows, labels, requeued=read.requeued, waiting=read.waiting)
    read.counts["unfinished_dropped"] += jobs.unfinished
    read.counts["requeued_joined"] = sum(map(len, jobs.lost.values()))
    first, last = jobs.first, jobs.last
    if not len(first):
        summary = ", ".join(f"{count} {rule}" for rule, count in read.counts.items() if count)
        what = f"there is no ended job in it ({summary or 'no line at all'})"
        raise InputError(what, path=path, hint="Was a time span given to sacct (-S, -E)?")
    origin = int(rows[SUBMIT, first].min())
    asked = read.asked.requests(rows[PLACE["asked"]], read.asked_for.written(), origin)
    table = rows
    if len(first) < read.table.rows:  # else each row is a job of its own
        table = rows[:, last]
        # A job waits from its first submission to the start of the run that counts.
        again = table[SUBMIT] - rows[SUBMIT, first]
        table[SUBMIT] = rows[SUBMIT, first]
        table[WAIT] += np.where(table[WAIT] >= 0, again, 0)
        table[PLACE["eligible"]] = rows[PLACE["eligible"], first]
        asked = replace(asked.take(first), cancel_at=asked.cancel_at[last])
    np.maximum(table[WAIT], UNKNOWN, out=table[WAIT])  # a start before the submission is none
    column = {name: table[place] for name, place in PLACE.items()}
    column["submit"] -= origin
    column["used_memory"][:] = _used(read.used, labels[last], column["procs"])
    eligible = column["eligible"]
    return RawTrace(
        name=name,
        table=table[: len(FIELDS)],
        line=column["line"],
        path=path,
        header=converted(
            "sacct", origin, zone=read.zone.key, computers=read.clusters,
            names={kind: names.numbers for kind, names in read.names.items()},
        ),
        counts=read.counts,
        demands=TresDemands(
            [one.tres for one in read.asked.each], column["asked"],
            memory=column["memory"], gpus=column["gpus"],
        ),
        extra={
            "eligible": np.where(eligible >= origin, eligible - origin, UNKNOWN),
            "nodes": column["nodes"],
            "node_list": column["node_list"],
            **_billing(read, column["asked"]),
            # Which pass started each job and what it waited for, where these were exported.
            **({"started_by": column["started_by"]} if "flags" in read.place else {}),
            **({"pending_reason": column["pending_reason"]} if "reason" in read.place else {}),
        },
        requests=asked,
        lost_runs=jobs.lost,
        names={
            **{kind: ("", *names.numbers) for kind, names in read.names.items()},
            "node_list": tuple(read.asked.lists),
            **(
                {"pending_reason": ("", *read.reasons.numbers)}
                if "reason" in read.place
                else {}
            ),
        },
        epoch=origin,
    )  # fmt: skip


def _billing(read: SacctJobs, asked: Ints) -> dict[str, Ints]:
    """What a second of each job is charged, where the site has billing."""
    each = np.array([one.tres.get("billing", UNKNOWN) for one in read.asked.each], np.int64)
    return {"billing": each[asked]} if bool((each[asked] >= 0).any()) else {}


def _used(known: Mapping[int, int], labels: Ints, procs: Ints) -> Ints:
    """KB per processor of the steps of these jobs."""
    if not known:
        return np.full(len(labels), UNKNOWN, np.int64)
    used = np.array([known.get(job, UNKNOWN) for job in labels.tolist()], np.int64)
    each = -(-used // np.maximum(procs, 1))
    return np.where((used > 0) & (procs > 0), each, UNKNOWN)
