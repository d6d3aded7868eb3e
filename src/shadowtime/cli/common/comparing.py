"""Run a comparison with progress, compiled or not as the size of the work suggests."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from shadowtime.cli.common.compiling import compile_notice
from shadowtime.cli.common.console import note
from shadowtime.cli.common.progress import working

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.cluster import Cluster
    from shadowtime.study import Comparison
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

    from shadowtime.engine import simulate
    from shadowtime.engine.uncompiled import simulate_uncompiled
    from shadowtime.engine.warm import COST, cold, warm

    missing = cold(policies, cluster)
    if missing and jobs <= small:
        return partial(simulate_uncompiled, report=note)
    if len(missing) > 1:
        from shadowtime.study.fan_out import cores

        spent = [COST[name] for name in missing]
        seconds = max(*spent, sum(spent) // cores())
        note(f"compiling the engine for this machine: once, about {seconds} seconds ...")
        with working("compiling", steps=len(missing), patience=0.2, quiet=True) as advance:
            warm(policies, cluster, cores=cores(), finished=lambda name: advance())
    return simulate


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
    from shadowtime.study import compare

    loads = len(options.get("loads", (None,)))
    inputs = loads * (1 + options.get("shake", 0) + options.get("resample", 0))
    engine = prepare(policies, cluster, jobs=inputs * len(workload), small=small)
    if kept_in is not None:
        from shadowtime.study.sweep.kept import kept

        engine = kept(engine, kept_in)
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
            engine=engine,
            **options,
        )
