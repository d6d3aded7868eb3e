"""How kernels are compiled: functions that Python never calls get no machine code of their own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numba import njit, types

from shadowtime.kernel.jit import cached_cfunc, entry, kernel, routine
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


def test_without_a_pointer_numba_finds_the_code():
    assert run(np.arange(5)) == 20 and not run.direct


def test_only_what_python_calls_has_an_address():
    run.dispatcher.compile("int64(int64[::1])")
    for inner in (doubled, total):
        assert all(isinstance(found, LinkedLibrary) for found in libraries(inner))
    assert not any(isinstance(found, LinkedLibrary) for found in libraries(run))


class Table(NamedTuple):
    values: np.ndarray
    chosen: object


def from_index():
    return types.float64(types.int64)


@cached_cfunc(from_index)
def half(at):
    return at / 2


@cached_cfunc(from_index)
def twice(at):
    return at * 2.0


@entry
def applied(table, at):
    return table.chosen(at) + table.values[0]


def test_an_entry_keeps_what_was_compiled_for_each_kind_of_arguments(monkeypatch):
    """Another pointer or array of the same kind needs no look at the types by Numba."""
    whole = np.array([3, 4])
    assert applied(Table(whole, half), 5) == 5.5
    assert applied(Table(whole / 2, half), 5) == 4.0  # floats: another version
    assert applied(Table(whole[::-1], half), 5) == 6.5  # not contiguous: a third
    assert len(applied.direct) == len(applied.dispatcher.overloads) == 3
    monkeypatch.setitem(applied.__dict__, "dispatcher", None)
    assert applied(Table(whole + 1, twice), 5) == 14.0
    assert applied(Table((whole + 1) / 2, twice), 5) == 12.0
    with pytest.raises(TypeError):
        applied(Table(whole, twice), 5.0)  # not compiled for floats: Numba's part


@njit
def one_more(at):
    return at + 1


@njit
def one_less(at):
    return at - 1


@entry
def applied_twice(table, other, at):
    return table.chosen(other(at)) + table.values[0]


def test_functions_of_one_class_are_not_confused():
    """Numba gives every compiled function a type of its own: none is called for another."""
    table = Table(np.array([3, 4]), half)
    assert applied_twice(table, one_more, 5) == 6.0
    assert applied_twice(table, one_less, 5) == 5.0
    assert not applied_twice.direct
