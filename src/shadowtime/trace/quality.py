"""What to know about a log before trusting simulations of it.

References
----------
Feitelson, Tsafrir & Krakov, Experience with using the Parallel Workloads Archive, JPDC 2014;
Frachtenberg & Feitelson, Pitfalls in parallel job scheduling evaluation, JSSPP 2005.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.types import UNKNOWN, AnyArray
from shadowtime.workload import Workload
from shadowtime.workload.rules import explain

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster


WEEK = 7 * 86400


@dataclass(frozen=True)
class Flurry:
    """A burst: its user, its time and its jobs."""

    user: int
    since: int
    until: int
    """First and last submission in it."""
    jobs: int
    jobs_share: float
    """Of all jobs of the log."""
    first_id: int
    last_id: int
    same_shape_share: float
    """Share of its jobs with the most frequent (processors, request): flurries repeat."""


def flurry_mask(
    workload: Workload, *, window: int = WEEK, times: float = 1.0, dominance: float = 0.5
) -> AnyArray:
    """Which jobs are part of a flurry.

    Tsafrir and Feitelson call a flurry a rare surge of repetitive activity by a single user that
    dominates the workload for a short period, and find them by eye. Our rule: in a window (a
    week, counted from the first submission) one user submits more than ``times`` the jobs
    of all users in the median window that has any, and at least ``dominance`` of the jobs of that
    window. A log of fewer than four windows has no meaningful median, and no flurries.

    References
    ----------
    Tsafrir & Feitelson, Instability in parallel job scheduling simulation: the role of workload
    flurries, IPDPS 2006.
    """
    if len(workload) == 0:
        return np.zeros(0, bool)
    at = (workload.submit - workload.submit[0]) // window
    windows, place, per_window = np.unique(at, return_inverse=True, return_counts=True)
    if len(windows) < 4:
        return np.zeros(len(workload), bool)
    users, who = np.unique(workload.user, return_inverse=True)
    pairs, pair, count = np.unique(
        place.astype(np.int64) * len(users) + who, return_inverse=True, return_counts=True
    )
    usual = float(np.median(per_window))
    burst = (count > times * usual) & (count >= dominance * per_window[pairs // len(users)])
    burst &= users[pairs % len(users)] >= 0  # jobs of unknown users are not one user's
    return np.asarray(burst[pair])


def flurries(
    workload: Workload, *, window: int = WEEK, times: float = 1.0, dominance: float = 0.5
) -> list[Flurry]:
    """The flurries of a log, in time order; a user's neighbouring windows make one.

    See :func:`flurry_mask` for the rule.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> week = 7 * 86400
    >>> quiet = [w * week for w in range(5) for _ in range(10)]
    >>> w = Workload.build(submit=quiet + [2 * week + 5] * 40, run=[9] * 90, procs=[1] * 90,
    ...                    user=[1] * 50 + [2] * 40)
    >>> [(f.user, f.jobs, f.first_id, f.last_id) for f in flurries(w)]
    [(2, 40, 51, 90)]
    """
    mask = flurry_mask(workload, window=window, times=times, dominance=dominance)
    found: list[Flurry] = []
    for user in np.unique(workload.user[mask]).tolist():
        mine = np.flatnonzero(mask & (workload.user == user))
        at = (workload.submit[mine] - workload.submit[0]) // window
        parts = np.split(mine, np.flatnonzero(np.diff(at) > 1) + 1)
        found.extend(_flurry(workload, part, user) for part in parts)
    return sorted(found, key=lambda flurry: (flurry.since, flurry.user))


def _flurry(workload: Workload, part: AnyArray, user: int) -> Flurry:
    shapes = np.stack([workload.procs[part], workload.request[part]])
    _, counts = np.unique(shapes, axis=1, return_counts=True)
    return Flurry(
        user=user,
        since=int(workload.submit[part[0]]),
        until=int(workload.submit[part[-1]]),
        jobs=len(part),
        jobs_share=len(part) / len(workload),
        first_id=int(workload.job_id[part].min()),
        last_id=int(workload.job_id[part].max()),
        same_shape_share=float(counts.max()) / len(part),
    )


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
