"""An engine that saves every schedule in a folder, by its key, and computes none twice.

For studies that need whole schedules, where a row of numbers is not enough (a what-if compares
waits job by job). The key is that of a sweep's runs: a digest of the jobs, the machine, the policy
and the version of the engine's semantics.
"""

from __future__ import annotations

import json
import threading
import zipfile
from collections import Counter
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.engine.semantics import SEMANTICS
from shadowtime.engine.watch import CHECKPOINT, Watch
from shadowtime.errors import InputError, UsageError
from shadowtime.private import result_file
from shadowtime.schedule import Attempts, Schedule
from shadowtime.study.sweep.keys import digest, of_policy, of_workload

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from shadowtime.cluster import Cluster
    from shadowtime.study.compare import Engine
    from shadowtime.workload import Workload

FOLDER = "schedules"
ONE_AT_A_TIME = threading.Lock()
"""NumPy reads the head of an array, and a key the source of a function, with ``ast``, which in
Python 3.11 occasionally fails if two threads use it (SystemError: recursion depth mismatch)."""
REST = "rest"
"""What is no array, as JSON."""
WORDS = ("place", "missing", "policy", "claims", "counters", "waited_for")
COLUMNS = tuple(one.name for one in fields(Schedule) if one.name not in (*WORDS, "attempts"))


def kept(engine: Engine, folder: str | os.PathLike[str]) -> Engine:
    """The same engine, which reuses the folder's schedules and saves new ones.

    Files are written atomically: Ctrl-C and kill -9 lose at most the last minute of the run in
    progress, which continues from its checkpoint (engine/watch.py), or repeats it where the engine
    writes none.

    Examples
    --------
    >>> import tempfile
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.engine import simulate
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1], run=[9, 5], procs=[3, 4])
    >>> with tempfile.TemporaryDirectory() as place:
    ...     _ = kept(simulate, place)(jobs, Cluster.pool(4), parse_policy("easy"))
    ...     again = kept(None, place)(jobs, Cluster.pool(4), parse_policy("easy"))  # no engine
    >>> again.start.tolist()
    [0, 9]
    """
    root = Path(folder) / FOLDER
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot create the folder {root}: {error.strerror}") from None

    def run(
        jobs: Workload, cluster: Cluster, policy: Any, /, *, watch: Watch | None = None
    ) -> Schedule:
        with ONE_AT_A_TIME:
            path = path_of(folder, jobs, cluster, policy)
            if path.exists():
                return read_kept(path)
        checkpoint = path.with_suffix(CHECKPOINT)
        made = engine(jobs, cluster, policy, watch=replace(watch or Watch(), checkpoint=checkpoint))
        write_kept(made, path)
        checkpoint.unlink(missing_ok=True)
        return made

    return run


def runs_in(folder: str | os.PathLike[str]) -> str:
    """What a folder has of runs, in words; empty where it has none.

    Examples
    --------
    >>> runs_in("no such folder")
    ''
    """
    counts = Counter(one.suffix for one in (Path(folder) / FOLDER).glob("*.*"))
    words = {".npz": "finished", CHECKPOINT: "to be continued"}
    found = [f"{counts[end]:,} {word}" for end, word in words.items() if counts[end]]
    return f"runs found: {', '.join(found)}" if found else ""


def path_of(folder: str | os.PathLike[str], jobs: Workload, cluster: Cluster, policy: Any) -> Path:
    """Where the schedule of a run is kept."""
    return Path(folder) / FOLDER / f"{key_of(jobs, cluster, policy)}.npz"


def key_of(jobs: Workload, cluster: Cluster, policy: Any) -> str:
    """The digest of what a schedule depends on."""
    machine = digest(*canonical(cluster))
    return digest("schedule", str(SEMANTICS), of_workload(jobs), machine, of_policy(policy))


def canonical(value: Any) -> Iterator[str | bytes]:
    """A value as texts that are the same in every process: sets are sorted.

    Examples
    --------
    >>> list(canonical(frozenset({"b", "a"})))
    ['set', '2', "'a'", "'b'"]
    """
    if is_dataclass(value) and not isinstance(value, type):
        yield type(value).__name__
        for one in fields(value):
            if one.compare:
                yield one.name
                yield from canonical(getattr(value, one.name))
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield from (value.dtype.str, str(value.shape), np.ascontiguousarray(value).tobytes())
    elif isinstance(value, (set, frozenset)):
        yield from ("set", str(len(value)), *sorted(digest_text(one) for one in value))
    elif isinstance(value, dict) or hasattr(value, "items"):
        yield from ("dict", str(len(value)))
        for key, item in value.items():
            yield from canonical(key)
            yield from canonical(item)
    elif isinstance(value, (list, tuple)) or (
        isinstance(value, np.ndarray) and value.dtype == object
    ):
        yield from ("list", str(len(value)))
        for item in value:
            yield from canonical(item)
    else:
        yield repr(value)


def digest_text(value: Any) -> str:
    """One text for a member of a set."""
    parts = list(canonical(value))
    return parts[0] if len(parts) == 1 and isinstance(parts[0], str) else digest(*parts)


def write_kept(schedule: Schedule, path: Path) -> None:
    """Every column and every word of a schedule, as one file without pickled objects."""
    columns = {name: getattr(schedule, name) for name in COLUMNS}
    columns |= {f"attempts_{one.name}": getattr(schedule.attempts, one.name)
                for one in fields(Attempts)}  # fmt: skip
    place, waited = schedule.place, schedule.waited_for
    rest = {
        "place": None if place is None else [str(one) for one in place],
        "missing": list(schedule.missing),
        "policy": schedule.policy,
        "claims": list(schedule.claims),
        "counters": {name: int(count) for name, count in schedule.counters.items()},
        "waited_for": None if waited is None else [[int(job), why] for job, why in waited.items()],
    }
    columns[REST] = np.frombuffer(json.dumps(rest).encode(), np.uint8)
    with result_file(path) as beside, open(beside, "wb") as file:
        np.savez(file, **{name: value for name, value in columns.items() if value is not None})


def read_kept(path: Path) -> Schedule:
    """The schedule of a file that ``write_kept`` wrote."""
    try:
        with np.load(path, allow_pickle=False) as found:
            columns = {name: found[name] for name in found.files}
        rest = json.loads(columns.pop(REST).tobytes())
        attempts = {
            one.name: columns.pop(f"attempts_{one.name}")
            for one in fields(Attempts)
            if f"attempts_{one.name}" in columns  # what a schedule lacks, its file lacks
        }
        waited = rest["waited_for"]
        return Schedule(
            **columns,
            attempts=Attempts(**attempts),
            place=rest["place"],
            missing=tuple(rest["missing"]),
            policy=rest["policy"],
            claims=tuple(rest["claims"]),
            counters=rest["counters"],
            waited_for=None if waited is None else dict(waited),
        )
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        why = str(error) or type(error).__name__
        raise InputError(f"cannot be read ({why})", path=str(path), hint="Delete it.") from None
