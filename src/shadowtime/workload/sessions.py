"""Users' sessions: batches of jobs, and think times between the end of one and the next.

References
----------
E. Shmueli and D. G. Feitelson, Using site-level modeling to evaluate the performance of parallel
system schedulers, MASCOTS 2006: sessions, batches, and twenty minutes as the longest think time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from shadowtime.types import Ints
    from shadowtime.workload.workload import Workload

THINK = 20 * 60
"""The longest think time in seconds: a user who returns later begins a new session."""


@dataclass(frozen=True, eq=False)
class Sessions:
    """The batch of every job, and what each batch waits for.

    ``batch`` is the batch of a job and ``offset`` the seconds from the batch's first submission to
    the job's. ``after`` is the batch that a batch waits for, -1 where it begins a session;
    ``think`` the seconds from that batch's end to its own first submission; ``begin`` the
    recorded first submission.
    """

    batch: Ints
    offset: Ints
    after: Ints
    think: Ints
    begin: Ints

    def submits(self, end: Ints) -> Ints:
        """When users submit if their jobs end at these times.

        A batch follows its think time after the end of the one it waits for; the first batch of a
        session comes when it came. Jobs that never ended (-1) delay no session.
        """
        last = np.full(len(self.after), UNKNOWN, np.int64)
        np.maximum.at(last, self.batch, end)
        first = self.begin.copy()
        follows = self.after >= 0
        ended = np.where(follows, last[np.maximum(self.after, 0)], UNKNOWN)
        moved = follows & (ended >= 0)
        first[moved] = ended[moved] + self.think[moved]
        found: Ints = first[self.batch] + self.offset
        return found


def sessions_of(workload: Workload, *, think: int = THINK) -> Sessions:
    """The sessions that a log shows.

    Rules
    -----
    A user's jobs in the order of submission. A job submitted before all earlier ones of the batch
    have ended belongs to the batch: the user did not wait for them. One submitted later begins a
    batch that follows the one before, if the think time is at most ``think``; else a session.
    Jobs of unknown users are sessions of their own, and so are jobs without a recorded start.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 5, 120, 9000], run=[60, 60, 60, 60], procs=[1] * 4,
    ...                       user=[1, 1, 1, 1], recorded_start=[0, 40, 120, 9000])
    >>> found = sessions_of(jobs)
    >>> found.batch.tolist(), found.after.tolist(), found.think.tolist()
    ([0, 0, 1, 2], [-1, 0, -1], [0, 20, 0])
    >>> found.submits(jobs.submit + 60).tolist()
    [0, 5, 85, 9000]
    """
    known = workload.recorded_start != UNKNOWN
    if not bool(known.any()):
        raise UsageError(f"{workload.name} records no starts: what its users waited for is unknown")
    end = np.where(known, workload.recorded_start + workload.effective_run, UNKNOWN)
    batch = np.empty(len(workload), np.int64)
    offset = np.zeros(len(workload), np.int64)
    after: list[int] = []
    thinks: list[int] = []
    begin: list[int] = []
    open_batch: dict[int, tuple[int, int]] = {}
    """User to the current batch and its end so far."""
    for row in range(len(workload)):
        user, submit, until = int(workload.user[row]), int(workload.submit[row]), int(end[row])
        number, ended = open_batch.get(user, (-1, -1))
        named = user != UNKNOWN and bool(known[row])
        if named and number >= 0 and submit < ended:
            batch[row], offset[row] = number, submit - begin[number]
            open_batch[user] = (number, max(ended, until))
            continue
        follows = named and number >= 0 and submit - ended <= think
        batch[row] = len(begin)
        after.append(number if follows else -1)
        thinks.append(submit - ended if follows else 0)
        begin.append(submit)
        if named:
            open_batch[user] = (len(begin) - 1, until)
    columns = (np.array(one, np.int64) for one in (after, thinks, begin))
    return Sessions(batch, offset, *columns)
