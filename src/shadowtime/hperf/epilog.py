"""What the epilog does with a finished job: measure, record, publish; and lose nothing.

A measurement is what a collector left in the spool for the job (``JOB.perf``, ``JOB.json``), else
the value that the job declared in its comment (``bw=3000``). Without either nothing is recorded:
nothing is invented. While the store is down records wait in the spool; the next job takes them in.
"""

from __future__ import annotations

import fcntl
import json
import re
from dataclasses import asdict
from typing import TYPE_CHECKING

from shadowtime.errors import InputError, ShadowtimeError
from shadowtime.hperf.collect.perf import parse_perf
from shadowtime.hperf.files import read_records, record_from
from shadowtime.hperf.publish import publish
from shadowtime.hperf.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from shadowtime.hperf.store import Store

PENDING = "pending.jsonl"
_TAG = re.compile(r"tag=([^\s,;]+)")
_DECLARED = re.compile(r"bw=([0-9.]+)")


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
    """The record of the job that Slurm tells of; None where there is no tag or no measurement."""
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
    measured = spool / f"{job}.perf"
    if measured.is_file():
        counted = parse_perf(measured.read_text("utf-8", "replace"), path=str(measured))
        return counted.record(tag, key=key, finished=now)
    whole = spool / f"{job}.json"
    if whole.is_file():
        try:
            told = json.loads(whole.read_text("utf-8"))
        except ValueError:
            raise InputError("not a whole JSON object: half written?", path=str(whole)) from None
        return record_from({"tag": tag, "key": key, "finished": now} | told)
    declared = _DECLARED.search(comment)
    if declared is None:
        return None
    return Record(tag=tag, bandwidth=float(declared[1]), key=key, finished=now, source="declared")


def after_job(
    environment: Mapping[str, str],
    opened: Callable[[], Store],
    *,
    spool: Path,
    table: Path | None,
    now: int,
) -> str:
    """Record a finished job; what happened, in a sentence. Raises only for broken measurements."""
    record = record_of(environment, spool, now=now)
    waiting = spool / PENDING
    spool.mkdir(parents=True, exist_ok=True)
    with (spool / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        records = read_records(waiting) if waiting.is_file() else []
        if record is not None:
            records.append(record)
        if not records:
            return "nothing measured and nothing declared: nothing recorded"
        try:
            store = opened()
            added = store.add(records)
            known = store.averages()
        except ShadowtimeError as wrong:
            if record is not None:
                with waiting.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(record)) + "\n")
            return f"{wrong}; {len(records)} records wait in {waiting}"
        waiting.unlink(missing_ok=True)
    if table is not None:
        publish(known, table)
    return f"{added.new} recorded, {added.known} known already"
