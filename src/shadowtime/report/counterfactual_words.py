"""Sentences about a run with one thing changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from shadowtime.report.numbers import count, number, span
from shadowtime.study.counterfactual.chain import Link, Via
from shadowtime.study.counterfactual.variation import is_condition
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from shadowtime.study.counterfactual.otherwise import Otherwise

ENDS = 3
"""Links of a long chain that are told from its beginning and from its end."""


def otherwise_lines(
    found: Otherwise, at: Callable[[int], str], called: Callable[[int], str]
) -> list[str]:
    """When the job starts then, who else is affected, and the chain, a line each.

    Examples
    --------
    >>> from shadowtime.study.counterfactual.otherwise import Otherwise
    >>> found = Otherwise(
    ...     without=("1",), instead=(), job=3, submit_before=0, submit_after=0, before=90, after=30,
    ...     killed=False, taken_away=1, earlier=0, later=0, earlier_s=0, later_s=0, start_now=0,
    ...     start_no_more=0, largest_earlier=(), largest_later=(), chain=(),
    ... )
    >>> print(*otherwise_lines(found, str, str), sep=chr(10))
    Without job 1: it would start 30, 1 min earlier.
    No other job would start at another time.
    """
    lines = [f"{_changed(found)}: {_start(found, at)}", _others(found, called)]
    if found.chain:
        whom = "" if found.chain[-1].job == found.job else f" to job {called(found.chain[-1].job)}"
        lines.append(f"The chain{whom}: {_chain(found.chain, at, called)}")
    return lines


def _changed(found: Otherwise) -> str:
    gone = " and ".join(
        f"jobs with {one}" if is_condition(one) else f"job {one}" for one in found.without
    )
    several = any(map(is_condition, found.without))
    count = f" ({number(found.taken_away)} of them)" if several else ""
    changes = " and ".join(f"{key}={value}" for key, value in found.instead)
    parts = [f"without {gone}{count}"] * bool(gone) + [f"with {changes}"] * bool(changes)
    text = " and ".join(parts)
    return f"{text[:1].upper()}{text[1:]}"


def _start(found: Otherwise, at: Callable[[int], str]) -> str:
    if found.after == UNKNOWN:
        never = "it would never start"
        return f"{never}, as before." if found.before == UNKNOWN else f"{never}."
    if found.before == UNKNOWN:
        return f"it would start {at(found.after)}; as it was it never did."
    shift = found.after - found.before
    if shift:
        how = f"{span(abs(shift))} {'later' if shift > 0 else 'earlier'}"
        text = f"it would start {at(found.after)}, {how}"
    else:
        text = "it would start at the same time"
    if found.submit_after != found.submit_before:
        waits = [found.before - found.submit_before, found.after - found.submit_after]
        text += f", and wait {span(waits[1])} instead of {span(waits[0])}"
    killed = ", and be killed at its limit" if found.killed else ""
    return f"{text}{killed}."


def _others(found: Otherwise, called: Callable[[int], str]) -> str:
    if not found.affected:
        return "No other job would start at another time."
    parts = []
    for moved, total, which, way in (
        (found.earlier, found.earlier_s, found.largest_earlier, "earlier"),
        (found.later, found.later_s, found.largest_later, "later"),
    ):
        names = ", ".join(
            f"job {called(one.job)} by {span(abs(one.after - one.before))}" for one in which[:ENDS]
        )
        if moved > 1:
            names = f"{span(total)} in total, most of all {names}"
        if moved:
            parts.append(f"{number(moved)} {way} ({names})")
    if found.start_now:
        parts.append(f"{number(found.start_now)} that never started")
    if found.start_no_more:
        parts.append(f"{number(found.start_no_more)} would never start")
    return f"{count(found.affected, 'other job')} would start at another time: {'; '.join(parts)}."


def _chain(links: Sequence[Link], at: Callable[[int], str], called: Callable[[int], str]) -> str:
    """Each link with its cause; the middle of a long chain is counted."""
    pairs = list(pairwise(links))
    left = len(pairs) - 2 * ENDS
    shown = [*pairs[:ENDS], None, *pairs[-ENDS:]] if left > 1 else pairs
    words = [
        f"{number(left)} more jobs" if pair is None else _link(*pair, at, called) for pair in shown
    ]
    return "; ".join(words) + "."


def _link(cause: Link, one: Link, at: Callable[[int], str], called: Callable[[int], str]) -> str:
    who = f"job {called(cause.job)}"
    old = one.in_old_run
    if one.via is Via.HELD:
        procs = count(one.procs, "processor")
        why = f"{who} {'held' if old else 'would hold'} {procs} until {at(one.until)}"
    elif one.via is Via.AHEAD:
        why = f"{who} {'was' if old else 'would be'} promised {at(one.promised)}"
    elif one.via is Via.QUEUED:
        why = f"{who} {'waited' if old else 'would wait'} then"
    else:
        why = f"the queue differs since {who}"
    if one.after == UNKNOWN:
        return f"{why}, so job {called(one.job)} would never start"
    late = "" if one.before == UNKNOWN else f" instead of {at(one.before)}"
    return f"{why}, so job {called(one.job)} would start {at(one.after)}{late}"
