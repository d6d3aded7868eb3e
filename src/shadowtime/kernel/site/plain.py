"""A constant that the compiler must not specialise a routine for."""

from __future__ import annotations

from shadowtime.kernel.jit import kernel


@kernel
def number(value: int) -> int:
    """The same value as a plain int64: Numba compiles a routine for every literal argument."""
    return value + 0
