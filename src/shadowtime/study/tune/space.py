"""Where to search and how: ranges of parameters, methods, and which candidates no other beats."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shadowtime.errors import UsageError, optional
from shadowtime.policy import make_policy, parse, parse_policy
from shadowtime.policy.part import SLOTS
from shadowtime.policy.policy import Policy
from shadowtime.printable import shown
from shadowtime.study.sweep.ranges import NUMBER, number

Kind = Literal["real", "whole", "choice"]
Candidate = tuple[tuple[str, str], ...]
"""Parameters and their values, as texts of a policy."""
_RANGE = re.compile(rf"({NUMBER})\.\.({NUMBER})(\s+log)?")


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One parameter: real or whole numbers between two ends, or a list of words."""

    name: str
    kind: Kind
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    choices: tuple[str, ...] = ()

    def draw(self, rng: np.random.Generator) -> str:
        """A value, uniform (or uniform in its logarithm)."""
        if self.kind == "choice":
            return self.choices[int(rng.integers(len(self.choices)))]
        return self.at(float(rng.random()))

    def at(self, share: float) -> str:
        """The value at a share of the range."""
        if self.log:
            value = self.low * (self.high / self.low) ** share
        else:
            value = self.low + share * (self.high - self.low)
        if self.kind == "whole":
            value = float(min(self.high, math.floor(self.low + share * (self.high - self.low + 1))))
        return number(float(f"{value:.6g}"))


@dataclass(frozen=True, kw_only=True)
class Space:
    """A policy and the parameters that are tuned.

    Examples
    --------
    >>> space = Space.of("easy(order=weighted)", ["expansion=0..1", "reserve=1..8"])
    >>> [axis.kind for axis in space.axes]
    ['real', 'whole']
    >>> space.policy((("expansion", "0.5"), ("reserve", "2"))).name
    'easy(order=weighted, expansion=0.5, reserve=2)'
    """

    base: str
    axes: tuple[Axis, ...]

    @staticmethod
    def of(base: str, over: Sequence[str]) -> Space:
        """From a policy text and texts such as ``expansion=0..1``, ``wait=0.001..1 log``,
        ``reserve=1..20`` and ``order=fcfs,sjf``."""
        if not over:
            raise UsageError(
                "there is nothing to tune: name a parameter, such as --over expansion=0..1"
            )
        policy = parse_policy(base)
        if not isinstance(policy, Policy):
            raise UsageError(f"{shown(base)} has no parameters that can be tuned")
        axes = tuple(_axis(policy, text) for text in over)
        names = [axis.name for axis in axes]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise UsageError(f"the parameter {twice[0]} is given twice")
        found = Space(base=base, axes=axes)
        for share in (0.0, 1.0):  # a value out of range is reported before the search
            found.policy(tuple((a.name, a.choices[0] if a.choices else a.at(share)) for a in axes))
        return found

    def draw(self, rng: np.random.Generator) -> Candidate:
        """A candidate at random."""
        return tuple((axis.name, axis.draw(rng)) for axis in self.axes)

    def policy(self, candidate: Candidate) -> Any:
        """The policy with a candidate's values."""
        return make_policy(self.base, **dict(candidate))


def _axis(policy: Policy, text: str) -> Axis:
    name, equals, given = (part.strip() for part in text.partition("="))
    name = name.replace("-", "_")
    if not equals or not name or not given:
        raise UsageError(f"--over {shown(text)}: write NAME=LOW..HIGH or NAME=a,b,c")
    if ".." not in given:
        choices = tuple(part.strip() for part in given.split(",") if part.strip())
        if len(choices) < 2:
            raise UsageError(f"--over {shown(text)}: give at least two values, or LOW..HIGH")
        return Axis(name=name, kind="choice", choices=choices)
    match = _RANGE.fullmatch(given)
    if match is None or float(match[1]) >= float(match[2]):
        raise UsageError(f"--over {shown(text)}: write LOW..HIGH, as in 0..1 or 0.001..10 log")
    low, high, log = float(match[1]), float(match[2]), bool(match[3])
    if log and low <= 0:
        raise UsageError(f"--over {shown(text)}: a logarithmic range begins above 0")
    whole = _is_whole(policy, name)
    if whole and not (low.is_integer() and high.is_integer()):
        raise UsageError(f"--over {shown(text)}: {name} is a whole number")
    return Axis(name=name, kind="whole" if whole else "real", low=low, high=high, log=log)


def _is_whole(policy: Policy, name: str) -> bool:
    """True for a slot that takes a number (the depth of reservations) or a whole parameter."""
    if name in SLOTS:
        return True
    default = getattr(policy, parse.slot_with(policy, name)).declared()[name].default
    return isinstance(default, int) and not isinstance(default, bool)


def front(points: Sequence[Sequence[float]]) -> list[int]:
    """The places of the points that no other point beats; smaller is better.

    A point is beaten by one that is nowhere larger and somewhere smaller. Of equal points the first
    stays; a non-finite point is always dropped.

    Examples
    --------
    >>> front([(1, 5), (2, 2), (3, 3), (5, 1), (2, 2)])
    [0, 1, 3]
    """
    found: list[int] = []
    for i, mine in enumerate(points):
        if not all(np.isfinite(mine)):
            continue
        beaten = any(
            all(a <= b for a, b in zip(other, mine, strict=True))
            and (any(a < b for a, b in zip(other, mine, strict=True)) or j < i)
            for j, other in enumerate(points)
            if j != i and all(np.isfinite(other))
        )
        if not beaten:
            found.append(i)
    return found


def order(points: Sequence[Sequence[float]]) -> list[int]:
    """All places, best first: front by front, inside a front by the sum of ranks.

    Examples
    --------
    >>> order([(3, 3), (1, 5), (2, 2)])
    [2, 1, 0]
    """
    if not points:
        return []
    table = np.array(points, np.float64)
    ranks = np.argsort(np.argsort(table, axis=0, kind="stable"), axis=0, kind="stable").sum(axis=1)
    left, found = list(range(len(points))), list[int]()
    while left:
        best = [left[at] for at in front([points[i] for i in left])] or left
        found += sorted(best, key=lambda i: (int(ranks[i]), i))
        left = [i for i in left if i not in set(best)]
    return found


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
    optuna = optional("optuna", extra="tune", purpose="search with --method optuna")
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
