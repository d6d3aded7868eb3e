"""Estimate parts that predict from a log: computed for all jobs before a run (``predict``).

The ends of jobs are those that the log recorded, so that a prediction is the same under every
policy. That needs a whole log: none of these works live.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shadowtime.policy.estimate import Estimate
from shadowtime.policy.part import parameter


class FromLog(Estimate):
    """A prediction for every job of a log, computed before the run."""

    from_log: ClassVar[bool] = True


@dataclass(frozen=True)
class Column(FromLog):
    """A column of the log."""

    name: ClassVar[str] = "column"
    summary: ClassVar[str] = "a column of the log, by name"
    column: str = parameter("estimate", "name of the column")


@dataclass(frozen=True)
class FromFile(FromLog):
    """A CSV file with the columns job_id and estimate."""

    name: ClassVar[str] = "file"
    summary: ClassVar[str] = "a CSV file with job_id and estimate in seconds (-1: the request)"
    path: str = parameter("estimates.csv", "the file")


@dataclass(frozen=True)
class MaxOfLast(FromLog):
    """The request times the largest share that the user's last jobs used of theirs."""

    name: ClassVar[str] = "max-of-last"
    summary: ClassVar[str] = "request times the largest share of it the user's last 5 jobs used"
    jobs: int = parameter(5, "how many of the user's finished jobs count", low=1, high=10_000)


@dataclass(frozen=True)
class UserQuantile(FromLog):
    """A quantile of the run times of the user's last jobs."""

    name: ClassVar[str] = "user-quantile"
    summary: ClassVar[str] = "a quantile of the user's last run times"
    quantile: float = parameter(0.9, "which quantile", low=0.0, high=1.0)
    jobs: int = parameter(50, "how many of the user's finished jobs count", low=1, high=10_000)
    least: int = parameter(3, "with fewer finished jobs the request is used", low=1)


@dataclass(frozen=True)
class Nearest(FromLog):
    """The mean run time of the k most similar finished jobs."""

    name: ClassVar[str] = "nearest"
    summary: ClassVar[str] = "the mean run time of the k most similar jobs that had ended"
    k: int = parameter(5, "how many neighbours", low=1, high=1_000)
    window: int = parameter(2_000, "how many jobs back they are searched", low=1, high=1_000_000)


@dataclass(frozen=True)
class Boosted(FromLog):
    """A quantile by gradient-boosted trees (LightGBM), refitted repeatedly to finished jobs."""

    name: ClassVar[str] = "lightgbm"
    summary: ClassVar[str] = "quantile regression by boosted trees, refitted every few days"
    quantile: float = parameter(0.8, "which quantile", low=0.01, high=0.99)
    days: float = parameter(7.0, "days between two fits", low=0.01)
    window: int = parameter(20_000, "how many finished jobs a fit uses", low=100)
    least: int = parameter(200, "with fewer finished jobs the request is used", low=20)
    seed: int = parameter(1, "seed of the fits", low=0)


NAMED: dict[str, Estimate] = {
    part.name: part() for part in (Column, FromFile, MaxOfLast, UserQuantile, Nearest, Boosted)
}
