"""What a policy's own functions need in a run: their pointer, their tables, their memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from shadowtime.engine.columns import (
    Column,
    add_columns,
    columns_of,
    columns_read,
    every_column,
    predicted,
    refuse_unknown_fields,
)
from shadowtime.engine.digest import is_lasting
from shadowtime.engine.fillers import compile_uses
from shadowtime.engine.selecting import Chooser
from shadowtime.engine.series import NO_SERIES, packed_series, series_read
from shadowtime.engine.uses import Use, facts_of, no_facts, uses_of
from shadowtime.kernel.record import NODE_WORDS, OFFERS_FROM, given_keys, no_function
from shadowtime.kernel.slots import ORDER
from shadowtime.policy import Policy
from shadowtime.policy.written import ALL
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
    columns: tuple[Column, ...] = ()
    """Further columns of the log, which stand behind the facts of all jobs."""
    series: Floats = NO_SERIES
    """The run's values over time that functions read, as kernel/curve.py packs them."""
    uses: tuple[Use, ...] = ()
    """Each function in its slot."""
    offers: Ints | None = None
    """What a place function was asked about last (kernel/site/choose.py)."""

    def on_nodes(self, count: int) -> Own:
        """The same, with room to ask a place function about ``count`` nodes."""
        return self._replace(offers=np.zeros(OFFERS_FROM + NODE_WORDS * count, np.int64))


def own_of(policy: Policy, workload: Workload | None) -> Own:
    """The pointer of a policy and the tables it works on."""
    if policy.order.by_usage:
        keys = np.zeros((max(1, len(workload) if workload is not None else 0), 1))
        return Own(given_keys, 1 << ORDER, False, no_facts(), keys)
    uses = uses_of(policy)
    known = {} if workload is None else columns_of(workload) | predicted(policy, workload)
    refuse_unknown_fields(uses, known)
    functions = [use.function for use in uses]
    columns = columns_read(functions, known)
    chooser = None
    if policy.backfill.selects:
        part: Any = policy.backfill
        functions.append(part.function)
        columns = columns_read(functions, known) if part.compiled else every_column(known)
    names = series_read(functions, workload)
    packed = packed_series(names, workload)
    if policy.backfill.selects:
        chooser = Chooser(part, columns, names, packed)
    if not uses:
        fact = no_facts()
        if chooser and workload is not None:
            fact = add_columns(facts_of(workload), columns, known)
        made = Own(no_function, 0, False, fact, np.zeros((1, 1)), chooser=chooser)
        return made._replace(columns=columns, series=packed)
    uses = tuple(replace(use, columns=columns, series=names) for use in uses)
    whose = tuple(sorted({use.whose for use in uses if use.width and use.whose != ALL}))
    fact = no_facts()
    if workload is not None:
        fact = add_columns(facts_of(workload, whose), columns, known)
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
        columns=columns,
        series=packed,
        uses=uses,
    )
