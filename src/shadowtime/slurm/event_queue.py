"""The events of a run of slurmctld, in the order in which they take effect."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from shadowtime.types import Ints


class Event(NamedTuple):
    """Ordered by time, rank and number; no two have the same number."""

    time: float
    rank: int
    number: int
    kind: str
    what: Any = None


RANKS = {
    name: rank
    for rank, name in enumerate(
        ("end", "free", "world", "tick", "sweep", "cancel", "submit", "ready")
    )
}
"""The kinds of events, in their order at one instant."""
PERIODIC = ("tick", "sweep")
"""Kinds that each schedule their next one."""


class EventQueue:
    """What will happen, the next event first; equal ones in the order of scheduling.

    Examples
    --------
    >>> queue = EventQueue()
    >>> queue.at(5.0, "submit", 1)
    >>> queue.at(5.0, "end", 2)
    >>> queue.next_time, queue.pop().what, queue.pop().what, queue.next_time
    (5.0, 2, 1, inf)
    """

    def __init__(self) -> None:
        self._heap: list[Event] = []
        self.number = 0
        """Events so far: each has its own number."""

    def __bool__(self) -> bool:
        return bool(self._heap)

    def at(self, time: float, kind: str, what: Any = None) -> None:
        """Schedule an event."""
        self.number += 1
        heapq.heappush(self._heap, Event(time, RANKS[kind], self.number, kind, what))

    @property
    def next_time(self) -> float:
        """When the next event takes place."""
        return self._heap[0].time if self._heap else math.inf

    def pop(self) -> Event:
        """The next event, which is no longer in the queue."""
        return heapq.heappop(self._heap)

    def peek(self) -> Event:
        """The next event."""
        return self._heap[0]

    def to_submit(self) -> Iterator[Any]:
        """What is still to be submitted."""
        return (event.what for event in self._heap if event.kind == "submit")

    def split(self, kinds: tuple[str, ...]) -> tuple[list[Event], list[Event]]:
        """The events of these kinds, in their order, and the others."""
        own = sorted(event for event in self._heap if event.kind in kinds)
        return own, [event for event in self._heap if event.kind not in kinds]

    def keep(self, events: list[Event]) -> None:
        """These are all events."""
        self._heap = events
        heapq.heapify(self._heap)

    def put_back(self, event: Event) -> None:
        """An event that has its number already."""
        heapq.heappush(self._heap, event)

    @property
    def only_periodic(self) -> bool:
        """True if nothing is left but what repeats for ever: one event of each such kind."""
        few = len(self._heap) <= len(PERIODIC)
        return few and all(event.kind in PERIODIC for event in self._heap)

    def since(self, number: int) -> tuple[Ints, list[Event]]:
        """Events that are left: the numbers of those up to ``number``, and the later ones."""
        early = [event.number for event in self._heap if event.number <= number]
        return np.array(early, np.int64), [one for one in self._heap if one.number > number]

    def restore(self, early: Ints, later: list[Event], number: int) -> None:
        """What :meth:`since` told, in a queue that still has all of the early ones."""
        left = set(early.tolist())
        self._heap = [event for event in self._heap if event.number in left] + later
        heapq.heapify(self._heap)
        self.number = number
