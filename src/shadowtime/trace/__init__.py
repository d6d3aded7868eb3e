"""Job logs: one format per file, a pure parser and a thin opener each."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shadowtime.trace.formats import read_raw
from shadowtime.trace.reading import read

if TYPE_CHECKING:
    from shadowtime.trace.sacct import RECOMMENDED_COMMAND, parse_sacct, read_sacct
    from shadowtime.trace.swf import parse_swf, read_swf, to_swf, write_swf

_LATER = {
    "RECOMMENDED_COMMAND": "sacct",
    "parse_sacct": "sacct",
    "read_sacct": "sacct",
    "parse_swf": "swf",
    "read_swf": "swf",
    "to_swf": "swf",
    "write_swf": "swf",
}
"""Loaded when first asked for: a log has one format."""

__all__ = [
    "RECOMMENDED_COMMAND",
    "parse_sacct",
    "parse_swf",
    "read",
    "read_raw",
    "read_sacct",
    "read_swf",
    "to_swf",
    "write_swf",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
