"""What is known of each run time at submission, by the policy's estimate part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from shadowtime.errors import PolicyError
from shadowtime.kernel.estimates import FIXED, LAST, LAST_TWO
from shadowtime.policy import estimate as parts
from shadowtime.types import MAX_SPAN, Floats, Ints
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from shadowtime.policy.predictors import FromLog


@dataclass(frozen=True)
class Known:
    """Estimates at submission, how they learn, and whether a job may outlive its own."""

    estimate: Ints
    learner: int
    safe: bool
    clamped: int = 0


def known_at_submission(part: parts.Estimate, workload: Workload) -> Known:
    """The columns a run starts with.

    Estimates lie within [1, 68 years]; a prediction outside is clamped and counted.
    """
    request = np.maximum(workload.request, 1)
    if isinstance(part, parts.Requested):
        # A request of nothing is planned with a second: a job within that is no surprise.
        safe = workload.within_request or bool((workload.effective_run <= request).all())
        return Known(request, FIXED, safe)
    if isinstance(part, parts.Actual):
        return Known(np.maximum(workload.effective_run, 1), FIXED, safe=True)
    if isinstance(part, parts.Noisy):
        draw = np.random.default_rng(part.seed).uniform(-part.x, part.x, len(workload))
        guess = np.rint(workload.effective_run * (1.0 + draw))
        clean, count = clamped(guess, most=np.full(len(workload), MAX_SPAN), otherwise=request)
        return Known(clean, FIXED, False, count)
    if isinstance(part, parts.Last):
        return Known(request, LAST, safe=False)
    if isinstance(part, parts.LastTwo):
        return Known(request, LAST_TWO, safe=False)
    if part.from_log:
        clean, count = predicted_seconds(cast("FromLog", part), workload)
        return Known(clean, FIXED, False, count)
    if isinstance(part, parts.Predicted):  # the pass asks for it at submission
        return Known(request, FIXED, safe=False)
    raise PolicyError(f"the engine does not know the estimate part {part}")


def predicted_seconds(part: FromLog, workload: Workload) -> tuple[Ints, int]:
    """What a predictor says of each job, within [1, request], and how many were clamped."""
    from shadowtime.predict import predictions

    request = np.maximum(workload.request, 1)
    guess = predictions(part, workload)
    unknown = np.isnan(guess)  # no history yet: nothing was clamped
    return clamped(np.where(unknown, request, guess), most=request, otherwise=request)


def clamped(guess: Floats, *, most: Ints, otherwise: Ints) -> tuple[Ints, int]:
    """Predictions in whole seconds within [1, most], and how many had to be changed for that.

    A prediction that is not a number is replaced by ``otherwise`` (the request).

    Examples
    --------
    >>> found, count = clamped(
    ...     np.array([0.0, -3.0, np.nan, 99.0, np.inf, 7.0]),
    ...     most=np.full(6, 50), otherwise=np.full(6, 40))
    >>> found.tolist(), count
    ([1, 1, 40, 50, 50, 7], 5)
    """
    known = np.where(np.isnan(guess), otherwise, guess)
    within: Ints = np.rint(np.clip(known, 1, most)).astype(np.int64)
    return within, int((np.isnan(guess) | (np.rint(known) != within)).sum())
