"""A paper whose runs are made by workers, with the results kept in a folder by key.

No task runs twice. What a task finds is whatever its paper measures. The key is a digest of the
paper, the task, the logs with their machines, the seeds, the semantics of the engine and the
sources of the package, since the code of a task is what it measures.
"""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from shadowtime.engine.semantics import SEMANTICS
from shadowtime.errors import UsageError
from shadowtime.kernel.sources import PACKAGE
from shadowtime.study.papers.reproduction import Paper, Runs, Subject, Task, find_subjects
from shadowtime.study.sweep.keys import canonical, digest, of_file, of_workload
from shadowtime.study.sweep.store import Store


def kept(
    plan: Runs,
    folder: str | os.PathLike[str],
    *,
    paper: str,
    subjects: Sequence[Subject],
    seeds: int,
    quick: bool = False,
) -> Runs:
    """The same plan, whose tasks take what the folder has and keep what it has not.

    Ctrl-C and kill -9 lose only the tasks in progress.
    """
    store = Store.at(folder)
    inputs = [
        part for one in subjects for part in (one.label, of_workload(one.workload),
                                              digest(*canonical(one.cluster)))
    ]  # fmt: skip
    common = digest(paper, str(SEMANTICS), sources(), str(seeds), str(quick), *inputs)
    tasks = {}
    for at, (name, task) in enumerate(plan.tasks.items()):
        key = digest(common, str(at), task.name)
        work = partial(_once, store, key, task)
        tasks[name] = Task(name=task.name, work=work, path=store.path(key))
    return replace(plan, tasks=tasks)


def _once(store: Store, key: str, task: Task) -> Any:
    return store.once(key, lambda watch: task.work())


@cache
def sources() -> str:
    """The digest of every source file of the package."""
    files = sorted(PACKAGE.rglob("*.py"))
    return digest(*(f"{one.relative_to(PACKAGE).as_posix()} {of_file(one)}" for one in files))


def names() -> list[str]:
    """The papers that can be reproduced: a folder each.

    Examples
    --------
    >>> names()
    ['class-partitioning', 'hperf', 'ibb', 'pv-easy', 'rua']
    """
    found = pkgutil.iter_modules([str(Path(__file__).parent)])
    return sorted(
        one.name.replace("_", "-") for one in found if one.ispkg and one.name != "published"
    )


@dataclass(frozen=True, kw_only=True)
class PaperStudy:
    """A paper by its inputs."""

    name: str
    traces: str | None = None
    """The folder of the logs; None: a generated workload."""
    seeds: int | None = None
    """None: as many as the paper usually takes."""
    quick: bool = False
    folder: str | None = None
    """What each run finds is kept there, and taken from there."""

    def __post_init__(self) -> None:
        if self.quick and not self.paper.quick:
            raise UsageError(f"{self.name} has no quick form: try --seeds 1")

    def absolute(self) -> PaperStudy:
        """The same for workers, which start in other folders."""
        return replace(
            self,
            traces=os.path.abspath(self.traces) if self.traces else None,
            folder=os.path.abspath(self.folder) if self.folder else None,
        )

    @property
    def paper(self) -> Paper:
        """The paper itself, from the folder of its name."""
        found: Paper = import_module(f"shadowtime.study.papers.{self.name.replace('-', '_')}").PAPER
        return found

    def subjects(self) -> tuple[list[Subject], list[str]]:
        """What the paper runs on, and the names of the logs that are missing."""
        paper = self.paper
        if paper.subjects:
            return paper.subjects(), []
        return find_subjects(paper.logs, self.traces)

    def plan(self, subjects: Sequence[Subject]) -> Runs:
        """Its tasks on these subjects; each keeps its result where there is a folder."""
        paper = self.paper
        seeds = self.seeds or paper.seeds
        made = paper.plan(subjects, seeds, quick=self.quick)
        if self.folder is None:
            return made
        return kept(
            made, self.folder, paper=paper.name, subjects=subjects, seeds=seeds, quick=self.quick
        )

    def parts(self) -> list[Callable[[], Any]]:
        """Every task, for a worker."""
        return [task.work for task in self.plan(self.subjects()[0]).tasks.values()]
