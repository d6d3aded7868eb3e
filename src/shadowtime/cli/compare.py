"""shadowtime compare: one log, several policies, one machine or several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from shadowtime.cli.common import options
from shadowtime.cli.common.placing import Placing, counting, kept_runs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import RenderableType

    from shadowtime.cluster import Cluster
    from shadowtime.metrics import Window
    from shadowtime.metrics.where import Where
    from shadowtime.report import ReportInput
    from shadowtime.study import Comparison, Load, Setting
    from shadowtime.study.compare import Known
    from shadowtime.workload import Workload

LEGEND = {
    "bsld": "bounded slowdown",
    "mwbs": "the same weighted by processors",
    "killed": "by contention",
    "penalised": "mean share of the run time that sharing costs",
}
"""Headings of the comparison that need a word."""
PAIRED = (
    "mean difference with its 95 % interval, each copy against the same copy; "
    "? the sign is not certain"
)


@click.command("compare")
@options.trace
@options.clusters
@options.policies
@click.option(
    "--load",
    "loads",
    multiple=True,
    metavar="L",
    help="Jobs arrive 1.2 times as fast (1.2), or at an offered load (offered=0.9); "
    "repeatable. [default: as recorded]",
)
@click.option(
    "--shake",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Also run N copies of the log with every submission and run time moved a little: a rank "
    "that differs between them may be chance.",
)
@click.option(
    "--resample",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Also run N logs with resampled users: what another year might have looked like.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="S",
    help="Seed of the copies, which are the same for every policy.",
)
@kept_runs(
    "Keep every run in DIR as a sweep does, and reuse what is there: the same command resumes "
    "after Ctrl-C, and more copies need only their own runs.",
)
@options.cleaning
@options.demand
@options.window
@options.where
@options.by
@options.folder
@options.as_json
@options.report
@options.figures
def command(
    trace: str,
    clusters: tuple[str, ...],
    policies: tuple[str, ...],
    loads: tuple[str, ...],
    shake: int,
    resample: int,
    seed: int,
    resume: str | None,
    workers: int | None,
    place: str,
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
    """Run the job log TRACE under several policies: which wins, by how much, and which jobs pay.

    The first policy is the one that the others are measured against. With several --cluster the
    same is done on each machine, and a table compares them.

    \b
    shadowtime compare log.swf.gz -p easy -p easy-sjbf -p conservative
    shadowtime compare log.swf.gz -p easy -p lxfw --shake 20
    shadowtime compare log.swf.gz -p easy -p lxfw --shake 20 --resume runs
    shadowtime compare log.swf.gz -p easy -p lxfw --shake 99 --resume runs --on slurm
    shadowtime compare log.swf.gz -p easy -p lxfw --load 1 --load 1.1 --load offered=0.95
    shadowtime compare log.swf.gz -p easy -p lxfw --cluster pool:128 --cluster pool:160
    """
    from shadowtime.cli.common.inputs import Cleaning
    from shadowtime.cli.common.outputs import check_outputs
    from shadowtime.metrics import Window
    from shadowtime.metrics.groups import parse_by
    from shadowtime.metrics.where import Where
    from shadowtime.policy import parse_policy
    from shadowtime.study import Load

    asked = Asked(
        window=Window.parse(window or "all"),
        policies=tuple(parse_policy(policy) for policy in policies),
        where=Where.parse(where),
        by=parse_by(by) if by else (),
        loads=tuple(Load.parse(text) for text in loads) or (Load(),),
        copies={"shake": shake, "resample": resample, "seed": seed},
        demand=demand,
        texts=policies,
        resume=resume,
        placing=Placing(place=place, submission=submission, workers=workers),
    )
    asked.placing.check(resume)
    if asked.placing.elsewhere and (where or not shake + resample):
        raise click.UsageError(
            "workers make the runs on copies of the whole log: add --shake N or --resample N, "
            "without --where"
        )
    if len(set(clusters)) < len(clusters):
        raise click.UsageError("--cluster: the same machine is given twice")
    check_outputs(folder=folder, report=report, figures=figures, kept=resume)
    done = [_on(trace, one, Cleaning(**cleaning), asked) for one in clusters or (None,)]
    if len(done) == 1:
        _finish(done[0], folder, report, figures, as_json=as_json)
        return
    if report or figures:
        raise click.UsageError(
            "--report and --figures show one machine: write folders with -o, then "
            "`shadowtime report DIR` makes a page of all of them"
        )
    from shadowtime.cli.common.machines import finish_machines

    finish_machines(clusters, done, folder, as_json=as_json)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is to be compared, whatever the machine."""

    window: Window
    policies: tuple[Any, ...]
    where: Where
    by: tuple[str, ...]
    loads: tuple[Load, ...]
    copies: Mapping[str, int]
    demand: str | None
    texts: tuple[str, ...]
    """The policies in the words of the user."""
    resume: str | None
    """The folder of the runs, where they are kept."""
    placing: Placing


@dataclass(frozen=True, kw_only=True)
class Done:
    """A comparison on one machine: as found, as reported, as JSON, and by group."""

    found: Comparison
    results: list[ReportInput]
    content: dict[str, Any]
    rows: dict[str, list[dict[str, Any]]]


