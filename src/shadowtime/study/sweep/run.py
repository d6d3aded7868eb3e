"""Perform the missing runs of a plan, or of a comparison's copies: on processes or any executor."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.engine.warm import pass_of, warm
from shadowtime.errors import ShadowtimeError, UsageError
from shadowtime.metrics import Window
from shadowtime.study.compare import Known
from shadowtime.study.fan_out import cores
from shadowtime.study.replicas import Load
from shadowtime.study.sweep.hand_out import Lost, Progress, abandon, hand_out, on_executor
from shadowtime.study.sweep.plan import Case, Log, Plan
from shadowtime.study.sweep.shards import ERROR, FIXED, SETTING, Shards, failed_row
from shadowtime.study.sweep.unit import Done, Loader, Unit, run_unit
from shadowtime.workload import Workload

Retry = Literal["none", "failed"]
COMPILING = "compiling the engine for this machine: once, under a minute ..."


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a call did, and what the folder contains of the plan."""

    planned: int
    skipped: int
    """Runs that had a row before."""
    ran: int
    failed: int
    """Runs of this call that are rows with an error."""
    stopped: bool = False


def run_plan(
    plan: Plan,
    folder: str | os.PathLike[str],
    *,
    load: Loader,
    workers: int | None = None,
    executor: Executor | None = None,
    shard: str | None = None,
    retry: Retry = "none",
    progress: Callable[[Progress], None] = lambda progress: None,
    announce: Callable[[str], None] = lambda text: None,
) -> Outcome:
    """Run every case of a plan that has no row in the folder yet.

    Rules
    -----
    Cases go to workers in units of one log; a worker writes what it did as a shard. ``executor`` is
    any ``concurrent.futures.Executor`` whose workers see the folder and the logs, ``workers`` of
    them if given; else ``workers`` processes of this machine are used (1: this process). A unit
    whose worker died is run again in halves, until the run that ends its worker is found and
    recorded as failed. Kernels are compiled once before the units are sent out.
    """
    shards = Shards(Path(folder))
    shards.make()
    cases = list(plan.cases(shard))
    done = shards.done()
    again = retry == "failed"
    todo = [case for case in cases if case.key not in done or (again and not done[case.key])]
    count = _Count(planned=len(cases), skipped=len(cases) - len(todo), progress=progress)
    if not todo:
        return count.outcome()
    jobs = prepare(todo, load, announce)
    several = cores() if workers is None else max(1, workers)
    with _stop_file(shards.folder) as stop:
        units = [
            Unit(cases=part, folder=os.path.abspath(folder), load=load, stop=stop)
            for part in split(todo, workers=workers or max(several, _size(executor)), jobs=jobs)
        ]
        if executor is None and (several == 1 or len(units) == 1):
            for unit in units:
                count.add(run_unit(unit))
        else:
            hand_out(
                units, run_unit, on_executor(executor, several), done=count.add,
                again=_again(shards, count), stop=lambda: _touch(stop),
            )  # fmt: skip
    return count.outcome()


def prepare(
    cases: Sequence[Case], load: Loader, announce: Callable[[str], None] = lambda text: None
) -> dict[str, int]:
    """Compile what the cases need, once; returns the number of jobs of each log by its digest.

    One job of each log goes through each pass. A log that cannot be read is reported by its runs.
    """
    wanted: dict[str, tuple[Log, dict[str, Any]]] = {}
    for case in cases:
        log, variants = wanted.setdefault(case.log.digest, (case.log, {}))
        variants.setdefault(case.variant.digest, case.variant)
    jobs: dict[str, int] = {}
    for digest, (log, variants) in wanted.items():
        try:
            workload, cluster = load(log)
        except ShadowtimeError:
            continue
        jobs[digest] = len(workload)
        one = workload.take(np.arange(min(1, len(workload))))
        chosen: dict[str, Any] = {}
        for variant in variants.values():
            with contextlib.suppress(ShadowtimeError):
                made = variant.make()
                if not hasattr(made, "decide"):  # which is not compiled
                    chosen.setdefault(pass_of(made, cluster) or variant.digest, made)
        warm(list(chosen.values()), cluster, cores=cores(), announce=lambda _: announce(COMPILING))
        for made in chosen.values():
            with contextlib.suppress(Exception):  # a run that fails is a row, not the end
                simulate(one, cluster, made)
    return jobs


@dataclass
class _Count:
    """Runs so far."""

    planned: int
    skipped: int
    progress: Callable[[Progress], None]
    ran: int = 0
    failed: int = 0
    stopped: bool = False

    def add(self, done: Done) -> None:
        self.ran += done.ran
        self.failed += done.failed
        self.stopped |= done.stopped
        total = self.planned - self.skipped
        self.progress(Progress(done=self.ran, failed=self.failed, total=total))

    def outcome(self) -> Outcome:
        names = (one.name for one in fields(Outcome))
        return Outcome(**{name: getattr(self, name) for name in names})


