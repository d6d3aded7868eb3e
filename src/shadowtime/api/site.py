"""Experiments on a site: a replay of its own scheduler, and the effect of changes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, cast

from shadowtime.api.inputs import as_window, require_folder
from shadowtime.api.load import Cleaning, load
from shadowtime.cluster.site import Site
from shadowtime.engine import simulate
from shadowtime.errors import UsageError
from shadowtime.metrics.groups import BY, parse_by
from shadowtime.metrics.where import Where
from shadowtime.policy import make_policy
from shadowtime.study.compare import Engine
from shadowtime.study.site import trial_runs, trials
from shadowtime.study.site.changes import Change
from shadowtime.study.site.experiment import Experiment
from shadowtime.study.site.options import Option, check_prices, parse_prices
from shadowtime.study.site.replay import SiteReplay, replay_site
from shadowtime.study.site.whatif import WhatIf, what_if
from shadowtime.study.site.world import SiteWorld
from shadowtime.study.sweep.hand_out import run_parts
from shadowtime.study.sweep.store import kept


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What is changed on a site."""

    set_: tuple[str, ...] = ()
    """KEY=VALUE : A setting by Slurm's names: bf_max_job_test=2000, PriorityWeightFairshare=20000,
    partition.long.MaxTime=3-00:00:00, qos.normal.MaxTRESPU=cpu=512, account.ab.Fairshare=9,
    user.eva.DefaultQOS=high, 'reservation.R=StartTime=... Duration=60 Nodes=n[1-4]'; repeatable."""
    add_nodes: tuple[str, ...] = ()
    """KIND=N : N more nodes like those of a partition, feature, GRES or name; repeatable."""
    remove_nodes: tuple[str, ...] = ()
    """NODES : Remove these nodes, such as 'old[01-20]'."""
    max_limit: str | None = None
    """SPAN : Cap time limits, such as 2d: higher requests are lowered, and jobs end there."""
    load: str | None = None
    """L : Jobs arrive L times as fast, such as 1.2, or offered=0.9."""
    policy: str | None = None
    """P : Another policy instead of the site's own."""

    def made(self) -> tuple[Change, ...]:
        """The changes, in the order in which they are made."""
        return (
            *(Change("set", text) for text in self.set_),
            *(Change("add-nodes", text) for text in self.add_nodes),
            *(Change("remove-nodes", text) for text in self.remove_nodes),
            *([Change("max-limit", self.max_limit)] if self.max_limit else []),
            *([Change("load", self.load)] if self.load else []),
            *([Change("policy", self.policy)] if self.policy else []),
        )


UNCHANGED = Changes()


def replay(
    site: str | os.PathLike[str],
    policy: Any = "slurm",
    *,
    phases: int | None = None,
    window: Any = None,
    where: str = "",
    by: str | Sequence[str] = "",
    tz: str | None = None,
) -> SiteReplay:
    """Simulate a site folder under its own scheduler and compare it with what happened.

    Rules
    -----
    The keywords are the options of ``shadowtime replay``, with the same defaults; ``policy`` is
    what ``--policy`` accepts. ``found.groups`` has recorded and simulated mean waits
    with the range of one run, ``found.trust`` the verdict.

    Examples
    --------
    >>> import shadowtime as st
    >>> st.replay("no-such-folder")
    Traceback (most recent call last):
    ...
    shadowtime.errors.InputError: no-such-folder: ...
    """
    groups = (parse_by(by) if isinstance(by, str) else tuple(by)) if by else BY
    world = load_world(os.fspath(site), policy=policy, tz=tz, report=_warn)
    return replay_site(
        world.jobs, world.site, world.policy, repeats=repeats_of(world.policy, phases),
        window=as_window(window), where=Where.parse(where), by=groups,
    )  # fmt: skip


def repeats_of(policy: Any, phases: int | None) -> trials.Repeats:
    """How often a site is replayed: two runs of a policy without phases would be equal."""
    return trials.Repeats(phases=phases or (trials.PHASES if hasattr(policy, "phase") else 1))


