"""Full tables grow during a run without changing the result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shadowtime.cluster.site import Node, Site
from shadowtime.engine.site import run_tables
from shadowtime.engine.site import simulate as module
from shadowtime.kernel.site import fields as f
from shadowtime.policy import parse_policy
from shadowtime.workload import Workload


@pytest.mark.parametrize("policy", ["easy", "easy(reserve=3)", "conservative"])
def test_small_tables_grow(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    n = 300
    site = Site(nodes=tuple(Node(name=f"n{i}", amounts=(4,)) for i in range(6)))
    run = rng.integers(1, 50, n)
    workload = Workload.build(
        submit=np.sort(rng.integers(0, 1200, n)),
        run=run,
        request=run * rng.integers(1, 4, n),
        procs=rng.integers(1, 20, n),
    )
    chosen = parse_policy(policy)
    roomy = module.simulate_site(workload, site, chosen)
    build, grow = run_tables.build_ground, module.with_more_room
    grown = []

    def small(*given: Any, **options: Any) -> Any:
        ground, order = build(*given, **options)
        steps = int(ground.mark[f.STEPS_USED]) + 70
        ground.mark[f.STEPS_SPARE] -= len(ground.step) - steps
        tight = ground._replace(
            step=ground.step[:steps].copy(),
            place=ground.place[:80].copy(),
            gain=ground.gain[:80].copy(),
        )
        return tight, order

    def counted(*given: Any) -> Any:
        grown.append(1)
        return grow(*given)

    monkeypatch.setattr(run_tables, "build_ground", small)
    monkeypatch.setattr(module, "with_more_room", counted)
    tight = module.simulate_site(workload, site, chosen)
    assert grown
    assert tight.start.tolist() == roomy.start.tolist()
    assert list(tight.place) == list(roomy.place)
