"""Tuning from Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

from shadowtime.api.inputs import inputs_of
from shadowtime.study.sweep.store import Store
from shadowtime.study.tune import Parts, Space, Tuned
from shadowtime.study.tune import tune as search
from shadowtime.study.tune.parts import PERIODS


def tune(
    jobs: Any,
    cluster: Any = None,
    policy: str = "easy(order=weighted)",
    *,
    over: Sequence[str],
    objectives: Sequence[str] = ("bsld_mean",),
    method: Literal["random", "halving", "optuna"] = "halving",
    trials: int = 50,
    seed: int = 1,
    copies: int = 10,
    baseline: str = "easy",
    rivals: Sequence[str] | None = None,
    periods: int = PERIODS,
    report_on: Any = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Callable[[str], None] = lambda what: None,
) -> Tuned:
    """Tune parameters of a policy on the first 60 % of a log, select on 20 %, report on the rest.

    Rules
    -----
    The same is done at ``periods`` cuts of the log, and what was tuned is compared with the
    template as it is, the ``rivals`` and the baseline: ``found.verdict`` is the answer whether
    tuning is worth it, ``found.rivals`` the table. ``report_on`` is another log to report on; it
    must not contain jobs used for tuning.

    Parameters
    ----------
    over : NAME=RANGE
        A parameter to tune: expansion=0..1, 'wait=0.001..1 log', reserve=1..8, order=fcfs,sjf;
        repeatable.
    objectives : M,...
        Metrics to improve, the most important first.
    method
        How to search; optuna needs the extra tune.
    trials : N >= 2
        Candidates to try.
    seed : S >= 0
        Seed of the search and of the copies.
    copies : N >= 2
        Shaken copies of the last part, for the interval.
    baseline : P
        The policy to compare with.
    rivals : P
        A policy that needs no tuning, to compare with; repeatable. [default: the catalogue's
        policies that differ from the template only in what is tuned]
    periods : N >= 1
        Cuts of the log over which tuning is evaluated; fewer where the log is short.
    resume : DIR
        Save the numbers of every run in DIR, and reuse those found there: the same command resumes
        after Ctrl-C.

    Examples
    --------
    >>> import shadowtime as st
    >>> found = st.tune(st.demo(), "pool:256", "easy", over=["reserve=1..3"], trials=3, copies=2,
    ...                 rivals=["lxf"])
    >>> found.chosen.startswith("easy(reserve="), found.verdict.answer
    (True, 'do not tune')
    >>> sorted(one.name for one in found.rivals)
    ['easy', 'lxf', 'tuned']
    """
    space = Space.of(policy, over)
    workload, machine = inputs_of(jobs, cluster)
    other = None if report_on is None else inputs_of(report_on, machine)[0]
    return search(
        Parts.cuts(workload, periods=periods, report_on=other), machine, space, objectives,
        method=method, trials=trials, seed=seed, copies=copies, baseline=baseline, rivals=rivals,
        progress=progress, store=None if resume is None else Store.at(resume),
    )  # fmt: skip
