"""PV-EASY on a pool of one resource: the fast pass (spec: algorithms 2.3).

The same decisions as the general pass, proved equal in the tests. No list is gathered: the head is
the first job of the queue, and both phases of its backfilling are EASY's own walks over the queue,
which skip blocks and groups by their minima; where many wait the first asks for the shortest
job of each width (kernel/shortest.py). In the first the shadow time is that of the sunny jobs and
nothing is left over beside the head; in the second the shadow time never comes.
"""

from __future__ import annotations

from shadowtime.engine import events
from shadowtime.engine.passes import easy
from shadowtime.engine.passes.preempt import make_room, sunny_shadow
from shadowtime.kernel import registers as r
from shadowtime.kernel.estimates import LAST
from shadowtime.kernel.fields import BLOCKED_AT, FREE, KIND, NEED, PROCS, PROMISED, WHICH
from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.queue import first_waiting
from shadowtime.kernel.running import PREEMPTING, begin, begin_first, forget_overdue
from shadowtime.kernel.shortest import SINCE, Shortest, enter_again, follow
from shadowtime.kernel.state import State, World
from shadowtime.types import Ints

PREEMPTS, KEEP_EXTRA, SPARES, VENTURES = 0, 1, 2, 3
"""Places in the pass's parameters; the second one is EASY's."""


@entry
def run(state: State, world: World, parameters: Ints, index: Shortest) -> int:
    """The event loop with this pass; ``index`` as kernel/shortest.py makes it."""
    while not events.lacks_room(state):
        if events.advance(state, world) != events.PASS_DUE:
            return events.DONE
        decide(state, parameters, index)
        events.carry_out_decisions(state, world)
    return events.ROOM_NEEDED


@kernel
def decide(state: State, parameters: Ints, index: Shortest) -> None:
    """One pass."""
    reg = state.reg
    if index.mark[SINCE] > 0 and reg[r.LEARNER] == LAST:
        follow(state, index)
    if reg[r.WAITING] == 0:
        return
    if reg[r.VOLATILE] != 0:
        forget_overdue(state)
    head = start_heads(state, parameters)
    if index.mark[SINCE] > 0:
        take_back(state, index)
    if head < 0:
        return
    reg[r.HEAD] = head
    first_time = state.job[head, BLOCKED_AT] < 0
    if first_time:
        state.job[head, BLOCKED_AT] = reg[r.NOW]
    hopeless = nobody_fits(state, head)
    if hopeless and not first_time:
        return
    reg[r.SHADOW] = sunny_shadow(state, head)
    if first_time:
        state.job[head, PROMISED] = reg[r.SHADOW]
    if not hopeless:
        venture(state, parameters, index, head)


@kernel
def start_heads(state: State, parameters: Ints) -> int:
    """Start jobs in order of arrival while the first one fits or preempts its way in."""
    head = first_waiting(state)
    while head >= 0:
        if state.job[head, NEED] <= state.host[FREE, 0, 0]:
            begin_first(state, head, 0)
        elif parameters[PREEMPTS] != 0 and make_room(state, head, parameters[SPARES] != 0):
            begin(state, head, 0, PREEMPTING)
        else:
            return head
        head = first_waiting(state)
    return -1


@kernel
def take_back(state: State, index: Shortest) -> None:
    """Enter the jobs into the index again that were stopped for a head."""
    for i in range(state.reg[r.DECISIONS]):
        job = state.did[WHICH, i]
        if state.did[KIND, i] == r.KILLED and state.wait[PROCS, job] != r.BIG:
            enter_again(index, state.wait, state.reg[r.BITS], job)


@kernel
def nobody_fits(state: State, head: int) -> bool:
    """True if every waiting job is wider than what is free."""
    shadow = state.reg[r.SHADOW]
    state.reg[r.SHADOW], state.reg[r.EXTRA] = r.NEVER, -1
    hopeless = easy.next_block(state, head >> r.SHIFT) << r.SHIFT >= state.reg[r.ARRIVED]
    state.reg[r.SHADOW] = shadow
    return bool(hopeless)


@routine
def venture(state: State, parameters: Ints, index: Shortest, head: int) -> None:
    """Jobs expected to end by the shadow time, shortest first; then any that fits, in order."""
    reg = state.reg
    shadow = reg[r.SHADOW]
    reg[r.EXTRA] = -1
    if reg[r.WAITING] > easy.FEW and index.tree.shape[0] > 2:
        easy.backfill_by_index(state, parameters, index)
    else:
        easy.backfill_shortest_first(state, parameters, index.found, head)
    if parameters[VENTURES] != 0:
        reg[r.SHADOW] = r.NEVER
        easy.backfill_in_order(state, parameters, head)
        reg[r.SHADOW] = shadow
