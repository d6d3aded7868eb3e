"""Several resources: how much of each is in use over time, and how evenly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.metrics.resources import counted, shares_over_time
from shadowtime.report.levels import Level
from shadowtime.report.numbers import number
from shadowtime.report.page.markup import mark, section
from shadowtime.report.page.over_time import (
    BINS,
    Line,
    TimeAxis,
    over_time,
    resource_mark,
    stretches,
)

if TYPE_CHECKING:
    from shadowtime.metrics.resources import Shares
    from shadowtime.report.inputs import ReportInput
    from shadowtime.types import Floats

PER_CENT = tuple((k / 4, f"{25 * k} %") for k in range(5))


def resources(report: ReportInput, numbers: str) -> str:
    """A drawing per policy, their imbalance in one, and the ``numbers`` of the group.

    Nothing where one resource counts.
    """
    names = counted(report.workload, report.cluster)
    if len(names) < 2 or len(report.workload) == 0:
        return ""
    edges = stretches(int(report.workload.submit[0]), int(report.workload.submit[-1]))
    axis = TimeAxis.of(report.workload, edges)
    shares = {
        run.name: shares_over_time(run.schedule, report.workload, report.cluster)
        for run in report.runs
    }
    drawings = "".join(
        over_time(
            [
                Line(one, resource_mark(k), Level(found.at, found.share[:, k]).means(edges))
                for k, one in enumerate(names)
            ],
            title=f"Resources in use under {name}",
            name="shares",
            caption=name,
            axis=axis,
            ticks=PER_CENT,
        )
        for name, found in shares.items()
    )
    uneven = over_time(
        [
            Line(name, mark(i), _imbalance(found, edges))
            for i, (name, found) in enumerate(shares.items())
        ],
        title="Imbalance over time",
        name="imbalance",
        caption="Imbalance: the fullest resource over the average of all",
        axis=axis,
        ticks=tuple((1 + (len(names) - 1) * k / 4, _step(len(names), k)) for k in range(5)),
    )
    lead = (
        "Part of each resource in use from the first to the last submission, averaged over "
        f"{BINS} stretches of time. A resource is stranded while the first waiting job finds "
        "enough of it but not of another. Imbalance is 1 if all resources are used alike, and "
        f"{len(names)} if only one is used."
    )
    body = f'<div class="pair">{drawings}{uneven}</div>{numbers}'
    return section("resources", "Resources", body, lead=lead)


def _step(count: int, k: int) -> str:
    return number(1 + (count - 1) * k / 4)


def _imbalance(shares: Shares, edges: Floats) -> Floats:
    """Its mean in each stretch while anything is in use, nan where nothing is."""
    value = shares.imbalance
    used = ~np.isnan(value)
    total = Level(shares.at, np.where(used, value, 0.0)).means(edges)
    part = Level(shares.at, used.astype(np.float64)).means(edges)
    mean: Floats = np.divide(total, part, out=np.full(len(part), np.nan), where=part > 1e-9)
    return mean
