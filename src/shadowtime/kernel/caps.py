"""How many reservations the partition part allows: in a group of hosts, on each host.

spec: algorithms 3.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.kernel.fields import CAPACITY, CLASS, EXCLUSIVE, NEED
from shadowtime.kernel.jit import kernel
from shadowtime.kernel.running import need_on

if TYPE_CHECKING:
    from shadowtime.kernel.general import General
    from shadowtime.kernel.state import State

RESERVATIONS, TIMES = 0, 1
"""Caps of a group of hosts: reservations in all; times each host's resources (0: no bound)."""


@kernel
def may_reserve(state: State, f: General, job: int, h: int) -> bool:
    """True if the caps of the partition part leave room for a reservation on a host."""
    group = f.group[h]
    if f.cap[group, RESERVATIONS] <= f.booked[f.booked.shape[0] - 1 - group, 0]:
        return False
    times = f.cap[group, TIMES]
    for k in range(state.host.shape[2]):
        if state.job[job, NEED + k] > state.host[CAPACITY, h, k]:
            return False
        if times > 0 and (
            f.booked[h, k] + need_on(state, job, h, k) > times * state.host[CAPACITY, h, k]
        ):
            return False
    return True


@kernel
def note_reservation(state: State, f: General, job: int, h: int) -> None:
    """Count a reservation against the caps."""
    f.booked[f.booked.shape[0] - 1 - f.group[h], 0] += 1
    for k in range(state.host.shape[2]):
        f.booked[h, k] += need_on(state, job, h, k)


@kernel
def was_refused(state: State, f: General, job: int) -> bool:
    """True if a job of the class that needs no more found the caps used up in this pass."""
    at = 2 * state.job[job, CLASS] + state.job[job, EXCLUSIVE]
    for k in range(state.host.shape[2]):
        if state.job[job, NEED + k] < f.refused[at, k]:
            return False
    return True


@kernel
def note_refusal(state: State, f: General, job: int) -> None:
    """Remember that the caps have no room for such a job: they only fill up during a pass."""
    at = 2 * state.job[job, CLASS] + state.job[job, EXCLUSIVE]
    for k in range(state.host.shape[2]):
        f.refused[at, k] = state.job[job, NEED + k]
