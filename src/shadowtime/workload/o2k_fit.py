"""Run times of an O2K month, fitted to the demands of the paper's Tables 4 and 8."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.workload.o2k_draw import bin_of, class_of
from shadowtime.workload.o2k_tables import CLASSES

if TYPE_CHECKING:
    from shadowtime.types import AnyArray, Floats, Ints
    from shadowtime.workload.o2k_tables import Month

HITS_LIMIT = 0.1
"""Share of the jobs that run to their limit."""
USE = (0.6, 1.4)
"""The others use a Beta-distributed part of what they asked for."""
ROUNDS = 2000
CLOSE = 1e-6
LARGE = len(CLASSES) - 1


def draw_runs(month: Month, procs: Ints, request: Ints, rng: np.random.Generator) -> Ints:
    """Actual run times in seconds, at most the request, that use what the month used."""
    used = np.where(rng.random(len(procs)) < HITS_LIMIT, 1.0, rng.beta(*USE, len(procs)))
    run = np.maximum(1.0, request * used)
    kind, part = class_of(procs), bin_of(request)
    part = np.where(kind == LARGE, 0, part)  # Table 8 does not divide the large jobs
    cell = kind * 4 + part
    area, bound = _sums(cell, procs * run), _sums(cell, procs * request)
    rows = np.array(month.demand) / 100 * month.capacity
    columns = np.array(month.bins) / 100 * month.capacity
    wanted = np.zeros_like(area)
    wanted[:LARGE] = fitted_areas(area[:LARGE], bound[:LARGE], rows[:LARGE], columns)
    wanted[LARGE, 0] = min(rows[LARGE], bound[LARGE, 0])
    for place in np.unique(cell):
        mine = cell == place
        run[mine] = _to_area(procs[mine], request[mine], run[mine], wanted.flat[place])
    return np.clip(np.floor(run + 0.5), 1, request).astype(np.int64)


def _sums(cell: Ints, weight: AnyArray) -> Floats:
    """The weights by class and bin."""
    return np.bincount(cell, weight, 4 * len(CLASSES)).astype(np.float64).reshape(-1, 4)


def fitted_areas(area: Floats, bound: Floats, rows: Floats, columns: Floats) -> Floats:
    """Proportional fitting of a table to its margins, no cell above its bound.

    Rows and columns are scaled in turn; a cell that would pass its bound stays there and the
    others make up for it. Where the bounds leave no solution the margins are met as far as they go.

    Examples
    --------
    >>> one, much = np.ones((2, 2)), np.full((2, 2), 9.0)
    >>> fitted_areas(one, much, np.array([2.0, 4.0]), np.array([3.0, 3.0])).tolist()
    [[1.0, 1.0], [2.0, 2.0]]

    References
    ----------
    W. E. Deming and F. F. Stephan, On a least squares adjustment of a sampled frequency table,
    Annals of Mathematical Statistics 11(4), 1940.
    """
    table = area.copy()
    for _ in range(ROUNDS):
        for i, total in enumerate(rows):
            table[i] = _scaled(table[i], bound[i], total)
        for j, total in enumerate(columns):
            table[:, j] = _scaled(table[:, j], bound[:, j], total)
        if np.allclose(table.sum(axis=1), rows, rtol=CLOSE, atol=0):
            break
    return table


def _scaled(values: Floats, bound: Floats, total: float) -> Floats:
    """Values in proportion with this sum, cut at the bounds (all there if they hold less)."""
    full = np.zeros(len(values), bool)
    while True:
        left = total - bound[full].sum()
        factor = left / values[~full].sum() if values[~full].sum() > 0 else 0.0
        over = ~full & (values * factor > bound)
        if not over.any():
            return np.where(full, bound, values * factor)
        full |= over


def _to_area(procs: Ints, request: Ints, run: Floats, wanted: float) -> Floats:
    """The run times of one cell changed so that processors x run sum to the wanted area.

    Less: all by one factor. More: each request's used share u becomes u**a, 0 <= a <= 1, which
    lengthens all and none beyond its request.
    """
    now = float((procs * run).sum())
    if wanted <= now:
        return run * (wanted / now)
    low, high = 0.0, 1.0
    for _ in range(60):
        a = (low + high) / 2
        if float((procs * request * (run / request) ** a).sum()) < wanted:
            high = a
        else:
            low = a
    longer: Floats = request * (run / request) ** low
    return longer
