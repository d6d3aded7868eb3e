"""Workloads by the Lublin-Feitelson model (after m_lublin99.c; spec: algorithms 7.1 to 7.4)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Any, Literal

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.types import MAX_SPAN, UNKNOWN, Ints
from shadowtime.workload.seeds import Seed, generator
from shadowtime.workload.workload import Workload


@dataclass(frozen=True, kw_only=True)
class LublinModel:
    """One type of jobs: how wide, how long and when.

    ``u_high`` is log2 of the widest job; ``replace`` makes variants, ``for_machine`` fits a size.

    Examples
    --------
    >>> TYPELESS.for_machine(1024).u_high, TYPELESS.replace(serial=0.0).serial
    (10.0, 0.0)

    References
    ----------
    U. Lublin and D. G. Feitelson, The workload on parallel supercomputers: modeling the
    characteristics of rigid jobs, JPDC 63(11), 2003.
    """

    name: str
    serial: float
    """Share of one-processor jobs."""
    pow2: float
    """Share of the other jobs that are rounded to a power of two."""
    u_low: float
    u_med: float
    u_high: float
    u_prob: float
    """log2 of the size: uniform on (u_low, u_med) with probability u_prob, else (u_med, u_high)."""
    a1: float
    b1: float
    a2: float
    b2: float
    """ln of the run time: Gamma(a1, b1) or Gamma(a2, b2), shape and scale."""
    pa: float
    pb: float
    """The first gamma's probability is pa * size + pb, cut to [0, 1]."""
    aarr: float
    barr: float
    arar: float
    """ln of the inter-arrival time at the busy hours: Gamma(aarr * arar, barr)."""
    anum: float
    bnum: float
    """Half-hours of the day, from the eleventh on: Gamma(anum, bnum)."""

    def __post_init__(self) -> None:
        for field in ("serial", "pow2", "u_prob"):
            if not 0 <= getattr(self, field) <= 1:
                raise UsageError(
                    f"{field} is {getattr(self, field)}; a probability lies between 0 and 1"
                )
        if not 0 <= self.u_low <= self.u_med <= self.u_high:
            raise UsageError(
                f"u_low, u_med, u_high are {self.u_low}, {self.u_med}, {self.u_high}; "
                "they must rise from 0 or more"
            )
        for field in ("a1", "b1", "a2", "b2", "aarr", "barr", "arar", "anum", "bnum"):
            if not getattr(self, field) > 0:
                raise UsageError(f"{field} is {getattr(self, field)}; it must be above 0")

    @property
    def widest(self) -> int:
        """The widest job the model can draw."""
        exact, rounded = math.exp2(self.u_high), math.exp2(math.floor(self.u_high + 0.5))
        return math.floor(max(exact, rounded) + 0.5)

    def replace(self, **changes: Any) -> LublinModel:
        """A variant of this model."""
        return replace(self, **changes)

    def for_machine(self, procs: int) -> LublinModel:
        """The model for a machine of this many processors: u_high = log2, u_med = u_high - 2.5.

        Interactive jobs stay as narrow as they are (45 processors) unless the machine is smaller.
        """
        if procs < 1:
            raise UsageError(f"a machine of {procs} processors runs nothing; give at least 1")
        high = math.log2(procs)
        if self.name == INTERACTIVE.name and high >= self.u_high:
            return self
        med = max(high - 2.5, 0.0)
        return self.replace(u_high=high, u_med=med, u_low=min(self.u_low, med))


BATCH = LublinModel(
    name="batch", serial=0.2927, pow2=0.6686, u_low=1.2, u_med=5.0, u_high=7.0, u_prob=0.875,
    a1=6.57, b1=0.823, a2=639.1, b2=0.0156, pa=-0.003, pb=0.6986,
    aarr=6.0415, barr=0.8531, arar=1.0519, anum=6.1271, bnum=5.2740,
)  # fmt: skip

