"""One door for every format: a file in, jobs that can be scheduled out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shadowtime.trace._bytes import load, stem
from shadowtime.trace.swf import BadLines, parse_swf
from shadowtime.workload.clean import clean

if TYPE_CHECKING:
    import os

    from shadowtime.workload import Workload
    from shadowtime.workload.raw import RawTrace


def read_raw(path: str | os.PathLike[str], *, bad_lines: BadLines = "refuse") -> RawTrace:
    """The lines of a log as they stand, whatever its format."""
    return parse_swf(load(path), name=stem(path), path=str(path), bad_lines=bad_lines)


def read(
    path: str | os.PathLike[str], *, bad_lines: BadLines = "refuse", **switches: Any
) -> Workload:
    """Read and clean a job log.

    ``switches`` are those of :func:`shadowtime.workload.clean.clean`.
    """
    return clean(read_raw(path, bad_lines=bad_lines), **switches)
