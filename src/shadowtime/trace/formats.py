"""The formats of job logs: how each is recognised, what parses it; ``read_log`` does both.

A new format is one file with a parser and one line in :data:`FORMATS`; another package adds one
through the entry point group ``shadowtime.formats`` (see :mod:`shadowtime.plugins`).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shadowtime.errors import InputError, ShadowtimeError, UsageError, near
from shadowtime.plugins import FORMATS as GROUP
from shadowtime.plugins import plugins
from shadowtime.trace._bytes import MAX_SIZE, beginning, load, map_beside, stem
from shadowtime.workload import Workload
from shadowtime.workload.clean import clean
from shadowtime.workload.raw import RawTrace

if TYPE_CHECKING:
    from shadowtime.trace.swf import BadLines


def _later(module: str, name: str) -> Callable[..., Any]:
    """A function of another file here, loaded when it is called: a log has one format."""
    return lambda *given, **named: getattr(import_module(f"shadowtime.trace.{module}"), name)(
        *given, **named
    )


parse_event_log = _later("condor_event_log", "parse_event_log")
is_event_log = _later("condor_event_log", "is_event_log")
is_history = _later("condor_history", "is_history")
parse_condor_history = _later("condor_history", "parse_condor_history")
is_job_table = _later("job_table_files", "is_job_table")
is_table = _later("job_table_files", "is_table")
read_table = _later("job_table_files", "read_table")
is_pbs = _later("pbs", "is_pbs")
read_pbs = _later("pbs", "read_pbs")
is_sacct_table = _later("sacct_jobs", "is_sacct_table")
is_slurmctld_log = _later("slurmctld_log", "is_slurmctld_log")
parse_slurmctld_log = _later("slurmctld_log", "parse_slurmctld_log")
parse_sacct = _later("sacct", "parse_sacct")
is_slurm_csv = _later("slurm_csv", "is_slurm_csv")
parse_slurm_csv = _later("slurm_csv", "parse_slurm_csv")
parse_swf = _later("swf", "parse_swf")
is_wfformat = _later("wfformat", "is_wfformat")
read_wfformat = _later("wfformat", "read_wfformat")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A user's options for reading a log; a format uses those that apply to it."""

    name: str
    path: str
    bad_lines: BadLines = "refuse"
    tz: str | None = None
    cluster: str | None = None
    unlimited: int | None = None
    max_size: int = MAX_SIZE

    def only(self, *names: str) -> dict[str, Any]:
        """Name, path and the named options, as keywords of a parser."""
        return {key: getattr(self, key) for key in ("name", "path", *names)}


@dataclass(frozen=True, kw_only=True)
class Beginning:
    """What identifies a format: the file's name, its first line, its first bytes."""

    name: str
    """In lower case, without ``.gz``."""
    line: str
    head: bytes
    mapped: bool = False
    """There is a map of columns beside the file."""


@dataclass(frozen=True, kw_only=True)
class Format:
    """One format: its name, its kinds of files, how it is recognised, what parses it."""

    name: str
    summary: str
    recognises: Callable[[Beginning], bool]
    parse: Callable[[bytes, Reading], RawTrace] | None = None
    read: Callable[[list[str], Reading], RawTrace] | None = None
    """Instead of ``parse``: reads one file, or several as one log, without holding them."""


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _is_swf_by_name(file: Beginning) -> bool:
    return file.name.endswith(".swf") or file.line.startswith(";")


def _is_events(file: Beginning) -> bool:
    as_json = file.line[:1] in "[{" and b'"EventTypeNumber"' in file.head
    return as_json or bool(is_event_log(file.line))


def _is_numbers(file: Beginning) -> bool:
    numbers = re.match(r"\s*[-+0-9.][^|,]*\Z", file.line) is not None
    return numbers and len(file.line.split()) > 1


def _table(paths: list[str], how: Reading) -> RawTrace:
    found: RawTrace = read_table(paths, **how.only("tz", "bad_lines", "max_size"))
    return found


def _swf(data: bytes, how: Reading) -> RawTrace:
    found: RawTrace = parse_swf(data, **how.only("bad_lines"))
    return found


