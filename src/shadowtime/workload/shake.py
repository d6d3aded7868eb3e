"""Input shaking: many copies of a workload with insignificant differences.

A result that varies between them is an artefact of the input; one that persists is real.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.workload.moved import resubmitted
from shadowtime.workload.seeds import generator

if TYPE_CHECKING:
    from shadowtime.workload.seeds import Seed
    from shadowtime.workload.workload import Workload

JITTER = 60
"""Seconds by which a submission moves at most. Ours: below what a user plans, above a tie."""
STRETCH = 0.01
"""Share by which a run time changes at most. Ours as well."""


def shaken(
    workload: Workload, *, seed: Seed, jitter: int = JITTER, stretch: float = STRETCH
) -> Workload:
    """The same jobs, each a little earlier or later and a little longer or shorter.

    Rules
    -----
    submit' = max(0, submit + d), d a whole number drawn uniformly from [-jitter, jitter].
    run' = run x f rounded half up, at least 1, f uniform on [1 - stretch, 1 + stretch]. A job that
    kept its limit still keeps it (run' is cut there); one that is killed at its limit is killed
    as before. Requests, limits and demands are untouched, recorded starts forgotten. Submissions
    and run times have streams of their own: shaking one less does not change the other.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 500], run=[100, 100], procs=[1, 1], request=[100, 200])
    >>> s = shaken(w, seed=1)
    >>> bool((abs(s.submit - w.submit) <= 60).all()), s.request.tolist()
    (True, [100, 200])

    References
    ----------
    D. Tsafrir, K. Ouaknine and D. G. Feitelson, Reducing performance evaluation sensitivity and
    variability by input shaking, MASCOTS 2007. The sizes of the shakes are our choice.
    """
    if jitter < 0:
        raise UsageError(f"the jitter is {jitter} s; give a number from 0")
    if not 0 <= stretch < 1:
        raise UsageError(f"the stretch is {stretch}; give a share from 0 to below 1")
    submit_rng, run_rng = generator(seed).spawn(2)
    moved = workload.submit + submit_rng.integers(-jitter, jitter + 1, len(workload))
    factor = run_rng.uniform(1 - stretch, 1 + stretch, len(workload))
    run = np.floor(workload.run * factor + 0.5).astype(np.int64)
    # At least a second, except for jobs that do not run at all.
    run = np.minimum(np.maximum(run, np.minimum(workload.run, 1)), workload.limit)
    # Shortening a job that is killed at its limit could let it end well: another kind of job.
    run = np.where(workload.run > workload.limit, workload.run, run)
    return resubmitted(workload, np.maximum(moved, 0), run=run)


def leave_out(workload: Workload, share: float = 0.01, *, seed: Seed) -> Workload:
    """The workload without a share of its jobs, drawn without replacement; ids stay.

    The number left out is share x jobs, rounded half up.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=range(200), run=[1] * 200, procs=[1] * 200)
    >>> len(leave_out(w, 0.01, seed=1)), len(leave_out(w, 0.5, seed=1))
    (198, 100)
    """
    if not 0 <= share <= 1:
        raise UsageError(f"the share to leave out is {share}; give a number between 0 and 1")
    count = math.floor(share * len(workload) + 0.5)
    keep = np.ones(len(workload), bool)
    keep[generator(seed).choice(len(workload), count, replace=False)] = False
    return workload.take(np.flatnonzero(keep))
