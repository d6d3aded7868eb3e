"""The table that the submit plug-in reads: a line per tag, sorted, replaced atomically."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

from shadowtime import private

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.hperf.store import Average


def table_text(averages: Mapping[str, Average]) -> bytes:
    """Lines ``tag<TAB>MB/s``, by the bytes of the tag; Slurm counts whole numbers, rounded up.

    Examples
    --------
    >>> from shadowtime.hperf.store import Average
    >>> table_text({"b": Average(7.2, 1), "B": Average(3000.0, 4)})
    b'B\\t3000\\nb\\t8\\n'
    """
    lines = (
        name.encode() + f"\t{math.ceil(known.mean)}".encode() for name, known in averages.items()
    )
    return b"".join(line + b"\n" for line in sorted(lines, key=lambda line: line.split(b"\t")[0]))


def publish(averages: Mapping[str, Average], path: str | Path) -> int:
    """Replace the table atomically; returns the number of tags.

    Root gives the new table to the old one's owner: the plug-in must be able to open it.
    """
    path = Path(path)
    owner = None
    if os.geteuid() == 0:
        with contextlib.suppress(FileNotFoundError):
            known = path.lstat()
            owner = known.st_uid, known.st_gid
    private.replace_whole(path, table_text(averages), mode=0o644, owner=owner)
    return len(averages)
