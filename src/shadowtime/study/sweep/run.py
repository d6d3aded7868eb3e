"""Carry out what a plan still lacks: on processes of this machine, or on any executor."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import secrets
import signal
import threading
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from dataclasses import dataclass
from multiprocessing.connection import wait as wait_for_end
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shadowtime.engine import simulate
from shadowtime.engine.warm import pass_of, warm
from shadowtime.errors import ShadowtimeError, UsageError
from shadowtime.study.fan_out import cores
from shadowtime.study.sweep.shards import Shards, failed_row
from shadowtime.study.sweep.unit import Done, Loader, Unit, run_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from shadowtime.study.sweep.plan import Case, Log, Plan


Retry = Literal["none", "failed"]
COMPILING = "compiling the engine for this machine: once, under a minute ..."
DIED = "the worker died in this run: killed, or out of memory"
DEATHS = 2
"""A run that was alone in a worker that died so often is recorded as failed."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a call did, and what the folder holds of the plan."""

    planned: int
    skipped: int
    """Runs that had a row before."""
    ran: int
    failed: int
    """Runs of this call that are rows with an error."""
    stopped: bool = False


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a sweep is, for display."""

    done: int
    failed: int
    total: int


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
    them where given; else ``workers`` processes of this machine are used (1: this process). A
    worker that dies breaks a pool: a new one is made and the units that were lost are run again in
    halves, until the run that kills its worker is found and recorded as failed. Kernels are
    compiled once before the units are sent out.
    """
    shards = Shards(Path(folder))
    shards.make()
    cases = shard_of(list(plan.cases()), shard)
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
        elif executor is not None:
            _share_out(units, lambda: contextlib.nullcontext(executor), shards, count, stop)
        else:
            _share_out(units, lambda: process_pool(several), shards, count, stop)
    return count.outcome()


def prepare(
    cases: Sequence[Case], load: Loader, announce: Callable[[str], None] = lambda text: None
) -> dict[str, int]:
    """Compile what the cases need, once; returns the number of jobs of each log by its digest.

    One job of each log goes through each pass. A log that cannot be read is left to its runs,
    which report it.
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


class _Count:
    """Runs so far."""

    def __init__(self, *, planned: int, skipped: int, progress: Callable[[Progress], None]) -> None:
        self.planned, self.skipped, self.progress = planned, skipped, progress
        self.ran = self.failed = 0
        self.stopped = False

    def add(self, done: Done) -> None:
        self.ran += done.ran
        self.failed += done.failed
        self.stopped |= done.stopped
        total = self.planned - self.skipped
        self.progress(Progress(done=self.ran, failed=self.failed, total=total))

    def outcome(self) -> Outcome:
        return Outcome(
            planned=self.planned, skipped=self.skipped, ran=self.ran, failed=self.failed,
            stopped=self.stopped,
        )  # fmt: skip


def _share_out(
    units: Sequence[Unit],
    pool: Callable[[], contextlib.AbstractContextManager[Executor]],
    shards: Shards,
    count: _Count,
    stop: str,
) -> None:
    """Send units to workers until all are done, again where workers died."""
    waiting, deaths = list(units), dict[str, int]()
    while waiting:
        with pool() as executor:
            lost = _round(executor, waiting, count, stop)
        if not lost:
            return
        done = shards.done()
        waiting = []
        for unit, why in lost:
            left = tuple(case for case in unit.cases if case.key not in done)
            count.add(Done(ran=len(unit.cases) - len(left), failed=0))
            if len(left) > 1:
                waiting += Unit(
                    cases=left, folder=unit.folder, load=unit.load, stop=unit.stop
                ).halves()
            elif left:
                key = left[0].key
                deaths[key] = deaths.get(key, 0) + 1
                if deaths[key] < DEATHS:
                    waiting += unit.halves()
                else:
                    shards.write([failed_row(left[0], why)])
                    count.add(Done(ran=1, failed=1))


def _round(
    executor: Executor, units: Sequence[Unit], count: _Count, stop: str
) -> list[tuple[Unit, str]]:
    """One try at all units; those that were lost come back with the reason."""
    lost: list[tuple[Unit, str]] = []
    futures: dict[Future[Done], Unit] = {}
    try:
        try:
            for unit in units:
                futures[executor.submit(run_unit, unit)] = unit
        except BrokenExecutor:  # a worker died while others were still handed in
            lost += [(unit, DIED) for unit in units[len(futures) :]]
        left = set(futures)
        while left:
            ended, left = wait(left, return_when=FIRST_COMPLETED)
            for future in ended:
                wrong = future.exception()
                if wrong is None:
                    count.add(future.result())
                elif isinstance(wrong, ShadowtimeError | OSError):
                    raise wrong
                else:  # a broken pool, or whatever an executor calls a lost worker
                    broken = isinstance(wrong, BrokenExecutor) or not str(wrong)
                    why = DIED if broken else f"{type(wrong).__name__}: {wrong}"
                    lost.append((futures[future], why))
    except BaseException:  # Ctrl-C: workers write what they have
        Path(stop).touch()
        for future in futures:
            future.cancel()
        wait([future for future in futures if future.running()])
        raise
    return lost


def _size(executor: Executor | None) -> int:
    """Workers of an executor, where it says."""
    return int(getattr(executor, "_max_workers", None) or 64) if executor is not None else 1


@contextlib.contextmanager
def _stop_file(folder: Path) -> Iterator[str]:
    """The name of a file that asks the workers of this call to stop."""
    path = folder / f".stop-{secrets.token_hex(8)}"
    try:
        yield os.path.abspath(path)
    finally:
        path.unlink(missing_ok=True)


def process_pool(workers: int) -> ProcessPoolExecutor:
    """A pool whose workers begin with the modules loaded, and end with their parent.

    They are forked from a server that has no threads of ours, so nothing is held locked in them.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["shadowtime.study.sweep.unit"])
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_begin)


def _begin() -> None:
    """Ctrl-C is the parent's affair; a parent that was killed takes its workers along."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for_end([parent.sentinel])
        os._exit(1)


MOST = 1000
"""Runs in a unit: a file for each thousand is little for a file system and a table to collect."""
SECONDS = 60.0
"""What a unit should take at most."""
PER_RUN, PER_JOB = 0.002, 2e-5
"""Seconds that a run takes, about: a guess on the safe side, for sharing out only."""
EACH = 4
"""Units per worker at least, so that no worker waits long for the last."""


def cost(jobs: int) -> float:
    """Seconds that a run of so many jobs takes, about."""
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


def shard_of(cases: Sequence[Case], text: str | None) -> list[Case]:
    """The runs of one of N tasks: ``3/64`` is the third of 64 stretches of nearly equal length.

    Every run is in exactly one stretch, whatever is done already, so tasks never share one.
    """
    if text is None:
        return list(cases)
    number, slash, count = text.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise UsageError(f"the shard {text!r} is not i/N with i from 1 to N, as in 3/64")
    i, n = int(number), int(count)
    return list(cases[len(cases) * (i - 1) // n : len(cases) * i // n])
