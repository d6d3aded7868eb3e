"""shadowtime trace generate: logs from models."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common.amounts import Span
from shadowtime.cli.common.options import all_of

OUT = click.argument("out", type=click.Path(dir_okay=False))
SEED = click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, metavar="S")

estimates = all_of(
    click.option(
        "--estimates",
        type=click.Choice(["tsafrir", "exact"]),
        default="tsafrir",
        show_default=True,
        help="Requested times like those of users (Tsafrir's model), or the run times.",
    ),
    click.option(
        "--max-estimate",
        type=Span(),
        default="36h",
        show_default=True,
        metavar="SPAN",
        help="The longest request allowed.",
    ),
)


@click.group("generate")
def command() -> None:
    """Generate a job log from a model and write it as SWF (gzip if OUT ends in .gz)."""


@command.command("lublin")
@OUT
@click.option("--jobs", type=click.IntRange(min=1), default=5000, show_default=True)
@click.option(
    "--procs",
    type=click.IntRange(min=1),
    metavar="N",
    help="The machine that the sizes are fitted to. [default: 128]",
)
@click.option(
    "--published",
    is_flag=True,
    help="The model's own parameters, not fitted to a machine: batch and typeless jobs up to 128 "
    "processors, interactive ones up to 45.",
)
@click.option(
    "--set",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="Change a parameter of the model, such as u_med=5 (an unknown name lists them); "
    "repeatable.",
)
@click.option("--load", metavar="L", help="Offered load to scale the arrivals to, such as 0.9.")
@click.option(
    "--kind",
    type=click.Choice(["typeless", "typed", "batch", "interactive"]),
    default="typeless",
    show_default=True,
)
@estimates
@SEED
def lublin(**given: Any) -> None:
    """Lublin and Feitelson's model: sizes, run times and arrivals of rigid parallel jobs.

    \b
    shadowtime trace generate lublin log.swf.gz --jobs 10000 --procs 256 --load 0.9
    shadowtime trace generate lublin batch.swf.gz --kind batch --published
    shadowtime trace generate lublin few.swf.gz --kind batch --published --set serial=0.1
    """
    from shadowtime.cli.trace.run_generate import generate_lublin

    generate_lublin(**given)


@command.command("demo")
@OUT
def demo(**given: Any) -> None:
    """The workload of `shadowtime demo`: two weeks of 3,000 jobs for 256 processors.

    \b
    shadowtime trace generate demo demo.swf.gz
    """
    from shadowtime.cli.trace.run_generate import generate_demo

    generate_demo(**given)


@command.command("o2k")
@click.argument("out", type=click.Path(dir_okay=False), required=False)
@click.option(
    "--month",
    required=True,
    metavar="M",
    help="A month of the paper: dec02, jan03, feb03 or mar03 (or 2003-01 ...).",
)
@click.option("--margin", "margin_days", type=click.IntRange(0, 28), default=7, show_default=True,
              help="Days of the neighbouring months before and after.")  # fmt: skip
@SEED
def o2k(**given: Any) -> None:
    """A month of NCSA's O2K, rebuilt from the class-partitioning paper's own tables.

    Written to OUT, or to o2k-2003-01.swf.gz and so on. Prints the month beside the tables.

    \b
    shadowtime trace generate o2k --month jan03
    shadowtime trace generate o2k february.swf.gz --month feb03 --seed 7
    """
    from shadowtime.cli.trace.run_generate import generate_o2k

    generate_o2k(**given)


@command.command("hperf")
@OUT
@click.option("--name", type=click.Choice(["high", "medium"]), default="high", show_default=True)
@SEED
def hperf(**given: Any) -> None:
    """One of the HPerf thesis' two workloads: 100 jobs in three classes of bandwidth.

    \b
    shadowtime trace generate hperf high.swf.gz --name high
    """
    from shadowtime.cli.trace.run_generate import generate_hperf

    generate_hperf(**given)
