"""shadowtime compare: one log, several policies, one machine or several."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.api import inputs, results
from shadowtime.api.load import CLEAN, Cleaning
from shadowtime.cli.common import compared, console, outputs, running
from shadowtime.cli.common.placing import HERE, Placing, counting
from shadowtime.cli.common.progress import working
from shadowtime.cluster import Cluster
from shadowtime.metrics.groups import parse_by
from shadowtime.policy import parse_policy
from shadowtime.result.comparison import write_pages
from shadowtime.study import Load
from shadowtime.study.compare import Known
from shadowtime.types import File, FileOrFolder, Folder
from shadowtime.workload import Workload


def compare(
    trace: FileOrFolder,
    *,
    clusters: tuple[str, ...] = (),
    policies: tuple[str, ...],
    placing: Placing = HERE,
    cleaning: Cleaning = CLEAN,
    demand: str | None = None,
    by: str = "",
    output: Folder | None = None,
    json: bool = False,
    report: File | None = None,
    figures: Folder | None = None,
    **study: Any,
) -> None:
    """Run the job log TRACE under several policies: which wins, by how much, and which jobs pay.

    The first policy is the baseline. With several --cluster options the comparison is repeated on
    each machine, and a table compares the machines.

    \b
    shadowtime compare log.swf.gz -p easy -p easy-sjbf -p conservative
    shadowtime compare log.swf.gz -p easy -p lxfw --shake 20
    shadowtime compare log.swf.gz -p easy -p lxfw --shake 20 --resume runs
    shadowtime compare log.swf.gz -p easy -p lxfw --shake 99 --resume runs --on slurm
    shadowtime compare log.swf.gz -p easy -p lxfw --load 1 --load 1.1 --load offered=0.95
    shadowtime compare log.swf.gz -p easy -p lxfw --cluster pool:128 --cluster pool:160

    Parameters
    ----------
    **study
        Options of :func:`shadowtime.compare`.
    """
    window = inputs.as_window(study["window"])
    chosen = [parse_policy(policy) for policy in policies]
    where, kinds = inputs.as_where(study["where"]), parse_by(by) if by else ()
    resume: str | None = study["resume"]
    asked: dict[str, Any] = {name: study[name] for name in ("shake", "resample", "seed")}
    asked |= {"loads": tuple(map(Load.parse, study["loads"])) or (Load(),), "window": window}
    # A sweep's rows are about all jobs: with --where copies are run here.
    copied = (asked["shake"] or asked["resample"]) and not where
    placing.check(resume)
    if placing.elsewhere and not copied:
        raise click.UsageError(
            "workers perform the runs on copies of the whole log: add --shake N or --resample N, "
            "without --where"
        )
    if len(set(clusters)) < len(clusters):
        raise click.UsageError("--cluster: the same machine is given twice")
    outputs.check_outputs(folder=output, report=report, figures=figures, kept=resume)

    def on(given: str | None) -> results.Results:
        workload, machine = running.load(trace, given, cleaning, demand=demand)
        running.must_score_some(window, workload)
        running.print_policy_notes(chosen, machine, workload)
        known = None
        if resume and copied:
            known = _known(workload, machine, policies, resume, placing, **asked)
        found = compared.run_comparison(
            workload, machine, chosen, where=where, known=known, kept_in=resume, **asked
        )
        command = outputs.command_line()
        return results.results_of(found, chosen, where=where, command=command)

    done = [on(one) for one in clusters or (None,)]
    if len(done) == 1:
        _finish(done[0], kinds, output, report, figures, as_json=json)
        return
    if report or figures:
        raise click.UsageError(
            "--report and --figures show one machine: write folders with -o, then "
            "`shadowtime report DIR` makes a page of all of them"
        )
    compared.finish_machines(clusters, done, kinds, output, as_json=json)


def _known(
    workload: Workload,
    machine: Cluster,
    policies: tuple[str, ...],
    folder: str,
    placing: Placing,
    **asked: Any,
) -> Known:
    """The numbers of the copies, from the folder or run into it; policies are texts."""
    from shadowtime.api.sweep import load_log
    from shadowtime.study.sweep.run import run_copies

    with counting() as progress, placing.executor(folder) as executor:
        return run_copies(
            workload, machine, policies, folder, load=load_log, workers=placing.count(),
            executor=executor, progress=progress, announce=console.note, **asked,
        )  # fmt: skip


def _finish(
    found: results.Results,
    by: tuple[str, ...],
    folder: str | None,
    report: str | None,
    figures: str | None,
    *,
    as_json: bool,
) -> None:
    """Write and print what was found on one machine."""
    comparison = found.comparison
    assert comparison is not None
    groups = found.groups(by) if by else []
    if folder:
        found.save(folder, groups=groups)
    pages = write_pages(comparison, found.reports, report=report, figures=figures, step=working)
    html = [page for page in pages if page.suffix.lower() in outputs.PAGES]
    outputs.wrote(folder, *html, figures=figures, count=len(pages) - len(html))
    if as_json:
        outputs.print_json(found.as_dict(groups=groups))
    else:
        compared.show_results(found, groups)
