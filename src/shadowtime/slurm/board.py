"""The state of a site on the arrays of backfill passes, kept from pass to pass."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.kernel import library
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import books as k
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.rows import rows_now
from shadowtime.kernel.slurm.run import run
from shadowtime.kernel.slurm.words import packed, unpacked, words_of
from shadowtime.slurm.choose import Choice, Chooser
from shadowtime.slurm.desk import longer
from shadowtime.slurm.ends import RunningTable
from shadowtime.slurm.job import Job, planned_limit
from shadowtime.slurm.limit_table import LimitTable
from shadowtime.slurm.machine import Machine, Section, bits
from shadowtime.slurm.owners import Owners
from shadowtime.slurm.tally import tally_range
from shadowtime.slurm.usage import Usage
from shadowtime.slurm.weights import base_weights, fresh_weights
from shadowtime.types import Ints

if TYPE_CHECKING:
    from shadowtime.slurm.ask import Ask
    from shadowtime.slurm.kept_queue import KeptQueue
    from shadowtime.slurm.parameters import Parameters
    from shadowtime.slurm.preempt import Preemption
    from shadowtime.slurm.queue import Record
    from shadowtime.slurm.running import Running
    from shadowtime.slurm.state import SlurmState

LONG_LOG = 100
"""Jobs from which on uncompiled passes take longer than compiling."""
FAR = 10 * 365 * 86_400
"""Seconds after which any pass is repeated."""
RULES = (
    "fresh_weights",
    "bounded_will_run",
    "map_before_later",
    "ends_rounded_up",
    "search_goes_on",
    "licence_holders_end",
    "ended_at_try",
    "overlap_moves_on",
    "last_relevant_end",
)
"""In the order of their marks, from FRESH on (kernel/slurm/board.py)."""
PREEMPTABLE = ("requeue", "cancel", "suspend")


class PassBoard:
    """The arrays of one machine. Not to be shared between threads.

    ``compiled`` False runs the same code uncompiled, where compiling takes longer than the passes.
    """

    def __init__(
        self,
        machine: Machine,
        parameters: Parameters,
        preemption: Preemption,
        chooser: Chooser,
        *,
        compiled: bool = True,
    ) -> None:
        self.machine, self.preemption, self.chooser = machine, preemption, chooser
        self.parameters = parameters
        self._run = run if compiled else getattr(run, "py_func", run)
        self._rows_now = rows_now if compiled else getattr(rows_now, "py_func", rows_now)
        self.words = words_of(len(machine.nodes))
        self.sections = {name: at for at, name in enumerate(machine.sections)}
        self.licences: dict[str, int] = {}
        """Bits of licences, by name."""
        by_qos = preemption.kind == "qos"
        self.ranks = preemption.precedence.places if by_qos else self.sections
        """Numbers of QOS or partitions, by which jobs preempt others."""
        self.preys: set[str] | None = set()
        """QOS or partitions of running jobs, as written; None: something else is."""
        self.reservations: dict[str, int] = {}
        """Numbers of reservations, by name."""
        self.kinds: dict[tuple[int, int], int] = {}
        """Numbers of (partition, limit)."""
        self.rows: dict[tuple[object, ...], int] = {}
        """Rows of ``record`` by all that they hold."""
        self.limits = LimitTable()
        self.any_watched = self.any_least_time = False
        """Some record so far was that of such a job."""
        self.any_owner = any(one.own_user for one in machine.sections.values())
        """Some nodes may belong to users."""
        self.owners = Owners()
        self.no_books = k.empty_books()
        """Those of a single pass."""
        self.written = -1
        """The version of the kept queue that is written."""
        self.up = -1
        self.usable = (-1, 0)
        self.seen: tuple[Usage | None, Running | None, int] = (None, None, -1)
        """What is written of what is free and of what runs."""
        self.running = RunningTable(machine, self._described, rows=preemption.gang)
        most = max((node.cores for node in machine.nodes), default=0)
        self.board = b.empty_board(
            len(machine.nodes),
            sections=max(1, len(self.sections)),
            spans=parameters.map_records + 8,
            parts=machine.sockets + len(machine.pools),
            cores=most if preemption.gang else 0,
        )
        mark = self.board.mark
        mark[b.STEP], mark[b.BOUND] = parameters.bf_resolution, parameters.bf_max_job_test
        mark[b.WINDOW], mark[b.MAP_RECORDS] = parameters.bf_window, parameters.map_records
        mark[b.LINEAR] = parameters.bf_window_linear
        mark[b.KILL_WAIT] = preemption.kill_wait
        mark[b.KEEPS_RUNNING] = parameters.bf_running_job_reserve
        mark[b.BUSY_NODES] = parameters.bf_busy_nodes
        mark[b.PART_DEPTH] = parameters.partition_job_depth
        mark[b.GANG], mark[b.GPUS] = preemption.gang, machine.has_gpus
        mark[b.SHARES] = mark[b.PREEMPTS] = preemption.on
        mark[b.ONE_THREAD] = machine.one_thread
        mark[b.MOVES] = not machine.steady_weights(parameters.rules)
        for at, rule in enumerate(RULES):
            mark[b.FRESH + at] = getattr(parameters.rules, rule)
        mark[b.OWNERS_END] = parameters.rules.owners_end
        outranks = [[self._outranks(one, other) for other in self.ranks] for one in self.ranks]
        if outranks:
            self.board = self.board._replace(
                outranks=np.array(outranks, np.int64), preys=np.zeros(len(outranks), np.int64)
            )
        self.board.node[: len(machine.nodes), b.BASE_WEIGHT] = fresh_weights(machine)
        self.board.node[: len(machine.nodes), b.PLAIN_WEIGHT] = base_weights(machine)
        counted = [machine.counted(node, node.cpus) for node in machine.nodes]
        self.board.node[: len(machine.nodes), b.ALL_CPUS] = counted
        for at, section in enumerate(machine.sections.values()):
            self.board.section[len(self.board.part) + at] = packed(section.nodes, self.words)
            self.board.part[at, : b.FAILED] = section.tier, preemption.is_off(section)
        if preemption.gang:
            part = self.board.cores.reshape(4, -1, self.running.core_words)
            part[3] = [packed(cores, self.running.core_words) for cores in machine.full_cores]

    def run(self, books: k.Books) -> int:
        """A run from event to event, until Python must do something."""
        self.board.mark[b.DO] = b.RUN
        return self._run(self.board, self.chooser.asks.desk, books)

    def main_walk(self) -> int:
        """On through the queue of a main pass, until Python must do something."""
        self.board.mark[b.DO] = b.MAIN_WALK
        return self._run(self.board, self.chooser.asks.desk, self.no_books)

    def walk(self) -> int:
        """On through the queue of a backfill pass, until Python must do something."""
        self.board.mark[b.DO] = b.BACKFILL_WALK
        return self._run(self.board, self.chooser.asks.desk, self.no_books)

    def write(self, state: SlurmState) -> None:
        """What is free now, which nodes are up, and reservations."""
        board = self.board
        if board.now is not state.usage.table or board.weight is not state.weights:
            board = self.board = board._replace(now=state.usage.table, weight=state.weights)
        if self.up != state.up:
            self.up = state.up
            board.mark[b.UPS] += 1
            board.mask[b.UP] = packed(state.up, self.words)
            for at, section in enumerate(self.machine.sections.values()):
                board.section[at] = packed(section.nodes & state.up, self.words)
        self.write_free(state)
        count = len(state.windows)
        if count > len(board.window):
            board = self.board = board._replace(
                window=np.zeros((2 * count, 4), np.int64),
                window_nodes=np.zeros((2 * count, self.words), np.uint64),
            )
        for at, window in enumerate(state.windows):
            own = self._named(window.name)
            board.window[at] = window.begin, window.end, own, window.binds
            board.window_nodes[at] = packed(window.nodes, self.words)
        board.mark[b.WINDOWS] = count

    def write_free(self, state: SlurmState) -> None:
        """What is free, and what counts against limits; what was noted before is void."""
        here, mark = self.board.mask, self.board.mark
        mark[b.STAMP] += 1
        usage, running, changes = self.seen
        if usage is not state.usage or running is not state.running or changes != usage.changes:
            self.seen = state.usage, state.running, state.usage.changes
            self.limits.write(self.board, state.running, state.accounts)
            if self.preemption.on:
                self._write_preys(state)
            mark[b.FREE_CPUS] = state.usage.total
            here[b.IDLE] = packed(state.usage.idle, self.words)
            if mark[b.BUSY_NODES]:
                self.chooser.asks.desk.mask[d.IDLE_NOW] = here[b.IDLE]
        if self.usable != (state.up, state.completing):
            self.usable = (state.up, state.completing)
            here[b.USABLE] = packed(state.up & ~state.completing, self.words)
            here[b.COMPLETING] = packed(state.completing, self.words)

    def _write_preys(self, state: SlurmState) -> None:
        """Which ranks may preempt some job that runs."""
        if self.preemption.kind == "qos":
            sums = state.running.sums(state.accounts)
            running = {
                name for name in self.ranks if (held := sums.get(("qos", name))) and held.jobs
            }
        else:
            running = {one.partition for one in state.running}
        if running != self.preys:
            self.preys = running
            ranks = [rank for name, rank in self.ranks.items() if name in running]
            self.board.preys[:] = self.board.outranks[:, ranks].any(axis=1)

    def write_running(self, state: SlurmState) -> None:
        """The running jobs."""
        self.board = self.running.write(self.board, state.running)

    def write_owners(self, state: SlurmState) -> None:
        """Whose the nodes are that have jobs."""
        table = self.owners.table(state.running, self.machine)
        self.board.owner[: len(table)] = table
        self.board.mark[b.OWNED_NODES] = len(table)

    def write_queue(self, state: SlurmState, records: list[Record]) -> Ints:
        """The records in order; returns their columns."""
        count, kept = len(records), state.queue
        if count > len(self.board.queue):
            self.board = self.board._replace(queue=np.zeros((2 * count, b.QUEUES), np.int64))
        queue = self.board.queue[:count]
        if kept is None or self.written != kept.version:
            self.written = -1 if kept is None else kept.version
            queue[:, : b.NOW_ONLY] = self._all_places(state, records)
            queue[:, b.TASKS] = 1
        queue[:, b.NOW_ONLY : b.TASKS] = 0
        self.board.mark[b.RECORDS] = count
        if self.board.met is not state.accounts.met.numbers:
            self.board = self.board._replace(met=state.accounts.met.numbers)
        if self.limits.is_stale:
            self.limits.write(self.board, state.running, state.accounts)
        return queue

    def _all_places(self, state: SlurmState, records: list[Record]) -> Ints:
        kept = state.queue
        if kept is None:
            return np.array([self.places(state, one) for one in records]).reshape(-1, 2)
        rows = kept.rows[: len(records), :2]
        return rows if kept.order is None else rows[kept.order]

    def ranks_of(self, record: Record) -> tuple[int, bool]:
        """The rank by which a job is preempted once it runs here, and whether it keeps its nodes.

        -1: it cannot be. It keeps them in the map of plans if it is exclusive and not preempted.
        """
        job, section = record
        mode = "off"
        if self.preemption.on:
            mode = self.preemption.mode_in(job, section)
        keeps = mode == "off" and job.ask.on(section).exclusive
        return self.rank_of_prey(job, section, mode), keeps

    def rank_of_prey(self, job: Job, section: Section, mode: str) -> int:
        """The rank by which a job that runs is preempted; -1: it cannot be."""
        return self._rank(job, section.name) if mode in PREEMPTABLE else -1

    def lay_out(self, queue: KeptQueue, state: SlurmState) -> None:
        """Put the queue on the board, in the order of passes."""
        rows = queue.rows[: len(queue), : k.Q_SUBMIT]
        order = queue.preemptors_first(state)
        self.board.queue[: len(queue), : b.NOW_ONLY] = rows if order is None else rows[order]
        self.board.queue[: len(queue), b.TASKS] = 1

    def forget(self) -> None:
        """The state was changed elsewhere: all is written again."""
        self.seen, self.usable, self.written, self.preys = (None, None, -1), (-1, 0), -1, None
        self.running.clear()

    def who(self, state: SlurmState, job: Job, section: Section) -> int:
        """The row of a job's limits in a partition."""
        who = self.limits.rows.get((job.qos, job.account, job.user, section.qos))
        if who is None:
            self.board = self.limits.room(self.board, state.accounts, job, section)
            who = self.limits.row(self.board, state.accounts, job, section)
        return who

    def places(self, state: SlurmState, record: Record) -> tuple[int, int]:
        """The row of a record in these arrays, and the slot of its job."""
        return self._row(state, record), state.accounts.met.slot(record.job.id)

    def leave(self, state: SlurmState, job: Job) -> None:
        """A job has started or preempts: the pass looks at it in no other partition."""
        if len(job.partitions) > 1:
            queue = self.board.queue[: self.board.mark[b.RECORDS]]
            queue[queue[:, b.SLOT] == state.accounts.met.slot(job.id), b.GONE] = 1

    def watched_places(self, queue: Ints) -> list[int]:
        """The places of arrays and of jobs with licences in the queue."""
        if not self.any_watched:
            return []
        return np.flatnonzero(self.board.record[queue[:, b.ROW], b.WATCHED]).tolist()

    def make_room_for_plans(self, count: int) -> None:
        """So many plans in all."""
        while count > len(self.board.plan):
            self.board = self.board._replace(
                plan=longer(self.board.plan), planned=longer(self.board.planned)
            )

    def add_plan(self, end: int, nodes: int) -> None:
        """A running job keeps its nodes in the map until then, from the next step on."""
        self.board.mask[b.KEEP] = packed(nodes, self.words)
        self.board.mark[b.KEEP_UNTIL] = end

    def notes(self, state: SlurmState) -> int:
        """How often a job got another reason to wait."""
        return int(self.board.mark[b.NOTES]) + state.accounts.met.changes

    @property
    def chosen(self) -> int:
        """The nodes that the last test chose."""
        return unpacked(self.board.mask[b.CHOSEN])

    def choice(self, ask: Ask) -> Choice:
        """What the last test chose."""
        nodes, desk = self.chosen, self.chooser.asks.desk
        if desk.ask[self.chooser.asks.row(ask), d.WHOLE]:
            return Choice(nodes, int(desk.node[0, d.CPUS]))
        given = self.board.node[:, b.GIVEN]
        return Choice(nodes, {at: int(given[at]) for at in bits(nodes)})

    def in_rows(self, state: SlurmState, ask: Ask, section: Section, nodes: int) -> Choice | None:
        """The choice now where jobs may lie above others, and what it was chosen from."""
        self.write(state)
        self.write_running(state)
        row, desk = self.chooser.asks.row(ask), self.chooser.asks.desk
        desk.mask[d.TRIED] = packed(nodes, self.words)
        if not self._rows_now(self.board, desk, row, self.sections[section.name]):
            return None
        view = Usage(self.machine)
        cores = self.board.cores[: len(self.machine.nodes)]
        view.cores = [unpacked(one) for one in cores]
        view.gpus = self.board.table[:, d.FREE_GPUS].tolist()
        view.table = self.board.table.copy()
        found = unpacked(desk.mask[d.CHOSEN])
        given = desk.spot[:, d.GIVEN]
        return Choice(found, {at: int(given[at]) for at in bits(found)}, view)

    def _described(self, job: Job) -> tuple[int, int, int, int]:
        """The columns of a running job that the rules of the site need."""
        rank = -1
        if self.preemption.on and self.preemption.mode_of(job, self.machine) in PREEMPTABLE:
            rank = self._rank(job, job.partition)
        return (
            rank,
            self._licences(job),
            self.sections.get(job.partition, -1),
            job.in_no_row,
        )

    def _licences(self, job: Job) -> int:
        found = 0
        for name, _ in job.licences:
            found |= 1 << self.licences.setdefault(name, len(self.licences))
        return found

    def _rank(self, job: Job, partition: str) -> int:
        """The number of a job's QOS or partition, by which it preempts and is preempted."""
        return self.ranks.get(job.qos if self.preemption.kind == "qos" else partition, -1)

    def _outranks(self, one: str, other: str) -> bool:
        policy, sections = self.preemption, self.machine.sections
        if policy.kind == "qos":
            return other in policy.over.get(one, ())
        lower = sections[one].tier > sections[other].tier
        return lower and not policy.is_off(sections[other])

    def _row(self, state: SlurmState, record: Record) -> int:
        """The row of all records that are like this one, made for the first of them."""
        job, section = record.job, record.section
        asked = job.ask.on(section)
        watched = bool(job.tasks or job.licences)
        rank = self._rank(job, section.name) if self.preemption.on else -1
        who = self.who(state, job, section)
        key = (
            id(asked), section.name, job.limit, job.least_time, watched, rank, job.licences,
            job.reservation, who,
        )  # fmt: skip
        row = self.rows.get(key)
        if row is None:
            row = self.rows[key] = len(self.rows)
            ask = self._ask(asked)
            self.any_watched = self.any_watched or watched
            self.any_least_time = self.any_least_time or job.least_time > 0
            self.any_owner = self.any_owner or asked.own_user
            place, limit = self.sections[section.name], planned_limit(job, section)
            if self.preemption.on and state.accounts.flagged(job, "noreserve"):
                limit = 60  # spec: slurm 3.14
            kind = self.kinds.setdefault((place, limit), len(self.kinds))
            if kind == len(self.board.narrow):
                self.board = self.board._replace(narrow=longer(self.board.narrow))
            if row == len(self.board.record):
                self.board = self.board._replace(record=longer(self.board.record))
            own = self._named(job.reservation) if job.reservation else -1
            plain = not (watched or asked.required or asked.either or asked.parts)
            self.board.record[row] = (
                ask, place, limit, watched, kind, rank, self._licences(job), own, who, plain,
            )  # fmt: skip
            self._write_tally(state, record, ask * len(self.board.part) + place)
        return row

    def _write_tally(self, state: SlurmState, record: Record, about: int) -> None:
        """What a request counts with, at least and at most."""
        memo = self.board.memo[about]
        if memo[b.TALLIED]:
            return
        if not state.accounts.enforced:
            memo[b.TALLIED] = -1 if record.job.ask.gpus else 1
            return
        found = tally_range(state, record.job, record.section)
        memo[b.TALLIED] = -1 if found is None else 1
        for first, one in zip((b.TALLY, b.MOST_TALLY), found or (), strict=False):
            memo[first : first + b.SUM_JOBS] = one.cpu, one.node, one.gpu, one.mem, 0

    def _named(self, reservation: str) -> int:
        """The number of a reservation."""
        return self.reservations.setdefault(reservation, len(self.reservations))

    def _ask(self, ask: Ask) -> int:
        """The row of a request on the desk, with room for what is noted of it."""
        asks, board = self.chooser.asks, self.board
        row = asks.row(ask)
        if not asks.desk.ask[row, d.WHOLE] and not board.mark[b.SHARES]:
            board.mark[b.SHARES] = 1
            self.running.clear()
        while len(board.memo) < len(asks.desk.ask) * max(1, len(self.sections)):
            board = self.board = board._replace(memo=longer(board.memo), alone=longer(board.alone))
        while len(board.when) <= asks.desk.ask[row, d.FLOOR]:
            board = self.board = board._replace(able=longer(board.able), when=longer(board.when))
        return row


def pays_to_compile(jobs: int) -> bool:
    """True where a log is so long that compiling pays, or the passes are compiled already.

    In the library of this installation, or in the cache.
    """
    kernel = getattr(run, "py_func", run)
    if jobs >= LONG_LOG or kernel is run or library.holds(kernel):
        return True
    from shadowtime.kernel.numba_cache import cache_folder

    file = Path(kernel.__code__.co_filename)
    return any(cache_folder(file).glob(f"{file.stem}.{kernel.__name__}-*.nbi"))