INTERACTIVE = LublinModel(
    name="interactive", serial=0.1541, pow2=0.625, u_low=1.0, u_med=3.0, u_high=5.5, u_prob=0.705,
    a1=3.8351, b1=0.6605, a2=7.073, b2=0.6856, pa=-0.0118, pb=0.9156,
    aarr=6.5510, barr=0.6621, arar=0.9797, anum=8.9186, bnum=3.6680,
)  # fmt: skip

TYPELESS = LublinModel(
    name="typeless", serial=0.244, pow2=0.576, u_low=0.8, u_med=4.5, u_high=7.0, u_prob=0.86,
    a1=4.2, b1=0.94, a2=312.0, b2=0.03, pa=-0.0054, pb=0.78,
    aarr=10.2303, barr=0.4871, arar=1.0225, anum=8.1737, bnum=3.9631,
)  # fmt: skip


TINY = 1e-300
"""Stands in for a zero denominator (Lentz's method)."""

MAX_TERMS = 10_000
ACCURACY = 1e-15


def gamma_cdf(x: float, shape: float, scale: float) -> float:
    """P(X <= x) for a gamma variable of this shape and scale.

    The regularised lower incomplete gamma function P(shape, x / scale): its power series below
    shape + 1, one minus Lentz's continued fraction above, where each of them converges fast.

    Examples
    --------
    >>> round(gamma_cdf(2.0, 1.0, 1.0), 6)  # an exponential: 1 - e**-2
    0.864665

    References
    ----------
    Abramowitz and Stegun, Handbook of Mathematical Functions, 6.5.29 and 6.5.31.
    """
    if x <= 0:
        return 0.0
    z = x / scale
    front = math.exp(shape * math.log(z) - z - math.lgamma(shape))
    if z < shape + 1:
        return front * _series(z, shape)
    return 1.0 - front * _fraction(z, shape)


def _series(z: float, shape: float) -> float:
    term = total = 1.0 / shape
    for n in range(1, MAX_TERMS):
        term *= z / (shape + n)
        total += term
        if term < total * ACCURACY:
            break
    return total


def _fraction(z: float, shape: float) -> float:
    b = z + 1 - shape
    c = 1 / TINY
    d = 1 / b
    value = d
    for n in range(1, MAX_TERMS):
        a = -n * (n - shape)
        b += 2
        d = 1 / (a * d + b or TINY)
        c = b + a / c or TINY
        step = c * d
        value *= step
        if abs(step - 1) < ACCURACY:
            break
    return value


BUCKET = 1800
BUCKETS = 48
DAY_START = 11
"""The day's gamma curve starts at this half-hour."""
LONGEST_GAP = 13.0
"""A gap's logarithm above this is drawn again: e**13 s are five days."""
BLOCK = 4096
"""Gaps drawn at a time; one size always, so that a longer workload begins like a shorter one."""


@cache
def day_weights(anum: float, bnum: float) -> tuple[float, ...]:
    """The weight of each half-hour from midnight, with mean 1.

    Examples
    --------
    >>> weights = day_weights(6.1271, 5.2740)
    >>> len(weights), round(sum(weights), 9), weights.index(max(weights)) / 2
    (48, 48.0, 13.0)
    """
    weights = [0.0] * BUCKETS
    for i in range(DAY_START, DAY_START + BUCKETS):
        mass = gamma_cdf(i + 0.5, anum, bnum) - gamma_cdf(i - 0.5, anum, bnum)
        weights[(i - 1) % BUCKETS] = mass
    mean = sum(weights) / BUCKETS
    return tuple(weight / mean for weight in weights)


def gaps(model: LublinModel, rng: np.random.Generator) -> Iterator[float]:
    """Gaps between arrivals at mean weight, in buckets, without end."""
    while True:
        logs = rng.gamma(model.aarr * model.arar, model.barr, BLOCK)
        yield from (np.exp(logs[logs <= LONGEST_GAP]) / BUCKET).tolist()


