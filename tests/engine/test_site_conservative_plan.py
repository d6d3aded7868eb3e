"""A plan kept between passes changes no start, on more jobs than the slow reference can run."""

from __future__ import annotations

import numpy as np
import pytest

from shadowtime.cluster.site import Node, Site
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.workload import Workload
from shadowtime.workload.request import Request, Requests


@pytest.mark.parametrize("policy", ["easy", "easy(place=first-fit)", "easy-sjbf(place=pack)"])
def test_a_kept_plan_changes_nothing(policy: str) -> None:
    rng = np.random.default_rng(7)
    n = 250
    site = Site(nodes=tuple(Node(name=f"n{i}", amounts=(4 + 4 * (i % 2),)) for i in range(8)))
    kinds = [
        *(Request(tasks=t, max_nodes=1) for t in (1, 2, 4, 8)),
        *(Request(nodes=k, max_nodes=k, tasks=4 * k) for k in (2, 4)),
        Request(tasks=24),
    ]
    run = rng.integers(5, 90, n)
    workload = Workload.build(
        submit=np.sort(rng.integers(0, 2500, n)),
        run=run,
        request=run * rng.integers(1, 4, n),
        procs=np.ones(n, np.int64),
        requests=Requests.of_jobs([kinds[i] for i in rng.integers(0, len(kinds), n)]),
        epoch=0,
    )
    # A licence that binds no job counts as a limit, and with limits no plan is kept.
    counted = site.replace(amounts={"license/none": 1})
    asked = workload.requests
    assert asked is not None
    from dataclasses import replace

    each = tuple(replace(one, amounts=(("license/none", 0),)) for one in asked.distinct)
    bound = workload.replace(requests=replace(asked, distinct=each))
    chosen = parse_policy(policy)
    kept = simulate(workload, site, chosen)
    planned_anew = simulate(bound, counted, chosen)
    assert kept.start.tolist() == planned_anew.start.tolist()
    assert list(kept.place) == list(planned_anew.place)
    assert kept.wait.mean() > 10, "the head must be blocked often for this to say anything"
