"""One door for every format: a file in, jobs that can be scheduled out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from shadowtime.trace._bytes import MAX_SIZE, load, stem
from shadowtime.trace.formats import Reading, recognise
from shadowtime.workload.clean import clean

if TYPE_CHECKING:
    from shadowtime.trace.swf import BadLines
    from shadowtime.workload import Workload
    from shadowtime.workload.raw import RawTrace


def read_raw(
    path: str | os.PathLike[str],
    *,
    bad_lines: BadLines = "refuse",
    tz: str | None = None,
    cluster: str | None = None,
    unlimited: int | None = None,
    max_size: int = MAX_SIZE,
) -> RawTrace:
    """The lines of a log as they stand, whatever its format.

    ``tz``, ``cluster`` and ``unlimited`` are for Slurm's accounting records, ``tz`` and
    ``unlimited`` for HTCondor's logs too; they have no meaning elsewhere. A log of more than
    ``max_size`` bytes when unpacked is refused. See
    :func:`shadowtime.trace.sacct.parse_sacct`.
    """
    if os.path.isdir(path):
        from shadowtime.trace.site_folder import is_site_folder, jobs_file

        path = jobs_file(path) if is_site_folder(path) else path
    data = load(path, max_size=max_size, binary=("Parquet",))
    how = Reading(
        name=stem(path), path=str(path), bad_lines=bad_lines, tz=tz, cluster=cluster,
        unlimited=unlimited,
    )  # fmt: skip
    return recognise(str(path), data).parse(data, how)


def read(
    path: str | os.PathLike[str],
    *,
    bad_lines: BadLines = "refuse",
    tz: str | None = None,
    cluster: str | None = None,
    unlimited: int | None = None,
    max_size: int = MAX_SIZE,
    **switches: Any,
) -> Workload:
    """Read and clean a job log of any format we know, plain or gzip, or that of a site's folder.

    ``switches`` are those of :func:`shadowtime.workload.clean.clean`; the others say how lines are
    read.
    """
    if os.path.isdir(path):
        from shadowtime.trace.site_folder import is_site_folder, read_site  # reads logs by this

        if is_site_folder(path):
            return read_site(
                path, bad_lines=bad_lines, tz=tz, cluster=cluster, unlimited=unlimited,
                max_size=max_size, **switches,
            )[1]  # fmt: skip
    raw = read_raw(
        path, bad_lines=bad_lines, tz=tz, cluster=cluster, unlimited=unlimited, max_size=max_size
    )
    return clean(raw, **switches)
