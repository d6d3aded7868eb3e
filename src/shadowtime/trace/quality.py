"""What to know about a log before trusting simulations of it.

References
----------
Feitelson, Tsafrir & Krakov, Experience with using the Parallel Workloads Archive, JPDC 2014;
Frachtenberg & Feitelson, Pitfalls in parallel job scheduling evaluation, JSSPP 2005.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.types import UNKNOWN
from shadowtime.workload.rules import explain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shadowtime.cluster import Cluster
    from shadowtime.trace.flurries import Flurry
    from shadowtime.workload import Workload

DAY = 86400


@dataclass(frozen=True)
class Remark:
    """One finding: its check, and a sentence on what it means."""

    check: str
    text: str


def peak_use(workload: Workload) -> int:
    """The most processors in use at once by the log's own starts; 0 if it has none.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 0, 0], run=[5, 5, 5], procs=[4, 3, 2],
    ...                    recorded_start=[0, 4, 5])
    >>> peak_use(w)
    7
    """
    known = workload.recorded_start != UNKNOWN
    start, run, procs = workload.recorded_start[known], workload.run[known], workload.procs[known]
    if len(start) == 0:
        return 0
    times = np.concatenate([start + run, start])
    change = np.concatenate([-procs, procs])
    order = np.argsort(times, kind="stable")  # at equal times ends come before starts
    return int(np.cumsum(change[order]).max())


def remarks(
    workload: Workload,
    *,
    cluster: Cluster | None = None,
    load: float | None = None,
    bursts: list[Flurry] | None = None,
) -> list[Remark]:
    """Everything worth knowing about a cleaned log, the most serious first.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 9], run=[5, 5], procs=[1, 1])
    >>> [remark.check for remark in remarks(w)]
    ['machine', 'estimates', 'users', 'starts']
    """
    return [
        *_machine(workload, cluster, load),
        *_requests(workload),
        *_people(workload, bursts or []),
        *_times(workload),
        *_repairs(workload),
    ]


def _machine(workload: Workload, cluster: Cluster | None, load: float | None) -> Iterator[Remark]:
    if cluster is None:
        yield Remark("machine", "The log does not give the size of its machine: use --cluster.")
        return
    peak = peak_use(workload)
    if peak > cluster.procs:
        yield Remark(
            "capacity",
            f"At its peak the log itself uses {peak} processors of {cluster.procs}: the machine "
            f"was larger then, or jobs shared processors; a simulation cannot repeat that.",
        )
    if load is not None and load >= 1:
        yield Remark(
            "load",
            f"The offered load is {load:.2f}: from 1 on queues grow as long as jobs arrive, and "
            f"means depend on the length of the log.",
        )
    elif load is not None and load < 0.3:
        yield Remark(
            "load", f"The offered load is {load:.2f}: hardly a job waits, so policies look alike."
        )


def _requests(workload: Workload) -> Iterator[Remark]:
    n, cleaning = len(workload), workload.cleaning
    missing = cleaning.get("request_from_run", 0)
    if missing:
        yield Remark(
            "requests",
            f"{_percent(missing, n)} of the jobs have no requested time; their run time stands in, "
            f"which flatters backfilling: model estimates for them.",
        )
    over = sum(cleaning.get(f"overrun_{verb}", 0) for verb in ("cut", "extended", "kept"))
    if over > 0.05 * n:
        yield Remark(
            "overrun",
            f"{_percent(over, n)} of the jobs ran longer than requested: the request was no hard "
            f"limit here, and what is done about it (overrun) changes results.",
        )
    exact = int((workload.run == workload.request).sum()) - missing
    if exact > 0.5 * n:
        yield Remark(
            "estimates",
            f"{_percent(exact, n)} of the estimates are exact: no user is that good, so they "
            f"come from a model or were filled in.",
        )


def _people(workload: Workload, bursts: list[Flurry]) -> Iterator[Remark]:
    n = len(workload)
    for burst in bursts:
        yield Remark(
            "flurry",
            f"User {workload.name_of('user', burst.user)} submitted {burst.jobs} jobs "
            f"({burst.jobs_share:.1%} of all) in a burst, jobs {burst.first_id} to "
            f"{burst.last_id}: results may hang on it, so compare with it left out "
            "(Tsafrir & Feitelson 2006).",
        )
    unknown = int((workload.user < 0).sum())
    if unknown:
        yield Remark("users", f"{_percent(unknown, n)} of the jobs have no user.")
    users, counts = np.unique(workload.user[workload.user >= 0], return_counts=True)
    if len(users) and counts.max() > 0.25 * n:
        top = int(users[counts.argmax()])
        yield Remark(
            "dominance",
            f"User {workload.name_of('user', top)} submitted {_percent(int(counts.max()), n)} of "
            "the jobs: means per job are mostly about that user.",
        )


def _times(workload: Workload) -> Iterator[Remark]:
    n = len(workload)
    unknown = int((workload.recorded_start == UNKNOWN).sum())
    if unknown:
        text = (
            "No job has a recorded start: a replay cannot be compared with the log."
            if unknown == n
            else f"{_percent(unknown, n)} of the jobs have no recorded start: a replay can only be "
            "compared for the others."
        )
        yield Remark("starts", text)
    gaps = np.diff(workload.submit)
    if len(gaps) and gaps.max() > 3 * DAY:
        where = int(gaps.argmax())
        yield Remark(
            "gap",
            f"Nothing was submitted for {gaps[where] / DAY:.1f} days after job "
            f"{int(workload.job_id[where])}: the machine or the log was down.",
        )


def _repairs(workload: Workload) -> Iterator[Remark]:
    n, cleaning = len(workload), workload.cleaning
    dropped = sum(count for rule, count in cleaning.items() if rule.endswith("_dropped"))
    if dropped > 0.05 * (n + dropped):
        yield Remark(
            "dropped",
            f"{_percent(dropped, n + dropped)} of the lines were dropped in cleaning: look at the "
            f"counts.",
        )
    for rule in ("out_of_order_sorted", "repeated_id_renumbered"):
        if cleaning.get(rule, 0):
            yield Remark(rule.rpartition("_")[0], f"{cleaning[rule]} {explain(rule)}.")


def _percent(count: int, of: int) -> str:
    share = 100 * count / of
    return f"{share:.1f} %" if share < 99.95 or count == of else "nearly 100 %"
