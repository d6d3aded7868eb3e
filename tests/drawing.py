"""Draw many small values of a random world quickly.

Hypothesis looks at each strategy before it first draws from it, which takes longer than the draw: a
world that makes its strategies anew for each job spends most of its time on that. Here a value is
a whole number drawn from a strategy that is made once, and what is chosen from a few values is
their index. Examples shrink as they do with ``sampled_from`` and ``integers``: towards the first
value and the lowest number.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from hypothesis import strategies as st

Value = TypeVar("Value")


@cache
def up_to(most: int) -> st.SearchStrategy[int]:
    """Whole numbers from 0 on."""
    return st.integers(0, most)


class Drawing:
    """What a composite strategy draws with: ``pick = Drawing(draw)``."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def number(self, low: int, high: int) -> int:
        """A whole number, both bounds included."""
        return low + self.draw(up_to(high - low))

    def one(self, values: Sequence[Value]) -> Value:
        """One of the values; one that is listed twice is drawn twice as often."""
        return values[self.draw(up_to(len(values) - 1))]

    def yes(self) -> bool:
        """True or False."""
        return self.draw(up_to(1)) == 1

    def some(self, values: Sequence[Value], *, least: int = 0) -> list[Value]:
        """None (unless ``least`` is 1), some or all of the values, in their order."""
        bits = self.number(least, (1 << len(values)) - 1)
        return [value for at, value in enumerate(values) if bits >> at & 1]

    def shuffled(self, values: Sequence[Value]) -> list[Value]:
        """The values in any order."""
        found = list(values)
        for at in range(len(found) - 1):
            other = self.number(at, len(found) - 1)
            found[at], found[other] = found[other], found[at]
        return found
