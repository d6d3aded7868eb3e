"""shadowtime hperf record, show, import, export, forget: the records of finished jobs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

import click
from rich.table import Table
from rich.text import Text

from shadowtime import private
from shadowtime.cli.common import console, outputs
from shadowtime.errors import InputError, UsageError
from shadowtime.report.numbers import count
from shadowtime.types import File

if TYPE_CHECKING:
    from shadowtime.hperf.store import Store


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the store is."""

    store: str | None = None
    """URL : The store: a file (SQLite), or mariadb://user@host/base, postgresql://user@host/base.
    [default: $SHADOWTIME_STORE, else hperf.sqlite in the user's data folder]"""
    store_file: str | None = None
    """FILE : A file with the URL on its first line, so that a password in it is not visible in
    `ps`."""

    def __post_init__(self) -> None:
        if self.store is not None and self.store_file is not None:
            raise UsageError("name the store with --store or --store-file, not both")

    def url(self) -> str | None:
        """The URL, from the file if one was named."""
        if self.store_file is None:
            return self.store
        path = self.store_file
        try:
            with os.fdopen(private.open_plain(Path(path), os.O_RDONLY), encoding="utf-8") as file:
                url = file.readline(4096).strip()
        except (OSError, UnicodeDecodeError) as wrong:
            why = wrong.strerror if isinstance(wrong, OSError) else "not UTF-8 text"
            raise InputError(f"cannot be read: {why}", path=path) from None
        if not url:
            raise InputError("has no URL of a store on its first line", path=path)
        return url

    @contextmanager
    def opened(self, *, must_exist: bool = False) -> Iterator[Store]:
        """The store of a command, closed afterwards."""
        from shadowtime.hperf import open_store

        found = open_store(self.url(), must_exist=must_exist)
        try:
            yield found
        finally:
            found.close()


DEFAULT = Place()


def record(
    tag: str,
    *,
    bandwidth: float | None = None,
    perf: str | None = None,
    elapsed: float = 0.0,
    processes: int = 1,
    key: str | None = None,
    place: Place = DEFAULT,
    json: bool = False,
) -> None:
    """Store the bandwidth of a finished job under TAG. Its average includes it from now on.

    \b
    shadowtime hperf record cg.D.16 --bandwidth 3000 --elapsed 612 --processes 16 --key c1/123
    shadowtime hperf record cg.D.16 --perf 123.perf --processes 16

    Parameters
    ----------
    bandwidth : MB/S
        Declared, per process.
    perf : FILE
        The output of `perf stat -x, -o FILE` for the job.
    elapsed : S
        Run time of the job.
    processes
        Number of processes.
    key : JOB
        The job's name, such as c1/123; it is never counted twice.
    """
    from shadowtime.hperf import Record

    if (bandwidth is None) == (perf is None):
        raise UsageError("give the job's bandwidth: --bandwidth MB/S or --perf FILE")
    if perf is not None:
        from shadowtime.hperf.collect.perf import parse_perf

        counted = parse_perf(_text(perf), path=perf, seconds=elapsed or None)
        record = counted.record(tag, processes=processes, key=key, finished=int(time()))
    else:
        assert bandwidth is not None
        record = Record(
            tag=tag,
            bandwidth=bandwidth,
            elapsed=elapsed,
            width=processes,
            key=key,
            finished=int(time()),
        )
    with place.opened() as found:
        added = found.add([record])
        average = found.average(tag)
    assert average is not None
    if json:
        outputs.print_json(
            {
                "tag": record.tag,
                "new": added.new,
                "already_known": added.known,
                "bandwidth_mean_mb_s": average.mean,
                "records": average.records,
            }
        )
        return
    how = "stored" if added.new else f"already known by its key {key}: not counted again"
    over = count(average.records, "record")
    click.echo(f"{record.tag}: {how}; {average.mean:g} MB/s a process over {over}")


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as wrong:
        raise InputError(f"cannot be read: {wrong.strerror}", path=path) from None


def show(tag: str | None = None, *, place: Place = DEFAULT, json: bool = False) -> int:
    """Show the average demand per process of every tag, or of TAG, and the number of records.

    Exits with 1 if TAG is unknown: a job with that tag would run on exclusive nodes.

    \b
    shadowtime hperf show cg.D.16
    """
    with place.opened(must_exist=True) as found:
        known = found.averages() if tag is None else {}
        if tag is not None and (average := found.average(tag)) is not None:
            known = {tag.strip(): average}
        where = found.where
    if json:
        rows = [
            {"tag": name, "bandwidth_mean_mb_s": a.mean, "records": a.records}
            for name, a in known.items()
        ]
        outputs.print_json({"store": where, "tags": rows})
    elif known:
        table = Table(box=None, pad_edge=False)
        table.add_column("tag")
        table.add_column("MB/s a process", justify="right")
        table.add_column("records", justify="right")
        for name, a in known.items():
            table.add_row(Text(name), f"{a.mean:,.1f}", f"{a.records:,}")
        console.show(table)
    elif tag is None:
        click.echo(f"{where} contains no records yet", err=True)
    else:
        click.echo(f"no record of {tag[:60]!r}: such a job runs on exclusive nodes", err=True)
    return 0 if known or tag is None else 1


def import_(file: File, *, place: Place = DEFAULT, json: bool = False) -> None:
    """Import records from FILE.

    FILE is .jsonl as written by export, or .csv with the columns tag and bandwidth (MB/s per
    process) and, optionally, elapsed, width, key, finished and source.

    If one line is invalid, nothing is imported. Jobs whose key is already known are not counted
    again.

    \b
    shadowtime hperf import counters.csv
    """
    from shadowtime.hperf.files import read_records

    records = read_records(file)
    with place.opened() as found:
        added = found.add(records)
    if json:
        outputs.print_json({"file": file, "new": added.new, "already_known": added.known})
    else:
        stored = count(added.new, "record")
        click.echo(f"{file}: {stored} stored, {added.known} already known")


def export(file: File, *, tag: str | None = None, place: Place = DEFAULT) -> None:
    """Write the records to FILE.

    FILE is .jsonl with everything down to the counters of each thread, or .csv with a row per job.

    \b
    shadowtime hperf export records.jsonl

    Parameters
    ----------
    tag : TAG
        Only the records of this tag.
    """
    from shadowtime.hperf.files import write_records

    with place.opened(must_exist=True) as found:
        written = write_records(found.records(tag), file)
    click.echo(f"{file}: {count(written, 'record')}")


def forget(
    tag: str | None = None,
    *,
    everything: bool = False,
    before: str | None = None,
    place: Place = DEFAULT,
) -> None:
    """Delete the records of TAG, old records (--before) or --everything.

    TAG is named for example when its application has changed: its next job runs on exclusive nodes
    and is measured again.

    \b
    shadowtime hperf forget cg.D.16
    shadowtime hperf forget --before 2026-01-31

    Parameters
    ----------
    everything
        All tags.
    before : DATE
        Only jobs that finished before this date, such as 2026-01-31.
    """
    instant = None
    if before is not None:
        try:
            instant = int(datetime.fromisoformat(before).timestamp())
        except ValueError:
            raise UsageError(f"--before takes a date such as 2026-01-31, not {before!r}") from None
    if tag is not None and everything:
        raise UsageError(f"name the tag {tag!r} or give --everything, not both")
    if tag is None and not everything and instant is None:
        raise UsageError("name what to delete: a tag, --before DATE or --everything")
    with place.opened(must_exist=True) as found:
        gone = found.forget(tag, before=instant)
    click.echo(f"{count(gone, 'record')} deleted")
