"""Several result folders together: one page over the same jobs, or a grid of different ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.report import ReportInput
from shadowtime.result.read import Folder, inner_folders, read_folder

SAME = ("job_id", "submit", "run", "procs")
"""Columns that are equal if two folders contain the same jobs."""


@dataclass(frozen=True, eq=False)
class Folders:
    """Result folders with the names that a page gives them."""

    names: tuple[str, ...]
    found: tuple[Folder, ...]

    @property
    def same_jobs(self) -> bool:
        """Do all of them schedule the same jobs?"""
        first, *others = (folder.result.workload for folder in self.found)
        return all(
            np.array_equal(getattr(first, name), getattr(other, name))
            for other in others
            for name in SAME
        )

    def merged(self) -> Folder:
        """All runs in one result, each with its folder's name; the first run is the baseline.

        Rules
        -----
        The folders score the same jobs (window and selection), else their metrics cannot be
        compared. Each run keeps its own machine.
        """
        first = self.found[0]
        for name, folder in zip(self.names, self.found, strict=True):
            scored = [one.result.scored for one in (first, folder)]
            if scored[0] != scored[1]:
                raise UsageError(
                    f"{self.names[0]} scores {scored[0]} and {name} scores {scored[1]}: "
                    "write both with the same --window and --where"
                )
        runs = tuple(
            replace(run, name=f"{name}: {run.name}", cluster=folder.result.cluster)
            for name, folder in zip(self.names, self.found, strict=True)
            for run in folder.result.runs
        )
        commands = dict.fromkeys(f.result.command for f in self.found if f.result.command)
        result = first.result.replace(
            title=" and ".join(self.names),
            runs=runs,
            command="\n".join(commands),
            trust=None,
            replay=False,
            paper=(),
        )
        return Folder(first.root, first.content, result, first.window)

    def results(self) -> list[tuple[str, ReportInput]]:
        """The results by name."""
        return [(n, f.result) for n, f in zip(self.names, self.found, strict=True)]


def read_folders(folders: Sequence[str], *, policies: Sequence[str] = ()) -> Folders:
    """Read result folders; one that contains several results represents all of them.

    Folders are named by their last part, or by their path if two of these are equal.
    """
    paths = [inner for folder in folders for inner in inner_folders(folder) or [Path(folder)]]
    short = [path.resolve().name for path in paths]
    names = [
        name if short.count(name) == 1 else path.as_posix()
        for name, path in zip(short, paths, strict=True)
    ]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"the folder {twice} is given twice: name each folder once")
    found = tuple(read_folder(str(path), policies=policies) for path in paths)
    return Folders(tuple(names), found)
