"""The copies of a comparison as runs of a sweep: saved in a folder and never repeated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.errors import ShadowtimeError, UsageError
from shadowtime.study.sweep.plan import Log, Plan
from shadowtime.study.sweep.run import Progress, run_plan
from shadowtime.study.sweep.shards import ERROR, FIXED, SETTING, Shards

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor

    from shadowtime.cluster import Cluster
    from shadowtime.metrics import Window
    from shadowtime.study.compare import Known
    from shadowtime.study.replicas import Load
    from shadowtime.study.sweep.unit import Loader
    from shadowtime.workload import Workload


def run_copies(
    workload: Workload,
    cluster: Cluster,
    policies: Sequence[Any],
    folder: str | os.PathLike[str],
    *,
    load: Loader,
    loads: Sequence[Load],
    shake: int,
    resample: int,
    seed: int,
    window: Window,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[Progress], None] = lambda progress: None,
    announce: Callable[[str], None] = lambda text: None,
) -> Known:
    """Run what the folder lacks of every policy on every copy; returns the numbers of each.

    Rules
    -----
    The runs are those of a sweep (``run_plan``): each has a key, a key with a row is not run again,
    and Ctrl-C keeps what is done. A run that failed is tried again. ``policies`` are texts without
    ranges, or policies, in the order of the comparison.

    Examples
    --------
    >>> import tempfile
    >>> from shadowtime.api.sweep import load_log
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.metrics import Window
    >>> from shadowtime.study.replicas import AS_RECORDED
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     known = run_copies(
    ...         jobs, Cluster.pool(4), ["easy"], folder, load=load_log, loads=[AS_RECORDED],
    ...         shake=2, resample=0, seed=1, window=Window.all(), workers=1,
    ...     )
    >>> known(0, AS_RECORDED, 2)["jobs"]
    3.0
    """
    if not shake and not resample:
        raise UsageError("there are no copies to run: add --shake N or --resample N")
    plan = Plan.of(
        [Log.of(workload, cluster)], policies, loads=loads, shake=shake, resample=resample,
        seeds=(seed,), window=window,
    )  # fmt: skip
    if len(plan.variants) != len(policies):
        raise UsageError("a comparison takes policies without ranges: sweep runs every value")
    run_plan(
        plan, folder, load=load, workers=workers, executor=executor, retry="failed",
        progress=progress, announce=announce,
    )  # fmt: skip
    keys = {(c.variant.digest, str(c.load), c.copy): c.key for c in plan.cases()}
    wanted = set(keys.values())
    rows = {
        row["key"]: row
        for row in Shards(Path(folder)).collect().to_pylist()
        if row["key"] in wanted
    }

    def known(policy: int, at: Load, copy: int) -> dict[str, float]:
        row = rows[keys[plan.variants[policy].digest, str(at), copy]]
        if row[ERROR] is not None:
            raise ShadowtimeError(f"{row['policy']} on copy {copy} of {row['log']}: {row[ERROR]}")
        return {
            name: value
            for name, value in row.items()
            if value is not None and name not in (*FIXED, ERROR) and not name.startswith(SETTING)
        }

    return known
