"""Sessions and environments: a simulation driven by your own code, or by an agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shadowtime.api.inputs import inputs_of
from shadowtime.cluster import Cluster
from shadowtime.errors import MissingExtra, UsageError
from shadowtime.policy.parse import make_policy


def session(
    jobs: Any,
    cluster: Any = None,
    *,
    order: Any = "fcfs",
    speeds: Mapping[float, float] | None = None,
) -> Any:
    """A simulation that waits for decisions at each pass: observe, start, advance.

    Rules
    -----
    ``jobs`` and ``cluster`` as for ``st.simulate``, on a pool or a site; ``order`` is the order of
    the queue on a pool: :class:`shadowtime.engine.session.Session`. On a site jobs are in order of
    arrival: :class:`shadowtime.engine.site.session.SiteSession`. With ``speeds``, as ``st.resize``
    declares them and at least ``{1000: 1.0}``, the session gives waiting and running jobs sizes and
    speeds: :class:`shadowtime.engine.changing_session.ChangingSession`.

    Examples
    --------
    >>> import shadowtime as st
    >>> jobs = st.Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1])
    >>> session = st.session(jobs, "pool:4")
    >>> while session.running:
    ...     for place in range(len(session.ids)):
    ...         if session.fits(place):
    ...             session.start(place)
    ...     _ = session.advance()
    >>> session.schedule().start.tolist()
    [0, 9, 2]
    """
    workload, machine = on_pool_or_site(jobs, cluster)
    wanted = make_policy("easy", order=order).order
    if not isinstance(machine, Cluster):
        from shadowtime.engine.site.session import SiteSession

        if speeds is not None or not wanted.by_arrival:
            raise UsageError(
                "a session on a site has its jobs in order of arrival and at their own sizes: "
                "leave order and speeds out"
            )
        return SiteSession(workload, machine)
    from shadowtime.engine.session import Session, refuse_bounds

    refuse_bounds(workload, "a session")
    if speeds is None:
        return Session(workload, machine, order=wanted)
    from shadowtime.engine.changing_session import ChangingSession

    if not wanted.by_arrival:
        raise UsageError("a session that gives sizes has its jobs in order of arrival: omit order")
    return ChangingSession(workload, machine, speeds=speeds)


def on_pool_or_site(jobs: Any, cluster: Any) -> tuple[Any, Any]:
    """The inputs of a run, rejected on hosts and on nodes with shared bandwidth."""
    workload, machine = inputs_of(jobs, cluster)
    if isinstance(machine, Cluster) and machine.shape != "pool":
        raise UsageError(
            "sessions and environments run on pools and sites: give --cluster pool:N or a site"
        )
    return workload, machine


def environment(
    jobs: Any,
    cluster: Any = None,
    *,
    mode: str = "order",
    window: int = 256,
    slots: int = 128,
    lanes: int | None = None,
    windows: int = 64,
    seed: int = 0,
    bound: int = 10,
    sizes: int | None = None,
    speeds: Mapping[float, float] | None = None,
    copy: bool = True,
) -> Any:
    """A Gymnasium environment on windows of a log; with ``lanes`` a vector environment.

    Rules
    -----
    ``mode`` "order": the agent chooses which waiting job is next, others overtake as under EASY.
    "backfill": the queue is in order of arrival, and the agent chooses which job overtakes; the
    last action is "none". "resize", on a pool of processors: the agent gives waiting and running
    jobs sizes, each job at most once in a pass, and the last action goes on. Of the 1 + ``sizes``
    times speeds actions of a slot the first makes its job wait or stops it, and the others give it
    one of ``sizes`` sizes (4), at equal distances from the least to the most that it may have
    (spec: changing 1), at each of ``speeds`` (as for :func:`resize`).

    An episode is a window of ``window`` jobs; ``windows`` of them are drawn at random by ``seed``.
    An observation has (slots, 4 + 2 K) numbers for a pool of K resources: wait and estimate in
    seconds, the share of each resource, 1 if the job fits now, the share of each resource that is
    free, seconds until the reservation. On a site these are shares of its totals, in which nodes
    that are out count as free; the agent is asked at every pass who is next, and jobs that
    something else than nodes keeps waiting are not offered. In mode "resize" there are 9 numbers:
    wait, seconds expected to be left, the share of the machine that is the job's own, that it is to
    have, has at least and at most, its speed, 1 if it runs, the share that is given to none.

    ``info`` has ``action_mask``; other actions are rejected. In a lane that has ended every action
    is possible, and ignored: the next window begins. The rewards of an episode add up to minus the
    mean slowdown, bounded by ``bound`` seconds; on sites and in mode "resize" a job earns its part
    when it ends, and one that never starts earns none. What is earned before the first decision
    comes with the reward of that decision; a window without any has its whole reward in the step
    that begins it. Pools in the first two modes run compiled, all lanes in one call; the others run
    in Python. With ``copy=False`` a vector environment returns its own arrays, which the next step
    overwrites.

    Examples
    --------
    >>> import shadowtime as st
    >>> jobs = st.Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1])
    >>> st.environment(jobs, "pool:4", mode="sideways")
    Traceback (most recent call last):
    ...
    shadowtime.errors.UsageError: mode='sideways' must be order, backfill or resize
    """
    workload, machine = on_pool_or_site(jobs, cluster)
    if mode not in ("order", "backfill", "resize"):
        raise UsageError(f"mode={mode!r} must be order, backfill or resize")
    if mode == "resize" and not isinstance(machine, Cluster):
        raise UsageError(
            "mode='resize' changes sizes of jobs on a pool of processors, not on a site: give "
            "--cluster pool:N, or mode order or backfill"
        )
    for name, given in (("speeds", speeds), ("sizes", sizes)):
        if given is not None and mode != "resize":
            raise UsageError(f"{name} have no effect in mode={mode!r}: give mode='resize'")
    sizes = 4 if sizes is None else sizes
    for name, value in (
        ("window", window), ("slots", slots), ("windows", windows), ("sizes", sizes)
    ):  # fmt: skip
        if value < 1:
            raise UsageError(f"{name}={value} must be at least 1")
    if window > len(workload):
        raise UsageError(f"a window of {window} jobs is longer than the log of {len(workload)}")
    try:
        from shadowtime.api import gymnasium_env
    except ModuleNotFoundError as error:
        if error.name != "gymnasium":
            raise
        raise MissingExtra("gymnasium", purpose="run environments for agents", extra="rl") from None
    from shadowtime.engine.episodes import Episodes

    made = Episodes(
        workload, machine, mode=mode, window=window, slots=slots, lanes=lanes or 1,
        windows=windows, seed=seed, bound=bound, sizes=sizes, speeds=speeds,
    )  # fmt: skip
    if lanes:
        return gymnasium_env.VectorEnvironment(made, copy=copy)
    return gymnasium_env.Environment(made)
