"""The result of a check: one verdict per proof, and whether the schedule holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["proved", "violated", "not made"]

NOT_CLAIMED = "not claimed"


@dataclass(frozen=True)
class Proof:
    """One property of a schedule, the verdict on it, and one sentence with the reason."""

    name: str
    verdict: Verdict
    detail: str

    def __str__(self) -> str:
        return f"{self.name}: {self.verdict} ({self.detail})"


@dataclass(frozen=True)
class Report:
    """The proofs of a schedule, in the order in which they were tried.

    Examples
    --------
    >>> report = Report((Proof("capacity", "proved", "at most 3 of 4 processors in use"),))
    >>> report.ok, report.first_violation
    (True, None)
    >>> print(report)
    capacity: proved (at most 3 of 4 processors in use)
    """

    proofs: tuple[Proof, ...]

    @property
    def ok(self) -> bool:
        """Nothing is violated; proofs that were not made do not count against a schedule."""
        return self.first_violation is None

    @property
    def first_violation(self) -> Proof | None:
        """The first property that does not hold."""
        return next((proof for proof in self.proofs if proof.verdict == "violated"), None)

    @property
    def not_made(self) -> tuple[Proof, ...]:
        """What could not be judged, each with the reason."""
        return tuple(proof for proof in self.proofs if proof.verdict == "not made")

    @property
    def open(self) -> tuple[Proof, ...]:
        """What should have been judged and could not be; what is not claimed is not asked for."""
        return tuple(proof for proof in self.not_made if proof.detail != NOT_CLAIMED)

    def __getitem__(self, name: str) -> Proof:
        return next(proof for proof in self.proofs if proof.name == name)

    def __str__(self) -> str:
        return "\n".join(map(str, self.proofs))


def proved(name: str, detail: str) -> Proof:
    """The property holds."""
    return Proof(name, "proved", detail)


def violated(name: str, detail: str) -> Proof:
    """The property does not hold: the first case, in one sentence."""
    return Proof(name, "violated", detail)


def not_made(name: str, why: str) -> Proof:
    """The property cannot be judged."""
    return Proof(name, "not made", why)


def such(count: int, what: str) -> str:
    """How many more cases there are like the one a sentence is about.

    Examples
    --------
    >>> such(3, "jobs"), such(1, "jobs")
    (' (3 such jobs)', '')
    """
    return f" ({count} such {what})" if count > 1 else ""
