"""Run policies over a workload with progress, compiled or not as the size of the work suggests."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from shadowtime.api.run import run_policy
from shadowtime.cli.common.compiling import compile_notice
from shadowtime.cli.common.console import note
from shadowtime.cli.common.progress import working
from shadowtime.engine import simulate, warm
from shadowtime.engine.uncompiled import simulate_uncompiled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.api.run import Run
    from shadowtime.cluster import Cluster
    from shadowtime.metrics import Window
    from shadowtime.metrics.where import Where
    from shadowtime.study.compare import Engine
    from shadowtime.workload import Workload


SMALL = 1000
"""Up to this many jobs are simulated in plain Python faster than a pass compiles, however long the
queue.
"""


def prepare(policies: Sequence[Any], cluster: Cluster, *, jobs: int, small: int = SMALL) -> Engine:
    """What to simulate ``jobs`` jobs with; compiles on all cores if needed, and reports it.

    Up to ``small`` jobs on a machine where nothing is compiled are run without compiling: that is
    quicker, and the schedules are the same.
    """
    missing = warm.cold(policies, cluster)
    if missing and jobs <= small:
        return partial(simulate_uncompiled, report=note)
    if len(missing) > 1:
        from shadowtime.study.fan_out import cores

        spent = [warm.COST[name] for name in missing]
        seconds = max(*spent, sum(spent) // cores())
        note(f"compiling the engine for this machine: once, about {seconds} seconds ...")
        with working("compiling", steps=len(missing), patience=0.2, quiet=True) as advance:
            warm.warm(policies, cluster, cores=cores(), finished=lambda name: advance())
    return simulate


def run_policies(
    workload: Workload,
    cluster: Cluster,
    policies: Sequence[Any],
    window: Window,
    *,
    where: Where | None = None,
) -> tuple[Run, ...]:
    """Simulate and measure each policy in turn; ``where`` selects the jobs that count."""
    engine = prepare(policies, cluster, jobs=len(workload))
    runs = []
    steps = len(policies) if len(policies) > 1 else None
    with (
        working("simulating", steps=steps) as advance,
        compile_notice("the engine", "up to a minute"),
    ):
        for policy in policies:
            run = run_policy(workload, cluster, policy, window=window, where=where, engine=engine)
            run.metrics  # noqa: B018 - measured here, where progress is shown
            runs.append(run)
            advance(f"{run.name} done")
    return tuple(runs)