def _on(trace: str, cluster: str | None, cleaning: Any, asked: Asked) -> Done:
    """Read the log for a machine and compare the policies there."""
    from shadowtime.cli.common import comparing
    from shadowtime.cli.common.grouped import group_rows
    from shadowtime.cli.common.inputs import load, must_score_some, print_policy_notes
    from shadowtime.result.comparison import as_report
    from shadowtime.result.write import as_object

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
    results = [
        as_report(found, setting, title=_title(setting), command=options.command_line())
        for setting in found.settings
    ]
    rows = {
        str(setting.load): group_rows(
            result.runs, setting.workload, asked.by, window=asked.window,
            only=asked.where.mask(setting.workload) if asked.where else None,
        )
        for setting, result in zip(found.settings, results, strict=True)
        if asked.by
    }  # fmt: skip
    content = as_object(results[0], asked.window, **found.as_dict())
    if asked.by:
        content["groups"] = [{**row, "load": load} for load in rows for row in rows[load]]
    if asked.where:
        content["where"] = str(asked.where)
    return Done(found=found, results=results, content=content, rows=rows)


def _known(workload: Workload, machine: Cluster, asked: Asked) -> Known | None:
    """The numbers of the copies, from the folder or run into it.

    None where there are no copies, or where some jobs count alone: a sweep's rows are of all.
    """
    from shadowtime.api.sweep import load_log
    from shadowtime.cli.common.console import note
    from shadowtime.study.sweep.copies import run_copies

    if asked.where or not asked.copies["shake"] + asked.copies["resample"]:
        return None
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
    done: Done, folder: str | None, report: str | None, figures: str | None, *, as_json: bool
) -> None:
    """Write and print what was found on one machine."""
    from shadowtime.cli.common.outputs import PAGES, wrote
    from shadowtime.cli.common.progress import working
    from shadowtime.result.comparison import write_comparison, write_pages

    if folder:
        write_comparison(done.content, done.found, done.results, folder)
    pages = write_pages(done.found, done.results, report=report, figures=figures, step=working)
    html = [page for page in pages if page.suffix.lower() in PAGES]
    wrote(folder, *html, figures=figures, count=len(pages) - len(html))
    if as_json:
        options.print_json(done.content)
    else:
        show_done(done)


def show_done(done: Done) -> None:
    """Every load, and the groups of each where they were asked for."""
    from rich.text import Text

    from shadowtime.cli.common.console import show
    from shadowtime.cli.common.grouped import group_table

    show_comparison(done.found, done.results)
    for load_text, groups in done.rows.items():
        show(Text(f"\nload {load_text}" if len(done.rows) > 1 else ""), group_table(groups))


def _title(setting: Setting) -> str:
    name = setting.workload.name
    return f"{name} at load {setting.load}" if str(setting.load) != "as recorded" else name


def show_comparison(found: Comparison, results: Sequence[ReportInput]) -> None:
    """Everything about every load, then which policy wins at which."""
    from rich.text import Text

    from shadowtime.cli.common import findings
    from shadowtime.cli.common.console import show

    trust = findings.trust_line(found.trust)
    parts: list[RenderableType] = []
    for setting, result in zip(found.settings, results, strict=True):
        parts += [*_heading(found, setting), *setting_parts(found, setting, result), Text()]
    if len(found.settings) > 1:
        parts += [_by_load(found), Text()]
    parts += [trust, Text()] if trust else []
    show(*parts[:-1])


def _heading(found: Comparison, setting: Setting) -> list[RenderableType]:
    from rich.text import Text

    from shadowtime.cli.common import findings, tables

    jobs = tables.count(len(setting.workload), "job")
    head = Text.assemble((_title(setting), "bold"), f": {jobs} on {tables.machine(found.cluster)}")
    head.append(f"\noffered load {setting.offered_load:.2f}; scored: {found.window}")
    warning = findings.load_warning(setting)
    return [head, *([warning] if warning else []), Text()]


def setting_parts(found: Comparison, setting: Setting, result: ReportInput) -> list[RenderableType]:
    """The table of one load and what it says."""
    from rich.text import Text

    from shadowtime.cli.common import findings, tables
    from shadowtime.cli.common.console import output
    from shadowtime.result.comparison import copies_in_words

    _, sentence = findings.winner_line(result)
    table = tables.side_by_side(result.runs, output())
    headings = " ".join(str(column.header) for column in table.columns)
    words = ", ".join(f"{name}: {says}" for name, says in LEGEND.items() if name in headings)
    means = ""
    if found.replicas.count:
        means = f" ({tables.HOLLOW} may be chance); means over {copies_in_words(found)}"
    parts: list[RenderableType] = [
        table,
        Text(f"{tables.STAR} best of its column{means}; {words}\n", "dim"),
        sentence,
    ]
    price = findings.payers_line(result)
    parts += [price] if price else []
    differences = findings.differences(setting)
    if differences is not None:
        copies = copies_in_words(found)
        parts += [Text(f"\nOver {copies}:"), differences, Text(PAIRED, "dim"), Text()]
        parts += findings.stability(setting, copies)
    return parts


def _by_load(found: Comparison) -> RenderableType:
    """The winner of a few metrics at each load."""
    from shadowtime.cli.common.tables import plain_table
    from shadowtime.report.metadata import describe

    names = ("wait_mean_s", "wait_p95_s", "bsld_mean", "goodput")
    table = plain_table("load", "offered", *(f"best {describe(name).short}" for name in names))
    for setting in found.settings:
        best = [", ".join(setting.winners(name)) for name in names]
        table.add_row(str(setting.load), f"{setting.offered_load:.2f}", *best)
    return table
