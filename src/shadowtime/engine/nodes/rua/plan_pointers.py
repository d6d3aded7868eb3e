"""Types of the functions on a ledger that are compiled on their own (pointers.py says why)."""

from __future__ import annotations

from functools import cache
from typing import Any

from shadowtime.engine.nodes.rua.ledger import make_plan
from shadowtime.engine.nodes.rua.pointers import pointer, pointer_to, signature, table_type


@cache
def ledger_type() -> Any:
    """The type of every Ledger."""
    import numba

    return numba.typeof(
        make_plan(n=1, nodes=1, cores=1, hinges=1, compress=True, costed=True, pieces=8)
    )


CHANGE = signature("void", ledger_type, table_type, *["int64"] * 5)
FIRST_ROOM = signature("int64", ledger_type, table_type, *["int64"] * 4)
ASSESS = signature("int64", ledger_type, table_type, *["int64"] * 3)
SEEK = signature(
    "boolean",
    ledger_type,
    table_type,
    pointer_to(FIRST_ROOM),
    pointer_to(ASSESS),
    *["int64"] * 4,
)
"""Signatures, by the names of the functions."""

__all__ = ["ASSESS", "CHANGE", "FIRST_ROOM", "SEEK", "pointer"]
