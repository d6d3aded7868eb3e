"""The input and the outcome of a decision on a site: jobs and plans by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shadowtime.cluster.site import Site
from shadowtime.types import NO_LIMIT, Reason
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from shadowtime.engine.site.plans import Run


@dataclass(frozen=True, kw_only=True)
class Freed:
    """Nodes that came free during [begin, end): a run that ended early, a promise given back."""

    nodes: tuple[str, ...]
    begin: int
    end: int


def everything(site: Site, now: int) -> Freed:
    """All nodes from now on: what may have come free where nothing is known."""
    return Freed(nodes=tuple([node.name for node in site.nodes]), begin=now, end=NO_LIMIT)


@dataclass(frozen=True, kw_only=True)
class SiteJobs:
    """The jobs of a snapshot as the site's tables take them, by their rows in ``jobs``."""

    now: int
    jobs: Workload
    running: Mapping[int, Run] = field(default_factory=dict)
    promises: Mapping[int, Run] = field(default_factory=dict)
    """Plans of waiting jobs that a policy with kept promises made before."""
    freed: Sequence[Freed] | None = None
    """What came free early since the promises were made, behind what the verdict before handed
    over: only jobs that can use it are tried for an earlier start. None: not known, so anything
    may have."""
    asked: Mapping[int, int] = field(default_factory=dict)
    """How many entries of ``freed`` each promise has been compared with, if not none."""
    unfinished: bool = False
    """True if the verdict before left a sweep unfinished."""
    estimates: Mapping[int, int] = field(default_factory=dict)
    """How long jobs are expected to run, where the caller knows better than their requests."""
    blocked: Mapping[int, int] = field(default_factory=dict)
    """Since when each job that was ever the blocked head has been it."""
    promised: Mapping[int, int] = field(default_factory=dict)
    """The start that each job was promised first, where it was promised one before."""
    withdrawn: frozenset[int] = frozenset()
    """Jobs whose promise a limit withdrew, where no run has left since: they get no new one."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What is to be done now: starts in order, with reasons; promises to remember; when to ask.

    ``freed``, ``asked`` and ``unfinished`` belong to the next snapshot: what not every promise has
    been compared with yet.
    """

    starts: Mapping[int, Run]
    reasons: Mapping[int, Reason]
    promises: Mapping[int, Run]
    wake: int | None
    freed: Sequence[Freed] = ()
    asked: Mapping[int, int] = field(default_factory=dict)
    unfinished: bool = False
    stops: Mapping[int, int] = field(default_factory=dict)
    """Running jobs that are to be stopped, each with the job that starts instead."""
    blocked: Mapping[int, int] = field(default_factory=dict)
    """As in a snapshot, with the head of this pass."""
    earliest: Mapping[int, int] = field(default_factory=dict)
    """The first promised start of jobs that were the blocked head in this pass."""
    nowhere: Sequence[int] = ()
    """Waiting jobs that would not fit, or not be let in, if the site were empty."""
    withdrawn: frozenset[int] = frozenset()
    """As in a snapshot, for the next one as long as no run leaves."""
