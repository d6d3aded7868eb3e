"""shadowtime demo: compare policies on the built-in workload."""

from __future__ import annotations

import click

from shadowtime.cli.common import options
from shadowtime.cli.common.amounts import Range
from shadowtime.errors import UsageError

SHAKES = 10
"""Runs on shaken inputs, so that the headline does not depend on one log; only if the passes are
already compiled, since a new user would wait a minute for them."""


@click.command("demo")
@click.option("--step", is_flag=True, help="Watch ten jobs being scheduled, event by event.")
@click.option("--auto", is_flag=True, help="With --step: do not wait for Enter.")
@click.option(
    "--policy",
    "-p",
    metavar="P",
    default="easy",
    help="With --step: fcfs, greedy, easy, easy-sjbf, conservative, or mine.py:name with decide. "
    "[default: easy]",
)
@click.option(
    "--log",
    metavar="LOG",
    type=click.Path(),
    help="With --step: watch jobs of this log instead, on its machine.",
)
@click.option(
    "--jobs",
    type=Range(),
    metavar="A:B",
    help="With --log: jobs A to B, from 0, at most 26. [default: the first ones]",
)
@options.cluster
@click.option(
    "--shake",
    metavar="N",
    type=click.IntRange(min=0),
    help=f"Also run N shaken copies of the workload. [default: {SHAKES} if the policies are "
    "already compiled, else 0]",
)
@options.folder
@options.as_json
@options.report
def command(
    step: bool,
    auto: bool,
    policy: str,
    log: str | None,
    jobs: tuple[int, int | None] | None,
    cluster: str | None,
    shake: int | None,
    folder: str | None,
    as_json: bool,
    report: str | None,
) -> None:
    """Compare seven policies on an embedded workload. No data and no network needed.

    The workload is generated (Lublin and Feitelson's model, with realistic user estimates) and
    always the same. With --step: ten jobs on eight processors, for teaching, or a few jobs of your
    own log; step forward, back, or to any event.

    \b
    shadowtime demo
    shadowtime demo --shake 20
    shadowtime demo --step
    shadowtime demo --step --policy conservative --auto | less -R
    shadowtime demo --step --log log.swf.gz --jobs 100:120
    """
    if not step:
        if log is not None or jobs or cluster:
            raise UsageError("--log, --jobs and --cluster belong to --step")
        if auto or policy != "easy":
            raise UsageError(
                "--auto and --policy belong to --step: the demo compares seven policies"
            )
        from shadowtime.cli.demo.run import compare_all

        compare_all(shake=shake, shakes=SHAKES, folder=folder, as_json=as_json, report=report)
        return
    if folder or report or as_json or shake is not None:
        raise UsageError("--step writes nothing: omit -o, --json, --report and --shake")
    from shadowtime.cli.demo.step import walk, walk_log

    if log is not None:
        walk_log(policy, log, jobs, cluster, auto=auto)
        return
    if jobs or cluster:
        raise UsageError("--jobs and --cluster belong to --log: give a log to watch")
    walk(policy, auto=auto)
