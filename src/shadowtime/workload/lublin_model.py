"""The Lublin-Feitelson model's parameters: batch, interactive, typeless."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from shadowtime.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class LublinModel:
    """One type of jobs: how wide, how long and when.

    ``u_high`` is log2 of the widest job; ``replace`` makes variants, ``for_machine`` fits a size.

    Examples
    --------
    >>> TYPELESS.for_machine(1024).u_high, TYPELESS.replace(serial=0.0).serial
    (10.0, 0.0)

    References
    ----------
    U. Lublin and D. G. Feitelson, The workload on parallel supercomputers: modeling the
    characteristics of rigid jobs, JPDC 63(11), 2003.
    """

    name: str
    serial: float
    """Share of one-processor jobs."""
    pow2: float
    """Share of the other jobs that are rounded to a power of two."""
    u_low: float
    u_med: float
    u_high: float
    u_prob: float
    """log2 of the size: uniform on (u_low, u_med) with probability u_prob, else (u_med, u_high)."""
    a1: float
    b1: float
    a2: float
    b2: float
    """ln of the run time: Gamma(a1, b1) or Gamma(a2, b2), shape and scale."""
    pa: float
    pb: float
    """The first gamma's probability is pa * size + pb, cut to [0, 1]."""
    aarr: float
    barr: float
    arar: float
    """ln of the inter-arrival time at the busy hours: Gamma(aarr * arar, barr)."""
    anum: float
    bnum: float
    """Half-hours of the day, from the eleventh on: Gamma(anum, bnum)."""

    def __post_init__(self) -> None:
        for field in ("serial", "pow2", "u_prob"):
            if not 0 <= getattr(self, field) <= 1:
                raise UsageError(
                    f"{field} is {getattr(self, field)}; a probability lies between 0 and 1"
                )
        if not 0 <= self.u_low <= self.u_med <= self.u_high:
            raise UsageError(
                f"u_low, u_med, u_high are {self.u_low}, {self.u_med}, {self.u_high}; "
                "they must rise from 0 or more"
            )
        for field in ("a1", "b1", "a2", "b2", "aarr", "barr", "arar", "anum", "bnum"):
            if not getattr(self, field) > 0:
                raise UsageError(f"{field} is {getattr(self, field)}; it must be above 0")

    @property
    def widest(self) -> int:
        """The widest job the model can draw."""
        exact, rounded = math.exp2(self.u_high), math.exp2(math.floor(self.u_high + 0.5))
        return math.floor(max(exact, rounded) + 0.5)

    def replace(self, **changes: Any) -> LublinModel:
        """A variant of this model."""
        return replace(self, **changes)

    def for_machine(self, procs: int) -> LublinModel:
        """The model for a machine of this many processors: u_high = log2, u_med = u_high - 2.5.

        Interactive jobs stay as narrow as they are (45 processors) unless the machine is smaller.
        """
        if procs < 1:
            raise UsageError(f"a machine of {procs} processors runs nothing; give at least 1")
        high = math.log2(procs)
        if self.name == INTERACTIVE.name and high >= self.u_high:
            return self
        med = max(high - 2.5, 0.0)
        return self.replace(u_high=high, u_med=med, u_low=min(self.u_low, med))


BATCH = LublinModel(
    name="batch", serial=0.2927, pow2=0.6686, u_low=1.2, u_med=5.0, u_high=7.0, u_prob=0.875,
    a1=6.57, b1=0.823, a2=639.1, b2=0.0156, pa=-0.003, pb=0.6986,
    aarr=6.0415, barr=0.8531, arar=1.0519, anum=6.1271, bnum=5.2740,
)  # fmt: skip

INTERACTIVE = LublinModel(
    name="interactive", serial=0.1541, pow2=0.625, u_low=1.0, u_med=3.0, u_high=5.5, u_prob=0.705,
    a1=3.8351, b1=0.6605, a2=7.073, b2=0.6856, pa=-0.0118, pb=0.9156,
    aarr=6.5510, barr=0.6621, arar=0.9797, anum=8.9186, bnum=3.6680,
)  # fmt: skip

TYPELESS = LublinModel(
    name="typeless", serial=0.244, pow2=0.576, u_low=0.8, u_med=4.5, u_high=7.0, u_prob=0.86,
    a1=4.2, b1=0.94, a2=312.0, b2=0.03, pa=-0.0054, pb=0.78,
    aarr=10.2303, barr=0.4871, arar=1.0225, anum=8.1737, bnum=3.9631,
)  # fmt: skip
