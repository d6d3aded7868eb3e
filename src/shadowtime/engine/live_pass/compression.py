"""Compression of kept promises from pass to pass: what came free, and which jobs were asked.

A simulation sees every run end and notes what that frees. A live pass sees a snapshot: what has
come free since the pass before is the difference between what held the nodes then and now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from shadowtime import plain
from shadowtime.cluster.site import Site
from shadowtime.engine.site.plans import Freed, everything
from shadowtime.engine.site.promises import MANY_GAINS
from shadowtime.types import NO_LIMIT


class Hold(NamedTuple):
    """What a running job holds: tasks by node, until its expected end."""

    end: int
    tasks: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Compression:
    """What a pass with kept promises leaves to the next one; times in seconds since 1970.

    Examples
    --------
    >>> before = Compression(site=5, holds={"7": Hold(90, {"n1": 4})}, freed=(("n2", 10, 60),))
    >>> Compression.from_json(before.to_json()) == before
    True
    """

    site: int
    """The checksum of the site: on another one every job is asked about every node."""
    shut: tuple[str, ...] = ()
    holds: Mapping[str, Hold] = field(default_factory=dict)
    freed: tuple[tuple[str, int, int], ...] = ()
    """Nodes that came free during [begin, end), with which not every job has been compared."""
    asked: Mapping[str, int] = field(default_factory=dict)
    """How many entries of ``freed`` each job has been compared with, if not none."""
    unfinished: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "site": self.site,
            "shut": list(self.shut),
            "holds": {
                job: [end, [*map(list, on.items())]] for job, (end, on) in self.holds.items()
            },
            "freed": [list(one) for one in self.freed],
            "asked": dict(self.asked),
            "unfinished": self.unfinished,
        }

    @staticmethod
    def from_json(value: Any) -> Compression:
        """From plain values; InputError names the first that is wrong."""
        values = plain.mapping(value, "compression")
        holds, asked = (plain.mapping(plain.entry(values, k), k) for k in ("holds", "asked"))
        return Compression(
            site=plain.whole(plain.entry(values, "site"), "site"),
            shut=plain.texts(plain.entry(values, "shut"), "shut"),
            holds={job: _hold(one, f"what job {job} held") for job, one in holds.items()},
            freed=tuple(_freed(x) for x in plain.items(plain.entry(values, "freed"), "freed")),
            asked={job: plain.whole(n, "asked", low=0) for job, n in asked.items()},
            unfinished=plain.flag(plain.entry(values, "unfinished"), "unfinished"),
        )

    def trimmed(self) -> Compression:
        """Without entries that make no difference: a job behind by many is asked about all nodes.

        Examples
        --------
        >>> log = tuple(("n1", k, k + 1) for k in range(1_000))
        >>> short = Compression(site=5, freed=log, asked={"7": 998, "8": 40}).trimmed()
        >>> len(short.freed), short.asked
        (257, {'7': 255, '8': 0})
        """
        spare = len(self.freed) - (MANY_GAINS + 1)
        if spare <= 0:
            return self
        asked = {job: max(0, count - spare) for job, count in self.asked.items()}
        return replace(self, freed=self.freed[spare:], asked=asked)


def came_free(
    before: Compression | None,
    holds: Mapping[str, Hold],
    void: Iterable[Freed],
    *,
    site: Site,
    shut: Sequence[str],
    now: int,
) -> tuple[list[Freed], Mapping[str, int]]:
    """What has come free and not every job was compared with, and how far each job has been
    compared.

    Rules
    -----
    A node comes free where a run has left it or gives it back earlier than expected then (``holds``
    against those of ``before``), where a promise is not kept any more (``void``), and where it was
    shut and is not. After a change of the site anything may have come free.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> site = Site(nodes=(Node(name="n1", amounts=(4,)), Node(name="n2", amounts=(4,))))
    >>> before = Compression(site=site.checksum, holds={"7": Hold(90, {"n1": 4, "n2": 4})})
    >>> came_free(before, {"7": Hold(80, {"n2": 4})}, (), site=site, shut=(), now=50)[0]
    [Freed(nodes=('n1',), begin=50, end=90), Freed(nodes=('n2',), begin=80, end=90)]
    >>> came_free(None, {}, (), site=site, shut=(), now=50)[0]
    [Freed(nodes=('n1', 'n2'), begin=50, end=1099511627775)]
    """
    if before is None or before.site != site.checksum:
        return [everything(site, now)], {}
    found = [Freed(nodes=(node,), begin=begin, end=end) for node, begin, end in before.freed]
    gone = Hold(now, {})
    for job, then in before.holds.items():
        held = holds.get(job, gone)
        if held == then:
            continue
        left = tuple([name for name, n in then.tasks.items() if held.tasks.get(name, 0) < n])
        if left and then.end > now:
            found.append(Freed(nodes=left, begin=now, end=then.end))
        stays = tuple([name for name in then.tasks if name not in left])
        if stays and held.end < then.end:
            found.append(Freed(nodes=stays, begin=held.end, end=then.end))
    found += void
    opened = tuple([name for name in before.shut if name not in shut])
    if opened:
        found.append(Freed(nodes=opened, begin=now, end=NO_LIMIT))
    return found, before.asked


def _hold(value: Any, name: str) -> Hold:
    end, tasks = (*plain.items(value, name), None, None)[:2]
    return Hold(plain.whole(end, name), dict(plain.pairs(tasks, name)))


def _freed(value: Any) -> tuple[str, int, int]:
    node, begin, end = (*plain.items(value, "freed"), None, None, None)[:3]
    return plain.text(node, "freed"), plain.whole(begin, "freed"), plain.whole(end, "freed")
