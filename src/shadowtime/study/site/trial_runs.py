"""The runs of a what-if: every repeat of the baseline, of each change and of all together.

Workers can perform them into a folder, from which the what-if reads them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.errors import UsageError
from shadowtime.schedule.match import take
from shadowtime.study.compare import Engine
from shadowtime.study.site.changes import Change, apply_all
from shadowtime.study.site.experiment import Experiment
from shadowtime.study.site.options import Option
from shadowtime.study.site.trials import Repeats, Trial, as_measured
from shadowtime.study.site.world import SiteWorld
from shadowtime.study.sweep import keys, store
from shadowtime.types import Ints
from shadowtime.workload.follows import as_submitted, closed_loop


@dataclass(frozen=True, eq=False, kw_only=True)
class TrialRun:
    """One run: a site with some changes, on one copy of the log."""

    world: SiteWorld
    changes: tuple[Change, ...]
    repeats: Repeats
    number: int
    policy: Any
    """As measured on the unmodified log, at the offset of this run."""
    engine: Engine
    follows: Ints | None
    """Closed loop: who submits behind whom (workload/follows.py)."""

    def __call__(self) -> Trial:
        made = self.input()
        jobs, site = made.jobs, cast("Cluster", made.site)
        if self.follows is None:
            return Trial(
                jobs, self.engine(jobs, site, self.policy), self.repeats.stretch(self.number)
            )
        schedule = self.engine(jobs, site, self.policy)
        jobs, rows = as_submitted(jobs, schedule.submit)
        return Trial(jobs, take(schedule, rows))

    def input(self) -> SiteWorld:
        """The changed site with its copy of the log, created when needed."""
        copy = self.repeats.copy(self.world.jobs, self.number)
        if self.follows is not None:
            copy = copy.replace(follows=self.follows)
        return apply_all(self.world.replace(jobs=copy), self.changes)


@dataclass(frozen=True, eq=False, kw_only=True)
class TrialRuns:
    """All runs, one set of changes after another; the first set is empty, the baseline."""

    sets: tuple[tuple[Change, ...], ...]
    repeats: Repeats
    all: tuple[TrialRun, ...]


def trial_runs(
    world: SiteWorld,
    changes: Sequence[Change],
    *,
    options: Sequence[Option] = (),
    repeats: Repeats | None = None,
    alone: bool = True,
    feedback: bool = False,
    engine: Engine = simulate,
) -> TrialRuns:
    """What a what-if has to run; the rules are those of ``what_if``."""
    repeats = repeats or Repeats()
    if not changes and not options:
        raise UsageError("nothing is changed: give --set, --add-nodes, --policy or another change")
    if changes and options:
        raise UsageError("give changes, or each of them in an --option of its own: not both")
    singles = [(change,) for change in changes] if alone and len(changes) > 1 else []
    sets: tuple[tuple[Change, ...], ...] = ((), *singles, tuple(changes))
    if options:
        sets = ((), *(one.changes for one in options))
    policies = [apply_all(world, chosen).policy for chosen in sets]
    if not repeats.stretches and not all(hasattr(policy, "phase") for policy in policies):
        # A policy without phases is the same in every run: shaken copies are used instead.
        repeats = replace(repeats, shake=not repeats.resample)
    if repeats.count < 2:
        raise UsageError("one run has no interval: give --phases 2 or more")
    follows = None
    loaded = any(one.kind == "load" for chosen in sets for one in chosen)
    if repeats.stretches and (feedback or repeats.shake or repeats.resample or loaded):
        raise UsageError(
            "--quick works on parts of the unmodified log: not with --feedback, --shake, "
            "--resample or --load"
        )
    if feedback:
        if repeats.shake or repeats.resample or loaded:
            raise UsageError(
                "--feedback works on the unmodified log under slurm: not with --shake, --resample, "
                "--load or a policy without phases"
            )
        follows = closed_loop(world.jobs).follows
    found = []
    for chosen, own in zip(sets, policies, strict=True):
        # By the log as it was: a latency that moved with the load would look like an effect.
        policy = as_measured(own, world.jobs, world.site)
        found += [
            TrialRun(
                world=world,
                changes=chosen,
                repeats=repeats,
                number=number,
                policy=repeats.phased(policy, number),
                engine=engine,
                follows=follows,
            )
            for number in range(repeats.count)
        ]
    return TrialRuns(sets=sets, repeats=repeats, all=tuple(found))


Loader = Callable[[Experiment], "SiteWorld"]
"""Reads a site; a function that workers can import."""


@dataclass(frozen=True, kw_only=True)
class WhatIfStudy:
    """The runs of an experiment; its paths are absolute, as workers start elsewhere."""

    experiment: Experiment
    folder: str
    load: Loader

    @classmethod
    def of(
        cls, experiment: Experiment, folder: str | os.PathLike[str], load: Loader
    ) -> WhatIfStudy:
        """A study that can be sent: relative paths are those of this process."""

        def absolute(path: str) -> str:
            return os.path.abspath(path) if os.path.exists(path) else path

        moved = replace(
            experiment, site=absolute(experiment.site), cluster=absolute(experiment.cluster)
        )
        return cls(experiment=moved, folder=os.path.abspath(folder), load=load)

    def parts(self) -> tuple[TrialRun, ...]:
        """Every run, whose schedule goes to the folder."""
        return self.runs(self.load(self.experiment))

    def runs(self, world: SiteWorld) -> tuple[TrialRun, ...]:
        """The same for a world that is read already."""
        given = self.experiment
        return trial_runs(
            world, given.changes, options=given.options, repeats=given.repeats_on(world.jobs),
            feedback=given.feedback, engine=store.kept(simulate, self.folder),
        ).all  # fmt: skip

    def missing(self, world: SiteWorld) -> list[int]:
        """Runs without a schedule."""
        return [at for at, run in enumerate(self.runs(world)) if not self._has(run)]

    def _has(self, run: TrialRun) -> bool:
        made = run.input()
        cluster = cast("Cluster", made.site)
        return store.Store.at(self.folder).has(keys.of_run(made.jobs, cluster, run.policy))
