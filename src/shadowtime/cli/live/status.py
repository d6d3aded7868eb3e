"""shadowtime live NAME status: waiting jobs, and when each will start, on any backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shadowtime.cli.common import options
from shadowtime.cli.common.outputs import print_json
from shadowtime.cli.live import options as live

if TYPE_CHECKING:
    from shadowtime.live.backend import Backend


def status_command(backend: Backend) -> click.Command:
    """The command for a backend without its own."""

    def callback(*, as_json: bool, **given: Any) -> None:
        from shadowtime.cli.live.run_status import look, show_status

        found = look(backend, **given)
        if as_json:
            print_json(found.to_json())
        else:
            show_status(found)

    asked = [option for option in backend.options if not option.prints]
    all_options = options.all_of(
        live.policy,
        *map(live.of_backend, asked),
        live.shape_of(backend.shapes, backend.shape_help),
        live.state,
        options.as_json,
    )
    help = f"""The live state: what is in use, the waiting jobs, the predicted start of each.

    \b
    shadowtime live {backend.name} status
    shadowtime live {backend.name} status --policy {backend.example} --json
    """
    made: click.Command = click.command("status", help=help)(all_options(callback))
    return made
