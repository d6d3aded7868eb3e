"""One policy's run over a log: schedule, metrics, proof, tables and pictures."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.api.inputs import as_where, as_window, inputs_of
from shadowtime.api.tables import columns_of, group_rows, html_table, to_arrow, to_frame
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate as perform
from shadowtime.errors import UnknownName, UsageError, near
from shadowtime.metrics import Window
from shadowtime.metrics.unstarted import Unstarted
from shadowtime.policy import make_policy
from shadowtime.schedule import Schedule, files, write
from shadowtime.schedule.check import Report
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from shadowtime.api.picture import Picture
    from shadowtime.metrics.where import Where
    from shadowtime.report import Explanation, PolicyRun, ReportInput
    from shadowtime.result.read import Folder
    from shadowtime.study.compare import Engine
    from shadowtime.study.counterfactual.otherwise import Otherwise
    from shadowtime.study.counterfactual.variation import Variation
    from shadowtime.study.wait_shares import WaitShares

SHOWN = ("unstarted", "wait_mean_s", "wait_p95_s", "bsld_mean", "bsld_p95", "utilisation")
"""Metrics of a short description."""


class Metrics(dict[str, float]):
    """Metrics by name; a misspelt name is reported with similar ones.

    Examples
    --------
    >>> Metrics(bsld_mean=1.5, mwbs=3.0)["bsld_men"]
    Traceback (most recent call last):
    ...
    shadowtime.errors.UnknownName: there is no metric 'bsld_men': did you mean bsld_mean?
    """

    def __missing__(self, name: str) -> float:
        raise UnknownName(f"there is no metric {name!r}{near(str(name), self)}")


@dataclass(frozen=True, eq=False, kw_only=True)
class Run:
    """The result of a policy on a log.

    Examples
    --------
    >>> import shadowtime as st
    >>> jobs = st.Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1])
    >>> run = st.simulate(jobs, "pool:4", "easy")
    >>> run
    Run(easy on workload: 3 jobs, mean wait 2.67 s)
    >>> run.metrics["wait_mean_s"], run.check().ok
    (2.6666666666666665, True)
    """

    policy: Any
    workload: Workload
    cluster: Cluster
    schedule: Schedule
    window: Window
    where: Where | None = None
    """The jobs that count, of all that were simulated."""
    measured: Mapping[str, float] | None = None
    """The metrics, where they are known already."""
    source: Folder | None = None
    """The result folder that it was read from."""

    @property
    def name(self) -> str:
        """The policy's name."""
        return str(getattr(self.policy, "name", None) or type(self.policy).__name__)

    @property
    def parameters(self) -> dict[str, Any]:
        """The policy's parameters, for the record."""
        return dict(getattr(self.policy, "parameters", {}))

    @cached_property
    def metrics(self) -> dict[str, float]:
        """Every metric by name (docs/reference/metrics)."""
        if self.measured is not None:
            return Metrics(self.measured)
        from shadowtime.metrics import measure

        only = self.where.mask(self.workload) if self.where else None
        return Metrics(
            measure(self.schedule, self.workload, self.cluster, window=self.window, only=only)
        )

    @cached_property
    def unstarted(self) -> tuple[Unstarted, ...]:
        """The scored jobs that never start, by cause, with a lower bound of their waits.

        Examples
        --------
        >>> import numpy as np
        >>> import shadowtime as st
        >>> jobs = st.Workload.build(submit=[0, 1], run=[9, 5], procs=[8, 1],
        ...                          extra={"cancel_at": np.array([-1, 4])})
        >>> [(one.why, one.jobs) for one in st.simulate(jobs, "pool:8", "easy").unstarted]
        [('cancelled while it waited', 1)]
        """
        if not self.metrics.get("unstarted"):
            return ()
        from shadowtime.study.unstarted import why_never

        only = self.where.mask(self.workload) if self.where else None
        return why_never(self.schedule, self.workload, self.cluster, window=self.window, only=only)

    def groups(self, by: str | Sequence[str]) -> list[dict[str, Any]]:
        """Jobs, waits and slowdowns by ``user``, ``account``, ``partition``, ``size`` ...

        Examples
        --------
        >>> import shadowtime as st
        >>> jobs = st.Workload.build(submit=[0, 1], run=[9, 5], procs=[8, 1], user=[3, 4])
        >>> rows = st.simulate(jobs, "pool:8", "easy").groups("user")
        >>> [(row["by"], row["name"], row["wait_mean_s"]) for row in rows]
        [('all', 'all', 4.0), ('user', '3', 0.0), ('user', '4', 8.0)]
        """
        return group_rows([self], self.workload, by, window=self.window, where=self.where)

    def check(self, *, claims: Any = None) -> Report:
        """Prove the schedule: capacity, limits, promises and whatever else the policy claims."""
        from shadowtime.engine.rules import rules_of
        from shadowtime.schedule.check import check

        rules = rules_of(self.policy, self.workload, self.cluster)
        return check(self.schedule, self.workload, self.cluster, claims=claims, rules=rules)

    def explain(
        self,
        job: int,
        *,
        without: Iterable[Any] | str | int = (),
        if_: Mapping[str, Any] | Iterable[str] | str = (),
        run_code: bool = False,
    ) -> Explanation:
        """Why a job, by its id, started when it did, and what would have been different.

        Rules
        -----
        ``without`` and ``if_`` are what ``--without`` and ``--if`` take, one or several: the policy
        is run again with that change, and ``otherwise`` of the answer holds the difference
        (:class:`shadowtime.study.counterfactual.otherwise.Otherwise`). A run that was loaded is
        made again by its folder; ``run_code`` allows that for a policy whose code is in the folder.

        Examples
        --------
        >>> import shadowtime as st
        >>> jobs = st.Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 2])
        >>> run = st.simulate(jobs, "pool:4", "easy")
        >>> found = run.explain(2, without=1).otherwise
        >>> found.before, found.after, found.later
        (9, 1, 0)
        >>> run.explain(2, if_={"procs": 1}).otherwise.after
        1
        """
        from shadowtime.report import explain
        from shadowtime.study.counterfactual.variation import Variation

        variation = Variation.of(without=without, if_=if_)
        other = self._otherwise(job, variation, run_code) if variation else None
        return explain(self.workload, self.schedule, job, cluster=self.cluster, otherwise=other)

    def _otherwise(self, job: int, variation: Variation, run_code: bool) -> Otherwise:
        if self.source is not None:
            from shadowtime.result.rerun import otherwise_in, policy_again

            [run] = (one for one in self.source.result.runs if one.name == self.name)
            policy = policy_again(self.source, run, run_code=run_code)
            return otherwise_in(self.source, run, policy, job, variation, engine=perform)
        from shadowtime.study.counterfactual.otherwise import otherwise

        return otherwise(
            self.workload, self.cluster, self.policy, self.schedule, job, variation, engine=perform
        )

    def explain_waits(self, where: Any = None) -> WaitShares:
        """What the waits of a user or of any group are due to, as shares that add up.

        ``where`` is what ``--where`` takes (``"user=eva"``; default: the jobs that count).

        Examples
        --------
        >>> import shadowtime as st
        >>> jobs = st.Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 2])
        >>> found = st.simulate(jobs, "pool:4", "easy").explain_waits("procs>=2")
        >>> found.seconds, [(str(one.cause), one.share) for one in found.shares]
        (20, [('wide jobs', 1.0)])
        """
        from shadowtime.study.wait_shares import wait_shares

        counted = as_where(where) or self.where
        only = self.window.mask(self.workload.submit)
        if counted is not None:
            only &= counted.mask(self.workload)
        return wait_shares(self.workload, self.cluster, self.schedule, only=only)

    def to_arrow(self) -> Any:
        """One row per job as an Arrow table (needs the extra ``parquet``)."""
        return to_arrow(self._columns())

    def to_frame(self) -> Any:
        """One row per job as a data frame of pandas, or of polars if pandas is not installed."""
        return to_frame(self._columns())

    def _columns(self) -> dict[str, Any]:
        return columns_of(self.workload, self.schedule, policy=self.name)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the schedule as CSV or, by its suffix, as Parquet with the log's columns."""
        write_schedule(self.workload, self.schedule, path, policy=self.name)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write a result folder, which ``load``, ``report`` and ``explain`` read."""
        from shadowtime.result.write import as_object, write_folder

        result = self.as_report()
        return write_folder(as_object(result, self.window), result, str(folder))

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the web page of this run."""

        from shadowtime.result.write import write_results

        return write_results(self.as_report(), report=Path(path))[0]

    def plot(self) -> Picture:
        """Queue and utilisation over time (needs the extra ``figures``)."""
        from shadowtime.api.picture import picture

        return picture("over-time", self.as_report())

    def gantt(self) -> Picture:
        """The schedule as a Gantt chart (needs the extra ``figures``)."""
        from shadowtime.api.picture import picture

        return picture("gantt", self.as_report())

    def as_report(self, *others: Run, command: str = "") -> ReportInput:
        """This run, and others beside it, as a report shows them.

        ``command`` is the command line that made them, which the page quotes.
        """
        from shadowtime.report import ReportInput
        from shadowtime.result.write import versions

        names = ", ".join(run.name for run in (self, *others))
        return ReportInput(
            title=f"{names} on {self.workload.name}",
            workload=self.workload,
            cluster=self.cluster,
            runs=tuple(run.as_policy_run() for run in (self, *others)),
            window=self.window,
            where=str(self.where or ""),
            versions=versions(),
            command=command,
        )

    def as_policy_run(self) -> PolicyRun:
        """The run record of reports and result folders."""
        from shadowtime.metrics.policy_run import PolicyRun

        return PolicyRun(
            name=self.name,
            schedule=self.schedule,
            parameters=self.parameters,
            metrics=self.metrics,
            policy=self.policy,
            unstarted=self.unstarted,
        )

    def __repr__(self) -> str:
        from shadowtime.report.numbers import number

        wait = number(self.metrics.get("wait_mean_s"))
        jobs = f"{len(self.workload):,} jobs"
        never = self.metrics.get("unstarted", 0)
        lost = f", {number(never)} never started" if never else ""
        return f"Run({self.name} on {self.workload.name}: {jobs}, mean wait {wait} s{lost})"

    def _repr_html_(self) -> str:
        from shadowtime.report.metadata import describe
        from shadowtime.report.numbers import number

        rows = [
            (describe(name).heading, number(self.metrics[name]))
            for name in SHOWN
            if self.metrics.get(name) or (name in self.metrics and name != "unstarted")
        ]
        return html_table(("metric", self.name), rows, f"{self.name} on {self.workload.name}")


