"""Running jobs in the order of their limits' ends, the machine after some of them have ended, and
the will-run test: a start now, with preemptable jobs gone, or after groups of running jobs (spec:
slurm 3.6).
"""

from __future__ import annotations

from bisect import bisect, bisect_left
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shadowtime.kernel.slurm import board as b
from shadowtime.slurm.shares import ShareTable
from shadowtime.slurm.weights import fresh_weights

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shadowtime.slurm.ask import Ask
    from shadowtime.slurm.choose import Choice, Chooser
    from shadowtime.slurm.gang import Rows
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.machine import Machine, Section
    from shadowtime.slurm.usage import Holding, Usage
    from shadowtime.types import Ints


def in_end_order(running: Sequence[Job]) -> list[Job]:
    """Running jobs by their limit's end; equal ends in record order."""
    return sorted(running, key=lambda job: (job.ends_by, job.record))


class Ends:
    """What is free after the first k running jobs have ended, k from 0 on.

    Every job of a pass needs the same ends, so each state is computed once, on first use.
    """

    __slots__ = ("_after", "_first", "_idle", "_shares", "jobs", "masks", "times", "usage")

    def __init__(self, running: Sequence[Job], usage: Usage) -> None:
        self.jobs = in_end_order(running)
        self.usage = usage
        self.times = [job.ends_by for job in self.jobs]
        self.masks = [job.nodes for job in self.jobs]
        self._after: dict[int, Usage] = {0: usage.copy()}
        self._shares: ShareTable | None = None
        self._idle: list[int] = []
        self._first: dict[tuple[int, int], int] = {}

    def after(self, count: int) -> Usage:
        """The usage after ``count`` ends; shared, not to be changed. It has no masks of cores."""
        known = self._after.get(count)
        if known is None:
            if self._shares is None:
                self._shares = ShareTable(self.usage.machine, self.jobs)
            before = max(one for one in self._after if one < count)
            known = self._after[count] = self._shares.given(self._after[before], before, count)
        return known

    def idle(self, count: int) -> int:
        """The nodes without any job after ``count`` ends."""
        if not self._idle:
            busy = 0
            found = [0] * (len(self.masks) + 1)
            for place in range(len(self.masks), -1, -1):
                found[place] = busy
                if place:
                    busy |= self.masks[place - 1]
            everything = self.usage.idle | busy
            self._idle = [everything & ~held for held in found]
        return self._idle[count]

    def first(self, ask: Ask, nodes: int) -> int:
        """A lower bound: the number of ends before which the job fits on no part of ``nodes``.

        One more than there are ends where it never could.
        """
        key = (id(ask), nodes)
        known = self._first.get(key)
        if known is not None:
            return known
        low, high = 0, len(self.jobs) + 1
        while low < high:
            middle = (low + high) // 2
            if ask.exclusive:
                fits = could_fit(self.usage, ask, nodes, idle=self.idle(middle))
            else:
                fits = could_fit(self.after(middle), ask, nodes)
            low, high = (low, middle) if fits else (middle + 1, high)
        self._first[key] = low
        return low


def could_fit(usage: Usage, ask: Ask, nodes: int, *, idle: int | None = None) -> bool:
    """False where no choice on ``nodes`` or on a part of them can serve the job.

    Slurm's choice is greedy and may fail where another would do, or on more nodes and not on
    fewer. This test counts nodes and cpus alone, so that it never turns true when nodes or what is
    free on them are taken away.
    """
    if ask.exclusive:
        able = nodes & (usage.idle if idle is None else idle)
    else:
        if usage.total < ask.min_cpus:
            return False
        able = nodes & usage.able(ask.floor)
    if ask.required & ~able:
        return False
    count = able.bit_count()
    if count < ask.min_nodes:
        return False
    return min(count, max(ask.max_nodes, ask.min_nodes)) * usage.machine.most_cpus >= ask.min_cpus


FIRST_WIDTH = 30
"""Seconds: the width of the first group."""
GROUP_MOST = 200
"""Jobs removed in a group before Slurm skips its test."""
KILL_WAIT = 30


class WillRun(NamedTuple):
    """When and where: ``start`` is now where it fits now or after preemption."""

    start: int
    choice: Choice
    preempts: bool = False


