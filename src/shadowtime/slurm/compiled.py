"""Backfill passes on arrays, record by record as slurm/backfill.py makes them, in compiled code.

The compiled walk over the queue (kernel/slurm) plans nodes by cpus and memory, whole or shared. It
returns for every start, which is made here by the same rules as in Python, and for every record
that requests anything else (named nodes, licences, arrays), which the pass in Python handles on the
same map. A site with GPUs, leaf switches, limits or preemption is planned in Python alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.kernel import library
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm.walk import BY_THE_RULES, ENDS_WANTED, START, walk
from shadowtime.slurm.choose import Choice
from shadowtime.slurm.ends import BoardEnds
from shadowtime.slurm.job import planned_limit
from shadowtime.slurm.machine import bits
from shadowtime.slurm.outcome import Plan
from shadowtime.slurm.planmap import PlanMap, Span
from shadowtime.slurm.queue import build_queue

if TYPE_CHECKING:
    from shadowtime.slurm.ask import Ask
    from shadowtime.slurm.backfill import BackfillPass
    from shadowtime.slurm.outcome import Outcome
    from shadowtime.slurm.queue import Record
    from shadowtime.slurm.state import SlurmState
    from shadowtime.slurm.usage import Floor
    from shadowtime.types import AnyArray, Ints

LONG_LOG = 5_000
"""Jobs from which on the passes in Python take longer than compiling (measured: 6 ms a job)."""

FAR = 10 * 365 * 86_400
"""Seconds after which any pass is repeated."""
MOST_OTHERS = 0.25
"""If more than this share of the queue is not for the compiled walk, the pass runs in Python."""


class KeptMap(PlanMap):
    """The map while a job starts: what the start plans away is handed to the board."""

    def __init__(self, board: b.Board, words: int) -> None:
        self.board, self.words = board, words
        self.made = int(board.mark[b.MADE])

    def add(self, begin: int, end: int, nodes: int) -> None:
        """A job that has just started keeps its nodes: ``begin`` is the map's own.

        spec: slurm 3.9.
        """
        assert begin == 0
        self.board.mask[b.CHOSEN] = b.packed(nodes, self.words)
        self.board.mark[b.KEEP_UNTIL] = end


class CompiledPasses:
    """The arrays of one machine, kept from pass to pass. Not to be shared between threads."""

    def __init__(self, state: SlurmState, *, most_others: float = MOST_OTHERS) -> None:
        machine, wish = state.machine, state.parameters
        self.words = b.words_of(len(machine.nodes))
        self.sections = {name: at for at, name in enumerate(machine.sections)}
        self.section_nodes = [section.nodes for section in machine.sections.values()]
        self.asks: dict[int, tuple[int, Ask]] = {}
        """Numbers of requests by identity; requests are kept so that no identity is reused."""
        self.known: list[bool] = []
        """Whether the compiled walk plans them, by number."""
        self.floors: dict[Floor, int] = {}
        """Numbers of what a node must have free."""
        self.ends = BoardEnds(machine)
        self.kinds: dict[tuple[int, int], int] = {}
        """Numbers of (partition, limit)."""
        self.exotic = False
        """The compiled walk cannot plan some records."""
        self.most_others = most_others
        self.up = -1
        self.usable = (-1, 0)
        self.rows: dict[tuple[int, str, int, int, bool], int] = {}
        """Rows of ``record`` by request, partition, limits, and whether a record is a single job
        without licences."""
        self.board = b.empty_board(
            len(machine.nodes), sections=max(1, len(self.sections)), spans=wish.map_records + 8
        )
        mark = self.board.mark
        mark[b.STEP], mark[b.BOUND] = wish.bf_resolution, wish.bf_max_job_test
        mark[b.WINDOW], mark[b.MAP_RECORDS] = wish.bf_window, wish.map_records
        mark[b.LINEAR] = wish.bf_window_linear
        mark[b.KILL_WAIT] = state.preemption.kill_wait
        mark[b.KEEPS_RUNNING] = wish.bf_running_job_reserve
        mark[b.MOST_CPUS] = machine.most_cpus
        mark[b.EACH_CPUS] = state.chooser.empty.cpus[0] if machine.nodes else 0
        node = self.board.node
        for at, one in enumerate(machine.nodes):
            node[at, b.MEMORY], node[at, b.THREADS] = one.memory, one.threads
            node[at, b.WEIGHT] = state.weights[at]
        self.judges = bool(wish.bf_min_prio_reserve or wish.bf_min_age_reserve)
        """Some jobs may start now or not at all."""
        self.steady = not self.judges and not wish.bf_running_job_reserve
        """What a pass depends on moves with the clock in no other way than ``VALID`` knows."""
        self.able = (
            state.chooser.shortcuts
            and wish.rules.compiled
            and not machine.has_gpus
            and not machine.leaves
            and not machine.least_loaded
            and not state.preemption.on
            and not state.accounts.enforced
            and not wish.bf_one_resv_per_job
            and not wish.bf_job_part_count_reserve
            and not wish.bf_busy_nodes
        )

    def takes(self, made: BackfillPass) -> bool:
        """True where the compiled walk gives what the pass in Python gives."""
        return self.able and made.passes_over and not made.state.windows

    def run(self, made: BackfillPass) -> Outcome:
        """The whole pass."""
        records = build_queue(made.state)
        rows = self._rows_of(made.state, records)
        if self.exotic:
            others = len(rows) - int(self.board.record[rows, b.PLAIN].sum())
            if others > self.most_others * len(rows):
                return made.run()
        self._begin(made, records, rows)
        mark = self.board.mark
        while True:
            what = walk(self.board)
            if what == ENDS_WANTED:
                self.board = self.ends.write(self.board, made.ends.jobs)
            elif what == START:
                self._start(made, records)
            elif what == BY_THE_RULES:
                self._by_the_rules(made, records)
            else:
                break
        self._tell_plans(made, records)
        mark = self.board.mark
        made.out.no_start = bool(mark[b.NO_START])
        if self.steady and not made.out.starts:
            made.out.valid_until = int(mark[b.VALID])
        return made.out

    def _rows_of(self, state: SlurmState, records: list[Record]) -> Ints:
        """The rows of the records."""
        if state.queue is None:  # these records are not kept
            return np.array([self._row(state, record) for record in records], np.int64)
        rows = state.queue.rows[: len(records)]
        for at in np.flatnonzero(rows < 0).tolist():
            records[at].row = rows[at] = self._row(state, records[at])
        return rows

    def _begin(self, made: BackfillPass, records: list[Record], rows: Ints) -> None:
        state, mark = made.state, self.board.mark
        count = len(records)
        if count > len(self.board.queue):
            self.board = self.board._replace(
                queue=np.zeros((2 * count, 4), np.int64),
                plan=np.zeros((2 * count, 3), np.int64),
                planned=np.zeros((2 * count, self.words), np.uint64),
            )
        queue = self.board.queue
        queue[:count, b.ROW] = rows
        queue[:count, b.NOW_ONLY : b.TASKS] = 0
        queue[:count, b.TASKS] = 1
        if self.judges:
            queue[:count, b.NOW_ONLY] = [made.now_only(one.job, one.section) for one in records]
        if self.exotic:
            for at, record in enumerate(records):
                if record.job.tasks:
                    queue[at, b.TASKS] = len(record.job.tasks)
        if self.up != state.up:
            self.up = state.up
            for at, nodes in enumerate(self.section_nodes):
                self.board.section[at] = b.packed(nodes & state.up, self.words)
        self._write_nodes(state)
        mark[b.NOW], mark[b.WINDOW_END] = made.now, made.window_end
        mark[b.STARTS_ONLY] = made.starts_only
        mark[b.RECORDS], mark[b.LAST] = count, count - 1
        mark[b.AT] = mark[b.TESTED] = mark[b.OVER] = mark[b.PLANS] = 0
        mark[b.VERSION] = mark[b.NO_START] = mark[b.KEEP_UNTIL] = mark[b.FRESH_ENDS] = 0
        mark[b.SEEN] = mark[b.MEASURED] = mark[b.SHRUNK] = mark[b.ENDS] = -1
        mark[b.MAY_RUN_OUT] = 1
        mark[b.VALID] = made.now + FAR
        mark[b.STAMP] += 1
        mark[b.PASS] += 1
        if made.parameters.bf_running_job_reserve:
            for job in state.running:
                made.keep(job)
        self._write_map(made.map)

    def _row(self, state: SlurmState, record: Record) -> int:
        """The row of all records that are like this one, made for the first of them."""
        job, section = record.job, record.section
        single = not job.tasks and not job.licences
        key = (id(job.ask), section.name, job.limit, job.least_time, single)
        row = self.rows.get(key)
        if row is None:
            row = self.rows[key] = len(self.rows)
            line = self._line(state, record, single)
            if row == len(self.board.record):
                self.board = self.board._replace(record=_longer(self.board.record))
            self.board.record[row] = line
        return row

    def _line(
        self, state: SlurmState, record: Record, single: bool
    ) -> tuple[int, int, int, bool, int]:
        """What a record is on the board: request, partition, limit, whether it is plain, kind."""
        job, section = record.job, record.section
        number = self._number(state, job.ask)
        plain = self.known[number] and single
        self.exotic = self.exotic or not plain
        place, limit = self.sections[section.name], planned_limit(job, section)
        kind = self.kinds.setdefault((place, limit), len(self.kinds))
        if kind == len(self.board.narrow):
            self.board = self.board._replace(narrow=_longer(self.board.narrow))
        return number, place, limit, plain, kind

    def _number(self, state: SlurmState, ask: Ask) -> int:
        known = self.asks.get(id(ask))
        if known is not None:
            return known[0]
        number = len(self.asks)
        self.asks[id(ask)] = number, ask
        whole = state.chooser.takes_whole(ask)
        self.known.append(whole or _by_sets(state, ask))
        board = self.board
        if number == len(board.ask):
            board = self.board = board._replace(
                ask=_longer(board.ask),
                suits=_longer(board.suits),
                required=_longer(board.required),
                memo=_longer(board.memo),
            )
        if not whole:
            board.mark[b.SHARES] = 1
        board.ask[number] = (
            ask.min_nodes, ask.max_nodes, ask.wanted_nodes, ask.min_cpus, ask.exclusive, whole,
            self._floor(ask), ask.least_cpus, ask.cpus_per_task, ask.tasks_per_node,
            ask.memory if ask.memory is not None and ask.memory_per_cpu else -1,
        )  # fmt: skip
        board = self.board
        board.required[number] = b.packed(ask.required, self.words)
        board.suits[number] = b.packed(ask.suits, self.words)
        return number

    def _floor(self, ask: Ask) -> int:
        """The number of what a node must have free to be of use."""
        number = self.floors.setdefault(ask.floor, len(self.floors))
        if number == len(self.board.floor):
            self.board = self.board._replace(
                floor=_longer(self.board.floor),
                able=_longer(self.board.able),
                when=_longer(self.board.when),
            )
        cpus, memory, _ = ask.floor
        self.board.floor[number] = cpus, -1 if memory is None else memory, 0, 0
        return number

    def _write_nodes(self, state: SlurmState) -> None:
        """What is free now."""
        here = self.board.here
        here[b.IDLE] = b.packed(state.usage.idle, self.words)
        if self.usable != (state.up, state.completing):
            self.usable = (state.up, state.completing)
            here[b.USABLE] = b.packed(state.up & ~state.completing, self.words)
            here[b.COMPLETING] = b.packed(state.completing, self.words)
        self.board.mark[b.FREE_CPUS] = state.usage.total
        if self.board.mark[b.SHARES]:
            self.board.node[:, b.CPUS] = state.usage.cpus
            self.board.node[:, b.USED] = state.usage.memory

    def _write_map(self, plans: PlanMap) -> None:
        board = self.board
        count = len(plans.spans)
        for at, span in enumerate(plans.spans):
            board.span[at] = span.begin, span.end
            board.free[at] = b.packed(span.nodes, self.words)
        board.mark[b.SPANS], board.mark[b.MADE] = count, plans.made
        board.mark[b.VERSION] = plans.version

    def _read_map(self, resolution: int) -> PlanMap:
        board = self.board
        plans = PlanMap(0, 0, 0, resolution=resolution)
        times = board.span[: board.mark[b.SPANS]].tolist()
        plans.spans = [
            Span(begin, end, b.unpacked(board.free[at])) for at, (begin, end) in enumerate(times)
        ]
        plans.made, plans.version = int(board.mark[b.MADE]), int(board.mark[b.VERSION])
        return plans

    def _start(self, made: BackfillPass, records: list[Record]) -> None:
        """The record being considered starts, by the rules of a start."""
        mark = self.board.mark
        at = int(mark[b.AT])
        record = records[at]
        made.map = KeptMap(self.board, self.words)
        limit = planned_limit(record.job, record.section)
        started = made.begin(record.job, record.section, self._choice(at), limit)
        made.gone.add(record.job.id)
        self._begun(made, records, record)
        self.ends.insert(self.board, started)
        mark[b.AT] = at + 1

    def _choice(self, at: int) -> Choice:
        """What the walk has chosen for the record it considers."""
        board = self.board
        ask = board.record[board.queue[at, b.ROW], b.ASK]
        nodes = b.unpacked(board.mask[b.CHOSEN])
        if board.ask[ask, b.WHOLE]:
            return Choice(nodes, int(board.mark[b.EACH_CPUS]))
        given = board.node[:, b.GIVEN]
        return Choice(nodes, {at: int(given[at]) for at in bits(nodes)})

    def _begun(self, made: BackfillPass, records: list[Record], record: Record) -> None:
        """Jobs have started: what was noted before is void."""
        mark = self.board.mark
        mark[b.OVER] = made.over
        mark[b.STAMP] += 1
        self._write_nodes(made.state)
        if len(record.job.partitions) > 1:
            for place, other in enumerate(records):
                if other.job.id in made.gone:
                    self.board.queue[place, b.GONE] = 1

    def _by_the_rules(self, made: BackfillPass, records: list[Record]) -> None:
        """Let the pass in Python handle the record being considered."""
        mark = self.board.mark
        at = int(mark[b.AT])
        self._tell_plans(made, records)
        made.map = self._read_map(made.parameters.bf_resolution)
        made.tested, made.may_run_out = int(mark[b.TESTED]), bool(mark[b.MAY_RUN_OUT])
        begun = len(made.out.starts)
        made.consider(records[at])
        mark[b.VALID] = 0
        self._write_map(made.map)
        mark[b.TESTED], mark[b.OVER] = made.tested, made.over
        if len(made.out.starts) != begun:
            self._begun(made, records, records[at])
            mark[b.ENDS] = -1
        mark[b.AT] = at + 1

    def _tell_plans(self, made: BackfillPass, records: list[Record]) -> None:
        board = self.board
        count = int(board.mark[b.PLANS])
        board.mark[b.PLANS] = 0
        if made.starts_only:
            return
        for at, (place, start, end) in enumerate(board.plan[:count].tolist()):
            record, nodes = records[place], b.unpacked(board.planned[at])
            made.out.plans.append(Plan(record.job.id, record.section.name, start, end, nodes))


def _by_sets(state: SlurmState, ask: Ask) -> bool:
    """Nodes by cpus and memory, filled by sets of neighbours (kernel/slurm/shared.py)."""
    if ask.gpus or ask.cpus_per_gpu or ask.required or ask.either:
        return False
    if state.machine.counts_cpus and ask.memory_per_cpu:
        return False  # memory takes cpus away one by one, not core by core
    at_end = state.parameters.pack_serial_at_end and ask.min_cpus == 1 and ask.wanted_nodes == 1
    return not at_end


def _longer(table: AnyArray) -> AnyArray:
    """The same with as many rows again."""
    return np.concatenate([table, np.zeros_like(table)])


def pays_to_compile(jobs: int) -> bool:
    """True where the code is compiled already, or a log is so long that compiling it pays."""
    return jobs >= LONG_LOG or library.holds(getattr(walk, "py_func", walk))
