"""Experiments on a site: a replay of its own scheduler, and the effect of changes."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any, cast

from shadowtime.api.inputs import as_window, require_folder
from shadowtime.api.load import Cleaning, load
from shadowtime.engine import simulate
from shadowtime.errors import UsageError
from shadowtime.metrics.groups import BY, parse_by
from shadowtime.metrics.where import Where
from shadowtime.policy import make_policy
from shadowtime.study.site.changes import Change
from shadowtime.study.site.experiment import Experiment
from shadowtime.study.site.options import Option, check_prices, parse_prices
from shadowtime.study.site.parts import WhatIfStudy
from shadowtime.study.site.replay import replay_site
from shadowtime.study.site.trials import Repeats
from shadowtime.study.site.whatif import what_if
from shadowtime.study.site.world import SiteWorld
from shadowtime.study.sweep.kept import kept
from shadowtime.study.sweep.parts import run_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor

    from shadowtime.cluster.site import Site
    from shadowtime.study.compare import Engine
    from shadowtime.study.site.replay import SiteReplay
    from shadowtime.study.site.whatif import WhatIf


def replay(
    site: str | os.PathLike[str],
    policy: Any = "slurm",
    *,
    phases: int = 6,
    window: Any = None,
    by: Sequence[str] | None = None,
    tz: str | None = None,
) -> SiteReplay:
    """Simulate a site folder under its own scheduler and compare it with what happened.

    Rules
    -----
    ``policy`` is what ``--policy`` accepts. ``found.groups`` has recorded and simulated mean waits
    with the range of one run, ``found.trust`` the verdict.

    Examples
    --------
    >>> import shadowtime as st
    >>> st.replay("no-such-folder")
    Traceback (most recent call last):
    ...
    shadowtime.errors.InputError: no-such-folder: ...
    """
    world = load_world(os.fspath(site), policy=policy, tz=tz, report=_warn)
    return replay_site(
        world.jobs, world.site, world.policy,
        repeats=Repeats(phases=phases), window=as_window(window), by=tuple(by or BY),
    )  # fmt: skip


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
    resume: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    **how: Any,
) -> WhatIf:
    """The effect of changes on a site's waits, compared with its replayed baseline.

    Rules
    -----
    ``changes`` are those of ``--set``, as ``{"bf_max_job_test": 2000}``; the other arguments are
    those of the options of the same names; ``options`` are alternatives side by side by name, as
    ``{"more gpus": "--add-nodes gpu=10"}``. ``how`` are fields of
    :class:`shadowtime.study.site.experiment.Experiment` (phases, shake, resample, seed, tz).
    With ``resume`` every run is saved in that folder and reused; with ``workers`` or an
    ``executor`` of ``concurrent.futures`` as well, other processes perform the runs.

    Examples
    --------
    >>> import shadowtime as st
    >>> st.whatif("site", {"bf_max_job_tst": 5})
    Traceback (most recent call last):
    ...
    shadowtime.errors.UsageError: --set: Slurm has no key 'bf_max_job_tst' that is modelled: ...
    """
    made = changes_from(
        [f"{key}={value}" for key, value in (changes or {}).items()],
        add_nodes=_several(add_nodes),
        remove_nodes=_several(remove_nodes),
        max_limit=max_limit,
        policy=policy,
        load=None if load is None else str(load),
    )
    prices = (price,) if isinstance(price, str | float | int) else price
    experiment = Experiment(
        site=os.fspath(site), changes=made, prices=tuple(str(one) for one in prices),
        options=tuple(Option.parse(f"{name}: {text}") for name, text in (options or {}).items()),
        **how,
    )  # fmt: skip
    require_folder(resume, workers, executor)
    if resume is None:
        return run_experiment(experiment, report=_warn)

    world = world_of(experiment, report=_warn)
    if workers is not None or executor is not None:
        study = WhatIfStudy.of(experiment, resume, read_world)
        run_parts(study, study.missing(world), workers=workers, executor=executor)
    return run_experiment(experiment, world=world, engine=kept(simulate, resume), report=_warn)


def changes_from(
    settings: Sequence[str],
    *,
    add_nodes: Sequence[str] = (),
    remove_nodes: Sequence[str] = (),
    max_limit: str | None = None,
    policy: str | None = None,
    load: str | None = None,
) -> tuple[Any, ...]:
    """The changes of these options, in the order in which they are made."""
    return (
        *(Change("set", text) for text in settings),
        *(Change("add-nodes", text) for text in add_nodes),
        *(Change("remove-nodes", text) for text in remove_nodes),
        *([Change("max-limit", max_limit)] if max_limit else []),
        *([Change("load", load)] if load else []),
        *([Change("policy", policy)] if policy else []),
    )


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


def _several(given: str | Sequence[str]) -> Sequence[str]:
    return [given] if isinstance(given, str) else given


def _warn(sentence: str) -> None:
    warnings.warn(sentence, stacklevel=3)
