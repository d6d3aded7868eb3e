"""Jobs that wait for others, in a whole run (17.3)."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shadowtime.slurm.job import Job
    from shadowtime.workload import Workload
    from shadowtime.workload.request import Dependency, Requests

FAILED, CANCELLED = 0, 5
"""The Standard Workload Format's numbers for how a job ended."""


class Held(NamedTuple):
    """A job that waits for others, its rows or those of its tasks, and its place among all."""

    job: Job
    rows: list[int]
    place: int


class Dependencies:
    """Which rows wait for which, and what has become of those.

    Rules
    -----
    An array has ended when all its tasks have. Jobs that the log does not have hold up no other.
    ``afterok`` and ``aftercorr`` want good ends, ``afternotok`` any other, ``afterany`` any end,
    ``after`` a start; a job that left the queue without one has ended, and not well. ``singleton``
    waits for all earlier jobs of the same user and name.
    """

    def __init__(self, workload: Workload, requests: Requests) -> None:
        self.workload, self.requests = workload, requests
        self.wishes: dict[int, list[tuple[Dependency, list[int]]]] = {}
        status = workload.status
        good = (workload.run <= workload.limit) & (status != FAILED) & (status != CANCELLED)
        self.good = good.tolist()
        self.held: dict[int, Held] = {}
        """Submitted jobs whose dependencies are not met, by id: in no pass."""
        self.dependents: dict[int, list[int]] = {}
        """Rows that wait for a row."""
        self._holder: dict[int, Held] = {}
        """The held job that a row belongs to."""
        self._news: set[int] = set()
        """Places of held jobs for which something has changed since they were last looked at."""
        self._places: dict[int, Held] = {}
        self._count = 0
        self.started: set[int] = set()
        self.ended: dict[int, bool] = {}
        """Rows that have ended, and whether they ended well."""
        place = {number: row for row, number in enumerate(workload.job_id.tolist())}
        for one in requests.dependencies:
            others = self._singles(one.job) if one.kind == "singleton" else []
            for number in one.on:
                if number in place:
                    others += self._tasks(place[number])
            self.wishes.setdefault(one.job, []).append((one, others))
            for other in others:
                self.dependents.setdefault(other, []).append(one.job)

    def _singles(self, row: int) -> list[int]:
        work = self.workload
        same = (work.user == work.user[row]) & (work.executable == work.executable[row])
        return [int(other) for other in np.flatnonzero(same[:row])]

    def _tasks(self, row: int) -> list[int]:
        array = int(self.requests.array[row])
        if array < 0:
            return [row]
        return [int(other) for other in np.flatnonzero(self.requests.array == array)]

    def start(self, row: int) -> None:
        """A row has started."""
        self.started.add(row)
        self._note(row)

    def end(self, row: int, *, cancelled: bool = False) -> None:
        """A row has ended, or left the queue."""
        self.ended[row] = self.good[row] and not cancelled
        self._note(row)

    def _note(self, row: int) -> None:
        """Something has become of a row: held jobs that wait for it are looked at again."""
        for other in self.dependents.get(row, ()):
            if other in self._holder:
                self._news.add(self._holder[other].place)

    def hold(self, job: Job, rows: list[int]) -> None:
        """A submitted job waits for others; ``rows`` are its own, or those of its tasks."""
        self._count += 1
        held = self.held[job.id] = self._places[self._count] = Held(job, rows, self._count)
        self._holder |= dict.fromkeys(rows, held)
        self._news.add(held.place)

    def leave(self, row: int) -> None:
        """A row left the queue before it began."""
        self.end(row, cancelled=True)
        held = self._holder.pop(row, None)
        if held is None:
            return
        job, rows, place = held
        if job.tasks:
            del job.tasks[rows.index(row)]
        rows.remove(row)
        self._news.add(place)
        if not rows:
            self._let_go(held)

    def released(self, *, kill_invalid: bool) -> list[Job]:
        """Held jobs whose dependencies are met by now; they are held no longer.

        With ``kill_invalid`` a job whose dependency can no longer be met is cancelled, which
        others may have waited for. Jobs are looked at in the order in which they came, again and
        again until none is cancelled; only those for which something has changed.
        """
        found = []
        while self._news:
            turn, self._news = sorted(self._news), set()
            while turn:
                held = self._places[heappop(turn)]
                if self.met(held.rows):
                    self._let_go(held)
                    found.append(held.job)
                elif kill_invalid and self.hopeless(held.rows):
                    self._let_go(held)
                    for row in held.rows:
                        self.end(row, cancelled=True)
                    later = {place for place in self._news if place > held.place}
                    self._news -= later
                    for place in later.difference(turn):
                        heappush(turn, place)
        return found

    def _let_go(self, held: Held) -> None:
        """A job is held no longer."""
        del self.held[held.job.id], self._places[held.place]
        self._news.discard(held.place)
        for row in held.rows:
            del self._holder[row]

    def met(self, rows: Iterable[int]) -> bool:
        """True where jobs of these rows may be looked at."""
        return all(self._met(row) for row in rows if row in self.wishes)

    def _met(self, row: int) -> bool:
        answers = [self._holds(one.kind, others) for one, others in self.wishes[row]]
        either = [a for a, (one, _) in zip(answers, self.wishes[row], strict=True) if one.any_of]
        rest = [a for a, (one, _) in zip(answers, self.wishes[row], strict=True) if not one.any_of]
        return all(rest) and (any(either) or not either)

    def _holds(self, kind: str, others: list[int]) -> bool:
        if kind == "after":
            return all(other in self.started or other in self.ended for other in others)
        if any(other not in self.ended for other in others):
            return False
        ends = [self.ended[other] for other in others]
        if kind in ("afterok", "aftercorr"):
            return all(ends)
        return kind != "afternotok" or not ends or not all(ends)

    def hopeless(self, rows: Iterable[int]) -> bool:
        """True where a dependency of these rows can no longer be met (DependencyNeverSatisfied)."""
        return any(
            not one.any_of
            and one.kind in ("afterok", "aftercorr", "afternotok")
            and bool(others)
            and all(other in self.ended for other in others)
            and not self._holds(one.kind, others)
            for row in rows
            for one, others in self.wishes.get(row, ())
        )
