"""Ways to falsify a schedule: each operator changes one thing about one job and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from shadowtime.schedule import Attempts, Schedule
from shadowtime.schedule.places import compressed, shares
from shadowtime.types import UNKNOWN, Reason
from shadowtime.workload import Workload

Draw = np.random.Generator
Operator = Callable[[Schedule, Workload, int, Draw], Schedule | None]
"""(schedule, workload, row, draw) -> a false schedule; None where it does not apply to the row."""


def changed(schedule: Schedule, row: int, **columns: int) -> Schedule:
    """Other values in one row."""
    made = {}
    for name, value in columns.items():
        column = getattr(schedule, name).copy()
        column[row] = value
        made[name] = column
    return schedule.replace(**made)


def moved(schedule: Schedule, row: int, start: int) -> Schedule:
    """The whole last run at another time, in the attempts too."""
    length = int(schedule.end[row] - schedule.start[row])
    a = schedule.attempts
    mine = (a.job_id == schedule.job_id[row]) & (a.killed == 0)
    attempts = Attempts(
        job_id=a.job_id,
        start=np.where(mine, start, a.start),
        end=np.where(mine, start + length, a.end),
        killed=a.killed,
    )
    return changed(schedule, row, start=start, end=start + length).replace(attempts=attempts)


def start_later(s: Schedule, w: Workload, row: int, draw: Draw) -> Schedule | None:
    return moved(s, row, int(s.start[row]) + int(draw.integers(1, 9)))


def start_earlier(s: Schedule, w: Workload, row: int, draw: Draw) -> Schedule | None:
    start = int(s.start[row]) - int(draw.integers(1, 9))
    return None if start < w.submit[row] else moved(s, row, start)


def swap_starts(s: Schedule, w: Workload, row: int, draw: Draw) -> Schedule | None:
    other = int(draw.integers(len(s)))
    first, second = int(s.start[row]), int(s.start[other])
    if first == second or second < w.submit[row] or first < w.submit[other]:
        return None
    return moved(moved(s, row, second), other, first)


def stretch_end(s: Schedule, w: Workload, row: int, draw: Draw) -> Schedule | None:
    return changed(s, row, end=int(s.end[row]) + int(draw.integers(1, 9)))


def forge_limit(s: Schedule, w: Workload, row: int, draw: Draw) -> Schedule | None:
    assert s.limit is not None
    return changed(s, row, limit=int(s.limit[row]) + int(draw.integers(1, 99)))


def outlive_limit(s: Schedule, w: Workload, row: int, draw: Draw) -> Schedule | None:
    """A killed job runs a second longer, within a limit changed to match."""
    assert s.limit is not None
    if s.killed[row] == 0:
        return None
    return changed(s, row, limit=int(s.limit[row]) + 1, end=int(s.end[row]) + 1)


def forge_kills(s: Schedule, w: Workload, row: int, draw: Draw) -> Schedule | None:
    return changed(s, row, kills=int(s.kills[row]) + 1)


def forge_killed(s: Schedule, w: Workload, row: int, draw: Draw) -> Schedule | None:
    return changed(s, row, killed=1 - int(s.killed[row]))


def drop_attempt(s: Schedule, w: Workload, row: int, draw: Draw) -> Schedule | None:
    a = s.attempts
    if len(a) == 0:
        return None
    keep = np.arange(len(a)) != draw.integers(len(a))
    return s.replace(
        attempts=Attempts(
            job_id=a.job_id[keep], start=a.start[keep], end=a.end[keep], killed=a.killed[keep]
        )
    )


def change_place(s: Schedule, w: Workload, row: int, draw: Draw) -> Schedule | None:
    """The place of another job of the same width."""
    if s.place is None:
        return None
    alike = [k for k in range(len(s)) if s.procs[k] == s.procs[row] and s.place[k] != s.place[row]]
    if not alike:
        return None
    places = list(s.place)
    places[row] = places[alike[int(draw.integers(len(alike)))]]
    return s.replace(place=tuple(places))


def spelt(nodes: list[tuple[str, int | None]]) -> str:
    """Nodes with processors as a place."""
    return " ".join(
        host if count is None else f"{compressed([host])}:{count}" for host, count in nodes
    )


def with_place(s: Schedule, row: int, place: str) -> Schedule:
    assert s.place is not None
    return s.replace(place=(*list(s.place)[:row], place, *list(s.place)[row + 1 :]))


def other_node(s: Schedule, w: Workload, row: int, draw: Draw) -> Schedule | None:
    """One of the job's nodes is replaced by one that other jobs use."""
    if s.place is None or not s.place[row]:
        return None
    mine = shares(s.place[row])
    known = {host for place in s.place for host, _ in shares(place)} - {host for host, _ in mine}
    if not known:
        return None
    at, other = int(draw.integers(len(mine))), sorted(known)[int(draw.integers(len(known)))]
    return with_place(s, row, spelt([*mine[:at], (other, mine[at][1]), *mine[at + 1 :]]))


