"""Where random numbers come from: a seed at the surface, a generator below."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from shadowtime.errors import UsageError

Seed: TypeAlias = int | np.random.Generator
"""A whole number from 0, or a generator of the caller's that moves on with each use."""


def generator(seed: Seed) -> np.random.Generator:
    """The generator behind a seed; a generator is handed through.

    Examples
    --------
    >>> bool(generator(7).random() == generator(7).random())
    True
    """
    if isinstance(seed, np.random.Generator):
        return seed
    if seed < 0:
        raise UsageError(f"the seed is {seed}; give a whole number from 0")
    return np.random.default_rng(seed)
