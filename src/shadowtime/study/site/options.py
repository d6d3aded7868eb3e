"""Alternatives of a what-if side by side: what each changes, offers and costs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.cluster.site import Site
from shadowtime.errors import UsageError, near
from shadowtime.metrics.load import utilisation
from shadowtime.study.site.changes import KINDS, Change

if TYPE_CHECKING:
    from shadowtime.study.site.trials import Trial

_WORDS = {f"--{kind}": kind for kind in KINDS} | {"-p": "policy"}


@dataclass(frozen=True, kw_only=True)
class Option:
    """One of several alternatives: a name and its changes."""

    name: str
    changes: tuple[Change, ...]

    @staticmethod
    def parse(text: str) -> Option:
        """``name: --set KEY=VALUE --add-nodes KIND=N ...``, with the options of a what-if.

        Examples
        --------
        >>> one = Option.parse("more gpus: --add-nodes gpu=10 --set bf_interval=60")
        >>> one.name, [change.label for change in one.changes]
        ('more gpus', ['10 more nodes like gpu', 'bf_interval=60'])
        >>> Option.parse("--max-limit=2d").name
        'time limits up to 2d'
        """
        name, colon, rest = text.partition(":")
        if text.lstrip().startswith("-") or not colon:
            name, rest = "", text
        try:
            words = shlex.split(rest)
        except ValueError as error:
            raise UsageError(f"--option {text!r}: {error}") from None
        changes = []
        while words:
            word, equals, value = words.pop(0).partition("=")
            if word not in _WORDS:
                raise UsageError(
                    f"--option {text!r}: there is no change {word!r}{near(word, list(_WORDS))}; "
                    "write 'NAME: --set KEY=VALUE --add-nodes KIND=N'"
                )
            if not equals:
                if not words:
                    raise UsageError(f"--option {text!r}: {word} needs a value")
                value = words.pop(0)
            changes.append(Change(_WORDS[word], value))
        if not changes:
            raise UsageError(
                f"--option {text!r}: nothing is changed; write 'NAME: --set KEY=VALUE'"
            )
        label = ", ".join(change.label for change in changes)
        return Option(name=name.strip() or label, changes=tuple(changes))


@dataclass(frozen=True, kw_only=True)
class Offer:
    """What a site offers while the log's jobs arrive, over all runs: used share, nodes, money."""

    utilisation: float
    """Share of the processors in use, mean over the runs."""
    node_hours: float
    cost: float | None
    """Node-hours times their prices; None without a price."""

    def as_dict(self) -> dict[str, Any]:
        """For results."""
        return dict(vars(self))


def offer_of(site: Site, trials: Sequence[Trial], prices: Mapping[str, float]) -> Offer:
    """The nodes of a site from the first to the last submission, whether they are used or not."""
    machine: Any = site
    shares, spans = [], []
    for trial in trials:
        used = utilisation(trial.schedule, trial.workload, machine)
        shares.append(next(iter(used.values()), float("nan")))
        submit = trial.workload.submit
        spans.append(float(submit[-1] - submit[0]) / 3600 if len(submit) else 0.0)
    hours = float(np.mean(spans))
    return Offer(
        utilisation=float(np.mean(shares)),
        node_hours=hours * len(site.nodes),
        cost=hours * _price_of_an_hour(site, prices) if prices else None,
    )


def parse_prices(given: Sequence[str]) -> dict[str, float]:
    """Prices of a node-hour: ``0.4`` for every node, ``gpu=2.5`` for those of a partition.

    Examples
    --------
    >>> parse_prices(["0.4", "gpu=2.5"])
    {'': 0.4, 'gpu': 2.5}
    """
    found = {}
    for text in given:
        name, _, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if not 0 <= value < float("inf"):
            raise UsageError(
                f"--price {text}: write the price of a node-hour, as in 0.4, or gpu=2.5 for the "
                "nodes of a partition or with a feature"
            )
        found[name.strip()] = value
    return found


def check_prices(site: Site, prices: Mapping[str, float]) -> None:
    """UsageError for a price of nodes that the site does not have."""
    known = {one.name for one in site.partitions}
    known |= {feature for node in site.nodes for feature in node.features}
    for name in prices:
        if name and name not in known:
            raise UsageError(
                f"--price {name}=...: there is no partition or feature {name!r}"
                f"{near(name, sorted(known))}"
            )


def _price_of_an_hour(site: Site, prices: Mapping[str, float]) -> float:
    """The price of all nodes for an hour: each that of the last kind it is of, else the general."""
    each = {node.name: prices.get("", 0.0) for node in site.nodes}
    for kind, price in prices.items():
        alike = {node.name for node in site.nodes if kind in node.features}
        alike |= {name for one in site.partitions if one.name == kind for name in one.nodes}
        each |= dict.fromkeys(alike & each.keys(), price)
    return sum(each.values())
