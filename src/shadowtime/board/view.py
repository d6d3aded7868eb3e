"""What the board shows: jobs and nodes of any system, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

State = Literal["waiting", "running", "ended"]
Hidden = frozenset[str]
"""Of ``names`` (of jobs) and ``users`` (users and accounts)."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job or a task of an array. Times are seconds since 1970, -1 where unknown."""

    id: str
    state: State
    name: str = ""
    user: str = ""
    account: str = ""
    partition: str = ""
    reason: str = ""
    """Why it waits in the system's own word; how it ended."""
    cpus: int = 1
    nodes: int = 1
    whole_nodes: bool = False
    submit: int = -1
    start: int = -1
    end: int = -1
    limit: int = -1
    priority: float = 0.0
    planned: int = -1
    """When the system itself plans to start it."""
    hosts: tuple[str, ...] = ()

    def without(self, hidden: Hidden) -> Job:
        """The same without what is not shown to anybody.

        Examples
        --------
        >>> Job(id="7", state="waiting", name="secret", user="eva").without(frozenset(["names"]))
        Job(id='7', state='waiting', name='', user='eva', account='', ...)
        """
        if not hidden:
            return self
        made = self
        if "names" in hidden:
            made = replace(made, name="")
        if "users" in hidden:
            made = replace(made, user="", account="")
        return made


@dataclass(frozen=True, kw_only=True)
class Node:
    """A node or a slot that is divided: what it has, and whether jobs can start there."""

    name: str
    cpus: int
    state: str
    usable: bool
    partitions: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class View:
    """A poll: everything at one time."""

    cluster: str
    system: str
    now: int
    jobs: tuple[Job, ...]
    nodes: tuple[Node, ...]
    unknown: tuple[str, ...] = ()
    """What the system does not tell, a sentence each."""
    private: Hidden = frozenset()
    """What the system keeps private, though whoever runs the board may see it."""
    private_why: str = ""


class Source(Protocol):
    """A system that is polled; PortError if it does not answer."""

    def poll(self) -> View:
        """Everything at this time."""

    def why(self, job: str, site: object) -> str:
        """What stands in a waiting job's way, in words; empty if that is not known."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """When a job starts, with its range of 80 %, in seconds since 1970."""

    expected: int
    earliest: int
    latest: int
    within_hour: float | None = None
    shadow: int = -1
    """When a policy in shadow mode would start it."""


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """What the estimator found at ``at``, in ``took`` seconds."""

    at: int
    took: float = 0.0
    starts: Mapping[str, Estimate] = field(default_factory=dict)
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Why no start is predicted."""
    runs: Mapping[str, int] = field(default_factory=dict)
    """How long waiting jobs will probably run, and running ones from their start."""
    missing: tuple[str, ...] = ()
    past: tuple[Job, ...] | None = None
    """The jobs of the past day, where accounting knows them; sent once."""
    scores: Mapping[str, object] = field(default_factory=dict)
    shadow: Mapping[str, object] | None = None
    site: object = None
