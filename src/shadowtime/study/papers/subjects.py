"""What a reproduction runs on: the paper's logs where they are, else a generated workload."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shadowtime.cluster import Cluster
from shadowtime.errors import UsageError
from shadowtime.trace import read
from shadowtime.workload.clean import fit
from shadowtime.workload.embedded import PROCS, demo_workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.workload import Workload

GENERATED = "generated"
"""The label of the workload that stands in for the logs."""
GENERATED_NOTE = (
    "This ran on a generated workload: the paper's logs were not there, so no number can be "
    "compared with the paper's. Give --traces a folder with the logs (or set SHADOWTIME_TRACES)."
)


@dataclass(frozen=True, kw_only=True)
class Log:
    """A log that a paper used: what the paper calls it, its file, the machine it assumes."""

    label: str
    file: str
    procs: int
    memory: int = 0
    """KB in all where the paper counts memory, which is then read from the log."""

    @property
    def cluster(self) -> Cluster:
        """The machine of the paper."""
        others = {"memory": self.memory} if self.memory else {}
        return Cluster.pool(self.procs, name=self.label, **others)

    def find(self, folder: Path) -> Path | None:
        """The log's file in a folder, compressed or not."""
        places = (folder / f"{self.file}.gz", folder / self.file)
        return next((path for path in places if path.is_file()), None)


@dataclass(frozen=True, eq=False, kw_only=True)
class Subject:
    """A workload on its machine, under the name that the paper's tables use for it."""

    label: str
    workload: Workload
    cluster: Cluster
    path: Path | None = None
    """None for a generated workload."""

    @property
    def generated(self) -> bool:
        return self.path is None

    def recleaned(self, overrun: Literal["cut", "extend", "keep"]) -> Subject:
        """The same log with another rule for jobs that ran longer than requested."""
        assert self.path is not None
        memory = "memory" in self.cluster.resources
        jobs = fit(read(self.path, overrun=overrun, memory=memory), self.cluster)
        return Subject(label=self.label, workload=jobs, cluster=self.cluster, path=self.path)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the log as the command line contract describes one."""
        jobs = self.workload
        return {
            "label": self.label,
            "name": jobs.name,
            "generated": self.generated,
            "jobs": len(jobs),
            "cleaning": dict(jobs.cleaning),
            "processors": self.cluster.procs,
        }


def find_subjects(logs: Sequence[Log], folder: str | None) -> tuple[list[Subject], list[str]]:
    """The logs found in a folder, and the files that are missing there.

    Without a folder the generated workload stands in for all of them. A folder without any of
    the logs is refused.
    """
    if folder is None:
        jobs = demo_workload()
        return [Subject(label=GENERATED, workload=jobs, cluster=Cluster.pool(PROCS))], []
    place = Path(folder)
    if not place.is_dir():
        raise UsageError(f"there is no folder {folder}: give --traces a folder with the logs")
    found, missing = [], []
    for log in logs:
        path = log.find(place)
        if path is None:
            missing.append(f"{log.file}.gz")
            continue
        jobs = fit(read(path, memory=bool(log.memory)), log.cluster)
        found.append(Subject(label=log.label, workload=jobs, cluster=log.cluster, path=path))
    if not found:
        raise UsageError(
            f"none of the paper's logs is in {folder}: it should hold {', '.join(missing)}; "
            "without --traces a generated workload is used"
        )
    return found, missing
