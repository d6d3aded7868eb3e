"""The demand of waiting jobs that do not request it from Slurm: declared, or known by tag."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from shadowtime.engine.python_policy import policy_parts
from shadowtime.errors import StoreError
from shadowtime.hperf.epilog import tag_of
from shadowtime.live.slurm.asks import detail_of
from shadowtime.policy import Policy
from shadowtime.policy.estimate import ByTag
from shadowtime.slurmtext.show_job import Detail

if TYPE_CHECKING:
    from shadowtime.live.clock import Clock
    from shadowtime.live.port import Snapshot, WaitingJob

ASK_EVERY = 5.0
"""Seconds between two reads of the store."""
_DECLARED = re.compile(r"\bbw=(\d{1,9})(?![\d.])")


class Demand(Protocol):
    """Finds the demand of a job at the gate from its comment."""

    def __call__(self, job: WaitingJob, comment: str, column: int) -> WaitingJob:
        """The job with its demand; unchanged if nothing is known. ``column``: that of its needs."""


def declared(job: WaitingJob, comment: str, column: int) -> WaitingJob:
    """LessC: what the user declares per task, ``bw=3000`` in the comment.

    Examples
    --------
    >>> from shadowtime.live.port import WaitingJob
    >>> job = WaitingJob(id="7", submit=0, need=(4, 0), request=9)
    >>> declared(job, "night run, bw=3000", 1).need
    (4, 12000)
    """
    found = _DECLARED.search(comment)
    if found is None:
        return job
    each = int(found[1])
    need = list(job.need)
    need[column] = each * -(-job.need[0] // job.chunk)
    return replace(job, need=tuple(need), bandwidth=each)


class ByStore:
    """HPerf: the mean under the tag in the comment, ``tag=NAME``, from a store if there is one.

    If the store does not answer, its tags run alone. It is queried again after a while.
    """

    def __init__(self, store: str, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._means: dict[str, int] = {}
        self._asked = float("-inf")

    def __call__(self, job: WaitingJob, comment: str, column: int) -> WaitingJob:
        tag = tag_of(comment)
        if tag is None:
            return job
        return replace(job, tag=tag, bandwidth=self._known().get(tag, -1))

    def _known(self) -> Mapping[str, int]:
        if self._store and self._clock.steady() - self._asked >= ASK_EVERY:
            from shadowtime.hperf import open_store

            self._asked = self._clock.steady()
            try:
                averages = open_store(self._store).averages()
            except StoreError:
                averages = {}
            self._means = {tag: math.ceil(found.mean) for tag, found in averages.items()}
        return self._means


def demand_for(policy: Policy, clock: Clock) -> Demand | None:
    """How a policy learns the demand of jobs; None if it does not need it."""
    chosen = policy_parts(policy)
    if not chosen.place.caps:
        return None
    part = chosen.estimate
    return ByStore(part.store, clock) if isinstance(part, ByTag) else declared


def with_demands(
    state: Snapshot, details: Mapping[str, Detail], demand: Demand, name: str
) -> Snapshot:
    """The state with the demands of waiting jobs that neither request bandwidth nor run alone."""
    column = state.cluster.resources.index(name)
    waiting = []
    for job in state.waiting:
        detail = detail_of(details, job.id)
        if detail is not None and detail.comment and not job.alone and not job.need[column]:
            job = demand(job, detail.comment, column)
        waiting.append(job)
    return state.replace(waiting=tuple(waiting))
