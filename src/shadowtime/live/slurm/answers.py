"""Slurm's answers, of which none is believed unseen: read, asked for again, replaced by the last.

Users can write into their jobs what they like, separators and line breaks too, and a busy Slurm
cuts answers off. So squeue separates its columns by a secret that no user knows (it is in the
environment, not in the command that everybody can read), and an answer counts once it was read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shadowtime.live.port import PortError
from shadowtime.live.runner import Commands, NotInstalled, Runner, TimedOut, checked, side_by_side
from shadowtime.live.slurm.sending import PATIENCE
from shadowtime.slurmtext import squeue

if TYPE_CHECKING:
    from shadowtime.live.clock import Clock

    Read = Callable[[str], tuple[list[Any], dict[str, str]]]

DETAILS = ("scontrol", "--oneliner", "--details")
TRIES = 3
"""How often a question is put before its last answer counts."""
QUICK = 2.0
"""Seconds: a command that takes longer until it fails is not repeated before the next poll."""
ENDED = ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "DEADLINE")


class Answers:
    """Questions to Slurm that change nothing, and what was last understood.

    Rules
    -----
    A command that fails, or whose answer is cut off, is repeated at once, :data:`TRIES` times in
    all; so is an answer with rows that cannot be read, or without a job or node that was there
    before and had not ended, until two answers lack the same. Of a job or a node whose row cannot
    be read even then the last one stands; one without is ``unreadable``. If a command exceeds its
    time limit, the next ones are given more, until one answers in time.
    """

    def __init__(self, run: Runner, clock: Clock, *, secret: str = "") -> None:
        self.run, self.clock = run, clock
        self.again = 0
        """How many questions were repeated."""
        self.unreadable: Mapping[str, str] = {}
        """Jobs of which no row was ever read, and why."""
        self.stand_ins: Mapping[str, str] = {}
        """Jobs and nodes whose last rows stand, and why."""
        self._jobs: dict[str, squeue.QueueRow] = {}
        self._nodes: dict[str, squeue.NodeRow] = {}
        self._slow = False
        self._between, self._secret = squeue.BETWEEN, ""
        self._queue: tuple[str, ...] = squeue.SQUEUE
        if secret and isinstance(run, Commands):
            self._secret = secret
            self._between, self._queue = f"{squeue.BETWEEN}{secret}", squeue.QUEUE

    def poll(self) -> tuple[list[squeue.QueueRow], list[squeue.NodeRow]]:
        """The jobs and the nodes, asked for at the same time."""
        rows, nodes = side_by_side(self.run, self.queue, self.nodes)
        return rows, nodes

    def queue(self) -> list[squeue.QueueRow]:
        """Every job that slurmctld knows."""
        rows, bad = self._read(
            self._queue,
            lambda text: squeue.read_queue(text, self._between),
            {job for job, row in self._jobs.items() if not row.state.startswith(ENDED)},
            lambda row: row.id,
        )
        stand_ins = {job: why for job, why in bad.items() if job in self._jobs}
        self.unreadable = {job: why for job, why in bad.items() if job not in stand_ins}
        rows += [self._jobs[job] for job in stand_ins]
        kept = {name: why for name, why in self.stand_ins.items() if name in self._nodes}
        self.stand_ins = kept | stand_ins
        self._jobs = {row.id: row for row in rows}
        return rows

    def nodes(self) -> list[squeue.NodeRow]:
        """Every node."""
        nodes, bad = self._read(
            squeue.SINFO, squeue.read_nodes, set(self._nodes), lambda node: node.name
        )
        known = {node.name for node in nodes}
        stand_ins = {name: why for name, why in bad.items() if name in self._nodes.keys() - known}
        nodes += [self._nodes[name] for name in stand_ins]
        self.stand_ins = {k: v for k, v in self.stand_ins.items() if k in self._jobs} | stand_ins
        self._nodes = {node.name: node for node in nodes}
        return nodes

    def text(self, argv: Sequence[str], *, given: str = "") -> str:
        """What a command prints; repeated if it fails quickly. PortError if it still fails."""
        for left in reversed(range(TRIES)):
            began = self.clock.steady()
            try:
                out = checked(self._patient(), argv, text=given)
            except TimedOut:
                self._slow = True
                raise
            except NotInstalled:
                raise
            except PortError:
                if not left or self.clock.steady() - began > QUICK:
                    raise
                self.again += 1
            else:
                took = self.clock.steady() - began
                self._slow = self._slow and took > getattr(self.run, "timeout", took)
                return out
        raise AssertionError("the last try returns or raises")

    def about_jobs(self, lines: Sequence[str]) -> list[str]:
        """scontrol's answers to some lines of one session, one for each.

        The secret is printed between them: what users write into a job stays in its own answer.
        """
        if not self._secret:
            return [self.run(DETAILS, text=f"{line}\n").out for line in lines]
        between = re.compile(rf"^(?:scontrol: )*{self._secret}\n", re.MULTILINE)
        given = "".join(f"{line}\nshow hostnames {self._secret}\n" for line in lines)
        for _ in range(TRIES):
            *answers, _rest = between.split(self._patient()(DETAILS, text=given).out)
            if len(answers) == len(lines):
                return answers
            self.again += 1
        raise PortError("scontrol's answer about jobs is not complete")

    def _patient(self) -> Runner:
        """Runs a command with the secret in its environment, and with more time after one hung."""
        if not isinstance(self.run, Commands):
            return self.run
        limit = self.run.timeout * (PATIENCE if self._slow else 1.0)
        run = self.run.allowing(limit)
        return (
            run.knowing(SQUEUE_FORMAT2=squeue.queue_format(self._between)) if self._secret else run
        )

    def _read(
        self, argv: Sequence[str], read: Read, expected: set[str], name: Callable[[Any], str]
    ) -> tuple[list[Any], dict[str, str]]:
        """Rows and what cannot be read; ``expected`` are the names that should be among them."""
        before: object = None
        for left in reversed(range(TRIES)):
            text = self.text(argv)
            try:
                rows, bad = read(text)
                if bad and not rows:
                    raise PortError(next(iter(bad.values())))
            except PortError:
                if not left:
                    raise
                self.again += 1
                continue
            doubts = (set(bad), expected - {name(row) for row in rows} - bad.keys())
            if not any(doubts) or doubts == before or not left:
                return rows, bad
            before = doubts
            self.again += 1
        raise AssertionError("the last try returns or raises")
