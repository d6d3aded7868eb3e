"""The classical family (spec: algorithms 1.2 to 1.6)."""

from __future__ import annotations

from shadowtime.policy.backfill import AnyThatFits, Never, ShortestFirst
from shadowtime.policy.estimate import LastTwo
from shadowtime.policy.policy import Policy
from shadowtime.policy.reserve import ALL, Conservative, Depth, NoReservation

POLICIES = (
    Policy(
        name="fcfs",
        reserve=NoReservation(),
        backfill=Never(),
        summary="strict submission order; no job overtakes",
    ),
    Policy(
        name="greedy",
        reserve=NoReservation(),
        backfill=AnyThatFits(),
        summary="skip what does not fit, no reservation; wide jobs may starve",
        paper="Liu et al. 2016 (IBB), section 2",
    ),
    Policy(
        name="easy",
        summary="one reservation for the blocked head; others overtake if they do not delay it",
        paper="Mu'alem and Feitelson 2001",
    ),
    Policy(
        name="easy-sjbf",
        backfill=ShortestFirst(),
        summary="EASY, candidates for backfilling shortest first",
        paper="Tsafrir et al. 2007",
    ),
    Policy(
        name="easy++",
        backfill=ShortestFirst(),
        estimate=LastTwo(),
        summary="EASY with shortest-first backfilling on predicted run times",
        paper="Tsafrir et al. 2007",
    ),
    Policy(
        name="conservative",
        reserve=Conservative(),
        summary="every job is promised a start at submission, which never moves later",
        paper="Mu'alem and Feitelson 2001",
    ),
    Policy(
        name="dynamic-conservative",
        reserve=Depth(ALL),
        summary="every blocked job holds a reservation, planned again at every pass",
    ),
)
