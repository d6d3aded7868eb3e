"""The first draw of an O2K month: sizes, arrivals, requests, memory (spec: algorithms 3.6)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shadowtime.types import AnyArray, Floats, Ints
from shadowtime.workload.lublin import BATCH, BUCKET, BUCKETS, day_weights

HOUR = 3600
DAY = 24 * HOUR

PROCS = 1440
"""Table 2: eleven hosts of 128 processors and one of 32."""
MEMORY_GB = 600
KB_PER_GB = 1000 * 1024
"""1 GB is 1000 MB here, so that 600 GB are what the hosts hold in all; 1 MB is 1024 KB."""

HOSTS: tuple[tuple[int, int], ...] = (
    *[(128, 64 * KB_PER_GB)] * 3,
    *[(128, 50 * KB_PER_GB)] * 8,
    (32, 8 * KB_PER_GB),
)
"""Processors and KB of each host. How the 600 GB are spread is ours: the paper gives the sum, and
a dedicated job of 64 GB and shared ones of 25 GB must find a place."""

SHARED_PROCS, SHARED_GB = 64, 25
DEDICATED_GB = 64
MAX_REQUEST = 400 * HOUR
EARLY_LARGE_REQUEST = 50 * HOUR
"""Table 3: dedicated jobs asked for at most 50 hours before 19 December 2002, 400 hours later."""
EARLY_DAYS = 18

CLASSES: tuple[tuple[int, int], ...] = (
    (1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 32), (33, 64), (65, 128),
)  # fmt: skip
"""Table 4's ranges of requested processors."""

BIN_EDGES = (5 * HOUR, 20 * HOUR, 50 * HOUR)
"""Table 8's bounds on the requested run time, inclusive."""


@dataclass(frozen=True, kw_only=True)
class Month:
    """One month of the paper: demands in percent of all processor-hours."""

    name: str
    hours: int
    first_weekday: int
    """Of day 1; Monday is 0."""
    jobs: tuple[int, ...]
    """Table 4 by class. They do not sum to the printed total, which is not used."""
    demand: tuple[int, ...]
    """Table 4 by class: processors times actual run time."""
    up_to: tuple[int, int, int]
    """Table 8: demand of the jobs of at most 64 processors that ask for up to 5, 20, 50 hours."""
    early_days: int = 0
    """Days at the start on which large jobs may ask for 50 hours at most."""

    @property
    def seconds(self) -> int:
        return self.hours * HOUR

    @property
    def capacity(self) -> int:
        """Processor-seconds of the whole system in the month."""
        return PROCS * self.seconds

    @property
    def bins(self) -> tuple[int, int, int, int]:
        """Demand of the jobs of at most 64 processors by request: to 5 h, 20 h, 50 h, above."""
        a, b, c = self.up_to
        return (a, b - a, c - b, sum(self.demand[:-1]) - c)


MONTHS: Mapping[str, Month] = {
    "2002-12": Month(
        name="2002-12", hours=744, first_weekday=6, early_days=EARLY_DAYS,
        jobs=(3380, 294, 1189, 1138, 1059, 539, 242, 56),
        demand=(2, 2, 8, 15, 24, 7, 12, 12), up_to=(6, 8, 19),
    ),
    "2003-01": Month(
        name="2003-01", hours=744, first_weekday=2,
        jobs=(3167, 270, 1326, 869, 977, 333, 210, 183),
        demand=(2, 1, 8, 12, 25, 7, 15, 22), up_to=(4, 5, 15),
    ),
    "2003-02": Month(
        name="2003-02", hours=672, first_weekday=5,
        jobs=(3424, 300, 1957, 1245, 995, 517, 142, 146),
        demand=(2, 2, 8, 15, 16, 14, 10, 21), up_to=(5, 7, 15),
    ),
    "2003-03": Month(
        name="2003-03", hours=744, first_weekday=5,
        jobs=(2801, 300, 1484, 1331, 1174, 722, 452, 94),
        # Out of order in the text at hand: only the values, their sum and the last are sure.
        demand=(2, 2, 8, 14, 17, 5, 7, 18), up_to=(4, 6, 13),
    ),
}  # fmt: skip


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


TOP_SHARE, TOP_SHARE_LARGE = 0.70, 0.83
"""Share of a class that asks for its largest size; gives the paper's 80-85 % powers of two."""

PEAKS = (600, HOUR, 5 * HOUR, 50 * HOUR, 200 * HOUR, 400 * HOUR)
PEAK_WEIGHTS = (0.12, 0.10, 0.22, 0.14, 0.08, 0.06)
"""Half of the jobs ask for 5, 50, 200 or 400 h, many for 10 min or 1 h (Figure 1)."""
RANGES = ((60, 5 * HOUR), (5 * HOUR + 60, 50 * HOUR - 60), (50 * HOUR + 60, 400 * HOUR - 60))
RANGE_WEIGHTS = (0.24, 0.02, 0.02)
"""The rest is log-uniform here, in whole minutes: very few between 5 and 50 h (section 4)."""

MIDDLE = tuple(h * HOUR for h in (10, 12, 15, 20))
MIDDLE_SLACK = 2.0
MIDDLE_SHARE = 0.25
ROOM = 1.05
WEEKEND = 0.6
GB_PER_PROC = (0.1, 0.2, 0.4)


