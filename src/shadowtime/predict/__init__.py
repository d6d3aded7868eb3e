"""Run time predictors: from a log to a prediction for each of its jobs.

What jobs of the same user or similar jobs ran, a column, a file, or gradient-boosted trees (which
need an extra, imported when they are fitted). Each makes a prediction for every job of a log from
what had ended by then.
"""

from __future__ import annotations

import csv
from collections import defaultdict, deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.errors import InputError, PolicyError, UsageError
from shadowtime.policy import predictors as parts
from shadowtime.policy.functions import in_words
from shadowtime.types import Floats, Ints

if TYPE_CHECKING:
    from shadowtime.workload import Workload


__all__ = ["predictions"]


def recorded_ends(workload: Workload) -> Ints:
    """When each job ended: recorded start + run; without a recorded start as if it never waited.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(
    ...     submit=[0, 5], run=[10, 0], procs=[1, 1], recorded_start=[3, -1])
    >>> recorded_ends(jobs).tolist()
    [13, 6]
    """
    start = np.where(workload.recorded_start >= 0, workload.recorded_start, workload.submit)
    ends: Ints = np.maximum(start, workload.submit) + np.maximum(workload.effective_run, 1)
    return ends


def news_before(workload: Workload) -> Iterator[tuple[int, Ints]]:
    """Each job in submit order with the jobs that ended since the one before, by (end, id).

    A job that ends in the second of a submission has ended by then.
    """
    ends = recorded_ends(workload)
    by_end = np.lexsort((workload.job_id, ends))
    known = np.searchsorted(ends[by_end], workload.submit, side="right")
    before = 0
    for job, count in enumerate(known.tolist()):
        yield job, by_end[before:count]
        before = count


def from_column(workload: Workload, name: str) -> Floats:
    """A column of the log; a negative number is unknown.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1], run=[5, 5], procs=[1, 1],
    ...     extra={"guess": np.array([7, -1])})
    >>> from_column(jobs, "guess").tolist()
    [7.0, nan]
    """
    if name not in workload.extra:
        known = ", ".join(sorted(workload.extra)) or "none"
        raise PolicyError(
            f"estimate=column: {workload.name} has no further column {name!r} (it has {known}); "
            "name one with estimate=column(column=NAME)"
        )
    values = np.asarray(workload.extra[name])
    if values.dtype.kind not in "iuf":
        raise PolicyError(f"estimate=column: the column {name!r} does not hold numbers")
    return _known(values.astype(np.float64))


def from_file(workload: Workload, path: str) -> Floats:
    """A CSV file with a line per job: job_id and estimate in seconds; negative is unknown."""
    found: dict[int, float] = {}
    try:
        with Path(path).open(newline="", encoding="utf-8") as lines:
            rows = csv.DictReader(lines)
            if not {"job_id", "estimate"} <= set(rows.fieldnames or ()):
                raise InputError(f"{path} needs the columns job_id and estimate in its first line")
            for row in rows:
                try:
                    job, seconds = int(row["job_id"]), float(row["estimate"])
                except (TypeError, ValueError):
                    raise InputError(
                        f"{path}, line {rows.line_num}: job_id must be a whole number and "
                        f"estimate a number, not {row['job_id']!r} and {row['estimate']!r}"
                    ) from None
                if job in found:
                    raise InputError(f"{path}, line {rows.line_num}: job {job} appears twice")
                found[job] = seconds
    except FileNotFoundError:
        raise InputError(f"{path}: no such file of estimates") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    ids = workload.job_id.tolist()
    missing = [job for job in ids if job not in found]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InputError(
            f"{path} has no estimate for job {missing[0]}{more}; write -1 where the request is "
            "to be taken"
        )
    return _known(np.array([found[job] for job in ids]))


def _known(values: Floats) -> Floats:
    made: Floats = np.where(values < 0, np.nan, values)
    return made


OTHER_USER, OTHER_PROGRAM = 4.0, 2.0
"""What another user or another executable adds: as much as 16 and 4 times the size."""


