"""The claims of a paper's text, and whether they hold here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Verdict = Literal["holds", "does not hold", "not judged"]

NEAR = 0.10
"""A number of a paper is met if ours is within this share of it."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence of the paper, its number, ours, and the verdict with the evidence for it.

    Where a sentence can be read in several ways each ``reading`` is judged by itself.
    """

    text: str
    verdict: Verdict
    evidence: str
    paper: str = ""
    ours: str = ""
    where: str = ""
    reading: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "claim": self.text,
            "reading": self.reading,
            "where": self.where,
            "paper": self.paper,
            "ours": self.ours,
            "verdict": self.verdict,
            "evidence": self.evidence,
        }


@dataclass(frozen=True, kw_only=True)
class Published:
    """A row of a paper's published claims, to be judged."""

    key: str
    text: str
    number: str
    where: str

    def judged(
        self, holds: bool | None, evidence: str, *, ours: str = "", reading: str = ""
    ) -> Claim:
        """This claim with a verdict; None is 'not judged'.

        Examples
        --------
        >>> claim = Published(key="waste", text="waste is low", number="2 %", where="Sec. 1")
        >>> claim.judged(True, "measured: 2.1 %", ours="2.1 %").verdict
        'holds'
        """
        verdicts: Mapping[bool | None, Verdict] = {
            True: "holds",
            False: "does not hold",
            None: "not judged",
        }
        return Claim(
            text=self.text,
            verdict=verdicts[holds],
            evidence=evidence,
            paper=self.number,
            ours=ours,
            where=self.where,
            reading=reading,
        )


def near(ours: float, paper: float, share: float = NEAR) -> bool:
    """Ours meets the paper's number.

    Examples
    --------
    >>> near(33.8, 32.9), near(57.0, 90.7)
    (True, False)
    """
    return abs(ours - paper) <= share * abs(paper)