def _again(shards: Shards, count: _Count) -> Callable[[list[Lost[Unit]]], list[Unit]]:
    """What to send instead of units that were lost: halves, until the failing run is found."""
    deaths: Counter[Hashable] = Counter()

    def again(lost: list[Lost[Unit]]) -> list[Unit]:
        done = shards.done()
        waiting: list[Unit] = []
        for one in lost:
            left = tuple(case for case in one.item.cases if case.key not in done)
            count.add(Done(ran=len(one.item.cases) - len(left), failed=0))
            if len(left) == 1 and abandon(deaths, left[0].key, one):
                shards.write([failed_row(left[0], one.why)])
                count.add(Done(ran=1, failed=1))
            else:
                waiting += replace(one.item, cases=left).halves()
        return waiting

    return again


def _size(executor: Executor | None) -> int:
    """Workers of an executor, if known."""
    return int(getattr(executor, "_max_workers", None) or 64) if executor is not None else 1


def _touch(stop: str) -> None:
    with contextlib.suppress(OSError):  # a full disk: workers finish their unit, or fail as we did
        Path(stop).touch()


@contextlib.contextmanager
def _stop_file(folder: Path) -> Iterator[str]:
    """The name of a file that tells the workers of this call to stop."""
    path = folder / f".stop-{secrets.token_hex(8)}"
    try:
        yield os.path.abspath(path)
    finally:
        path.unlink(missing_ok=True)


MOST = 1000
"""Runs in a unit: one file per thousand runs is easy on the file system and on collecting."""
SECONDS = 60.0
"""The longest duration of a unit in seconds."""
PER_RUN, PER_JOB = 0.002, 2e-5
"""Approximate seconds of a run: a conservative guess, used only for distribution."""
EACH = 4
"""Units per worker at least, so that no worker waits long for the last."""


def cost(jobs: int) -> float:
    """Approximate seconds of a run with this many jobs."""
    return PER_RUN + PER_JOB * jobs


def split(
    cases: Iterable[Case], *, workers: int, jobs: Mapping[str, int] | None = None
) -> list[tuple[Case, ...]]:
    """Runs in units of one log each; ``jobs`` is the number of jobs by the digest of a log.

    Examples
    --------
    >>> split([], workers=2)
    []
    """
    known = jobs or {}
    by_log: dict[str, list[Case]] = {}
    for case in cases:
        by_log.setdefault(case.log.digest, []).append(case)
    total = sum(map(len, by_log.values()))
    share = max(1, total // (EACH * workers))
    units = []
    for log, mine in by_log.items():
        fast_enough = max(1, int(SECONDS / cost(known.get(log, 10_000))))
        size = min(MOST, share, fast_enough)
        units += [tuple(mine[at : at + size]) for at in range(0, len(mine), size)]
    return units


def run_copies(
    workload: Workload,
    cluster: Cluster,
    policies: Sequence[Any],
    folder: str | os.PathLike[str],
    *,
    load: Loader,
    loads: Sequence[Load],
    shake: int,
    resample: int,
    seed: int,
    window: Window,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[Progress], None] = lambda progress: None,
    announce: Callable[[str], None] = lambda text: None,
) -> Known:
    """Run what the folder lacks of every policy on every copy; returns the numbers of each.

    Rules
    -----
    The runs are those of a sweep (``run_plan``): each has a key, a key with a row is not run again,
    and Ctrl-C keeps what is done. A run that failed is tried again. ``policies`` are texts without
    ranges, or policies, in the order of the comparison.

    Examples
    --------
    >>> import tempfile
    >>> from shadowtime.api.sweep import load_log
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.metrics import Window
    >>> from shadowtime.study.replicas import AS_RECORDED
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     known = run_copies(
    ...         jobs, Cluster.pool(4), ["easy"], folder, load=load_log, loads=[AS_RECORDED],
    ...         shake=2, resample=0, seed=1, window=Window.all(), workers=1,
    ...     )
    >>> known(0, AS_RECORDED, 2)["jobs"]
    3.0
    """
    if not shake and not resample:
        raise UsageError("there are no copies to run: add --shake N or --resample N")
    plan = Plan.of(
        [Log.of(workload, cluster)], policies, loads=loads, shake=shake, resample=resample,
        seeds=(seed,), window=window,
    )  # fmt: skip
    if len(plan.variants) != len(policies):
        raise UsageError("a comparison takes policies without ranges: sweep runs every value")
    run_plan(
        plan, folder, load=load, workers=workers, executor=executor, retry="failed",
        progress=progress, announce=announce,
    )  # fmt: skip
    keys = {(c.variant.digest, str(c.load), c.copy): c.key for c in plan.cases()}
    wanted = set(keys.values())
    rows = {
        row["key"]: row
        for row in Shards(Path(folder)).collect().to_pylist()
        if row["key"] in wanted
    }

    def known(policy: int, at: Load, copy: int) -> dict[str, float]:
        row = rows[keys[plan.variants[policy].digest, str(at), copy]]
        if row[ERROR] is not None:
            raise ShadowtimeError(f"{row['policy']} on copy {copy} of {row['log']}: {row[ERROR]}")
        return {
            name: value
            for name, value in row.items()
            if value is not None and name not in (*FIXED, ERROR) and not name.startswith(SETTING)
        }

    return known
