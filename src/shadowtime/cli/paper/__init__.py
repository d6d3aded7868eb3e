"""shadowtime paper: reproduce a published study and compare its numbers with ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from shadowtime.cli.common import options
from shadowtime.cli.common.console import note
from shadowtime.cli.common.placing import Placing, kept_runs

if TYPE_CHECKING:
    from shadowtime.study.papers import Reproduction
    from shadowtime.study.papers.parts import PaperStudy

NAMES = ("pv-easy", "ibb", "rua", "hperf", "class-partitioning")
"""The papers that can be reproduced."""

GENERATED = (
    "no logs: this runs on a generated workload, so nothing can be compared with the paper's "
    "numbers (give --traces a folder with {})"
)


@click.command("paper")
@click.argument("name", metavar="NAME", type=click.Choice(NAMES))
@click.option(
    "--traces",
    metavar="DIR",
    envvar="SHADOWTIME_TRACES",
    show_envvar=True,
    help="Folder with the logs that the paper used; without it, a generated workload.",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1, max=1000),
    metavar="N",
    help="Runs for each random point. [default: 10; hperf 30]",
)
@click.option("--quick", is_flag=True, help="Fewer points and runs, for papers that take minutes.")
@kept_runs(
    "Save the results of each simulation in DIR and reuse those found there: the same command "
    "resumes "
    "after Ctrl-C.",
)
@options.folder
@options.as_json
@options.report
def command(
    name: str,
    traces: str | None,
    seeds: int | None,
    quick: bool,
    resume: str | None,
    workers: int | None,
    place: str,
    submission: tuple[str, ...],
    folder: str | None,
    as_json: bool,
    report: str | None,
) -> None:
    """Reproduce the study of a paper: its tables, figures and claims with our numbers.

    NAME is pv-easy, ibb, rua, hperf or class-partitioning. Every number is beside the
    published one, every claim gets a verdict with the evidence, and discrepancies are reported.

    \b
    shadowtime paper pv-easy --traces logs
    shadowtime paper pv-easy --traces logs -o pv-easy --report pv-easy.html
    shadowtime paper pv-easy --traces logs --resume runs
    shadowtime paper ibb --traces logs --resume runs --on slurm --site blocks=8
    """
    from shadowtime.cli.common.outputs import check_outputs, wrote
    from shadowtime.cli.paper.files import as_object, write_paper, write_paper_page
    from shadowtime.cli.paper.tables import show_paper
    from shadowtime.study.papers.parts import PaperStudy

    placing = Placing(place=place, submission=submission, workers=workers)
    placing.check(resume)
    check_outputs(folder=folder, report=report, kept=resume)
    study = PaperStudy(name=name, traces=traces or None, seeds=seeds, quick=quick, folder=resume)
    found = _carried_out(study, placing)
    typed = options.command_line()
    if folder:
        write_paper(found, folder, command=typed)
    if report:
        write_paper_page(found, report, command=typed)
    wrote(folder, report)
    if as_json:
        options.print_json(as_object(found))
    else:
        show_paper(found)


def _carried_out(study: PaperStudy, placing: Placing) -> Reproduction:
    """Read, compile and run, with progress for each."""
    from shadowtime.cli.common.comparing import prepare
    from shadowtime.cli.common.compiling import compile_notice
    from shadowtime.cli.common.progress import working
    from shadowtime.policy import parse_policy
    from shadowtime.study.papers import carry_out

    paper = study.paper
    with working("reading the logs"), compile_notice("the log reader", "a few seconds"):
        subjects, missing = study.subjects()
    if subjects[0].generated and not paper.subjects:
        note(GENERATED.format(", ".join(f"{log.file}.gz" for log in paper.logs)))
    if missing:
        note(f"skipped, not found in {study.traces}: {', '.join(missing)}")
    jobs = sum(len(subject.workload) for subject in subjects)
    prepare([parse_policy(text) for text in paper.policies], subjects[0].cluster, jobs=jobs)
    plan = study.plan(subjects)
    if study.folder:
        placing.run_parts(study.absolute(), plan.missing(), study.folder)
    with (
        working(f"{len(plan.tasks):,} simulations", steps=len(plan.tasks)) as advance,
        compile_notice("the engine", "up to a minute"),
    ):
        return carry_out(plan, progress=advance)
