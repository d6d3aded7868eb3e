"""Sessions and environments: a simulation driven by your own code, or by an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shadowtime.api.inputs import inputs_of
from shadowtime.cluster import Cluster
from shadowtime.errors import MissingExtra, UsageError
from shadowtime.policy.parse import make_policy

if TYPE_CHECKING:
    from shadowtime.engine.session import Session


def session(jobs: Any, cluster: Any = None, *, order: Any = "fcfs") -> Session:
    """A simulation that waits for decisions at each pass: observe, start, advance.

    Rules
    -----
    ``jobs`` and ``cluster`` as for ``st.simulate``, on a pool; ``order`` is the order of the queue.
    See :class:`shadowtime.engine.session.Session`.

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
    from shadowtime.engine.session import Session

    workload, machine = on_a_pool(jobs, cluster)
    return Session(workload, machine, order=make_policy("easy", order=order).order)


def on_a_pool(jobs: Any, cluster: Any) -> tuple[Any, Cluster]:
    """The inputs of a run, rejected on anything but a pool."""
    workload, machine = inputs_of(jobs, cluster)
    if not isinstance(machine, Cluster) or machine.shape != "pool":
        raise UsageError("sessions and environments run on a pool: give --cluster pool:N")
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
    copy: bool = True,
) -> Any:
    """A Gymnasium environment on windows of a log; with ``lanes`` a vector environment.

    Rules
    -----
    ``mode`` "order": the agent chooses which waiting job is next, others overtake as under EASY.
    "backfill": the queue is in order of arrival, and the agent chooses which job overtakes; the
    last action is "none". An episode is a window of ``window`` jobs; ``windows`` of them are drawn
    at random by ``seed``. An observation has (slots, 4 + 2 K) numbers for a pool of K resources:
    wait and estimate in seconds, the share of each resource, 1 if the job fits now, the share of
    each resource that is free, seconds until the reservation.
    ``info`` has ``action_mask``; other actions are rejected. In a lane that has ended every action
    is possible, and ignored: the next window begins. The rewards of an episode add up to minus the
    mean slowdown, bounded by ``bound`` seconds. With ``copy=False`` a vector environment returns
    its own arrays, which the next step overwrites.

    Examples
    --------
    >>> import shadowtime as st
    >>> jobs = st.Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1])
    >>> st.environment(jobs, "pool:4", mode="sideways")
    Traceback (most recent call last):
    ...
    shadowtime.errors.UsageError: mode='sideways' must be order or backfill
    """
    workload, machine = on_a_pool(jobs, cluster)
    if mode not in ("order", "backfill"):
        raise UsageError(f"mode={mode!r} must be order or backfill")
    for name, value in (("window", window), ("slots", slots), ("windows", windows)):
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
        windows=windows, seed=seed, bound=bound,
    )  # fmt: skip
    if lanes:
        return gymnasium_env.VectorEnvironment(made, copy=copy)
    return gymnasium_env.Environment(made)
