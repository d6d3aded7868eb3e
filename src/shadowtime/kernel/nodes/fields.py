"""Names of the columns and registers of the node tables (table.py, rates.py)."""

from __future__ import annotations

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
"""Who may overtake, in which order: one of the kinds below."""
THETAS = 9
"""Number of thresholds."""

# Registers that change.
FREE = 10
"""Free processors."""
SPARE = 11
"""Free processors that the reservation leaves to jobs which run into it."""
HEAD = 12
"""The blocked head that the plan below belongs to, -1 if none."""
PROMISE = 13
"""The start it was last promised: no later one is considered."""
STALE = 14
"""1 if the table has changed since the plan was made."""
PLAN_START = 15
PLAN_COST = 16
HOLD = 17
"""1 while the reservation is in the table."""
HOLD_FROM = 18
HOLD_UNTIL = 19
HOLD_JOB = 20
PINS = 21
"""Processors pinned by it."""
PLACES = 22
"""Entries in the log of places."""
READY = 23
"""1 if the nodes' columns hold the plan of the candidate at hand."""
WITHOUT = 24
"""1 if that plan leaves out the pinned processors."""
PARAMETERS = 32

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
NEXT = 2
"""The owner's next processor, -1 behind the last."""
PINNED = 3
"""1 if the reservation holds it."""

# Nodes. The last four belong to the evaluation at hand.
BUSY = 0
RESERVED = 1
"""Processors pinned by the reservation."""
ROOM = 2
"""Processors an allocation could use."""
CLEAR = 3
"""How many processes of the job cost nothing."""
TAKE = 4
"""How many processes the allocation puts here."""
MOST = 5
"""How many cost no more than the allocation's worst."""

# Jobs.
FIRST = 0
"""First processor of a running job."""
LAST = 1
REACH = 2
"""How far LessConsume looks ahead, in seconds after the first fit."""
COST = 3
"""Planned cost of the allocation: the penalty of its worst node is COST / BASE seconds."""
LOGGED = 4
"""Where the job's places begin in the log, -1 before its start."""
DEMAND = 5
"""First of the columns of demand per process, one a hinge."""

# Hinges of the law.
EDGE = 0
"""Demand up to here costs nothing."""
WEIGHT = 1

# Thresholds: a cost is within if cost <= request * FACTOR // SHARE.
FACTOR = 0
SHARE = 1

# Running parts of jobs: one a (job, node), at its first processor there.
COUNT = 0
"""Processes; 0 where no part begins."""
LEFT = 1
"""Work still to be done at SINCE, in units; in the world of windows: penalty gathered until then."""
SINCE = 2

# Nodes in the world of rates.
OVER = 0
"""Sum of the law's terms: penalty = OVER / BASE."""
RATE = 1
"""Units of work per second."""

# Jobs in the world of rates.
DONE = 0
"""First whole second at which all parts are done, as things stand."""
PIN = 1
"""The part that is done last."""
WHOLE = 2
"""Exact moment of the last part that is done: WHOLE + REST / PARTS seconds."""
REST = 3
PARTS = 4
ENDED_AT = 5
CUT = 6
"""1 if killed at the limit."""

# Registers of the world of rates.
UNIT = 0
"""Units of work in a second of work (L)."""
WINDOWS = 1
"""1 for stretch=window."""

PLACE_BITS = 32
"""A logged place is node << 32 | processes."""
