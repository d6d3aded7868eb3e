"""The slots that a function of the user's own may fill, by number: the pointer's first argument."""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import FAILED, NOW

ORDER = 0
"""A key for each candidate, higher first."""
BACKFILL_KEY = 1
"""The same among those who may overtake."""
BACKFILL_TEST = 2
"""Not 0: the candidate may overtake."""
RESERVE = 3
"""Not 0: the blocked job gets a reservation."""
PLAN = 4
"""In: the earliest start of a reservation; out: the instant at which it is to lie."""
ESTIMATE = 5
"""Expected run time of a job that was just submitted."""
LEARN_SUBMIT = 6
LEARN_START = 7
LEARN_END = 8
"""What happened: the function writes into the memory."""

SLOT_SHIFT = 48
"""FAILED holds slot << SLOT_SHIFT | job."""
IN_USE = 6
"""Place in a frame's parameters of the bits 1 << slot."""


@kernel
def asks(f: Any, slot: int) -> bool:
    """True if a function fills the slot."""
    return bool(f.par[IN_USE] & (1 << slot) != 0)


@kernel
def ask(state: Any, f: Any, custom: Any, slot: int, jobs: Any, out: Any) -> None:
    """Let a function answer for some jobs; the first failure of a pass is noted."""
    call(custom, slot, state.reg, state.job, f.fact, jobs, f.memory, out)


@kernel
def ask_one(state: Any, f: Any, custom: Any, slot: int, job: int, given: float) -> float:
    """The answer for one job."""
    return call_for_one(
        custom, slot, state.reg, state.job, f.fact, f.memory, f.asked, f.answer, job, given
    )


# Not inlined: most policies bring no function, and their passes should hold no trace of one.
@routine
def call(
    custom: Any, slot: int, reg: Any, table: Any, fact: Any, jobs: Any, memory: Any, out: Any
) -> None:
    """Call the pointer."""
    failed = custom(slot, reg[NOW], table, fact, jobs, memory, out)
    if failed >= 0 and reg[FAILED] < 0:
        reg[FAILED] = slot << SLOT_SHIFT | jobs[failed]


@routine
def call_for_one(
    custom: Any,
    slot: int,
    reg: Any,
    table: Any,
    fact: Any,
    memory: Any,
    asked: Any,
    answer: Any,
    job: int,
    given: float,
) -> float:
    """Call the pointer for one job."""
    asked[0] = job
    answer[0, 0] = given
    call(custom, slot, reg, table, fact, asked[:1], memory, answer[0, :1])
    return float(answer[0, 0])
