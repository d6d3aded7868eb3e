"""The running jobs in record order, and what they hold together by QOS, user and account."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import attrgetter, or_
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.types import Floats

if TYPE_CHECKING:
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.limits import Accounts

_record = attrgetter("record")
Group = tuple[str, ...]
"""What jobs have in common: a QOS, a user of it, an account, ..."""
FOLLOWED = 64
"""More starts and ends than these are not worth following."""
MOST_ANSWERS = 20_000
"""Answers of limits that are remembered."""


@dataclass(slots=True)
class Held:
    """Resources of a job or of several, by the names of :class:`Tally`; and the jobs."""

    cpu: int = 0
    node: int = 0
    gpu: int = 0
    mem: int = 0
    jobs: dict[int, Job] = field(default_factory=dict)
    changes: int = 0
    """Starts and ends so far: what was found out about the group holds while it stands still."""
    place: int = -1
    """Its row in the arrays of compiled passes, where it has one (limit_table.py)."""

    @property
    def nodes(self) -> int:
        """The nodes that the jobs use, each once."""
        return reduce(or_, (job.nodes for job in self.jobs.values()), 0)

    def add(self, job: Job, held: tuple[int, int, int, int], sign: int) -> None:
        """A job starts (1) or ends (-1)."""
        self.changes += 1
        self.cpu += sign * held[0]
        self.node += sign * held[1]
        self.gpu += sign * held[2]
        self.mem += sign * held[3]
        if sign > 0:
            self.jobs[id(job)] = job
        else:
            del self.jobs[id(job)]


def groups_of(accounts: Accounts, qos: str, account: str, user: str, part_qos: str) -> list[Group]:
    """The groups that a running job counts in: of its own QOS and of its partition's, too."""
    own = accounts.chains.get((account, user), ())
    above = {link.account for link in own if not link.user}
    counted = tuple(dict.fromkeys(filter(None, (qos, part_qos))))
    return [
        *(("qos", name) for name in counted),
        *(("qos user", name, user) for name in counted),
        *(("qos account", name, account) for name in counted),
        ("user", account, user),
        *(("account", name) for name in above),
    ]  # fmt: skip


