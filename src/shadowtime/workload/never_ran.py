"""How long a job would have run that was cancelled while it waited.

A log does not show it. A simulation needs it if it starts the job before the moment of its
cancellation. Its limit would be far too long: most jobs end before.
"""

from __future__ import annotations

import numpy as np

from shadowtime.types import AnyArray, Ints

FEWEST = 5
"""Jobs of a kind from which a run is drawn; of fewer, the next wider kind is taken."""


def drawn_runs(
    which: AnyArray, *, user: Ints, procs: Ints, request: Ints, run: Ints, seed: int = 0
) -> Ints:
    """Run times for the jobs ``which``; the others keep theirs.

    Rules
    -----
    A job that ran is drawn among those of the same user, size and limit, else of the same user
    and limit, else of the same user, else among all, where there are at least :data:`FEWEST`. The
    share of its limit that it used is that of the job. Without any job that ran, half of the limit.

    Examples
    --------
    >>> user, procs = np.array([1] * 6 + [2]), np.ones(7, np.int64)
    >>> run = np.array([30, 30, 30, 30, 30, 0, 0])
    >>> request = np.array([60, 60, 60, 60, 60, 60, 600])
    >>> drawn_runs(run == 0, user=user, procs=procs, request=request, run=run).tolist()
    [30, 30, 30, 30, 30, 30, 300]
    """
    found = run.copy()
    ran = ~which & (run > 0) & (request > 0)
    rows, everybody = np.flatnonzero(which), np.flatnonzero(ran)
    own = np.flatnonzero(ran & np.isin(user, user[which]))
    coin = np.random.default_rng(seed)
    used = np.full(len(rows), 0.5)
    open_ = np.ones(len(rows), bool)
    for kinds, among in (*((one, own) for one in _kinds(rows, own, user, request, procs)),
                         (np.zeros(len(rows) + len(everybody), np.int64), everybody)):  # fmt: skip
        mine, others = kinds[: len(rows)], kinds[len(rows) :]
        order = np.argsort(others)
        begin, end = (np.searchsorted(others[order], mine, side=side) for side in ("left", "right"))
        drawn = open_ & (end - begin >= (1 if among is everybody else FEWEST))
        at = begin + (coin.random(len(rows)) * (end - begin)).astype(np.int64)
        picked = among[order[at[drawn]]]
        used[drawn] = np.minimum(run[picked] / request[picked], 1.0)
        open_ &= ~drawn
    found[rows] = np.maximum(1, np.rint(used * request[rows])).astype(run.dtype)
    return found


def _kinds(rows: Ints, own: Ints, user: Ints, request: Ints, procs: Ints) -> list[Ints]:
    """Numbers for user, limit and size, for user and limit, and for the user, in these rows."""
    at = np.concatenate([rows, own])
    found: list[Ints] = []
    kinds = np.zeros(len(at), np.int64)
    for column in (user, request, procs):
        values, each = np.unique(column[at], return_inverse=True)
        kinds = kinds * max(len(values), 1) + each.ravel()
        found.insert(0, kinds)
    return found
