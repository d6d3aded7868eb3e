"""Quantile regression by gradient-boosted trees, refitted every few days to what had ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.predict.history import news_before

if TYPE_CHECKING:
    from shadowtime.types import Floats
    from shadowtime.workload import Workload

DAY = 86_400
CATEGORIES = (2, 3, 4, 5, 6)
"""Columns of the features that are names: user, account, executable, QOS, partition."""
TREES = 80


def boosted(
    workload: Workload,
    *,
    quantile: float = 0.8,
    days: float = 7.0,
    window: int = 20_000,
    least: int = 200,
    seed: int = 1,
) -> Floats:
    """A quantile of the run time by LightGBM; nan until ``least`` jobs had ended.

    Rules
    -----
    A fit sees the last ``window`` jobs that had ended by then, nothing later. Features: request,
    processors, user, account, executable, QOS, partition, hour and weekday of the submission, and
    the user's last two run times at the submission. One thread and a fixed seed: the same answer
    every time.
    """
    fit = _library()
    table = features(workload)
    run = workload.effective_run.astype(np.float64)
    found = np.full(len(workload), np.nan)
    past: list[int] = []
    model: Any = None
    next_fit = -np.inf
    waiting: list[int] = []

    def answer() -> None:
        if model is not None and waiting:
            found[waiting] = np.exp(model.predict(table[waiting])) - 1
        waiting.clear()

    for job, news in news_before(workload):
        past.extend(news.tolist())
        now = int(workload.submit[job])
        if now >= next_fit and len(past) >= least:
            answer()
            rows = past[-window:]
            model = fit(table[rows], np.log1p(run[rows]), quantile, seed)
            next_fit = now + days * DAY
        waiting.append(job)
    answer()
    return found


def features(workload: Workload) -> Floats:
    """A row per job; run times in it are those that were known at its submission."""
    last = np.full((len(workload), 2), -1.0)
    known: dict[int, tuple[float, float]] = {}
    run, user = workload.effective_run.tolist(), workload.user.tolist()
    for job, news in news_before(workload):
        for ended in news.tolist():
            known[user[ended]] = (run[ended], known.get(user[ended], (-1.0, -1.0))[0])
        last[job] = known.get(user[job], (-1.0, -1.0))
    clock = workload.submit + (workload.epoch or 0)
    return np.column_stack(
        [
            workload.request,
            workload.procs,
            workload.user,
            workload.group,
            workload.executable,
            workload.queue,
            workload.partition,
            clock // 3600 % 24,
            clock // DAY % 7,
            last,
        ]
    ).astype(np.float64)


def _library() -> Any:
    """A function that fits a model; LightGBM is an extra."""
    try:
        import lightgbm
    except (ImportError, OSError):  # OSError: its compiled part lacks a library of the system
        raise UsageError(
            "estimate=lightgbm needs the package lightgbm: pip install 'shadowtime[ml]'"
        ) from None

    def fit(rows: Floats, target: Floats, quantile: float, seed: int) -> Any:
        options = {
            "objective": "quantile",
            "alpha": quantile,
            "num_leaves": 31,
            "min_data_in_leaf": 10,
            "learning_rate": 0.1,
            "seed": seed,
            "deterministic": True,
            "num_threads": 1,
            "verbosity": -1,
        }
        data = lightgbm.Dataset(rows, target, categorical_feature=list(CATEGORIES))
        return lightgbm.train(options, data, num_boost_round=TREES)

    return fit
