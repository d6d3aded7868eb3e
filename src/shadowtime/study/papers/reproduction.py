"""A paper that can be reproduced: what it runs on, its tasks, how their results are combined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shadowtime.cluster import Cluster
from shadowtime.errors import UsageError
from shadowtime.metrics import Window, measure
from shadowtime.policy import parse_policy
from shadowtime.schedule import Schedule
from shadowtime.study.fan_out import fan_out
from shadowtime.trace import read
from shadowtime.workload import Workload, clean, embedded

if TYPE_CHECKING:
    from shadowtime.study.papers.values import Claim, PaperFigure, PaperTable

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

    @property
    def overran(self) -> float:
        """The share of its jobs that were cut at their request."""
        return self.workload.cleaning.get("overrun_cut", 0) / len(self.workload)

    def recleaned(self, overrun: Literal["cut", "extend", "keep"]) -> Subject:
        """The same log with another rule for jobs that ran longer than requested."""
        assert self.path is not None
        memory = "memory" in self.cluster.resources
        jobs = clean.fit(read(self.path, overrun=overrun, memory=memory), self.cluster)
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
        jobs = embedded.demo_workload()
        return [Subject(label=GENERATED, workload=jobs, cluster=Cluster.pool(embedded.PROCS))], []
    place = Path(folder)
    if not place.is_dir():
        raise UsageError(f"there is no folder {folder}: give --traces a folder with the logs")
    found, missing = [], []
    for log in logs:
        path = log.find(place)
        if path is None:
            missing.append(f"{log.file}.gz")
            continue
        jobs = clean.fit(read(path, memory=bool(log.memory)), log.cluster)
        found.append(Subject(label=log.label, workload=jobs, cluster=log.cluster, path=path))
    if not found:
        raise UsageError(
            f"none of the paper's logs is in {folder}: it should hold {', '.join(missing)}; "
            "without --traces a generated workload is used"
        )
    return found, missing


@dataclass(frozen=True, eq=False, kw_only=True)
class SubjectRun:
    """A schedule of one subject that is worth keeping, with its metrics."""

    policy: str
    schedule: Schedule
    parameters: Mapping[str, str]
    metrics: Mapping[str, float]

    @staticmethod
    def of(
        policy: str,
        schedule: Schedule,
        jobs: Workload,
        cluster: Cluster,
        *,
        window: Window | None = None,
        metrics: Mapping[str, float] | None = None,
    ) -> SubjectRun:
        """With the usual metrics of a window, if no others are given; ``policy`` as it is typed."""
        if metrics is None:
            metrics = measure(schedule, jobs, cluster, window=window or Window.all())
        return SubjectRun(
            policy=policy,
            schedule=schedule,
            parameters=parse_policy(policy).parameters,
            metrics=metrics,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Reproduction:
    """The result: the paper's tables, figures and claims with our numbers, and notes.

    ``notes`` say what does not reproduce and the evidence, ``choices`` what the text left open.
    ``runs`` are the schedules to look at, by the label of their subject; ``more`` is further data
    for JSON.
    """

    paper: str
    title: str
    reference: str
    subjects: tuple[Subject, ...]
    tables: tuple[PaperTable, ...]
    figures: tuple[PaperFigure, ...]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...]
    choices: tuple[str, ...]
    seeds: tuple[int, ...] = ()
    drawn: bool = False
    """The paper itself drew its workload from a model, as we do: no log could be here."""
    runs: Mapping[str, tuple[SubjectRun, ...]] = field(default_factory=dict)
    job_lines: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Figures that show every job's life: their names, the subject and the place of its run."""
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def generated(self) -> bool:
        """No real log was there."""
        return not self.drawn and all(subject.generated for subject in self.subjects)

    def table(self, name: str) -> PaperTable:
        """A table by its name, as Table 4."""
        return next(table for table in self.tables if table.name == name)

    def figure(self, name: str) -> PaperFigure:
        """A figure by its name."""
        return next(figure for figure in self.figures if figure.name == name)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "paper": {"name": self.paper, "title": self.title, "reference": self.reference},
            "generated": self.generated,
            "traces": [subject.as_dict() for subject in self.subjects],
            "seeds": list(self.seeds),
            "tables": [table.as_dict() for table in self.tables],
            "figures": [figure.as_dict() for figure in self.figures],
            "job_lines": {
                name: {"subject": label, "policy": self.runs[label][place].policy}
                for name, (label, place) in self.job_lines.items()
            },
            "claims": [claim.as_dict() for claim in self.claims],
            "notes": list(self.notes),
            "choices": list(self.choices),
            **self.more,
        }


