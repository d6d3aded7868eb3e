"""Reproduce a paper, write its numbers and print them beside ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.cli.common import options
from shadowtime.cli.common.compiling import compile_notice
from shadowtime.cli.common.console import note
from shadowtime.cli.common.outputs import check_outputs, wrote
from shadowtime.cli.common.placing import Placing, Spot
from shadowtime.cli.common.progress import working
from shadowtime.cli.common.running import prepare
from shadowtime.cli.paper.files import as_object, write_paper, write_paper_page
from shadowtime.cli.paper.tables import show_paper
from shadowtime.policy import parse_policy
from shadowtime.study.papers import carry_out
from shadowtime.study.papers.parts import PaperStudy

if TYPE_CHECKING:
    from shadowtime.study.papers import Reproduction

GENERATED = (
    "no logs: this runs on a generated workload, so nothing can be compared with the paper's "
    "numbers (give --traces a folder with {})"
)


def reproduce(
    *,
    name: str,
    traces: str | None,
    seeds: int | None,
    quick: bool,
    resume: str | None,
    workers: int | None,
    place: Spot,
    submission: tuple[str, ...],
    folder: str | None,
    as_json: bool,
    report: str | None,
) -> None:
    """Run the study of a paper, on workers where they were requested."""
    placing = Placing(on=place, site=submission, workers=workers)
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
