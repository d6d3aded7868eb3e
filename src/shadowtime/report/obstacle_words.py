"""Sentences about what blocked a job, and about its place in Slurm's queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.report.machine import memory
from shadowtime.report.numbers import number, span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shadowtime.report.obstacle import Obstacle
    from shadowtime.slurm.standing import Standing

SHOWN = 8
"""Number of intervals listed one by one, the last ones; those before are summarised."""
HELD = {
    "Dependency": "it depended on other jobs",
    "DependencyNeverSatisfied": "it depended on other jobs",
    "BeginTime": "its begin time had not been reached",
    "JobHeldUser": "its user held it",
    "JobHeldAdmin": "an administrator held it",
    "JobArrayTaskLimit": "its array already ran as many tasks as allowed",
}
"""What sacct's Reason means for a job that was not eligible."""


def way_lines(
    way: Sequence[Obstacle], at: Callable[[int], str], named: Callable[[Sequence[int]], str]
) -> list[str]:
    """A sentence per interval, the last ones; ``at`` formats times, ``named`` lists jobs.

    Examples
    --------
    >>> from shadowtime.report.obstacle import Obstacle
    >>> way = [Obstacle(kind="room", name="gpu", since=0, until=60, jobs=(3,))]
    >>> way_lines(way, str, lambda jobs: ", ".join(map(str, jobs)))
    ['Blocked from 0, for 1 min: too few gpu were free on its nodes; at the end 3 ran there.']
    """
    shown = way[-SHOWN:]
    lines = []
    if len(way) > SHOWN:
        before = way[: len(way) - SHOWN]
        kinds: dict[str, int] = {}
        for one in before:
            word = one.name if one.kind in ("limit", "reservation") else KINDS[one.kind]
            kinds[word] = kinds.get(word, 0) + one.until - one.since
        times = ", ".join(f"{word} {span(seconds)}" for word, seconds in kinds.items())
        lines.append(f"Blocked until {at(shown[0].since)}: {times}.")
    for one in shown:
        lasted = span(one.until - one.since)
        lines.append(f"Blocked from {at(one.since)}, for {lasted}: {_why(one, named)}.")
    return lines


KINDS = {
    "begin": "not eligible",
    "dependency": "dependencies",
    "throttle": "its array's throttle",
    "licence": "licences",
    "limit": "limits",
    "outage": "nodes out of service",
    "reservation": "reservations",
    "room": "no room",
    "order": "jobs ahead",
    "pass": "no pass yet",
    "never": "no partition accepts it",
}
"""Each kind in short, for the summary of many."""


def _why(one: Obstacle, named: Callable[[Sequence[int]], str]) -> str:
    jobs = named(one.jobs) if one.jobs else ""
    if one.kind == "begin":
        return HELD.get(one.name, "it was not eligible: a begin time, a dependency or a hold")
    if one.kind == "dependency":
        return f"it depended ({one.name}) on {jobs}"
    if one.kind == "throttle":
        return f"its array may run {number(one.bound)} at once; at the end {jobs} ran"
    if one.kind == "licence":
        return (
            f"licence {one.name}: {number(one.used)} of {number(one.bound)} were in use and it "
            f"asks for {number(one.asked)}; held by {jobs}"
        )
    if one.kind == "limit":
        return _limit(one, jobs)
    if one.kind == "outage":
        return f"nodes {one.name} were out of service (down or drained)"
    if one.kind == "reservation":
        return f"reservation {one.name} has nodes that it needs before it would end"
    if one.kind == "pass":
        return "it fitted and waited for the scheduler's next pass"
    if one.kind == "never":
        return "none of its partitions accepts such a job"
    if one.kind == "room":
        what = {"nodes": "nodes", "cpus": "cpus"}.get(one.name, one.name)
        some = "too little memory was" if one.name == "memory" else f"too few {what} were"
        return f"{some} free on its nodes; at the end {jobs} ran there" if jobs else f"{some} free"
    return "it would have fitted, but " + (
        f"was behind {jobs}" if jobs else "the schedule does not show what blocked it"
    )


def _limit(one: Obstacle, jobs: str) -> str:
    tail = f"; at the end {jobs} ran" if jobs else ""
    if "Jobs" in one.name:
        return f"{one.name}: {one.who} may run {number(one.bound)} at once{tail}"
    if "Minutes" in one.name:
        bound, used, asked = (number(each // 60) for each in (one.bound, one.used, one.asked))
        takes = f" and it needs {asked}" if one.asked else ""
        if "RunMinutes" in one.name:
            return (
                f"{one.name}: running jobs of {one.who} may have {bound} minutes left in total, "
                f"{used} were left{takes}{tail}"
            )
        return (
            f"{one.name}: {one.who} may use {bound} minutes in total, {used} were used{takes}{tail}"
        )
    amount = memory if "Mem" in one.name else number
    return (
        f"{one.name}: {one.who} may have {amount(one.bound)}, {amount(one.used)} were in use and "
        f"it needs {amount(one.asked)}{tail}"
    )


def standing_line(
    found: Standing, at: Callable[[int], str], named: Callable[[Sequence[int]], str]
) -> str:
    """Slurm's priority of a job and its factors.

    Examples
    --------
    >>> from shadowtime.slurm.standing import Standing
    >>> found = Standing(
    ...     when=5, priority=1200, parts={"age": 200.4, "QOS": 1000.0, "TRES cpu": 0.0}, nice=0,
    ...     ahead=(7,), waiting=3,
    ... )
    >>> print(standing_line(found, str, lambda jobs: ", ".join(map(str, jobs))))
    At 5 its priority was 1,200 (age 200, QOS 1,000); of 2 others waiting, 1 ahead of it: 7.
    """
    parts = [f"{name} {number(round(one))}" for name, one in found.parts.items() if round(one)]
    parts += [f"nice {number(-found.nice)}"] if found.nice else []
    why = f" ({', '.join(parts)})" if parts else ""
    others = found.waiting - 1
    text = f"At {at(found.when)} its priority was {number(found.priority)}{why}"
    if not others:
        return f"{text}; no other job waited."
    before = f"{number(len(found.ahead))} ahead of it" if found.ahead else "none ahead of it"
    tail = f": {named(found.ahead)}" if found.ahead else ""
    return f"{text}; of {number(others)} others waiting, {before}{tail}."
