"""What the epilog does with a finished job: measure, record, publish; and lose nothing.

A measurement is what a collector left in the spool for the job (``JOB.perf``, ``JOB.json``), else
the value that the job declared in its comment (``bw=3000``). Without either nothing is recorded:
nothing is invented. While the store is down records wait in the spool; the next job takes them in.

The table that the submit plug-in reads has a line per tag, sorted, and is replaced atomically.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from shadowtime import private
from shadowtime.errors import InputError, ShadowtimeError
from shadowtime.hperf.collect.perf import parse_perf
from shadowtime.hperf.files import record_from
from shadowtime.hperf.record import Record
from shadowtime.printable import shown

if TYPE_CHECKING:
    from shadowtime.hperf.store import Average, Store


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


PENDING = "pending.jsonl"
_TAG = re.compile(r"tag=([^\s,;]+)")
BROKEN = "pending.broken.jsonl"
"""Lines of the former that are not records: kept so that they can be fixed."""
LARGEST = 1 << 26
"""Bytes of a measurement."""
_DECLARED = re.compile(r"bw=([^\s,;]*)")


def tag_of(comment: str) -> str | None:
    """The tag in a job's comment, as the submit plug-in reads it.

    Examples
    --------
    >>> tag_of("tag=cg.D.16,bw=3000"), tag_of("night run")
    ('cg.D.16', None)
    """
    found = _TAG.search(comment)
    return found[1] if found else None


def record_of(environment: Mapping[str, str], spool: Path, *, now: int) -> Record | None:
    """The record of the job in Slurm's environment; None without a tag or a measurement."""
    job = environment.get("SLURM_JOB_ID", "")
    if not job.isdigit():
        raise InputError("SLURM_JOB_ID is missing: this is run by Slurm's EpilogSlurmctld")
    comment = environment.get("SLURM_JOB_COMMENT", "")
    tag = tag_of(comment)
    if tag is None:
        return None
    key = f"{environment.get('SLURM_CLUSTER_NAME', 'slurm')}/{job}"
    restarts = environment.get("SLURM_RESTART_COUNT", "0")
    if restarts not in ("", "0"):
        key += f"+{restarts}"
    user = environment.get("SLURM_JOB_UID", "")
    owners = {0, os.geteuid(), *([int(user)] if user.isdecimal() else [])}
    measured = spool / f"{job}.perf"
    if measured.is_file():
        counted = parse_perf(_text(measured, owners), path=str(measured))
        return counted.record(tag, key=key, finished=now)
    whole = spool / f"{job}.json"
    if whole.is_file():
        text = _text(whole, owners)
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            raise InputError("not a whole JSON object: half written?", path=str(whole)) from None
        if not isinstance(values, dict):
            raise InputError("a measurement must be a JSON object", path=str(whole))
        return record_from(values | {"tag": tag, "key": key, "finished": now})
    declared = _DECLARED.search(comment)
    if declared is None:
        return None
    return Record(
        tag=tag, bandwidth=_declared(declared[1]), key=key, finished=now, source="declared"
    )


def _declared(text: str) -> float:
    """The bandwidth in a job's comment.

    Examples
    --------
    >>> _declared("3000")
    3000.0
    >>> _declared("1.2.3")
    Traceback (most recent call last):
    ...
    shadowtime.errors.InputError: the job's comment has bw='1.2.3', which is not a number. Write ...
    """
    try:
        return float(text)
    except ValueError:
        raise InputError(
            f"the job's comment has bw={shown(text)}, which is not a number",
            hint="Write MB/s per process, as bw=3000.",
        ) from None


def _text(path: Path, owners: Collection[int]) -> str:
    """A measurement of the job's user, of root or of the epilog's own user.

    A user who may write to the spool can make it a link or a FIFO, or write that of another job.
    """
    try:
        with os.fdopen(private.open_plain(path, os.O_RDONLY), "rb") as file:
            if os.fstat(file.fileno()).st_uid not in owners:
                raise InputError("it belongs to another user than the job", path=str(path))
            return file.read(LARGEST).decode("utf-8", "replace")
    except OSError as wrong:
        raise InputError(f"cannot be read: {wrong.strerror}", path=str(path)) from None


def read_pending(path: Path) -> tuple[list[Record], list[bytes]]:
    """The waiting records, and the lines that are not records, as a crash in mid-write leaves."""
    records, broken = [], []
    try:
        with os.fdopen(private.open_plain(path, os.O_RDONLY), "rb") as file:
            if os.fstat(file.fileno()).st_uid not in (0, os.geteuid()):
                raise InputError("another user has written it: remove it", path=str(path))
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return [], []
    for line in lines:
        try:
            records.append(record_from(json.loads(line)))
        except (ValueError, RecursionError):  # InputError and JSON's own among them
            if line.strip():
                broken.append(line)
    return records, broken


def after_job(
    environment: Mapping[str, str],
    opened: Callable[[], Store],
    *,
    spool: Path,
    table: Path | None,
    now: int,
) -> str:
    """Record a finished job; returns what happened. Raises only for invalid measurements."""
    record = record_of(environment, spool, now=now)
    waiting = spool / PENDING
    spool.mkdir(parents=True, exist_ok=True)
    with private.locked(spool / ".lock", wait=True):
        records, broken = read_pending(waiting)
        if record is not None:
            records.append(record)
        if not records and not broken:
            return "nothing measured and nothing declared: nothing recorded"
        try:
            store = opened()
            added = store.add(records)
            known = store.averages()
        except ShadowtimeError as wrong:
            if record is not None:
                private.append_whole(waiting, json.dumps(asdict(record)).encode() + b"\n")
            return f"{wrong}; {len(records)} records wait in {waiting}"
        if broken:
            private.append_whole(spool / BROKEN, b"".join(line + b"\n" for line in broken))
        waiting.unlink(missing_ok=True)
    if table is not None:
        publish(known, table)
    message = f"{added.new} recorded, {added.known} known already"
    if broken:
        message += (
            f"; {len(broken)} lines of {PENDING} are no records: set aside in {spool / BROKEN}"
        )
    return message
