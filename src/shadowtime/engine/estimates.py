"""What is known of each run time at submission, by the policy's estimate part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import PolicyError
from shadowtime.kernel.estimates import FIXED, LAST, LAST_TWO
from shadowtime.policy import estimate as parts
from shadowtime.types import MAX_SPAN

if TYPE_CHECKING:
    from shadowtime.types import Ints
    from shadowtime.workload import Workload


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
        return Known(request, FIXED, bool((workload.effective_run <= request).all()))
    if isinstance(part, parts.Actual):
        return Known(np.maximum(workload.effective_run, 1), FIXED, safe=True)
    if isinstance(part, parts.Noisy):
        draw = np.random.default_rng(part.seed).uniform(-part.x, part.x, len(workload))
        guess = np.rint(workload.effective_run * (1.0 + draw))
        clean = np.clip(guess, 1, MAX_SPAN).astype(np.int64)
        return Known(clean, FIXED, False, int((clean != guess).sum()))
    if isinstance(part, parts.Last):
        return Known(request, LAST, safe=False)
    if isinstance(part, parts.LastTwo):
        return Known(request, LAST_TWO, safe=False)
    raise PolicyError(f"the engine does not know the estimate part {part}")
