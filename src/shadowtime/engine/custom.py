"""Functions of a user's own, compiled into the engine as typed function pointers.

One type for all of them: the event loop is compiled once, whatever the function. An exception
cannot leave such a pointer, so each filler catches it and says for which candidate; the pass
notes the job (FAILED), the loop stops (BROKEN), and failures.py says what went wrong.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from shadowtime.engine.failures import compile_failure
from shadowtime.kernel.jit import cached_cfunc, compiles, own_cfunc
from shadowtime.policy.functions import ORDER, check_arguments, plain

if TYPE_CHECKING:
    from collections.abc import Callable


@cache
def order_signature() -> Any:
    """now; submit, estimate and processors of the candidates; their keys, to be filled.

    Returns the first candidate for which the function failed, -1 if it did for none.
    """
    from numba import types

    whole = types.int64[::1]
    return types.int64(types.int64, whole, whole, whole, types.float64[::1])


@cached_cfunc(order_signature)
def no_order(now: int, submit: Any, estimate: Any, procs: Any, key: Any) -> int:
    """Stands in where a policy brings no order of its own."""
    return -1


def compile_order(function: Callable[[int, int, int], float]) -> Any:
    """A filler of keys from a function priority(wait, estimate, procs), higher first."""
    check_arguments(ORDER, function)
    one = compile_one(ORDER.name, function, len(ORDER.arguments))

    def fill(now: int, submit: Any, estimate: Any, procs: Any, key: Any) -> int:
        for i in range(len(key)):
            try:
                key[i] = one(int(now - submit[i]), int(estimate[i]), int(procs[i]))
            except Exception:
                return i
            if key[i] != key[i]:  # nan: it would be before everybody and behind
                return i
        return -1

    return own_cfunc(order_signature, fill)


def compile_one(slot_name: str, function: Callable[..., Any], count: int) -> Any:
    """A function of ``count`` whole numbers, compiled so that it returns a number."""
    written = plain(function)
    if not compiles():
        return lambda *arguments: float(written(*arguments))
    import numba
    from numba import types

    try:
        own = numba.njit(written)
        own.compile((types.int64,) * count)
        (made,) = own.nopython_signatures
        returned = types.unliteral(made.return_type)
        if not isinstance(returned, types.Float | types.Integer | types.Boolean):
            raise numba.core.errors.TypingError(f"It returns {returned}, not a number")
        return own
    except numba.core.errors.NumbaError as error:
        raise compile_failure(slot_name, function, error) from None
