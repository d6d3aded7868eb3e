"""Tuning from Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from shadowtime.api.inputs import inputs_of
from shadowtime.study.tune import Parts, Space
from shadowtime.study.tune import tune as search

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shadowtime.study.tune import Tuned


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
    report_on: Any = None,
    progress: Callable[[str], None] = lambda what: None,
) -> Tuned:
    """Tune parameters of a policy on the first 60 % of a log, select on 20 %, report on the rest.

    Rules
    -----
    ``over`` are texts such as ``"expansion=0..1"``, ``"wait=0.001..1 log"``, ``"reserve=1..8"`` or
    ``"order=fcfs,sjf"``. ``report_on`` is another log to report on; it must not contain jobs used
    for tuning.

    Examples
    --------
    >>> import shadowtime as st
    >>> found = st.tune(st.demo(), "pool:256", "easy", over=["reserve=1..3"], trials=3, copies=2)
    >>> found.chosen.startswith("easy(reserve="), found.jobs[2] > 0, len(found.report)
    (True, True, 1)
    """
    space = Space.of(policy, over)
    workload, machine = inputs_of(jobs, cluster)
    other = None if report_on is None else inputs_of(report_on, machine)[0]
    return search(
        Parts.of(workload, report_on=other), machine, space, objectives, method=method,
        trials=trials, seed=seed, copies=copies, baseline=baseline, progress=progress,
    )  # fmt: skip
