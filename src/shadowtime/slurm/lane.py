"""Runs between passes without Python: loads the tables of a run, and tells what happened there.

While only ordinary things happen, jobs start and end in kernel/slurm/run.py. Python submits jobs
and ticks priorities meanwhile. For all else (arrays, licences, dependencies, preemption, nodes that
fail, reservations) the loop gets its own objects back, and goes on by itself for a while.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.engine.priority.factors import billing_of
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import books as k
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm import run as r
from shadowtime.kernel.slurm.starting import note_preys, schedule
from shadowtime.kernel.slurm.words import packed, unpacked, words_of
from shadowtime.slurm.ends import with_room
from shadowtime.slurm.event_queue import RANKS, Event
from shadowtime.slurm.running import Running, groups_of
from shadowtime.slurm.usage import Share, WholeNodes
from shadowtime.types import AnyArray

if TYPE_CHECKING:
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.loop import Loop
    from shadowtime.slurm.machine import Section
    from shadowtime.slurm.queue import Record
    from shadowtime.slurm.usage import Holding

PAUSE = 64
"""Events that the loop carries out itself before the tables are loaded again."""
STRIDE = 1 << 40
COUNTED = (
    (b.SUM_CPU, "cpus"), (b.SUM_NODE, "shares"), (b.SUM_GPU, "gpus"), (b.SUM_MEM, "memory"),
)  # fmt: skip
"""What running jobs hold of the sums of limits."""


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


class Pass(NamedTuple):
    """A pass that Python goes on with."""

    kind: str
    full: bool
    asked: int
    records: list[Record]
    time: float
    notes: int
    started: int
    """Jobs that it has started so far."""
    waited: int


class Lane:
    """One run's tables. ``active``: the state of the loop is in them, and its own is old."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.active = False
        self.pause = 0
        self.jobs: dict[int, Job] = {}
        """Jobs that waited while the tables were in use, by slot."""
        self.live: dict[int, Live] = {}
        """Jobs that run, by place."""
        self.gone: dict[int, Job] = {}
        """Jobs that have started since the loop's own state was current, by id."""
        self.entered: dict[int, int] = {}
        """Jobs that no pass has tested, with the number of tests when they entered."""
        self.noted: set[tuple[str, str, str, tuple[str, ...]]] = set()
        """Kinds of jobs whose limits have their rows."""
        self.stale: dict[int, Event] = {}
        """Ends that will not happen, by number."""
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
        self.kinds = 0, 0
        """Limits by kind of job, and groups, that the lists of groups are made of."""
        self.usual = self._is_usual()
        if self.usual:
            self._write_rules()

    # What suits it.

    def _is_usual(self) -> bool:
        """The site and its settings have nothing that passes ask Python about at every job."""
        state = self.loop.state
        wish, accounts, machine = state.parameters, state.accounts, state.machine
        bounds = (
            wish.bf_min_prio_reserve, wish.bf_min_age_reserve, wish.bf_running_job_reserve,
            wish.bf_one_resv_per_job, wish.bf_job_part_count_reserve, wish.bf_max_job_user,
            wish.bf_max_job_part, wish.bf_max_job_assoc, wish.bf_max_job_user_part,
            wish.bf_max_job_start, wish.sched_max_job_start, wish.assoc_limit_stop,
        )  # fmt: skip
        flags = frozenset[str]().union(*accounts.flags.values())
        return not (
            any(bounds)
            or not state.chooser.shortcuts
            or state.queue is None
            or state.preemption.gang
            or state.board.any_owner
            or machine.pools
            or machine.weights_stay
            or accounts.bounds_any_minutes
            or accounts.bounds_run_minutes
            or accounts.bounds_ageing
            or flags & {"partitiontimelimit", "noreserve"}
            or any(node.cores * node.threads != node.cpus for node in machine.nodes)
            or any(node.gpus > 62 for node in machine.nodes)
        )

    def is_odd(self, job: Job) -> bool:
        """Passes ask Python about the job."""
        ask, state = job.ask, self.loop.state
        if job.tasks or job.licences or job.reservation or job.evicted_at is not None:
            return True
        if ask.either or ask.parts or ask.required or ask.own_user:
            return True
        return bool(job.least_time and state.parameters.rules.limit_raised)

    def may_begin(self) -> bool:
        """The loop's state may be loaded now: nothing odd waits or runs."""
        self.pause -= 1
        if not self.usual or self.pause > 0:
            return False
        loop = self.loop
        state = loop.state
        self.pause = PAUSE
        if state.windows or any(map(self.is_odd, loop.waiting.values())):
            return False
        odd = any(
            job.licences or job.array or job.suspended_at is not None for job in state.running
        )
        self.pause = 0 if not odd else PAUSE
        return not odd

    def _write_rules(self) -> None:
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

    # From the loop's state to the tables, and back.

    def load(self) -> None:
        """Put the state of the loop into the tables."""
        loop, reg = self.loop, self.books.reg
        state = loop.state
        board = state.board
        board.running.clear()
        board.seen = None, None, -1
        for job in loop.waiting.values():
            self._note_kinds(job)
        if not self.kinds[0]:  # those to come, too: new groups are counted from the beginning
            for job in loop.events.to_submit():
                self._note_kinds(job)
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
        self.active = True

    def _load_use(self) -> None:
        state, books = self.loop.state, self.books
        for at, cores in enumerate(state.usage.cores):
            books.free_core[at] = packed(cores, self.core_words)

    def _load_running(self) -> None:
        loop, reg = self.loop, self.books.reg
        state = loop.state
        count = len(state.running)
        self._make_places(2 * count + 64)
        books = self.books
        places = len(books.free_place)
        books.free_place[:] = np.arange(places)[::-1]
        reg["free_places"] = places
        self._make_shares(4 * sum(len(job.holding) for job in state.running) + 4096)
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
        self._recount()

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
        slot = self._describe(job, self.loop.row_of[job.id])
        books = self.books
        books.runner[place] = (
            slot, job.record, job.start, job.ends_by,
            board.sections[section.name], self._who(job, section),
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
            self._make_room_for_answers()
            self.books.leaving[reg["leaving"][0]] = packed(mask, loop.state.board.words)
            reg["leaving"] += 1
        left = list(enumerate(loop.leaving))
        for event in own:
            self._make_room_for_events()
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
        self.active, self.pause = False, PAUSE
        loop.out.passes += int(reg["passes"][0])
        loop.idle_passes = int(reg["idle_passes"][0])
        loop.events.number = int(reg["number"][0])
        self._leave_use()
        self._leave_running()
        self._leave_events()
        for number, job in self.gone.items():
            if loop.waiting.get(number) is job:
                del loop.waiting[number]
        gone = {id(job) for job in self.gone.values()}
        state.waiting = [job for job in state.waiting if id(job) not in gone]
        self._note_tested()
        loop.priorities.entered = list(self.entered)
        queue = state.queue
        assert queue is not None
        known = queue.rows[: len(queue), : k.Q_SUBMIT].tolist()
        queue.records = {(slot, row): queue.records[slot, row] for row, slot in known}
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

    # The story.

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

    # What Python does meanwhile.

    def enter(self, job: Job) -> None:
        """A job is in the queue: what passes must know of it."""
        self.jobs[self._describe(job, self.loop.rows[job.id, None])] = job
        reg = self.books.reg
        reg["waiting"] += 1
        reg["with_gpus"] += job.ask.gpus > 0
        reg["with_least_time"] += job.least_time > 0

    def _describe(self, job: Job, row: int) -> int:
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
            len(job.partitions), self._who(job, named) if named is not None else -1,
            phase.is_early(row), job.ask.gpus > 0, job.least_time > 0,
            float(loop.workload.run[row]) + loop.longer[row],
            phase.part_of_second(row, loop.run_step),
        )  # fmt: skip
        return slot

    def submitted(self, job: Job) -> None:
        """A job came into the queue while the tables were in use."""
        self._note_kinds(job)
        self.enter(job)
        self.entered[job.id] = int(self.books.reg["tests"][0])
        if self.kinds != self._kinds():
            self._recount()

    def tick(self, time: float) -> float:
        """PriorityCalcPeriod: usage and all priorities; returns the next tick."""
        loop, books = self.loop, self.books
        self.tell()
        self._note_tested()
        priorities, queue = loop.priorities, loop.state.queue
        assert queue is not None
        runner = books.runner[books.by_record[: books.reg["running"][0]]]
        branch = books.waiter["branch"][runner["slot"]]
        rows = queue.rows[: len(queue)]
        ids = rows[:, k.Q_ID]
        following, found = priorities.ticked(
            time,
            (branch, runner["billing"], runner["start"].astype(np.float64)),
            ids.tolist(),
            keep=[job.id for job in queue.nowhere],
        )
        rows[:, k.Q_PRIORITY] = found
        return following

    def _note_tested(self) -> None:
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

    def _who(self, job: Job, section: Section) -> int:
        key = job.qos, job.account, job.user, section.qos
        return self.loop.state.board.limits.rows.get(key, -1)

    def _kinds(self) -> tuple[int, int]:
        limits = self.loop.state.board.limits
        return len(limits.rows), len(limits.groups)

    def _note_kinds(self, job: Job) -> None:
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

    def _recount(self) -> None:
        """Which groups each kind of job counts in, and what they hold, from the beginning."""
        state, books = self.loop.state, self.books
        limits, accounts = state.board.limits, state.accounts
        self.kinds = self._kinds()
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

    # Running.

    def run(self) -> Pass | None:
        """On to where the loop must go on by itself; the tables are in use no more then."""
        loop, books = self.loop, self.books
        events = loop.events
        while True:
            books, reg, clock = self.books, self.books.reg, self.books.clock
            clock["python"], reg["only_periodic"] = events.next_time, events.only_periodic
            reg["budget"] = STRIDE if loop.watched is None else loop.watched.watch.stride
            reg["number"] = events.number
            board = loop.state.board
            queue = loop.state.queue
            assert queue is not None
            if books.queue is not queue.rows or books.size is not queue.size:
                books = self.books = books._replace(queue=queue.rows, size=queue.size)
            if board.board.met is not loop.state.accounts.met.numbers:
                board.board = board.board._replace(met=loop.state.accounts.met.numbers)
            what = board.run(books)
            events.number = int(reg["number"][0])
            if what == r.MAKE_ROOM:
                self._make_room()
            elif what == r.ORDER:
                board.lay_out(queue, loop.state)
                reg["written"] = queue.version
            elif what == r.EVENT and self._carry_out():
                continue
            elif what == r.LOOK:
                assert loop.watched is not None
                if loop.watched.due:
                    self.leave()
                    loop.report()
                    return None
            elif what == r.HAND_OVER:
                return self._hand_over()
            elif what in (r.DONE, r.EVENT):
                self.leave()
                return None

    def _carry_out(self) -> bool:
        """The next event of Python's, where the tables may stay in use."""
        loop, events = self.loop, self.loop.events
        event = events.peek()
        if event.kind == "submit" and not self.is_odd(event.what) and loop.depends is None:
            events.pop()
            loop.times.quiet_until = 0
            loop.submitted_in_lane(event.time, event.what)
            return True
        if event.kind == "tick":
            events.pop()
            loop.times.quiet_until = 0
            loop.ticked_in_lane(event.time)
            return True
        return False

    def _hand_over(self) -> Pass:
        loop, reg, board = self.loop, self.books.reg, self.loop.state.board
        queue = loop.state.queue
        assert queue is not None
        mark = board.board.mark
        laid = board.board.queue[: mark[b.RECORDS], [b.ROW, b.SLOT]]
        made = Pass(
            kind="main" if reg["kind"][0] == k.MAIN else "backfill",
            full=bool(reg["full"][0]),
            asked=int(reg["asked"][0]),
            records=queue.listed(laid),
            time=float(self.books.clock["time"][0]),
            notes=int(reg["notes"][0]) + loop.state.accounts.met.changes,
            started=int(reg["started"][0]),
            waited=int(reg["waited"][0]),
        )
        for slot in self.books.started[: made.started].tolist():
            queue.take_out(loop.state, self.jobs[slot])
        reg["kind"] = reg["stage"] = 0
        self.leave()
        mark[b.ENDS] = mark[b.TABLE_ENDS] = -1
        return made

    # Room.

    def _make_room(self) -> None:
        """The tables are full."""
        self.tell()
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
        self._make_places(running + count + 2)
        self._make_room_for_answers()
        self._pack_shares()

    def _make_places(self, count: int) -> None:
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

    def _make_room_for_events(self) -> None:
        if self.books.reg["events"][0] + 1 >= len(self.books.event):
            self.books = self.books._replace(event=_longer(self.books.event))

    def _make_room_for_answers(self) -> None:
        if self.books.reg["leaving"][0] + 2 >= len(self.books.leaving):
            self.books = self.books._replace(leaving=_longer(self.books.leaving))

    def _make_shares(self, count: int) -> None:
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
        self._make_shares(max(4 * len(rows), 4096) + len(books.free_core))
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
