"""shadowtime live: a real cluster under the policy that was simulated."""

from __future__ import annotations

import click

from shadowtime.cli.lazy import Entry, LazyGroup

COMMANDS = {
    "slurm": Entry("Clusters", "Slurm: shadow mode unless --apply is given.", "live_slurm"),
    "condor": Entry("Clusters", "HTCondor: shadow mode unless --apply is given.", "live_condor"),
    "check": Entry("Proof", "Decide again on recorded snapshots and compare.", "live_check"),
}


@click.group(
    "live",
    cls=LazyGroup,
    package="shadowtime.cli",
    entries=COMMANDS,
    context_settings={"max_content_width": 100},
)
def command() -> None:
    """A real cluster under the policy that was simulated: the same value, the same code."""
