"""What kernels that know several hosts work with: engine/passes/phases.py fills it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from shadowtime.types import Floats, Ints, SmallInts

if TYPE_CHECKING:
    from shadowtime.kernel.profile import Profile


class General(NamedTuple):
    """The parameters and scratch of a pass made of parts; on a pool there is one host."""

    par: Ints  # int64[TIMES_FROM + 3 TIMERS]
    weight: Floats  # float64[3]
    phase: Ints  # int64[phases, 3]: test, key, at most (0: no bound)
    profile: Profile  # Profile
    jobs: Ints  # int64[n]: candidates
    heap: Ints  # int64[n]: candidates still to be tried, as a heap of places in jobs
    key: Floats  # float64[n]
    fact: Ints  # int64[n, FACTS]: kernel/record.py
    memory: Floats  # float64[rows, numbers]: what such functions remember of each user
    series: Floats  # float64[words]: values over time, kernel/curve.py
    asked: Ints  # int64[n]: jobs for which one is asked
    answer: Floats  # float64[2, n]: what it returns; keys that stay as they are while a job waits
    scale: Ints  # int64[K + 1]: balance.py
    tier: Ints  # int64[2, classes, H]: place.py
    among: Ints  # int64[2, classes, H + 1]: hosts with a tier, and last how many
    group: Ints  # int64[H]: partition of a host
    cap: Ints  # int64[groups, 2]: bounds of its reservations
    booked: Ints  # int64[H + groups, K]: reserved in this pass on each host; then by group, counted
    frozen: Ints  # int64[2]: fullest share and sum of shares at the beginning of a phase
    able: SmallInts  # int8[n]: 1 for candidates that fit on some host at the beginning of the walk
    room: Ints  # int64[K + 1]: most that is free of each resource on any host; idle hosts
    refused: Ints  # int64[2 classes, K]: a need for which no reservation was allowed any more
