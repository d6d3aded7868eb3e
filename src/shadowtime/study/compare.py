"""compare(): the same jobs under several policies, at several loads, on shaken inputs."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.engine.warm import warm
from shadowtime.engine.watch import Watch
from shadowtime.errors import UsageError
from shadowtime.metrics import Window, measure, policy_run
from shadowtime.metrics.where import Where
from shadowtime.schedule import Schedule
from shadowtime.study import comparison, losers, trust, trust_measures
from shadowtime.study.fan_out import cores, fan_out
from shadowtime.study.replicas import AS_RECORDED, SEED, Load, Replicas, Shared
from shadowtime.study.unstarted import why_never
from shadowtime.types import UNKNOWN, Floats
from shadowtime.workload import Workload, scale

Progress = Callable[[str], None]
"""Called after each run, from any thread."""


class Engine(Protocol):
    """The function that performs a run; ``watch`` sees how far it is."""

    def __call__(
        self, workload: Workload, cluster: Cluster, policy: Any, /, *, watch: Watch | None = None
    ) -> Schedule: ...


Known = Callable[[int, Load, int], "Mapping[str, float]"]
"""The numbers of a policy (by its place) at a load on a copy (from 1), run elsewhere before."""


def compare(
    workload: Workload,
    cluster: Cluster,
    policies: Sequence[Any],
    *,
    loads: Sequence[Load] = (AS_RECORDED,),
    shake: int = 0,
    resample: int = 0,
    seed: int = SEED,
    window: Window | None = None,
    where: Where | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    engine: Engine = simulate,
    known: Known | None = None,
) -> comparison.Comparison:
    """Run every policy on every input and compare the numbers.

    Rules
    -----
    ``shake`` (or ``resample``) copies of the log are created in addition to the unmodified log, the
    same for every policy, so that differences are paired. Runs share the log and use all cores.
    Only the numbers of the copies are kept: memory does not grow with their number. A policy that
    is an object with ``decide`` is copied for every run, so runs share no memory. ``where`` selects
    the jobs that count; all are simulated. ``engine`` performs a run; another one must give the
    same schedules. ``known`` has the numbers of the copies if those were run before
    (``study.sweep.run``): then only the unmodified log is simulated here.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload.embedded import demo_workload
    >>> from shadowtime.workload.slicing import first_jobs
    >>> jobs = first_jobs(demo_workload(), 400)
    >>> found = compare(jobs, Cluster.pool(256), [parse_policy("fcfs"), parse_policy("greedy")],
    ...                 shake=3)
    >>> setting = found.settings[0]
    >>> setting.winners("wait_mean_s"), setting.ranking("wait_mean_s").stable
    (('greedy',), True)
    """
    names = _names(policies)
    replicas = Replicas.of(shake=shake, resample=resample, seed=seed)
    scored = window or Window.all()
    if len(workload) == 0:
        raise UsageError(f"{workload.name} contains no job to compare policies on")
    if len(set(map(str, loads))) != len(loads) or not loads:
        raise UsageError("give each load once")
    if engine is simulate or (isinstance(engine, partial) and engine.func is simulate):
        warm(policies, cluster, cores=threads or cores())
        _load_passes(policies, workload, cluster)

    run = partial(
        _run, cluster=cluster, window=scored, where=where, progress=progress, engine=engine
    )
    tasks: list[Callable[[], policy_run.PolicyRun]] = []
    first: list[Shared] = []
    for number in range(replicas.count + 1):
        for load in loads:
            if number and known is not None:
                tasks += [
                    partial(_numbers, name, known(place, load, number))
                    for place, name in enumerate(names)
                ]
                continue
            shared = Shared(replicas, workload, cluster, load, number)
            shared.users = len(policies) + (number == 0)  # the unmodified log is shown, too
            first += [shared] * (number == 0)
            tasks += [
                partial(run, shared, policy, name, keep=number == 0)
                for policy, name in zip(policies, names, strict=True)
            ]
    found = iter(fan_out(tasks, threads=threads))
    table = [[[next(found) for _ in policies] for _ in loads] for _ in range(replicas.count + 1)]
    settings = []
    for at, load in enumerate(loads):
        loaded = first[at].get()
        made = [
            _record(policy, [table[k][at][place] for k in range(replicas.count + 1)])
            for place, policy in enumerate(policies)
        ]
        settings.append(
            comparison.Setting(
                load=load,
                workload=loaded,
                offered_load=_offered(loaded, cluster),
                runs=tuple(made),
                counted=scored.mask(loaded.submit) & (where or Where()).mask(loaded),
            )
        )
    return comparison.Comparison(
        workload=workload,
        cluster=cluster,
        window=scored,
        replicas=replicas,
        settings=tuple(settings),
        trust=_trust(workload, cluster, policies[0], names[0], settings, scored, engine),
    )


def _trust(
    workload: Workload,
    cluster: Cluster,
    policy: Any,
    name: str,
    settings: Sequence[comparison.Setting],
    window: Window,
    engine: Engine,
) -> trust.Trust | None:
    """The verdict on the log's own starts compared with the first policy's; None if it has none."""
    scored = (workload.recorded_start != UNKNOWN) & window.mask(workload.submit)
    if not bool(scored.any()):
        return None
    simulated = next((one.runs[0].schedule for one in settings if one.load == AS_RECORDED), None)
    if simulated is None:
        simulated = engine(workload, cluster, copy.deepcopy(policy))
    recorded = Schedule.recorded(workload)
    return trust_measures.trust_of(
        workload, cluster, recorded, simulated, policy=name, window=window
    )


def _numbers(
    name: str, metrics: Mapping[str, float], schedule: Any = None, **more: Any
) -> policy_run.PolicyRun:
    """One run; only for the unmodified log also its schedule, classes and unstarted jobs."""
    return policy_run.PolicyRun(name=name, metrics=metrics, schedule=schedule, **more)


def _run(
    shared: Shared,
    policy: Any,
    name: str,
    *,
    keep: bool,
    cluster: Cluster,
    window: Window,
    where: Where | None,
    progress: Progress | None,
    engine: Engine,
) -> policy_run.PolicyRun:
    jobs = shared.get()
    fresh = copy.deepcopy(policy) if hasattr(policy, "decide") else policy
    schedule = engine(jobs, cluster, fresh)
    only = where.mask(jobs) if where else None
    result = _numbers(name, measure(schedule, jobs, cluster, window=window, only=only))
    if keep:
        result = replace(
            result,
            schedule=schedule,
            classes=losers.class_rows(jobs, schedule, window=window, only=only),
            unstarted=why_never(schedule, jobs, cluster, window=window, only=only),
        )
    shared.done()
    if progress is not None:
        progress(name)
    return result


def _names(policies: Sequence[Any]) -> list[str]:
    if not policies:
        raise UsageError("there is no policy to compare: name at least one")
    names = [str(getattr(policy, "name", type(policy).__name__)) for policy in policies]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise UsageError(f"the policy {twice[0]} is given twice: each needs a different name")
    return names


def _load_passes(policies: Sequence[Any], workload: Workload, cluster: Cluster) -> None:
    """Load every pass here, before several threads need it at once; the first job is enough."""
    one = workload.take(np.arange(1))
    for policy in policies:
        simulate(one, cluster, copy.deepcopy(policy) if hasattr(policy, "decide") else policy)


def _record(policy: Any, runs: Sequence[policy_run.PolicyRun]) -> policy_run.PolicyRun:
    itself, *copies = runs
    common = [key for key in itself.metrics if all(key in run.metrics for run in copies)]
    columns: dict[str, Floats] = {
        key: np.array([run.metrics[key] for run in copies], np.float64)
        for key in (common if copies else ())
    }
    parameters = dict(getattr(policy, "parameters", {}))
    return replace(itself, parameters=parameters, copies=columns, policy=policy)


def _offered(workload: Workload, cluster: Cluster) -> float:
    if workload.submit[0] == workload.submit[-1]:
        return float("nan")
    return scale.offered_load(workload, cluster)["procs"]
