"""shadowtime compare: one log, several policies, one machine or several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click

from shadowtime.api import inputs, results
from shadowtime.api.load import CLEAN, Cleaning
from shadowtime.cli.common import compared, console, outputs, running
from shadowtime.cli.common.placing import HERE, Placing, counting
from shadowtime.cli.common.progress import working
from shadowtime.cluster import Cluster
from shadowtime.metrics import Window
from shadowtime.metrics.groups import parse_by
from shadowtime.metrics.where import Where
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
    asked = Asked(
        window=inputs.as_window(study["window"]),
        policies=tuple(parse_policy(policy) for policy in policies),
        where=inputs.as_where(study["where"]),
        by=parse_by(by) if by else (),
        loads=tuple(map(Load.parse, study["loads"])) or (Load(),),
        copies={name: study[name] for name in ("shake", "resample", "seed")},
        demand=demand,
        texts=policies,
        resume=study["resume"],
        placing=placing,
    )
    placing.check(asked.resume)
    if placing.elsewhere and (asked.where or not asked.replicas):
        raise click.UsageError(
            "workers perform the runs on copies of the whole log: add --shake N or --resample N, "
            "without --where"
        )
    if len(set(clusters)) < len(clusters):
        raise click.UsageError("--cluster: the same machine is given twice")
    outputs.check_outputs(folder=output, report=report, figures=figures, kept=asked.resume)
    done = [_on(trace, one, cleaning, asked) for one in clusters or (None,)]
    if len(done) == 1:
        _finish(done[0], asked.by, output, report, figures, as_json=json)
        return
    if report or figures:
        raise click.UsageError(
            "--report and --figures show one machine: write folders with -o, then "
            "`shadowtime report DIR` makes a page of all of them"
        )

    compared.finish_machines(clusters, done, asked.by, output, as_json=json)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is compared on each machine."""

    window: Window
    policies: tuple[Any, ...]
    where: Where | None
    by: tuple[str, ...]
    loads: tuple[Load, ...]
    copies: Mapping[str, int]
    demand: str | None
    texts: tuple[str, ...]
    """The policies as the user wrote them."""
    resume: str | None
    """The folder of the saved runs, if any."""
    placing: Placing

    @property
    def replicas(self) -> int:
        """Copies of the log."""
        return self.copies["shake"] + self.copies["resample"]


def _on(trace: str, cluster: str | None, cleaning: Any, asked: Asked) -> results.Results:
    """Read the log for a machine and compare the policies there."""
    workload, machine = running.load(trace, cluster, cleaning, demand=asked.demand)
    running.must_score_some(asked.window, workload)
    running.print_policy_notes(asked.policies, machine, workload)
    found = compared.run_comparison(
        workload,
        machine,
        list(asked.policies),
        loads=list(asked.loads),
        **asked.copies,
        window=asked.window,
        where=asked.where,
        known=_known(workload, machine, asked) if asked.resume else None,
        kept_in=asked.resume,
    )
    return results.results_of(
        found, asked.policies, where=asked.where, command=outputs.command_line()
    )


def _known(workload: Workload, machine: Cluster, asked: Asked) -> Known | None:
    """The numbers of the copies, from the folder or run into it.

    None if there are no copies, or if only some jobs count: a sweep's rows are about all jobs.
    """
    if asked.where or not asked.replicas:
        return None
    from shadowtime.api.sweep import load_log
    from shadowtime.study.sweep.run import run_copies

    assert asked.resume is not None
    with counting() as progress, asked.placing.executor(asked.resume) as executor:
        return run_copies(
            workload,
            machine,
            asked.texts,
            asked.resume,
            load=load_log,
            loads=asked.loads,
            **asked.copies,
            window=asked.window,
            workers=asked.placing.count(),
            executor=executor,
            progress=progress,
            announce=console.note,
        )


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
