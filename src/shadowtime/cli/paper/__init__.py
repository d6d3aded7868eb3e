"""shadowtime paper: reproduce a published study and compare its numbers with ours."""

from __future__ import annotations

from typing import Any, Literal, get_args

from shadowtime.cli.common.console import note
from shadowtime.cli.common.outputs import check_outputs, command_line, print_json, wrote
from shadowtime.cli.common.placing import HERE, Placing
from shadowtime.cli.common.progress import while_reading, while_simulating
from shadowtime.cli.common.running import compiled_engine, kept_folder
from shadowtime.cli.paper import files, tables
from shadowtime.policy import parse_policy
from shadowtime.study.papers import parts, reproduction
from shadowtime.types import File, Folder

Name = Literal["pv-easy", "ibb", "rua", "hperf", "class-partitioning"]
NAMES: tuple[str, ...] = get_args(Name)
"""The papers that can be reproduced."""
GENERATED = (
    "no logs: this runs on a generated workload, so nothing can be compared with the paper's "
    "numbers (give --traces a folder with {})"
)


def paper(
    name: Name,
    *,
    traces: str | None = None,
    placing: Placing = HERE,
    output: Folder | None = None,
    json: bool = False,
    report: File | None = None,
    **study: Any,
) -> None:
    """Reproduce the study of a paper: its tables, figures and claims with our numbers.

    NAME is pv-easy, ibb, rua, hperf or class-partitioning. Every number is beside the
    published one, every claim gets a verdict with the evidence, and discrepancies are reported.

    \b
    shadowtime paper pv-easy --traces logs
    shadowtime paper pv-easy --traces logs -o pv-easy --report pv-easy.html
    shadowtime paper pv-easy --traces logs --resume runs
    shadowtime paper ibb --traces logs --resume runs --on slurm --site blocks=8

    Parameters
    ----------
    name : NAME
    traces : DIR $SHADOWTIME_TRACES
        Folder with the logs that the paper used; without it, a generated workload.
    **study
        Options of :func:`shadowtime.paper`.
    """
    resume = study.pop("resume")
    placing.check(resume)
    check_outputs(folder=output, report=report, kept=resume)
    asked = parts.PaperStudy(name=name, traces=traces or None, folder=kept_folder(resume), **study)
    found = _carried_out(asked, placing)
    typed = command_line()
    if output:
        files.write_paper(found, output, command=typed)
    if report:
        files.write_paper_page(found, report, command=typed)
    wrote(output, report)
    if json:
        print_json(files.as_object(found))
    else:
        tables.show_paper(found)


def _carried_out(study: parts.PaperStudy, placing: Placing) -> reproduction.Reproduction:
    """Read, compile and run, with progress for each."""
    paper = study.paper
    with while_reading("the logs"):
        subjects, missing = study.subjects()
    if subjects[0].generated and not paper.subjects:
        note(GENERATED.format(", ".join(f"{log.file}.gz" for log in paper.logs)))
    if missing:
        note(f"skipped, not found in {study.traces}: {', '.join(missing)}")
    jobs = sum(len(subject.workload) for subject in subjects)
    policies = [parse_policy(text) for text in paper.policies]
    compiled_engine(policies, subjects[0].cluster, jobs=jobs)
    plan = study.plan(subjects)
    if study.folder:
        placing.run_parts(study.absolute(), plan.missing(), study.folder)
    with while_simulating(f"{len(plan.tasks):,} simulations", steps=len(plan.tasks)) as advance:
        return reproduction.carry_out(plan, progress=advance)
