"""shadowtime sweep status: the progress of a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shadowtime.cli.common import options
from shadowtime.cli.common.console import show

if TYPE_CHECKING:
    from rich.console import RenderableType

    from shadowtime.study.sweep.status import Status


@click.command("status")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@click.option(
    "--plan",
    metavar="PLAN.toml",
    help="The plan to compare with. [default: the last one run with this DIR]",
)
@options.as_json
def command(folder: str, plan: str | None, as_json: bool) -> None:
    """Show how many runs of a sweep are done, how many failed and why, and the remaining time.

    \b
    shadowtime sweep status results
    """
    from shadowtime.study.sweep.status import status_of

    found = status_of(folder, plan)
    if as_json:
        options.print_json(found.as_dict())
        return

    show(*_parts(found))


def _parts(found: Status) -> list[RenderableType]:
    from rich.text import Text

    from shadowtime.cli.common.tables import count, plain_table
    from shadowtime.report.numbers import span

    text = f"{count(found.done, 'run')} done"
    if found.planned is not None:
        text = f"{found.done:,} of {count(found.planned, 'run')} done"
    text += f", {found.failed:,} failed, in {count(found.shards, 'shard')}"
    if found.seconds_left:
        text += f"; about {span(found.seconds_left)} left at the rate so far"
    parts: list[Any] = [Text(text)]
    if found.errors:
        table = plain_table("runs", "error")
        for error, number in found.errors:
            table.add_row(f"{number:,}", error)
        parts += [Text(), table, Text("repeat them with --retry failed", "dim")]
        if any("--bad-lines" in error or "--rule" in error for error, _ in found.errors):
            keys = (
                'options of logs are keys of the plan\'s table [cleaning], e.g. bad_lines = "drop"'
            )
            parts.append(Text(keys, "dim"))
    return parts
