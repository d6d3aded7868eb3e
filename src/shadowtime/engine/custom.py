"""What a policy's own functions need in a run: their pointer, their tables, their memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.engine.digest import is_lasting
from shadowtime.engine.fillers import compile_uses
from shadowtime.engine.selecting import Chooser
from shadowtime.engine.uses import facts_of, no_facts, uses_of
from shadowtime.kernel.given import given_keys
from shadowtime.kernel.record import NODE_WORDS, OFFERS_FROM, no_function
from shadowtime.kernel.slots import ORDER
from shadowtime.policy.written import ALL

if TYPE_CHECKING:
    from shadowtime.policy import Policy
    from shadowtime.types import Floats, Ints
    from shadowtime.workload import Workload


class Own(NamedTuple):
    """What a policy's functions need in a pass."""

    pointer: Any
    bits: int
    """1 << slot of every slot in use."""
    lasting: bool
    """True if the order's keys stay as they are while a job waits."""
    fact: Ints
    memory: Floats
    timers: tuple[tuple[int, int, int], ...] = ()
    """Of each timer its period, 0, and 1 if it writes into the row of all jobs (slots.py)."""
    chooser: Any = None
    """The function that chooses sets of jobs (selecting.py), if there is one."""
    offers: Ints | None = None
    """What a place function was asked about last (kernel/site/score.py)."""

    def on_nodes(self, count: int) -> Own:
        """The same, with room to ask a place function about ``count`` nodes."""
        return self._replace(offers=np.zeros(OFFERS_FROM + NODE_WORDS * count, np.int64))


def own_of(policy: Policy, workload: Workload | None) -> Own:
    """The pointer of a policy and the tables it works on."""
    if policy.order.by_usage:
        keys = np.zeros((max(1, len(workload) if workload is not None else 0), 1))
        return Own(given_keys, 1 << ORDER, False, no_facts(), keys)
    uses = uses_of(policy)
    chooser = None
    if policy.backfill.selects:
        chooser = Chooser(policy.backfill)  # type: ignore[arg-type]
    if not uses:
        fact = facts_of(workload) if chooser and workload is not None else no_facts()
        return Own(no_function, 0, False, fact, np.zeros((1, 1)), chooser=chooser)
    whose = tuple(sorted({use.whose for use in uses if use.width and use.whose != ALL}))
    fact = no_facts() if workload is None else facts_of(workload, whose)
    width = max(use.column + use.width for use in uses)
    rows = int(fact[:, list(whose)].max(initial=0)) + 2  # the last is that of all jobs
    moves = policy.estimate.changes  # it changes while a job waits
    lasting = uses[0].slot == ORDER and not moves and is_lasting(uses[0])
    return Own(
        pointer=compile_uses(uses),
        bits=sum(1 << slot for slot in {use.slot for use in uses}),
        lasting=lasting,
        fact=fact,
        memory=np.zeros((rows, max(1, width))),
        timers=tuple((use.every, 0, int(use.whose == ALL)) for use in uses if use.every),
        chooser=chooser,
    )
