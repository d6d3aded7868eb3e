"""The workload that comes with the package: computed, so that a demo needs no data."""

from __future__ import annotations

import numpy as np

from shadowtime.types import Ints
from shadowtime.workload.lublin import lublin_workload
from shadowtime.workload.tsafrir import tsafrir_estimates
from shadowtime.workload.workload import Workload

PROCS = 256
JOBS = 3000
MAX_ESTIMATE = 36 * 3600
BUSY = 8.95
"""The arrivals' shape (10.23 in the model): jobs up to half the machine, coming faster, make the
load instead of a stretched clock, so that a day stays a day."""
USERS = 40
SEED = 25
"""One at which this shape gives a load of 0.9 as it is."""

WIDE = 2231
"""The row of the wide job: submitted on the evening of a busy day, number nine."""
WIDE_PROCS, WIDE_RUN, WIDE_REQUEST = 224, 3600, 7200

HABIT = 0.12
"""How far run times stray from the user's usual ones, in shares of all jobs ranked by run."""


def demo_workload() -> Workload:
    """Two weeks of 3,000 jobs for a pool of 256 processors at a load of 0.9; always the same ones.

    Sizes, run times and arrivals are Lublin and Feitelson's, estimates are Tsafrir's (up to 36
    hours), users are ours: a few submit most of the jobs, and each has a preferred kind of
    job. The load is high enough for a queue and the jobs small enough (half of the machine
    at most) for backfilling to have a choice, so policies differ here by more than chance.
    One job is not drawn but set: it asks for seven eighths of the machine for an hour or two, as
    every centre has some, and shows how a policy treats a job that fits into no gap.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.workload.scale import offered_load
    >>> w = demo_workload()
    >>> len(w), w.machine, round(offered_load(w, Cluster.pool(256))["procs"], 2)
    (3000, {'procs': 256}, 0.9)
    """
    rng = np.random.default_rng(SEED)
    jobs = lublin_workload(JOBS, seed=rng, overrides={"aarr": BUSY})
    jobs = tsafrir_estimates(jobs, max_estimate=MAX_ESTIMATE, seed=rng)
    jobs = jobs.replace(name="demo", user=_users(jobs.run, rng), machine={"procs": PROCS})
    return _with_wide_job(jobs)


def _with_wide_job(jobs: Workload) -> Workload:
    columns = {name: getattr(jobs, name).copy() for name in ("demand", "run", "request", "limit")}
    columns["demand"][WIDE, 0] = WIDE_PROCS
    columns["run"][WIDE] = WIDE_RUN
    columns["request"][WIDE] = columns["limit"][WIDE] = WIDE_REQUEST
    return jobs.replace(**columns)


def _users(run: Ints, rng: np.random.Generator) -> Ints:
    """Zipf's law by number of jobs, and a habit: each user comes back to runs of one length."""
    rank = np.empty(len(run))
    rank[np.argsort(run, kind="stable")] = (np.arange(len(run)) + 0.5) / len(run)
    home = rng.permutation((np.arange(USERS) + 0.5) / USERS)
    fame = -np.log(np.arange(1, USERS + 1))
    nearness = -(((rank[:, None] - home) / HABIT) ** 2) / 2
    # The largest of log-weight + Gumbel noise is a draw with these weights.
    chosen: Ints = np.argmax(fame + nearness + rng.gumbel(size=(len(run), USERS)), axis=1)
    return chosen + 1
