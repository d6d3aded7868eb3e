"""Sweeps from Python: many simulations that resume, on any executor."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from shadowtime.api.inputs import inputs_of
from shadowtime.api.load import Cleaning, load
from shadowtime.cluster import Cluster
from shadowtime.errors import UsageError
from shadowtime.study.sweep import Log, Outcome, Plan, plan_file, run_plan
from shadowtime.study.sweep.curves import curve
from shadowtime.study.sweep.shards import Shards, numbered, pyarrow
from shadowtime.workload import Workload, slicing


def load_log(log: Log) -> tuple[Workload, Cluster]:
    """The jobs and the machine of a log of a plan, as the command line reads them."""
    if log.path is None:
        jobs, machine = inputs_of(log.jobs, log.cluster)
    else:
        notes: list[str] = []
        rules = Cleaning(**dict(log.cleaning))
        jobs, machine = load(log.path, log.cluster, rules, demand=log.demand, report=notes.append)
    return (jobs if log.first is None else slicing.first_jobs(jobs, log.first)), machine


@dataclass(frozen=True, eq=False, kw_only=True)
class Sweep:
    """A plan and the folder of its results."""

    plan: Plan
    folder: Path
    outcome: Outcome

    def to_arrow(self) -> Any:
        """One row per run of the plan, sorted by key (needs the extra ``parquet``)."""
        arrow = pyarrow()
        table = Shards(self.folder).collect()
        wanted = arrow.array(list(self.plan.keys()))
        return numbered(table.filter(arrow.compute.is_in(table.column("key"), value_set=wanted)))

    def to_frame(self) -> Any:
        """The same as a data frame of pandas."""
        return self.to_arrow().to_pandas()

    def curve(self, metric: str, over: str, **where: Any) -> list[Any]:
        """A metric over a ranged parameter, with the interval over the copies of each point.

        ``where`` selects rows by their columns, such as ``log="KTH"`` or ``load="1.2 x"``.
        """
        return curve(self.to_arrow(), metric, over, where=where)

    def __repr__(self) -> str:
        one = self.outcome
        return (
            f"Sweep({one.planned} runs: {one.ran} now, {one.skipped} before, {one.failed} failed)"
        )


def sweep(
    jobs: Any,
    cluster: Any = None,
    policies: Sequence[Any] = (),
    *,
    folder: str | os.PathLike[str],
    loads: Sequence[str | float] = ("1",),
    shake: int = 0,
    resample: int = 0,
    seeds: Sequence[int] = (1,),
    phases: int = 0,
    window: Any = None,
    metrics: Sequence[str] = (),
    workers: int | None = None,
    executor: Executor | None = None,
    retry: Literal["none", "failed"] = "none",
) -> Sweep:
    """Run logs x machines x policies x loads x copies, except runs that the folder already
    contains.

    Rules
    -----
    ``jobs`` is a plan file (``plan.toml``), or a log or a list of logs: paths or workloads.
    ``cluster`` is a machine or a list of machines; policies may contain ranges, as in
    ``"easy(reserve=1..20)"``; with ``phases`` the policy slurm runs its passes at each of that many
    offsets. Runs go to ``workers`` processes of this machine (1: this process), or to any
    ``concurrent.futures.Executor`` whose workers see the same files. As with every use of
    processes, a script calls this below ``if __name__ == "__main__":``.

    Examples
    --------
    >>> import tempfile
    >>> import shadowtime as st
    >>> jobs = st.Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     st.sweep(jobs, "pool:4", ["easy", "greedy"], folder=folder, workers=1)
    ...     st.sweep(jobs, "pool:4", ["easy", "greedy"], folder=folder, workers=1)
    Sweep(2 runs: 2 now, 0 before, 0 failed)
    Sweep(2 runs: 0 now, 2 before, 0 failed)
    """
    if isinstance(jobs, str | os.PathLike) and os.fspath(jobs).endswith(".toml"):
        if cluster is not None or policies:
            raise UsageError("a plan file names its machines and policies itself: give it alone")
        plan = plan_file.read_plan(jobs)
    else:
        logs = list(jobs) if isinstance(jobs, list | tuple) else [jobs]
        machines = list(cluster) if isinstance(cluster, list | tuple) else [cluster]
        plan = Plan.of(
            [Log.of(one, machine) for one in logs for machine in machines],
            policies,
            loads=loads,
            shake=shake,
            resample=resample,
            seeds=seeds,
            phases=phases,
            window=window,
            metrics=metrics,
        )
    outcome = run_plan(plan, folder, load=load_log, workers=workers, executor=executor, retry=retry)
    if outcome.failed:
        warnings.warn(
            f"{outcome.failed} of {outcome.ran} runs failed; the column error gives the reasons",
            stacklevel=2,
        )
    return Sweep(plan=plan, folder=Path(folder), outcome=outcome)
