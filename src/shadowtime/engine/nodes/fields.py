"""Names of the columns and registers of the node tables (running_table.py, rates.py).

Few, wide tables: every array handed to a compiled function costs compile time at every call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ZERO: Any = np.int64(0)
"""A plain 0 is a type of its own to Numba: a routine handed one is compiled for it alone."""

# Registers of the Reservation Table: the machine and the policy's parameters.
NODES = 0
CORES = 1
HINGES = 2
"""Terms of the law of slowdown."""
BASE = 3
"""What a full second of penalty is counted as: penalty = cost / BASE."""
SEARCH = 4
"""How a start is chosen: one of the three kinds below."""
STRETCHED = 5
"""1 if a job's limit grows with its planned penalty (limit=pf)."""
COUNTED = 6
"""1 if the reservation holds a number of processors, not certain ones (resv=counts)."""
RESERVES = 7
"""1 if the blocked head holds a reservation."""
BACKFILL = 8
"""Which jobs may overtake, in which order: one of the kinds below."""
THETAS = 9
"""Number of thresholds."""
BITS = 10
"""Bits of a job in a packed (end, job) key."""

# Registers that change.
NOW = 11
RUNNING = 12
FREE = 13
"""Free processors."""
SPARE = 14
"""Free processors that the reservation leaves to jobs which run into it; no fewer than that while
it is PENDING."""
HEAD = 15
"""The blocked head that the plan below belongs to, -1 if none."""
PROMISE = 16
"""The start it was last promised: no later one is considered."""
STALE = 17
"""1 if the table has changed since the plan was made."""
PLAN_START = 18
HOLD = 20
"""1 while the reservation is in the table; PENDING while only its time is."""
HOLD_FROM = 21
HOLD_UNTIL = 22
HOLD_JOB = 23
HOLD_TOP = 24
"""Entries in the list of the nodes that it is on (HELD)."""
READY = 25
"""1 if the nodes' columns hold the plan of the candidate at hand."""
WITHOUT = 26
"""1 if that plan leaves out the pinned processors."""
TOP = 27
"""Entries in the list of the nodes that it may use (SITES)."""
TRIED = 28
"""Jobs below this index cannot start before the table changes."""
WANTED = 29
"""Processors that the waiting jobs ask for."""
BY_LOAD = 30
"""1 if the queue chooses one of the thresholds: a looser one for each machine full of jobs."""
THETA_FROM = 31
"""The thresholds in force are those from here on,"""
THETA_TO = 32
"""and below here."""
VERSION = 33
"""Counts the changes of what runs where."""
HOLDS = 34
"""Counts the reservations that were pinned."""
LOWEST = 35
"""Nodes below this one have no free processor."""
ROUND = 36
"""Counts how often the candidates for backfilling were gone through."""
LAW = 37
"""Two registers per hinge: its edge, up to which demand costs nothing, and its weight."""
EDGE, WEIGHT = 0, 1
"""Behind the hinges two per threshold: a cost is within if cost <= request * FACTOR // SHARE."""
FACTOR, SHARE = 0, 1

PENDING = 2

FIRST_FIT = 0
CHEAPEST = 1
"""LessConsume: the least penalty within a horizon after the first fit."""
THRESHOLD = 2
"""LessConsume-Threshold; with several thresholds RUA's least slowdown."""

NEVER_BACKFILL = 0
IN_ORDER = 1
SHORTEST = 2
LEAST_PENALTY = 3

# Processors.
OWNER = 0
"""The job that runs on it, -1 if free."""
UNTIL = 1
"""When the table frees it: start + limit of the owner, 0 if free."""
PROCESSES = 2
"""Where the owner's part of a node begins: its processes there; 0 elsewhere."""
NEXT = 3
"""There too: the first processor of the owner's next part, -1 behind the last."""

