"""Columns per job: wait, response, slowdown and its bounded forms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shadowtime.schedule import Schedule, runs
from shadowtime.types import AnyArray, Floats, Ints
from shadowtime.workload import Workload

TAU = 10
"""Bounded slowdown counts shorter runs as this many seconds."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Jobs:
    """Some jobs of a schedule, with what is measured of each.

    Rules
    -----
    wait = last start - submit; run = end - start of the last attempt (so lost runs are wait);
    where stopped jobs keep their work, run is all that counted and wait the rest of the response;
    response = wait + run; slowdown = response / run (a run of 0 s counts as 1 s).

    Examples
    --------
    >>> j = Jobs(wait=np.array([10]), run=np.array([5]), procs=np.array([2]))
    >>> j.slowdown.tolist(), j.bounded().tolist(), j.bounded_paper().tolist()
    ([3.0], [1.5], [2.0])
    >>> j.bounded_per_processor().tolist()
    [1.0]
    """

    wait: Ints
    run: Ints
    procs: Ints

    @staticmethod
    def of(schedule: Schedule, which: AnyArray | slice, *, run: Ints | None = None) -> Jobs:
        """The jobs at these rows; ``run`` in place of end - start (the trace's, say)."""
        lasted = schedule.worked if run is None else run
        return Jobs(wait=schedule.wait[which], run=lasted[which], procs=schedule.procs[which])

    def __len__(self) -> int:
        return len(self.wait)

    def at(self, which: AnyArray) -> Jobs:
        """Some of these jobs."""
        return Jobs(wait=self.wait[which], run=self.run[which], procs=self.procs[which])

    @cached_property
    def response(self) -> Ints:
        return self.wait + self.run

    @cached_property
    def area(self) -> Ints:
        """Processor-seconds of the last attempt."""
        return self.procs * self.run

    @cached_property
    def slowdown(self) -> Floats:
        slowdown: Floats = self.response / np.maximum(self.run, 1)
        return slowdown

    @cached_property
    def _counted(self) -> Ints:
        """Run times as bounded slowdowns count them."""
        return np.maximum(self.run, TAU)

    @cached_property
    def _bounded(self) -> Floats:
        bounded: Floats = np.maximum(1.0, self.response / self._counted)
        return bounded

    def bounded(self, tau: int = TAU) -> Floats:
        """max(1, response / max(run, tau)), the usual form."""
        if tau == TAU:
            return self._bounded
        bounded: Floats = np.maximum(1.0, self.response / np.maximum(self.run, tau))
        return bounded

    def bounded_paper(self) -> Floats:
        """(wait + max(run, TAU)) / max(run, TAU): PV-EASY's form, different only for run < TAU.

        References
        ----------
        Yuan et al. 2010, equation 1.
        """
        bounded: Floats = (self.wait + self._counted) / self._counted
        return bounded

    def bounded_per_processor(self) -> Floats:
        """max(1, response / (procs max(run, TAU))): a wide job may wait longer for the same."""
        bounded: Floats = np.maximum(1.0, self.response / (self.procs * self._counted))
        return bounded


def sum_of_products(values: AnyArray, weights: AnyArray) -> float:
    """Sum of value x weight, added up in one order on every machine.

    BLAS would share it out among threads: the last bits would depend on their number, and idle
    threads would spin while the next policy is simulated.

    Examples
    --------
    >>> sum_of_products(np.array([1.0, 4.0]), np.array([1, 2]))
    9.0
    """
    return float(np.multiply(values, weights, dtype=np.float64).sum())


def weighted_mean(values: AnyArray, weights: AnyArray) -> float:
    """Sum of weight x value over the sum of weights; nan where nothing weighs.

    Examples
    --------
    >>> weighted_mean(np.array([1.0, 4.0]), np.array([1, 2]))
    3.0
    """
    total = float(weights.sum())
    return sum_of_products(values, weights) / total if total else float("nan")


def pyss_filter(schedule: Schedule, workload: Workload) -> AnyArray:
    """Mask of the jobs that pyss would count, for comparing with results made by it.

    Rules
    -----
    Walk the jobs by end (ties by submit, then id), counting them. A tiny job (1 processor,
    estimate 1 s) is never scored and makes the size of the workload, at first the number of jobs,
    one smaller. A job is skipped while its count is at most floor(size / 100). The walk stops at
    the first end after the last submission.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 5], run=[3, 3], procs=[1, 1], recorded_start=[0, 5])
    >>> pyss_filter(Schedule.recorded(w), w).tolist()
    [True, False]
    """
    rows = np.flatnonzero(runs.started(schedule))
    order = rows[np.lexsort((workload.job_id[rows], workload.submit[rows], schedule.end[rows]))]
    tiny = (workload.procs[order] == 1) & (workload.request[order] == 1)
    size = len(order) - np.cumsum(tiny)
    # As pyss counts: tiny jobs are not in the size that is compared, but they are in the count.
    count = np.arange(1, len(order) + 1)
    in_time = schedule.end[order] <= workload.submit.max(initial=0)
    mask = np.zeros(len(schedule), bool)
    mask[order] = ~tiny & (count > size // 100) & in_time
    return mask