SACCT = Format(
    name="sacct",
    summary="Slurm accounting records: sacct --parsable2, with or without a header",
    recognises=lambda file: (
        re.search(r"[|\x1f]|^\s*[A-Za-z]+@[0-9a-f]{8,}@", file.line) is not None
    ),
    parse=lambda data, how: parse_sacct(
        data, **how.only("bad_lines", "tz", "cluster", "unlimited")
    ),
)

TABLE = Format(
    name="table",
    summary="any other table (CSV, Parquet): answered with a proposed map of its columns",
    recognises=lambda file: is_table(file.line) and not is_sacct_table(file.line),
    read=_table,
)

FORMATS = (
    Format(
        name="parquet",
        summary="a table of jobs in a Parquet file",
        recognises=lambda file: file.name.endswith(".parquet") or file.head.startswith(b"PAR1"),
        read=_table,
    ),
    Format(
        name="swf",
        summary="Standard Workload Format, 18 columns and named extras",
        recognises=_is_swf_by_name,
        parse=_swf,
    ),
    Format(
        name="slurmctld-log",
        summary="slurmctld's log: jobs as far as it tells of them",
        recognises=lambda file: is_slurmctld_log(file.line, file.head),
        parse=lambda data, how: parse_slurmctld_log(data, **how.only("tz")),
    ),
    Format(
        name="condor-events",
        summary="HTCondor's job event log, plain or JSON",
        recognises=_is_events,
        parse=lambda data, how: parse_event_log(
            _text(data), **how.only("bad_lines", "tz", "unlimited")
        ),
    ),
    Format(
        name="wfformat",
        summary="workflows of WfCommons: a WfFormat file, or a folder of them",
        recognises=lambda file: file.line[:1] == "{" and is_wfformat(file.line, file.head),
        read=lambda paths, how: read_wfformat(paths, **how.only("max_size")),
    ),
    Format(
        name="condor-history",
        summary="condor_history -long or -json",
        recognises=lambda file: is_history(file.line),
        parse=lambda data, how: parse_condor_history(
            _text(data), **how.only("bad_lines", "unlimited")
        ),
    ),
    Format(
        name="pbs",
        summary="accounting logs of PBS Professional, OpenPBS and Torque",
        recognises=lambda file: is_pbs(file.line),
        read=lambda paths, how: read_pbs(paths, **how.only("bad_lines", "max_size")),
    ),
    Format(
        name="jobs-csv",
        summary="a table of jobs as CSV with our column names, those of a known data set, or a map",
        recognises=lambda file: file.mapped or is_job_table(file.line),
        read=_table,
    ),
    Format(
        name="slurm-csv",
        summary="the CSV of a Slurm site: JobName, ReqMem, ReqCPUs, ReqGPUs, ReqDuration, ...",
        recognises=lambda file: is_slurm_csv(file.line),
        parse=lambda data, how: parse_slurm_csv(_text(data), **how.only("bad_lines")),
    ),
    Format(
        name="swf",
        summary="lines of numbers between blanks, whatever the file is called",
        recognises=_is_numbers,
        parse=_swf,
    ),
)
"""In the order in which they are tried."""


def recognise(path: str, data: bytes, *, mapped: bool = False) -> Format:
    """The format of a file: the first that recognises its beginning.

    Rules
    -----
    Ours come first, then those of other packages by name, then tables with columns that nobody
    knows. A file that no format recognises is read as Slurm's accounting records, whose parser
    reports what is missing.

    Examples
    --------
    >>> recognise("log.txt", b"; Version: 2.2\\n").name
    'swf'
    >>> recognise("jobs.psv", b"JobID|User|State\\n").name
    'sacct'
    """
    first = data[: 1 << 20].lstrip().split(b"\n", 1)[0].rstrip()
    file = Beginning(
        name=path.lower().removesuffix(".gz"),
        line=first.decode("utf-8", "replace"),
        head=data[:4096],
        mapped=mapped,
    )
    for ours in FORMATS:
        if ours.recognises(file):
            return ours
    for added in (*added_formats(), TABLE):
        if added.recognises(file):
            return added
    return SACCT


def added_formats() -> list[Format]:
    """The formats that installed packages add."""
    found = []
    for name, added in plugins(GROUP).items():
        if not isinstance(added, Format):
            raise ShadowtimeError(f"{name} in {GROUP} is not a shadowtime.trace.formats.Format")
        found.append(added)
    return found


UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""How text in UTF-16 begins."""


def read_raw(
    path: str | os.PathLike[str],
    *,
    bad_lines: BadLines = "refuse",
    tz: str | None = None,
    cluster: str | None = None,
    unlimited: int | None = None,
    max_size: int = MAX_SIZE,
) -> RawTrace:
    """The lines of a log unchanged, whatever its format.

    ``tz``, ``cluster`` and ``unlimited`` are for Slurm's accounting records, ``tz`` and
    ``unlimited`` for HTCondor's logs too; they have no effect elsewhere. A log of more than
    ``max_size`` bytes when unpacked is rejected. See
    :func:`shadowtime.trace.sacct.parse_sacct`.
    """
    files = [str(path)]
    if os.path.isdir(path):
        from shadowtime.cluster.site_folder import is_site_folder, jobs_file

        files = [str(jobs_file(path))] if is_site_folder(path) else log_files(path)
        path = files[0] if is_site_folder(path) else path
    how = Reading(
        name=stem(path), path=str(path), bad_lines=bad_lines, tz=tz, cluster=cluster,
        unlimited=unlimited, max_size=max_size,
    )  # fmt: skip
    with _kept(files, max_size) as files:
        return _read_files(files, str(path), how)


@contextmanager
def _kept(files: list[str], max_size: int) -> Iterator[list[str]]:
    """The files; what a pipe holds can be read once, so it is put into a file."""
    try:
        pipe = len(files) == 1 and stat.S_ISFIFO(os.stat(files[0]).st_mode)
    except OSError:  # which the reader reports
        pipe = False
    if not pipe:
        yield files
        return
    import tempfile

    with tempfile.TemporaryDirectory() as folder, open(files[0], "rb") as given:
        kept = os.path.join(folder, os.path.basename(files[0]))
        with open(kept, "wb") as file:
            file.write(given.read(max_size + 1))
        try:
            yield [kept]
        except InputError as error:
            error.args = (str(error).replace(kept, files[0]),)
            raise


def _read_files(files: list[str], path: str, how: Reading) -> RawTrace:
    """The lines of files that are one log."""
    first = beginning(files[0])
    if first.startswith(UTF_16):
        raise InputError(
            "this is text in UTF-16", path=files[0],
            hint="Convert it, as with iconv -f utf-16 -t utf-8.",
        )  # fmt: skip
    found = recognise(files[0], first, mapped=os.path.isfile(map_beside(path)))
    if found.read is not None:
        return found.read(files, how)
    if len(files) > 1 or found.parse is None:
        raise InputError(
            f"this is a folder of files like {os.path.basename(files[0])}", path=path,
            hint="Name a file in it; only tables and PBS accounting are read from several files.",
        )  # fmt: skip
    data = load(files[0], max_size=how.max_size)
    return found.parse(data, how)


def log_files(folder: str | os.PathLike[str]) -> list[str]:
    """The files of a folder that holds a log in parts: by day, by partition."""
    found = [
        os.path.join(here, name)
        for here, _, names in os.walk(folder)
        for name in names
        if not name.startswith((".", "_", "README")) and not name.endswith((".toml", ".md", ".txt"))
    ]
    if not found:
        raise InputError("there is no job log in the folder", path=str(folder))
    return sorted(found)


def read_log(
    path: str | os.PathLike[str],
    *,
    bad_lines: BadLines = "refuse",
    tz: str | None = None,
    cluster: str | None = None,
    unlimited: int | None = None,
    max_size: int = MAX_SIZE,
    **switches: Any,
) -> Workload:
    """Read and clean a job log of any format we know, plain or gzip.

    ``switches`` are those of :func:`shadowtime.workload.clean.clean`; the others control how lines
    are read.
    """
    known = clean.__kwdefaults__ or {}
    for name in switches:
        if name not in known:
            known = {**(read_log.__kwdefaults__ or {}), **known}
            raise UsageError(f"reading a log has no option {name!r}{near(name, known)}")
    raw = read_raw(
        path, bad_lines=bad_lines, tz=tz, cluster=cluster, unlimited=unlimited, max_size=max_size
    )
    return clean(raw, **switches)
