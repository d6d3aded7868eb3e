"""Names of the columns in the state's tables.

Kernels are handed few, wide tables rather than many arrays: every array a compiled function takes
is nine words to pass, and a job's values lie in one or two cache lines when they share a row.
"""

from __future__ import annotations

from shadowtime.kernel.registers import WIDTHS

# The table of jobs, one row each.
SUBMIT = 0
REQUEST = 1
LIMIT = 2
"""Wall time at which the job is killed; a policy may change it at the start."""
ESTIMATE = 3
"""Expected run time; of a running job: as it was frozen at its start, or corrected."""
USER = 4
"""Dense number of the user."""
HOST = 5
"""Where the job runs."""
START = 6
REASON = 7
PROMISED = 8
BLOCKED_AT = 9
KILLS = 10
EXPECTED = 11
"""Expected end of a running job."""
INITIAL = 12
"""Prediction at submission."""
STEPS = 13
"""Corrections made to a running job's prediction."""
NEXT = 14
"""The user's next job in job order, n if none."""
EXCLUSIVE = 15
"""1 if the job takes a whole host whatever it needs."""
CLASS = 16
"""Class of the job in the partition part's tables."""
AHEAD = 17
"""Work that earlier attempts left behind, less what it costs to start again: 0 where none was."""
NEED = 18
"""First of the K columns of needs; processors come first."""

# The queue's mirrors, int32, one row each.
PROCS = 0
LENGTH = 1
"""Estimate of a waiting job."""
SHORTEST = 2
"""Minima only: the least estimate of each class of width, in as many rows."""
KNOWN = SHORTEST + WIDTHS
"""Groups only: 1 once the minima by width are kept."""

# The tables of hosts.
FREE = 0
CAPACITY = 1

# What estimates know of a user.
LAST_RUN = 0
LAST_REQUEST = 1
BEFORE_RUN = 2
FIRST_JOB = 3
"""No waiting job of the user comes before it."""

# Rows of the decision log.
KIND = 0
WHICH = 1

# Rows of the log of preempted attempts.
VICTIM = 0
FROM = 1
UNTIL = 2
SAVED = 3
"""Seconds of the job's work that are behind it for good when the attempt ends."""
TRIED = 4
"""How many rows there are."""

# The truth, one row per job, which no pass is given.
RUN = 0
ENDS_AT = 1
RANK = 2
"""Place of the job in the order of ids: that of the ends within an instant."""
