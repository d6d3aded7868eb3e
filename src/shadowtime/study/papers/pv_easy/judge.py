"""What the claims are judged by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shadowtime.study.papers.claims import Claim, Published
    from shadowtime.study.papers.pv_easy.runs import Findings

NO_LOGS = "on a generated workload alone:"
LOGS = ("CTC", "SDSC-BLUE", "SDSC-DS")


@dataclass(frozen=True)
class Judge:
    """The findings and the published claims, and how a verdict is given."""

    found: Findings
    published: dict[str, Published]

    @property
    def complete(self) -> bool:
        """All of the paper's logs are there."""
        return tuple(subject.label for subject in self.found.subjects) == LOGS

    def verdict(
        self, key: str, holds: bool, evidence: str, *, ours: str = "", reading: str = ""
    ) -> Claim:
        """A verdict on what needs the paper's logs."""
        claim = self.published[key]
        if self.complete:
            return claim.judged(holds, evidence, ours=ours, reading=reading)
        names = ", ".join(subject.label for subject in self.found.subjects)
        why = NO_LOGS if self.found.subjects[0].generated else f"on {names} alone:"
        return claim.judged(None, f"{why} {evidence}", ours=ours, reading=reading)

    def values(self, policy: str, metric: str, scale: float = 1.0) -> list[float]:
        """A metric of a policy on every subject, 0 where it has no value."""
        return [
            (self.found.metric(subject, policy, metric) or 0.0) * scale
            for subject in self.found.subjects
        ]

    def span(self, values: list[float], form: str) -> str:
        """From the least to the greatest."""
        ends = [format(value, form) for value in (min(values), max(values))]
        return "-".join(dict.fromkeys(ends))

    def each(self, values: list[float], form: str) -> str:
        """Values with the names of their subjects."""
        return ", ".join(
            f"{subject.label} {format(value, form)}"
            for subject, value in zip(self.found.subjects, values, strict=True)
        )
