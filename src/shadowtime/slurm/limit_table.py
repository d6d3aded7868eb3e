"""Limits and what running jobs hold of them on the arrays of compiled passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.kernel.slurm import board as b
from shadowtime.slurm.desk import longer

if TYPE_CHECKING:
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.limits import Accounts
    from shadowtime.slurm.machine import Section
    from shadowtime.slurm.running import Group, Held, Running

COLUMNS = {"cpu": b.SUM_CPU, "node": b.SUM_NODE, "gres/gpu": b.SUM_GPU, "mem": b.SUM_MEM}


class LimitTable:
    """Rows of bounds for each kind of job, and of sums for each group that one is on."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str, str, str], int] = {}
        """Rows of ``who``, by QOS, account, user and the QOS of the partition."""
        self.groups: dict[Group, int] = {}
        self.checks = 0
        self.any_complex = False
        """Some limits are not in these tables."""
        self._sums: dict[Group, Held] | None = None
        """Those whose groups have their places in the table, but these new ones:"""
        self._new: list[Group] = []

    def row(self, board: b.Board, accounts: Accounts, job: Job, section: Section) -> int:
        """The row of a job's limits; the caller keeps the board, which :meth:`room` made."""
        key = (job.qos, job.account, job.user, section.qos)
        row = self.rows.get(key)
        if row is None:
            row = self.rows[key] = len(self.rows)
            bounds = accounts.bounds(job, section)
            every = (*bounds.jobs, *bounds.resources) if accounts.enforced else ()
            # Nodes that jobs share count once: which these are is not in the sums.
            simple = all(
                one.name not in ("billing", "node") and not one.kind.endswith("Mins")
                for one in every
            )
            if not simple:
                every = ()
                self.any_complex = True
            for one in every:
                place = self.groups.setdefault(one.group, len(self.groups))
                if place == len(self.groups) - 1:
                    self._new.append(one.group)
                column = COLUMNS.get(one.name, b.SUM_NONE)
                board.check[self.checks] = place, column, one.most, accounts.met.number(one.reason)
                self.checks += 1
            jobs = len(bounds.jobs) if every else 0
            board.who[row] = self.checks - len(every), jobs, len(every) - jobs, simple
        return row

    def room(self, board: b.Board, accounts: Accounts, job: Job, section: Section) -> b.Board:
        """The board with room for the limits of one more kind of job."""
        bounds = accounts.bounds(job, section)
        more = len(bounds.jobs) + len(bounds.resources)
        while len(self.rows) >= len(board.who):
            board = board._replace(who=longer(board.who))
        while self.checks + more > len(board.check):
            board = board._replace(check=longer(board.check))
        while len(self.groups) + more > len(board.sums):
            board = board._replace(sums=longer(board.sums))
            self._sums = None
        return board

    @property
    def is_stale(self) -> bool:
        """Groups have come that :meth:`write` has not seen."""
        return bool(self._new) or self._sums is None

    def write(self, board: b.Board, running: Running, accounts: Accounts) -> None:
        """What the groups hold now."""
        if not self.groups:
            return
        sums = running.sums(accounts)
        if sums is not self._sums:
            self._sums, self._new = sums, list(self.groups)
        for group in self._new:
            held = running.held(group, accounts)
            held.place = self.groups[group]
            _write(board, held)
        self._new.clear()
        for held in running.changed:
            _write(board, held)
        running.changed.clear()


def _write(board: b.Board, held: Held) -> None:
    board.sums[held.place] = held.cpu, held.node, held.gpu, held.mem, 0, len(held.jobs)
