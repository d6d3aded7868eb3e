"""What happens beside the jobs' own runs: begins, cancellations, dependencies, outages."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shadowtime.cluster.site import Site
from shadowtime.engine.site import entering
from shadowtime.errors import InputError, UsageError
from shadowtime.kernel.registers import BITS
from shadowtime.kernel.site import fields as f
from shadowtime.kernel.state import State
from shadowtime.types import NO_LIMIT, Ints
from shadowtime.workload import Workload
from shadowtime.workload.follows import CHILD, COMES_AT, PARENT, SECONDS, SINCE, relations_of
from shadowtime.workload.request import Requests
from shadowtime.workload.series import bounds_of


def on_clock(workload: Workload, when: int) -> int:
    """An instant in seconds since 1970 as the workload's clock shows it; NO_LIMIT stays."""
    if when >= NO_LIMIT:
        return NO_LIMIT
    if workload.epoch is None:
        raise UsageError(
            f"the site has outages or reservations with dates, but {workload.name} does not "
            "give the date at which its clock is 0: give the workload an epoch, or leave them out"
        )
    return when - workload.epoch


KINDS = {
    "after": entering.AFTER,
    "afterany": entering.AFTER_ANY,
    "afterok": entering.AFTER_OK,
    "afternotok": entering.AFTER_NOT_OK,
    "aftercorr": entering.AFTER_OK,
    "singleton": entering.AFTER_ANY,
}

FAILED, CANCELLED = 0, 5
"""SWF's status of jobs that did not end well."""


class Events(NamedTuple):
    """Heaps and tables of the events to come."""

    begins: Any  # int64 heap of (time, job)
    cancels: Any  # int64 heap of (time, job)
    times: Any  # int64[...]: instants at which nodes close or open, or that becomes known
    failures: Any  # int64[F, 2]: time, node
    ready: Any  # int64 heap of jobs that may be ready to enter the queue
    found: Any  # int64[...]: jobs on a failed node
    first: Any  # int64[n + 1]: each job's edges
    edge: Any  # int64[E, 2]: group, kind
    group: Any  # int64[groups, 3]: the job that depends, jobs it still waits for, one of several?
    array: Any  # int64[arrays, 5]
    member: Any  # int64[...]: tasks of each throttled array, by index
    well: Any  # int64[n]: bits, see events.py
    count: Any  # int64[2]
    then_from: Any  # int64[n + 1]: the relations of jobs that follow each job
    then: Any  # int64[R, 3]: job that follows, seconds, since its end or its submission
    follow: Any  # int64[n or 0, 4]: where jobs follow others, see entering.py


def build_events(
    workload: Workload,
    site: Site,
    requests: Requests,
    ground: f.Ground,
    state: State,
    node_at: Ints,
    *,
    holds_back: bool = False,
) -> Events:
    """Everything that will happen, from the workload and the site.

    ``holds_back``: a function may give every job a begin time.
    """
    n = len(workload)
    bits = int(state.reg[BITS])
    job = ground.job
    asked = job[:, f.CANCEL] >= 0
    job[asked, f.CANCEL] = np.maximum(job[asked, f.CANCEL], workload.submit[asked])
    job[:, f.REQUEUE] = (job[:, f.REQUEUE] != 0) & site.requeue
    then_from, then, follow = followers(workload, job)
    coming = np.empty(0, np.int64)
    if len(follow):
        ground.mark[f.TIERS] = 1  # rows are not in order of arrival
        asked[:] = False
        comes = workload.extra[COMES_AT]
        coming = np.sort(comes[comes >= 0] << bits | np.flatnonzero(comes >= 0))
        ground.mark[f.BEGINS] = len(coming)
    leaving = np.flatnonzero(asked)
    keys = np.sort(job[leaving, f.CANCEL] << bits | leaving)
    ground.mark[f.CANCELS] = len(keys)  # ascending, so it is a heap
    times, failures = closings(workload, site, ground, node_at)
    first, edge, group = dependencies(workload, requests, job)
    array, member = throttles(requests, job)
    begins = int((job[:, f.BEGIN_AT] > workload.submit).sum()) + holds_back * n
    status = workload.status
    well = (workload.run <= workload.limit) & (status != FAILED) & (status != CANCELLED)
    count = np.zeros(2, np.int64)
    count[entering.LEFT] = n
    return Events(
        begins=np.append(coming, np.zeros(begins + len(follow) + 1)).astype(np.int64),
        cancels=np.append(keys, np.zeros(len(follow) + 1)).astype(np.int64),
        times=times,
        failures=failures,
        ready=np.empty(2 * n + len(group) + 2, np.int64),
        found=np.empty(len(state.running), np.int64),
        first=first,
        edge=edge,
        group=group,
        array=array,
        member=member,
        well=well.astype(np.int64),
        count=count,
        then_from=then_from,
        then=then,
        follow=follow,
    )


