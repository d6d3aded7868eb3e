"""Estimate parts that predict from a log: computed for all jobs before a run (``predict``).

The ends of jobs are those that the log recorded, so that a prediction is the same under every
policy. That needs a whole log: none of these works live.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import Field, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from shadowtime.errors import PolicyError
from shadowtime.policy.estimate import Estimate
from shadowtime.policy.functions import where
from shadowtime.policy.part import parameter, show

if TYPE_CHECKING:
    from shadowtime.workload import Workload


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


@dataclass(frozen=True)
class Function(FromLog):
    """A function of a whole log that a user's file or another package defines.

    ``function(workload, ...)`` returns seconds for every job, nan where it knows nothing; further
    arguments have defaults and are parameters. It may be any Python code.

    Examples
    --------
    >>> def half(workload, share=0.5):
    ...     return workload.request * share
    >>> part = Function.of("half", half)
    >>> print(part, part.with_values(share=0.25))
    half half(share=0.25)
    """

    name: ClassVar[str] = "function"
    summary: ClassVar[str] = "a function of the whole log"
    called: str = ""
    function: Callable[..., Any] | None = None
    values: tuple[tuple[str, Any], ...] = ()
    """Parameters that differ from their defaults."""

    @staticmethod
    def of(name: str, function: Callable[..., Any]) -> Function:
        """The part for a function; rejected if it does not take a workload and parameters."""
        taken = list(inspect.signature(function).parameters.values())
        free = [one for one in taken if one.default is inspect.Parameter.empty]
        if len(free) != 1 or taken[0] is not free[0]:
            raise PolicyError(
                f"the predictor {where(function)} must take (workload), followed by parameters "
                "with a default; st.estimate makes a part of a function (now, job, user)"
            )
        made = Function(called=name, function=function)
        text = (function.__doc__ or "").strip()
        if text:
            object.__setattr__(made, "summary", text.splitlines()[0].rstrip("."))
        return made

    def __str__(self) -> str:
        given = ", ".join(f"{name}={show(value)}" for name, value in self.values)
        return f"{self.called}({given})" if given else self.called

    def _defaults(self) -> dict[str, Any]:
        taken = inspect.signature(self.function).parameters if self.function else {}
        return {n: p.default for n, p in taken.items() if p.default is not inspect.Parameter.empty}

    def declared(self) -> dict[str, Field[Any]]:
        """The function's arguments with a default are its parameters."""
        return {name: parameter(value) for name, value in self._defaults().items()}

    def settings(self) -> dict[str, Any]:
        """Every parameter with its value, and the function."""
        return {"function": self.function, **self._defaults(), **dict(self.values)}

    def with_values(self, **changes: Any) -> Function:
        """The part with some parameters set."""
        return replace(self, values=tuple((dict(self.values) | changes).items()))

    def predict(self, workload: Workload) -> Any:
        """What the function returns for a log."""
        assert self.function is not None
        return self.function(workload, **dict(self.values))


NAMED: dict[str, Estimate] = {
    part.name: part() for part in (Column, FromFile, MaxOfLast, UserQuantile, Nearest, Boosted)
}
