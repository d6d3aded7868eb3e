"""The slots that a function of the user's own may fill, by number: the pointer's first argument."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import FAILED, NOW

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol, TypeAlias

    from shadowtime.kernel.state import State
    from shadowtime.types import Floats, Ints

if TYPE_CHECKING:
    OwnPointer: TypeAlias = Callable[..., int]
    """The pointer through which the functions of a user's own are called."""

    class Knowing(Protocol):
        """A pass's record, as far as such functions learn of it."""

        @property
        def par(self) -> Ints: ...
        @property
        def fact(self) -> Ints: ...
        @property
        def memory(self) -> Floats: ...
        @property
        def series(self) -> Floats: ...

    class Asking(Knowing, Protocol):
        """One with room for questions about single jobs."""

        @property
        def asked(self) -> Ints: ...
        @property
        def answer(self) -> Floats: ...


ORDER = 0
"""A key for each candidate, higher first."""
BACKFILL_KEY = 1
"""The same among the jobs that may overtake."""
BACKFILL_TEST = 2
"""In: the head's reservation; out: not 0 if the candidate may overtake."""
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
VICTIM = 9
"""A key for each running job that may be stopped, higher first."""
PLACE = 10
"""A score for each node that has room for a job, higher first (kernel/site/choose.py)."""
BEGIN = 11
"""The instant before which a job that was just submitted must not start."""
LEARN_TIMER = 12
"""The first of the slots of timers: the function writes into rows of the memory."""
TIMERS = 4
"""How many timers a policy may have."""

SLOT_SHIFT = 48
"""FAILED holds slot << SLOT_SHIFT | job."""
IN_USE = 6
"""Place in a pass's parameters of the bits 1 << slot."""
TIMES_FROM = 9
"""Place in a pass's parameters of the timers: of each its period, when it is due next (0: not
known yet) and whether it writes into the row of all jobs alone."""
PERIOD, DUE, WHOLE, TIME_WORDS = 0, 1, 2, 3


@kernel
def asks(f: Knowing, slot: int) -> bool:
    """True if a function fills the slot."""
    return bool(f.par[IN_USE] & (1 << slot) != 0)


@kernel
def ask(state: State, f: Knowing, custom: OwnPointer, slot: int, jobs: Ints, out: Floats) -> None:
    """Let a function answer for some jobs; the first failure of a pass is noted."""
    call(custom, slot, state.reg, state.job, f.fact, jobs, f.memory, f.series, out)


@kernel
def ask_one(
    state: State, f: Asking, custom: OwnPointer, slot: int, job: int, given: float
) -> float:
    """The answer for one job."""
    f.asked[0] = job
    f.answer[0, 0] = given
    call(
        custom, slot, state.reg, state.job, f.fact, f.asked[:1], f.memory, f.series, f.answer[0, :1]
    )
    return float(f.answer[0, 0])


@routine
def tick(state: State, f: Asking, custom: OwnPointer, until: int) -> None:
    """Let the timers go off that are due by an instant, in order of time, then of slots.

    A timer is due at every multiple of its period behind the first pass. No pass happens because
    of it, so it is soon enough to do it at the next one.
    """
    while state.reg[FAILED] < 0:
        first = -1
        for timer in range(TIMERS):
            at = TIMES_FROM + TIME_WORDS * timer
            if f.par[at + PERIOD] == 0:
                continue
            if f.par[at + DUE] == 0:
                f.par[at + DUE] = (state.reg[NOW] // f.par[at + PERIOD] + 1) * f.par[at + PERIOD]
            if f.par[at + DUE] <= until and (first < 0 or f.par[at + DUE] < f.par[first + DUE]):
                first = at
        if first < 0:
            return
        rows = f.memory.shape[0] - 1
        f.asked[0] = rows  # the row of all jobs
        if f.par[first + WHOLE] == 0:
            for row in range(rows):
                f.asked[row] = row
        else:
            rows = 1
        slot = LEARN_TIMER + (first - TIMES_FROM) // TIME_WORDS
        now = state.reg[NOW]
        state.reg[NOW] = f.par[first + DUE]
        out = f.answer[0, :rows]
        call(custom, slot, state.reg, state.job, f.fact, f.asked[:rows], f.memory, f.series, out)
        if state.reg[FAILED] < 0:  # the failed job is reported with its instant
            state.reg[NOW] = now
        f.par[first + DUE] += f.par[first + PERIOD]


# Not inlined: most policies bring no function, and their passes should hold no trace of one.
@routine
def call(
    custom: OwnPointer,
    slot: int,
    reg: Ints,
    table: Ints,
    fact: Ints,
    jobs: Ints,
    memory: Floats,
    series: Floats,
    out: Floats,
) -> None:
    """Call the pointer."""
    failed = custom(slot, reg[NOW], table, fact, jobs, memory, series, out)
    if failed >= 0 and reg[FAILED] < 0:
        reg[FAILED] = slot << SLOT_SHIFT | jobs[failed]
