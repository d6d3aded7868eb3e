"""Slot ``place``: where? Every start goes through it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shadowtime.policy.part import Part


class Place(Part):
    """Where a job goes."""

    slot: ClassVar[str] = "place"


@dataclass(frozen=True)
class BestFit(Place):
    """The host that is left with the least; on a pool there is nothing to choose."""

    name: ClassVar[str] = "best-fit"
    summary: ClassVar[str] = "the host left with the least; on a pool nothing to choose"


NAMED: dict[str, Place] = {part.name: part() for part in (BestFit,)}
