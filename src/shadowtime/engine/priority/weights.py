"""The weights and times of priority/multifactor, from a site's configuration or given by hand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from shadowtime.slurmtext.times import parse_limit
from shadowtime.types import Floats

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site

WEEK = 7 * 86400
Seconds = TypeVar("Seconds", float, "Floats")


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Slurm's Priority* settings; times in seconds.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> config = {"PriorityWeightAge": "1000", "PriorityMaxAge": "1-0"}
    >>> found = Weights.of(Site(nodes=(Node(name="n", amounts=(4,)),), config=config))
    >>> found.age, found.max_age, found.weighs, Weights().weighs
    (1000, 86400, True, False)
    """

    age: int = 0
    max_age: int = WEEK
    job_size: int = 0
    fair_share: int = 0
    partition: int = 0
    qos: int = 0
    assoc: int = 0
    tres: tuple[tuple[str, float], ...] = ()
    half_life: int = WEEK
    period: int = 300
    fair_tree: bool = True
    favor_small: bool = False
    dampening: int = 1

    @staticmethod
    def of(site: Site) -> Weights:
        """From a site's configuration."""

        def setting(name: str) -> str:
            value = site.setting(name)
            return "" if value == "(null)" else value

        def number(name: str, default: int = 0) -> int:
            value = setting(name)
            return int(value) if value.isdigit() else default

        def seconds(name: str, default: int) -> int:
            value = setting(name)
            found = parse_limit(value) if value else default
            return default if found is None else found

        tres = re.findall(r"([\w/:]+)=([\d.]+)", setting("PriorityWeightTRES"))
        return Weights(
            age=number("PriorityWeightAge"),
            max_age=seconds("PriorityMaxAge", WEEK),
            job_size=number("PriorityWeightJobSize"),
            fair_share=number("PriorityWeightFairShare"),
            partition=number("PriorityWeightPartition"),
            qos=number("PriorityWeightQOS"),
            assoc=number("PriorityWeightAssoc"),
            tres=tuple((name.lower(), float(weight)) for name, weight in tres),
            half_life=seconds("PriorityDecayHalfLife", WEEK),
            period=seconds("PriorityCalcPeriod", 300) or 300,
            fair_tree="NO_FAIR_TREE" not in setting("PriorityFlags").upper(),
            favor_small=setting("PriorityFavorSmall").lower() in ("yes", "1"),
            dampening=number("FairShareDampeningFactor", 1) or 1,
        )

    def changed(self, changes: Mapping[str, Any]) -> Weights:
        """These with some of them given by hand."""
        return replace(self, **changes)

    @property
    def decay(self) -> float:
        """What is left of usage after a second (spec: slurm 5.4)."""
        return 1 - 0.693 / self.half_life if self.half_life else 1.0

    def charged(self, seconds: Seconds) -> Seconds:
        """As how many seconds a stretch of a run is charged (spec: slurm 5.4).

        It fades by its own length, not by what has passed since the last tick.
        """
        faded: Seconds = seconds * self.decay**seconds
        return faded

    @property
    def weighs(self) -> bool:
        """False where every job has the same priority but for its nice value."""
        plain = (
            self.age, self.job_size, self.fair_share, self.partition, self.qos, self.assoc
        )  # fmt: skip
        return any(plain) or any(weight for _, weight in self.tres)
