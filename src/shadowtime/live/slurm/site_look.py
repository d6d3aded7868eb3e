"""The site that a running Slurm describes, read again only if it may have changed."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shadowtime.cluster.slurm_site import SlurmTexts, enforced, site_from_slurm
from shadowtime.errors import ClusterError
from shadowtime.live.port import PortError
from shadowtime.slurmtext.conf import parse_config

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from shadowtime.cluster.site import Site
    from shadowtime.slurmtext.squeue import NodeRow

RULES_EVERY = 15.0
"""Seconds after which reservations and partitions are read again."""
RULES_WHILE_BUSY = 3.0
"""The same while jobs wait at the gate: a new reservation may forbid a start."""
LIMITS_EVERY = 60.0
"""Seconds after which the limits of QOS and associations are read again."""
SHOW = ("scontrol", "--oneliner", "show")
QOS = ("sacctmgr", "--parsable2", "show", "qos")
ASSOCIATIONS = ("sacctmgr", "--parsable2", "show", "associations")


@dataclass
class SiteLook:
    """Reads the site through Slurm's own commands.

    Rules
    -----
    Nodes are read again when sinfo lists others than before, partitions and reservations every
    quarter of a minute, every three seconds while jobs wait at the gate (``busy``), and when a job
    names a reservation for the first time, limits every minute
    where Slurm enforces them. A slurmdbd that does not
    answer leaves the limits as they were last read; with none read, a job that hits one is handed
    to Slurm, which knows it. The site is the same object as long as nothing about it has changed.
    """

    ask: Callable[[Sequence[str]], str]
    """Runs a command; PortError if it fails."""
    site: Site | None = None
    _nodes: object = None
    _rules_at: float = float("-inf")
    _limits_at: float = float("-inf")
    _texts: dict[str, str] = field(default_factory=dict)
    _named: set[str] = field(default_factory=set)

    def read(
        self,
        nodes: Sequence[NodeRow],
        now: float,
        *,
        reservations: Collection[str] = (),
        busy: bool = False,
    ) -> Site:
        """The site as it is now; ``reservations`` are those that jobs name."""
        if not self._named.issuperset(reservations):  # a new one: before its jobs are sorted
            self._named |= set(reservations)
            self._rules_at = float("-inf")
        static = [(one.name, one.cpus, one.memory, one.gres, one.features) for one in nodes]
        texts = dict(self._texts)
        if static != self._nodes or not texts:
            texts["config"] = self.ask(("scontrol", "show", "config"))
            texts["nodes"] = self.ask((*SHOW, "node"))
        every = RULES_WHILE_BUSY if busy else RULES_EVERY
        if static != self._nodes or not 0 <= now - self._rules_at < every:
            texts["partitions"] = self.ask((*SHOW, "partition"))
            texts["reservations"] = self.ask((*SHOW, "reservation"))
            self._rules_at = now
        if enforces(texts["config"]) and not 0 <= now - self._limits_at < LIMITS_EVERY:
            self._limits_at = now
            with contextlib.suppress(PortError):  # then they stay as they were
                texts |= {"qos": self.ask(QOS), "associations": self.ask(ASSOCIATIONS)}
        self._nodes = static
        if self.site is None or texts != self._texts:
            self._texts = texts
            self.site = self._same_or(self._parsed(texts))
        return self.site

    def _parsed(self, texts: dict[str, str]) -> Site:
        try:
            site = site_from_slurm(
                SlurmTexts(
                    nodes=texts["nodes"],
                    partitions=texts["partitions"],
                    config=texts["config"],
                    reservations=texts["reservations"],
                    qos=texts.get("qos", ""),
                    associations=texts.get("associations", ""),
                )
            )
        except ClusterError as error:
            raise PortError(str(error)) from None
        # What does not affect a decision must not make two sites differ.
        return site.replace(
            config={}, outages=(), switches=(), ignored={}, unusable=(), notes=(), name=""
        )

    def _same_or(self, fresh: Site) -> Site:
        return self.site if self.site is not None and fresh == self.site else fresh


def enforces(config: str) -> bool:
    """Whether Slurm's configuration has limits enforced.

    Examples
    --------
    >>> enforces("AccountingStorageEnforce = associations,limits,qos")
    True
    >>> enforces("AccountingStorageEnforce = none")
    False
    """
    low = {key.lower(): value for key, value in parse_config(config).items()}
    return "limits" in enforced(low.get("accountingstorageenforce", ""))