def draw_sizes(month: Month, rng: np.random.Generator) -> Ints:
    """Requested processors of the month's jobs, class by class."""
    drawn = []
    for (low, high), jobs in zip(CLASSES, month.jobs, strict=True):
        # All sizes but the top one (the bound is exclusive); serial jobs have no other.
        others = rng.integers(low, max(high, low + 1), jobs)
        share = TOP_SHARE_LARGE if high > SHARED_PROCS else TOP_SHARE
        drawn.append(np.where(rng.random(jobs) < share, high, others))
    return np.concatenate(drawn)


def draw_arrivals(month: Month, jobs: int, rng: np.random.Generator) -> Ints:
    """Independent submission times: Lublin's batch day, weekends at 0.6 of it."""
    days = month.hours // 24
    weekend = (month.first_weekday + np.arange(days)) % 7 >= 5
    day = np.where(weekend, WEEKEND, 1.0)
    weight = np.outer(day, day_weights(BATCH.anum, BATCH.bnum)).ravel()
    bucket = rng.choice(days * BUCKETS, jobs, p=weight / weight.sum())
    return bucket * BUCKET + rng.integers(0, BUCKET, jobs)


def draw_requests(month: Month, procs: Ints, submit: Ints, rng: np.random.Generator) -> Ints:
    """Requested times in seconds: peaks, a little between, room for the month's demand."""
    request = _first_requests(len(procs), rng)
    early = (procs > SHARED_PROCS) & (submit < month.early_days * DAY)
    while len(late := np.flatnonzero(early & (request > EARLY_LARGE_REQUEST))):
        request[late] = _first_requests(len(late), rng)
    request = _fill_middle(month, procs, request, rng)
    return _make_room(month, procs, request, early)


def draw_memory(procs: Ints, rng: np.random.Generator) -> Ints:
    """Requested memory in KB: 0.1, 0.2 or 0.4 GB per processor, up to the limit of the type."""
    limit = np.where(procs > SHARED_PROCS, DEDICATED_GB, SHARED_GB)
    amount = np.minimum(procs * rng.choice(GB_PER_PROC, len(procs)), limit)
    memory: Ints = np.floor(amount * KB_PER_GB + 0.5).astype(np.int64)
    return memory // procs * procs  # whole KB per processor, as SWF counts: no limit is passed


def class_of(procs: Ints) -> Ints:
    """The place of each size in ``CLASSES``."""
    return np.searchsorted([high for _, high in CLASSES], procs)


def bin_of(request: Ints) -> Ints:
    """The Table 8 bin of each request: to 5 h, 20 h, 50 h, above."""
    return np.searchsorted(BIN_EDGES, request)


def _first_requests(jobs: int, rng: np.random.Generator) -> Ints:
    which = rng.choice(len(PEAKS) + len(RANGES), jobs, p=PEAK_WEIGHTS + RANGE_WEIGHTS)
    low, high = np.array([(peak, peak) for peak in PEAKS] + list(RANGES), float)[which].T
    drawn = np.exp(np.log(low) + rng.random(jobs) * np.log(high / low))
    minutes: Ints = np.floor(drawn / 60 + 0.5).astype(np.int64)
    return minutes * 60


def _fill_middle(month: Month, procs: Ints, request: Ints, rng: np.random.Generator) -> Ints:
    """Give 5 h jobs 10 to 20 h, widest first, until that bin can hold twice its demand.

    No class puts more than a quarter of its own demand there.
    """
    request = request.copy()
    kind = class_of(procs)
    middle = (bin_of(request) == 1) & (procs <= SHARED_PROCS)
    held = np.bincount(kind[middle], (procs * request)[middle], minlength=len(CLASSES))
    wanted = MIDDLE_SLACK * month.bins[1] / 100 * month.capacity
    most = MIDDLE_SHARE * np.array(month.demand) / 100 * month.capacity
    takers = np.flatnonzero((request == 5 * HOUR) & (procs <= SHARED_PROCS))
    takers = takers[np.argsort(-procs[takers], kind="stable")]
    for job, new in zip(takers, rng.choice(MIDDLE, len(takers)), strict=True):
        if held.sum() >= wanted:
            break
        area = procs[job] * new
        if held[kind[job]] + area <= most[kind[job]]:
            request[job] = new
            held[kind[job]] += area
    return request


def _make_room(month: Month, procs: Ints, request: Ints, early: AnyArray) -> Ints:
    """A class must ask for more than it uses: its longest jobs move up to the next peak."""
    request = request.copy()
    kind = class_of(procs)
    for place, percent in enumerate(month.demand):
        mine = np.flatnonzero(kind == place)
        needed = math.ceil(ROOM * percent / 100 * month.capacity)
        while int((procs[mine] * request[mine]).sum()) < needed:
            top = np.where(early[mine], EARLY_LARGE_REQUEST, MAX_REQUEST)
            movable = mine[(request[mine] > BIN_EDGES[1]) & (request[mine] < top)]
            if len(movable) == 0:
                break
            longest = movable[np.argmax(request[movable])]
            request[longest] = next(peak for peak in PEAKS if peak > request[longest])
    return request
