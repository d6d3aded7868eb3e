"""Sentences about what blocked a job, and about its place in Slurm's queue.

What the waits of a group are due to is said here as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from shadowtime.cluster.amounts import COUNTED, Kind
from shadowtime.metrics.unstarted import Unstarted
from shadowtime.report.machine import memory
from shadowtime.report.numbers import number, percent, span
from shadowtime.study.cause import WIDE, Cause
from shadowtime.study.obstacle import KINDS, Obstacle

if TYPE_CHECKING:
    from shadowtime.slurm.standing import Standing
    from shadowtime.study.wait_shares import WaitShares


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
    >>> from shadowtime.study.obstacle import Obstacle
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


def _amount(one: Obstacle, kind: Kind, jobs: str) -> str:
    """Of what is counted over the whole site."""
    title, asked = f"{kind.name} {one.name}".rstrip(), kind.count(number(one.asked))
    if one.asked > one.bound:
        return f"{title}: the site has {kind.count(number(one.bound))} and it asks for {asked}"
    return (
        f"{title}: {number(one.used)} of {kind.count(number(one.bound))} were in use and it "
        f"asks for {asked}; held by {jobs}"
    )


def _why(one: Obstacle, named: Callable[[Sequence[int]], str]) -> str:
    jobs = named(one.jobs) if one.jobs else ""
    if one.kind == "begin":
        return HELD.get(one.name, "it was not eligible: a begin time, a dependency or a hold")
    if one.kind == "dependency":
        return f"it depended ({one.name}) on {jobs}"
    if one.kind == "throttle":
        return f"its array may run {number(one.bound)} at once; at the end {jobs} ran"
    if one.kind == "cancelled":
        return "it was cancelled while it waited"
    if one.kind == "own-reservation":
        return f"its reservation {one.name} had not begun or left too little time"
    if one.kind == "size":
        return "it fits on no nodes of its partitions, even if they are empty"
    for kind in COUNTED:
        if one.kind == kind.name:
            return _amount(one, kind, jobs)
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


def unstarted_lines(found: Sequence[Unstarted]) -> list[str]:
    """A sentence for each cause for which jobs never started.

    Examples
    --------
    >>> from shadowtime.metrics.unstarted import Unstarted
    >>> one = Unstarted(why="fits nowhere", jobs=2, wait_mean_s=90, wait_max_s=120, first=(3, 9))
    >>> unstarted_lines([one])
    ['2 jobs: fits nowhere; waited 1 min 30 s in the mean, 2 min at most, or longer (3, 9)']
    """
    lines = []
    for one in found:
        ids = ", ".join(str(job) for job in one.first) + (", ..." * (one.jobs > len(one.first)))
        if one.jobs == 1:
            lines.append(f"1 job: {one.why}; waited {span(one.wait_max_s)} or longer (job {ids})")
            continue
        lines.append(
            f"{number(one.jobs)} jobs: {one.why}; waited {span(round(one.wait_mean_s))} in the "
            f"mean, {span(one.wait_max_s)} at most, or longer ({ids})"
        )
    return lines


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


MEANING = {
    Cause.NOT_ELIGIBLE: "a begin time, a dependency or a hold",
    Cause.LIMITS: "limits of a QOS or account, array throttles, licences",
    Cause.RESERVATIONS: "nodes reserved for others, or an own reservation not begun",
    Cause.OUTAGES: "nodes down or drained",
    Cause.FRAGMENTATION: "enough was free, but not together",
    Cause.OWN: "too little free; without the same user's running jobs it would fit",
    Cause.WIDE: f"too little free; without running jobs over 1/{WIDE} of the machine it would fit",
    Cause.FULL: "too little free, because of many jobs",
    Cause.PROMISES: "it would fit, but a waiting job had been promised a start",
    Cause.PRIORITIES: "it would fit, but others were ahead in the order",
    Cause.PASS: "it would fit at the scheduler's next pass",
    Cause.OTHER: "the schedule does not show what the policy waited for",
}
"""What each cause means, in a line."""


def share_rows(
    found: WaitShares, called: Callable[[int], str]
) -> list[tuple[str, str, str, str, str]]:
    """(cause, share, time, jobs, examples) of each cause.

    Examples
    --------
    >>> from shadowtime.study.wait_shares import Example, Share, WaitShares
    >>> one = Share(cause=Cause.LIMITS, seconds=90, share=1.0, jobs=1,
    ...             examples=(Example(job=7, seconds=90, since=0),))
    >>> found = WaitShares(jobs=3, waited=1, looked_at=1, seconds=90, shares=(one,))
    >>> share_rows(found, str)[0][-1], share_line(found, "user eva")
    ('7 (1 min 30 s)', '1 of 3 jobs of user eva waited, 1 min 30 s in total:')
    """
    return [
        (
            str(one.cause),
            percent(one.share),
            span(one.seconds),
            number(one.jobs),
            ", ".join(f"{called(job.job)} ({span(job.seconds)})" for job in one.examples),
        )
        for one in found.shares
    ]


def share_line(found: WaitShares, whose: str) -> str:
    """How many waited, and for how long."""
    head = f"{number(found.waited)} of {number(found.jobs)} jobs of {whose} waited"
    if not found.waited:
        return f"None of the {number(found.jobs)} jobs of {whose} waited."
    if found.looked_at == found.waited:
        return f"{head}, {span(found.seconds)} in total:"
    each = -(-found.waited // found.looked_at)
    return (
        f"{head}; every {number(each)}th of them was looked at ({number(found.looked_at)} jobs, "
        f"{span(found.seconds)} in total):"
    )
