"""shadowtime sweep run: run the missing simulations of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shadowtime.cli.common import options
from shadowtime.cli.common.console import note, show
from shadowtime.cli.common.placing import Placing, counting, on
from shadowtime.cli.sweep.options import plan, results

if TYPE_CHECKING:
    from shadowtime.study.sweep import Outcome


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
    help="Repeat runs that failed before.",
)
@on
@click.option(
    "--prepare", is_flag=True, help="Compile what the plan needs for this machine, then exit."
)
@options.as_json
def command(
    plan: str,
    folder: str,
    workers: int | None,
    shard: str | None,
    retry: Any,
    place: str,
    submission: tuple[str, ...],
    prepare: bool,
    as_json: bool,
) -> int:
    """Run every simulation of PLAN.toml that has no result in DIR yet.

    A run that fails becomes a row with its error, and the exit code is 1. After Ctrl-C, the same
    command resumes.

    \b
    shadowtime sweep plan.toml -o results
    shadowtime sweep run plan.toml -o results
    shadowtime sweep plan.toml -o results --retry failed
    shadowtime sweep plan.toml -o results --shard 3/64
    shadowtime sweep plan.toml -o results --on slurm --site partition=batch --site blocks=8
    """
    from shadowtime.api.sweep import load_log
    from shadowtime.cli.common.outputs import check_folder
    from shadowtime.study.sweep import run_plan
    from shadowtime.study.sweep.plan_file import read_plan
    from shadowtime.study.sweep.record import write_record
    from shadowtime.study.sweep.run import prepare as compile_for

    placing = Placing(place=place, submission=submission, workers=workers)
    check_folder("--output", folder)
    found = read_plan(plan)
    if prepare:
        compile_for(list(found.cases()), load_log, note)
        return 0
    if shard is None or shard.startswith("1/"):  # one task of an array is enough
        write_record(found, plan, folder)
    if place != "here":
        compile_for(list(found.cases()), load_log, note)  # before jobs are submitted to wait for it
    with counting() as progress, placing.executor(folder) as executor:
        outcome = run_plan(
            found, folder, load=load_log, workers=placing.count(), executor=executor, shard=shard,
            retry=retry, progress=progress, announce=note,
        )  # fmt: skip
    if as_json:
        options.print_json(_as_object(outcome, folder))
    else:
        _show(outcome, folder)
    return 1 if outcome.failed else 0


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

    from shadowtime.cli.common.tables import count

    text = f"{count(outcome.planned, 'run')} planned: {outcome.ran:,} run now"
    text += f", {outcome.skipped:,} done before"
    if outcome.failed:
        text += f"; {outcome.failed:,} failed: see shadowtime sweep status {folder}"
    show(Text(text))
