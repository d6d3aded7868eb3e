"""shadowtime run: repeat an experiment from its file, byte by byte."""

from __future__ import annotations

import click

from shadowtime.cli.common import options
from shadowtime.cli.common.placing import Placing
from shadowtime.cli.whatif import KEPT


@click.command("run")
@click.argument("experiment", type=click.Path(dir_okay=False))
@options.folder
@options.report
@KEPT
@options.as_json
def command(
    experiment: str,
    folder: str | None,
    report: str | None,
    resume: str | None,
    workers: int | None,
    place: str,
    submission: tuple[str, ...],
    as_json: bool,
) -> None:
    """Run the what-if in EXPERIMENT.toml.

    The same file, site and version give the same bytes.

    \b
    shadowtime run more.toml
    shadowtime run more.toml --report more.html --resume runs
    """
    from shadowtime.cli.common.outputs import check_outputs
    from shadowtime.cli.whatif.show import carry_out
    from shadowtime.study.site.experiment import read_experiment

    check_outputs(folder=folder, report=report, kept=resume)
    carry_out(
        read_experiment(experiment),
        folder=folder, save=None, as_json=as_json, report=report, resume=resume,
        placing=Placing(place=place, submission=submission, workers=workers),
    )  # fmt: skip
