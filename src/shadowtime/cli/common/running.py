"""Run policies over a workload, with progress and a note before the first compilation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shadowtime.cli.common.compiling import compile_notice
from shadowtime.cli.common.progress import working

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.cluster import Cluster
    from shadowtime.metrics import Window
    from shadowtime.report import PolicyRun
    from shadowtime.types import AnyArray
    from shadowtime.workload import Workload


def run_policies(
    workload: Workload,
    cluster: Cluster,
    policies: Sequence[Any],
    window: Window,
    *,
    only: AnyArray | None = None,
) -> tuple[PolicyRun, ...]:
    """Simulate and measure each policy in turn; ``only`` are the jobs that count."""
    from shadowtime.cli.common.comparing import prepare
    from shadowtime.metrics import measure
    from shadowtime.report import PolicyRun

    engine = prepare(policies, cluster, jobs=len(workload))
    runs = []
    steps = len(policies) if len(policies) > 1 else None
    with (
        working("simulating", steps=steps) as advance,
        compile_notice("the engine", "up to a minute"),
    ):
        for policy in policies:
            name = str(getattr(policy, "name", type(policy).__name__))
            schedule = engine(workload, cluster, policy)
            metrics = measure(schedule, workload, cluster, window=window, only=only)
            runs.append(
                PolicyRun(
                    name=name,
                    schedule=schedule,
                    parameters=dict(getattr(policy, "parameters", {})),
                    metrics=metrics,
                )
            )
            advance(f"{name} done")
    return tuple(runs)
