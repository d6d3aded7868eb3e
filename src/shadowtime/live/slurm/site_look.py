"""The site that a running Slurm describes, read again only if it may have changed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shadowtime.cluster.site import Site
from shadowtime.cluster.slurm_site import SlurmTexts, enforced, site_from_slurm
from shadowtime.errors import ClusterError
from shadowtime.live.port import PortError
from shadowtime.slurmtext.conf import parse_config
from shadowtime.slurmtext.scontrol import records

if TYPE_CHECKING:
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
    to Slurm, which knows it. An answer that cannot be read, or that does not agree with sinfo, is
    asked for again at the next poll; until then the last site stands. It is the same object as long
    as nothing about it has changed.
    """

    ask: Callable[[Sequence[str]], str]
    """Runs a command; PortError if it fails."""
    tell: Callable[[str], None] = lambda line: None
    site: Site | None = None
    trouble: str = ""
    """Why the site that stands could not be read again, if so."""
    read_at: float = 0.0
    """When it was last understood."""
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
        try:
            site = self._read(nodes, static, now, busy=busy)
        except PortError as error:
            if self.site is None:
                raise
            if not self.trouble:
                self.tell(f"the site as last read stands, as its present state is unknown: {error}")
            self.trouble = str(error)
            return self.site
        if self.trouble:
            self.tell("the site can be read again")
        self.trouble, self.read_at = "", now
        return site

    def _read(self, nodes: Sequence[NodeRow], static: object, now: float, *, busy: bool) -> Site:
        """The same; nothing is kept before all of it was understood."""
        texts, rules_at = dict(self._texts), self._rules_at
        if static != self._nodes or not texts:
            texts["config"] = self.ask(("scontrol", "show", "config"))
            texts["nodes"] = self.ask((*SHOW, "node"))
        every = RULES_WHILE_BUSY if busy else RULES_EVERY
        if static != self._nodes or not 0 <= now - self._rules_at < every:
            texts["partitions"] = self.ask((*SHOW, "partition"))
            texts["reservations"] = self.ask((*SHOW, "reservation"))
            rules_at = now
        if enforces(texts["config"]) and not 0 <= now - self._limits_at < LIMITS_EVERY:
            self._limits_at = now
            with contextlib.suppress(PortError):  # then they stay as they were
                texts |= {"qos": self.ask(QOS), "associations": self.ask(ASSOCIATIONS)}
        site = self.site
        if site is None or texts != self._texts:
            site = self._same_or(self._parsed(texts, nodes))
        self._nodes, self._rules_at, self._texts, self.site = static, rules_at, texts, site
        return site

    def _parsed(self, texts: dict[str, str], nodes: Sequence[NodeRow]) -> Site:
        whole = {record["nodename"]: record for _, record in records(texts["nodes"])}
        for node in nodes:  # scontrol and sinfo must agree, else one of them was cut off
            shown = whole.get(node.name, {})
            processors = (shown.get("cputot"), shown.get("cpuefctv"))
            memory = str(node.memory // 1024)
            if str(node.cpus) not in processors or shown.get("realmemory") != memory:
                raise PortError(f"scontrol and sinfo do not agree about {node.name}")
        if not all(text.endswith("\n") for text in texts.values()):
            raise PortError("an answer of scontrol is not complete")
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


def default_account(ask: Callable[[Sequence[str]], str], site: Site, user: str) -> str:
    """The account of a user's jobs that name none; empty where accounting does not tell."""
    if len({one.account for one in site.associations if one.user == user}) < 2:
        return ""
    words = ("sacctmgr", "-nP", "show", "user", f"name={user}", "format=DefaultAccount")
    with contextlib.suppress(PortError):
        return ask(words).strip()
    return ""
