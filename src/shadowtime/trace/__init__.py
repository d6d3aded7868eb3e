"""Job logs: one format per file, a pure parser and a thin opener each."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shadowtime.trace.formats import read_log, read_raw
from shadowtime.workload import Workload

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
"""Loaded on first use: a log has one format."""

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


def read(path: str | os.PathLike[str], **options: Any) -> Workload:
    """Read and clean a job log of any format we know, plain or gzip, or that of a site's folder.

    ``options`` are those of :func:`shadowtime.trace.formats.read_log`.
    """
    if os.path.isdir(path):
        from shadowtime.trace.site_folder import is_site_folder, read_site  # most logs are files

        if is_site_folder(path):
            return read_site(path, **options)[1]
    return read_log(path, **options)


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
