"""shadowtime sweep run: run what a plan still lacks."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from shadowtime.cli.common import options
from shadowtime.cli.common.console import errors, note
from shadowtime.errors import UsageError
from shadowtime.report.numbers import span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Executor
    from contextlib import AbstractContextManager

    from shadowtime.study.sweep import Outcome
    from shadowtime.study.sweep.run import Progress


plan = click.argument("plan", metavar="PLAN.toml", type=click.Path(dir_okay=False))
results = click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    required=True,
    type=click.Path(file_okay=False),
    help="The folder of the results; what it holds already is not run again.",
)


@click.command("run")
@plan
@results
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes on this machine. [default: one for each core]",
)
@click.option("--shard", metavar="I/N", help="Only the I-th of N parts, for an array of tasks.")
@click.option(
    "--retry",
    type=click.Choice(["none", "failed"]),
    default="none",
    show_default=True,
    help="Run again what failed before.",
)
@click.option(
    "--on",
    "where",
    type=click.Choice(["here", "slurm", "condor"]),
    default="here",
    show_default=True,
    help="Where workers run: on this machine, or as jobs of a cluster (extra scale).",
)
@click.option(
    "--site",
    "site",
    multiple=True,
    metavar="KEY=VALUE",
    help="With --on: how workers are submitted, as partition=batch, account=hpc, "
    "walltime=01:00:00, blocks=8, workers=16; repeatable.",
)
@click.option(
    "--prepare", is_flag=True, help="Compile what the plan needs for this machine, and stop."
)
@options.as_json
def command(
    plan: str,
    folder: str,
    workers: int | None,
    shard: str | None,
    retry: Any,
    where: str,
    site: tuple[str, ...],
    prepare: bool,
    as_json: bool,
) -> None:
    """Run every simulation of PLAN.toml that DIR holds no result of.

    A run that fails is a row with its error. Ctrl-C keeps what is done; the same command goes on.

    \b
    shadowtime sweep plan.toml -o results
    shadowtime sweep run plan.toml -o results
    shadowtime sweep plan.toml -o results --retry failed
    shadowtime sweep plan.toml -o results --shard 3/64
    shadowtime sweep plan.toml -o results --on slurm --site partition=batch --site blocks=8
    """
    from shadowtime.api.sweep import load_log
    from shadowtime.cli.common.console import note
    from shadowtime.study.sweep import run_plan
    from shadowtime.study.sweep.plan_file import read_plan
    from shadowtime.study.sweep.record import write_record
    from shadowtime.study.sweep.run import prepare as compile_for

    if site and where == "here":
        raise UsageError("--site says how workers are submitted: add --on slurm or --on condor")
    found = read_plan(plan)
    if prepare:
        compile_for(list(found.cases()), load_log, note)
        return
    if shard is None or shard.startswith("1/"):  # one task of an array is enough
        write_record(found, plan, folder)
    if where != "here":
        from shadowtime.study.sweep.scale import workers_of

        workers = workers or workers_of(where, site)
        compile_for(list(found.cases()), load_log, note)  # before jobs are submitted to wait for it
    with counting() as progress, _executor(where, site, folder) as executor:
        outcome = run_plan(
            found, folder, load=load_log, workers=workers, executor=executor, shard=shard,
            retry=retry, progress=progress, announce=note,
        )  # fmt: skip
    if as_json:
        options.print_json(_as_object(outcome, folder))
    else:
        _show(outcome, folder)


def _executor(
    where: str, site: tuple[str, ...], folder: str
) -> AbstractContextManager[Executor | None]:
    from contextlib import nullcontext

    if where == "here":
        return nullcontext()
    from shadowtime.study.sweep.scale import parsl_executor

    return parsl_executor(where, site, folder=folder)


def _as_object(outcome: Outcome, folder: str) -> dict[str, Any]:
    return {
        "folder": folder,
        "planned": outcome.planned,
        "ran": outcome.ran,
        "skipped": outcome.skipped,
        "failed": outcome.failed,
    }


def _show(outcome: Outcome, folder: str) -> None:
    from rich.text import Text

    from shadowtime.cli.common.console import show
    from shadowtime.cli.common.tables import count

    text = f"{count(outcome.planned, 'run')} planned: {outcome.ran:,} run now"
    text += f", {outcome.skipped:,} done before"
    if outcome.failed:
        text += f"; {outcome.failed:,} failed: see shadowtime sweep status {folder}"
    show(Text(text))


EVERY = 30.0
"""Seconds between two lines where output is not a terminal."""


@contextlib.contextmanager
def counting(clock: Callable[[], float] = time.monotonic) -> Iterator[Callable[[Progress], None]]:
    """A moving bar on a terminal; elsewhere a line now and then, with the time that is left."""
    console = errors()
    began = spoken = clock()
    if not console.is_terminal:

        def say(now: Progress) -> None:
            nonlocal spoken
            if clock() - spoken >= EVERY:
                spoken = clock()
                note(line(now, clock() - began))

        yield say
        return
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=30), MofNCompleteColumn())
    with Bar(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("sweep", total=None)

        def move(now: Progress) -> None:
            failed = f", {now.failed:,} failed" if now.failed else ""
            bar.update(task, completed=now.done, total=now.total, description=f"sweep{failed}")

        yield move


def line(now: Progress, elapsed: float) -> str:
    """The state of a sweep in one line.

    Examples
    --------
    >>> from shadowtime.study.sweep.run import Progress
    >>> line(Progress(done=50, failed=1, total=200), 30.0)
    '50 of 200 runs, 1 failed, about 1 min 30 s left'
    """
    failed = f", {now.failed:,} failed" if now.failed else ""
    left = round(elapsed / now.done * (now.total - now.done)) if now.done else 0
    rest = f", about {span(left)} left" if now.done else ""
    return f"{now.done:,} of {now.total:,} runs{failed}{rest}"
