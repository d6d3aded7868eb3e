"""shadowtime explain: why a job of a result folder started when it did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shadowtime.cli.common import options
from shadowtime.errors import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from shadowtime.report import Explanation, ReportInput
    from shadowtime.workload import Workload

NEAR = 5
"""Job numbers offered in place of one that is not there."""


@click.command("explain")
@click.argument("folder", metavar="DIR", type=click.Path())
@click.argument("job")
@click.option(
    "--policy",
    "-p",
    metavar="NAME",
    help="The policy to explain. [default: the folder's first one]",
)
@options.as_json
def command(folder: str, job: str, policy: str | None, as_json: bool) -> None:
    """Say why JOB of the result folder DIR started when it did: who was ahead, which promise
    blocked it, when it was promised a start, and what it would have got elsewhere.

    DIR was written with -o by simulate, compare or demo.

    \b
    shadowtime explain results 1042
    shadowtime explain results 1042 --policy conservative
    """
    from shadowtime.cli.common.compiling import compile_notice
    from shadowtime.cli.common.progress import working
    from shadowtime.report import explain
    from shadowtime.result.read import read_folder

    with working(f"reading {folder}"), compile_notice("the log reader", "a few seconds"):
        result = read_folder(folder).result
    run = _chosen(result, policy, folder)
    found = explain(result.workload, run.schedule, _job_id(job, result.workload, folder))
    if as_json:
        options.print_json(_as_object(run.name, found))
    else:
        _show(result, run.name, found)


def _chosen(result: ReportInput, policy: str | None, folder: str) -> Any:
    for run in result.runs:
        if policy in (None, run.name):
            return run
    names = ", ".join(run.name for run in result.runs)
    raise UsageError(f"{folder} has no policy {policy}: it has {names}")


def _job_id(text: str, workload: Workload, folder: str) -> int:
    """The job's number, if there is such a job."""
    import numpy as np

    ids = workload.job_id
    if not text.removeprefix("-").isascii() or not text.removeprefix("-").isdigit():
        raise UsageError(f"{text!r} is not a job number: those of {folder} {_range(workload)}")
    wanted = int(text)
    if wanted in set(ids.tolist()):
        return wanted
    ordered = np.sort(ids)
    distance = [abs(int(one) - wanted) for one in ordered]
    near = sorted(int(ordered[i]) for i in np.argsort(distance, kind="stable")[:NEAR])
    raise UsageError(
        f"there is no job {wanted} in {folder}: near it are {', '.join(map(str, near))} "
        f"(they {_range(workload)}; jobs that cleaning dropped are not among them)"
    )


def _range(workload: Workload) -> str:
    return f"go from {int(workload.job_id.min())} to {int(workload.job_id.max())}"


def _as_object(policy: str, found: Explanation) -> dict[str, Any]:
    """Every field by its name; the reason as schedules spell it."""
    facts = {**vars(found), "reason": None if found.reason is None else found.reason.label}
    facts["promises"] = [vars(promise) for promise in found.promises]
    return {"policy": policy, **facts}


def _show(result: ReportInput, policy: str, found: Explanation) -> None:
    from rich.text import Text

    from shadowtime.cli.common.console import show

    head = Text.assemble((policy, "bold cyan"), f" on {result.workload.name}")
    lines = [Text(line) for line in found.lines]
    show(head, *lines, *_elsewhere(result, policy, found.job))


def _elsewhere(result: ReportInput, policy: str, job: int) -> list[RenderableType]:
    """When the same job started under the folder's other policies."""
    import numpy as np
    from rich.text import Text

    from shadowtime.cli.common.tables import plain_table
    from shadowtime.report.numbers import DASH, span
    from shadowtime.types import UNKNOWN, Reason

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
            Reason(int(run.schedule.reason[row])).label if ran else "no start",
        )
        table.add_row(*(Text(cell, "bold" if run.name == policy else "") for cell in cells))
    return [Text(), table]
