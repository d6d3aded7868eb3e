"""Policies written in Python that several tests run: simulated, live and in --step."""

from __future__ import annotations

from shadowtime.policy.snapshot import Promise, Start


class PythonEasy:
    """EASY as the textbook has it."""

    name = "python-easy"

    def decide(self, snapshot):
        free = snapshot.free[0]
        queue = list(snapshot.waiting)
        ends = [(r.expected_end, r.procs) for r in snapshot.running]
        while queue and queue[0].procs <= free:
            job = queue.pop(0)
            free -= job.procs
            ends.append((snapshot.now + job.estimate, job.procs))
            yield Start(job.id)
        if not queue:
            return
        head = queue.pop(0)
        available, shadow = free, snapshot.now + 1
        for end, procs in sorted(ends):
            if available >= head.procs and end > shadow:
                break
            shadow = max(shadow, end)
            available += procs
        extra = available - head.procs
        yield Promise(head.id, shadow)
        for job in queue:
            in_time = snapshot.now + job.estimate <= shadow
            if job.procs <= free and (in_time or job.procs <= extra):
                free -= job.procs
                extra -= 0 if in_time else job.procs
                yield Start(job.id)


class PythonGreedy:
    """Every job that fits starts, in order of arrival."""

    name = "python-greedy"

    def decide(self, snapshot):
        return [Start(job.id, optional=True) for job in snapshot.waiting]
