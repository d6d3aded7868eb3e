"""The state of a run, from the loop's objects into the tables and back, and what happened there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.engine.priority.factors import billing_of
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import books as k
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.starting import schedule
from shadowtime.kernel.slurm.words import packed, unpacked
from shadowtime.slurm.event_queue import RANKS, Event
from shadowtime.slurm.run_tables import RunTables
from shadowtime.slurm.running import Running
from shadowtime.slurm.usage import Share, WholeNodes
from shadowtime.types import AnyArray

if TYPE_CHECKING:
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.loop import Loop
    from shadowtime.slurm.machine import Section
    from shadowtime.slurm.usage import Holding


class Live(NamedTuple):
    """A job that runs, as it was told: itself, or what it is made of."""

    job: Job
    """The record that runs, or the one that waited."""
    runs: bool
    section: Section
    start: int
    limit: int
    holding: Holding
    nodes: int
    cpus: int
    billing: float
    waited_for: str


class RunState(RunTables):
    """What runs and waits; from :meth:`load` to :meth:`leave` the loop's own lists are old."""

    def __init__(self, loop: Loop) -> None:
        super().__init__(loop)
        self.jobs: dict[int, Job] = {}
        """Jobs that waited while the tables were in use, by slot."""
        self.live: dict[int, Live] = {}
        """Jobs that run, by place."""
        self.gone: dict[int, Job] = {}
        """Jobs that have started since the loop's own state was current, by id."""
        self.entered: dict[int, int] = {}
        """Jobs that no pass has tested, with the number of tests when they entered."""
        self.stale: dict[int, Event] = {}
        """Ends that will not happen, by number."""

    def load(self) -> None:
        """Put the state of the loop into the tables."""
        loop, reg = self.loop, self.books.reg
        state = loop.state
        board = state.board
        board.running.clear()
        board.seen = None, None, -1
        for job in (*loop.waiting.values(), *state.running):
            self.note_kinds(job)
        if not self.counted[0]:  # those to come, too: new groups are counted from the beginning
            for job in loop.events.to_submit():
                self.note_kinds(job)
        board.write(state)
        self.live, self.gone, self.stale, self.jobs = {}, {}, {}, {}
        for name in ("waiting", "with_gpus", "with_least_time", "running", "shares", "events"):
            reg[name] = 0
        for name in ("leaving", "story", "passes", "kind", "stage"):
            reg[name] = 0
        reg["written"], reg["idle_passes"], reg["world_at"] = -1, loop.idle_passes, loop.world_at
        self.entered = dict.fromkeys(loop.priorities.entered, int(reg["tests"][0]))
        for job in loop.waiting.values():
            self.enter(job)
        self._load_use()
        self._load_running()
        self._load_events()

    def _load_use(self) -> None:
        state, books = self.loop.state, self.books
        for at, cores in enumerate(state.usage.cores):
            books.free_core[at] = packed(cores, self.core_words)

    def _load_running(self) -> None:
        loop, reg = self.loop, self.books.reg
        state = loop.state
        count = len(state.running)
        self.make_places(2 * count + 64)
        books = self.books
        places = len(books.free_place)
        books.free_place[:] = np.arange(places)[::-1]
        reg["free_places"] = places
        self.make_shares(4 * sum(len(job.holding) for job in state.running) + 4096)
        for job in state.running:
            reg["free_places"] -= 1
            place = int(self.books.free_place[reg["free_places"][0]])
            section = state.machine.sections[job.partition]
            self._write_runner(place, job, section)
            self.live[place] = Live(
                job, True, section, job.start, job.limit, job.holding, job.nodes, job.cpus,
                job.billing, job.waited_for,
            )  # fmt: skip
        books = self.books
        listed = np.array(list(self.live), np.int64)
        ends, records = (books.runner[name][listed] for name in ("ends_by", "record"))
        books.by_record[:count] = listed[np.argsort(records, kind="stable")]
        books.by_end[:count] = listed[np.lexsort((records, ends))]
        reg["running"] = count
        self.recount()

    def _write_runner(self, place: int, job: Job, section: Section) -> None:
        state, books = self.loop.state, self.books
        board, reg = state.board, books.reg
        held = job.holding
        first = int(reg["shares"][0])
        table = board.running
        table.used = first
        table.put_shares(board.board, job)
        for at, share in enumerate(held):
            books.core[first + at] = packed(share.cores, self.core_words)
        reg["shares"] += len(held)
        mode = state.preemption.mode_in(job, section)
        slot = self.describe(job, self.loop.row_of[job.id])
        books = self.books
        books.runner[place] = (
            slot, job.record, job.start, job.ends_by,
            board.sections[section.name], self.who(job, section),
            board.rank_of_prey(job, section, mode), first, len(held), job.cpus,
            sum(share.gpus.bit_count() for share in held), sum(share.memory for share in held),
            -1, job.billing,
        )  # fmt: skip
        books.nodes[place] = packed(job.nodes, board.words)

    def _load_events(self) -> None:
        loop, reg = self.loop, self.books.reg
        own, rest = loop.events.split(("end", "free"))
        loop.events.keep(rest)
        place_of = {one.job.id: place for place, one in self.live.items()}
        for mask in loop.leaving:
            self.make_room_for_answers()
            self.books.leaving[reg["leaving"][0]] = packed(mask, loop.state.board.words)
            reg["leaving"] += 1
        left = list(enumerate(loop.leaving))
        for event in own:
            self.make_room_for_events()
            what, rank = -1, k.END
            if event.kind == "free":
                mask, at_once = event.what
                at = next(place for place, (_, one) in enumerate(left) if one == mask)
                what, _ = left.pop(at)
                rank = k.ANSWER_AT_ONCE if at_once else k.ANSWER
            else:
                record, expected = event.what
                if loop.ends.get(record) == expected:
                    what = place_of[record]
                    self.books.runner["event"][what] = event.number
                else:
                    self.stale[event.number] = event
            schedule(self.books, event.time, rank, event.number, what)
        reg["number"] = loop.events.number

    def leave(self) -> None:
        """Put the tables' state back into the loop's own objects."""
        loop, reg = self.loop, self.books.reg
        state = loop.state
        self.tell()
        loop.out.passes += int(reg["passes"][0])
        loop.idle_passes = int(reg["idle_passes"][0])
        loop.events.number = int(reg["number"][0])
        self._leave_use()
        self._leave_running()
        self._leave_events()
        self.forget_gone()
        self.note_tested()
        loop.priorities.entered = list(self.entered)
        queue = state.queue
        assert queue is not None
        for record, priority in zip(
            queue.in_queue, queue.rows[: len(queue), k.Q_PRIORITY].tolist(), strict=True
        ):
            record.job.priority = priority
        state.board.forget()

    def _leave_use(self) -> None:
        state, books = self.loop.state, self.books
        usage, board = state.usage, state.board.board
        usage.cores = [unpacked(row) for row in books.free_core[: len(state.machine.nodes)]]
        usage.gpus = board.now[:, d.FREE_GPUS].tolist()
        usage.idle = unpacked(board.mask[b.IDLE])
        usage.total = int(board.mark[b.FREE_CPUS])
        usage.chosen = {}
        usage.changes += 1
        leaving = books.leaving[: books.reg["leaving"][0]]
        self.loop.leaving = [unpacked(row) for row in leaving]
        state.completing = unpacked(board.mask[b.COMPLETING])

    def _leave_running(self) -> None:
        loop, books = self.loop, self.books
        found = []
        loop.row_of, loop.ends = {}, {}
        ends = self._end_times()
        for place in books.by_record[: books.reg["running"][0]].tolist():
            job = self._running_job(self.live[place])
            found.append(job)
            loop.row_of[job.id] = int(books.waiter["row"][books.runner["slot"][place]])
            loop.ends[job.id] = ends[place]
            self.live[place] = self.live[place]._replace(job=job, runs=True)
        loop.state.running = Running(found)

    @staticmethod
    def _running_job(live: Live) -> Job:
        if live.runs:
            return live.job
        job = live.job.copy()
        job.partition, job.waited_for, job.start = live.section.name, live.waited_for, live.start
        job.limit, job.holding, job.nodes = live.limit, live.holding, live.nodes
        job.cpus, job.billing = live.cpus, live.billing
        return job

    def _end_times(self) -> dict[int, float]:
        event = self.books.event[: self.books.reg["events"][0]]
        ends = event[(event["rank"] == k.END) & (event["what"] >= 0)]
        return dict(zip(ends["what"].tolist(), ends["time"].tolist(), strict=True))

    def _leave_events(self) -> None:
        loop, books = self.loop, self.books
        for time, rank, number, what in books.event[: books.reg["events"][0]].tolist():
            if number in self.stale:
                event = self.stale[number]
            elif rank == k.END:
                job = self.live[what].job
                event = Event(time, RANKS["end"], number, "end", (job.id, time))
            else:
                told = unpacked(books.leaving[what]), rank == k.ANSWER_AT_ONCE
                event = Event(time, RANKS["free"], number, "free", told)
            loop.events.put_back(event)

    def forget_gone(self) -> None:
        """Jobs that have started wait no longer in the loop's own lists either."""
        loop, met = self.loop, self.loop.state.accounts.met
        for number, job in self.gone.items():
            self.jobs.pop(met.slot(number), None)
            if loop.waiting.get(number) is job:
                del loop.waiting[number]
        gone = {id(job) for job in self.gone.values()}
        loop.state.waiting = [job for job in loop.state.waiting if id(job) not in gone]
        self.gone.clear()
        queue = loop.state.queue
        assert queue is not None
        known = queue.rows[: len(queue), : k.Q_SUBMIT].tolist()
        queue.records = {(slot, row): queue.records[slot, row] for row, slot in known}

    def make_room(self) -> None:
        """The tables are full, that of the story among them."""
        self.tell()
        super().make_room()

    def tell(self) -> None:
        """Tell the loop what happened: starts and ends, in their order."""
        books = self.books
        count = int(books.reg["story"][0])
        books.reg["story"] = 0
        for line, nodes in zip(
            books.story[:count].tolist(), books.story_nodes[:count], strict=True
        ):
            (self._started if line[0] == k.STARTED else self._ended)(line, nodes)

    def _started(self, line: tuple[Any, ...], nodes: AnyArray) -> None:
        (_, slot, place, at, start, shown, limit, cpus, memory, gpus, first, count, by, met, tests,
         _) = line  # fmt: skip
        loop, books = self.loop, self.books
        state = loop.state
        job = self.jobs[slot]
        section = list(state.machine.sections.values())[at]
        row = int(books.waiter["row"][slot])
        mask = unpacked(nodes)
        holding = self._holding(job.ask.on(section), mask, first, count)
        billing = float(cpus)
        if section.billing:
            amounts = {"cpus": cpus, "memory": memory * 1024, "gpu": gpus, "nodes": count}
            billing = billing_of(amounts, section.billing)
            if books.runner["slot"][place] == slot:
                books.runner["billing"][place] = billing
        waited_for = state.accounts.met.word(met)
        out = loop.out
        out.start[row], out.nodes[row] = shown, mask
        out.scheduler[row] = "main" if by == k.MAIN else "backfill"
        out.holding[row] = holding
        if waited_for:
            out.waited_for[row] = waited_for
        if loop.watched is not None:
            loop.begun.add(row)
        self.gone[job.id] = job
        entered = self.entered.pop(job.id, None)
        if entered is not None and tests > entered:
            loop.priorities.tested.add(job.id)
        self.live[place] = Live(
            job, False, section, start, limit, holding, mask, cpus, billing, waited_for
        )

    def _holding(self, ask: Any, mask: int, first: int, count: int) -> Holding:
        machine = self.loop.state.machine
        if ask.exclusive and ask.memory is None and not machine.has_gpus:
            return WholeNodes(mask, machine.full_cores)
        share, core = self.loop.state.board.board.share, self.books.core
        return tuple(
            Share(node, unpacked(core[row]), memory, gpus)
            for row, (memory, gpus, node) in enumerate(
                share[first : first + count, [d.USED, d.FREE_GPUS, b.SHARE_NODE]].tolist(), first
            )
        )

    def _ended(self, line: tuple[Any, ...], _: AnyArray) -> None:
        slot, place, start, second, time = line[1], line[2], line[4], line[5], line[-1]
        loop = self.loop
        loop.out.end[int(self.books.waiter["row"][slot])] = second
        loop.over += 1
        live = self.live.pop(place)
        factors = loop.priorities.factors
        if factors is not None and loop.state.accounts.enforced and factors.last is not None:
            since = factors.shares.unpaid(time, start)
            branch = factors.shares.find(live.job.account, live.job.user)
            factors.shares.charge(branch, live.billing * since)

    def enter(self, job: Job) -> None:
        """A job is in the queue: what passes must know of it."""
        self.jobs[self.describe(job, self.loop.rows[job.id, None])] = job
        reg = self.books.reg
        reg["waiting"] += 1
        reg["with_gpus"] += job.ask.gpus > 0
        reg["with_least_time"] += job.least_time > 0

    def note_tested(self) -> None:
        """Jobs for which a pass has found by now which cpus they would get."""
        factors = self.loop.priorities.factors
        if factors is None:
            self.entered.clear()
            return
        tests = int(self.books.reg["tests"][0])
        for number in [one for one, then in self.entered.items() if tests > then]:
            del self.entered[number]
            if number in self.loop.waiting:
                self.loop.priorities.tested.add(number)
                factors.note(self.loop.waiting[number], tested=True)
