"""The map of plans of one backfill pass: intervals with the nodes that are not planned away."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from operator import attrgetter

_end = attrgetter("end")


@dataclass(slots=True)
class Span:
    """[begin, end) and the nodes still free of plans."""

    begin: int
    end: int
    nodes: int


class PlanMap:
    """Intervals in order of time (spec: slurm 3.1, 3.4, 3.10, 3.11).

    ``made`` counts records as Slurm does: merging frees none. ``version`` counts changes.

    Examples
    --------
    >>> plans = PlanMap(0, 100, 0b11, resolution=10)
    >>> plans.add(20, 50, 0b01)
    >>> [(span.begin, span.end, span.nodes) for span in plans.spans]
    [(0, 20, 3), (20, 50, 2), (50, 100, 3)]
    """

    def __init__(
        self, begin: int, end: int, nodes: int, *, resolution: int, goes_on: bool = False
    ) -> None:
        self.spans = [Span(begin, end, nodes)]
        self.made = 1
        self.version = 0
        self.resolution = resolution
        self.goes_on = goes_on
        """Behind a job's end the search names the end of the span after the next one."""

    def search(self, base: int, start: int, end: int) -> tuple[int, int]:
        """Nodes free in every span of [start, end], and when to try again (0: never)."""
        free = base
        later = 0
        spans = self.spans
        last = len(spans) - 1
        for at in range(self._from(start), last + 1):
            span = spans[at]
            if later == 0 and at < last and base & spans[at + 1].nodes & ~(free & span.nodes):
                later = span.end
            if span.begin > end:
                if later == 0 and self.goes_on and at + 2 <= last:
                    later = spans[at + 1].end
                break
            free &= span.nodes
        return free, later

    def _from(self, time: int) -> int:
        """The first span that ends after a time."""
        if self.spans[0].end > time:  # where every first try lies
            return 0
        return bisect_right(self.spans, time, key=_end)

    def next_try(self, base: int, start: int, end: int) -> int:
        """The second answer of :meth:`search` alone."""
        free = base
        spans = self.spans
        last = len(spans) - 1
        for at in range(self._from(start), last + 1):
            span = spans[at]
            free &= span.nodes
            if at < last and base & spans[at + 1].nodes & ~free:
                return span.end
            if span.begin > end:
                return spans[at + 1].end if self.goes_on and at + 2 <= last else 0
        return 0

    def free(self, start: int, end: int) -> int:
        """Nodes free in every span of [start, end]: the first answer of :meth:`search` alone."""
        found = -1
        spans = self.spans
        for at in range(self._from(start), len(spans)):
            span = spans[at]
            if span.begin > end:
                break
            found &= span.nodes
        return found

    def shrinking(self, base: int, start: int) -> tuple[list[int], list[int]]:
        """How many nodes of ``base`` stay free from ``start`` on: the begins, and the number at
        each.

        Examples
        --------
        >>> plans = PlanMap(0, 100, 0b111, resolution=10)
        >>> plans.add(20, 50, 0b001)
        >>> plans.shrinking(0b011, 0)
        ([0, 20, 50], [2, 1, 1])
        """
        begins, counts = [], []
        for at in range(self._from(start), len(self.spans)):
            span = self.spans[at]
            base &= span.nodes
            begins.append(span.begin)
            counts.append(base.bit_count())
        return begins, counts

    def widest(self) -> int:
        """The most nodes that any span has free."""
        return max(span.nodes.bit_count() for span in self.spans)

    def conflicts(self, begin: int, end: int, nodes: int) -> bool:
        """True where one of these nodes is planned away somewhere in [begin, end)."""
        spans = self.spans
        for at in range(self._from(begin), len(spans)):
            span = spans[at]
            if span.begin >= end:
                break
            if nodes & ~span.nodes:
                return True
        return False

    def add(self, begin: int, end: int, nodes: int) -> None:
        """Plan these nodes away during [begin, end), then merge at most one pair of spans."""
        self.version += 1
        spans = self.spans
        begin = max(begin, spans[0].begin)
        end = max(end, begin + self.resolution)
        before = 0
        at = -1
        for place, span in enumerate(spans):
            if span.end > begin:
                spans.insert(place + 1, Span(begin, span.end, span.nodes))
                span.end = begin
                self.made += 1
                at = place
                break
            if span.end == begin:
                at = place
                break
            before = place
        after = -1
        if at >= 0:
            place = at + 1
            while place < len(spans):
                span = spans[place]
                if end < span.end:
                    spans.insert(place + 1, Span(end, span.end, span.nodes))
                    span.end = end
                    self.made += 1
                span.nodes &= ~nodes
                if end == span.end:
                    if place + 1 < len(spans):
                        after = place + 1
                    break
                place += 1
        place = before
        while place != after and place + 1 < len(spans):
            if spans[place].nodes == spans[place + 1].nodes:
                spans[place].end = spans[place + 1].end
                del spans[place + 1]
                break
            place += 1
