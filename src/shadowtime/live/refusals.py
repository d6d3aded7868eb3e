"""Starts that the scheduler refuses repeatedly: set aside, and retried after a pause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shadowtime.engine.live_pass import Start

if TYPE_CHECKING:
    from shadowtime.live.port import Outcome, Snapshot, WaitingJob

TRIES = 3
"""Refusals in a row after which a job is set aside."""
AGAIN_AFTER = 30
"""Seconds for which it is set aside."""
LATER = "try again in a bit"
"""How slurmctld ends a refusal that took five seconds: one of them is enough."""


class Refusals:
    """Counts the refusals of each job; one with too many is skipped for a while.

    Rules
    -----
    A start that is refused takes up room in the pass that decides it. After three refusals in a
    row the job takes part in no pass for half a minute, or until its request changes; after the
    first one if the scheduler reports that it takes a while.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster, Host
    >>> from shadowtime.live.port import Outcome, Start, Snapshot, WaitingJob
    >>> one = Cluster(shape="nodes", hosts=(Host("n1", (4,)),))
    >>> state = Snapshot(
    ...     now=5, cluster=one, waiting=(WaitingJob(id="7", submit=0, need=(1,), request=9),)
    ... )
    >>> known = Refusals()
    >>> for _ in range(3):
    ...     known.note([Outcome(Start(job="7"), False, "invalid node")], state)
    >>> known.standing(state)
    {'7': 'its start was refused 3 times (invalid node)'}
    >>> known.standing(state.replace(now=36))
    {}
    """

    def __init__(self) -> None:
        self._count: dict[str, int] = {}
        self._until: dict[str, tuple[int, WaitingJob | None, str]] = {}

    def note(self, outcomes: Sequence[Outcome], state: Snapshot) -> None:
        """The outcomes of starts on a state."""
        asked = {job.id: job for job in state.waiting}
        for outcome in outcomes:
            job = outcome.decision.job
            if not isinstance(outcome.decision, Start):
                continue
            if outcome.done:
                self._count.pop(job, None)
                self._until.pop(job, None)
                continue
            count = self._count[job] = self._count.get(job, 0) + 1
            if count >= TRIES or LATER in outcome.why:
                why = f"its start was refused {count} times ({outcome.why})"
                self._until[job] = state.now + AGAIN_AFTER, asked.get(job), why

    def standing(self, state: Snapshot) -> dict[str, str]:
        """The jobs to skip now, with the reason."""
        asked = {job.id: job for job in state.waiting} if self._count else {}
        self._count = {job: count for job, count in self._count.items() if job in asked}
        self._until = {
            job: entry
            for job, entry in self._until.items()
            if asked.get(job) == entry[1] and 0 < entry[0] - state.now <= AGAIN_AFTER
        }
        return {job: why for job, (_, _, why) in self._until.items()}