# Nodes: a row holds counts, then C columns each: the ends of its line, for every hinge the demand
# from that place of the line on, the owners of the line, and what one more process would cost.
BUSY = 0
RESERVED = 1
"""Processors pinned by the reservation: the lowest that are free by its start. They stay just
those while it lasts, as no job that runs past its start gets one of them."""
ROOM = 2
"""Processors an allocation could use (this and the next three: the evaluation at hand)."""
CLEAR = 3
"""How many processes of the job cost nothing."""
TAKE = 4
"""How many processes the allocation puts here."""
MOST = 5
"""How many cost no more than the allocation's worst."""
ENDS = 8
"""First column of the ends; LOADS = ENDS + C, owners and costs behind them."""

# Jobs.
FIRST = 0
"""First processor of a running job: where its first part begins."""
LAST = 1
"""Where its last part begins."""
REACH = 2
"""How far LessConsume looks ahead, in seconds after the first fit."""
COST = 3
"""Planned cost of the allocation: the penalty of its worst node is COST / BASE seconds."""
PROCS = 4
LENGTH = 5
"""The request: how long the job is planned to run."""
LIMIT = 6
START = 7
SPAN = 8
"""How long it is expected to run, for the penalty factor: the request, unless predicted."""
KIND = 9
"""Jobs of one kind have the same demand."""
SEEN = 10
"""A later start that was cheaper when it was last looked at, -1 if none."""
GAIN = 11
"""Processes that will cost nothing only after its end (clear.py)."""
SEEN_COST = 12
"""What that start cost then."""
SETTLED = 13
"""VERSION + HOLDS when that start was found to cost nothing: while they stand, it does not."""
LIKE = 14
"""Jobs of one number differ in nothing that a plan depends on."""
DEMAND = 15
"""First of the columns of demand per process, one a hinge: what the scheduler believes."""

# Rows of the table's lists.
VALUES = 0
FOUND = 1
"""Candidates for backfilling."""
KEYS = 2
"""Running jobs as (end in the table, job), ascending."""
SOONEST = 3
"""By node: the first instant at which a processor of it is free, 0 if one is now."""
SITES = 4
"""Nodes with room in the evaluation at hand, ascending."""
HELD = 5
"""Nodes of the reservation."""
ROOMY = 6
"""Three rows by kind: how many processes of it cost nothing now, at which VERSION that was
counted, and 0; then the same around the reservation, with the number of the HOLDS."""
SLOT_OF = 12
"""By slot: the kind whose counts it holds,"""
SLOT_AT = 13
"""and at which VERSION they were made."""
ASKED = 14
"""By LIKE: the ROUND in which one of these jobs was asked;"""
CLEARS = 15
"""first of the slots: by number of ends, processes of a kind that cost nothing then."""
SLOTS = 8
LISTS = CLEARS + SLOTS

# Running parts of jobs: one a (job, node), at its first processor there.
LEFT = 0
"""Work left at SINCE, in units; in the world of windows the penalty gathered until then."""
SINCE = 1

# Nodes in the world of rates.
OVER = 0
"""Sum of the law's terms: penalty = OVER / BASE."""
RATE = 1
"""Units of work per second."""
DRAWN = 2
"""First of the columns of what its processes really draw, one a hinge."""

# Jobs in the world of rates.
RUN = 0
DONE = 1
"""First whole second at which all parts are done, as things stand."""
PIN = 2
"""The part that is done last."""
WHOLE = 3
"""Exact moment of the last part that is done: WHOLE + REST / PARTS seconds."""
REST = 4
PARTS = 5
ENDED_AT = 6
CUT = 7
"""1 if killed at the limit."""
LOGGED = 8
"""Where the job's places begin in the log, -1 before its start."""
DRAWS = 9
"""First of the columns of what a process really draws, one a hinge."""

# Registers of the world of rates.
UNIT = 0
"""Units of work in a second of work (L)."""
WINDOWS = 1
"""1 for stretch=window."""
PLACES = 2
"""Entries in the log of places."""
MOVED = 3
"""Entries in the list of jobs whose end moved."""

PLACE_BITS = 32
"""A logged place is node << 32 | processes."""
