"""Types of the functions on a plan that are compiled separately (the reason is in pointers.py)."""

from __future__ import annotations

from functools import cache
from typing import Any

from shadowtime.engine.nodes.rua.pointers import pointer, pointer_to, signature, table_type
from shadowtime.engine.nodes.rua.timeline import make_plan


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

__all__ = ["ASSESS", "CHANGE", "FIRST_ROOM", "SEEK", "pointer"]
