"""What there is to know about a metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Better = Literal["lower", "higher", "neither"]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric's description. The unit ``share`` is a part of 1, shown in per cent."""

    name: str
    label: str
    unit: str
    better: Better
    group: str
    definition: str
