"""shadowtime eta: when a waiting job of the live cluster will start."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common import options
from shadowtime.cli.live import options as live
from shadowtime.errors import UsageError


@click.command("eta")
@click.argument("job")
@live.poll_of_slurm
def command(job: str, as_json: bool, **given: Any) -> None:
    """When the waiting JOB of a Slurm cluster will start, with a range.

    The simulator continues from the live state. Expected: every job runs as long as the policy
    expects. The range: every job uses as little or as much of its request as recent jobs did.
    No further submissions are assumed. If no loop runs, Slurm's own passes are simulated.

    \b
    shadowtime eta 1234
    shadowtime eta 1234 --policy conservative
    """
    import time

    from shadowtime.cli.live.run_slurm_status import look
    from shadowtime.report.numbers import span

    found = look(**given)
    row = next((row for row in found.waiting if row.job == job), None)
    if row is None:
        if job in found.ineligible and found.policy == "slurm":
            raise UsageError(f"no start of job {job} is predicted: {found.ineligible[job]}")
        if job in found.ineligible:
            raise UsageError(f"the loop does not start job {job}: {found.ineligible[job]}")
        where = "in the queue" if found.policy == "slurm" else "at the gate"
        raise UsageError(f"no job {job} waits {where}: see `shadowtime live slurm status`")
    if as_json:
        values = {"job": job, "now": found.now, "expected": row.eta.expected}
        values |= {"earliest": row.eta.earliest, "latest": row.eta.latest, "policy": found.policy}
        options.print_json(values)
        return
    expected, low, high = (
        max(0, at - found.now) for at in (row.eta.expected, row.eta.earliest, row.eta.latest)
    )
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row.eta.expected))
    print(
        f"job {job} is expected to start in {span(expected)} ({when}), "
        f"between {span(low)} and {span(high)} from now, under {found.policy}"
    )