def simulate(
    jobs: Any,
    cluster: Any = None,
    policy: Any = "easy",
    *,
    window: Any = None,
    where: Any = None,
) -> Run:
    """Run a log through a policy on a machine.

    Rules
    -----
    ``jobs`` is a workload or a path to a log; ``cluster`` a Cluster or what ``--cluster`` accepts
    (default: that of the log's header); ``policy`` a Policy, what ``--policy`` accepts, or an
    object with ``decide``. Jobs that fit nowhere are dropped and counted in
    ``run.workload.cleaning``. The metrics are about jobs submitted in the ``window`` (what
    ``--window`` accepts; default: all) that satisfy ``where`` (``"partition=gpu,procs>=64"``).

    Examples
    --------
    >>> import shadowtime as st
    >>> jobs = st.Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1])
    >>> st.simulate(jobs, st.Cluster.pool(4), st.policy("easy")).schedule.start.tolist()
    [0, 9, 2]
    """
    chosen, scored, counted = make_policy(policy), as_window(window), as_where(where)
    workload, machine = inputs_of(jobs, cluster)
    return run_policy(workload, machine, chosen, window=scored, where=counted)


def run_policy(
    workload: Workload,
    cluster: Cluster,
    policy: Any,
    *,
    window: Window,
    where: Where | None = None,
    engine: Engine = perform,
) -> Run:
    """The same for jobs that are known to fit; ``engine`` performs the run."""
    return Run(
        policy=policy,
        workload=workload,
        cluster=cluster,
        schedule=engine(workload, cluster, policy),
        window=window,
        where=where,
    )


def write_schedule(
    workload: Workload, schedule: Schedule, path: str | os.PathLike[str], *, policy: str
) -> None:
    """Write a schedule as CSV or Parquet, by the suffix; Parquet has columns of the log too."""
    target = Path(path)
    if target.suffix.lower() not in files.SUFFIXES and (target.is_file() or not target.exists()):
        raise UsageError(
            f"{target}: a schedule is written as CSV or Parquet: name it {target.stem}.csv or "
            f"{target.stem}.parquet"
        )
    columns = columns_of(workload, schedule, policy=policy)
    log = {name: columns[name] for name in ("run", "user", "partition", "policy")}
    write(schedule, target, more=log)
