"""The result of a check: one verdict per proof, and whether the schedule holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["proved", "violated", "not proved", "not claimed"]
"""Holds, does not hold, lacks something that the proof needs, or is no claim of the policy."""

BY_TIME = "a series bounds what is in use, and this counts processors"
NO_ATTEMPTS = "jobs were preempted, and the file of their attempts is missing"
"""Why most properties of a schedule with preempted jobs cannot be proved without that file."""


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
    >>> report
    Report(nothing violated, 1 of 1 properties proved)
    >>> report.ok, report.first_violation
    (True, None)
    >>> print(report)
    capacity: proved (at most 3 of 4 processors in use)
    """

    proofs: tuple[Proof, ...]

    @property
    def ok(self) -> bool:
        """Nothing is violated; what could not be proved does not count as a violation."""
        return self.first_violation is None

    @property
    def first_violation(self) -> Proof | None:
        """The first property that does not hold."""
        return next((proof for proof in self.proofs if proof.verdict == "violated"), None)

    @property
    def open(self) -> tuple[Proof, ...]:
        """What should have been proved and could not be, each with the reason."""
        return tuple(proof for proof in self.proofs if proof.verdict == "not proved")

    @property
    def not_claimed(self) -> tuple[Proof, ...]:
        """Properties that only some policies have, and this one does not claim."""
        return tuple(proof for proof in self.proofs if proof.verdict == "not claimed")

    def __getitem__(self, name: str) -> Proof:
        return next(proof for proof in self.proofs if proof.name == name)

    def __repr__(self) -> str:
        first = self.first_violation
        made = sum(proof.verdict == "proved" for proof in self.proofs)
        verdict = f"violated: {first.name}" if first else "nothing violated"
        return f"Report({verdict}, {made} of {len(self.proofs)} properties proved)"

    def __str__(self) -> str:
        return "\n".join(map(str, self.proofs))


def proved(name: str, detail: str) -> Proof:
    """The property holds."""
    return Proof(name, "proved", detail)


def violated(name: str, detail: str) -> Proof:
    """The property does not hold: the first case, in one sentence."""
    return Proof(name, "violated", detail)


def not_proved(name: str, why: str) -> Proof:
    """The property cannot be judged: something that the proof needs is missing."""
    return Proof(name, "not proved", why)


def not_claimed(name: str) -> Proof:
    """The property is not expected of the schedule, so it is not checked."""
    return Proof(name, "not claimed", "not checked: the policy does not claim it")


def such(count: int, what: str) -> str:
    """How many more cases there are like the one a sentence is about.

    Examples
    --------
    >>> such(3, "jobs"), such(1, "jobs")
    (' (3 such jobs)', '')
    """
    return f" ({count} such {what})" if count > 1 else ""
