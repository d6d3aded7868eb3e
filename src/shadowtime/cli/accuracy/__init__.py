"""shadowtime accuracy: run time predictors on a log, and what each does to the schedule."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common import options


@click.command("accuracy")
@options.trace
@options.cluster
@click.option(
    "--policy",
    "-p",
    "policy",
    default="easy-sjbf",
    show_default=True,
    metavar="P",
    help="The policy that uses the predictions.",
)
@click.option(
    "--predictor",
    "-e",
    "predictors",
    multiple=True,
    metavar="PART",
    help="An estimate part, such as 'user-quantile(quantile=0.8)', 'file(path=mine.csv)', "
    "lightgbm or mine.py:name; repeatable; the others are compared with the first. [default: all "
    "that need no further input]",
)
@click.option(
    "--shake",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Also run N shaken copies of the log: differences get an interval.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, metavar="S",
    help="Seed of the copies, which are the same for every predictor.",
)  # fmt: skip
@options.cleaning
@options.as_json
def command(**given: Any) -> None:
    """Compare run time predictors on the job log TRACE.

    For each predictor: its error, how often it underestimates, and the waits and slowdowns of the
    policy that uses its predictions.

    \b
    shadowtime accuracy log.swf.gz
    shadowtime accuracy log.swf.gz -p easy -e requested -e nearest -e lightgbm --shake 10
    """
    from shadowtime.cli.accuracy.run import measure_accuracy

    measure_accuracy(**given)