class Running(list["Job"]):
    """Running jobs in record order, with running sums by group for the limits.

    Sums follow :meth:`put` and :meth:`drop`; after any other change of the list, as of a plain
    list, they are counted anew.
    """

    def __init__(self, jobs: Iterable[Job] = ()) -> None:
        super().__init__(jobs)
        self._sums: dict[Group, Held] | None = None
        self._counted = 0
        """Jobs in the sums: any other length tells of a change that was not noted."""
        self._by_id: dict[int, Job] = {}
        self._groups: dict[int, tuple[Job, list[Held], tuple[int, int, int, int]]] = {}
        self._sums_of: dict[tuple[str, ...], list[Held]] = {}
        """Those that a job counts in, by its QOS, account, user and partition."""
        self._accounts: Accounts | None = None
        self.answers: dict[Hashable, tuple[list[tuple[Held, int]], tuple[str, str]]] = {}
        """What limits answered by what was asked, with the groups that the answer rests on."""
        self.consulted: list[Held] = []
        """The groups that were looked at since this list was last emptied."""
        self.moves: list[tuple[Job, bool]] | None = None
        """Starts (True) and ends since this list was last emptied; None: nobody follows them."""
        self.changed: list[Held] = []
        """Those with a place that have changed since this list was last emptied."""
        self._charged: Floats | None = None
        """The columns of :meth:`charged`, and room for more."""
        self._rows = 0

    def find(self, number: int) -> Job:
        """The job of this id."""
        if len(self._by_id) != len(self):
            self._by_id = {job.id: job for job in self}
        return self._by_id[number]

    def put(self, job: Job) -> None:
        """A job starts."""
        if len(self._by_id) == len(self):
            self._by_id[job.id] = job
        at = bisect_right(self, job.record, key=_record)
        self.insert(at, job)
        self._moved(job, starts=True)
        if self._charged is not None:
            self._follow(at, job)
        if self._sums is not None:
            self._count(job)

    def drop(self, job: Job) -> None:
        """A job ends."""
        self._by_id.pop(job.id, None)
        at = bisect_left(self, job.record, key=_record)
        while at < len(self) and self[at] is not job:
            at += 1
        if at == len(self):  # not in record order
            at = next(place for place, one in enumerate(self) if one is job)
        del self[at]
        self._moved(job, starts=False)
        if self._charged is not None:
            self._follow(at, None)
        if self._sums is not None and id(job) in self._groups:
            _, groups, held = self._groups.pop(id(job))
            self._counted -= 1
            for found in groups:
                found.add(job, held, -1)
                if found.place >= 0:
                    self.changed.append(found)

    def charged(self, place: Callable[[str, str], int]) -> Floats:
        """What ticks charge: the place of each job's association, its billing and its start."""
        count = len(self)
        if self._charged is None or self._rows != count:
            self._charged, self._rows = np.zeros((3, 2 * count + 64)), count
            self._place = place
            for at, one in enumerate(self):
                self._charged[:, at] = place(one.account, one.user), one.billing, one.start
        return self._charged[:, :count]

    def _follow(self, at: int, job: Job | None) -> None:
        """Put a job into the columns of :meth:`charged`; None: take one out."""
        table, count = self._charged, self._rows
        assert table is not None
        if job is None:
            table[:, at : count - 1] = table[:, at + 1 : count]
            self._rows -= 1
        elif count < table.shape[1]:
            table[:, at + 1 : count + 1] = table[:, at:count]
            table[:, at] = self._place(job.account, job.user), job.billing, job.start
            self._rows += 1
        else:
            self._charged = None

    def _moved(self, job: Job, *, starts: bool) -> None:
        if self.moves is not None:
            self.moves.append((job, starts))
            if len(self.moves) > 2 * len(self) + FOLLOWED:
                self.moves = None

    def sums(self, accounts: Accounts) -> dict[Group, Held]:
        """What the jobs of each group hold: the same object until the jobs are counted anew."""
        if self._sums is None or self._counted != len(self):
            self._sums, self._groups, self._sums_of, self._counted = {}, {}, {}, 0
            self._accounts = accounts
            self.answers.clear()
            self.changed.clear()
            for job in self:
                self._count(job)
        return self._sums

    def held(self, group: Group, accounts: Accounts) -> Held:
        """What the jobs of a group hold."""
        sums = self.sums(accounts)
        found = sums.get(group)
        if found is None:
            found = sums[group] = Held()
        self.consulted.append(found)
        return found

    def answer(self, question: Hashable) -> tuple[str, str] | None:
        """What was answered before, if no group that it rests on has changed since."""
        known = self.answers.get(question)
        if known is None or self._counted != len(self):
            return None
        for held, changes in known[0]:
            if held.changes != changes:
                return None
        return known[1]

    def remember(self, question: Hashable, answer: tuple[str, str]) -> None:
        """An answer that rests on the groups that were consulted."""
        if len(self.answers) > MOST_ANSWERS:
            self.answers.clear()
        self.answers[question] = [(held, held.changes) for held in self.consulted], answer

    def _count(self, job: Job) -> None:
        assert self._sums is not None and self._accounts is not None
        kind = job.qos, job.account, job.user, job.partition
        groups = self._sums_of.get(kind)
        if groups is None:
            part_qos = self._accounts.part_qos.get(job.partition, "")
            every = groups_of(self._accounts, job.qos, job.account, job.user, part_qos)
            made = [self._sums.setdefault(one, Held()) for one in every]
            groups = self._sums_of[kind] = made
        gpu = mem = 0
        for share in job.holding:
            gpu += share.gpus.bit_count()
            mem += share.memory
        held = job.cpus, job.nodes.bit_count(), gpu, mem
        self._groups[id(job)] = job, groups, held
        self._counted += 1
        for found in groups:
            found.add(job, held, 1)
            if found.place >= 0:
                self.changed.append(found)


def running_of(jobs: Sequence[Job]) -> Running:
    """These jobs with sums; counted now if they are a plain list."""
    return jobs if isinstance(jobs, Running) else Running(jobs)
