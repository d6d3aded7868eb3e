"""Estimates whose number of jobs is known take their place in the model's head."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.errors import UsageError
from shadowtime.workload.tsafrir_head import EVERYWHERE, HEAD, HEAD_SHARE

if TYPE_CHECKING:
    from collections.abc import Mapping


def check_given(given: Mapping[int, int], jobs: int, max_estimate: int) -> None:
    """Refuse what cannot be: too many estimates, too many jobs, times out of range."""
    if len(set(given) | {max_estimate}) > HEAD:
        raise UsageError(
            f"{len(given)} estimates are given; the head has room for {HEAD} with the maximum"
        )
    for time, count in given.items():
        if not 0 < time <= max_estimate or count < 0:
            raise UsageError(
                f"{count} jobs with an estimate of {time} s cannot be; estimates lie between 1 and "
                f"{max_estimate} s and counts are not negative"
            )
    if sum(given.values()) > jobs:
        raise UsageError(
            f"the given estimates hold {sum(given.values())} jobs of {jobs}; give fewer"
        )


def with_given_times(times: tuple[int, ...], given: Mapping[int, int]) -> tuple[int, ...]:
    """The head's times with the given ones among them.

    A given time that is new takes the place of the nearest head time: round ones go before
    those that are popular everywhere, the maximum stays.

    Examples
    --------
    >>> head = (36000, *range(300, 6000, 300))
    >>> sorted(set(with_given_times(head, {620: 5})) - set(head))
    [620]
    """
    new = {time for time in given if time not in times}
    kept = set(times[1:])
    for group in (kept - set(EVERYWHERE), kept & set(EVERYWHERE)):
        pairs = sorted((abs(a - b), a, b) for a in new for b in group - set(given))
        for _, mine, theirs in pairs:
            if mine in new and theirs in kept:
                new.remove(mine)
                kept = kept - {theirs} | {mine}
    return (times[0], *sorted(kept))


def with_given_sizes(
    sizes: tuple[float, ...], given: Mapping[int, int], jobs: int, max_estimate: int
) -> tuple[tuple[float, ...], dict[int, int]]:
    """The head's sizes in percent by rank, and the rank of each given estimate.

    A given size stands for the nearest model size; the others are scaled so that the head keeps
    its 89 % (to nothing if the given ones hold that many), and all but the maximum's are ranked
    again.
    """
    share = {time: 100 * count / jobs for time, count in given.items()}
    free = list(sizes[1:])
    for time in sorted(given, key=lambda t: (-given[t], t)):
        if time != max_estimate:
            free.remove(min(free, key=lambda size: abs(size - share[time])))
    top = [] if max_estimate in given else [sizes[0]]
    factor = max(0.0, HEAD_SHARE - sum(share.values())) / (sum(free + top) or 1.0)
    rest = [(size * factor, 0) for size in free]
    rest += [(size, time) for time, size in share.items() if time != max_estimate]
    rest.sort(key=lambda pair: (-pair[0], pair[1]))
    ranks = {time: rank for rank, (_, time) in enumerate(rest, start=2) if time}
    if max_estimate in given:
        ranks[max_estimate] = 1
    first = share.get(max_estimate, sizes[0] * factor)
    return (first, *(size for size, _ in rest)), ranks
