"""Slurm's two passes, slow and obvious: jobs of whole nodes or of cpus, straight from the rules.

Nothing is shared with the package: lists of node numbers instead of masks, one dictionary per
job, the map as a list of triples; the rules are those of 22.05 (spec: slurm 1 to 4).
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class NaiveJob:
    """``nodes`` whole nodes, or (``nodes`` 0) ``cpus`` anywhere; times in seconds."""

    id: int
    limit: int
    nodes: int = 0
    cpus: int = 0
    start: int = 0
    holds: dict[int, int] = field(default_factory=dict)


@dataclass
class NaiveState:
    """So many cpus per node, running jobs in record order, waiting jobs in priority order."""

    cpus: int
    count: int
    running: list[NaiveJob]
    waiting: list[NaiveJob]


def free_cpus(state: NaiveState, running: list[NaiveJob]) -> list[int]:
    """Free cpus of each node beside these jobs."""
    free = [state.cpus] * state.count
    for job in running:
        for node, cpus in job.holds.items():
            free[node] -= cpus
    return free


def place(state: NaiveState, job: NaiveJob, free: list[int], allowed: list[int]) -> dict | None:
    """Sets of neighbours, best fit; cpus per node, or None (spec: slurm 4.1 to 4.5)."""
    if job.nodes:
        offer = {n: state.cpus for n in allowed if free[n] == state.cpus}
        cpus, nodes, most = job.nodes, job.nodes, job.nodes
    else:
        offer = {n: free[n] for n in allowed if free[n] > 0}
        cpus, nodes, most = job.cpus, 1, max(job.cpus, 1)
    dropped = 0
    while len(offer) >= max(nodes, 1):  # drop the poorest (spec: slurm 4.5)
        found = fill(dict(offer), cpus, nodes, most, whole=bool(job.nodes))
        if found is not None or job.nodes:
            return found
        dropped += 1
        poor = sorted(n for n in offer if offer[n] <= dropped)
        keep = dict(offer)
        for n in poor:
            del keep[n]
            if len(keep) <= nodes:
                break
        if keep == offer:
            if dropped > state.cpus:
                return None
            continue
        offer = keep
    return None


def fill(offer: dict, cpus: int, nodes: int, most: int, *, whole: bool) -> dict | None:
    """Take sets of neighbouring nodes until enough."""
    sets: list[list[int]] = []
    for n in sorted(offer):
        if sets and sets[-1][-1] == n - 1:
            sets[-1].append(n)
        else:
            sets.append([n])
    got: dict[int, int] = {}
    while sets and most > 0:

        def size(group: list[int]) -> int:
            return sum(offer[n] for n in group)

        enough = [g for g in sets if size(g) >= cpus and len(g) >= nodes]
        best = sets[0]
        for group in sets[1:]:
            fits = group in enough
            tighter = fits and (best not in enough or size(group) < size(best))
            if tighter or (not fits and size(group) > size(best)):
                best = group
        sets.remove(best)
        if nodes <= 1:
            single = [n for n in best if offer[n] >= cpus]
            if single:
                best = [min(single, key=lambda n: (offer[n], n))]
        for n in best:
            if most <= 0 or (nodes <= 0 and cpus <= 0):
                break
            if most == 1 and offer[n] < cpus:
                continue
            take = offer[n] if whole else max(1, min(offer[n], cpus - max(nodes - 1, 0)))
            got[n] = take
            cpus -= take
            nodes -= 1
            most -= 1
        if nodes <= 0 and cpus <= 0:
            return got
    return None


def when(state: NaiveState, job: NaiveJob, allowed: list[int], now: int):
    """The start and the nodes, by ends of running jobs in groups (spec: slurm 3.6)."""
    found = place(state, job, free_cpus(state, state.running), allowed)
    if found is not None:
        return now, found
    order = sorted(state.running, key=lambda one: one.start + one.limit)  # stable: record order
    gone: list[NaiveJob] = []
    width, edge = 30, None
    while order:
        last = None
        while order:
            one = order.pop(0)
            if not set(one.holds) & set(allowed):
                continue
            end = one.start + one.limit
            if edge is None:
                edge = end + 30 - end % 30
            last = one
            gone.append(one)
            if order and order[0].start + order[0].limit > edge + width:
                break
        if last is None:
            return None
        width *= 2
        while order and order[0].start + order[0].limit > edge + width:
            width *= 2
        left = [one for one in state.running if one not in gone]
        found = place(state, job, free_cpus(state, left), allowed)
        if found is not None:
            end = last.start + last.limit
            return (end if end > now else max(end + 30, now + 1)), found
    return None


class NaiveMap:
    """[begin, end, nodes free of plans] (spec: slurm 3.1, 3.4, 3.10, 3.11)."""

    def __init__(self, begin: int, end: int, count: int, step: int) -> None:
        self.rows = [[begin, end, set(range(count))]]
        self.step = step

    def look(self, start: int, end: int, all_nodes: set[int]) -> tuple[set[int], int]:
        free, later = set(all_nodes), 0
        for k, (begin, until, nodes) in enumerate(self.rows):
            following = self.rows[k + 1][2] if k + 1 < len(self.rows) else set()
            if until > start and not later and (all_nodes & following) - (free & nodes):
                later = until
            if until <= start:
                continue
            if begin > end:
                break
            free &= nodes
        return free, later

    def clash(self, begin: int, end: int, nodes: set[int]) -> bool:
        return any(b < end and e > begin and nodes - free for b, e, free in self.rows)

    def add(self, begin: int, end: int, nodes: set[int]) -> None:
        begin = max(begin, self.rows[0][0])
        end = max(end, begin + self.step)
        at = next(k for k, row in enumerate(self.rows) if row[1] >= begin)
        before = max(0, at - 1)
        if self.rows[at][1] > begin:
            row = self.rows[at]
            self.rows.insert(at + 1, [begin, row[1], set(row[2])])
            row[1] = begin
        k, stop = at + 1, None
        while k < len(self.rows):
            row = self.rows[k]
            if end < row[1]:
                self.rows.insert(k + 1, [end, row[1], set(row[2])])
                row[1] = end
            row[2] -= nodes
            if row[1] == end:
                stop = k + 1 if k + 1 < len(self.rows) else None
                break
            k += 1
        k = before
        while k + 1 < len(self.rows) and k != stop:  # one pair at most
            if self.rows[k][2] == self.rows[k + 1][2]:
                self.rows[k][1] = self.rows[k + 1][1]
                del self.rows[k + 1]
                return
            k += 1


def start(state: NaiveState, job: NaiveJob, nodes: dict, now: int) -> None:
    """A job begins; cpus are dealt out in turn where it has more than it needs."""
    if not job.nodes:
        dealt = dict.fromkeys(sorted(nodes), 0)
        left = max(job.cpus, len(nodes))
        while left > 0:
            for n in dealt:
                if left > 0 and dealt[n] < nodes[n]:
                    dealt[n] += 1
                    left -= 1
        nodes = dealt
    job.start, job.holds = now, dict(nodes)
    state.waiting.remove(job)
    state.running.append(job)
    state.running.sort(key=lambda one: one.id)


def naive_main(state: NaiveState, now: int) -> list[tuple[int, tuple[int, ...]]]:
    """In order until one does not fit (spec: slurm 2.4)."""
    starts = []
    for job in list(state.waiting):
        found = place(state, job, free_cpus(state, state.running), list(range(state.count)))
        if found is None:
            break
        start(state, job, found, now)
        starts.append((job.id, tuple(sorted(found))))
    return starts


def naive_backfill(state: NaiveState, now: int, *, step: int, window: int):
    """3: every job in order gets a plan; a job that can start now does."""
    plans, starts = [], []
    table = NaiveMap(now // step * step, (now + window) // step * step, state.count, step)
    all_nodes = set(range(state.count))
    for job in list(state.waiting):
        later = now
        while True:
            at, end = later, max(later, now) + job.limit
            if at > (now + window) // step * step:
                break
            free, later = table.look(at, end, all_nodes)
            if len(free) < max(job.nodes, 1):
                if later:
                    continue
                break
            found = when(state, job, sorted(free), now)
            if found is None:
                if later:
                    continue
                break
            begin, nodes = max(found[0], at), set(found[1])
            if begin <= now:
                start(state, job, found[1], now)
                starts.append((job.id, tuple(sorted(nodes))))
                if job.nodes:
                    table.add(0, (now + job.limit) // step * step, nodes)
                break
            if later and begin > later:
                continue
            if begin > now + window:
                break
            a, b = begin // step * step, (begin + job.limit) // step * step
            if table.clash(a, b, nodes):
                later = begin
                continue
            plans.append((job.id, begin, tuple(sorted(nodes))))
            table.add(a, b, nodes)
            break
    return starts, plans
