"""Run policies over a workload with progress, compiled or not as the size of the work suggests.

Logs and machines are loaded as the Python interface does, with progress.

Several runs with Slurm's passes at different offsets give means and ranges, no single start.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.api.load import Cleaning, must_score_some
from shadowtime.api.load import load as load_quietly
from shadowtime.api.run import Run, run_policy
from shadowtime.cli.common import interrupt, progress, tables
from shadowtime.cli.common.console import note, show
from shadowtime.cli.common.outputs import print_json, typed_words
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate, uncompiled, warm
from shadowtime.engine.watch import Watch
from shadowtime.errors import InputError, ShadowtimeError, UsageError
from shadowtime.kernel.sources import source_digest
from shadowtime.metrics import Window
from shadowtime.policy import Policy
from shadowtime.private import user_cache
from shadowtime.report.numbers import count
from shadowtime.schedule import Schedule
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from shadowtime.metrics.where import Where
    from shadowtime.study.compare import Engine
    from shadowtime.study.sweep.store import Spare


__all__ = ["Cleaning", "load", "must_score_some", "print_policy_notes"]


def load(
    trace: str, cluster: str | None, cleaning: Cleaning, *, demand: str | None = None
) -> tuple[Workload, Cluster]:
    """Read a log and its machine, and report what has no effect."""
    notes: list[str] = []
    with progress.while_reading(trace):
        found = load_quietly(trace, cluster, cleaning, demand=demand, report=notes.append)
    for one in notes:
        note(one)
    return found


def print_policy_notes(policies: Iterable[Any], machine: Cluster, workload: Workload) -> None:
    """Print the policies' remarks about a machine and a log before they run."""
    for policy in policies:
        for one in policy.notes_on(machine, workload) if hasattr(policy, "notes_on") else ():
            note(one)


SMALL = 1000
"""Up to this many jobs are simulated in plain Python faster than a pass compiles, however long the
queue.
"""
MOST_KEPT = 100
"""So many runs are kept, the newest."""
ENGINE = Path(simulate.__code__.co_filename)


def prepare(
    policies: Sequence[Any],
    cluster: Cluster,
    *,
    jobs: int,
    small: int = SMALL,
    resume: str | None = None,
) -> Engine:
    """What to simulate ``jobs`` jobs with; compiles on all cores if needed, and reports it.

    Up to ``small`` jobs on a machine where nothing is compiled are run without compiling: that is
    quicker, and the schedules are the same. Their schedules are kept (:func:`run_once`). With
    ``resume`` all runs are kept in that folder, and reused from it; without it those of a command
    that takes more than a minute are kept until it ends (study/sweep/store.py).
    """
    if resume is not None:
        from shadowtime.study.sweep.store import Store, kept

        there = Store.at(resume).content
        note(f"{resume}: {there}" if there else f"{resume}: nothing to resume, all runs begin")
        return kept(compiled_engine(policies, cluster, jobs=jobs, small=small), resume)
    engine = compiled_engine(policies, cluster, jobs=jobs, small=small)
    spare = spare_runs() if jobs > small else None
    return engine if spare is None else spare.engine(engine)


def spare_runs() -> Spare | None:
    """What this command left when it was interrupted, and may leave; None without a place."""
    folder = interrupt.folder_of(typed_words()[1:])
    if folder is None:
        return None
    from shadowtime.study.sweep.store import Spare, forget_old

    forget_old(folder.parent, time.time())
    spare = Spare(folder)
    if spare.content:
        note(f"this command was interrupted before; {spare.content}")
    return spare


def kept_folder(resume: str | None) -> str | None:
    """Where a study of many small results keeps them: as asked, else until the command ends."""
    spare = spare_runs() if resume is None else None
    try:
        return resume if spare is None else str(spare.store.place.parent)
    except (OSError, ShadowtimeError):  # there is no such folder
        return None


