"""The tables of a run (kernel/slurm/books.py): what Python writes there, and room for more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import books as k
from shadowtime.kernel.slurm.starting import note_preys
from shadowtime.kernel.slurm.words import words_of
from shadowtime.slurm.ends import with_room
from shadowtime.slurm.phase import RUN_STEP
from shadowtime.slurm.running import groups_of
from shadowtime.types import AnyArray

if TYPE_CHECKING:
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.loop import Loop
    from shadowtime.slurm.machine import Section

COUNTED = (
    (b.SUM_CPU, "cpus"), (b.SUM_NODE, "shares"), (b.SUM_GPU, "gpus"), (b.SUM_MEM, "memory"),
)  # fmt: skip
"""What running jobs hold of the sums of limits."""


class RunTables:
    """The tables of one run, and the limits that they count."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.noted: set[tuple[str, str, str, tuple[str, ...]]] = set()
        """Kinds of jobs whose limits have their rows."""
        state = loop.state
        machine = state.machine
        most = max((node.cores for node in machine.nodes), default=1)
        self.core_words = words_of(most)
        self.books = k.empty_books(
            len(machine.nodes),
            words=state.board.words,
            core_words=self.core_words,
            sockets=max((node.sockets for node in machine.nodes), default=1),
            ranks=max(1, len(state.board.ranks)),
        )._replace(reg=loop.times.reg, clock=loop.times.clock)
        self.counted = 0, 0
        """Limits by kind of job, and groups, that the lists of groups are made of."""

    def write_rules(self) -> None:
        state, reg = self.loop.state, self.books.reg
        wish, accounts, rules = state.parameters, state.accounts, state.parameters.rules
        reg["builtin"], reg["steady"] = self.loop.builtin, state.repeats_itself
        reg["depth"], reg["deep"] = wish.default_queue_depth, bool(wish.partition_job_depth)
        reg["enforced"] = accounts.enforced
        reg["bounds_jobs"] = accounts.enforced and accounts.bounds_jobs
        reg["limit_raised"], reg["bounded_will_run"] = rules.limit_raised, rules.bounded_will_run
        policy = state.preemption
        reg["preempts"] = 0 if not policy.on else 2 if policy.kind == "qos" else 1
        if policy.kind == "qos" and any(policy.over.values()):
            keys = policy.precedence.keys
            reg["sorts"] = 1 if keys.dtype == np.float64 else 2
            if keys.dtype == np.float64:
                self.books = self.books._replace(keys=np.array(keys, np.float64))
        self.books.clock["latency"] = self.loop.phase.latency

    def describe(self, job: Job, row: int) -> int:
        """Write down what is known of a job, with its row in the log; its slot."""
        loop, books = self.loop, self.books
        state, phase = loop.state, loop.phase
        slot = state.accounts.met.slot(job.id)
        while slot >= len(books.waiter):
            books = self.books = books._replace(waiter=_longer(books.waiter))
        named = state.machine.sections.get(job.partitions[0]) if job.partitions else None
        factors = loop.priorities.factors
        books.waiter[slot] = (
            row, job.record, job.limit, loop.workload.submit[row], loop.requests.begin[row],
            -1 if factors is None else factors.shares.place(job.account, job.user),
            len(job.partitions), self.who(job, named) if named is not None else -1,
            phase.is_early(row), job.ask.gpus > 0, job.least_time > 0,
            float(loop.workload.run[row]) + loop.longer[row],
            phase.part_of_second(row, RUN_STEP),
        )  # fmt: skip
        return slot

    def who(self, job: Job, section: Section) -> int:
        key = job.qos, job.account, job.user, section.qos
        return self.loop.state.board.limits.rows.get(key, -1)

    def kinds(self) -> tuple[int, int]:
        limits = self.loop.state.board.limits
        return len(limits.rows), len(limits.groups)

    def note_kinds(self, job: Job) -> None:
        """Limits of a job in all its partitions have their rows."""
        kind = job.qos, job.account, job.user, job.partitions
        if kind in self.noted:
            return
        self.noted.add(kind)
        state = self.loop.state
        for name in job.partitions:
            section = state.machine.sections.get(name)
            if section is not None:
                state.board.who(state, job, section)

    def recount(self) -> None:
        """Which groups each kind of job counts in, and what they hold, from the beginning."""
        state, books = self.loop.state, self.books
        limits, accounts = state.board.limits, state.accounts
        self.counted = self.kinds()
        groups: list[int] = []
        first = [0]
        ranks = np.full((max(1, len(limits.rows)), 2), -1, np.int64)
        for at, (qos, account, user, part_qos) in enumerate(limits.rows):
            every = groups_of(accounts, qos, account, user, part_qos)
            groups += [limits.groups[one] for one in every if one in limits.groups]
            first.append(len(groups))
            names = tuple(dict.fromkeys(filter(None, (qos, part_qos))))
            ranks[at, : len(names)] = [state.board.ranks.get(name, -1) for name in names]
        if state.preemption.kind != "qos":
            ranks[:] = -1
        self.books = books = books._replace(
            groups=np.array(groups or [0], np.int64),
            first_group=np.array(first, np.int64),
            ranks=ranks,
        )
        board = state.board.board
        board.sums[:] = 0
        books.rank_jobs[:] = 0
        runner = books.runner[books.by_record[: books.reg["running"][0]]]
        who = runner["who"]
        each = books.first_group[who + 1] - books.first_group[who]
        one = np.repeat(np.arange(len(who)), each)
        within = np.arange(len(one)) - np.repeat(np.cumsum(each) - each, each)
        group = books.groups[books.first_group[who][one] + within]
        for column, name in COUNTED:
            np.add.at(board.sums, (group, column), runner[name][one])
        np.add.at(board.sums, (group, b.SUM_JOBS), 1)
        if state.preemption.on:
            held = ranks[who] if state.preemption.kind == "qos" else runner["section"]
            np.add.at(books.rank_jobs, held[held >= 0], 1)
            note_preys(board, books)

    def make_room(self) -> None:
        """The tables are full."""
        state, reg = self.loop.state, self.books.reg
        board = state.board
        count = int(self.books.size[0]) + 2
        running = int(reg["running"][0])
        if len(board.board.queue) < count:
            more = np.zeros((2 * count, b.QUEUES), np.int64)
            board.board = board.board._replace(queue=more)
            reg["written"] = -1
        board.make_room_for_plans(count)
        if len(board.board.held) <= running + count:
            board.board = with_room(board.board, 2 * (running + count))
        while len(self.books.started) < count:
            self.books = self.books._replace(started=_longer(self.books.started))
        while len(self.books.story) < 2 * count:
            self.books = self.books._replace(
                story=_longer(self.books.story), story_nodes=_longer(self.books.story_nodes)
            )
        while len(self.books.event) - reg["events"][0] < 2 * count:
            self.books = self.books._replace(event=_longer(self.books.event))
        self.make_places(running + count + 2)
        self.make_room_for_answers()
        self._pack_shares()

    def make_places(self, count: int) -> None:
        books = self.books
        before = len(books.runner)
        size = before
        while size < count:
            size *= 2
        if size == before:
            return
        free = books.free_place[: books.reg["free_places"][0]].tolist()
        self.books = books = books._replace(
            runner=_grown(books.runner, size),
            nodes=_grown(books.nodes, size),
            by_record=_grown(books.by_record, size + 1),
            by_end=_grown(books.by_end, size + 1),
            free_place=np.zeros(size, np.int64),
        )
        free = [*range(before, size), *free]
        books.free_place[: len(free)] = free
        books.reg["free_places"] = len(free)

    def make_room_for_events(self) -> None:
        if self.books.reg["events"][0] + 1 >= len(self.books.event):
            self.books = self.books._replace(event=_longer(self.books.event))

    def make_room_for_answers(self) -> None:
        if self.books.reg["leaving"][0] + 2 >= len(self.books.leaving):
            self.books = self.books._replace(leaving=_longer(self.books.leaving))

    def make_shares(self, count: int) -> None:
        """New tables for what jobs hold, so long."""
        board = self.loop.state.board
        if len(board.board.share) < count or len(self.books.core) != len(board.board.share):
            count = max(count, len(board.board.share))
            wide = board.board.share.shape[1]
            board.board = board.board._replace(
                share=np.zeros((count, wide), np.int64), holder=np.zeros((count, 4), np.int64)
            )
            self.books = self.books._replace(core=np.zeros((count, self.core_words), np.uint64))

    def _pack_shares(self) -> None:
        """Drop what ended jobs held; room for as much again."""
        books, reg, board = self.books, self.books.reg, self.loop.state.board
        if reg["shares"][0] + len(books.free_core) < len(books.core):
            return
        places = books.by_record[: reg["running"][0]]
        first, count = books.runner["first_share"][places], books.runner["shares"][places]
        begins = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
        rows = np.repeat(first - begins[:-1], count) + np.arange(begins[-1])
        share, core = board.board.share[rows], books.core[rows]
        self.make_shares(max(4 * len(rows), 4096) + len(books.free_core))
        board.board.share[: len(rows)], self.books.core[: len(rows)] = share, core
        self.books.runner["first_share"][places] = begins[:-1]
        reg["shares"] = len(rows)
        board.board.mark[b.ENDS] = -1


def _longer(table: AnyArray) -> AnyArray:
    return np.concatenate([table, np.zeros_like(table)])


def _grown(table: AnyArray, size: int) -> AnyArray:
    made = np.zeros((size, *table.shape[1:]), table.dtype)
    made[: len(table)] = table
    return made
