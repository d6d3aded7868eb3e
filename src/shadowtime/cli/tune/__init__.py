"""shadowtime tune: tune parameters on past jobs, evaluate them on later ones."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common import options


@click.command("tune")
@options.log
@options.cluster
@options.policy
@click.option(
    "--over",
    multiple=True,
    required=True,
    metavar="NAME=RANGE",
    help="A parameter to tune: expansion=0..1, 'wait=0.001..1 log', reserve=1..8, order=fcfs,sjf; "
    "repeatable.",
)
@click.option(
    "--objective",
    "objectives",
    default="bsld_mean",
    show_default=True,
    metavar="M,...",
    help="Metrics to improve, the most important first.",
)
@click.option(
    "--method",
    type=click.Choice(["random", "halving", "optuna"]),
    default="halving",
    show_default=True,
    help="How to search; optuna needs the extra tune.",
)
@click.option(
    "--trials", type=click.IntRange(min=2), default=50, show_default=True, metavar="N",
    help="Candidates to try.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, metavar="S",
    help="Seed of the search and of the copies.",
)  # fmt: skip
@click.option(
    "--copies",
    type=click.IntRange(min=2),
    default=10,
    show_default=True,
    metavar="N",
    help="Shaken copies of the last part, for the interval.",
)
@click.option(
    "--baseline", default="easy", show_default=True, metavar="P", help="The policy to compare with."
)
@click.option(
    "--rival",
    "rivals",
    multiple=True,
    metavar="P",
    help="A policy that needs no tuning, to compare with; repeatable. [default: the catalogue's "
    "policies that differ from the template only in what is tuned]",
)
@click.option(
    "--periods",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    metavar="N",
    help="Cuts of the log over which tuning is evaluated; fewer where the log is short.",
)
@click.option(
    "--report-on",
    metavar="LOG2",
    help="Report on another log; then 75 % of LOG are used for tuning and 25 % for selection.",
)
@options.report
@options.cleaning
@options.as_json
def command(**given: Any) -> None:
    """Tune a policy on 60 % of LOG, select on the next 20 %, report on the last 20 % once.

    The same is done at earlier cuts of LOG. Prints whether tuning is worth it: the tuned policies
    beside the template as it is, the catalogue's policies of its kind and the baseline, on jobs
    that were not used in the search, with intervals over the cuts; then what was chosen last, and
    how much of its gain was optimism.

    \b
    shadowtime tune log.swf.gz -p 'easy(order=weighted)' --over expansion=0..1 --over wait=0..1
    shadowtime tune log.swf.gz -p easy --over reserve=1..8 --objective bsld_mean,wait_max_s
    """
    from shadowtime.cli.tune.run import tune_policy

    tune_policy(**given)