def compiled_engine(
    policies: Sequence[Any], cluster: Cluster, *, jobs: int, small: int = SMALL
) -> Engine:
    """What to simulate with, compiled where that is worth it."""
    missing = warm.cold(policies, cluster)
    if missing and jobs <= small:
        return partial(run_once, partial(uncompiled.simulate_uncompiled, report=note))
    if len(missing) > 1:
        from shadowtime.study.fan_out import cores

        spent = [warm.COST[name] for name in missing]
        seconds = max(*spent, sum(spent) // cores())
        note(f"compiling the engine for this machine: once, about {seconds} seconds ...")
        with progress.working("compiling", steps=len(missing), patience=0.2, quiet=True) as advance:
            warm.warm(policies, cluster, cores=cores(), finished=lambda name: advance())
    return simulate


def run_once(
    engine: Engine,
    jobs: Workload,
    cluster: Cluster,
    policy: Any,
    /,
    *,
    watch: Watch | None = None,
) -> Schedule:
    """A run whose schedule is kept in the user's cache: the same run again is read from there.

    A run without compiling takes seconds, every time. Runs of other sources of the engine have
    folders of their own; a policy with code of a user's own is not kept, and no folder that cannot
    be written or read is needed.
    """
    from shadowtime.study.sweep.store import ENDING, kept

    if not isinstance(policy, Policy) or policy.written:
        return engine(jobs, cluster, policy, watch=watch)
    place = user_cache("runs")
    try:
        keeping = kept(engine, place / source_digest(ENGINE))
    except ShadowtimeError:  # there is no such folder
        return engine(jobs, cluster, policy, watch=watch)
    try:
        made = keeping(jobs, cluster, policy, watch=watch)
    except (OSError, InputError):  # a disk that is full, a damaged file
        return engine(jobs, cluster, policy, watch=watch)
    with suppress(OSError):
        by_age = sorted(place.rglob(f"*{ENDING}"), key=lambda each: each.stat().st_mtime)
        for old in by_age[:-MOST_KEPT]:
            old.unlink()
    return made.replace(job_id=jobs.job_id)


def run_policies(
    workload: Workload,
    cluster: Cluster,
    policies: Sequence[Any],
    window: Window,
    *,
    where: Where | None = None,
    resume: str | None = None,
) -> tuple[Run, ...]:
    """Simulate and measure each policy in turn; ``where`` selects the jobs that count."""
    engine = prepare(policies, cluster, jobs=len(workload), resume=resume)
    runs = []
    with progress.while_simulating(steps=len(policies)) as advance:
        engine = advance.watched(engine)
        for policy in policies:
            run = run_policy(workload, cluster, policy, window=window, where=where, engine=engine)
            run.metrics  # noqa: B018 - measured here, where progress is shown
            runs.append(run)
            advance(f"{run.name} done")
    return tuple(runs)


def check_phases(policy: Any, **outputs: str | None) -> None:
    """Reject options that need single starts, and policies that have no passes to shift."""
    if not hasattr(policy, "offsets"):
        raise UsageError(
            f"--phases shifts the passes of Slurm's own scheduler; {policy.name} has none: "
            "leave it out or use --policy slurm"
        )
    given = [name for name, value in outputs.items() if value]
    if given:
        raise UsageError(
            f"--phases prints means over several runs, --{given[0]} shows one run: choose one"
        )


def ranges(runs: Sequence[Run]) -> dict[str, dict[str, float]]:
    """Mean, least and largest value of each metric that every run has."""
    found = {}
    for name in runs[0].metrics:
        values = [float(run.metrics[name]) for run in runs if name in run.metrics]
        if len(values) == len(runs) and all(map(math.isfinite, values)):
            found[name] = {
                "mean": sum(values) / len(values),
                "low": min(values),
                "high": max(values),
            }
    return found


def show_phases(runs: Sequence[Run], workload: Workload, as_json: bool) -> None:
    """Print them."""
    from rich.text import Text  # not loaded by runs in a pipe

    found = ranges(runs)
    first = runs[0]
    if as_json:
        print_json(
            {
                "policy": first.name,
                "parameters": first.parameters,
                "jobs": len(workload),
                "phases": len(runs),
                "metrics": found,
            }
        )
        return
    table = tables.numbers_table("metric", "mean", "low", "high")
    for name, one in found.items():
        table.add_row(name, *(f"{one[which]:,.4g}" for which in ("mean", "low", "high")))
    head = Text.assemble(
        (first.name, "bold cyan"),
        f" on {workload.name}: {count(len(workload), 'job')}, "
        f"{len(runs)} runs with the passes at other offsets\n",
    )
    show(head, table)
