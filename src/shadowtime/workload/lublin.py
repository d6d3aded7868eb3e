"""Workloads by the Lublin-Feitelson model (after m_lublin99.c)."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Literal

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.types import MAX_SPAN, UNKNOWN
from shadowtime.workload.lublin_arrivals import arrivals
from shadowtime.workload.lublin_model import BATCH, INTERACTIVE, TYPELESS, LublinModel
from shadowtime.workload.seeds import generator
from shadowtime.workload.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.types import Ints
    from shadowtime.workload.seeds import Seed

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
