"""shadowtime live: a real cluster under the policy that was simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shadowtime.cli.common.lazy import Entry, LazyGroup, refuse_repeats

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.live.backend import Backend

CHECK = Entry("Proof", "Decide again on recorded snapshots and compare.")


class LiveGroup(LazyGroup):
    """A command for every live backend in the registry, and those that belong to none."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, package="shadowtime.cli.live", entries={}, **options)

    @property
    def backends(self) -> Mapping[str, Backend]:
        """Ours, and those of installed packages."""
        from shadowtime.live.backend import backends  # looks through the installed packages

        return backends()

    @property
    def entries(self) -> Mapping[str, Entry]:
        found = {
            name: Entry("Clusters", f"{backend.title}: shadow mode unless --apply is given.")
            for name, backend in self.backends.items()
        }
        return {**found, "check": CHECK}

    @entries.setter
    def entries(self, given: Mapping[str, Entry]) -> None:
        """The registry alone decides."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "check":
            return super().get_command(ctx, cmd_name)
        backend = self.backends.get(cmd_name)
        if backend is None:
            return None
        from shadowtime.cli.live.backend import command_of

        return refuse_repeats(command_of(backend))


@click.group("live", cls=LiveGroup, context_settings={"max_content_width": 100})
def command() -> None:
    """A real cluster under the policy that was simulated: the same value, the same code."""
