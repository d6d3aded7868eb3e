"""Sentences about what the waits of a group are due to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.report.numbers import number, percent, span
from shadowtime.study.cause import WIDE, Cause

if TYPE_CHECKING:
    from collections.abc import Callable

    from shadowtime.study.wait_shares import WaitShares

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
