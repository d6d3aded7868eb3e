"""What a policy claims of itself, and its rules about single jobs.

The rules are their limits, where they may run, which may be stopped.

A schedule's own columns are never taken for these. The engine works the rules out of a policy
(``engine/rules.py``); here they are values, so that proofs need not know policies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from shadowtime.errors import UsageError
from shadowtime.types import AnyArray, Ints


@dataclass(frozen=True, eq=False, kw_only=True)
class Classes:
    """Which hosts each class of jobs may run on."""

    kind: Ints
    """The class of each job."""
    names: tuple[str, ...]
    allowed: AnyArray
    """bool[classes, hosts]"""
    group: tuple[int, ...] = ()
    """On a site: the group of each node; a job's nodes are all of one."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Stretch:
    """Limits that grow with the penalty a job is planned with (spec: algorithms 4.5).

    ``demand`` is what the policy takes a process to draw, a column a shared resource; ``span``
    the time over which it plans; ``request`` what is stretched.
    """

    demand: Ints
    span: Ints
    request: Ints


@dataclass(frozen=True, eq=False, kw_only=True)
class Easy:
    """One reservation for the head, which no job that overtakes may delay.

    ``estimate`` is how long each job is taken to run. ``greedy``: every
    job that delays nothing starts.
    """

    estimate: Ints
    greedy: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Rules:
    """The rules of a policy for the jobs of a workload, row by row.

    ``limit`` is what each job may run before any stretch. ``stretched`` says that the policy
    makes limits longer, and ``stretch`` by how much, where a schedule shows it.
    """

    policy: str
    limit: Ints
    preempts: bool
    stretched: bool = False
    stretch: Stretch | None = None
    classes: Classes | None = None
    save_every: int = 0
    """Seconds of work after which that of a stopped job is safe; 0: never, 1: at once."""
    restart_s: int = 0
    """Seconds that a stopped job spends on starting again."""
    starts_at_events: bool = False
    """Jobs start at submissions and ends alone."""
    easy: Easy | None = None
    grain: int = 0
    """Seconds by which an attempt may seem longer or shorter than it was: 1 where the policy has
    parts of seconds and its schedule does not."""

    @property
    def changes_runs(self) -> bool:
        """True if the attempts of a stopped job are not all as long as its run."""
        return self.save_every > 0 or self.restart_s > 0

    def take(self, rows: AnyArray) -> Rules:
        """The rules of some of the jobs."""
        stretch, classes, easy = self.stretch, self.classes, self.easy
        return replace(
            self,
            limit=self.limit[rows],
            stretch=stretch
            and Stretch(
                demand=stretch.demand[rows],
                span=stretch.span[rows],
                request=stretch.request[rows],
            ),
            easy=easy and replace(easy, estimate=easy.estimate[rows]),
            classes=classes and replace(classes, kind=classes.kind[rows]),
        )


QUEUE_BY_ARRIVAL = "queue-by-arrival"
ARRIVAL_ORDER = "arrival-order"
HEAD_NEVER_IDLE = "head-never-idle"
PROMISES_KEPT = "promises-kept"
STRICTLY_FAIR = "strictly-fair"
SUNNY_ABSORBING = "sunny-absorbing"
NO_RESERVATION_VIOLATION = "no-reservation-violation"
WITHIN_SHARED = "within-shared"

CLAIMS: Mapping[str, str] = {
    QUEUE_BY_ARRIVAL: "the queue is ordered by (submit, id): reasons can be verified in full",
    ARRIVAL_ORDER: "jobs start in the order (submit, id): no job is overtaken",
    HEAD_NEVER_IDLE: "the first waiting job by (submit, id) never fits in what is free",
    PROMISES_KEPT: "no job starts later than it was promised",
    STRICTLY_FAIR: "free and shadow processors together never hold the first waiting job",
    SUNNY_ABSORBING: "a running job for which no earlier job waits is never preempted",
    NO_RESERVATION_VIOLATION: "no promise is missed because of later jobs let in meanwhile",
    WITHIN_SHARED: "the demand on no node exceeds its shared resources, such as bandwidth",
}
"""Every claim in one line; the order of jobs is (submit, id) everywhere."""


def known_claims(claims: Iterable[str]) -> frozenset[str]:
    """The claims as a set, refusing names that nothing proves.

    Examples
    --------
    >>> sorted(known_claims(["promises-kept", "arrival-order"]))
    ['arrival-order', 'promises-kept']
    """
    found = frozenset(claims)
    for name in sorted(found - set(CLAIMS)):
        raise UsageError(f"unknown claim {name!r}: known are {', '.join(CLAIMS)}")
    return found
