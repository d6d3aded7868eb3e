"""A user's order function, compiled into the engine as a typed function pointer.

One type for all of them: the event loop is compiled once, whatever the function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
from numba import types

from shadowtime.errors import PolicyError
from shadowtime.kernel.jit import cached_cfunc

if TYPE_CHECKING:
    from collections.abc import Callable

SIGNATURE = types.void(
    types.int64, types.int64[::1], types.int64[::1], types.int64[::1], types.float64[::1]
)
"""now; submit, estimate and processors of the candidates; their keys, to be filled."""


@cached_cfunc(SIGNATURE)
def no_order(now: int, submit: Any, estimate: Any, procs: Any, key: Any) -> None:
    """Stands in where a policy brings no order of its own."""


def compile_order(function: Callable[[int, int, int], float]) -> Any:
    """A filler of keys from a function priority(wait, estimate, procs), higher first."""
    try:
        one = numba.njit(function)

        def fill(now: int, submit: Any, estimate: Any, procs: Any, key: Any) -> None:
            for i in range(len(key)):
                key[i] = one(now - submit[i], estimate[i], procs[i])

        return numba.cfunc(SIGNATURE, nopython=True)(fill)
    except numba.core.errors.NumbaError as error:
        name = getattr(function, "__name__", "function")
        lines = [line for line in str(error).splitlines() if line.strip()]
        raise PolicyError(
            f"the order function {name} cannot be compiled ({lines[0] if lines else error}); "
            "use plain arithmetic on wait, estimate and procs"
        ) from None
