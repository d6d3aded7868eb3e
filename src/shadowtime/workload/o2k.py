"""The NCSA O2K workload, rebuilt from the class-partitioning paper's own tables.

The trace was never published. What is: how many jobs of each size a month held, how much they used,
how much of that by requested time, where the requests peak. A month drawn here has those figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.workload.moved import resubmitted
from shadowtime.workload.o2k_check import O2kCheck, check_month
from shadowtime.workload.o2k_draw import (
    draw_arrivals,
    draw_memory,
    draw_requests,
    draw_runs,
    draw_sizes,
)
from shadowtime.workload.o2k_tables import (
    DAY,
    KB_PER_GB,
    MEMORY_GB,
    MONTHS,
    PROCS,
    SHARED_GB,
    SHARED_PROCS,
)
from shadowtime.workload.seeds import generator
from shadowtime.workload.slicing import time_window
from shadowtime.workload.workload import Workload

if TYPE_CHECKING:
    from shadowtime.workload.o2k_tables import Month
    from shadowtime.workload.seeds import Seed

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