def clocks(points: Iterable[float], weights: tuple[float, ...]) -> Iterator[int]:
    """Arrival times in whole seconds from midnight for these gaps.

    A gap is paid out bucket by bucket at the bucket's weight. The clock is a whole number and the
    sum is cut at every arrival: the model loses half a second a job against its own day, so the
    daily cycle drifts by hours over tens of thousands of jobs. That is the published behaviour.

    Examples
    --------
    >>> list(clocks([0.5, 0.25, 1.0], (1.0,) * 48))
    [900, 1350, 3150]
    """
    left = remainder = 0.0
    bucket = clock = 0
    for gap in points:
        left += gap
        step = 0
        while left > weights[bucket]:
            left -= weights[bucket]
            bucket = (bucket + 1) % BUCKETS
            step += BUCKET
        new = left / weights[bucket]
        clock = math.floor(clock + (step + BUCKET * (new - remainder)))
        remainder = new
        yield clock


def arrivals(model: LublinModel, rng: np.random.Generator) -> Iterator[int]:
    """Arrival times of one type of jobs, without end."""
    return clocks(gaps(model, rng), day_weights(model.anum, model.bnum))


__all__ = ["BATCH", "INTERACTIVE", "KINDS", "TYPELESS", "LublinModel", "lublin_workload"]

Kind = Literal["typeless", "typed", "batch", "interactive"]

KINDS: Mapping[str, tuple[LublinModel, ...]] = {
    "typeless": (TYPELESS,),
    "typed": (BATCH, INTERACTIVE),
    "batch": (BATCH,),
    "interactive": (INTERACTIVE,),
}

QUEUES: Mapping[str, int] = {"interactive": 0, "batch": 1}
"""SWF's convention: queue 0 is the interactive one."""

LONGEST_RUN = 12.0
"""A run time's logarithm above this is drawn again: e**12 s are 45 hours."""


def lublin_workload(
    jobs: int,
    *,
    seed: Seed,
    kind: Kind | tuple[LublinModel, ...] = "typeless",
    procs: int | None = None,
    overrides: Mapping[str, float] | None = None,
) -> Workload:
    """Draw a workload of this many jobs.

    Rules
    -----
    ``kind`` is one process of arrivals (typeless, batch, interactive) or typed: batch and
    interactive jobs side by side, as in the published model; or models of your own. ``procs`` fits
    the sizes to a machine (``LublinModel.for_machine``) and cuts the few that rounding to a power
    of two makes wider than it (counted in ``cleaning`` as ``wider_than_machine``). ``overrides``
    changes parameters by name (``u_high`` ...) in every type, last of all.
    The request is the run time: estimates are another model's affair (``tsafrir_estimates``).
    A longer workload from the same seed begins with the shorter one.

    Examples
    --------
    >>> w = lublin_workload(1000, seed=1, procs=64)
    >>> len(w), int(w.procs.max()), bool((w.run >= 1).all())
    (1000, 64, True)
    >>> mixed = lublin_workload(1000, seed=1, kind="typed")
    >>> sorted(set(mixed.queue.tolist()))  # 0 interactive, 1 batch
    [0, 1]

    References
    ----------
    U. Lublin and D. G. Feitelson, The workload on parallel supercomputers, JPDC 63(11), 2003.
    """
    if jobs < 0:
        raise UsageError(f"{jobs} jobs were asked for; give a number from 0")
    if isinstance(kind, str) and kind not in KINDS:
        raise UsageError(f"there is no kind {kind!r}; choose one of {', '.join(KINDS)}")
    models = KINDS[kind] if isinstance(kind, str) else kind
    if procs is not None:
        models = tuple(model.for_machine(procs) for model in models)
    models = tuple(_changed(model, overrides or {}) for model in models)
    which, submit = _merged_arrivals(models, jobs, rng := generator(seed))
    size, run = np.ones(jobs, np.int64), np.ones(jobs, np.int64)
    for index, (model, child) in enumerate(zip(models, rng.spawn(len(models)), strict=True)):
        mine = which == index
        size[mine], run[mine] = _draw_jobs(model, int(mine.sum()), child)
    widest = max(model.widest for model in models) if procs is None else procs
    too_wide = int((size > widest).sum())
    queues = np.array([QUEUES.get(model.name, UNKNOWN) for model in models], np.int64)
    return Workload.build(
        name=f"lublin-{kind if isinstance(kind, str) else '+'.join(m.name for m in models)}",
        submit=submit,
        run=run,
        procs=np.minimum(size, widest),
        queue=queues[which],
        cleaning={"wider_than_machine": too_wide} if too_wide else {},
        machine={"procs": widest},
    )


