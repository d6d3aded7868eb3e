"""How much load a study puts on the machine: the log's own, or the same jobs arriving faster."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from shadowtime.errors import UsageError
from shadowtime.workload.scale import scale_load, to_load

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.workload import Workload

Kind = Literal["relative", "offered"]


@dataclass(frozen=True)
class Load:
    """A load to study: ``relative`` to the log's own (1 is the unmodified log), or ``offered``.

    Examples
    --------
    >>> Load.parse("1.2"), Load.parse("offered=0.9")
    (Load(value=1.2, kind='relative'), Load(value=0.9, kind='offered'))
    >>> str(Load.parse("1")), str(Load.parse("1.2")), str(Load.parse("offered=0.9"))
    ('as recorded', '1.2 x', 'offered=0.9')
    """

    value: float = 1.0
    kind: Kind = "relative"

    @staticmethod
    def parse(text: str) -> Load:
        """``1.2``: jobs arrive 1.2 times as fast; ``offered=0.9``: so that they offer 0.9."""
        name, equals, number = text.strip().rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if (equals and name.strip() != "offered") or not (math.isfinite(value) and value > 0):
            raise UsageError(
                f"the load {text!r} is neither a factor (1.2: jobs arrive 1.2 times as fast) "
                "nor an offered load (offered=0.9)"
            )
        return Load(value, "offered" if equals else "relative")

    def apply(self, workload: Workload, cluster: Cluster) -> Workload:
        """The workload at this load; the same object if nothing changes."""
        if self.kind == "offered":
            return to_load(workload, cluster.procs, self.value)
        return workload if self.value == 1 else scale_load(workload, self.value)

    def __str__(self) -> str:
        if self.kind == "offered":
            return f"offered={self.value:g}"
        return "as recorded" if self.value == 1 else f"{self.value:g} x"


AS_RECORDED = Load()
