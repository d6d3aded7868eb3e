"""Features with counts: how many more nodes are needed so that each count is reached.

``count[row, s]`` is how many nodes a set ``s`` of the counts asks for together; ``kind[row, node]``
says which counts a node satisfies, as bits. By Hall's theorem the nodes used so far lack the most
that any set of counts still asks for beyond the nodes that satisfy one of them (``scratch[HITS]``).
"""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.jit import kernel
from shadowtime.kernel.site.fields import HITS, SETS


@kernel
def use_none(ground: Any) -> None:
    """No node is used yet."""
    for one in range(SETS):
        ground.scratch[HITS, one] = 0


@kernel
def use(ground: Any, row: int, node: int) -> None:
    """One more node is used."""
    for one in range(SETS):
        if ground.kind[row, node] & one != 0:
            ground.scratch[HITS, one] += 1


@kernel
def missing(ground: Any, row: int) -> int:
    """Nodes that are still needed at the least."""
    worst = 0
    for one in range(SETS):
        worst = max(worst, ground.count[row, one] - ground.scratch[HITS, one])
    return worst


@kernel
def missing_with(ground: Any, row: int, node: int) -> int:
    """Nodes that are still needed at the least, once this one is used too."""
    worst = 0
    for one in range(SETS):
        lack = ground.count[row, one] - ground.scratch[HITS, one]
        if ground.kind[row, node] & one != 0:
            lack -= 1
        worst = max(worst, lack)
    return worst
