"""What a start needs besides what each slot has: concurrency limits, which the pool has as a whole.

A policy plans with what slots have: processors, memory, disk and whatever else the pool counts.
Limits are no part of the plan, as a negotiator does not plan with them either: a job that would
exceed them waits, with the reason, until they are free, and nothing is reserved for it. Disk is
counted here once more for the last check before a start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from shadowtime.live.ineligible import Case, Ineligible

if TYPE_CHECKING:
    from shadowtime.live.condor.client import Ad

DEFAULT = "CONCURRENCY_LIMIT_DEFAULT"
UNLIMITED = 2308032.0
"""The limit that a negotiator uses if none is configured."""
DISK_STEP = 1024
"""A startd allocates disk in steps of this many KB (MODIFY_REQUEST_EXPR_REQUESTDISK)."""
LARGEST = 1 << 50
"""Beyond every disk, in KB."""


def limits_of(ad: Ad) -> dict[str, float]:
    """How much a job, or the claim of a slot, uses of which limit.

    Examples
    --------
    >>> limits_of({"concurrencylimits": "Licence, big.matlab:2, licence"})
    {'licence': 2.0, 'big.matlab': 2.0}
    >>> limits_of({"concurrencylimits": "a:0,b:x"}), limits_of({})
    ({'a': 1.0, 'b': 1.0}, {})
    """
    text = ad.get("concurrencylimits")
    found: dict[str, float] = {}
    for word in text.split(",") if isinstance(text, str) else ():
        name, _, amount = word.strip().lower().partition(":")
        if name:
            found[name] = found.get(name, 0.0) + _increment(amount)
    return found


def _increment(text: str) -> float:
    """How HTCondor reads the figure after the colon: 1 unless it is above 0."""
    try:
        value = float(text)
    except ValueError:
        return 1.0
    return value if 0 < value < LARGEST else 1.0


def configured_limit(name: str, lookup: Callable[[str], str | None]) -> float:
    """The limit of a name by the negotiator's configuration.

    ``NAME_LIMIT``, else for ``group.name`` the default of the group, else the default of all.

    Examples
    --------
    >>> settings = {"LICENCE_LIMIT": "3", "CONCURRENCY_LIMIT_DEFAULT_BIG": "2"}
    >>> [configured_limit(name, settings.get) for name in ("licence", "big.x", "other")]
    [3.0, 2.0, 2308032.0]
    """
    names = [f"{name}_LIMIT", DEFAULT]
    if "." in name:
        names.insert(1, f"{DEFAULT}_{name.rpartition('.')[0]}")
    for one in names:
        try:
            return float(lookup(one.upper()) or "")
        except ValueError:
            continue
    return UNLIMITED


def disk_of(ad: Ad) -> int:
    """KB of disk that a job is given on each of its slots, or was given where it runs."""
    for name in ("diskprovisioned", "requestdisk")[ad.get("jobstatus") != 2 :]:
        value = ad.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < LARGEST:
            return -(-int(value) // DISK_STEP) * DISK_STEP
    return 0


class Conditions:
    """What is free of every limit, and of every slot's disk, in one snapshot.

    Rules
    -----
    A job that runs, or was released and is about to, has taken its part. Limits are kept for
    waiting jobs in the order in which they ask, so that no later job takes the licence that an
    earlier one will start with.

    Examples
    --------
    >>> now = Conditions(limits={"licence": 1.0}, disk={"slot1@a": 4096})
    >>> job = {"concurrencylimits": "licence", "requestdisk": 3000}
    >>> now.keep(job), str(now.keep(job))
    (None, 'it waits for the concurrency limit licence (1 at a time)')
    >>> now.give_disk(3000, ["slot1@a", "slot1@b"])
    ''
    >>> now.give_disk(3000, ["slot1@a"])
    'the disk it requests is not free on slot1@a'
    """

    def __init__(self, *, limits: Mapping[str, float], disk: Mapping[str, int]) -> None:
        self.limits = dict(limits)
        self._used = dict.fromkeys(limits, 0.0)
        self._disk = dict(disk)

    def take(self, ad: Ad, slots: Iterable[str]) -> None:
        """Count a job that holds these slots."""
        self._use(limits_of(ad))
        self.take_disk(disk_of(ad), slots)

    def take_claim(self, slot: Ad, host: str) -> None:
        """Count what a job of another schedd holds of a host."""
        self._use(limits_of(slot))
        self.take_disk(disk_of({"requestdisk": slot.get("disk")}), [host])

    def take_disk(self, amount: int, slots: Iterable[str]) -> None:
        """Count disk that is held on each of the slots, whether it was free or not."""
        for slot in slots:
            if slot in self._disk:
                self._disk[slot] -= amount

    def give_disk(self, amount: int, slots: Sequence[str]) -> str:
        """Take disk for a start on each of the slots; empty, or why it is not free there."""
        for slot in slots:
            if self._disk.get(slot, LARGEST) < amount:
                return f"the disk it requests is not free on {slot}"
        self.take_disk(amount, slots)
        return ""

    def keep(self, ad: Ad) -> Ineligible | None:
        """Reserve what a waiting job needs of its limits; None, or why it cannot start now."""
        asked = {name: amount for name, amount in limits_of(ad).items() if name in self.limits}
        for name, amount in asked.items():
            most = self.limits[name]
            if amount > most:
                return Ineligible(Case.OVER_LIMIT, (name, f"{amount:g}", f"{most:g}"))
            if self._used[name] + amount > most:
                return Ineligible(Case.AT_LIMIT, (name, f"{most:g}"))
        self._use(asked)
        return None

    def _use(self, asked: Mapping[str, float]) -> None:
        for name, amount in asked.items():
            if name in self._used:
                self._used[name] += amount
