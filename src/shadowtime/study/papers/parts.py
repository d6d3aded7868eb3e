"""A paper whose runs are made by workers and kept in a folder."""

from __future__ import annotations

import os
import pkgutil
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.errors import UsageError
from shadowtime.study.papers.kept import kept
from shadowtime.study.papers.subjects import Subject, find_subjects

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shadowtime.study.papers.reproduction import Paper, Plan


def names() -> list[str]:
    """The papers that can be carried out: a folder each.

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
        if self.quick and self.paper.quick is None:
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

    def plan(self, subjects: Sequence[Subject]) -> Plan:
        """Its tasks on these subjects; each keeps its result where there is a folder."""
        paper = self.paper
        seeds = self.seeds or paper.seeds
        made = ((self.quick and paper.quick) or paper.plan)(subjects, seeds)
        if self.folder is None:
            return made
        return kept(
            made, self.folder, paper=paper.name, subjects=subjects, seeds=seeds, quick=self.quick
        )

    def parts(self) -> list[Callable[[], Any]]:
        """Every task, for a worker."""
        return [task.work for task in self.plan(self.subjects()[0]).tasks]
