"""Policies that several tests run: simulated, live and in --step."""

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


def stand_aside(now, jobs, free, short=300):
    """For @st.resize: long jobs are suspended while a short one needs their room."""
    left = free.level[0, 0] - jobs.held.sum()
    for i in range(len(jobs.held)):
        if jobs.start[i] >= 0 or jobs.request[i] > short:
            continue
        for k in range(len(jobs.held)):
            long = jobs.request[k] > short and jobs.speed[k] > 0
            if long and jobs.held[k] > 0 and left < jobs.procs[i]:
                jobs.speed[k] = 0
                left += jobs.held[k]
        if jobs.procs[i] <= left:
            jobs.size[i] = jobs.procs[i]
            left -= jobs.procs[i]
    for i in range(len(jobs.held)):
        if jobs.suspended[i] > 0 and jobs.suspended[i] <= left:
            jobs.speed[i] = 1000
            left -= jobs.suspended[i]
        elif jobs.size[i] == 0 and jobs.procs[i] <= left:
            jobs.size[i] = jobs.procs[i]
            left -= jobs.size[i]


def make_room(now, jobs, free, machine=8):
    """For @st.resize: whoever comes next gets room, others shrink, and stop for all of it."""
    left = free.level[0, 0] - jobs.held.sum()
    for i in range(len(jobs.held)):
        if jobs.held[i] > 0:
            continue
        for k in range(len(jobs.held)):
            if jobs.held[k] > 0 and left < jobs.least[i]:
                least = 0 if jobs.least[i] == machine else jobs.least[k]
                less = max(0, min(jobs.size[k] - least, jobs.least[i] - left))
                jobs.size[k] -= less
                left += less
        if left < jobs.least[i]:
            break
        jobs.size[i] = min(left, jobs.procs[i])
        left -= jobs.size[i]
