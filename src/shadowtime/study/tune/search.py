"""Search a space of candidates: at random, by halving, or with Optuna."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shadowtime.errors import MissingExtra
from shadowtime.study.tune.space import order

if TYPE_CHECKING:
    from shadowtime.study.tune.space import Candidate, Space

Method = Literal["random", "halving", "optuna"]
Values = tuple[float, ...]
Evaluate = Callable[[Sequence["Candidate"], int | None], list[Values]]
"""Objectives (smaller is better) of candidates, on a number of sampled weeks or all jobs (None)."""
BATCH = 8
"""Candidates requested from Optuna at a time."""


def search(
    space: Space, method: Method, *, trials: int, seed: int, weeks: int, evaluate: Evaluate
) -> dict[Candidate, Values]:
    """Candidates with their objectives on all of the first part.

    Rules
    -----
    random: ``trials`` draws, each on all jobs. halving: ``trials`` draws on one week, the better
    half on two, and so on; the remaining ones run on all jobs (with several objectives, front by
    front). optuna: its default sampler, in batches of eight. The same seed gives the same
    candidates.
    """
    rng = np.random.default_rng([seed, 1])
    if method == "optuna":
        return _optuna(space, trials, seed, evaluate)
    drawn = list(dict.fromkeys(space.draw(rng) for _ in range(trials)))
    if method == "halving":
        rung = 1
        while len(drawn) > 4 and rung <= weeks:
            values = evaluate(drawn, rung)
            keep = max(4, math.ceil(len(drawn) / 2))
            drawn = [drawn[at] for at in sorted(order(values)[:keep])]
            rung *= 2
    return dict(zip(drawn, evaluate(drawn, None), strict=True))


def _optuna(space: Space, trials: int, seed: int, evaluate: Evaluate) -> dict[Candidate, Values]:
    try:
        import optuna
    except ImportError:
        purpose = "search with --method optuna"
        raise MissingExtra("optuna", extra="tune", purpose=purpose) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    found: dict[Candidate, Values] = {}
    study: Any = None
    asked = 0
    while asked < trials:
        count = min(BATCH, trials - asked)
        if study is None:  # the number of objectives is known from the first answer
            rng = np.random.default_rng([seed, 1])
            first = space.draw(rng)
            found[first] = evaluate([first], None)[0]
            asked += 1
            study = optuna.create_study(
                sampler=optuna.samplers.TPESampler(seed=seed),
                directions=["minimize"] * len(found[first]),
            )
            continue
        batch = [study.ask() for _ in range(count)]
        candidates = [_suggest(space, trial) for trial in batch]
        new = [one for one in dict.fromkeys(candidates) if one not in found]
        found.update(zip(new, evaluate(new, None), strict=True))
        for trial, candidate in zip(batch, candidates, strict=True):
            values = found[candidate]
            if all(map(math.isfinite, values)):
                study.tell(trial, values)
            else:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
        asked += count
    return found


def _suggest(space: Space, trial: Any) -> Candidate:
    values = []
    for axis in space.axes:
        if axis.kind == "choice":
            values.append(trial.suggest_categorical(axis.name, list(axis.choices)))
        elif axis.kind == "whole":
            values.append(str(trial.suggest_int(axis.name, int(axis.low), int(axis.high))))
        else:
            drawn = trial.suggest_float(axis.name, axis.low, axis.high, log=axis.log)
            values.append(f"{drawn:.6g}")
    return tuple((axis.name, value) for axis, value in zip(space.axes, values, strict=True))
