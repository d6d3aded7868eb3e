"""Columns of numbers as compact text that a page can contain and read in milliseconds.

A column becomes the narrowest signed integers that hold it, optionally as differences, its bytes
are laid out plane by plane (all low bytes, then all next bytes, ...), which suits the compressor,
and the planes of several columns are compressed together and written as base64.
"""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shadowtime.types import AnyArray

LEVEL = 4
"""Compression level: beyond 4 the file shrinks by a few per cent and the time doubles."""


def pack(
    columns: Mapping[str, AnyArray], *, deltas: Iterable[str] = (), level: int = LEVEL
) -> dict[str, Any]:
    """Columns of whole numbers as their list (name, length, width, delta) and one text.

    ``deltas`` names the columns that are stored as differences from the entry before.

    Examples
    --------
    >>> columns = {"submit": np.array([5, 9, 9]), "procs": np.array([1, 300, 2])}
    >>> packed = pack(columns, deltas=["submit"])
    >>> packed["columns"]
    [['submit', 3, 1, 1], ['procs', 3, 2, 0]]
    >>> {name: column.tolist() for name, column in unpack(packed).items()}
    {'submit': [5, 9, 9], 'procs': [1, 300, 2]}
    """
    differing = set(deltas)
    listed, planes = [], []
    for name, column in columns.items():
        values = np.asarray(column, dtype=np.int64)
        if name in differing:
            values = np.diff(values, prepend=0)
        width = _width(values)
        listed.append([name, len(values), width, int(name in differing)])
        narrow = np.ascontiguousarray(values.astype(f"<i{width}"))
        planes.append(narrow.view(np.uint8).reshape(-1, width).T.tobytes())
    # the stream is a plain zlib one: browsers call that format "deflate"
    return {
        "columns": listed,
        "data": base64.b64encode(zlib.compress(b"".join(planes), level)).decode("ascii"),
    }


def _width(values: AnyArray) -> int:
    """Bytes that hold every value."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    for width in (1, 2, 4):
        if -(1 << (8 * width - 1)) <= low and high < 1 << (8 * width - 1):
            return width
    return 8


def unpack(packed: Mapping[str, Any]) -> dict[str, AnyArray]:
    """What :func:`pack` was given. The page has the same function in its own language."""
    raw = zlib.decompress(base64.b64decode(packed["data"]))
    columns, at = {}, 0
    for name, length, width, delta in packed["columns"]:
        planes = np.frombuffer(raw, np.uint8, length * width, at).reshape(width, length)
        values = np.ascontiguousarray(planes.T).view(f"<i{width}").reshape(length).astype(np.int64)
        columns[name] = np.cumsum(values) if delta else values
        at += length * width
    return columns
