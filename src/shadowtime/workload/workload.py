"""The jobs of a run as columns, sorted by (submit, id)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.errors import InputError
from shadowtime.types import NO_LIMIT, UNKNOWN, AnyArray, Ints

if TYPE_CHECKING:
    from shadowtime.workload.request import Requests
    from shadowtime.workload.series import Series

COLUMNS = ("user", "group", "executable", "queue", "partition", "status", "recorded_start")
"""Optional columns: whole numbers, -1 where unknown."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Workload:
    """The jobs to schedule: one entry per job and column, nothing about any policy.

    Rules
    -----
    Jobs are sorted by (submit, id); a job's index is its place in that order everywhere.
    ``request`` is the user's estimate, ``limit`` the wall time at which the job is killed
    (usually the request, NO_LIMIT where nothing kills), ``run`` the run time without slowdown.
    ``demand`` has a column per resource and processors are the first one; memory counts KB
    of the whole job. A job has at least one processor and no negative demand.
    Times are whole seconds.

    Examples
    --------
    >>> w = Workload.build(submit=[0, 5], run=[10, 3], procs=[2, 1], request=[20, 3])
    >>> len(w), w.procs.tolist(), w.effective_run.tolist()
    (2, [2, 1], [10, 3])
    >>> w.take([1]).job_id.tolist()
    [2]
    """

    name: str
    job_id: Ints
    submit: Ints
    run: Ints
    request: Ints
    limit: Ints
    demand: Ints
    resources: tuple[str, ...] = ("procs",)
    user: Ints
    group: Ints
    executable: Ints
    queue: Ints
    partition: Ints
    status: Ints
    recorded_start: Ints
    extra: Mapping[str, AnyArray] = field(default_factory=dict)
    """Further columns by name: ``bandwidth`` (MB/s per process), ``tag``, ..."""
    header: tuple[str, ...] = ()
    """The trace's header lines as they stood, without the line ends."""
    cleaning: Mapping[str, int] = field(default_factory=dict)
    """Jobs touched by each cleaning rule."""
    machine: Mapping[str, int] = field(default_factory=dict)
    """The machine as the trace describes it: procs, nodes, memory (total KB)."""
    requests: Requests | None = None
    """What each job asks of a site; None where the log knows processors and memory alone."""
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names behind the numbers of a column: user, group (account), queue (QOS), partition, ...

    ``names["user"][number]``; numbers begin at 1, so the first name of a column is empty.
    """
    lost_runs: Mapping[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    """By job id: begin and end of recorded runs whose work was lost, as the job was preempted or
    requeued, in seconds from its submission."""
    series: Mapping[str, Series] = field(default_factory=dict)
    """Values over time on the workload's clock: price, carbon, power available."""
    follows: Ints = field(default_factory=lambda: np.empty((0, 4), np.int64))
    """Jobs that are submitted when others have ended (follows.py), by id."""
    epoch: int | None = None
    """Seconds since 1970 at which the workload's clock reads 0; None where the log does not say."""

    def __post_init__(self) -> None:
        n = len(self.job_id)
        for name in ("submit", "run", "request", "limit", *COLUMNS):
            if len(getattr(self, name)) != n:
                raise InputError(f"column {name} has {len(getattr(self, name))} rows, not {n}")
        if self.demand.shape != (n, len(self.resources)):
            raise InputError(
                f"demand has shape {self.demand.shape}, not {(n, len(self.resources))}"
            )
        if self.requests is not None and len(self.requests) != n:
            raise InputError(f"requests has {len(self.requests)} rows, not {n}")
        if self.resources[:1] != ("procs",):
            raise InputError("the first resource must be procs")
        if len(set(self.resources)) != len(self.resources):
            raise InputError(f"a resource is named twice: {', '.join(self.resources)}")
        # Column by column: numpy takes ten times as long for all of them at once.
        least = [int(column.min(initial=1)) for column in self.demand.T]
        if least[0] < 1 or min(least) < 0:
            raise self._impossible_demand()

    def _impossible_demand(self) -> InputError:
        """No kernel may get such a job: it would release what it never allocated."""
        lowest = np.array([1] + [0] * (len(self.resources) - 1))
        row, k = np.argwhere(self.demand < lowest)[0]
        what = "processors" if k == 0 else self.resources[k]
        return InputError(
            f"job {self.job_id[row]} of {self.name} demands {self.demand[row, k]} {what}",
            hint=f"Give a whole number from {lowest[k]}, or leave the job out.",
        )

    def __len__(self) -> int:
        return len(self.job_id)

    def __repr__(self) -> str:
        days = (int(self.submit[-1]) - int(self.submit[0])) / 86_400 if len(self) else 0.0
        return f"Workload({self.name}: {len(self):,} jobs over {days:.3g} days)"

    @property
    def procs(self) -> Ints:
        """Processors of each job: the first resource."""
        return self.demand[:, 0]

    @property
    def effective_run(self) -> Ints:
        """Run time cut at the kill limit."""
        return np.minimum(self.run, self.limit)

    # What every run needs from its workload is computed once: columns are never written to.

    @cached_property
    def within_request(self) -> bool:
        """True if no job runs longer than its user asked for."""
        return bool((self.effective_run <= self.request).all())

    @cached_property
    def most(self) -> tuple[int, ...]:
        """The largest demand of any job for each resource."""
        return tuple(self.demand.max(axis=0, initial=0).tolist())

    @cached_property
    def ids_ascend(self) -> bool:
        """True if the order of submission is that of the ids too, as in most logs."""
        return bool((self.job_id[1:] > self.job_id[:-1]).all())

    def replace(self, **changes: Any) -> Workload:
        """The same workload with some columns changed (they must keep the (submit, id) order)."""
        return replace(self, **changes)

    def name_of(self, column: str, number: int) -> str:
        """The name behind a number of a column; the number itself where the log has no names.

        Examples
        --------
        >>> named = {"user": ("", "eva")}
        >>> w = Workload.build(submit=[0], run=[1], procs=[1], user=[1], names=named)
        >>> w.name_of("user", 1), w.name_of("partition", 3), w.name_of("user", -1)
        ('eva', '3', '')
        """
        known = self.names.get(column, ())
        if number < 0:
            return ""
        return known[number] if number < len(known) else str(number)

    def take(self, index: Sequence[int] | AnyArray) -> Workload:
        """The jobs at these places (a mask or increasing indices)."""
        at = np.asarray(index)
        names = ("job_id", "submit", "run", "request", "limit", "demand", *COLUMNS)
        columns = {name: getattr(self, name)[at] for name in names}
        extra = {name: column[at] for name, column in self.extra.items()}
        requests = None if self.requests is None else self.requests.take(at)
        return replace(self, **columns, extra=extra, requests=requests)

    def sorted(self) -> Workload:
        """The jobs in (submit, id) order; itself if they already are."""
        order = np.lexsort((self.job_id, self.submit))
        if bool((order == np.arange(len(order))).all()):
            return self
        return self.take(order)

    @staticmethod
    def build(
        *,
        submit: Sequence[int] | Ints,
        run: Sequence[int] | Ints,
        procs: Sequence[int] | Ints,
        request: Sequence[int] | Ints | None = None,
        limit: Sequence[int] | Ints | None = None,
        job_id: Sequence[int] | Ints | None = None,
        name: str = "workload",
        demand: Mapping[str, Sequence[int] | Ints] | None = None,
        **columns: Any,
    ) -> Workload:
        """A workload from plain sequences: ids 1.. where none are given, request = run.

        ``demand`` adds resources by name; ``columns`` may hold any optional column or field.
        ``limit`` defaults to the request.
        """
        n = len(submit)
        given = {key: _ints(columns.pop(key)) for key in COLUMNS if key in columns}
        optional: dict[str, Any] = unknown_columns(n) | given
        asked = _ints(run if request is None else request)
        others = dict(demand or {})
        return Workload(
            name=name,
            job_id=np.arange(1, n + 1) if job_id is None else _ints(job_id),
            submit=_ints(submit),
            run=_ints(run),
            request=asked,
            limit=asked if limit is None else _ints(limit),
            demand=np.stack([_ints(procs), *map(_ints, others.values())], axis=1),
            resources=("procs", *others),
            **optional,
            **columns,
        ).sorted()


def unknown_columns(count: int) -> dict[str, Any]:
    """The optional columns of ``count`` jobs about which nothing else is known."""
    return dict.fromkeys(COLUMNS, np.full(count, UNKNOWN, np.int64))


def _ints(values: Sequence[int] | Ints) -> Ints:
    return np.asarray(values, dtype=np.int64)


def unlimited(workload: Workload) -> Workload:
    """The same jobs, none of them killed at a limit."""
    return workload.replace(limit=np.full(len(workload), NO_LIMIT, np.int64))
