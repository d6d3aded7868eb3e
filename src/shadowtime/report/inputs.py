"""The input of a report: runs of some policies over one workload, and their origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.errors import UsageError
from shadowtime.metrics.policy_run import PolicyRun
from shadowtime.metrics.window import ALL, Window
from shadowtime.schedule.runs import started
from shadowtime.types import AnyArray
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.study.counterfactual.otherwise import Absence
    from shadowtime.study.trust import Trust


@dataclass(frozen=True, kw_only=True)
class PaperValue:
    """One number of a published table and ours; None if there is none."""

    label: str
    ours: float | None
    paper: float | None
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class PaperTable:
    """A table or figure of a paper, value by value."""

    title: str
    values: tuple[PaperValue, ...]
    where: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence of a paper and whether it holds here; ``holds`` is None if it was not judged."""

    text: str
    holds: bool | None
    where: str = ""
    paper: str = ""
    ours: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class ReportInput:
    """Everything a report shows.

    The first run is the baseline that the others are compared with. ``cleaning`` defaults to the
    workload's own. ``interval_note`` describes the runs' copies. ``trust`` is how far a what-if on
    this log can be trusted, if it records starts; ``replay`` means that the first run is the
    recorded one, and only simulation and record are compared.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0], run=[10], procs=[1], recorded_start=[3])
    >>> from shadowtime.metrics.policy_run import PolicyRun
    >>> run = PolicyRun(name="recorded", schedule=Schedule.recorded(w))
    >>> ReportInput(title="One job", workload=w, cluster=Cluster.pool(2), runs=(run,)).baseline.name
    'recorded'
    """

    title: str
    workload: Workload
    cluster: Cluster
    runs: tuple[PolicyRun, ...]
    window: Window = ALL
    where: str = ""
    """What ``--where`` accepts, if only some jobs of the window count."""
    cleaning: Mapping[str, int] | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    seeds: tuple[int, ...] = ()
    interval_note: str = ""
    paper: tuple[PaperTable | Claim, ...] = ()
    trust: Trust | None = None
    replay: bool = False
    replayed: Mapping[str, Any] = field(default_factory=dict)
    """A site's replay: ``runs`` in words, ``groups``, ``backfilled`` and ``reasons`` as in the
    JSON object; empty elsewhere."""
    effects: Mapping[str, Any] = field(default_factory=dict)
    """A what-if: the ``label`` of the changes, ``inputs`` in words, and ``options``: each with its
    ``label`` and its ``groups`` as in the JSON object, the first of them all jobs."""

    absences: Mapping[str, tuple[Absence, ...]] = field(default_factory=dict)
    """By policy: what would have been without some jobs, which the cards of these jobs show."""

    def __post_init__(self) -> None:
        if not self.runs:
            raise UsageError("a report needs at least one policy: give --policy once or more")
        names = [run.name for run in self.runs]
        if len(set(names)) != len(names):
            raise UsageError(f"two policies of the report share a name: {', '.join(names)}")
        for run in self.runs:
            if len(run.schedule) != len(self.workload):
                raise UsageError(
                    f"the schedule of {run.name} has {len(run.schedule)} jobs and the workload "
                    f"{len(self.workload)}: report them with the workload that was simulated"
                )

    @property
    def scored(self) -> str:
        """The jobs that count, in words."""
        return f"{self.window}, {self.where}" if self.where else str(self.window)

    @property
    def counted(self) -> AnyArray | None:
        """A mask of the jobs of the window that ``where`` selects; None if these are all jobs."""
        if self.window == ALL and not self.where:
            return None
        from shadowtime.metrics.where import Where

        return self.window.mask(self.workload.submit) & Where.parse(self.where).mask(self.workload)

    def shown(self, run: PolicyRun) -> AnyArray:
        """A mask of the jobs that every figure of a run is about: counted, and started."""
        done = started(run.schedule)
        return done if self.counted is None else done & self.counted

    @property
    def baseline(self) -> PolicyRun:
        """The run that differences are measured from."""
        return self.runs[0]

    @property
    def cleaned(self) -> Mapping[str, int]:
        """Jobs touched by each cleaning rule."""
        return self.workload.cleaning if self.cleaning is None else self.cleaning

    @property
    def tables(self) -> tuple[PaperTable, ...]:
        """The published tables."""
        return tuple(item for item in self.paper if isinstance(item, PaperTable))

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The published claims."""
        return tuple(item for item in self.paper if isinstance(item, Claim))

    def replace(self, **changes: Any) -> ReportInput:
        """A variant of this report."""
        return replace(self, **changes)


@dataclass(frozen=True, kw_only=True)
class Written:
    """Files written by an export. ``left_out`` counts jobs, ``note`` gives the reason."""

    paths: tuple[Path, ...]
    records: int
    left_out: int = 0
    note: str = ""
