"""Slot ``estimate``: how long will it run? The kill limit stays the request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shadowtime.policy.part import Part, parameter


class Estimate(Part):
    """How long will a job run."""

    slot: ClassVar[str] = "estimate"


@dataclass(frozen=True)
class Requested(Estimate):
    """What the user asked for."""

    name: ClassVar[str] = "requested"
    summary: ClassVar[str] = "what the user asked for"


@dataclass(frozen=True)
class Actual(Estimate):
    """The true run time: a bound no real scheduler reaches."""

    name: ClassVar[str] = "actual"
    summary: ClassVar[str] = "the true run time, openly handed over: a bound, not a policy"


@dataclass(frozen=True)
class Last(Estimate):
    """PV-EASY's Last Model: the share of its request that the user's last finished job used."""

    name: ClassVar[str] = "last"
    summary: ClassVar[str] = "request times the share the user's last finished job used"


@dataclass(frozen=True)
class LastTwo(Estimate):
    """EASY++: the mean of the user's last two runs, corrected when outlived (spec 1.6)."""

    name: ClassVar[str] = "last-two"
    summary: ClassVar[str] = "mean of the user's last two runs, corrected when outlived (EASY++)"


@dataclass(frozen=True)
class Noisy(Estimate):
    """PV-EASY's virtual predictor: run * (1 + U(-x, x)), drawn once per job, not capped."""

    name: ClassVar[str] = "noisy"
    summary: ClassVar[str] = "the true run time with a bounded relative error, drawn once per job"
    x: float = parameter(0.1, "bound of the relative error", low=0.0, high=10.0)
    seed: int = parameter(1, "seed of the draw", low=0)


@dataclass(frozen=True)
class NoisyDemand(Requested):
    """Wrong demands: what a process draws * (1 + U(-x, x)), drawn once per job; times as asked for.

    Only on nodes, where placements look at demands. What runs draws what it really draws.
    """

    name: ClassVar[str] = "noisy-demand"
    summary: ClassVar[str] = "nodes: demands with a bounded relative error; times as asked for"
    x: float = parameter(0.2, "bound of the relative error", low=0.0, high=10.0)
    seed: int = parameter(1, "seed of the draw", low=0)


NAMED: dict[str, Estimate] = {
    part.name: part() for part in (Requested, Actual, Last, LastTwo, Noisy, NoisyDemand)
}
