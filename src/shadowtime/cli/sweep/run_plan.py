"""Run the missing simulations of a plan and print the outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from shadowtime.api.sweep import load_log
from shadowtime.cli.common import options
from shadowtime.cli.common.console import note, show
from shadowtime.cli.common.outputs import check_folder
from shadowtime.cli.common.placing import Placing, counting
from shadowtime.cli.common.tables import count
from shadowtime.study.sweep import run_plan
from shadowtime.study.sweep.plan_file import read_plan
from shadowtime.study.sweep.record import write_record
from shadowtime.study.sweep.run import prepare as compile_for

if TYPE_CHECKING:
    from shadowtime.study.sweep import Outcome


def run_missing(
    *,
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
    """Run what has no result yet; 1 if a run failed."""
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
    text = f"{count(outcome.planned, 'run')} planned: {outcome.ran:,} run now"
    text += f", {outcome.skipped:,} done before"
    if outcome.failed:
        text += f"; {outcome.failed:,} failed: see shadowtime sweep status {folder}"
    show(Text(text))
