"""Estimates in a process of their own, at their own pace, with their scores.

The work is that of `shadowtime live slurm --policy slurm`: the same predictions, stored in the
same file, so that they are scored when the jobs start.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from shadowtime.board.shadow import Shadow
from shadowtime.board.slurm_source import past_jobs
from shadowtime.board.view import Estimate, Estimates
from shadowtime.errors import ShadowtimeError
from shadowtime.eta.draws import run_of
from shadowtime.eta.scores import FEW, accuracy
from shadowtime.eta.shares import Shares
from shadowtime.live.predictions import Predictions, read_predictions, resolved
from shadowtime.live.slurm import drive
from shadowtime.live.slurm.accounting import Accounting
from shadowtime.live.slurm.drive import Where
from shadowtime.live.slurm.forecast import Seen, limit_of, predictable, present_of
from shadowtime.live.slurm.watch import Watch, predictions_of
from shadowtime.live.store import StateFile
from shadowtime.policy import parse_policy

PAUSE = 10.0
"""The shortest time in seconds between two estimates."""
IDLE = 0.5
"""The share of the time in which nothing is estimated, at least."""
DAY = 86400


@dataclass(frozen=True, kw_only=True)
class Estimating:
    """What an estimator needs to know; ``shadow`` names a policy in shadow mode."""

    where: Where
    state_file: str | None = None
    shadow: str = ""


class Estimator:
    """Predicts all starts at each :meth:`step`."""

    def __init__(self, wanted: Estimating, *, tell: Callable[[str], None]) -> None:
        self.wanted = wanted
        self._opened = contextlib.ExitStack()
        port = drive.wait_for_port(wanted.where, nodes=False, tell=tell)
        state = Path(wanted.state_file or drive.default_state_file(port.scope.partition))
        self.stored = predictions_of(state)
        self.accounting = Accounting()
        self._past_sent = False
        self._shadow = Shadow(wanted.shadow) if wanted.shadow else None
        self.watch = Watch(
            answers=port.answers,
            clock=port.clock,
            predictions=Predictions(self._own_file(tell), tell=tell),
            policy=parse_policy("slurm"),
            accounting=self.accounting,
        )

    def _own_file(self, tell: Callable[[str], None]) -> Path:
        """Where predictions are stored: not twice, if a watch beside the board stores them."""
        try:
            self.stored.parent.mkdir(parents=True, exist_ok=True)
            self._opened.enter_context(StateFile(self.stored, tell=tell).locked())
        except (ShadowtimeError, OSError) as error:
            tell(f"predictions are not stored by the board: {error}")
            folder = self._opened.enter_context(tempfile.TemporaryDirectory())
            return Path(folder) / "predictions"
        return self.stored

    def step(self) -> Estimates:
        """Look at Slurm, and predict; PortError if it does not answer."""
        began = time.monotonic()
        seen, found = self.watch.step()
        starts = {
            job: Estimate(
                expected=eta.expected,
                earliest=eta.earliest,
                latest=eta.latest,
                within_hour=eta.soon,
            )
            for job, eta in found.etas.items()
        }
        runs = likely_runs(seen)
        shadow = None
        if self._shadow is not None:
            shadow, others = self._shadow.step(seen, runs)
            starts = {job: replace(one, shadow=others.get(job, -1)) for job, one in starts.items()}
        past = None
        if not self._past_sent and self.accounting.sacct:
            past = tuple(past_jobs(self.accounting.sacct, seen.now - DAY))
            self._past_sent = True
        return Estimates(
            at=seen.now,
            took=round(time.monotonic() - began, 2),
            starts=starts,
            unknown=found.unknown,
            runs=runs,
            missing=seen.missing,
            past=past,
            scores=scores_of(self.stored),
            shadow=shadow,
            site=seen.site,
        )


def likely_runs(seen: Seen) -> dict[str, int]:
    """How long each job will run, from its start: the median of what is known of its kind."""
    present = present_of(seen, predictable(seen)[0])
    shares = Shares(present.observed())
    runs = {}
    for one in present.running:
        ran = max(0, seen.now - one.start)
        share = shares.of(one.user, one.limit, one.cpus).at(0.5, above=min(1.0, ran / one.limit))
        runs[one.id] = max(ran + 1, round(share * one.limit))
    for job in present.waiting:
        runs[job.id] = run_of(shares, job.user, job.limit, job.cpus, 0.5)
    for row in seen.rows:
        runs.setdefault(row.id, limit_of(row))
    return runs


def scores_of(path: Path) -> dict[str, Any]:
    """The scores of the predictions that are stored: those of kinds, and of all."""
    if not path.exists():
        return {"few": FEW, "predictions": 0, "scores": []}
    try:
        entries = list(read_predictions(path))
    except ShadowtimeError as error:
        return {"few": FEW, "predictions": 0, "scores": [], "problem": str(error)}
    found: list[Mapping[str, Any]] = [
        asdict(one) | {"few": one.few} for one in accuracy(resolved(entries))
    ]
    return {"few": FEW, "predictions": len(entries), "scores": found}


def serve() -> None:
    """The process: estimates again and again, and answers with each; errors are sentences."""
    from shadowtime.child_process import Tasks

    tasks = Tasks()
    os.nice(10)  # a page that is served late is worse than an estimate that is
    wanted = next(iter(tasks))
    maker: Estimator | None = None
    while True:
        began = time.monotonic()
        try:
            maker = maker or Estimator(wanted, tell=lambda line: tasks.answer(str(line)))
            tasks.answer(maker.step())
        except ShadowtimeError as error:
            tasks.answer(str(error))
        time.sleep(max(PAUSE, (time.monotonic() - began) * IDLE / (1 - IDLE)))