class WillRunTest:
    """When a job could start on ``nodes`` by the ends of running jobs: the test of one try.

    ``first``: the job is known not to fit before this number of ends (:meth:`Ends.first`). ``rows``
    test it in ``section`` where gang scheduling lets jobs lie above others. The try is at
    ``start``, the next one at ``until`` (0: none); whether these bound the test, and what
    ``completing`` nodes and the job's ``licences`` do to it, the version's rules tell.
    """

    def __init__(
        self,
        chooser: Chooser,
        usage: Usage,
        nodes: int,
        ends: Ends,
        weights: Ints,
        *,
        now: int,
        now_only: bool = False,
        candidates: Sequence[Job] | None = None,
        kill_wait: int = KILL_WAIT,
        first: int = 0,
        rows: Rows | None = None,
        section: Section | None = None,
        start: int = 0,
        until: int = 0,
        completing: int = 0,
        licences: Sequence[tuple[str, int]] = (),
    ) -> None:
        self.chooser, self.rules = chooser, chooser.parameters.rules
        self.usage, self.nodes, self.weights = usage, nodes, weights
        self.now, self.now_only, self.first = now, now_only, first
        self.kill_wait = kill_wait
        self.rows = rows if section is not None else None
        self.section = section
        self.preempts = candidates is not None
        self.gone = {job.id for job in candidates or ()}
        """Jobs that would be preempted."""
        self.ends = ends
        if candidates is not None:
            later = usage.copy()
            for job in candidates:
                if job.nodes & nodes:
                    later.give(job.holding)
            self.ends = Ends([job for job in ends.jobs if job.id not in self.gone], later)
        self.at_now, self.before, self.until = True, 0, 0
        if self.rules.bounded_will_run:
            self.at_now, self.until = start <= now, until
            passed = bisect if self.rules.ended_at_try else bisect_left
            self.before = passed(self.ends.times, start)
            """Running jobs that end before the try: gone at once."""
        self.completing = completing & nodes if self.rules.fresh_weights else 0
        self.plain = self.rules.fresh_weights or not chooser.machine.has_gpus
        """No earlier test has left a mark in the weights."""
        self.shares: list[bool] = []
        """Running jobs that hold a licence which the job asks for."""
        if self.rules.licence_holders_end and licences:
            wanted = {name for name, _ in licences}
            self.shares = [
                any(name in wanted for name, _ in job.licences) for job in self.ends.jobs
            ]

    def of(self, ask: Ask) -> WillRun | None:
        """When and where the job could start."""
        if self.rules.whole_tasks and ask.tasks_per_node and not ask.gpus and not ask.exclusive:
            # Backfill first tests such a job as if it wanted nodes of its own, where the tasks of
            # a node are not bounded, and takes the answer if it is for the time of the try.
            alone = self._of(self.chooser.alone(ask))
            if alone is not None and alone.start <= self.now:
                return alone
        return self._of(ask)

    def _of(self, ask: Ask) -> WillRun | None:
        if self.at_now and not self.first:
            found = self._now(ask)
            if found is not None:
                return WillRun(self.now, found)
        if self.preempts or self.before or self.completing or not self.at_now:
            found = self._after(ask, self.before)
            if found is not None:
                return WillRun(self.now, found, preempts=self.preempts)
        if self.now_only:
            return None
        busy_nodes = self.chooser.parameters.bf_busy_nodes
        idle_now = self.usage.idle if busy_nodes else None
        for last in self._groups():
            if last + 1 < self.first:
                continue
            found = self._after(ask, last + 1, busy_first=idle_now)
            if found is not None:
                start = self._end_before(last, found.nodes)
                if start <= self.now:
                    start = max(start + self.kill_wait, self.now + 1)
                return WillRun(start, found)
        return None

    def _weights(self, completing: int) -> Ints:
        """Scheduling weights of a test: what earlier ones left, or anew by Weight."""
        if not self.rules.fresh_weights:
            return self.weights
        machine = self.chooser.machine
        if not machine.has_gpus and not completing:
            return self.weights  # weights move with GPUs alone
        return fresh_weights(machine, completing)

    def _now(self, ask: Ask) -> Choice | None:
        weights = self._weights(self.completing)
        if self.rows is not None and self.section is not None:
            return self.rows.test(ask, self.section, self.nodes, weights)
        return self.chooser.test(
            self.usage, ask, self.nodes, weights, plain=self.plain and not self.completing
        )

    def _after(self, ask: Ask, count: int, *, busy_first: int | None = None) -> Choice | None:
        """The choice after ``count`` ends, and without the jobs that would be preempted."""
        if count < self.first:
            return None
        weights = self._weights(0)
        if self.rows is None or self.section is None:
            after = self.ends.after(count)
            return self.chooser.test(
                after, ask, self.nodes, weights, busy_first=busy_first, plain=self.plain
            )
        ended = {job.id for job in self.ends.jobs[:count]}
        return self.rows.test(
            ask,
            self.section,
            self.nodes,
            weights,
            ended=ended,
            suspended=self.gone,
            busy_first=busy_first,
        )

    def _groups(self) -> Iterator[int]:
        """The last job of each group of running jobs that end together (spec: slurm 3.6)."""
        linear = self.chooser.parameters.bf_window_linear
        times, masks, shares = self.ends.times, self.ends.masks, self.shares
        width = FIRST_WIDTH
        group_end = 0
        at = self.before
        count = len(times)
        more = True
        while more:
            last = -1
            removed = 0
            overfull = False
            while True:
                if at >= count or (self.until and times[at] > self.until):
                    more = False
                    break
                this = at
                at += 1
                if not masks[this] & self.nodes and not (shares and shares[this]):
                    continue
                if not group_end:
                    group_end = times[this] + width - times[this] % width
                last = this
                if at >= count:
                    more = False
                    break
                if times[at] > group_end + width:
                    break
                removed += 1
                if removed > GROUP_MOST + 1:
                    overfull = True
                    break
            if overfull:
                continue
            if last < 0:
                break
            while True:
                width = width + linear if linear else width * 2
                if at >= count or times[at] <= group_end + width:
                    break
            yield last

    def _end_before(self, last: int, chosen: int) -> int:
        """When the plan starts: with the end of the group, or of the last job on its nodes."""
        if self.rules.last_relevant_end:
            for at in range(last, self.before - 1, -1):
                if self.ends.masks[at] & chosen:
                    return self.ends.times[at]
        return self.ends.times[last]


