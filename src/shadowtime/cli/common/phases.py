"""Several runs with Slurm's passes at different offsets: means and ranges, no single start."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich.text import Text

from shadowtime.cli.common import tables
from shadowtime.cli.common.console import show
from shadowtime.cli.common.outputs import print_json
from shadowtime.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.api.run import Run
    from shadowtime.workload import Workload


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
        f" on {workload.name}: {tables.count(len(workload), 'job')}, "
        f"{len(runs)} runs with the passes at other offsets\n",
    )
    show(head, table)
