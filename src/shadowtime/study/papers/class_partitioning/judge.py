"""What the claims are judged by: means over the draws, and differences draw by draw."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shadowtime.metrics.intervals import paired
from shadowtime.study.papers.class_partitioning import policies as p
from shadowtime.study.papers.class_partitioning.outcome import ALL
from shadowtime.study.papers.class_partitioning.worlds import SPACE_SHARED, WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from shadowtime.study.papers.claims import Published
    from shadowtime.study.papers.class_partitioning.runs import Findings

SAME = 0.10
"""Up to this share above is 'the same'; within it is 'about equal'."""
MUCH = 0.25
"""At least this share lower is 'greatly lower', higher is 'poor'."""

READINGS = {"dedicated jobs take a whole host": WHOLE, "dedicated jobs share hosts": SPACE_SHARED}


def excess(ours: float, theirs: float) -> float:
    """How much more one is than the other, as a share of the other.

    Examples
    --------
    >>> excess(3.0, 2.0), excess(0.0, 0.0), excess(1.0, 0.0)
    (0.5, 0.0, inf)
    """
    if theirs == 0:
        return math.inf if ours > 0 else 0.0
    return ours / theirs - 1


@dataclass(frozen=True)
class Judge:
    """The findings and the published claims."""

    found: Findings
    published: dict[str, Published]

    def change(
        self, month: str, name: str, base: str, metric: str, group: str = ALL, world: str = WHOLE
    ) -> float:
        """How much higher a metric's mean is under a policy than under another, as a share."""
        ours = self.found.mean(month, p.policy_of(name, month), metric, group, world=world)
        theirs = self.found.mean(month, p.policy_of(base, month), metric, group, world=world)
        return excess(ours, theirs)

    def described(
        self, month: str, name: str, base: str, metric: str, group: str = ALL, world: str = WHOLE
    ) -> str:
        """The same in words, with the 95 % interval of the difference draw by draw."""
        ours = self.found.values(month, p.policy_of(name, month), metric, group, world=world)
        theirs = self.found.values(month, p.policy_of(base, month), metric, group, world=world)
        scale, unit = (1 / 3600, " h") if metric.endswith("_s") else (1.0, "")
        means = [scale * sum(column) / len(column) for column in (ours, theirs)]
        text = f"{month} {means[0]:.2f} against {means[1]:.2f}{unit}"
        between = paired(ours, theirs)
        if between is None:
            return text
        low, high = scale * between.low, scale * between.high
        return f"{text} (difference {low:+.2f} to {high:+.2f})"

    def each(self, values: Callable[[str], float], form: str, months: Iterable[str] = ()) -> str:
        """A value for every month."""
        return ", ".join(
            f"{month} {format(values(month), form)}" for month in (tuple(months) or p.MONTH_NAMES)
        )
