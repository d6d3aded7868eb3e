"""Kernel loops written as NumPy calls give the same results."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from shadowtime.kernel import numpy_vector, vector
from shadowtime.kernel.registers import BIG, BLOCK, GROUP

RNG = np.random.default_rng(7)


def calls(name: str):
    """Two hundred calls of a function, each with its own rows."""
    for _ in range(200):
        table = RNG.integers(0, 40, (8, 4 * max(BLOCK, GROUP))).astype(np.int32)
        table[RNG.random(table.shape) < 0.2] = BIG
        block, row = int(RNG.integers(4)), int(RNG.integers(8))
        a, b, c = (int(one) for one in RNG.integers(-1, 45, 3))
        yield {
            "least_in_block": (table, row, block),
            "any_fits": (table, block, a, b, c),
            "least_of_width": (table, block, min(a, b), max(a, b)),
            "least_in_group": (table, row, block),
        }[name]


@pytest.mark.parametrize("name", numpy_vector.NAMES)
def test_the_same_result_and_the_same_row(name: str) -> None:
    """Also with the values that stand for missing data."""
    loop = inspect.unwrap(getattr(vector, name))
    for table, *rest in calls(name):
        plain, quick = table.copy(), table.copy()
        expected = loop(plain, *rest)
        assert getattr(numpy_vector, name)(quick, *rest) == expected
        assert np.array_equal(plain, quick)
