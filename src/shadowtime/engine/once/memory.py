"""What outlives a pass: promises, predictions, what was learned of each user."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from shadowtime.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Note(NamedTuple):
    """What is remembered of one job that waits or runs."""

    since: int
    """When it entered the queue: its submission, or later where it was not eligible then."""
    estimate: int = -1
    """Expected run time; of a running job as it was frozen at the start."""
    initial: int = -1
    """Prediction at submission."""
    promised: int = -1
    """Its first promised start."""
    blocked_at: int = -1
    """When it was first in order and could not start."""
    due: int = -1
    """A promise for good (reserve=kept)."""
    kills: int = 0


class History(NamedTuple):
    """What estimates know of a user: the last run and its request, and the run before."""

    last_run: int = -1
    last_request: int = -1
    before_run: int = -1


@dataclass(frozen=True, kw_only=True)
class Memory:
    """The memory of a policy between two passes; empty at the beginning.

    Examples
    --------
    >>> kept = Memory(now=7, jobs={"3": Note(since=5, due=90)}, users={"ann": History(3, 10)})
    >>> Memory.from_json(kept.to_json()) == kept
    True
    """

    now: int = -1
    """The instant of the last pass."""
    jobs: Mapping[str, Note] = field(default_factory=dict)
    users: Mapping[str, History] = field(default_factory=dict)
    head: str = ""
    """The blocked head of the last pass, and its shadow time."""
    shadow: int = -1
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What passes on nodes remember besides; plain JSON values."""

    def to_json(self) -> dict[str, Any]:
        """The memory as plain values for a state file."""
        return {
            "now": self.now,
            "jobs": {job: list(note) for job, note in self.jobs.items()},
            "users": {user: list(known) for user, known in self.users.items()},
            "head": self.head,
            "shadow": self.shadow,
            "extra": dict(self.extra),
        }

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> Memory:
        """The memory that :meth:`to_json` wrote."""
        try:
            return Memory(
                now=int(values["now"]),
                jobs={str(job): Note(*map(int, note)) for job, note in values["jobs"].items()},
                users={str(u): History(*map(int, known)) for u, known in values["users"].items()},
                head=str(values["head"]),
                shadow=int(values["shadow"]),
                extra=dict(values.get("extra", {})),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"a memory that cannot be read: {error!r}") from None
