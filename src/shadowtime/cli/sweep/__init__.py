"""shadowtime sweep: many simulations that resume, here or on a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from shadowtime.cli.common.lazy import Entry, LazyGroup

if TYPE_CHECKING:
    from click import Context

COMMANDS = {
    "run": Entry("Commands", "Run the missing simulations of a plan; same as `sweep PLAN.toml`."),
    "status": Entry("Commands", "Show the progress of a sweep, and what failed."),
    "collect": Entry("Commands", "Show all results as one table, or a metric over a parameter."),
    "report": Entry("Commands", "Write a page of bars, curves and heat maps with intervals."),
    "script": Entry("Commands", "Print a job script that runs the plan as an array of tasks."),
    "merge": Entry("Commands", "Merge the shards of a folder into one."),
}


class _Sweep(LazyGroup):
    """``sweep PLAN.toml`` is ``sweep run PLAN.toml``."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.entries and args[0] not in ("--help", "-h"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group(
    "sweep",
    cls=_Sweep,
    package="shadowtime.cli.sweep",
    entries=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
def command() -> None:
    """Run logs x machines x policies with ranges x loads x copies, resumable, on any cluster.

    \b
    shadowtime sweep plan.toml -o results
    shadowtime sweep status results
    shadowtime sweep collect results -o table.csv
    shadowtime sweep report results -o sweep.html
    """
