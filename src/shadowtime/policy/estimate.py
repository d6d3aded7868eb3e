"""Slot ``estimate``: expected run time and demand. The limit stays the request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from shadowtime.errors import PolicyError
from shadowtime.policy.functions import ESTIMATE, Slot
from shadowtime.policy.part import Part, parameter
from shadowtime.policy.written import Written

if TYPE_CHECKING:
    from fractions import Fraction

    from shadowtime.policy.policy import Policy


class Estimate(Part):
    """How long a job will run."""

    slot: ClassVar[str] = "estimate"
    bounds: ClassVar[bool] = False
    """True if no job that keeps within its request outlives its estimate."""
    requested: ClassVar[bool] = False
    """True if it is the request itself."""
    changes: ClassVar[bool] = False
    """True if the estimate of a job may change while it waits."""
    expires: ClassVar[bool] = False
    """True if a running job may outlive its estimate, which is a separate event."""
    by_tag: ClassVar[bool] = False
    """True if demands are those measured under the job's tag."""
    from_log: ClassVar[bool] = False
    """True if it is known for every job of a log before the run (predictors.py)."""
    needs_truth: ClassVar[bool] = False
    """True if it is made from the true run time, which is unknown for a real job."""
    live_on_site: ClassVar[bool] = False
    """True if a live pass on a site can use it."""

    @property
    def tags(self) -> ByTag | None:
        """The part itself where demands are those measured under the job's tag."""
        return None


@dataclass(frozen=True)
class Requested(Estimate):
    """What the user requested."""

    bounds: ClassVar[bool] = True
    live_on_site: ClassVar[bool] = True
    requested: ClassVar[bool] = True
    name: ClassVar[str] = "requested"
    summary: ClassVar[str] = "what the user requested"


@dataclass(frozen=True)
class Actual(Estimate):
    """The true run time: a bound no real scheduler reaches."""

    bounds: ClassVar[bool] = True
    needs_truth: ClassVar[bool] = True
    name: ClassVar[str] = "actual"
    summary: ClassVar[str] = "the true run time: a bound, not a realistic policy"


@dataclass(frozen=True)
class Last(Estimate):
    """PV-EASY's Last Model: the share of its request that the user's last finished job used."""

    changes: ClassVar[bool] = True
    live_on_site: ClassVar[bool] = True
    expires: ClassVar[bool] = True
    name: ClassVar[str] = "last"
    summary: ClassVar[str] = "request times the share the user's last finished job used"

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        if shape == "nodes":
            yield "on nodes a prediction is made once, at submission: use last-two or requested"


@dataclass(frozen=True)
class LastTwo(Estimate):
    """EASY++: the mean of the user's last two runs, corrected when outlived.

    spec: algorithms 1.6.
    """

    expires: ClassVar[bool] = True
    name: ClassVar[str] = "last-two"
    summary: ClassVar[str] = "mean of the user's last two runs, corrected when outlived (EASY++)"


@dataclass(frozen=True)
class Noisy(Estimate):
    """PV-EASY's virtual predictor: run * (1 + U(-x, x)), drawn once per job, not capped."""

    expires: ClassVar[bool] = True
    needs_truth: ClassVar[bool] = True
    name: ClassVar[str] = "noisy"
    summary: ClassVar[str] = "the true run time with a bounded relative error, drawn once per job"
    x: float = parameter(0.1, "bound of the relative error", low=0.0, high=10.0)
    seed: int = parameter(1, "seed of the draw", low=0)


@dataclass(frozen=True)
class NoisyDemand(Requested):
    """Wrong demands: a process's demand * (1 + U(-x, x)), drawn once per job; times as requested.

    Only on nodes, where placements use demands. Running jobs have their true demand.
    """

    name: ClassVar[str] = "noisy-demand"
    summary: ClassVar[str] = "nodes: demands with a bounded relative error; times as requested"
    x: float = parameter(0.2, "bound of the relative error", low=0.0, high=10.0)
    seed: int = parameter(1, "seed of the draw", low=0)


@dataclass(frozen=True)
class ByTag(Requested):
    """HPerf: the demand of a job is that measured for earlier jobs with its tag.

    spec: algorithms 6.1.

    Without a record it runs on exclusive nodes and is measured there. The measurement is ``factor``
    times the demand ("tends to be undermeasured"): ``0.8``, or with other factors for certain tags
    by their numbers, ``0.8/3:1.2``. On a pool there is no demand: there this equals ``requested``.
    """

    by_tag: ClassVar[bool] = True
    name: ClassVar[str] = "by-tag"
    summary: ClassVar[str] = "requested; nodes: bandwidth as measured under the job's tag (HPerf)"
    factor: str = parameter("0.8", "measured / true demand, above 0, also by tag: 0.8/3:1.2")
    predict: str = parameter(
        "submit", "when the records are read: once, or until the start", choices=("submit", "start")
    )
    record: str = parameter(
        "demand",
        "what is measured: the demand, or what the slowed job received",
        choices=("demand", "rate"),
    )
    share: int = parameter(0, "processes on a node of a job that runs alone; 0: all cores", low=0)
    preloaded: bool = parameter(False, "every tag was measured once before, running alone")
    store: str = parameter("", "a performance store whose records are known at the beginning")

    @property
    def tags(self) -> ByTag:
        return self

    def __post_init__(self) -> None:
        if self.factor != type(self).factor:  # else fractions need not be loaded
            self.factors()

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        if shape == "nodes" and not policy.place.fills:
            yield "estimate=by-tag goes with place=capped"

    def factors(self) -> tuple[Fraction, dict[int, Fraction]]:
        """(the factor, the factors of certain tags), exact.

        Examples
        --------
        >>> ByTag(factor="0.8/3:1.2").factors()
        (Fraction(4, 5), {3: Fraction(6, 5)})
        """
        from fractions import Fraction

        try:
            head, *rest = self.factor.split("/")
            pairs = [text.split(":") for text in rest]
            found = Fraction(head), {int(tag): Fraction(value) for tag, value in pairs}
        except (ValueError, ZeroDivisionError):
            found = Fraction(-1), {}
        if any(value <= 0 for value in (found[0], *found[1].values())):
            raise PolicyError(
                f"by-tag: factor={self.factor} must be a number above 0, followed by other tags "
                "as in 0.8/3:1.2"
            )
        return found


@dataclass(frozen=True)
class Predicted(Written, Estimate):
    """A prediction by a user's function, made once, at submission.

    It is rounded to whole seconds within [1, request]. A job that outlives it is expected to run
    until its request.
    """

    name: ClassVar[str] = "predicted"
    summary: ClassVar[str] = "a function (now, job, user) of your own, compiled"
    takes: ClassVar[Slot] = ESTIMATE


NAMED: dict[str, Estimate] = {
    part.name: part() for part in (Requested, Actual, Last, LastTwo, Noisy, NoisyDemand, ByTag)
}