def whatif(
    site: str | os.PathLike[str],
    changes: Mapping[str, Any] | None = None,
    *,
    add_nodes: str | Sequence[str] = (),
    remove_nodes: str | Sequence[str] = (),
    max_limit: str | None = None,
    policy: str | None = None,
    load: str | float | None = None,
    options: Mapping[str, str] | None = None,
    price: str | float | Sequence[str | float] = (),
    cluster: str | None = None,
    baseline: str = "slurm",
    phases: int = 6,
    shake: bool = False,
    resample: bool = False,
    feedback: bool = False,
    quick: bool = False,
    seed: int = 1,
    tz: str | None = None,
    where: str = "",
    by: str = "",
    resume: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
) -> WhatIf:
    """The effect of changes on a site's waits, compared with its replayed baseline.

    Rules
    -----
    ``changes`` are those of ``--set``, as ``{"bf_max_job_test": 2000}``; the other arguments are
    those of the options of the same names; ``options`` are alternatives side by side by name, as
    ``{"more gpus": "--add-nodes gpu=10"}``. With ``resume`` every run is saved in that folder and
    reused; with ``workers`` or an ``executor`` of ``concurrent.futures`` as well, other processes
    perform the runs.

    Parameters
    ----------
    baseline : P
        The policy that the site runs.
    phases : N in 2..100
        Simulate N runs, with Slurm's passes at different offsets, or for other policies on shaken
        copies of the log.
    shake
        Repeat on shaken copies of the log.
    resample
        Repeat on copies with resampled users.
    feedback
        Closed loop: users submit their next jobs a think time after the previous ones ended.
    quick
        A first answer from three weeks (or days) of low, usual and high load, with a larger
        uncertainty; without it the whole log refines it.
    seed
        Seed of the copies.
    tz : ZONE
        Time zone of the folder, such as Europe/Zurich.

    Examples
    --------
    >>> import shadowtime as st
    >>> st.whatif("site", {"bf_max_job_tst": 5})
    Traceback (most recent call last):
    ...
    shadowtime.errors.UsageError: --set: Slurm has no key 'bf_max_job_tst' that is modelled: ...
    """
    made = Changes(
        set_=tuple(f"{key}={value}" for key, value in (changes or {}).items()),
        add_nodes=_several(add_nodes),
        remove_nodes=_several(remove_nodes),
        max_limit=max_limit,
        policy=policy,
        load=None if load is None else str(load),
    ).made()
    prices = (price,) if isinstance(price, str | float | int) else price
    experiment = Experiment(
        site=os.fspath(site), changes=made, prices=tuple(str(one) for one in prices),
        options=tuple(Option.parse(f"{name}: {text}") for name, text in (options or {}).items()),
        cluster=cluster or "", baseline=baseline, phases=phases, shake=shake, resample=resample,
        feedback=feedback, quick=quick, seed=seed, tz=tz or "", where=where, by=by,
    )  # fmt: skip
    require_folder(resume, workers, executor)
    if resume is None:
        return run_experiment(experiment, report=_warn)

    world = world_of(experiment, report=_warn)
    if workers is not None or executor is not None:
        study = trial_runs.WhatIfStudy.of(experiment, resume, read_world)
        run_parts(study, study.missing(world), workers=workers, executor=executor)
    return run_experiment(experiment, world=world, engine=kept(simulate, resume), report=_warn)


def run_experiment(
    experiment: Experiment,
    *,
    report: Callable[[str], None],
    engine: Engine | None = None,
    advance: Callable[[], None] = lambda: None,
    world: SiteWorld | None = None,
) -> WhatIf:
    """Run an experiment; changes without effect are reported through ``report``."""
    world = world or world_of(experiment, report=report)
    prices = parse_prices(experiment.prices)
    check_prices(world.site, prices)
    repeats = experiment.repeats_on(world.jobs)
    if experiment.quick and not repeats.stretches:
        report("the log is too short to be cut: --quick has no effect")
    found = what_if(
        world,
        experiment.changes,
        options=experiment.options,
        prices=prices,
        repeats=repeats,
        by=parse_by(experiment.by) if experiment.by else BY,
        where=Where.parse(experiment.where),
        feedback=experiment.feedback,
        engine=engine or simulate,
        advance=advance,
    )
    for note in found.notes:
        report(note)
    return found


def world_of(experiment: Experiment, *, report: Callable[[str], None]) -> SiteWorld:
    """The site, jobs and policy of an experiment."""
    return load_world(
        experiment.site,
        experiment.cluster or None,
        policy=experiment.baseline,
        tz=experiment.tz or None,
        report=report,
    )


def read_world(experiment: Experiment) -> SiteWorld:
    """The same for a worker: the process that sent it has already reported everything."""
    return world_of(experiment, report=lambda sentence: None)


def load_world(
    log: str,
    cluster: Any = None,
    *,
    policy: Any,
    tz: str | None,
    report: Callable[[str], None],
) -> SiteWorld:
    """Read a site folder, or a log and a site."""
    from shadowtime.cluster.site_folder import zone_of

    zone = zone_of(tz)
    jobs, machine = load(log, cluster, Cleaning(tz=tz), report=report)
    if machine.shape != "site":
        raise UsageError(
            f"{log}: this needs a site, but the machine is a {machine.shape}: give a site's folder "
            "(shadowtime pull slurm), or describe the machine as a site with --cluster"
        )
    site = cast("Site", machine)
    return SiteWorld(site=site, jobs=jobs, policy=make_policy(policy), zone=zone)


def _several(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _warn(sentence: str) -> None:
    warnings.warn(sentence, stacklevel=3)
