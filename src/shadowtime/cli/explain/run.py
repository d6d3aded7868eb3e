"""Find out why a job started when it did, and print it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.text import Text

from shadowtime.cli.common import options
from shadowtime.cli.common.compiling import compile_notice
from shadowtime.cli.common.console import show
from shadowtime.cli.common.inputs import Cleaning, load, print_policy_notes
from shadowtime.cli.common.progress import working
from shadowtime.cli.common.running import run_policies
from shadowtime.cli.common.tables import plain_table
from shadowtime.cli.replay.run import policy_of
from shadowtime.errors import UsageError, near
from shadowtime.metrics import Window
from shadowtime.policy import parse_policy
from shadowtime.report import ReportInput, explain
from shadowtime.report.explanation_words import array_ids
from shadowtime.report.numbers import DASH, span
from shadowtime.result.read import is_result_folder, read_folder
from shadowtime.trace.site_folder import is_site_folder
from shadowtime.types import UNKNOWN, Reason

if TYPE_CHECKING:
    from rich.console import RenderableType

    from shadowtime.report import Explanation
    from shadowtime.workload import Workload

ONE_OF_SEVERAL = (
    "This is one of several equally likely runs: no log records when Slurm's passes ran, and at "
    "other offsets single jobs start at other times."
)
NEAR = 5
"""Number of nearby job numbers suggested for one that does not exist."""


def explain_job(
    *,
    folder: str,
    job: str,
    policy: str | None,
    cluster: str | None,
    as_json: bool,
    **cleaning: Any,
) -> None:
    """Find the job in a result folder or simulate it, and explain its start."""
    if cluster is None and (is_result_folder(folder) or not _is_log(folder)):
        with working(f"reading {folder}"), compile_notice("the log reader", "a few seconds"):
            result = read_folder(folder).result
        wanted = _job_id(job, result.workload, folder)
        run = _chosen(result, policy, folder)
    else:
        result, wanted = _simulated(folder, job, cluster, policy, cleaning)
        run = result.runs[0]
    with working("finding what blocked it"):
        found = explain(
            result.workload, run.schedule, wanted, cluster=run.cluster or result.cluster
        )
    if as_json:
        options.print_json(_as_object(run.name, found, result.workload))
    else:
        _show(result, run.name, found)


def _is_log(path: str) -> bool:
    """A site's folder or a file: something to simulate."""
    return is_site_folder(path) or Path(path).is_file()


def _simulated(
    log: str, job: str, cluster: str | None, policy: str | None, cleaning: dict[str, Any]
) -> tuple[ReportInput, int]:
    """One run over a log, and the requested job, which is looked up before the simulation."""
    given = parse_policy(policy) if policy else None
    workload, machine = load(log, cluster, Cleaning(**cleaning))
    chosen = given or policy_of(machine)
    wanted = _job_id(job, workload, log)
    print_policy_notes([chosen], machine, workload)
    [run] = run_policies(workload, machine, [chosen], Window.all())
    return run.as_report(), wanted


def _chosen(result: ReportInput, policy: str | None, folder: str) -> Any:
    for run in result.runs:
        if policy in (None, run.name):
            return run
    names = [run.name for run in result.runs]
    raise UsageError(f"{folder} has no policy {policy}{near(policy or '', names)}")


def _job_id(text: str, workload: Workload, folder: str) -> int:
    """The job's number, if there is such a job; a task of an array by its array and index."""
    ids = workload.job_id
    by_name = {name: number for number, name in array_ids(workload).items()}
    if text in by_name:
        return by_name[text]
    array, mark, task = text.partition("_")
    if mark and array.isdigit() and task.isdigit():
        tasks = [name for name in by_name if name.startswith(f"{array}_")]
        known = f"it has {', '.join(tasks[:NEAR])}" + (" ..." if len(tasks) > NEAR else "")
        raise UsageError(
            f"there is no task {text} in {folder}: "
            + (known if tasks else f"there is no array {array}")
        )
    if not text.removeprefix("-").isascii() or not text.removeprefix("-").isdigit():
        raise UsageError(f"{text!r} is not a job number: those of {folder} {_range(workload)}")
    wanted = int(text)
    if wanted in set(ids.tolist()):
        return wanted
    ordered = np.sort(ids)
    distance = [abs(int(one) - wanted) for one in ordered]
    near = sorted(int(ordered[i]) for i in np.argsort(distance, kind="stable")[:NEAR])
    raise UsageError(
        f"there is no job {wanted} in {folder}: the nearest are {', '.join(map(str, near))} "
        f"(job numbers {_range(workload)}; jobs dropped by cleaning are excluded)"
    )


def _range(workload: Workload) -> str:
    return f"go from {int(workload.job_id.min())} to {int(workload.job_id.max())}"


def _as_object(policy: str, found: Explanation, workload: Workload) -> dict[str, Any]:
    """Every field by its name; the reason as schedules spell it."""
    facts = {**vars(found), "reason": None if found.reason is None else found.reason.label}
    facts["promises"] = [vars(promise) for promise in found.promises]
    facts["in_the_way"] = [vars(one) for one in found.in_the_way]
    facts["standings"] = [vars(one) for one in found.standings]
    return {"policy": policy, "array_id": array_ids(workload).get(found.job), **facts}


def _show(result: ReportInput, policy: str, found: Explanation) -> None:
    head = Text.assemble((policy, "bold cyan"), f" on {result.workload.name}")
    lines = [Text(line) for line in found.lines]
    if policy.partition("(")[0] == "slurm":
        lines.append(Text(ONE_OF_SEVERAL, "dim"))
    show(head, *lines, *_elsewhere(result, policy, found.job))


def _elsewhere(result: ReportInput, policy: str, job: int) -> list[RenderableType]:
    """When the same job started under the folder's other policies."""
    if len(result.runs) < 2:
        return []
    row = int(np.flatnonzero(result.workload.job_id == job)[0])
    table = plain_table("policy", "waited", "why")
    for run in result.runs:
        start = int(run.schedule.start[row])
        ran = start != UNKNOWN
        cells = (
            run.name,
            span(int(run.schedule.wait[row])) if ran else DASH,
            Reason(int(run.schedule.reason[row])).label
            if ran or run.schedule.unstarted[row]
            else "no start",
        )
        table.add_row(*(Text(cell, "bold" if run.name == policy else "") for cell in cells))
    return [Text(), table]
