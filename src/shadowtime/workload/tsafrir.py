"""Runtime estimates as users give them (after m_tsafrir05)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.types import MAX_SPAN
from shadowtime.workload.seeds import generator
from shadowtime.workload.tsafrir_histogram import draw_histogram

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.types import Ints
    from shadowtime.workload.seeds import Seed
    from shadowtime.workload.workload import Workload


def tsafrir_estimates(
    workload: Workload,
    *,
    max_estimate: int,
    seed: Seed,
    given: Mapping[int, int] | None = None,
) -> Workload:
    """The same jobs with modelled estimates: few, round, far too long, the maximum most of all.

    Rules
    -----
    Request and limit become the estimate; no estimate is below its run time. Runs above
    ``max_estimate`` are cut to it (counted in ``cleaning`` as ``run_above_max_estimate``).
    ``given`` is optional: jobs by estimate where a site knows its popular ones (at most 20).

    Examples
    --------
    >>> from shadowtime.workload.lublin import lublin_workload
    >>> jobs = lublin_workload(500, seed=1)
    >>> w = tsafrir_estimates(jobs, max_estimate=50 * 3600, seed=1)
    >>> bool((w.request >= w.run).all()), int((w.request == 50 * 3600).sum())
    (True, 108)

    References
    ----------
    D. Tsafrir, Y. Etsion and D. G. Feitelson, Modeling user runtime estimates, JSSPP 2005.
    """
    if max_estimate > MAX_SPAN:
        raise UsageError(f"the largest estimate is {max_estimate} s; at most {MAX_SPAN} s fit")
    if len(workload) == 0:
        return workload
    rng = generator(seed)
    histogram = draw_histogram(len(workload), max_estimate, rng=rng, given=given)
    cut = int((workload.run > max_estimate).sum())
    run = np.minimum(workload.run, max_estimate)
    estimate = assign(run, histogram, rng=rng)
    cleaning = dict(workload.cleaning)
    if cut:
        cleaning["run_above_max_estimate"] = cut
    return workload.replace(run=run, request=estimate, limit=estimate, cleaning=cleaning)


def assign(run: Ints, histogram: Mapping[int, int], *, rng: np.random.Generator) -> Ints:
    """An estimate for each run time, each used as often as the histogram says.

    Longest run first, each picks uniformly among the unused estimates that are long enough.
    """
    bins = sorted(histogram, reverse=True)
    estimates = np.repeat(bins, [histogram[time] for time in bins]).astype(np.int64)
    order = np.lexsort((np.arange(len(run)), -run))
    falling = run[order]
    if bool((falling > estimates).any()):
        at = int(np.argmax(falling > estimates))
        raise UsageError(
            f"{at + 1} jobs run for {falling[at]} s or more, but the model gives only {at} "
            "estimates that long; give a larger maximum, or the number of jobs that use it"
        )
    # Those long enough are a prefix of the falling estimates and picks only reorder inside it,
    # so each pick's range is known beforehand.
    enough = np.searchsorted(-estimates, -falling, side="right")
    picks = rng.integers(np.arange(len(run)), enough).tolist()
    unused = estimates.tolist()
    for job, pick in enumerate(picks):
        unused[job], unused[pick] = unused[pick], unused[job]
    result = np.empty(len(run), np.int64)
    result[order] = unused
    return result
