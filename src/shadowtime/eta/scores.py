"""How good predicted starts were: errors, coverage of the ranges, by horizon and kind of job.

spec: estimates 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

FEW = 20
"""Fewer jobs than this say little about coverage."""
HORIZONS = (
    (0, "under 1 min"),
    (60, "1 to 10 min"),
    (600, "10 to 60 min"),
    (3600, "1 to 6 h"),
    (21600, "over 6 h"),
)
"""How far ahead a start was predicted: the lower bound in seconds, and the name."""
SIZES = ((0, "1 cpu"), (2, "2 to 8 cpus"), (9, "9 to 64 cpus"), (65, "over 64 cpus"))
TOLERANCE = 60
"""Seconds: ranges near now are narrower than the time between two passes."""


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A prediction and what came of it, in seconds since 1970; ``slurm`` -1: Slurm had none."""

    job: str
    at: int
    expected: float
    earliest: float
    latest: float
    start: int
    slurm: int = -1
    partition: str = ""
    cpus: int = 0


@dataclass(frozen=True, kw_only=True)
class Score:
    """Errors of predictions in seconds: the real start minus the predicted one."""

    count: int
    bias: float
    """The mean error: above zero, jobs started later than predicted."""
    median: float
    """Half of the predictions were off by less, early or late."""
    ninety: float
    """Nine of ten were."""

    @staticmethod
    def of(errors: Sequence[float]) -> Score | None:
        """From single errors; None without any.

        Examples
        --------
        >>> Score.of([-10, 0, 40])
        Score(count=3, bias=10.0, median=10.0, ninety=34.0)
        """
        if not errors:
            return None
        off = np.abs(np.array(errors, float))
        median, ninety = (float(x) for x in np.quantile(off, [0.5, 0.9]))
        return Score(count=len(errors), bias=float(np.mean(errors)), median=median, ninety=ninety)


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """The scores of one kind: all of ours, and ours with Slurm's where both made a prediction."""

    kind: str
    name: str
    jobs: int
    instants: int
    """Times at which predictions were made: those of one time succeed and fail together."""
    ours: Score | None
    both: Score | None
    slurm: Score | None
    inside: float
    """The share of starts within the predicted range, which should be 80 %."""
    pinball: float
    """The sum of the losses at 10, 50 and 90 %: small for narrow ranges that hold."""

    @property
    def few(self) -> bool:
        """True if too few jobs are scored for their coverage to say much."""
        return self.jobs < FEW


def accuracy(found: Iterable[Scored], *, tolerance: float = TOLERANCE) -> list[Accuracy]:
    """Scores by how far ahead a start was predicted, by partition and size, and of all last.

    Examples
    --------
    >>> near = Scored(job="1", at=0, expected=30, earliest=30, latest=50, slurm=90, start=40)
    >>> [(one.name, one.ours.bias, one.slurm.bias) for one in accuracy([near])]
    [('under 1 min', 10.0, -50.0), ('all', 10.0, -50.0)]
    """
    rows = list(found)
    kinds: tuple[tuple[str, Callable[[Scored], str], Sequence[str]], ...] = (
        ("ahead by", lambda one: _named(HORIZONS, one.expected - one.at), _names(HORIZONS)),
        ("partition", lambda one: one.partition, sorted({one.partition for one in rows})),
        ("size", lambda one: _named(SIZES, one.cpus) if one.cpus else "", _names(SIZES)),
    )
    made = []
    for kind, name_of, order in kinds:
        groups: dict[str, list[Scored]] = {}
        for one in rows:
            groups.setdefault(name_of(one), []).append(one)
        if kind == "ahead by" or len(groups) > 1:
            made += [
                _scored(kind, name, groups[name], tolerance) for name in order if groups.get(name)
            ]
    return [*made, _scored("all", "all", rows, tolerance)] if rows else []


def _names(classes: Sequence[tuple[int, str]]) -> list[str]:
    return [name for _, name in classes]


def _named(classes: Sequence[tuple[int, str]], value: float) -> str:
    return next((name for least, name in reversed(classes) if value >= least), classes[0][1])


def _scored(kind: str, name: str, rows: Sequence[Scored], tolerance: float) -> Accuracy:
    both = [one for one in rows if one.slurm >= 0]
    inside = [one.earliest - tolerance <= one.start <= one.latest + tolerance for one in rows]
    return Accuracy(
        kind=kind,
        name=name,
        jobs=len({one.job for one in rows}),
        instants=len({one.at for one in rows}),
        ours=Score.of([one.start - one.expected for one in rows]),
        both=Score.of([one.start - one.expected for one in both]),
        slurm=Score.of([one.start - one.slurm for one in both]),
        inside=sum(inside) / len(rows),
        pinball=sum(map(pinball, rows)) / len(rows),
    )


def pinball(one: Scored) -> float:
    """The loss of one prediction at its three quantiles.

    Examples
    --------
    >>> round(pinball(Scored(job="1", at=0, expected=20, earliest=10, latest=30, start=40)), 3)
    22.0
    """
    quantiles: Mapping[float, float] = {0.1: one.earliest, 0.5: one.expected, 0.9: one.latest}
    return sum(max(p * (one.start - at), (p - 1) * (one.start - at)) for p, at in quantiles.items())
