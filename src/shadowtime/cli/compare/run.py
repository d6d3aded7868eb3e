"""Compare policies on a log and on each machine, write the results and print them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from shadowtime.api.inputs import as_where
from shadowtime.api.results import results_of
from shadowtime.cli.common import comparing, options
from shadowtime.cli.common.compared import finish_machines, show_results
from shadowtime.cli.common.console import note
from shadowtime.cli.common.inputs import Cleaning, load, must_score_some, print_policy_notes
from shadowtime.cli.common.outputs import PAGES, check_outputs, wrote
from shadowtime.cli.common.placing import Placing, Spot, counting
from shadowtime.cli.common.progress import working
from shadowtime.metrics import Window
from shadowtime.metrics.groups import parse_by
from shadowtime.policy import parse_policy
from shadowtime.result.comparison import write_pages
from shadowtime.study import Load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.api.results import Results
    from shadowtime.cluster import Cluster
    from shadowtime.metrics.where import Where
    from shadowtime.study.compare import Known
    from shadowtime.workload import Workload


def compare_policies(
    *,
    trace: str,
    clusters: tuple[str, ...],
    policies: tuple[str, ...],
    loads: tuple[str, ...],
    shake: int,
    resample: int,
    seed: int,
    resume: str | None,
    workers: int | None,
    place: Spot,
    submission: tuple[str, ...],
    demand: str | None,
    window: str | None,
    where: str,
    by: str,
    folder: str | None,
    as_json: bool,
    report: str | None,
    figures: str | None,
    **cleaning: Any,
) -> None:
    """Compare the policies on every machine that was given."""
    asked = Asked(
        window=Window.parse(window or "all"),
        policies=tuple(parse_policy(policy) for policy in policies),
        where=as_where(where),
        by=parse_by(by) if by else (),
        loads=tuple(Load.parse(text) for text in loads) or (Load(),),
        copies={"shake": shake, "resample": resample, "seed": seed},
        demand=demand,
        texts=policies,
        resume=resume,
        placing=Placing(on=place, site=submission, workers=workers),
    )
    asked.placing.check(resume)
    if asked.placing.elsewhere and (where or not shake + resample):
        raise click.UsageError(
            "workers perform the runs on copies of the whole log: add --shake N or --resample N, "
            "without --where"
        )
    if len(set(clusters)) < len(clusters):
        raise click.UsageError("--cluster: the same machine is given twice")
    check_outputs(folder=folder, report=report, figures=figures, kept=resume)
    done = [_on(trace, one, Cleaning(**cleaning), asked) for one in clusters or (None,)]
    if len(done) == 1:
        _finish(done[0], asked.by, folder, report, figures, as_json=as_json)
        return
    if report or figures:
        raise click.UsageError(
            "--report and --figures show one machine: write folders with -o, then "
            "`shadowtime report DIR` makes a page of all of them"
        )

    finish_machines(clusters, done, asked.by, folder, as_json=as_json)


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


def _on(trace: str, cluster: str | None, cleaning: Any, asked: Asked) -> Results:
    """Read the log for a machine and compare the policies there."""
    workload, machine = load(trace, cluster, cleaning, demand=asked.demand)
    must_score_some(asked.window, workload)
    print_policy_notes(asked.policies, machine, workload)
    found = comparing.run_comparison(
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
    return results_of(found, asked.policies, where=asked.where, command=options.command_line())


def _known(workload: Workload, machine: Cluster, asked: Asked) -> Known | None:
    """The numbers of the copies, from the folder or run into it.

    None if there are no copies, or if only some jobs count: a sweep's rows are about all jobs.
    """
    if asked.where or not asked.copies["shake"] + asked.copies["resample"]:
        return None
    from shadowtime.api.sweep import load_log
    from shadowtime.study.sweep.copies import run_copies

    assert asked.resume is not None
    with counting() as progress, asked.placing.executor(asked.resume) as executor:
        return run_copies(
            workload,
            machine,
            asked.texts,
            asked.resume,
            load=load_log,
            loads=asked.loads,
            shake=asked.copies["shake"],
            resample=asked.copies["resample"],
            seed=asked.copies["seed"],
            window=asked.window,
            workers=asked.placing.count(),
            executor=executor,
            progress=progress,
            announce=note,
        )


def _finish(
    found: Results,
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
    html = [page for page in pages if page.suffix.lower() in PAGES]
    wrote(folder, *html, figures=figures, count=len(pages) - len(html))
    if as_json:
        options.print_json(found.as_dict(groups=groups))
    else:
        show_results(found, groups)
