"""How a start lies on several nodes is for the scheduler to say: it may fill up the first of them.

A plan shares a job out over its nodes; the loop can name these, but not what the job takes of each.
Nor does it choose the order in which the scheduler allocates jobs that were let through together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Amounts = Sequence[int]


def slack(held: Sequence[tuple[str, Amounts]]) -> dict[str, list[int]]:
    """What a job may take of each node beyond its plan: all but a processor of each other node.

    Examples
    --------
    >>> slack([("n1", (2, 8)), ("n2", (3, 12)), ("n3", (1, 4))])
    {'n1': [2, 8], 'n2': [1, 4], 'n3': [3, 12]}
    >>> slack([("n1", (2, 8))]), slack([("n1", (1, 4)), ("n2", (1, 4))])
    ({}, {})
    """
    total = sum(amounts[0] for _, amounts in held)
    most = total - (len(held) - 1)
    each = [
        max((-(-amounts[k] // max(1, amounts[0])) for _, amounts in held), default=0)
        for k in range(len(held[0][1]) if held else 0)
    ]
    return {
        host: [share * (most - amounts[0]) for share in each]
        for host, amounts in held
        if len(held) > 1 and most > amounts[0]
    }


class Loose:
    """Starts on their way that the scheduler has not allocated yet, and what each may still take.

    Rules
    -----
    Where two or more such starts meet on a node, what is free there beside their plans must be
    enough for whatever the scheduler may take beyond the plans; then each finds room, in any order
    and however the others lie.

    Examples
    --------
    >>> known = Loose()
    >>> known.add([("n1", (2,)), ("n2", (3,))])
    >>> known.crowded([("n1", (1,))], {"n1": [1], "n2": [0]})
    'n1'
    >>> known.crowded([("n1", (1,))], {"n1": [2], "n2": [0]})
    ''
    >>> known.crowded([("n3", (1,))], {"n3": [0]})
    ''
    """

    def __init__(self, before: Mapping[str, tuple[int, list[int]]] | None = None) -> None:
        self._on = dict(before or {})
        """By node how many starts are on their way there, and what they may take together."""

    def copy(self) -> Loose:
        """The same, to go back to."""
        return Loose(self._on)

    def add(self, held: Sequence[tuple[str, Amounts]]) -> None:
        """Count a start that is on its way."""
        for host, count, more in self._with(held):
            self._on[host] = count, more

    def crowded(self, held: Sequence[tuple[str, Amounts]], free: Mapping[str, Amounts]) -> str:
        """A node on which a further start might find no room; ``free``: beside all plans and it."""
        return next(
            (
                host
                for host, count, more in self._with(held)
                if count > 1
                and any(amount > left for amount, left in zip(more, free[host], strict=True))
            ),
            "",
        )

    def _with(self, held: Sequence[tuple[str, Amounts]]) -> Iterable[tuple[str, int, list[int]]]:
        further = slack(held)
        for host, amounts in held:
            count, more = self._on.get(host, (0, [0] * len(amounts)))
            extra = further.get(host, [0] * len(amounts))
            yield host, count + 1, [a + b for a, b in zip(more, extra, strict=True)]
