"""What is changed in a counterfactual run: jobs taken away, and what the explained job asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.errors import UsageError, near
from shadowtime.metrics import where, window
from shadowtime.types import NO_LIMIT, AnyArray
from shadowtime.workload import Workload, site_requests
from shadowtime.workload.fit import fit

FIELDS = ("procs", "request", "run", "submit")
"""What may be changed of the explained job."""
_SHIFT = re.compile(r"([+-])(.+)")


@dataclass(frozen=True, kw_only=True)
class Variation:
    """Jobs to take away (``without``) and fields of one job to change (``instead``).

    Rules
    -----
    ``without`` are job numbers, tasks of arrays (``9_2``) and conditions as for ``--where``
    (``user=eva``); the explained job stays even if it fulfils them. ``instead`` gives ``procs`` (a
    number), ``request`` and ``run`` (lengths of time) and ``submit`` (``-2h``, ``+30m``: earlier or
    later). A limit equal to the request changes with it. On a site processors are cpus: tasks
    change, nodes in proportion. A dependency on a job that is not there is met; begin times and
    cancellations stay.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 60], run=[9, 9], procs=[4, 2], user=[3, 3])
    >>> Variation.of(without=["user=3"]).apply(jobs, 2).job_id.tolist()
    [2]
    >>> made = Variation.of(if_={"procs": 1, "submit": "-1m"}).apply(jobs, 2)
    >>> made.procs.tolist(), made.submit.tolist(), made.job_id.tolist()
    ([4, 1], [0, 0], [1, 2])
    """

    without: tuple[str, ...] = ()
    instead: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.without or self.instead)

    @staticmethod
    def of(
        *,
        without: Iterable[Any] | str | int = (),
        if_: Mapping[str, Any] | Iterable[str] | str = (),
    ) -> Variation:
        """From what ``--without`` and ``--if`` take: one or several; ``if_`` may be a mapping."""
        gone = (without,) if isinstance(without, str | int) else tuple(without)
        changes = (if_,) if isinstance(if_, str) else if_
        pairs = changes.items() if isinstance(changes, Mapping) else map(_pair, changes)
        found = tuple((key.strip().lower(), str(value).strip()) for key, value in pairs)
        for key, _ in found:
            if key not in FIELDS:
                raise UsageError(f"--if: there is no field {key!r}{near(key, FIELDS)}")
        if len({key for key, _ in found}) < len(found):
            raise UsageError("--if: each field can be changed once")
        return Variation(without=tuple(str(one).strip() for one in gone), instead=found)

    def gone(self, workload: Workload, job: int) -> AnyArray:
        """Mask of the jobs that are taken away."""
        found = np.zeros(len(workload), bool)
        for text in self.without:
            row = site_requests.row_of_job(workload, text)
            if row is None and not is_condition(text):
                raise UsageError(
                    f"--without {text}: {workload.name} has no such job; give a job number, or "
                    "conditions as in --without user=eva"
                )
            if row is not None:
                found[row] = True
            else:
                found |= where.Where.parse(text, option="--without").mask(workload)
        found[workload.job_id == job] = False
        if bool(found.any()) or not self.without:
            return found
        raise UsageError(f"--without: job {job} is the one to explain; take away other jobs")

    def apply(self, workload: Workload, job: int, cluster: Cluster | None = None) -> Workload:
        """The workload with the changes; rejected if the job does not fit on the ``cluster``."""
        kept = workload.take(~self.gone(workload, job)) if self.without else workload
        row = int(np.flatnonzero(kept.job_id == job)[0])
        for key, text in self.instead:
            kept = _CHANGES[key](kept, row, text)
        if self.instead and cluster is not None and cluster.shape != "site":
            fit(kept.take(kept.job_id == job), cluster, too_wide="refuse", uncounted="ignore")
        return kept.sorted()


def is_condition(text: str) -> bool:
    """Is this of ``without`` a condition, not a job?"""
    return bool(re.search("[=<>]", text))


def _pair(text: str) -> tuple[str, str]:
    key, mark, value = str(text).partition("=")
    if not mark or not value.strip():
        raise UsageError(f"--if {text!r}: write FIELD=VALUE, as in procs=32 or submit=-2h")
    return key, value


def _with_procs(workload: Workload, row: int, text: str) -> Workload:
    if not re.fullmatch(r"\d{1,9}", text) or int(text) == 0:
        raise UsageError(f"--if procs={text}: write a number of processors from 1")
    demand = workload.demand.copy()
    before, demand[row, 0] = int(demand[row, 0]), int(text)
    made = workload.replace(demand=demand)
    asked = workload.requests
    if asked is None:
        return made
    one = asked[row]
    tasks, rest = divmod(int(text), one.cpus_per_task)
    if rest or not tasks:
        raise UsageError(
            f"--if procs={text}: its tasks have {one.cpus_per_task} cpus each; write a multiple"
        )

    def scaled(nodes: int) -> int:
        return max(1, -(-nodes * int(text) // before))

    other = replace(
        one,
        tasks=tasks,
        nodes=min(scaled(one.nodes), tasks),
        max_nodes=None if one.max_nodes is None else scaled(one.max_nodes),
    )
    index = asked.index.copy()
    index[row] = len(asked.distinct)
    return made.replace(requests=replace(asked, distinct=(*asked.distinct, other), index=index))


def _with_request(workload: Workload, row: int, text: str) -> Workload:
    seconds = window.seconds_of(text, option=f"--if request={text}")
    request, limit = workload.request.copy(), workload.limit.copy()
    if limit[row] != NO_LIMIT:
        limit[row] = seconds
    request[row] = seconds
    return workload.replace(request=request, limit=limit)


def _with_run(workload: Workload, row: int, text: str) -> Workload:
    run = workload.run.copy()
    run[row] = window.seconds_of(text, option=f"--if run={text}")
    return workload.replace(run=run)


def _with_submit(workload: Workload, row: int, text: str) -> Workload:
    match = _SHIFT.fullmatch(text)
    if match is None:
        raise UsageError(f"--if submit={text}: write how much earlier or later: -2h or +30m")
    seconds = window.seconds_of(match[2], option=f"--if submit={text}")
    submit = workload.submit.copy()
    submit[row] += seconds if match[1] == "+" else -seconds
    if submit[row] < 0:
        raise UsageError(f"--if submit={text}: that is before the log's clock begins")
    return workload.replace(submit=submit)


_CHANGES = {
    "procs": _with_procs,
    "request": _with_request,
    "run": _with_run,
    "submit": _with_submit,
}
