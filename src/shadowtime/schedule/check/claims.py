"""What a policy may say of itself. Only what is claimed is held against a schedule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shadowtime.errors import UsageError

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
