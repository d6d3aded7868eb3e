"""The demand of every process for the shared resources, as a policy assumes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.policy.estimate import NoisyDemand

if TYPE_CHECKING:
    from shadowtime.cluster.contention import Contention
    from shadowtime.policy.estimate import Estimate
    from shadowtime.types import Ints


def believed(draws: Ints, contention: Contention, part: Estimate) -> Ints:
    """The demands that a policy assumes: the true ones, unless its estimates are wrong.

    Examples
    --------
    >>> from shadowtime.cluster.contention import Contention
    >>> from shadowtime.policy.estimate import NoisyDemand
    >>> true = np.array([[1000], [1000], [6000]])
    >>> believed(true, Contention(capacity={"bandwidth": 6000}), NoisyDemand(x=0.5)).tolist()
    [[1012], [1450], [3865]]
    """
    if not isinstance(part, NoisyDemand):
        return draws
    rng = np.random.default_rng(part.seed)
    guess = np.rint(draws * (1.0 + rng.uniform(-part.x, part.x, draws.shape)))
    return np.clip(guess, 0, list(contention.capacity.values())).astype(np.int64)
