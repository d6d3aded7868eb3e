"""Large functions of the pass on nodes, compiled on their own and called through pointers.

A function linked into its caller is optimised again with it, and again with the caller's caller:
deep calls cost minutes of compiling. A call through a pointer costs some tens of nanoseconds.

Signatures are made when they are needed: naming a type imports Numba. Those of the functions on a
plan (timeline.py) come last.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numpy as np

from shadowtime.engine.nodes.rua.timeline import make_plan
from shadowtime.engine.nodes.running_table import make_table
from shadowtime.kernel.jit import cached_cfunc

Function = TypeVar("Function", bound=Callable[..., Any])
Signature = Callable[[], Any]

NONE = np.zeros((0, 2), np.int64)


@cache
def table_type() -> Any:
    """The type of every Table."""
    import numba

    return numba.typeof(
        make_table(nodes=1, cores=1, demand=NONE[:, :0], base=1, hinges=NONE, thresholds=NONE)
    )


def signature(returns: str, *arguments: Any) -> Signature:
    """Makes a Numba signature: types by name, made by a function, or pointers of a signature."""

    @cache
    def made() -> Any:
        from numba import types

        return getattr(types, returns)(
            *(getattr(types, a) if isinstance(a, str) else a() for a in arguments)
        )

    return made


def pointer_to(of: Signature) -> Callable[[], Any]:
    """The type of a pointer to a function of this signature."""

    def made() -> Any:
        from numba import types

        return types.FunctionType(of())

    return made


EVALUATE = signature("int64", table_type, "int64", "int64", "int64")
WITHIN = signature("boolean", table_type, "int64", "int64", "int64", "int64")
PLAN_AT = signature("int64", table_type, pointer_to(EVALUATE), "int64", "int64")
PLAN_HEAD = signature("void", table_type, pointer_to(EVALUATE), "int64")
PREFERS_LATER = signature(
    "boolean", table_type, pointer_to(EVALUATE), pointer_to(PLAN_AT), "int64", "int64"
)
MUST_WAIT = signature("boolean", table_type, pointer_to(WITHIN), "int64")
"""Signatures, by the names of the functions."""


def pointer(of: Signature) -> Callable[[Function], Any]:
    """Compile a function to a pointer of this type: no allocation, like every kernel."""
    return cached_cfunc(of, _nrt=False, error_model="numpy")


@cache
def plan_type() -> Any:
    """The type of every Plan."""
    import numba

    return numba.typeof(
        make_plan(n=1, nodes=1, cores=1, hinges=1, compress=True, costed=True, pieces=8)
    )


CHANGE = signature("void", plan_type, table_type, *["int64"] * 5)
FIRST_ROOM = signature("int64", plan_type, table_type, *["int64"] * 4)
ASSESS = signature("int64", plan_type, table_type, *["int64"] * 3)
SEEK = signature(
    "boolean",
    plan_type,
    table_type,
    pointer_to(FIRST_ROOM),
    pointer_to(ASSESS),
    *["int64"] * 4,
)
"""Signatures, by the names of the functions."""
