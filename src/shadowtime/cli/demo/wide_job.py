"""What the demo ends with: the mean of a policy, and the one job that pays for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

    from shadowtime.report import ReportInput

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
