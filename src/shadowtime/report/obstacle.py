"""One stretch of a job's wait and what stood in its way then."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, kw_only=True)
class Obstacle:
    """What kept a job from starting during [since, until).

    ``kind`` is begin, dependency, throttle, licence, limit, outage, reservation, room, order, pass
    (Slurm's next one) or never; ``name`` the limit, licence, reservation, nodes or short resource;
    ``who`` whom a limit counts; ``jobs`` those in the way, those that left at ``until`` first.
    """

    kind: str
    since: int
    until: int
    name: str = ""
    who: str = ""
    bound: int = 0
    used: int = 0
    asked: int = 0
    jobs: tuple[int, ...] = ()

    @property
    def same(self) -> tuple[str, str, str]:
        """What two stretches must share to be shown as one."""
        return self.kind, self.name, self.who


def told_in_passes(way: Sequence[Obstacle], pause: int) -> tuple[Obstacle, ...]:
    """Stretches of a scheduler that looks every ``pause`` seconds.

    That a job fitted for less than that says nothing of those ahead: such a stretch is reported
    with the one before it, or at the end as waiting for a pass.

    Examples
    --------
    >>> room = Obstacle(kind="room", since=0, until=9)
    >>> order = Obstacle(kind="order", since=9, until=11)
    >>> [one.kind for one in told_in_passes([room, order], 30)]
    ['room', 'pass']
    >>> again = Obstacle(kind="room", since=11, until=40)
    >>> [(one.kind, one.since, one.until) for one in told_in_passes([room, order, again], 30)]
    [('room', 0, 40)]
    """
    found: list[Obstacle] = []
    for place, one in enumerate(way):
        brief = one.kind == "order" and one.until - one.since <= pause
        if brief and place == len(way) - 1:
            found.append(replace(one, kind="pass", jobs=()))
        elif brief and found:
            found[-1] = replace(found[-1], until=one.until)
        elif found and found[-1].same == one.same and found[-1].until == one.since:
            found[-1] = replace(one, since=found[-1].since)
        else:
            found.append(one)
    return tuple(found)
