"""Decorators that make a part of a policy from a function: it is compiled into the engine.

import shadowtime as st

@st.order
def aged_area(now, job, weight=1.0):
    return weight * job.wait - job.estimate * job.procs

run = st.simulate(jobs, "pool:256", st.easy(order=aged_area(weight=3)))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from shadowtime.policy import backfill, parse, preempt
from shadowtime.policy.changing import Paced, Resized, speeds_of
from shadowtime.policy.estimate import Predicted
from shadowtime.policy.order import Begins, Custom
from shadowtime.policy.place import Scored
from shadowtime.policy.reserve import Chosen, Planned
from shadowtime.policy.written import Written

SomePart = TypeVar("SomePart", bound="Written")
Columns = Mapping[str, Any] | None
"""Predictors by the names of the columns that they fill."""


def _decorated(
    kind: type[SomePart], function: Any, memory: int, by: str, columns: Columns = None
) -> Any:
    """The part; or, if options were given first, the decorator that creates it."""
    predicted = tuple((name, _predictor(one)) for name, one in (columns or {}).items())

    return _made(function, partial(kind, memory=memory, by=by, columns=predicted))


def _made(function: Any, make: Callable[[Any], Any]) -> Any:
    return make if function is None else make(function)


def _predictor(given: Any) -> Any:
    """The estimate part that a text such as ``nearest(k=3)`` names; a part is itself."""
    from shadowtime.policy.grammar import parse_call
    from shadowtime.policy.values import part_from

    return part_from("estimate", parse_call(given)) if isinstance(given, str) else given


def order(
    function: Any = None, /, *, memory: int = 0, by: str = "user", columns: Columns = None
) -> Any:
    """Which job is next: ``function(now, job, user)`` returns a number, higher first.

    Rules
    -----
    ``job`` has submit, wait, request, estimate, procs, nodes, memory, gpus, user, account,
    partition, qos, executable, start, ran, promised and blocked_at; what is unknown is -1.
    ``user`` may be omitted; it is a row of ``memory`` numbers, at most 64, for each user (or
    ``by="account"``, ``by="executable"``), initially 0, into which ``.learn`` writes. Further
    arguments have a default and are parameters. Ties are broken by (submit, id). ``job`` also has
    every further column of the log by its name; ``columns={"safe": "user-quantile(quantile=0.9)"}``
    lets predictors fill columns of that kind, here ``job.safe`` in seconds.

    Examples
    --------
    >>> import shadowtime as st
    >>> @st.order
    ... def narrow(now, job, weight=1.0):
    ...     return -weight * job.procs
    >>> st.easy(order=narrow(weight=2)).name
    'easy(order=narrow(weight=2))'
    >>> jobs = st.Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[4, 3, 1])
    >>> st.simulate(jobs, "pool:4", st.easy(order=narrow)).schedule.start.tolist()
    [0, 9, 9]
    """
    return _decorated(Custom, function, memory, by, columns)


def estimate(
    function: Any = None, job: Any = None, /, *, memory: int = 0, by: str = "user", **options: Any
) -> Any:
    """How long a job will run: called once, at its submission; whole seconds within [1, request].

    With a site instead of a function it answers when a job will start:
    ``st.estimate(site, job)`` (:func:`shadowtime.api.estimate.estimate_start`).

    Examples
    --------
    >>> import shadowtime as st
    >>> @st.estimate(memory=2)
    ... def mean_run(now, job, user):
    ...     return user[1] / user[0] if user[0] >= 3 else job.request
    >>> @mean_run.learn
    ... def _(now, job, user):
    ...     user[0] += 1
    ...     user[1] += job.ran
    >>> st.easy(estimate=mean_run).parameters["estimate"]
    'mean_run'
    """
    if function is not None and not callable(function):
        from shadowtime.api.estimate import estimate_start

        return estimate_start(function, job, **options)
    return _decorated(Predicted, function, memory, by)


def backfill_key(
    function: Any = None, /, *, memory: int = 0, by: str = "user", columns: Columns = None
) -> Any:
    """In which order jobs are tried that may overtake, higher first; ``.where(test)`` adds a test.

    Examples
    --------
    >>> import shadowtime as st
    >>> @st.backfill_key
    ... def least_area(now, job):
    ...     return -job.estimate * job.procs
    >>> st.easy(backfill=least_area).parameters["backfill"]
    'least_area'
    """
    return _decorated(backfill.ByKey, function, memory, by, columns)


def begin(
    function: Any = None, /, *, memory: int = 0, by: str = "user", columns: Columns = None
) -> Any:
    """When a job may start at the earliest: ``function(now, job, user)`` returns a time.

    Called once for each job, at its submission; a time that is past is now. The job is not in the
    queue until then, and its wait counts from the submission. ``.within(order)`` gives the jobs in
    the queue another order than that of arrival.

    Examples
    --------
    >>> import shadowtime as st
    >>> @st.begin
    ... def at_night(now, job, hour=20):
    ...     return now if job.estimate < 3600 else now - now % 86400 + 3600 * hour
    >>> jobs = st.Workload.build(submit=[0, 1], run=[7200, 60], procs=[1, 1])
    >>> st.simulate(jobs, "pool:4", st.easy(order=at_night)).schedule.start.tolist()
    [72000, 1]
    """
    return _decorated(Begins, function, memory, by, columns)


def backfill_test(
    function: Any = None, /, *, memory: int = 0, by: str = "user", columns: Columns = None
) -> Any:
    """Which jobs may overtake: those that delay no reservation and for which this is true.

    ``function(now, job, user, reserved)``: the last two may be omitted; ``reserved`` is when the
    first blocked job is to start.

    Examples
    --------
    >>> import shadowtime as st
    >>> @st.backfill_test
    ... def short(now, job, hours=1):
    ...     return job.request <= 3600 * hours
    >>> print(short(hours=4))
    short(hours=4)
    """
    return _decorated(backfill.ByTest, function, memory, by, columns)


def reserve(
    function: Any = None, /, *, memory: int = 0, by: str = "user", columns: Columns = None
) -> Any:
    """Which blocked jobs get a reservation: called in order, again at every pass.

    Examples
    --------
    >>> import shadowtime as st
    >>> @st.reserve
    ... def needy(now, job, threshold=2.0):
    ...     return (job.wait + job.estimate) / job.estimate > threshold
    >>> st.easy(reserve=needy(threshold=3)).parameters["reserve"]
    'needy(threshold=3)'
    """
    return _decorated(Chosen, function, memory, by, columns)


def plan(
    function: Any = None, /, *, memory: int = 0, by: str = "user", columns: Columns = None
) -> Any:
    """When the head's reservation begins: ``function(now, job, user, start)`` returns a time.

    ``start`` is the earliest possible time; later times let other jobs overtake more freely. The
    head still starts as soon as it fits.

    Examples
    --------
    >>> import shadowtime as st
    >>> @st.plan
    ... def late(now, job, user, start, seconds=60):
    ...     return start + seconds
    >>> st.easy(reserve=late).parameters["reserve"]
    'late'
    """
    return _decorated(Planned, function, memory, by, columns)


def victim(
    function: Any = None,
    /,
    *,
    memory: int = 0,
    by: str = "user",
    prune: bool = False,
    mode: str = "kill",
    every: int = 3600,
    overhead: int = 0,
) -> Any:
    """Which jobs to stop for a blocked head: of the running jobs that it outranks the highest
    first.

    Rules
    -----
    Jobs are stopped until the head fits, and none if all of them would not be enough. ``prune``
    spares jobs that turn out not to need stopping; ``mode``, ``every`` and ``overhead`` define what
    happens to a victim's work. ``job.start`` and ``job.ran`` are those of its run.

    Examples
    --------
    >>> import shadowtime as st
    >>> @st.victim(mode="suspend", overhead=60)
    ... def youngest(now, job):
    ...     return job.start
    >>> st.policy("pv-easy", preempt=youngest).parameters["preempt"]
    'youngest(mode=suspend, overhead=60)'
    """

    values = {"prune": prune, "mode": mode, "every": every, "overhead": overhead}
    make = partial(preempt.Victims, memory=memory, by=by)
    return _made(function, lambda written: make(function=written).with_values(**values))


def place(
    function: Any = None, /, *, memory: int = 0, by: str = "user", columns: Columns = None
) -> Any:
    """Where a job goes: ``function(now, job, node, user)`` scores a node, higher first.

    Rules
    -----
    Called on a site for every node with room for the job, at a start and when one is planned.
    ``node`` has number, weight, room (tasks of the job that it holds), start (now, or the planned
    one), cpus, memory, gpus, and free_cpus, free_memory, free_gpus at that start; -1 where the
    site does not count it. Each node takes as many tasks as fit, and nodes that the job requests by
    name come first. Ties are broken by (weight, number). Jobs that require adjacent nodes get the
    first such row instead.

    Examples
    --------
    >>> import shadowtime as st
    >>> from shadowtime.cluster.site import Node, Site
    >>> @st.place
    ... def fullest_last(now, job, node):
    ...     return node.free_cpus / node.cpus
    >>> site = Site(nodes=tuple(Node(name=name, amounts=(4,)) for name in "abc"))
    >>> jobs = st.Workload.build(submit=[0, 1, 2, 3], run=[9, 9, 9, 9], procs=[1, 1, 1, 2])
    >>> list(st.simulate(jobs, site, st.easy(place=fullest_last)).schedule.place)
    ['a:1', 'b:1', 'c:1', 'a:2']
    """
    return _decorated(Scored, function, memory, by, columns)


def select(function: Any = None, /, *, compiled: bool = True, claims: tuple[str, ...] = ()) -> Any:
    """Which jobs start now: ``function(now, jobs, free)`` chooses a set from the whole queue.

    Rules
    -----
    ``jobs`` holds the waiting jobs in the policy's order, one column per field: submit, request,
    estimate, procs, nodes, memory, gpus, user, account, partition, qos, executable, blocked_at,
    promised, due, and ``need``, one row per job. Write ``jobs.start[i] = 1`` for each that starts;
    together they must fit. The function may write ``jobs.promised[i]``, the job's first promised
    start. ``jobs.due[i]`` is a plan of your own: it is kept, and the next pass takes place then at
    the latest. ``free`` is the availability profile, for ``st.earliest``, ``st.occupy`` and
    ``st.release``. ``compiled=False`` leaves the function in Python: slower, but any code.
    ``claims`` are proved by check.

    Examples
    --------
    >>> import shadowtime as st
    >>> @st.select
    ... def widest_first(now, jobs, free):
    ...     for i in (-jobs.procs).argsort():
    ...         if st.earliest(free, jobs.need[i], jobs.estimate[i]) == now:
    ...             st.occupy(free, jobs.need[i], now, now + jobs.estimate[i])
    ...             jobs.start[i] = 1
    >>> st.easy(backfill=widest_first).parameters["backfill"]
    'widest_first'
    """

    made = partial(backfill.Selected, compiled=compiled, claims=tuple(claims))
    return _made(function, made)


def resize(
    function: Any = None,
    /,
    *,
    speeds: Mapping[float, float] | None = None,
    compiled: bool = True,
) -> Any:
    """How many processors every job has from now on: ``function(now, jobs, free)``.

    Rules
    -----
    Called at every submission and end, on a pool. ``jobs`` holds all jobs that are submitted and
    not over, in order of arrival: the columns of a queue (:func:`select`) and ``held``, the
    processors that a job has now, 0 while it waits or is suspended; ``suspended``, those that it
    then gave back; ``least`` and ``most``, the sizes that it may
    have; ``left``, the seconds of work expected to be left at its own size ``procs`` and full
    speed; ``cost`` of a change; ``stops``, how often it was stopped; ``start``, -1 while it waits.
    Write ``jobs.size[i]``: a job grows, shrinks, starts, or with 0 waits or is stopped. ``speeds``
    declares thousandths of full speed, each with the share of its power that a job draws then; the
    function writes ``jobs.speed[i]``, and 0 suspends a running job.
    ``st.seconds_at(jobs, i, size, speed)`` is how long a job is expected to take. ``free`` is the
    whole machine from now on, for ``st.earliest`` and ``st.occupy``; ``free.level[0, 0]`` are its
    processors. Speed-ups and costs: spec: changing 1.

    Examples
    --------
    >>> import shadowtime as st
    >>> @st.resize
    ... def halves(now, jobs, free):
    ...     for i in range(min(2, len(jobs.size))):
    ...         jobs.size[i] = min(jobs.most[i], free.level[0, 0] // 2)
    >>> st.easy(backfill=halves).parameters["backfill"]
    'halves'
    """

    return _made(function, partial(Resized, compiled=compiled, speeds=speeds_of(speeds)))


def speed(function: Any = None, /, *, speeds: Mapping[float, float]) -> Any:
    """How fast every job runs: ``function(now, jobs, i)`` returns one of the declared ``speeds``.

    Called for all jobs at every submission and end; jobs start as under EASY, planned with their
    expected time at that speed; 0 suspends a running job, and lets a waiting one wait. ``jobs`` and
    ``speeds`` are those of :func:`resize`.

    Examples
    --------
    >>> import shadowtime as st
    >>> @st.speed(speeds={1000: 1.0, 700: 0.5})
    ... def slow_at_night(now, jobs, i):
    ...     return 700 if now % 86400 < 6 * 3600 else 1000
    >>> st.easy(backfill=slow_at_night).parameters["backfill"]
    'slow_at_night'
    """

    return _made(function, partial(Paced, speeds=speeds_of(speeds)))


def easy(**parts: Any) -> Any:
    """EASY with other parts: ``st.easy(order=f1, reserve=4)`` is ``st.policy("easy", ...)``."""
    return parse.make_policy("easy", **parts)
