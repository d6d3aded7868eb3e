"""Run the demonstration and print it."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from shadowtime.api.results import results_of
from shadowtime.cli.common import compared, console, findings, outputs, progress, tables
from shadowtime.cluster.spec import parse_cluster
from shadowtime.engine import warm
from shadowtime.policy import parse_policy
from shadowtime.report import ReportInput, explain
from shadowtime.report.numbers import span
from shadowtime.result.write import write_results
from shadowtime.study import Comparison
from shadowtime.workload.embedded import demo_workload

POLICIES = ("easy", "easy++", "conservative", "lxfw", "pv-easy", "greedy", "fcfs")
"""The first is the baseline: what most clusters run."""
SMALL = 3000
"""The demo is small enough to be run without compiling anything (see running.prepare)."""
NEXT = {
    "shadowtime demo --step": "watch a scheduler decide",
    "shadowtime demo -o demo --report demo.html": "save this as a web page",
    "shadowtime policies {}": "what the winner does",
    "shadowtime trace sacct": "export your cluster's log",
    "shadowtime compare YOUR.swf.gz -p easy -p {}": "the same for your log",
}
"""Commands to try next; command and reason fit on one line of 80 columns."""
ONE_SAMPLE = (
    "\nThis is one sample of one workload. To see whether the order holds on ten shaken copies, "
    "run: shadowtime demo --shake {} (without the wheel's compiled kernels, the first run "
    "compiles them, which takes a minute or two)."
)
CAREFREE, CAREFUL, STRICT = "greedy", "easy", "fcfs"
"""What fits starts; the head of the queue has a reservation; no job overtakes."""


def compare_all(
    *, shake: int | None, shakes: int, folder: str | None, as_json: bool, report: str | None
) -> None:
    """Compare the policies on the embedded workload.

    Without ``shake`` there are ``shakes`` shaken copies if the passes are already compiled.
    """
    outputs.check_outputs(folder=folder, report=report)
    workload = demo_workload()
    cluster = parse_cluster(None, machine=workload.machine).replace(name="demo")
    policies = [parse_policy(name) for name in POLICIES]
    if shake is None:
        shake = 0 if warm.cold(policies, cluster) else shakes
    found = compared.run_comparison(workload, cluster, policies, small=SMALL, shake=shake)
    results = results_of(found, policies, title="Demo", command=outputs.command_line())
    if folder:
        results.save(folder)
    write_results(results.result, report=report, step=progress.working)
    outputs.wrote(folder, report)
    if as_json:
        outputs.print_json(results.as_dict())
    else:
        _show(found, results.result, doubt="" if shake else ONE_SAMPLE.format(shakes))


def _show(found: Comparison, result: ReportInput, *, doubt: str) -> None:
    [setting] = found.settings
    winner, _ = findings.winner_line(result)
    head = Text.assemble(
        (f"{len(result.workload):,} generated jobs", "bold"),
        f" on {tables.machine(result.cluster)}, offered load {setting.offered_load:.2f}\n",
    )
    parts = compared.setting_parts(found, setting, result)
    console.show(
        head,
        *parts,
        *([Text(doubt)] if doubt else []),
        *wide_job(result),
        Text("\nNext:"),
        _next(winner or POLICIES[0]),
    )


def _next(winner: str) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 2))
    table.add_column(no_wrap=True)
    lines: dict[str, Any] = {line.format(winner): why for line, why in NEXT.items()}
    for line, why in lines.items():
        table.add_row(line, Text(why, "dim"))
    return table


def wide_job(result: ReportInput) -> list[RenderableType]:
    """The wait of the widest job under each policy, in a sentence, and why under the first."""
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
