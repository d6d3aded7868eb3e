"""A paper that can be reproduced: its tasks, and how their results are combined."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from shadowtime.study.fan_out import fan_out

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from shadowtime.schedule import Schedule
    from shadowtime.study.papers.claims import Claim
    from shadowtime.study.papers.figures import PaperFigure
    from shadowtime.study.papers.subjects import Log, Subject
    from shadowtime.study.papers.tables import PaperTable

Findings = TypeVar("Findings", covariant=True)


@dataclass(frozen=True, eq=False, kw_only=True)
class SubjectRun:
    """A schedule of one subject that is worth keeping, with its metrics."""

    policy: str
    schedule: Schedule
    parameters: Mapping[str, str]
    metrics: Mapping[str, float]


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


class Runs(Protocol[Findings]):
    """All runs of a paper: their tasks, and the findings that the results amount to."""

    def tasks(self) -> tuple[Task, ...]: ...

    def collect(self, results: list[Any]) -> Findings: ...


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Tasks that do not depend on each other, and how their results make a reproduction."""

    tasks: tuple[Task, ...]
    put_together: Callable[[list[Any]], Reproduction]

    @staticmethod
    def of(runs: Runs[Findings], reproduction: Callable[[Findings], Reproduction]) -> Plan:
        """The tasks of all runs; what they collect is made into a reproduction."""
        return Plan(
            tasks=runs.tasks(), put_together=lambda results: reproduction(runs.collect(results))
        )

    def missing(self) -> list[int]:
        """The places of the tasks whose file is not there yet."""
        return [at for at, task in enumerate(self.tasks) if task.path and not task.path.exists()]


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper that can be reproduced. Its module holds it under the name PAPER."""

    name: str
    title: str
    reference: str
    logs: tuple[Log, ...]
    policies: tuple[str, ...]
    """One policy for each kind of pass, so that they can be compiled beforehand."""
    plan: Callable[[Sequence[Subject], int], Plan]
    """From the subjects and the number of seeds."""
    quick: Callable[[Sequence[Subject], int], Plan] | None = None
    """The same with far fewer runs, where there is such a form."""
    subjects: Callable[[], list[Subject]] | None = None
    """Makes the subjects of a paper that used no log."""
    seeds: int = 10
    """Runs for each point that depends on chance, unless given."""


def carry_out(
    plan: Plan, *, threads: int | None = None, progress: Callable[[str], None] = lambda name: None
) -> Reproduction:
    """Run a plan's tasks on all cores; ``progress`` gets the name of each finished one."""

    def counted(task: Task) -> Callable[[], Any]:
        def work() -> Any:
            found = task.work()
            progress(task.name)
            return found

        return work

    return plan.put_together(fan_out([counted(task) for task in plan.tasks], threads=threads))
