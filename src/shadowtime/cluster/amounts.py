"""Amounts that are counted over a whole site, declared once: licences, and power.

``COUNTED`` is all there is to know of them: their names, where a site's description, a job table
and ``--set`` give them, and their words. Everything else (simulation, ``slurm``, checks,
explanations, files) takes ``Site.amounts``, ``Request.amounts`` and this table as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shadowtime.errors import ClusterError
from shadowtime.slurmtext.tres import LICENCE_PREFIX, parse_licences

if TYPE_CHECKING:
    from shadowtime.cluster.site_table import Document, Group

Amounts = tuple[tuple[str, int], ...]
"""Names with numbers: what a job takes."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of amount: one of the whole site, or several with names of their own.

    Rules
    -----
    ``prefix`` is what names of several begin with (``license/matlab``); without it there is one
    amount, called as its kind. ``entry`` is its column in a table of jobs and its key in a site's
    description: a table of several, or a number under ``[site]``. ``setting`` is the key of
    ``--set``. ``demanded``: a site that gives no amount has none, and jobs that take some never
    start; otherwise the site does not count it.

    Examples
    --------
    >>> licence = kind_of("license/matlab")
    >>> licence.name, licence.own("license/matlab"), licence.title("license/matlab")
    ('licence', 'matlab', 'licence matlab')
    >>> licence.parse("matlab:10,one"), licence.cell((("license/matlab", 2),))
    ((('license/matlab', 10), ('license/one', 1)), 'matlab:2')
    """

    name: str
    entry: str
    setting: str
    short: str
    """What a job is short of that needs more than there is; ``{}`` stands for its own name."""
    reason: str
    """Slurm's word for it."""
    like: str
    """An example of what is written."""
    prefix: str = ""
    unit: str = ""
    demanded: bool = False
    of_slurm: bool = False
    """True if the setting is a line of slurm.conf."""

    def has(self, amount: str) -> bool:
        """True for the names of this kind."""
        return amount.startswith(self.prefix) if self.prefix else amount == self.name

    def own(self, amount: str) -> str:
        """The name without the kind's; empty where there is one amount."""
        return amount[len(self.prefix) :] if self.prefix else ""

    def title(self, amount: str) -> str:
        """The kind and the name."""
        return f"{self.name} {self.own(amount)}".rstrip()

    def count(self, number: str) -> str:
        """A formatted number with its unit."""
        return f"{number} {self.unit}".rstrip()

    def cell(self, amounts: Iterable[tuple[str, int]]) -> str:
        """Amounts of this kind as they are written in a table of jobs."""
        mine = [(self.own(name), count) for name, count in amounts if self.has(name)]
        return ",".join(f"{own}:{count}" if own else str(count) for own, count in mine)

    def parse(self, text: str) -> Amounts:
        """Amounts of this kind from how they are written there and after ``--set``."""
        if self.prefix:
            return tuple(parse_licences(text).items())
        if text.strip() and not re.fullmatch("[0-9]{1,12}", text.strip()):
            raise ClusterError(f"{self.entry} must be a whole number like {self.like}")
        return ((self.name, int(text)),) if text.strip() else ()


LICENCE = Kind(
    name="licence", prefix=LICENCE_PREFIX, entry="licences", setting="Licenses", like="matlab:1",
    short="too few licences ({})", reason="Licenses", demanded=True, of_slurm=True,
)  # fmt: skip
POWER = Kind(
    name="power", entry="power", setting="power", unit="W", like="350",
    short="more power than the site has", reason="PowerNotAvail",
)  # fmt: skip
COUNTED = (LICENCE, POWER)


def kind_of(amount: str) -> Kind:
    """The kind that an amount belongs to.

    Examples
    --------
    >>> kind_of("license/matlab").entry
    'licences'
    """
    return next(kind for kind in COUNTED if kind.has(amount))


def is_amount(name: str) -> bool:
    """True for the name of an amount of some kind."""
    return any(kind.has(name) for kind in COUNTED)


def amounts_taken(asked: Amounts, capacity: Mapping[str, int]) -> Amounts:
    """What a job takes of amounts that the site counts.

    Examples
    --------
    >>> amounts_taken((("license/matlab", 2),), {})
    (('license/matlab', 2),)
    """
    return tuple(one for one in asked if one[0] in capacity or kind_of(one[0]).demanded)


def short_of(asked: Amounts, free: Mapping[str, int], capacity: Mapping[str, int]) -> str:
    """The first amount of which a job takes more than is free; empty if there is none.

    Examples
    --------
    >>> short_of((("license/a", 1), ("license/b", 3)), {"license/a": 1}, {"license/a": 4})
    'license/b'
    """
    return next((name for name, n in amounts_taken(asked, capacity) if n > free.get(name, 0)), "")


def replaced(amounts: Mapping[str, int], kind: Kind, text: str) -> dict[str, int]:
    """The amounts of a site where those of a kind are what a text tells.

    Examples
    --------
    >>> replaced({"license/a": 1}, LICENCE, "b:2")
    {'license/b': 2}
    """
    return {name: n for name, n in amounts.items() if not kind.has(name)} | dict(kind.parse(text))


def from_toml(document: Document, head: Group) -> dict[str, int]:
    """The amounts in a site's description."""
    found: dict[str, int] = {}
    for kind in COUNTED:
        if kind.prefix:
            table = document.table(kind.entry)
            found |= {kind.prefix + name: table.whole(name) for name in table.names()}
        elif (number := head.maybe(kind.entry)) is not None:
            found[kind.name] = number
    return found


def described(amounts: Mapping[str, int]) -> Iterator[tuple[Kind, Any]]:
    """Every kind with its amounts as a description has them: a table, or a number or None."""
    for kind in COUNTED:
        if kind.prefix:
            yield kind, {kind.own(name): n for name, n in amounts.items() if kind.has(name)}
        else:
            yield kind, amounts.get(kind.name)
