"""shadowtime live: a real cluster under the policy that was simulated."""

from __future__ import annotations

import click

from shadowtime.cli.common.lazy import Entry, LazyGroup

COMMANDS = {
    "slurm": Entry("Clusters", "Slurm: shadow mode unless --apply is given."),
    "condor": Entry("Clusters", "HTCondor: shadow mode unless --apply is given."),
    "check": Entry("Proof", "Decide again on recorded snapshots and compare."),
}


@click.group(
    "live",
    cls=LazyGroup,
    package="shadowtime.cli.live",
    entries=COMMANDS,
    context_settings={"max_content_width": 100},
)
def command() -> None:
    """A real cluster under the policy that was simulated: the same value, the same code."""
