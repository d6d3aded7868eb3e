"""From a state on a site on into the future: the simulator run on with assumed run times."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.engine.live_pass.on_site import (
    Tables,
    refuse_on_site,
    rows_of,
    site_now,
    with_ends,
)
from shadowtime.policy.estimate import Last, Requested
from shadowtime.types import MAX_SPAN
from shadowtime.workload import Workload
from shadowtime.workload.request import Requests

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.engine.live_pass.memory import Memory
    from shadowtime.engine.live_pass.snapshot import Snapshot
    from shadowtime.policy import Policy


def forward(
    policy: Policy,
    state: Snapshot,
    memory: Memory,
    *,
    runs: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """When every waiting job starts if no other job is submitted; see ``live_pass.forward``.

    Rules
    -----
    Running jobs begin at this instant on their own nodes for the rest of their time, in front of
    all others, which are submitted in the next second, in the order of the queue. Expected run
    times are those of the pass: the prediction is made with them as requests.
    """
    from shadowtime.engine.site.simulate import simulate_site

    refuse_on_site(policy)
    site = site_now(state)
    present = {job.id for job in state.waiting} | {run.id for run in state.running}
    users = with_ends(memory, state.ended, present)
    rows = rows_of(state, memory, site)
    expected = Tables(policy, state, memory, site, rows, users).estimates()
    assumed = runs or {}
    order = sorted(range(len(rows)), key=lambda at: rows[at].tasks is None)
    asks, submit, run, limit = [], [], [], []
    for at in order:
        row = rows[at]
        usual = expected.get(at, max(1, row.job.request))
        length = max(1, assumed.get(row.job.id, usual))
        ran = 0
        ask = row.ask
        if row.tasks is not None:
            # The clock of the simulation begins a second ago, so that these come first.
            ran = max(0, state.now - getattr(row.job, "start", state.now)) - 1
            ask = replace(ask, wanted=tuple(row.tasks))
        asks.append(ask)
        submit.append(0 if row.tasks is not None else 1)
        run.append(max(1, length - ran))
        limit.append(max(1, row.job.request - ran, run[-1]))
    n = len(rows)
    request = np.array(limit, np.int64).clip(1, MAX_SPAN)
    names = sorted({row.job.user for row in rows} - {""})
    number = {name: k for k, name in enumerate(names, 1)} | {"": -1}
    unknown = np.full(n, -1, np.int64)
    jobs = Workload(
        name="live",
        job_id=np.arange(n),
        submit=np.array(submit, np.int64),
        run=np.array(run, np.int64).clip(1, MAX_SPAN),
        request=request,
        limit=request,
        demand=np.array([ask.cpus for ask in asks], np.int64).reshape(n, 1),
        user=np.array([number[rows[at].job.user] for at in order], np.int64),
        group=unknown,
        executable=unknown,
        queue=unknown,
        partition=unknown,
        status=unknown,
        recorded_start=unknown,
        requests=Requests.of_jobs(asks),
        names={"user": ("", *names)},
        epoch=state.now - 1,
    )
    chosen = policy.replace(estimate=Requested()) if isinstance(policy.estimate, Last) else policy
    start = simulate_site(jobs, site, chosen).start.tolist()
    found = {rows[at].job.id: start[k] for k, at in enumerate(order) if rows[at].tasks is None}
    return {job: max(state.now, state.now - 1 + at) for job, at in found.items() if at >= 0}
