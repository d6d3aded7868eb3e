"""The same jobs at other submission times."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from shadowtime.types import AnyArray, Ints
    from shadowtime.workload.workload import Workload


INSTANTS = ("cancel_at", "eligible", "deadline")
"""Further columns that are instants on the workload's clock, -1 where there is none."""


def resubmitted(
    workload: Workload, submit: Ints, *, run: Ints | None = None, recorded: bool = False
) -> Workload:
    """The jobs submitted at these times, in (submit, id) order.

    What depends on the submission moves with it: the moments at which a job may begin, became
    eligible or is cancelled in the queue keep their distance. Recorded starts move along with
    ``recorded`` (all jobs shifted equally); else they are dropped, as they belong to the old load.
    ``run`` are other run times, in the order of the given workload.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 5], run=[1, 1], procs=[1, 1], recorded_start=[2, 9])
    >>> late = resubmitted(w, w.submit + 100, recorded=True)
    >>> late.submit.tolist(), late.recorded_start.tolist()
    ([100, 105], [102, 109])
    """
    start, series = workload.recorded_start, workload.series
    if recorded:
        if series and len(submit):
            moved_by = int(submit[0] - workload.submit[0])
            series = {name: one.shifted(moved_by) for name, one in series.items()}
        start = np.where(start == UNKNOWN, UNKNOWN, start + (submit - workload.submit))
    else:
        start = np.full(len(workload), UNKNOWN, np.int64)
    extra: dict[str, AnyArray] = dict(workload.extra)
    for name in INSTANTS:
        if name in extra:
            at = extra[name]
            extra[name] = np.where(at == UNKNOWN, UNKNOWN, at + (submit - workload.submit))
    requests = workload.requests
    if requests is not None:
        by = submit - workload.submit
        requests = replace(
            requests,
            begin=np.where(requests.begin < 0, requests.begin, np.maximum(requests.begin + by, 0)),
            cancel_at=np.where(
                requests.cancel_at < 0,
                requests.cancel_at,
                np.maximum(requests.cancel_at + by, 0),
            ),
        )
    return workload.replace(
        submit=submit,
        run=workload.run if run is None else run,
        recorded_start=start,
        extra=extra,
        requests=requests,
        series=series,
    ).sorted()


def from_zero(workload: Workload) -> Workload:
    """The same workload with its first submission at 0.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> from_zero(Workload.build(submit=[7, 9], run=[1, 1], procs=[1, 1])).submit.tolist()
    [0, 2]
    """
    if len(workload) == 0:
        return workload
    return resubmitted(workload, workload.submit - workload.submit[0], recorded=True)
