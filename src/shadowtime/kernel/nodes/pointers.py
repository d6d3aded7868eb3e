"""Large functions of the pass on nodes, compiled on their own and called through pointers.

A function linked into its caller is optimised again with it, and again with the caller's caller:
deep calls cost minutes of compiling. A call through a pointer costs some tens of nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numba import types

from shadowtime.kernel.jit import cached_cfunc
from shadowtime.kernel.nodes.table import make_table

Function = TypeVar("Function", bound=Callable[..., Any])

INT = types.int64
NONE = np.zeros((0, 2), np.int64)
TABLE = numba.typeof(
    make_table(nodes=1, cores=1, demand=NONE[:, :0], base=1, hinges=NONE, thresholds=NONE)
)
"""The type of every Table."""

EVALUATE = INT(TABLE, INT, INT, INT)
WITHIN = types.boolean(TABLE, INT, INT, INT, INT)
PLAN_AT = INT(TABLE, types.FunctionType(EVALUATE), INT, INT)
PLAN_HEAD = types.void(TABLE, types.FunctionType(EVALUATE), INT)
PREFERS_LATER = types.boolean(
    TABLE, types.FunctionType(EVALUATE), types.FunctionType(PLAN_AT), INT, INT
)
MUST_WAIT = types.boolean(TABLE, types.FunctionType(WITHIN), INT)
"""Signatures, by the names of the functions."""


def pointer(signature: Any) -> Callable[[Function], Any]:
    """Compile a function to a pointer of this type: no allocation, like every kernel."""
    return cached_cfunc(signature, _nrt=False, error_model="numpy")
