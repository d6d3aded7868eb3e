"""Run a comparison with progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shadowtime.cli.common.progress import compile_notice, working
from shadowtime.cli.common.running import SMALL, prepare
from shadowtime.study import compare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.cluster import Cluster
    from shadowtime.study import Comparison
    from shadowtime.workload import Workload


def run_comparison(
    workload: Workload,
    cluster: Cluster,
    policies: Sequence[Any],
    *,
    small: int = SMALL,
    kept_in: str | None = None,
    **options: Any,
) -> Comparison:
    """study.compare with progress; ``options`` are passed to it.

    With ``kept_in`` the schedules are saved in that folder and reused from it.
    """
    loads = len(options.get("loads", (None,)))
    inputs = loads * (1 + options.get("shake", 0) + options.get("resample", 0))
    jobs = inputs * len(workload)
    engine = prepare(policies, cluster, jobs=jobs, small=small, resume=kept_in)
    if options.get("known") is not None:
        inputs = loads
    with (
        working("simulating", steps=inputs * len(policies)) as advance,
        compile_notice("the engine", "up to a minute"),
    ):
        return compare(
            workload,
            cluster,
            policies,
            progress=lambda name: advance("simulating"),
            engine=advance.watched(engine),
            **options,
        )
