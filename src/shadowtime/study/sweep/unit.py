"""A unit of work: runs of one log that one worker performs, and the shards it writes."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.engine.rules import rules_of
from shadowtime.engine.watch import CHECKPOINT, Watch
from shadowtime.errors import ShadowtimeError
from shadowtime.metrics import Window, measure, unstarted
from shadowtime.schedule import Schedule
from shadowtime.schedule.check import check
from shadowtime.study.replicas import Replicas
from shadowtime.study.sweep.leaderboard import HELD_OUT, PROVED
from shadowtime.study.sweep.plan import Case, Log
from shadowtime.study.sweep.shards import WHY, Shards, failed_row
from shadowtime.study.unstarted import why_never
from shadowtime.workload import Workload

Loader = Callable[[Log], tuple["Workload", "Cluster"]]
"""Reads a log and its machine; a function that workers can import."""

WRITE_EVERY = 60.0
"""Seconds after which a worker writes what it has: at most this is lost if it is killed."""
LOOK_EVERY = 0.5
"""Seconds between two checks for the file that tells workers to stop."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """Runs that share a log, in an order in which runs on the same copy stand together."""

    cases: tuple[Case, ...]
    folder: str
    load: Loader
    stop: str
    """If this file exists, the worker writes what it has and returns."""

    def halves(self) -> list[Unit]:
        """The unit in two parts; itself if it is a single run."""
        middle = len(self.cases) // 2
        parts = (self.cases[:middle], self.cases[middle:])
        return [replace(self, cases=part) for part in parts if part]


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a worker did: how many runs, how many of them failed."""

    ran: int
    failed: int
    stopped: bool = False


class _Inputs:
    """The last log and the last copy of a worker, so that neither is created twice in a row."""

    def __init__(self) -> None:
        self.log: tuple[str, Any] = ("", None)
        self.copy: tuple[Any, Any] = (None, None)
        self.policies: dict[tuple[str, str], Any] = {}

    def of(self, case: Case, load: Loader) -> tuple[Workload, Cluster]:
        if self.log[0] != case.log.digest:
            self.log = (case.log.digest, None)
            loaded = load(case.log)
            case.log.refuse_changed()  # after reading: a change before or meanwhile shows
            self.log = (case.log.digest, loaded)
        jobs, cluster = self.log[1]
        what = (case.log.digest, case.load, case.kind, case.copy, case.seed)
        if self.copy[0] != what:
            kind: Any = case.kind
            replicas = Replicas(kind, case.copy, case.seed)
            self.copy = (what, replicas.make(jobs, cluster, case.load, case.copy))
        return self.copy[1], cluster

    def policy(self, case: Case) -> Any:
        # A file may read files beside it: the same text in another folder is another policy.
        given = case.variant.given
        which = (case.variant.digest, given if isinstance(given, str) else "")
        made = self.policies.get(which)
        if made is None:
            made = self.policies[which] = case.variant.make()
        return copy.deepcopy(made) if hasattr(made, "decide") else made


_INPUTS = _Inputs()
"""Cache of this process: units of the same log find it already read. It never changes a result."""


def run_unit(unit: Unit, *, clock: Callable[[], float] = time.monotonic) -> Done:
    """Perform a unit and write its rows; at least once a minute, and at the end."""
    shards = Shards(Path(unit.folder))
    rows: list[dict[str, Any]] = []
    ran = failed = 0
    written = looked = clock()
    try:
        for case in unit.cases:
            now = clock()
            if now - looked > LOOK_EVERY:
                looked = now
                if os.path.exists(unit.stop):
                    return Done(ran=ran, failed=failed, stopped=True)
            checkpoint = Path(unit.folder, "checkpoints", f"{case.key}{CHECKPOINT}")
            row = run_case(case, unit.load, Watch(checkpoint=checkpoint))
            checkpoint.unlink(missing_ok=True)
            rows.append(row)
            ran += 1
            failed += "error" in row
            if clock() - written > WRITE_EVERY:
                shards.write(rows)
                rows, written = [], clock()
    finally:  # also if the worker is interrupted: finished runs are kept
        shards.write(rows)
    return Done(ran=ran, failed=failed)


def run_case(case: Case, load: Loader, watch: Watch | None = None) -> dict[str, Any]:
    """One run as a row: its metrics, or the reason why there are none."""
    try:
        jobs, cluster = _INPUTS.of(case, load)
        policy = _INPUTS.policy(case)
        schedule = simulate(jobs, cluster, policy, watch=watch)
        found = measure(schedule, jobs, cluster, window=case.window)
        more = _beyond(case, schedule, jobs, cluster, policy)
    except ShadowtimeError as error:
        return failed_row(case, " ".join(str(error).split()))
    except MemoryError:
        return failed_row(case, "out of memory")
    except Exception as error:  # a bug of ours or of a user's part: the other runs go on
        return failed_row(case, f"{type(error).__name__}: {' '.join(str(error).split())}")
    names = dict.fromkeys((*case.metrics, *unstarted.NAMES)) if case.metrics else found
    kept = {name: float(found[name]) for name in names if name in found}
    never = why_never(schedule, jobs, cluster, window=case.window)
    why = {WHY: "; ".join(f"{one.jobs}: {one.why}" for one in never)} if never else {}
    return {**case.row(), **kept, **more, **why}


def _beyond(
    case: Case, schedule: Schedule, jobs: Workload, cluster: Cluster, policy: Any
) -> dict[str, float]:
    """The proof and the metrics of the last jobs, if the plan requests them."""
    found: dict[str, float] = {}
    if case.check:
        rules = rules_of(policy, jobs, cluster)
        found[PROVED] = float(check(schedule, jobs, cluster, rules=rules).ok)
    if case.held_out:
        first = min(round((1 - case.held_out) * len(jobs)), len(jobs) - 1)
        last = measure(schedule, jobs, cluster, window=Window(since=int(jobs.submit[first])))
        names = case.metrics or last
        found |= {f"{HELD_OUT}{name}": float(last[name]) for name in names if name in last}
    return found
