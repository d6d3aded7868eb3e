"""Why the loop does not start a waiting job: the case, its label in metrics, and its sentence."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Case(enum.Enum):
    """A case: its label in metrics, and its sentence with what differs from job to job.

    Sentences name jobs and nodes, labels must not: there would be a time series for each.
    """

    LET_THROUGH = ("left_to_the_scheduler", "it was let through")
    """Slurm may start it now, where the loop or its user has sent it."""
    LEFT = ("left_to_the_scheduler", "Slurm schedules it")
    TO_HAND_OVER = ("handed_to_the_scheduler", "it is Slurm's to start: {}")
    HANDED_OVER = ("handed_to_the_scheduler", "it was handed to Slurm, which reports {}")
    CANNOT_RUN = ("cannot_run", "Slurm cannot run it anywhere ({})")
    HELD = ("held", "it is held ({})")
    BEGINS_LATER = ("held_or_begins_later", "its time has not come (--begin)")
    REQUEUED = (
        "held_or_begins_later",
        "its time has not come (requeued: Slurm does not start it before {})",
    )
    DEPENDS = ("dependency", "it depends on others ({})")
    ARRAY_LIMIT = ("array_limit", "its array may not run more tasks at once")
    PAST_THE_GATE = ("past_the_gate", "it has come past the gate")
    NOT_UNDERSTOOD = ("not_understood", "it is not understood: {}")
    RELEASED_BY_OTHERS = ("past_the_gate", "it was released by another user")
    FITS_NO_SLOTS = ("fits_nowhere", "it fits on no slots that it accepts")
    PARALLEL = ("cannot_run", "it is a parallel job, which needs static slots")
    OVER_LIMIT = ("cannot_run", "it exceeds the concurrency limit {} by itself ({} of {})")
    AT_LIMIT = ("concurrency_limit", "it waits for the concurrency limit {} ({} at a time)")
    OTHER = ("other", "{}")
    """What a port of another package says."""

    def __init__(self, label: str, sentence: str) -> None:
        self.label, self.sentence = label, sentence


@dataclass(frozen=True, slots=True)
class Ineligible:
    """A waiting job that the loop does not start.

    Examples
    --------
    >>> print(Ineligible(Case.HANDED_OVER, ("Resources",), because="it requests licences (x)"))
    it was handed to Slurm, which reports Resources: it requests licences (x)
    >>> Ineligible(Case.HELD, ("JobHeldUser",)).case.label
    'held'
    """

    case: Case
    details: tuple[str, ...] = ()
    because: str = ""
    """Why the loop has given it away."""

    def __str__(self) -> str:
        words = self.case.sentence.format(*self.details)
        return f"{words}: {self.because}" if self.because else words
