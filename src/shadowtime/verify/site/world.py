"""What happens to jobs on a site."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from shadowtime.verify.site.places import Places
from shadowtime.verify.site.shapes import Shape, Tasks, asked_of
from shadowtime.verify.site.state import Run
from shadowtime.verify.world import HEAD, RESERVED, Job


class SiteWorld(Places):
    """A site on which jobs wait, start, stop and end."""

    def start(self, row: int, shape: Shape, tasks: Tasks, reason: int) -> None:
        whole, estimate = self.estimates.of(self.jobs[row]), self.estimate(row)
        run = Run(self.jobs[row], self.now, shape, tasks, whole, estimate)
        if row in self.saved:
            run.saved, run.restart = self.saved[row], self.restart
        for key, amount in self.charges(row, shape, tasks).items():
            self.usage[key] = self.usage.get(key, 0) + amount
        self.waiting.remove(row)
        self.running.append(run)
        self.last[row] = run
        self.started.add(row)
        self.reason[row] = reason

    def first_reason(self, row: int) -> int:
        return RESERVED if row in self.blocked else HEAD

    def leave(self, row: int, run: Run) -> None:
        """A run is over: what was counted is given back, minutes stay as they were used."""
        self.running.remove(run)
        self.left += 1
        for key, amount in self.charges(row, run.shape, run.tasks).items():
            self.usage[key] -= amount
            if len(key) > 2 and (key[2] == "minutes" or key[2] == "wall"):
                used = self.now - run.start
                self.usage[key] += amount // max(1, run.job.request) * used

    def stop(self, row: int, run: Run) -> None:
        """A run ends before its job: it waits again, its work is lost or saved."""
        self.leave(row, run)
        self.attempts.append((run.job.id, run.start, self.now))
        self.waiting.append(row)
        starting = min(run.restart, self.now - run.start)
        work = run.saved + self.now - run.start - starting
        safe = work - work % self.every if self.every else 0
        self.worked.setdefault(row, []).append((starting, safe - run.saved))
        self.saved[row] = safe

    def row_of(self, run: Run) -> int:
        return next(i for i, job in enumerate(self.jobs) if job is run.job)

    def order(self, key: Callable[[Job, int], float] | None) -> list[int]:
        """The queue: tier, then the policy's key, then (submit, id)."""

        def rank(row: int) -> tuple[float, float, int]:
            value = 0.0
            if self.priority is not None:
                value = self.priority.of[row]
            elif self.own is not None and self.own.do.order is not None:
                value = self.own.call(self.own.do.order, row)
            elif key is not None:
                value = key(replace(self.jobs[row], request=self.estimate(row)), self.now)
            return (-self.tier(row), -value, row)

        return sorted(self.waiting, key=rank)

    def procs(self, row: int) -> int:
        """Processors that the job asks for, by its first shape."""
        return asked_of(self.shapes[row][0])[0] if self.shapes[row] else self.jobs[row].need[0]

    def tier(self, row: int) -> int:
        """The highest among the partitions in which the job may run at all."""
        if row not in self.tiers:
            may = [s for s in self.considered_ever(row) if s.per_node > 0]
            self.tiers[row] = max((s.partition.tier for s in may), default=0)
        return self.tiers[row]