@dataclass(frozen=True, kw_only=True)
class Task:
    """One run and what is measured of it, under a name for the progress line."""

    name: str
    work: Callable[[], Any]
    path: Path | None = None
    """The file that keeps what it finds, if any."""


@dataclass(frozen=True, kw_only=True)
class Runs:
    """Tasks that do not depend on each other, by their keys, and what the results amount to."""

    tasks: Mapping[Any, Task]
    collect: Callable[[Mapping[Any, Any]], Any]
    """From the results by the same keys."""

    def missing(self) -> list[int]:
        """The places of the tasks whose file is not there yet."""
        tasks = enumerate(self.tasks.values())
        return [at for at, task in tasks if task.path and not task.path.exists()]


def of_kind(results: Mapping[Any, Any], kind: str) -> dict[Any, Any]:
    """The results whose keys begin with a word, by the rest of the key.

    Examples
    --------
    >>> of_kind({("point", "a", 1): 3.0, ("single", "a"): 4.0}, "point")
    {('a', 1): 3.0}
    """
    return {key[1:]: found for key, found in results.items() if key[0] == kind}


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper that can be reproduced. Its module holds it under the name PAPER.

    What is shown of the findings (a value of the paper's own, with ``subjects`` and ``seeds``) is
    made by ``tables``, ``figures``, ``claims``, ``notes`` and ``choices``.
    """

    name: str
    title: str
    reference: str
    logs: tuple[Log, ...] = ()
    policies: tuple[str, ...]
    """One policy for each kind of pass, so that they can be compiled beforehand."""
    runs: Callable[[tuple[Subject, ...], int, bool], Runs]
    """From the subjects, the number of seeds, and whether few runs are enough."""
    tables: Callable[[Any], tuple[PaperTable, ...]]
    figures: Callable[[Any], tuple[PaperFigure, ...]]
    claims: Callable[[Any], tuple[Claim, ...]]
    notes: Callable[[Any, Mapping[str, PaperTable]], tuple[str, ...]]
    """From the findings and the tables by name."""
    choices: Callable[[Any], tuple[str, ...]]
    more: Callable[[Any], Mapping[str, Any]]
    """Further fields of the reproduction: the schedules to look at, numbers for JSON."""
    quick: bool = True
    """Whether there is a form with far fewer runs."""
    subjects: Callable[[], list[Subject]] | None = None
    """Makes the subjects of a paper that used no log."""
    seeds: int = 10
    """Runs for each point that depends on chance, unless given."""

    def plan(self, subjects: Sequence[Subject], seeds: int, *, quick: bool = False) -> Runs:
        """Every run of the study on these subjects, which make a reproduction."""
        runs = self.runs(tuple(subjects), seeds, quick)
        return replace(runs, collect=lambda found: self.reproduction(runs.collect(found)))

    def reproduction(self, found: Any) -> Reproduction:
        """The paper with our numbers in it."""
        tables = self.tables(found)
        known: dict[str, Any] = {
            "paper": self.name,
            "title": self.title,
            "reference": self.reference,
            "subjects": found.subjects,
            "tables": tables,
            "figures": self.figures(found),
            "claims": self.claims(found),
            "notes": self.notes(found, {table.name: table for table in tables}),
            "choices": self.choices(found),
            "seeds": found.seeds,
        }
        return Reproduction(**{**known, **self.more(found)})


def carry_out(
    plan: Runs, *, threads: int | None = None, progress: Callable[[str], None] = lambda name: None
) -> Reproduction:
    """Run a plan's tasks on all cores; ``progress`` gets the name of each finished one."""

    def counted(task: Task) -> Callable[[], Any]:
        def work() -> Any:
            found = task.work()
            progress(task.name)
            return found

        return work

    results = fan_out([counted(task) for task in plan.tasks.values()], threads=threads)
    made: Reproduction = plan.collect(dict(zip(plan.tasks, results, strict=True)))
    return made
