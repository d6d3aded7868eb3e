"""Types of the functions on a ledger that are compiled on their own (pointers.py says why)."""

from __future__ import annotations

import numba
from numba import types

from shadowtime.kernel.nodes.ledger import make_ledger
from shadowtime.kernel.nodes.pointers import INT, TABLE, pointer

LEDGER = numba.typeof(
    make_ledger(n=1, nodes=1, cores=1, hinges=1, compress=True, costed=True, pieces=8)
)
"""The type of every Ledger."""

CHANGE = types.void(LEDGER, TABLE, INT, INT, INT, INT, INT)
FIRST_ROOM = INT(LEDGER, TABLE, INT, INT, INT, INT)
ASSESS = INT(LEDGER, TABLE, INT, INT, INT)
SEEK = types.boolean(
    LEDGER, TABLE, types.FunctionType(FIRST_ROOM), types.FunctionType(ASSESS), INT, INT, INT, INT
)
"""Signatures, by the names of the functions."""

__all__ = ["ASSESS", "CHANGE", "FIRST_ROOM", "LEDGER", "SEEK", "pointer"]
