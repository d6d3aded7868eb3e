"""A what-if whose runs are performed by workers and saved in a folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from shadowtime.engine import simulate
from shadowtime.study.site.experiment import Experiment
from shadowtime.study.site.trial_runs import TrialRun, trial_runs
from shadowtime.study.sweep.keys import of_run
from shadowtime.study.sweep.store import Store, kept

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.study.site.world import SiteWorld

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
            feedback=given.feedback, engine=kept(simulate, self.folder),
        ).all  # fmt: skip

    def missing(self, world: SiteWorld) -> list[int]:
        """Runs without a schedule."""
        return [at for at, run in enumerate(self.runs(world)) if not self._has(run)]

    def _has(self, run: TrialRun) -> bool:
        made = run.input()
        cluster = cast("Cluster", made.site)
        return Store.at(self.folder).has(of_run(made.jobs, cluster, run.policy))
