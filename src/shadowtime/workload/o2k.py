"""The NCSA O2K workload, rebuilt from the class-partitioning paper's own tables.

The trace was never published. What is: how many jobs of each size a month held, how much they used,
how much of that by requested time, where the requests peak. A month drawn here has those figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.types import AnyArray
from shadowtime.workload.o2k_draw import (
    CLASSES,
    DAY,
    KB_PER_GB,
    MEMORY_GB,
    MONTHS,
    PEAKS,
    PROCS,
    SHARED_GB,
    SHARED_PROCS,
    Month,
    bin_of,
    class_of,
    draw_arrivals,
    draw_memory,
    draw_requests,
    draw_runs,
    draw_sizes,
)
from shadowtime.workload.scale import resubmitted
from shadowtime.workload.seeds import Seed, generator
from shadowtime.workload.slicing import time_window
from shadowtime.workload.workload import Workload

__all__ = ["MONTHS", "O2kCheck", "O2kWorkload", "o2k_month", "o2k_workload"]

MARGIN_DAYS = 7


@dataclass(frozen=True, kw_only=True)
class O2kWorkload:
    """A month between the ends of its neighbours: simulate all of it, score the window."""

    workload: Workload
    window: tuple[int, int]
    """Submissions from the first to before the second second are the month's."""
    check: O2kCheck
    """The month's own jobs beside the paper's tables."""


def o2k_workload(month: str, *, seed: Seed, margin_days: int = MARGIN_DAYS) -> O2kWorkload:
    """One month, with the last days of the month before and the first of the month after.

    Rules
    -----
    The neighbours are draws of their own; December's first and March's last neighbour are a
    second draw of themselves. Time 0 is ``margin_days`` before the month. An empty machine at the
    start would hide the large jobs' waits. Seeds differ much (tens of hours in the mean wait of
    large jobs): compare policies pairwise over ten seeds at least.

    Examples
    --------
    >>> o2k = o2k_workload("2003-01", seed=1)
    >>> o2k.window, o2k.workload.resources, round(o2k.check.demand_total)
    ((604800, 3283200), ('procs', 'memory'), 92)

    References
    ----------
    S.-H. Chiang and M. K. Vernon, Class-partitioning job scheduling for large-scale parallel
    systems, section 2.2 and Tables 2 to 4 and 8.
    """
    names = list(MONTHS)
    at = names.index(_known(month).name)
    around = (names[max(at - 1, 0)], names[at], names[min(at + 1, len(names) - 1)])
    before, this, after = (MONTHS[name] for name in around)
    if not 0 <= margin_days * DAY <= min(before.seconds, after.seconds):
        raise UsageError(f"{margin_days} days around the month; give 0 to 28")
    draws = [
        o2k_month(name, seed=rng)
        for name, rng in zip(around, generator(seed).spawn(3), strict=True)
    ]
    margin = margin_days * DAY
    tail = time_window(draws[0], before.seconds - margin, before.seconds)
    parts = (
        _shifted(tail, margin - before.seconds),
        _shifted(draws[1], margin),
        _shifted(time_window(draws[2], 0, margin), margin + this.seconds),
    )
    return O2kWorkload(
        workload=_chained(parts, name=f"o2k-{month}"),
        window=(margin, margin + this.seconds),
        check=check_month(draws[1], this),
    )


def o2k_month(month: str, *, seed: Seed) -> Workload:
    """The jobs of one month, submitted from 0 on.

    Requests are limits. Resources are processors and memory in KB (1 GB = 1000 MB);
    ``extra["dedicated"]`` is 1 for the jobs that take a host of their own (above 64 processors
    or 25 GB).

    Examples
    --------
    >>> w = o2k_month("2002-12", seed=1)
    >>> len(w), int(w.extra["dedicated"].sum())
    (7897, 56)
    """
    this = _known(month)
    # Streams by month: January and February of one seed share nothing.
    rngs = generator(seed).spawn(len(MONTHS))[list(MONTHS).index(month)].spawn(5)
    procs = draw_sizes(this, rngs[0])
    submit = draw_arrivals(this, len(procs), rngs[1])
    request = draw_requests(this, procs, submit, rngs[2])
    run = draw_runs(this, procs, request, rngs[3])
    memory = draw_memory(procs, rngs[4])
    dedicated = (procs > SHARED_PROCS) | (memory > SHARED_GB * KB_PER_GB)
    order = np.argsort(submit, kind="stable")
    return Workload.build(
        name=f"o2k-{month}",
        submit=submit[order],
        run=run[order],
        procs=procs[order],
        request=request[order],
        demand={"memory": memory[order]},
        extra={"dedicated": dedicated[order].astype(np.int64)},
        machine={"procs": PROCS, "memory": MEMORY_GB * KB_PER_GB},
    )


def _known(month: str) -> Month:
    if month not in MONTHS:
        raise UsageError(f"the paper has no month {month!r}; it has {', '.join(MONTHS)}")
    return MONTHS[month]


def _shifted(jobs: Workload, seconds: int) -> Workload:
    return resubmitted(jobs, jobs.submit + seconds)


def _chained(parts: tuple[Workload, ...], *, name: str) -> Workload:
    """One workload of parts that follow each other, numbered through."""
    columns = ("submit", "run", "procs", "request")
    joined = {column: np.concatenate([getattr(p, column) for p in parts]) for column in columns}
    memory = np.concatenate([part.demand[:, 1] for part in parts])
    dedicated = np.concatenate([part.extra["dedicated"] for part in parts])
    return Workload.build(
        name=name,
        demand={"memory": memory},
        extra={"dedicated": dedicated},
        machine=parts[0].machine,
        **joined,
    )


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
