"""The record of one policy's run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shadowtime.metrics.by_class import ClassRow
from shadowtime.metrics.intervals import Interval, interval
from shadowtime.metrics.unstarted import Unstarted
from shadowtime.schedule import Schedule
from shadowtime.types import Floats

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster


@dataclass(frozen=True, eq=False, kw_only=True)
class PolicyRun:
    """One policy's schedule and its numbers: in a comparison, a report and a result folder.

    ``classes`` left out are computed by the report (of every finished job); an empty tuple means
    that no job is scored. ``metrics`` are of the log as it is, ``copies`` hold a value for every
    copy of the log (shaken, resampled), the same copies under every policy.
    """

    name: str
    schedule: Schedule
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    classes: tuple[ClassRow, ...] | None = None
    copies: Mapping[str, Sequence[float] | Floats] = field(default_factory=dict)
    unstarted: tuple[Unstarted, ...] = ()
    """The jobs that it never starts, by cause (study/unstarted.py)."""
    cluster: Cluster | None = None
    """The machine of this run, where it is not the report's own."""
    policy: Any = None
    """The policy itself, where a result folder shall tell how to make it again."""

    def interval(self, metric: str) -> Interval | None:
        """The mean over the copies with its interval; None where there are none."""
        if metric not in self.copies:
            return None
        return interval(self.copies[metric])

    def point(self, metric: str) -> float | None:
        """The mean over the copies where there are any, else the value of the log as it is.

        So a point is never outside of its own interval.

        Examples
        --------
        >>> run = PolicyRun(name="a", schedule=None, metrics={"bsld_mean": 9.0, "killed": 2},
        ...                 copies={"bsld_mean": [4.0, 6.0, 5.0]})
        >>> run.point("bsld_mean"), run.point("killed"), run.point("mwbs")
        (5.0, 2, None)
        """
        found = self.interval(metric)
        return self.metrics.get(metric) if found is None else found.mean

    def as_dict(self) -> dict[str, Any]:
        """The entry of a policy in results."""
        never = {"unstarted": [one.as_dict() for one in self.unstarted]} if self.unstarted else {}
        return {
            "name": self.name,
            "parameters": dict(self.parameters),
            "metrics": dict(self.metrics),
            **never,
        }