class BoardEnds:
    """Writes running jobs to the board of compiled passes, in the order of their ends.

    What each holds is packed once, when it is first seen.
    """

    def __init__(self, machine: Machine) -> None:
        self.threads = [node.threads for node in machine.nodes]
        self.words = b.words_of(len(machine.nodes))
        self.order: list[tuple[int, int]] = []
        """(end, record) of the jobs on the board."""
        self.places: dict[int, tuple[Holding, int, int]] = {}
        """What jobs hold, where it lies in ``share`` and how many shares it is, by id."""
        self.used = 0
        """Rows of ``share`` in use."""

    def write(self, board: b.Board, jobs: Sequence[Job]) -> b.Board:
        """Put these jobs, in the order of their ends, in the place of all; returns the board."""
        count, size = len(jobs), 8 * self.words
        if count >= len(board.end):
            board = board._replace(
                end=np.zeros(2 * count + 1, np.int64),
                held=np.zeros((2 * count + 1, self.words), np.uint64),
                reach=np.zeros((2 * count + 1, 2), np.int64),
                holds=np.zeros((2 * count + 1, 2), np.int64),
                after=np.zeros((2 * count + 2, self.words), np.uint64),
                total=np.zeros(2 * count + 2, np.int64),
            )
        self.order = [(job.ends_by, job.record) for job in jobs]
        board.end[:count] = [end for end, _ in self.order]
        masks = b"".join([job.nodes.to_bytes(size, "little") for job in jobs])
        board.held[:count] = np.frombuffer(masks, np.uint64).reshape(count, self.words)
        if board.mark[b.SHARES]:
            board = self._write_shares(board, jobs)
        board.mark[b.ENDS] = count
        board.mark[b.FRESH_ENDS] = 1
        return board

    def insert(self, board: b.Board, job: Job) -> None:
        """A job has started. Where there is no room, or no ends yet, all are asked for again."""
        count = int(board.mark[b.ENDS])
        if count < 0 or count == len(board.end):
            board.mark[b.ENDS] = -1
            return
        if board.mark[b.SHARES]:
            shares = self._packed(job)
            if self.used + len(shares) > len(board.share):
                board.mark[b.ENDS] = -1
                return
        key = (job.ends_by, job.record)
        at = bisect(self.order, key)
        self.order.insert(at, key)
        for table in (board.end, board.held, board.holds):
            table[at + 1 : count + 1] = table[at:count]
        board.end[at] = key[0]
        board.held[at] = b.packed(job.nodes, self.words)
        if board.mark[b.SHARES]:
            board.holds[at] = self._put(board, job, shares)
        board.mark[b.ENDS] = count + 1
        board.mark[b.FRESH_ENDS] = 1

    def _packed(self, job: Job) -> list[tuple[int, int, int]]:
        threads = self.threads
        return [
            (one.node, one.cores.bit_count() * threads[one.node], one.memory) for one in job.holding
        ]

    def _put(self, board: b.Board, job: Job, shares: list[tuple[int, int, int]]) -> tuple[int, int]:
        at, count = self.used, len(shares)
        if count:
            board.share[at : at + count] = shares
        self.used += count
        self.places[job.id] = job.holding, at, count
        return at, count

    def _write_shares(self, board: b.Board, jobs: Sequence[Job]) -> b.Board:
        rows = []
        for job in jobs:
            known = self.places.get(job.id)
            if known is not None and known[0] is job.holding:
                rows.append(known[1:])
                continue
            shares = self._packed(job)
            if self.used + len(shares) > len(board.share):
                return self._write_all(board, jobs)
            rows.append(self._put(board, job, shares))
        board.holds[: len(rows)] = np.array(rows, np.int64).reshape(len(rows), 2)
        return board

    def _write_all(self, board: b.Board, jobs: Sequence[Job]) -> b.Board:
        """The table is full: drop what ended jobs held, and make room."""
        self.places.clear()
        self.used = 0
        room = 2 * sum(len(job.holding) for job in jobs) + 64
        board = board._replace(
            share=np.zeros((room, 3), np.int64), holder=np.zeros((room, 3), np.int64)
        )
        return self._write_shares(board, jobs)
