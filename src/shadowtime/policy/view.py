"""What a policy written in Python sees at a pass, and what it may decide.

An object with ``decide(view)`` is a policy: it is handed a View and returns decisions in the order
in which they are to be carried out. The view holds no true run time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class WaitingJob:
    """A job in the queue; ``need`` has an entry per resource, processors first."""

    id: int
    submit: int
    need: tuple[int, ...]
    request: int
    estimate: int
    user: int
    fits: bool = True
    """False on a site where no nodes hold it now or a limit forbids it; elsewhere see ``free``."""

    @property
    def procs(self) -> int:
        return self.need[0]


@dataclass(frozen=True)
class RunningJob:
    """A job that runs, and when it is expected to end."""

    id: int
    submit: int
    need: tuple[int, ...]
    request: int
    estimate: int
    user: int
    start: int
    expected_end: int

    @property
    def procs(self) -> int:
        return self.need[0]


@dataclass(frozen=True)
class View:
    """The cluster at one pass: the queue in (submit, id) order, who runs by expected end."""

    now: int
    waiting: tuple[WaitingJob, ...]
    running: tuple[RunningJob, ...]
    free: tuple[int, ...]
    capacity: tuple[int, ...]


@dataclass(frozen=True)
class Start:
    """Start a waiting job now; one that is ``optional`` is skipped where it does not fit."""

    job: int
    optional: bool = False


@dataclass(frozen=True)
class Stop:
    """Preempt a running job: it waits again, its work is lost."""

    job: int


@dataclass(frozen=True)
class Promise:
    """Tell when a blocked job is expected to start; its first promise is kept on record."""

    job: int
    start: int


@dataclass(frozen=True)
class Wake:
    """Ask for a pass at an instant even if nothing else happens then."""

    at: int


Decision = Start | Stop | Promise | Wake


class Deciding(Protocol):
    """A policy written in Python; ``estimate`` and ``name`` are optional attributes.

    Examples
    --------
    >>> class FirstFit:
    ...     name = "first-fit"
    ...     def decide(self, view):
    ...         free = view.free[0]
    ...         for job in view.waiting:
    ...             if job.procs <= free:
    ...                 free -= job.procs
    ...                 yield Start(job.id)
    """

    def decide(self, view: View) -> object:
        """The decisions of one pass, an iterable of Start, Stop, Promise and Wake."""