def nearest(workload: Workload, *, k: int = 5, window: int = 2_000) -> Floats:
    """The mean run time of the ``k`` nearest of the last ``window`` ended jobs; nan before k ended.

    Rules
    -----
    The distance is |log2 of the requests' ratio| + |log2 of the processors' ratio|, plus
    OTHER_USER and OTHER_PROGRAM where these differ. Of equally near ones the last that ended count.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(
    ...     submit=[0, 0, 50], run=[10, 30, 5], request=[60, 60, 60], procs=[1, 8, 2], user=[7] * 3)
    >>> nearest(jobs, k=1).tolist()
    [nan, nan, 10.0]
    """
    size = np.log2(np.maximum(workload.request, 1)), np.log2(workload.procs)
    run = workload.effective_run.astype(np.float64)
    found = np.full(len(workload), np.nan)
    past = np.empty(0, np.int64)
    for job, news in news_before(workload):
        if len(news):
            past = np.concatenate([past, news])[-window:]
        if len(past) < k:
            continue
        distance = (
            np.abs(size[0][past] - size[0][job])
            + np.abs(size[1][past] - size[1][job])
            + OTHER_USER * (workload.user[past] != workload.user[job])
            + OTHER_PROGRAM * (workload.executable[past] != workload.executable[job])
        )
        # Backwards and stable: the last that ended comes first among equals.
        order = np.argsort(distance[::-1], kind="stable")[:k]
        found[job] = run[past[::-1][order]].mean()
    return found


def max_of_last(workload: Workload, *, jobs: int = 5) -> Floats:
    """The request times the largest share run / request of the user's last jobs; nan at first."""
    share = workload.effective_run / np.maximum(workload.request, 1)
    return workload.request * _of_last(workload, share, jobs=jobs, least=1, quantile=1.0)


def user_quantile(
    workload: Workload, *, quantile: float = 0.9, jobs: int = 50, least: int = 3
) -> Floats:
    """A quantile of the user's last run times, one of them; nan with fewer than ``least``.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 50, 100], run=[10, 30, 5], procs=[1] * 3, user=[7] * 3)
    >>> user_quantile(jobs, quantile=0.5, least=2).tolist()
    [nan, nan, 10.0]
    """
    run = workload.effective_run.astype(np.float64)
    return _of_last(workload, run, jobs=jobs, least=least, quantile=quantile)


def _of_last(
    workload: Workload, values: Floats, *, jobs: int, least: int, quantile: float
) -> Floats:
    """A quantile of a value over the user's last ended jobs; nan for jobs without a user."""
    past: dict[int, deque[float]] = defaultdict(lambda: deque(maxlen=jobs))
    found = np.full(len(workload), np.nan)
    user, value = workload.user.tolist(), values.tolist()
    for job, news in news_before(workload):
        for ended in news.tolist():
            past[user[ended]].append(value[ended])
        mine = past[user[job]]
        if user[job] >= 0 and len(mine) >= least:
            # The smallest value that a share of at least ``quantile`` does not exceed.
            at = max(0, int(np.ceil(quantile * len(mine))) - 1)
            found[job] = sorted(mine)[at]
    return found


def predictions(part: parts.FromLog, workload: Workload) -> Floats:
    """Seconds for every job, not yet clamped to [1, request]; nan where nothing is known.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(
    ...     submit=[0, 50, 60], run=[10, 9, 9], request=[20, 40, 60], procs=[1, 1, 1], user=[7] * 3)
    >>> predictions(parts.MaxOfLast(), jobs).tolist()
    [nan, 20.0, 30.0]
    """
    if len(workload) == 0:
        return np.empty(0)
    if isinstance(part, parts.Column):
        return from_column(workload, part.column)
    if isinstance(part, parts.FromFile):
        return from_file(workload, part.path)
    if isinstance(part, parts.MaxOfLast):
        return max_of_last(workload, jobs=part.jobs)
    if isinstance(part, parts.UserQuantile):
        return user_quantile(workload, quantile=part.quantile, jobs=part.jobs, least=part.least)
    if isinstance(part, parts.Nearest):
        return nearest(workload, k=part.k, window=part.window)
    if isinstance(part, parts.Boosted):
        return boosted(
            workload,
            quantile=part.quantile,
            days=part.days,
            window=part.window,
            least=part.least,
            seed=part.seed,
        )
    if isinstance(part, parts.Function):
        return from_function(workload, part)
    raise PolicyError(f"no predictor knows the estimate part {part}")


def from_function(workload: Workload, part: parts.Function) -> Floats:
    """What a function of a user's own or of another package predicts, a number for every job."""
    try:
        made = np.asarray(part.predict(workload), dtype=np.float64)
    except Exception as error:
        raise PolicyError(
            f"the predictor {part} failed on {workload.name}: {in_words(error)}"
        ) from error
    if made.shape != (len(workload),):
        raise PolicyError(
            f"the predictor {part} must return a number of seconds for each of the "
            f"{len(workload)} jobs, not an array of shape {made.shape}"
        )
    return _known(made)


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
