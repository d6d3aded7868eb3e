"""One door for every format: a file in, jobs that can be scheduled out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from shadowtime.trace._bytes import MAX_SIZE, load, stem
from shadowtime.trace.condor_event_log import parse_event_log
from shadowtime.trace.condor_events import is_event_log
from shadowtime.trace.condor_history import is_history, parse_condor_history
from shadowtime.trace.job_table_files import is_job_table, parse_job_csv, read_job_parquet
from shadowtime.trace.sacct import parse_sacct
from shadowtime.trace.slurm_csv import is_slurm_csv, parse_slurm_csv
from shadowtime.trace.swf import BadLines, parse_swf
from shadowtime.workload.clean import clean

if TYPE_CHECKING:
    import os

    from shadowtime.workload import Workload
    from shadowtime.workload.raw import RawTrace

Format = Literal["swf", "sacct", "jobs-csv", "slurm-csv", "condor-history", "condor-events"]
_SWF_LINE = re.compile(rb"\s*[-+0-9.][^|,]*\Z")


def sniff(path: str | os.PathLike[str], data: bytes) -> Format:
    """Which format a file has: by its name if that says SWF, else by its first line.

    Examples
    --------
    >>> sniff("log.txt", b"; Version: 2.2\\n"), sniff("jobs.psv", b"JobID|User|State\\n")
    ('swf', 'sacct')
    """
    name = str(path).lower().removesuffix(".gz")
    if name.endswith(".swf"):
        return "swf"
    first = data.lstrip().split(b"\n", 1)[0].rstrip()
    if first.startswith(b";"):
        return "swf"
    words = first.decode("utf-8", "replace")
    if is_event_log(words) or (words[:1] in "[{" and b'"EventTypeNumber"' in data[:4096]):
        return "condor-events"
    if is_history(words):
        return "condor-history"
    if is_job_table(words):
        return "jobs-csv"
    if is_slurm_csv(words):
        return "slurm-csv"
    fields = len(first.split())
    return "swf" if fields > 1 and _SWF_LINE.match(first) else "sacct"


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
    from shadowtime.trace.site_folder import is_site_folder, jobs_file

    path = jobs_file(path) if is_site_folder(path) else path
    if str(path).endswith(".parquet"):
        return read_job_parquet(path, name=stem(path))
    data = load(path, max_size=max_size)
    kind = sniff(path, data)
    name, where = stem(path), str(path)
    if kind == "swf":
        return parse_swf(data, name=name, path=where, bad_lines=bad_lines)
    text = data.decode("utf-8", "replace")
    if kind == "jobs-csv":
        return parse_job_csv(text, name=name, path=where)
    if kind == "slurm-csv":
        return parse_slurm_csv(text, name=name, path=where, bad_lines=bad_lines)
    if kind == "condor-history":
        return parse_condor_history(
            text, name=name, path=where, unlimited=unlimited, bad_lines=bad_lines
        )
    if kind == "condor-events":
        return parse_event_log(
            text, name=name, path=where, tz=tz, unlimited=unlimited, bad_lines=bad_lines
        )
    return parse_sacct(
        text, name=name, path=where, tz=tz, cluster=cluster, unlimited=unlimited,
        bad_lines=bad_lines,
    )  # fmt: skip


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
    from shadowtime.trace.site_folder import is_site_folder, read_site  # which reads logs by this

    if is_site_folder(path):
        return read_site(
            path, bad_lines=bad_lines, tz=tz, cluster=cluster, unlimited=unlimited,
            max_size=max_size, **switches,
        )[1]  # fmt: skip
    raw = read_raw(
        path, bad_lines=bad_lines, tz=tz, cluster=cluster, unlimited=unlimited, max_size=max_size
    )
    return clean(raw, **switches)
