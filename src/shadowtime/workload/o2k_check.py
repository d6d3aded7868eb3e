"""What a drawn O2K month looks like beside the paper's tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shadowtime.workload.o2k_draw import PEAKS, bin_of, class_of
from shadowtime.workload.o2k_tables import CLASSES, KB_PER_GB, MEMORY_GB, SHARED_PROCS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.types import AnyArray
    from shadowtime.workload.o2k_tables import Month
    from shadowtime.workload.workload import Workload


@dataclass(frozen=True, kw_only=True)
class O2kCheck:
    """Figures of one month's jobs; demands in percent of the month's processor-hours."""

    month: str
    jobs: tuple[int, ...]
    """By class, as in Table 4."""
    demand: tuple[float, ...]
    """By class, as in Table 4."""
    demand_total: float
    memory_demand: float
    """Percent of the memory-hours; the paper says at least a fifth below the processors'."""
    large: float
    """Table 8: demand of the jobs above 64 processors."""
    up_to: tuple[float, float, float]
    """Table 8: demand of the others that ask for up to 5, 20 and 50 hours."""
    power_of_two: float
    """Share of the jobs; the paper says 0.80 to 0.85."""
    peaks: Mapping[int, float]
    """Share of the jobs by requested time in seconds; about half ask for 5, 50, 200 or 400 h."""
    off: Mapping[str, float]
    """Relative deviation of each margin of the fit from the tables: what the fit left."""

    @property
    def worst(self) -> float:
        """The largest deviation of all margins."""
        return max(abs(value) for value in self.off.values())


def check_month(jobs: Workload, month: Month) -> O2kCheck:
    """Measure one month's jobs (only those submitted in it) against the tables."""
    run, procs = jobs.effective_run, jobs.procs
    kind, part = class_of(procs), bin_of(jobs.request)
    small = procs <= SHARED_PROCS

    def percent(mask: AnyArray) -> float:
        return 100 * float((procs * run)[mask].sum()) / month.capacity

    demand = tuple(percent(kind == place) for place in range(len(CLASSES)))
    bins = tuple(percent(small & (part == place)) for place in range(4))
    off = {
        f"P {low}-{high}": demand[i] / month.demand[i] - 1 for i, (low, high) in enumerate(CLASSES)
    }
    names = ("R <= 5h", "5h < R <= 20h", "20h < R <= 50h", "R > 50h")
    off |= {name: bins[i] / month.bins[i] - 1 for i, name in enumerate(names)}
    memory = jobs.demand[:, jobs.resources.index("memory")]
    return O2kCheck(
        month=month.name,
        jobs=tuple(int((kind == place).sum()) for place in range(len(CLASSES))),
        demand=demand,
        demand_total=sum(demand),
        memory_demand=100 * float((memory * run).sum()) / (MEMORY_GB * KB_PER_GB * month.seconds),
        large=demand[-1],
        up_to=(bins[0], bins[0] + bins[1], bins[0] + bins[1] + bins[2]),
        power_of_two=float(((procs & (procs - 1)) == 0).mean()),
        peaks={peak: float((jobs.request == peak).mean()) for peak in PEAKS},
        off=off,
    )
