"""shadowtime tune: tune parameters on past jobs, evaluate them on later ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from shadowtime.api import tune as api
from shadowtime.api.load import CLEAN, Cleaning
from shadowtime.cli.common import console, outputs, progress, running, tables
from shadowtime.private import write_result
from shadowtime.report.numbers import number
from shadowtime.report.tuning import TextTable, rivals_table, trials_in_words, tuning_page
from shadowtime.result.write import versions
from shadowtime.study.tune import Space, Tuned
from shadowtime.types import File, FileOrFolder

if TYPE_CHECKING:
    from rich.console import RenderableType


def tune(
    log: FileOrFolder,
    *,
    cluster: str | None = None,
    policy: str,
    report_on: str | None = None,
    report: File | None = None,
    cleaning: Cleaning = CLEAN,
    json: bool = False,
    **search: Any,
) -> None:
    """Tune a policy on 60 % of LOG, select on the next 20 %, report on the last 20 % once.

    The same is done at earlier cuts of LOG. Prints whether tuning is worth it: the tuned policies
    beside the template as it is, the catalogue's policies of its kind and the baseline, on jobs
    that were not used in the search, with intervals over the cuts; then what was chosen last, and
    how much of its gain was optimism.

    \b
    shadowtime tune log.swf.gz -p 'easy(order=weighted)' --over expansion=0..1 --over wait=0..1
    shadowtime tune log.swf.gz -p easy --over reserve=1..8 --objective bsld_mean,wait_max_s

    Parameters
    ----------
    **search
        Options of :func:`shadowtime.tune`.
    report_on : LOG2
        Report on another log; then 75 % of LOG are used for tuning and 25 % for selection.
    """
    outputs.check_outputs(report=report, kept=search["resume"])
    Space.of(policy, search["over"])  # a wrong range is reported before the log is read
    search["resume"] = running.kept_folder(search["resume"])
    jobs, machine = running.load(log, cluster, cleaning)
    other = None if report_on is None else running.load(report_on, cluster, cleaning)[0]
    with progress.working("tuning") as advance:
        found = api.tune(jobs, machine, policy, report_on=other, progress=advance, **search)
    if report:
        title = f"{policy} tuned on {jobs.name}"
        page = tuning_page(
            found, title=title, versions=versions(), command=outputs.command_line()
        )  # fmt: skip
        write_result(Path(report), page)
        outputs.wrote(report)
    if json:
        outputs.print_json(found.as_dict())
    else:
        console.show(*parts_of(found))


def parts_of(found: Tuned) -> list[RenderableType]:
    """The answer, the rivals over all periods, and the last period: choice and report."""
    tune, select, report = (f"{n:,}" for n in found.jobs)
    head = Text.assemble((found.verdict.sentence, "bold"), f"\n{found.chosen}: best of ")
    head.append(trials_in_words(found))
    head.append(f"\ntuned on {tune} jobs, selected on the next {select}, reported on {report}")
    if any(found.unstarted):
        mine, theirs = (number(count) for count in found.unstarted)
        head.append(f"\non the last part it never starts {mine} jobs, {found.baseline} {theirs}")
    columns = [f"{name} ({part})" for name in found.objectives for part in ("tune", "select")]
    front = tables.plain_table("best on the second part", *columns)
    for one in found.front:
        values = [
            number(part.get(name))
            for name in found.objectives
            for part in (one.tuned, one.selected)
        ]
        front.add_row(one.policy, *values)
    last = tables.plain_table(
        "last part", "chosen", found.baseline, "difference (95 %)", "gain", "gain when tuned",
        "optimism",
    )  # fmt: skip
    for row in found.report:
        inside = row.difference
        doubt = "" if inside is None or inside.excludes_zero else " ?"
        span = f"{number(inside.mean)} ± {number(inside.half)}{doubt}" if inside else ""
        shares = [f"{100 * share:.1f} %" for share in (row.gain[2], row.gain[0], row.optimism)]
        last.add_row(row.metric, number(row.value), number(row.baseline), span, *shares)
    copies = f"over {found.copies} shaken copies of the last part, paired; ? may be chance"
    legend = f"difference: {copies}; gain: share by which {found.baseline} is improved"
    rivals = rivals_table(found)
    return [
        head, Text(), _table(rivals), Text(rivals.legend, "dim"), Text(), front, Text(), last,
        Text(legend, "dim"),
    ]  # fmt: skip


def _table(content: TextTable) -> RenderableType:
    table = tables.plain_table(*content.headings)
    for row in content.rows:
        table.add_row(*row)
    return table
