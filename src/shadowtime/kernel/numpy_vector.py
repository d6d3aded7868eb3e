"""The loops of ``vector`` as NumPy calls, for runs in which nothing is compiled.

As plain Python these loops are slow. Compiled they are faster than NumPy, so the kernels keep
theirs. Sums are left as they are: there a result that
leaves its type must be an error (``engine.uncompiled``), which NumPy reports for scalars alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shadowtime.kernel import vector
from shadowtime.kernel.fields import LENGTH, PROCS
from shadowtime.kernel.registers import BIG, BLOCK, GROUP
from shadowtime.types import AnyArray

NAMES = ("least_in_block", "any_fits", "least_of_width", "least_in_group")


def replace_loops() -> None:
    """Put them in the place of the loops; call it before any module that imports those."""
    for name in NAMES:
        setattr(vector, name, globals()[name])


def least_in_block(wait: AnyArray, row: int, block: int) -> Any:
    """As in ``vector``.

    Examples
    --------
    >>> int(least_in_block(np.arange(64, dtype=np.int32)[None, ::-1], 0, 0))
    0
    """
    first = int(block) * BLOCK
    return wait[row, first : first + BLOCK].min()


def any_fits(wait: AnyArray, block: int, free: int, extra: int, left: int) -> bool:
    """As in ``vector``."""
    here = slice(int(block) * BLOCK, (int(block) + 1) * BLOCK)
    width = wait[PROCS, here]
    short = np.int32(max(-1, min(left, BIG - 1)))
    within = (wait[LENGTH, here] <= short) | (width <= np.int32(extra))
    return bool(((width <= np.int32(free)) & within).any())


def least_of_width(wait: AnyArray, block: int, narrowest: int, widest: int) -> Any:
    """As in ``vector``."""
    here = slice(int(block) * BLOCK, (int(block) + 1) * BLOCK)
    width = wait[PROCS, here]
    chosen = (width >= np.int32(narrowest)) & (width <= np.int32(widest))
    return np.where(chosen, wait[LENGTH, here], vector.NONE).min()


def least_in_group(least: AnyArray, row: int, group: int) -> Any:
    """As in ``vector``."""
    first = int(group) * GROUP
    return least[row, first : first + GROUP].min()
