"""shadowtime replay: recorded starts compared with simulated ones."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common import options


@click.command("replay")
@options.log
@options.cluster
@options.own_policy
@options.phases
@click.option(
    "--release",
    type=click.Choice(["submit", "eligible"]),
    default="submit",
    show_default=True,
    help="When jobs arrive: at submission, or when they became eligible according to the log.",
)
@options.cleaning
@options.window
@options.where
@options.by
@options.folder
@options.as_json
@options.report
@options.figures
def command(**given: Any) -> None:
    """Simulate LOG under the policy that its machine ran, and compare with the recorded starts.

    Reports how far a what-if on this log can be trusted, and what limits the trust. A site's folder
    is replayed several times under Slurm's own scheduler with the site's settings, because no log
    records when passes ran. Prints mean waits by partition, account, QOS and size, with the range
    of one run.

    \b
    shadowtime replay site/
    shadowtime replay log.swf.gz --policy easy
    shadowtime replay jobs.psv --cluster pool:4096 --policy easy --release eligible
    """
    from shadowtime.cli.replay.run import replay_log

    replay_log(**given)
