"""Names of the state's scalar registers: kernels keep their scalars in one int64 array.

A namedtuple of arrays is what kernels pass around; a scalar that changes must therefore live in
an array. The numbers have no meaning beyond being different.
"""

from __future__ import annotations

NOW = 0
"""The present instant."""
RUNNING = 1
"""Running jobs."""
WAITING = 2
"""Waiting jobs."""
QUEUE_FROM = 3
"""No waiting job has a smaller index."""
ARRIVED = 4
"""Jobs submitted so far: the indices below it."""
FRESH = 5
"""First job submitted at this instant; equal to ARRIVED where none was."""
CHANGED = 6
"""1 if anything but a submission happened since the last pass."""
DECISIONS = 7
"""Entries in the decision log of this pass."""
WAKE = 8
"""The next instant a pass asked to be woken at, NEVER if none."""
HEAD = 9
"""The blocked head the shadow values below belong to, -1 if none."""
SHADOW = 10
"""Its shadow time."""
EXTRA = 11
"""Processors free at the shadow time beyond the head's need."""
PASSES = 12
EVENTS = 13
BITS = 14
"""Bits of a job in a packed (time, job) key."""
ENDS = 15
"""Entries in the heap of ends."""
CORRECTIONS = 16
"""Entries in the heap of prediction corrections."""
ATTEMPTS = 17
"""Entries in the log of preempted attempts."""
PAUSE = 18
"""The loop returns before this pass, counted from 1, to be saved (engine/saved.py); 0: never."""
LEARNER = 24
"""How estimates learn: estimates.py."""
UNKNOWN_USER = 25
"""Dense number of the unknown user, -1 where every job has one."""
VOLATILE = 19
"""1 if running jobs may outlive their expected end, so cached shadow values do not last."""
SLIPPED = 20
"""Promises that could not be kept because a job outlived its estimate."""
TIMERS = 21
"""Entries in the heap of promised starts."""
CLAMPED = 22
"""Predictions that had to be clamped."""
KILLS = 23
"""Preemptions so far."""
SAVE_EVERY = 28
"""Seconds of work between two checkpoints of a job that may be stopped: 1 if it is suspended and
loses nothing, 0 if it is killed and loses all."""
OVERHEAD = 29
"""Seconds that a job spends on starting again before it goes on with its work."""
BY_EVENT = 30
"""1 if every submission and end has a pass of its own, in the order of the simulator pyss."""
STARTS = 31
"""Starts so far, counted where that order is kept."""
ENDED = 26
"""Entries in the list of jobs that ended at this instant."""
FAILED = 27
"""The job for which a function of the user's own failed, -1 while none did."""
COARSE = 32
"""Ends later than this are rounded to a part of how far they lie ahead of it; 0: none is."""
COUNT = 34

NEVER = (1 << 40) - 1
"""Later than any event."""
BIG = (1 << 31) - 1
"""Tombstone of the queue's 32-bit mirrors: wider and longer than any job."""
BLOCK = 64
"""Jobs per block of the queue; a power of two."""
SHIFT = 6
GROUP = 64
"""Blocks per group of the queue; a power of two."""
WIDTHS = 16
"""Classes of width: doubling from one processor on, the last one open."""

STARTED = 1
KILLED = 2
"""Kinds of decisions in the log of a pass."""
