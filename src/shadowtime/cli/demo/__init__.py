"""shadowtime demo: compare policies on the built-in workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shadowtime.cli.common import options
from shadowtime.cli.common.amounts import Range
from shadowtime.errors import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from shadowtime.report import ReportInput
    from shadowtime.study import Comparison


POLICIES = ("easy", "easy++", "conservative", "lxfw", "pv-easy", "greedy", "fcfs")
"""The first is the baseline: what most clusters run."""

SMALL = 3000
"""The demo is small enough to be run without compiling anything (see comparing.prepare)."""

SHAKES = 10
"""Runs on shaken inputs, so that the headline does not depend on one log; only if the passes are
already compiled, since a new user would wait a minute for them."""

NEXT = {
    "shadowtime demo --step": "watch a scheduler decide",
    "shadowtime demo -o demo --report demo.html": "save this as a web page",
    "shadowtime policies {}": "what the winner does",
    "shadowtime trace sacct": "export your cluster's log",
    "shadowtime compare YOUR.swf.gz -p easy -p {}": "the same for your log",
}
"""Commands to try next; command and reason fit on one line of 80 columns."""


@click.command("demo")
@click.option("--step", is_flag=True, help="Watch ten jobs being scheduled, event by event.")
@click.option("--auto", is_flag=True, help="With --step: do not wait for Enter.")
@click.option(
    "--policy",
    "-p",
    metavar="P",
    default="easy",
    help="With --step: fcfs, greedy, easy, easy-sjbf, conservative, or mine.py:name with decide. "
    "[default: easy]",
)
@click.option(
    "--log",
    metavar="LOG",
    type=click.Path(),
    help="With --step: watch jobs of this log instead, on its machine.",
)
@click.option(
    "--jobs",
    type=Range(),
    metavar="A:B",
    help="With --log: jobs A to B, from 0, at most 26. [default: the first ones]",
)
@options.cluster
@click.option(
    "--shake",
    metavar="N",
    type=click.IntRange(min=0),
    help=f"Also run N shaken copies of the workload. [default: {SHAKES} if the policies are "
    "already compiled, else 0]",
)
@options.folder
@options.as_json
@options.report
def command(
    step: bool,
    auto: bool,
    policy: str,
    log: str | None,
    jobs: tuple[int, int | None] | None,
    cluster: str | None,
    shake: int | None,
    folder: str | None,
    as_json: bool,
    report: str | None,
) -> None:
    """Compare seven policies on an embedded workload. No data and no network needed.

    The workload is generated (Lublin and Feitelson's model, with realistic user estimates) and
    always the same. With --step: ten jobs on eight processors, for teaching, or a few jobs of your
    own log; step forward, back, or to any event.

    \b
    shadowtime demo
    shadowtime demo --shake 20
    shadowtime demo --step
    shadowtime demo --step --policy conservative --auto | less -R
    shadowtime demo --step --log log.swf.gz --jobs 100:120
    """
    if step:
        if folder or report or as_json or shake is not None:
            raise UsageError("--step writes nothing: omit -o, --json, --report and --shake")
        from shadowtime.cli.demo.step import walk

        if log is None:
            if jobs or cluster:
                raise UsageError("--jobs and --cluster belong to --log: give a log to watch")
            walk(policy, auto=auto)
        else:
            _walk_log(policy, log, jobs, cluster, auto=auto)
        return
    if log is not None or jobs or cluster:
        raise UsageError("--log, --jobs and --cluster belong to --step")
    if auto or policy != "easy":
        raise UsageError("--auto and --policy belong to --step: the demo compares seven policies")
    from shadowtime.cli.common.outputs import check_outputs

    check_outputs(folder=folder, report=report)
    _compare(shake, folder, as_json, report)


def _walk_log(
    policy: str,
    log: str,
    jobs: tuple[int, int | None] | None,
    cluster: str | None,
    *,
    auto: bool,
) -> None:
    from shadowtime.cli.common.inputs import Cleaning, load
    from shadowtime.cli.demo.step import walk
    from shadowtime.study.lesson import lesson_jobs

    workload, machine = load(log, cluster, Cleaning())
    chosen = lesson_jobs(workload, *(jobs or (0, None)))
    walk(
        policy,
        auto=auto,
        jobs=tuple(job for _, job in chosen.values()),
        procs=machine.procs,
        numbers={letter: number for letter, (number, _) in chosen.items()},
    )


def _compare(shake: int | None, folder: str | None, as_json: bool, report: str | None) -> None:
    from shadowtime.cli.common import comparing
    from shadowtime.cli.common.outputs import wrote
    from shadowtime.cli.common.progress import working
    from shadowtime.cluster.spec import parse_cluster
    from shadowtime.engine.warm import cold
    from shadowtime.policy import parse_policy
    from shadowtime.result.comparison import as_report
    from shadowtime.result.pages import write_results
    from shadowtime.result.write import as_object, write_folder
    from shadowtime.workload.embedded import demo_workload

    workload = demo_workload()
    cluster = parse_cluster(None, machine=workload.machine).replace(name="demo")
    policies = [parse_policy(name) for name in POLICIES]
    if shake is None:
        shake = 0 if cold(policies, cluster) else SHAKES
    found = comparing.run_comparison(workload, cluster, policies, small=SMALL, shake=shake)
    [setting] = found.settings
    result = as_report(found, setting, title="Demo", command=options.command_line())
    content = as_object(result, found.window, **found.as_dict())
    if folder:
        write_folder(content, result, folder)
    write_results(result, found.window, report=report, step=working)
    wrote(folder, report)
    if as_json:
        options.print_json(content)
    else:
        _show(found, result, shaken=shake > 0)


ONE_SAMPLE = (
    "\nThis is one sample of one workload. To see whether the order holds on ten shaken copies, "
    f"run: shadowtime demo --shake {SHAKES} (without the wheel's compiled kernels, the first run "
    "compiles them, which takes a minute or two)."
)


def _show(found: Comparison, result: ReportInput, *, shaken: bool) -> None:
    from rich.text import Text

    from shadowtime.cli.common import findings, tables
    from shadowtime.cli.common.compared import setting_parts
    from shadowtime.cli.common.console import show

    [setting] = found.settings
    winner, _ = findings.winner_line(result)
    head = Text.assemble(
        (f"{len(result.workload):,} generated jobs", "bold"),
        f" on {tables.machine(result.cluster)}, offered load {setting.offered_load:.2f}\n",
    )
    parts = setting_parts(found, setting, result)
    doubt = [] if shaken else [Text(ONE_SAMPLE)]
    show(head, *parts, *doubt, *wide_job(result), Text("\nNext:"), _next(winner or POLICIES[0]))


def _next(winner: str) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 1, 0, 2))
    table.add_column(no_wrap=True)
    lines: dict[str, Any] = {line.format(winner): why for line, why in NEXT.items()}
    for line, why in lines.items():
        table.add_row(line, Text(why, "dim"))
    return table


CAREFREE, CAREFUL, STRICT = "greedy", "easy", "fcfs"
"""What fits starts; the head of the queue has a reservation; no job overtakes."""


def wide_job(result: ReportInput) -> list[RenderableType]:
    """The wait of the widest job under each policy, in a sentence, and why under the first."""
    import numpy as np
    from rich.padding import Padding
    from rich.text import Text

    from shadowtime.report import explain
    from shadowtime.report.numbers import span

    jobs = result.workload
    row = int(np.argmax(jobs.procs))
    job = int(jobs.job_id[row])
    runs = {run.name: run.schedule for run in result.runs}
    wait = {name: int(schedule.wait[row]) for name, schedule in runs.items()}
    why = explain(jobs, runs[CAREFREE], job)
    verdict = (
        f"longer than under {STRICT} ({span(wait[STRICT])}), which does not backfill at all"
        if wait[CAREFREE] > wait[STRICT]
        else f"under {STRICT}, which does not backfill at all, {span(wait[STRICT])}"
    )
    asks = f"{jobs.procs[row]} of {jobs.machine['procs']} processors for {span(jobs.request[row])}"
    sentence = Text.assemble(
        "\nOne job pays for the mean. ",
        (f"Job {job}", "bold"),
        f" asks for {asks}. It waits {span(wait[CAREFUL])} under {CAREFUL} and ",
        (f"{span(wait[CAREFREE])} under {CAREFREE}", "bold"),
        f", where {len(why.overtaken_by):,} later jobs pass it: {verdict}.\n",
    )
    head = Text(f"Why job {job} started when it did under {CAREFREE}:", "bold")
    return [sentence, head, *(Padding(Text(line, "dim"), (0, 0, 0, 2)) for line in why.lines)]