def _changed(model: LublinModel, overrides: Mapping[str, float]) -> LublinModel:
    unknown = set(overrides) - set(LublinModel.__dataclass_fields__)
    if unknown:
        known = ", ".join(sorted(set(LublinModel.__dataclass_fields__) - {"name"}))
        raise UsageError(f"the model has no parameter {min(unknown)}; it has {known}")
    return model.replace(**overrides)


def _merged_arrivals(
    models: tuple[LublinModel, ...], jobs: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Type and time of the first arrivals: the smaller clock first, the later type on a tie."""
    streams = [arrivals(*pair) for pair in zip(models, rng.spawn(len(models)), strict=True)]
    if len(streams) == 1:
        only = np.fromiter(islice(streams[0], jobs), np.int64, jobs)
        return np.zeros(jobs, np.int64), only
    which, submit = np.empty(jobs, np.int64), np.empty(jobs, np.int64)
    pending = [next(stream) for stream in streams]
    for job in range(jobs):
        soonest = min(pending)
        index = max(i for i, clock in enumerate(pending) if clock == soonest)
        which[job], submit[job] = index, soonest
        pending[index] = next(streams[index])
    return which, submit


def _draw_jobs(model: LublinModel, jobs: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    size_rng, run_rng = rng.spawn(2)
    size = draw_sizes(model, jobs, size_rng)
    return size, draw_runs(model, size, run_rng)


def draw_sizes(model: LublinModel, jobs: int, rng: np.random.Generator) -> Ints:
    """Processors of this many jobs of one type."""
    kind, stage, place = rng.random((jobs, 3)).T
    low = stage <= model.u_prob
    start = np.where(low, model.u_low, model.u_med)
    end = np.where(low, model.u_med, model.u_high)
    log2 = start + place * (end - start)
    log2 = np.where(kind <= model.serial + model.pow2, np.floor(log2 + 0.5), log2)
    return np.where(kind <= model.serial, 1, np.floor(np.exp2(log2) + 0.5)).astype(np.int64)


def draw_runs(
    model: LublinModel,
    size: Ints,
    rng: np.random.Generator,
    *,
    within: tuple[int, int] = (0, MAX_SPAN),
) -> Ints:
    """Run times in seconds for jobs of these sizes; those not ``within`` are drawn again."""
    first = np.clip(model.pa * size + model.pb, 0.0, 1.0)
    run = np.empty(len(size), np.int64)
    todo = np.arange(len(size))
    while len(todo):
        # Each round has streams of its own: what is drawn again does not depend on later jobs.
        branch_rng, gamma_rng = rng.spawn(2)
        branch = branch_rng.random(len(todo)) <= first[todo]
        shape = np.where(branch, model.a1, model.a2)
        log = gamma_rng.gamma(shape, np.where(branch, model.b1, model.b2))
        run[todo] = np.floor(np.exp(np.minimum(log, LONGEST_RUN)))
        kept = (log <= LONGEST_RUN) & (run[todo] >= within[0]) & (run[todo] <= within[1])
        todo = todo[~kept]
    return run
