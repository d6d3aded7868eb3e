"""shadowtime trace generate: logs from models."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import click

from shadowtime.cli.common.amounts import Span
from shadowtime.cli.common.options import all_of
from shadowtime.cli.trace import options as shared
from shadowtime.errors import UsageError

if TYPE_CHECKING:
    from shadowtime.workload import Workload

OUT = click.argument("out", type=click.Path(dir_okay=False))
SEED = click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, metavar="S")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

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
def lublin(
    out: str,
    jobs: int,
    procs: int | None,
    published: bool,
    parameters: tuple[str, ...],
    load: str | None,
    kind: Any,
    estimates: str,
    max_estimate: int,
    seed: int,
) -> None:
    """Lublin and Feitelson's model: sizes, run times and arrivals of rigid parallel jobs.

    \b
    shadowtime trace generate lublin log.swf.gz --jobs 10000 --procs 256 --load 0.9
    shadowtime trace generate lublin batch.swf.gz --kind batch --published
    shadowtime trace generate lublin few.swf.gz --kind batch --published --set serial=0.1
    """
    import numpy as np

    from shadowtime.workload import lublin_workload, tsafrir_estimates

    if published and procs is not None:
        raise UsageError(
            "--procs fits the model to a machine and --published leaves it unchanged: give only one"
        )
    _check(out)
    rng = np.random.default_rng(seed)
    workload = lublin_workload(
        jobs,
        seed=rng,
        kind=kind,
        procs=None if published else procs or 128,
        overrides=dict(map(_parameter, parameters)),
    )
    if estimates == "tsafrir":
        workload = tsafrir_estimates(workload, max_estimate=max_estimate, seed=rng)
    _write(_at_load(workload, load), out)


@command.command("demo")
@OUT
def demo(out: str) -> None:
    """The workload of `shadowtime demo`: two weeks of 3,000 jobs for 256 processors.

    \b
    shadowtime trace generate demo demo.swf.gz
    """
    from shadowtime.workload import demo_workload

    _check(out)
    _write(demo_workload(), out)


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
def o2k(out: str | None, month: str, margin_days: int, seed: int) -> None:
    """A month of NCSA's O2K, rebuilt from the class-partitioning paper's own tables.

    Written to OUT, or to o2k-2003-01.swf.gz and so on. Prints the month beside the tables.

    \b
    shadowtime trace generate o2k --month jan03
    shadowtime trace generate o2k february.swf.gz --month feb03 --seed 7
    """
    from shadowtime.cli.common.console import note, show
    from shadowtime.cli.paper.o2k_check import validation
    from shadowtime.workload.o2k import o2k_workload

    name = _month(month)
    _check(out or f"o2k-{name}.swf.gz")
    found = o2k_workload(name, seed=seed, margin_days=margin_days)
    _write(found.workload, out or f"o2k-{name}.swf.gz")
    show(*validation(found.check))
    since, until = found.window
    note(f"the month itself: jobs submitted from {since} s to before {until} s")


@command.command("hperf")
@OUT
@click.option("--name", type=click.Choice(["high", "medium"]), default="high", show_default=True)
@SEED
def hperf(out: str, name: str, seed: int) -> None:
    """One of the HPerf thesis' two workloads: 100 jobs in three classes of bandwidth.

    \b
    shadowtime trace generate hperf high.swf.gz --name high
    """
    from shadowtime.workload.hperf_jobs import hperf_workload

    _check(out)
    _write(hperf_workload(name, seed=seed), out)


def _parameter(text: str) -> tuple[str, float]:
    name, equals, value = (part.strip() for part in text.partition("="))
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not equals or not math.isfinite(number):
        raise UsageError(f"--set {text}: write NAME=VALUE with a number, such as u_med=5")
    return name, number


def _month(text: str) -> str:
    """jan03 as 2003-01; anything else as it is."""
    match = re.fullmatch(r"([a-z]{3})[a-z]*[- ]?(?:20)?(\d\d)", text.strip().lower())
    if match is None or match[1] not in MONTHS:
        return text.strip()
    return f"20{match[2]}-{MONTHS.index(match[1]) + 1:02d}"


def _at_load(workload: Workload, load: str | None) -> Workload:
    if load is None:
        return workload
    from shadowtime.cluster import Cluster
    from shadowtime.study.loads import Load

    wanted = Load.parse(load if "=" in load else f"offered={load}")
    return wanted.apply(workload, Cluster.pool(workload.machine["procs"]))


def _check(out: str) -> None:
    """Reject a name or a folder before anything is generated."""
    from shadowtime.cli.common.outputs import check_file

    if not out.lower().removesuffix(".gz").endswith(".swf"):
        raise UsageError(f"{out}: the log is written as SWF, so name it .swf or .swf.gz")
    check_file("OUT", out)


def _write(workload: Workload, out: str) -> None:
    from shadowtime.cli.common.console import note
    from shadowtime.trace import write_swf

    write_swf(workload, out)
    click.echo(f"{out}: {shared.summary(workload)}")
    if warning := shared.load_warning(workload):
        note(warning)