def followers(workload: Workload, job: Ints) -> tuple[Ints, Ints, Ints]:
    """Relations by the job that is followed, and what jobs wait for before they are submitted;
    empty where all come as they are sorted (workload.follows.released)."""
    n, relation = len(workload), relations_of(workload)
    relation = relation[np.argsort(relation[:, PARENT], kind="stable")]
    first = np.searchsorted(relation[:, PARENT], np.arange(n + 1)).astype(np.int64)
    follow = np.full((n if COMES_AT in workload.extra else 0, entering.FOLLOW_WORDS), -1, np.int64)
    if len(follow):
        follow[:, entering.UNMET] = np.bincount(relation[:, CHILD], minlength=n)
        follow[:, entering.BEGIN_LATER] = job[:, f.BEGIN_AT] - workload.submit
        cancel = job[:, f.CANCEL]
        follow[:, entering.CANCEL_LATER] = np.where(cancel < 0, -1, cancel - workload.submit)
        job[:, f.CANCEL] = -1
    return first, np.ascontiguousarray(relation[:, [CHILD, SECONDS, SINCE]]), follow


def closings(workload: Workload, site: Site, ground: f.Ground, node_at: Ints) -> tuple[Ints, Ints]:
    """The instants of closings and of bounds that change, from the first submission on, and the
    failures among them."""
    start = int(workload.submit[0]) if len(workload) else 0
    close = ground.close
    bounds = bounds_of(workload, site.amounts).values()
    instants = [close[:, [f.BEGIN, f.END, f.KNOWN]].ravel(), *(one.time for one in bounds)]
    times = np.unique(np.concatenate(instants))
    times = times[(times >= start) & (times < NO_LIMIT)]
    row = {site.nodes[i].name: at for at, i in enumerate(node_at.tolist())}
    failures = sorted(
        (on_clock(workload, one.begin), row[one.node])
        for one in site.outages
        if not one.drain and one.node in row
    )
    struck = np.array(failures, np.int64).reshape(-1, 2)
    return times.astype(np.int64), struck[struck[:, 0] >= start]


def dependencies(workload: Workload, requests: Requests, job: Ints) -> tuple[Ints, Ints, Ints]:
    """Edges from each job to the dependencies that name it; the jobs' counts of unmet ones."""
    n = len(workload)
    row = (
        {number: i for i, number in enumerate(workload.job_id.tolist())}
        if requests.dependencies
        else {}
    )
    groups: list[tuple[int, int, int]] = []
    edges: list[tuple[int, int, int]] = []
    one_of: set[int] = set()
    free_of: set[int] = set()
    for one in requests.dependencies:
        if one.kind not in KINDS:
            raise InputError(
                f"job {workload.job_id[one.job]} of {workload.name} depends by {one.kind!r}, "
                f"which is none of {', '.join(KINDS)}"
            )
        others = [row[number] for number in one.on if number in row]
        if one.kind == "singleton":
            same = (workload.user == workload.user[one.job]) & (
                workload.executable == workload.executable[one.job]
            )
            others = np.flatnonzero(same[: one.job]).tolist()
        if not others:
            if one.any_of:
                free_of.add(one.job)
            continue
        number = len(groups)
        groups.append((one.job, len(others), int(one.any_of)))
        edges += [(other, number, KINDS[one.kind]) for other in others]
        if not one.any_of:
            job[one.job, f.AHEAD] += 1
        else:
            one_of.add(one.job)
    for number in one_of - free_of:
        job[number, f.AHEAD] += 1
    if free_of:
        groups = [
            (who, left if not (any_of and who in free_of) else -1, any_of)
            for who, left, any_of in groups
        ]
    edges.sort()
    table = np.array(edges, np.int64).reshape(-1, 3)
    first = np.searchsorted(table[:, 0], np.arange(n + 1)).astype(np.int64)
    return first, np.ascontiguousarray(table[:, 1:]), np.array(groups, np.int64).reshape(-1, 3)


def throttles(requests: Requests, job: Ints) -> tuple[Ints, Ints]:
    """Arrays with a throttle: how many tasks at most, and which jobs they are."""
    bound = (requests.throttle > 0) & (requests.array >= 0)
    numbers, dense = np.unique(requests.array[bound], return_inverse=True)
    rows = np.flatnonzero(bound)
    job[rows, f.ARRAY] = dense
    order = np.lexsort((rows, dense))
    member = rows[order]
    table = np.zeros((len(numbers), 5), np.int64)
    if len(numbers):
        edges = np.searchsorted(dense[order], np.arange(len(numbers) + 1))
        table[:, 0] = requests.throttle[member[edges[:-1]]]
        table[:, 2] = table[:, 4] = edges[:-1]
        table[:, 3] = edges[1:]
    return table, member.astype(np.int64)
