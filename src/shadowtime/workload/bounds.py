"""Series that bound an amount counted over the whole machine: a power cap that changes by the hour.

A series named like such an amount is its bound: ``--series power=cap.csv`` caps the watts of
running jobs, ``--series license/matlab=seats.csv`` what they hold of a licence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.amounts import is_amount
from shadowtime.errors import InputError
from shadowtime.workload.workload import Workload

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site
    from shadowtime.workload.series import Series

ROUNDS_AHEAD = 400
"""How often a series with a period is repeated after the last submission, at least."""
MOST_STEPS = 2_000_000


def bounded_amounts(workload: Workload) -> list[str]:
    """The amounts that a series of the workload bounds."""
    return [name for name in workload.series if is_amount(name)]


def bounds_of(workload: Workload, fixed: Mapping[str, int]) -> dict[str, Series]:
    """The bound of each amount that has a series, as whole numbers at instants, without a period.

    Rules
    -----
    Where the machine has a fixed bound too, the lower one holds. Steps with a period are repeated
    after the last submission for four times the span of the submissions or the longest request, and
    400 times at least; after that nothing is left, so that no job is planned without end.

    Examples
    --------
    >>> import numpy as np
    >>> from shadowtime.workload import Workload
    >>> from shadowtime.workload.series import Series
    >>> cap = Series(name="power", time=np.array([0, 60]), value=np.array([900.5, 300]))
    >>> jobs = Workload.build(submit=[0], run=[9], procs=[1]).replace(series={"power": cap})
    >>> bounds_of(jobs, {"power": 500})["power"].value.tolist()
    [500.0, 300.0]
    """
    found = {}
    for name in bounded_amounts(workload):
        series = workload.series[name]
        if bool((series.value < 0).any()):
            raise InputError(
                f"the series {name} bounds what is in use, and has a value below 0: "
                "correct it, or give the series another name"
            )
        value = np.minimum(np.floor(series.value), fixed.get(name, np.inf))
        made = replace(series, value=value)
        found[name] = _repeated(made, workload) if series.period else made
    return found


def with_bounds(site: Site, workload: Workload) -> Site:
    """The site with the highest value of each series as the bound of its amount."""
    bounds = bounds_of(workload, site.amounts)
    if not bounds:
        return site
    highest = {name: int(series.value.max()) for name, series in bounds.items()}
    return site.replace(amounts={**site.amounts, **highest})


def _repeated(series: Series, workload: Workload) -> Series:
    """A series with a period as steps from the first submission on; after them 0."""
    time, value = series.steps()
    moves = np.append(True, value[1:] != value[:-1])
    time, value = time[moves], value[moves]
    first, last = int(workload.submit.min(initial=0)), int(workload.submit.max(initial=0))
    longest = int(workload.request.max(initial=0))
    end = last + max(4 * (last - first), 4 * longest, ROUNDS_AHEAD * series.period)
    rounds = np.arange(first // series.period, end // series.period + 1)
    if len(rounds) * len(time) > MOST_STEPS:
        raise InputError(
            f"the series {series.name} repeats every {series.period} s, too often for a log of "
            f"{last - first} s: give it as steps without a period"
        )
    at = (rounds[:, None] * series.period + time[None, :]).ravel()
    behind = (rounds[-1] + 1) * series.period
    return replace(
        series,
        time=np.append(at, behind),
        value=np.append(np.tile(value, len(rounds)), 0.0),
        period=0,
    )
