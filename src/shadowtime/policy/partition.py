"""Slot ``partition``: where may it run, where may it reserve?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shadowtime.policy.part import Part


class Partition(Part):
    """Where a job may run and reserve."""

    slot: ClassVar[str] = "partition"


@dataclass(frozen=True)
class Anywhere(Partition):
    """Every job may run on every host that is large enough."""

    name: ClassVar[str] = "anywhere"
    summary: ClassVar[str] = "every job may run on every host"


NAMED: dict[str, Partition] = {part.name: part() for part in (Anywhere,)}
