"""Several runs side by side: what ``compare`` returns and ``load`` reads again."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from shadowtime.api.inputs import as_where, as_window, inputs_of, require_folder
from shadowtime.api.picture import Picture, picture
from shadowtime.api.run import SHOWN, Run
from shadowtime.api.tables import group_rows, html_table, to_arrow, to_frame
from shadowtime.engine import simulate
from shadowtime.errors import UnknownName, UsageError, near
from shadowtime.metrics.where import Where
from shadowtime.policy import make_policy
from shadowtime.report import ReportInput, metadata
from shadowtime.report.contest import contest
from shadowtime.report.policy_rows import HOLLOW, legend, value
from shadowtime.report.verdict import Verdict, verdict_of
from shadowtime.result.comparison import as_report, copies_in_words, write_comparison
from shadowtime.result.write import as_object, write_folder, write_results
from shadowtime.study import Comparison, Load
from shadowtime.study import compare as run_all
from shadowtime.study.compare import Engine

WIDTH = 80
"""Columns of a printed comparison."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Results:
    """Runs of several policies over one log; the first is the baseline.

    ``reports`` has what is shown of each load; ``runs`` are those of the first. ``comparison``
    holds the paired differences over shaken or resampled copies, if there are any; it is None for
    results read from a folder.

    Examples
    --------
    >>> import shadowtime as st
    >>> jobs = st.Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1])
    >>> found = st.compare(jobs, "pool:4", ["fcfs", "easy"])
    >>> found["easy"].metrics["wait_mean_s"] < found["fcfs"].metrics["wait_mean_s"]
    True
    """

    runs: tuple[Run, ...]
    reports: tuple[ReportInput, ...]
    comparison: Comparison | None = None

    @property
    def result(self) -> ReportInput:
        """What is shown of the first load."""
        return self.reports[0]

    def __getitem__(self, policy: str | int) -> Run:
        if isinstance(policy, int):
            return self.runs[policy]
        for run in self.runs:
            if run.name == policy:
                return run
        names = [run.name for run in self.runs]
        raise UnknownName(f"there is no run of {policy!r} here{near(policy, names)}")

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def _columns(self) -> dict[str, Any]:
        names = list(dict.fromkeys(name for run in self.runs for name in run.metrics))
        columns: dict[str, Any] = {"policy": [run.name for run in self.runs]}
        return columns | {name: [run.metrics.get(name) for run in self.runs] for name in names}

    def to_frame(self) -> Any:
        """A row per policy, a column per metric (pandas, or polars)."""
        return to_frame(self._columns())

    def to_arrow(self) -> Any:
        """A row per policy, a column per metric, as an Arrow table."""
        return to_arrow(self._columns())

    def groups(self, by: str | Sequence[str]) -> list[dict[str, Any]]:
        """Jobs, waits and slowdowns by ``user``, ``partition``, ``size`` ...: a row per policy.

        With several loads the rows are of all of them.
        """
        window, where = self.runs[0].window, self.runs[0].where
        loads = [str(one.load) for one in self.comparison.settings] if self.comparison else [""]
        return [
            {**row, "load": load} if load else row
            for load, shown in zip(loads, self.reports, strict=True)
            for row in group_rows(shown.runs, shown.workload, by, window=window, where=where)
        ]

    def as_dict(self, *, groups: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
        """The object that ``compare --json`` prints, with the rows of ``groups`` if given."""
        more = self.comparison.as_dict() if self.comparison else {}
        rows = {"groups": list(groups)} if groups else {}
        return as_object(self.result, self.runs[0].window, **more, **rows)

    def save(
        self, folder: str | os.PathLike[str], *, groups: Sequence[dict[str, Any]] = ()
    ) -> Path:
        """Write a result folder, with the rows of ``groups`` if given; ``st.load`` reads it."""
        if self.comparison is None:
            return write_folder(self.as_dict(groups=groups), self.result, str(folder))
        write_comparison(self.as_dict(groups=groups), self.comparison, self.reports, str(folder))
        return Path(folder)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the web page that shows all of them."""
        return write_results(self.result, report=Path(path))[0]

    def plot(self) -> Picture:
        """Queue and utilisation over time, all policies together."""
        return picture("over-time", self.result)

    def __repr__(self) -> str:
        names = ", ".join(run.name for run in self.runs)
        return f"Results({names} on {self.result.workload.name})"

    def __str__(self) -> str:
        """The metrics of the report's first screen and its verdict, at most ``WIDTH`` wide."""
        from shadowtime.report.terminal import comparison_table

        names = [each.info.name for each in self.verdict.contests]
        words = legend((metadata.describe(name).short for name in names), self._copies)
        out = io.StringIO()
        console = Console(width=WIDTH, no_color=True, highlight=False, file=out)
        console.print(comparison_table(self.result.runs, width=WIDTH))
        if len(self.runs) > 1:
            console.print(Text(words))
        console.print(Text(f"\n{self.verdict.headline} {self.verdict.detail}"))
        return "\n".join(line.rstrip() for line in out.getvalue().splitlines())

    @property
    def verdict(self) -> Verdict:
        """The trade-off in the words of the page: ``headline``, ``detail`` and ``choices``."""
        return verdict_of(self.result)

    @property
    def _copies(self) -> str:
        """How many copies of the log the values are means over; empty without copies."""
        if self.comparison is not None:
            return copies_in_words(self.comparison) if self.comparison.replicas.count else ""
        counts = [len(values) for run in self.result.runs for values in run.copies.values()]
        return f"{max(counts)} copies" if counts else ""

    def _repr_html_(self) -> str:
        names = [name for name in SHOWN if any(name in run.metrics for run in self.runs)]
        contests = [contest(self.result.runs, name) for name in names]
        rows = [
            (run.name, *(value(each, place).plain for each in contests))
            for place, run in enumerate(self.runs)
        ]
        headings = ("policy", *(each.info.label for each in contests))
        means = f" (means over {self._copies}; {HOLLOW} may be chance)" if self._copies else ""
        return html_table(headings, rows, f"{self.result.title}{means}")


def compare(
    jobs: Any,
    cluster: Any = None,
    policies: Sequence[Any] = ("easy", "conservative"),
    *,
    shake: int = 0,
    resample: int = 0,
    seed: int = 1,
    loads: Sequence[Any] = (),
    window: Any = None,
    where: Any = None,
    threads: int | None = None,
    resume: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
) -> Results:
    """Run a log under several policies; the first is the baseline.

    Rules
    -----
    ``shake`` and ``resample`` copies of the log, the same for every policy, give paired
    differences with intervals (``found.comparison``). ``loads`` are factors (such as 1.2) or
    ``"offered=0.9"``; the runs of the results are those of the first. All jobs are simulated; the
    metrics are about those of the ``window`` that satisfy ``where``. With ``resume`` every run is
    saved in that folder and reused; the runs on copies then go to ``workers`` processes, or
    to any ``concurrent.futures.Executor`` whose workers see the same files.

    Parameters
    ----------
    loads : L
        Jobs arrive L times as fast, such as 1.2, or at a load, such as offered=0.9; repeatable.
        [default: as recorded]
    shake : N >= 0
        Also run N copies of the log with every submission and run time moved a little: a rank that
        differs between them may be chance.
    resample : N >= 0
        Also run N logs with resampled users: what another year might have looked like.
    seed : S >= 0
        Seed of the copies, which are the same for every policy.
    resume : DIR
        Save every run in DIR as a sweep does, and reuse runs found there: the same command resumes
        after Ctrl-C, and more copies need only their own runs.

    Examples
    --------
    >>> import tempfile
    >>> import shadowtime as st
    >>> jobs = st.Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     st.compare(jobs, "pool:4", ["easy", "fcfs"], shake=2, resume=folder, workers=1)
    Results(easy, fcfs on ...)
    """
    workload, machine = inputs_of(jobs, cluster)
    chosen = [make_policy(each) for each in policies]
    scored, counted = as_window(window), as_where(where)
    wanted = [each if isinstance(each, Load) else Load.parse(str(each)) for each in loads]
    require_folder(resume, workers, executor)
    if counted is not None and (workers is not None or executor is not None):
        raise UsageError("workers perform the runs on copies of the whole log: omit where")
    engine: Engine = simulate
    known = None
    if resume is not None:
        from shadowtime.api.sweep import load_log
        from shadowtime.study.sweep.run import run_copies
        from shadowtime.study.sweep.store import kept

        engine = kept(simulate, resume)
        if (shake or resample) and counted is None:  # the saved numbers are about all jobs
            known = run_copies(
                workload, machine, policies, resume, load=load_log, loads=wanted or [Load()],
                shake=shake, resample=resample, seed=seed, window=scored, workers=workers,
                executor=executor,
            )  # fmt: skip
    found = run_all(
        workload,
        machine,
        chosen,
        loads=wanted or [Load()],
        shake=shake,
        resample=resample,
        seed=seed,
        window=scored,
        where=counted,
        threads=threads,
        engine=engine,
        known=known,
    )
    return results_of(found, chosen, where=counted)


def results_of(
    comparison: Comparison,
    policies: Sequence[Any],
    *,
    where: Where | None = None,
    title: str = "",
    command: str = "",
) -> Results:
    """A comparison of these policies, as it is shown and saved."""
    first = comparison.settings[0]
    runs = tuple(
        Run(
            policy=each,
            workload=first.workload,
            cluster=comparison.cluster,
            schedule=one.schedule,
            window=comparison.window,
            where=where,
            measured=one.metrics,
        )
        for each, one in zip(policies, first.runs, strict=True)
    )
    reports = tuple(
        as_report(comparison, setting, where=str(where or ""), title=title, command=command)
        for setting in comparison.settings
    )
    return Results(runs=runs, reports=reports, comparison=comparison)


def load(folder: str | os.PathLike[str]) -> Results:
    """Read a result folder that ``save`` or ``-o`` wrote."""
    from shadowtime.result.read import read_folder

    found = read_folder(str(folder))
    counted = as_where(found.result.where)
    runs = tuple(
        Run(
            policy=_Named(run.name, dict(run.parameters)),
            workload=found.result.workload,
            cluster=run.cluster or found.result.cluster,
            schedule=run.schedule,
            window=found.window,
            where=counted,
            measured=run.metrics,
            source=found,
        )
        for run in found.result.runs
    )
    return Results(runs=runs, reports=(found.result,))


@dataclass(frozen=True)
class _Named:
    """A policy of which a folder stores the name and the parameters."""

    name: str
    parameters: dict[str, Any]
