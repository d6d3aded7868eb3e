"""How kernels are compiled: functions that Python never calls get no machine code of their own."""

from __future__ import annotations

import numpy as np
from numba import njit

from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.numba_inner import LinkedLibrary


@kernel
def doubled(values, at):
    return 2 * values[at]


@routine
def total(values):
    found = 0
    for at in range(len(values)):
        found += doubled(values, at)
    return found


@entry
def run(values):
    return total(values) + doubled(values, 0)


@njit
def own(values):
    """A function of a user, compiled by Numba alone."""
    return total(values)


def libraries(function):
    return [found.library for found in function.dispatcher.overloads.values()]


def test_an_entry_contains_what_it_calls():
    values = np.arange(5)
    assert run(values) == own(values) == 20
    assert run(values + 1) == 32


def test_only_what_python_calls_has_an_address():
    run.dispatcher.compile("int64(int64[::1])")
    for inner in (doubled, total):
        assert all(isinstance(found, LinkedLibrary) for found in libraries(inner))
    assert not any(isinstance(found, LinkedLibrary) for found in libraries(run))