def other_amount(s: Schedule, w: Workload, row: int, draw: Draw) -> Schedule | None:
    """More or fewer processors on one of the job's nodes."""
    if s.place is None or not s.place[row]:
        return None
    mine = shares(s.place[row])
    at = int(draw.integers(len(mine)))
    host, count = mine[at]
    changed_to = max(0, (count or int(s.procs[row])) + int(draw.choice([-1, 1, 83])))
    return with_place(s, row, spelt([*mine[:at], (host, changed_to), *mine[at + 1 :]]))


def drop_node(s: Schedule, w: Workload, row: int, draw: Draw) -> Schedule | None:
    """One of several nodes is left out."""
    if s.place is None or len(shares(s.place[row])) < 2:
        return None
    return with_place(s, row, spelt(list(shares(s.place[row])[1:])))


def swap_places(s: Schedule, w: Workload, row: int, draw: Draw) -> Schedule | None:
    other = int(draw.integers(len(s)))
    if s.place is None or s.place[row] == s.place[other]:
        return None
    return with_place(with_place(s, row, s.place[other]), other, s.place[row])


def swap_jobs(s: Schedule, w: Workload, row: int, draw: Draw) -> Schedule | None:
    """Two jobs of equal width and length exchange all that the schedule says of them."""
    alike = [
        k
        for k in range(len(s))
        if k != row
        and (s.procs[k], w.run[k], w.request[k]) == (s.procs[row], w.run[row], w.request[row])
        and min(s.start[k], s.start[row]) >= max(w.submit[k], w.submit[row])
    ]
    if not alike:
        return None
    other = alike[int(draw.integers(len(alike)))]
    order = np.arange(len(s))
    order[[row, other]] = order[[other, row]]
    names = ("start", "end", "reason", "promised", "blocked_at")
    made = s.replace(**{name: getattr(s, name)[order] for name in names})
    return made if s.place is None else made.replace(place=[s.place[k] for k in order.tolist()])


def never_start(s: Schedule, w: Workload, row: int, draw: Draw) -> Schedule | None:
    """A job that ran is said not to have run."""
    if s.start[row] < 0:
        return None
    gone = changed(s, row, start=-1, end=-1, reason=0)
    return gone if s.place is None else with_place(gone, row, "")


def change_reason(s: Schedule, w: Workload, row: int, draw: Draw) -> Schedule | None:
    others = [reason for reason in list(Reason)[1:-1] if reason != s.reason[row]]  # of starts
    return changed(s, row, reason=int(others[int(draw.integers(len(others)))]))


def break_promise(s: Schedule, w: Workload, row: int, draw: Draw) -> Schedule | None:
    assert s.promised is not None
    if s.promised[row] == UNKNOWN:
        return None
    return changed(s, row, promised=int(s.start[row]) - 1)


def forge_promise(s: Schedule, w: Workload, row: int, draw: Draw) -> Schedule | None:
    """Promised later than it really was: nothing is broken."""
    assert s.promised is not None
    if s.promised[row] == UNKNOWN:
        return None
    return changed(s, row, promised=int(s.promised[row]) + int(draw.integers(1, 9)))


def forge_blocked(s: Schedule, w: Workload, row: int, draw: Draw) -> Schedule | None:
    assert s.blocked_at is not None
    if s.blocked_at[row] == UNKNOWN:
        return changed(s, row, blocked_at=int(w.submit[row]))
    return changed(s, row, blocked_at=int(s.blocked_at[row]) + int(draw.integers(1, 5)))


def widen(s: Schedule, w: Workload, row: int, draw: Draw) -> Schedule | None:
    return changed(s, row, procs=int(s.procs[row]) + 1)


def forge_penalty(s: Schedule, w: Workload, row: int, draw: Draw) -> Schedule | None:
    if s.penalised is None:
        return None
    return changed(s, row, penalised=int(s.penalised[row]) + int(draw.integers(1, 9)))


OPERATORS: Mapping[str, Operator] = {
    one.__name__: one
    for one in (
        start_later,
        start_earlier,
        swap_starts,
        stretch_end,
        forge_limit,
        outlive_limit,
        forge_kills,
        forge_killed,
        drop_attempt,
        change_place,
        change_reason,
        break_promise,
        forge_promise,
        forge_blocked,
        widen,
        forge_penalty,
    )
}

MORE: Mapping[str, Operator] = {
    one.__name__: one
    for one in (other_node, other_amount, drop_node, swap_places, swap_jobs, never_start)
}
"""Further ones, which only following the policy finds in full."""
