"""The demo's workload: always the same, loaded, with users, and worth comparing policies on."""

from __future__ import annotations

import numpy as np
import pytest

from naive import shorthand as naive
from shadowtime.cluster import Cluster
from shadowtime.workload.embedded import demo_workload
from shadowtime.workload.scale import offered_load
from shadowtime.workload.slicing import first_jobs


def test_it_is_always_the_same_and_fits_its_machine():
    a, b = demo_workload(), demo_workload()
    for column in ("submit", "run", "request", "procs", "user"):
        assert (getattr(a, column) == getattr(b, column)).all()
    assert a.procs.max() <= a.machine["procs"] == 256
    assert (a.request >= a.run).all()
    assert offered_load(a, Cluster.pool(256))["procs"] == pytest.approx(0.9, abs=0.005)
    assert 10 < (a.submit[-1] - a.submit[0]) / 86400 < 18


def test_days_are_days():
    hour = demo_workload().submit % 86400 / 3600
    assert ((hour >= 9) & (hour < 17)).mean() > 0.45  # it would be a third without the cycle


def test_few_users_submit_most_jobs_and_have_habits():
    w = demo_workload()
    jobs = np.sort(np.bincount(w.user))[::-1]
    assert len(set(w.user.tolist())) == 40
    assert jobs[:8].sum() > 0.45 * len(w)
    log = np.log(w.run)
    within = np.mean([log[w.user == user].std() for user in np.unique(w.user)])
    assert within < 0.7 * log.std()


def test_backfilling_pays_on_it():
    w = first_jobs(demo_workload(), 1200)
    columns = (w.job_id, w.submit, w.procs, w.request, w.run, w.limit, w.user)
    jobs = [
        naive.Job(i, s, (p,), q, r, limit, u)
        for i, s, p, q, r, limit, u in zip(*(c.tolist() for c in columns), strict=True)
    ]
    waits = {
        name: np.mean([row.start for row in policy(jobs, (256,)).rows] - w.submit)
        for name, policy in (("fcfs", naive.fcfs), ("easy", naive.easy))
    }
    assert waits["easy"] > 600
    assert waits["fcfs"] > 3 * waits["easy"]
