"""Columns and registers of the node tables (running_table.py, rates.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

from shadowtime.kernel.columns import whole

ZERO: Any = np.int64(0)
"""A plain 0 is a type of its own to Numba: a routine handed one is compiled for it alone."""

REGISTERS = whole(
    # The machine and the policy's parameters.
    "nodes",
    "cores",
    "base",  # what a full second of penalty is counted as: penalty = cost / base
    "search",  # how a start is chosen: one of the three kinds below
    "stretched",  # 1 if a job's limit grows with its planned penalty (limit=pf)
    "counted",  # 1 if the reservation holds a number of processors, not certain ones (resv=counts)
    "reserves",  # 1 if the blocked head holds a reservation
    "backfill",  # which jobs may overtake, in which order: one of the kinds below
    "bits",  # bits of a job in a packed (end, job) key
    # What changes.
    "now",
    "running",
    "free",  # free processors
    "spare",  # those that the reservation leaves to jobs which run into it; no fewer than that
    # while it is PENDING
    "head",  # the blocked head that the plan below belongs to, -1 if none
    "promise",  # the start it was last promised: no later one is considered
    "stale",  # 1 if the table has changed since the plan was made
    "plan_start",
    "hold",  # 1 while the reservation is in the table; PENDING while only its time is
    "hold_from",
    "hold_until",
    "hold_job",
    "hold_top",  # entries in the list of the nodes that it is on
    "ready",  # 1 if the nodes' columns hold the plan of the candidate at hand
    "without",  # 1 if that plan leaves out the pinned processors
    "top",  # entries in the list of the nodes that it may use
    "tried",  # jobs below this index cannot start before the table changes
    "wanted",  # processors that the waiting jobs ask for
    "by_load",  # 1 if the queue chooses one of the thresholds: a looser one for each machine full
    # of jobs
    "theta_from",  # the thresholds in force are those from here on,
    "theta_to",  # and below here
    "version",  # counts the changes of what runs where
    "holds",  # counts the reservations that were pinned
    "lowest",  # nodes below this one have no free processor
    "round",  # counts how often the candidates for backfilling were gone through
)

PENDING = 2

FIRST_FIT = 0
CHEAPEST = 1
"""LessConsume: the least penalty within a horizon after the first fit."""
THRESHOLD = 2
"""LessConsume-Threshold; with several thresholds RUA's least slowdown."""

NEVER_BACKFILL = 0
IN_ORDER = 1
SHORTEST_FIRST = 2
LEAST_PENALTY = 3

HINGES = whole(
    "edge",  # up to which demand costs nothing
    "weight",
)
THRESHOLDS = whole("factor", "share")
"""A cost is within if cost <= request * factor // share."""

PROCESSORS = whole(
    "owner",  # the job that runs on it, -1 if free
    "until",  # when the table frees it: start + limit of the owner, 0 if free
    "processes",  # where the owner's part of a node begins: its processes there; 0 elsewhere
    "next",  # there too: the first processor of the owner's next part, -1 behind the last
    "value",  # by place: costs of which one is selected
)

NODES = whole(
    "busy",
    "reserved",  # processors pinned by the reservation: the lowest that are free by its start. They
    # stay just those while it lasts, as no job that runs past its start gets one of them
    "room",  # processors an allocation could use (this and the next three: the evaluation at hand)
    "clear",  # how many processes of the job cost nothing
    "take",  # how many processes the allocation puts here
    "most",  # how many cost no more than the allocation's worst
    "soonest",  # the first instant at which a processor of it is free, 0 if one is now
    # Lists of nodes, by place.
    "site",  # with room in the evaluation at hand, ascending
    "held",  # of the reservation
)

LINES = whole(
    "end",
    "job",
    "cost",  # what one more process would cost
)
"""A place of a node's line."""

JOBS = whole(
    "first",  # first processor of a running job: where its first part begins
    "last",  # where its last part begins
    "reach",  # how far LessConsume looks ahead, in seconds after the first fit
    "cost",  # planned cost of the allocation: the penalty of its worst node is cost / base seconds
    "procs",
    "length",  # the request: how long the job is planned to run
    "limit",
    "start",
    "span",  # how long it is expected to run, for the penalty factor: the request, unless predicted
    "kind",  # jobs of one kind have the same demand
    "seen",  # a later start that was cheaper when it was last looked at, -1 if none
    "gain",  # processes that will cost nothing only after its end (cost.py)
    "seen_cost",  # what that start cost then
    "settled",  # version + holds when that start was found to cost nothing: while they stand, it
    # does not
    "like",  # jobs of one number differ in nothing that a plan depends on
    "asked",  # by that number: the round in which one of these jobs was asked
    "candidate",  # by place: jobs that may be backfilled
)

COUNTS = whole(
    "processes",  # how many of a kind cost nothing now,
    "version",  # at which version that was counted,
    "holds",  # and with which reservation around
)
SLOTS = whole(
    "kind",  # whose counts it holds,
    "version",  # and at which version they were made
)
MOST_SLOTS = 8

PARTS = whole(
    "left",  # work left at ``since``, in units; in the world of windows the penalty until then
    "since",
)
"""A running part of a job: one for each (job, node), at its first processor there."""

DRAWING = whole(
    "over",  # sum of the law's terms: penalty = over / base
    "rate",  # units of work per second
)
"""A node in the world of rates."""

COURSES = whole(
    "run",
    "done",  # first whole second at which all parts are done, as things stand
    "pin",  # the part that is done last
    "whole",  # exact moment of the last part that is done: whole + rest / parts seconds
    "rest",
    "parts",
    "ended_at",
    "cut",  # 1 if killed at the limit
    "logged",  # where the job's places begin in the log, -1 before its start
)
"""A job in the world of rates."""

RATE_REGISTERS = whole(
    "unit",  # units of work in a second of work (L)
    "windows",  # 1 for stretch=window
    "places",  # entries in the log of places
    "moved",  # entries in the list of jobs whose end moved
)

PLACE_BITS = 32
"""A logged place is node << 32 | processes."""
