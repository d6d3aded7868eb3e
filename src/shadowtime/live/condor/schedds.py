"""Several schedds of one pool as one queue."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from shadowtime.live.condor.jobs import SCHEDD
from shadowtime.live.port import PortError

if TYPE_CHECKING:
    from shadowtime.live.condor.client import Ad, Client


class Schedds:
    """A client that shows several schedds as one queue and sends each order to the right one.

    Rules
    -----
    A job is named ``schedd#cluster.proc``. A schedd that does not answer is reported once, and
    once more when it answers again; meanwhile its waiting jobs are not in the queue, and its
    running ones count with the slots that the collector reports for them. PortError if none
    answers, or if an order is for one that does not.
    """

    def __init__(
        self, clients: Mapping[str, Client], *, tell: Callable[[str], None] = lambda line: None
    ) -> None:
        self.clients, self.tell = dict(clients), tell
        self._silent: dict[str, str] = {}

    def schedds(self) -> tuple[str, ...]:
        return tuple(name for name in self.clients if name not in self._silent)

    def queue(self, constraint: str, attributes: Sequence[str]) -> list[Ad]:
        found: list[Ad] = []
        silent: dict[str, str] = {}
        for name, client in self.clients.items():
            try:
                found += marked(name, client.queue(constraint, attributes))
            except PortError as error:
                silent[name] = str(error)
        self._report(silent)
        if len(silent) == len(self.clients):
            raise PortError("; ".join(f"{name}: {why}" for name, why in silent.items()))
        return found

    def jobs(self, jobs: Sequence[str], attributes: Sequence[str]) -> list[Ad]:
        found: list[Ad] = []
        for name, mine in by_schedd(jobs):
            found += marked(name, self.clients[name].jobs(mine, attributes))
        return found

    def slots(self, attributes: Sequence[str]) -> list[Ad]:
        return next(iter(self.clients.values())).slots(attributes)

    def limits(self, names: Sequence[str]) -> dict[str, float]:
        return next(iter(self.clients.values())).limits(names)

    def ended(self, jobs: Sequence[str], attributes: Sequence[str]) -> list[Ad]:
        found: list[Ad] = []
        for name, mine in by_schedd(jobs):
            found += marked(name, self.clients[name].ended(mine, attributes))
        return found

    def matching(self, jobs: Sequence[str], whole: Sequence[Ad]) -> dict[str, list[str]]:
        return {
            f"{name}#{job}": slots
            for name, mine in by_schedd(jobs)
            for job, slots in self.clients[name].matching(mine, whole).items()
        }

    def edit(self, job: str, attribute: str, expression: str) -> str:
        name, _, mine = job.rpartition("#")
        return self.clients[name].edit(mine, attribute, expression)

    def release(self, jobs: Sequence[str], condition: str) -> int:
        return sum(self.clients[name].release(mine, condition) for name, mine in by_schedd(jobs))

    def hold(self, jobs: Sequence[str], condition: str, reason: str) -> int:
        return sum(
            self.clients[name].hold(mine, condition, reason) for name, mine in by_schedd(jobs)
        )

    def _report(self, silent: Mapping[str, str]) -> None:
        for name, why in silent.items():
            if name not in self._silent:
                self.tell(f"continuing without the jobs of schedd {name}: {why}")
        for name in self._silent.keys() - silent.keys():
            self.tell(f"schedd {name} answers again")
        self._silent = dict(silent)


def marked(schedd: str, ads: Sequence[Ad]) -> list[Ad]:
    """Ads with the schedd they come from."""
    return [{**ad, SCHEDD: schedd} for ad in ads]


def by_schedd(jobs: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Jobs by schedd, under the names that each of them knows.

    Examples
    --------
    >>> list(by_schedd(["a#7.0", "b#7.0", "a#8.1"]))
    [('a', ['7.0', '8.1']), ('b', ['7.0'])]
    """
    found: dict[str, list[str]] = defaultdict(list)
    for job in jobs:
        name, _, mine = job.rpartition("#")
        found[name].append(mine)
    yield from found.items()
