"""The rows of a schedule as a picture of pixels: what covers most of each, and how much of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shadowtime.report.rows import Rows
    from shadowtime.types import AnyArray, Ints


def raster(rows: Rows, kind: Ints, kinds: int, *, start: int, end: int, width: int) -> AnyArray:
    """Which kind covers most of a pixel (or -1), and how full it is, as two planes.

    A pixel is a row high and (end - start) / width wide. ``kind`` has an entry per run. A box is
    spread evenly over the columns it touches, which keeps its area.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.report.rows import lay_out
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 0], run=[5, 10], procs=[1, 1], recorded_start=[0, 0])
    >>> rows = lay_out(Schedule.recorded(w), Cluster.pool(2))
    >>> raster(rows, np.array([0, 1]), 2, start=0, end=10, width=2)[0].tolist()
    [[0.0, -1.0], [1.0, 1.0]]
    """
    per_pixel = max(end - start, 1) / width
    of = rows.owner
    left = (rows.runs.start[of] - start) / per_pixel
    right = (rows.runs.end[of] - start) / per_pixel
    first = np.clip(np.floor(left).astype(np.int64), 0, width - 1)
    last = np.clip(np.ceil(right).astype(np.int64), first + 1, width)
    share = (right - left) / (last - first)
    # corners of every box; two running sums fill them
    sums = np.zeros((kinds, rows.rows + 1, width + 1))
    low, high = rows.row, rows.row + rows.width
    for y, x, sign in ((low, first, 1), (low, last, -1), (high, first, -1), (high, last, 1)):
        np.add.at(sums, (kind[of], y, x), sign * share)
    covered = np.cumsum(np.cumsum(sums, axis=1), axis=2)[:, : rows.rows, :width]
    total = np.clip(covered.sum(axis=0), 0.0, 1.0)
    most = np.where(total > 1e-9, covered.argmax(axis=0), -1)
    return np.stack([most.astype(np.float64), total])
