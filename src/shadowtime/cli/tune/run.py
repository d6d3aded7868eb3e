"""Search a policy's parameters and print the best, evaluated on later jobs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from shadowtime.cli.common import options
from shadowtime.cli.common.console import show
from shadowtime.cli.common.inputs import Cleaning, load
from shadowtime.cli.common.outputs import check_outputs, wrote
from shadowtime.cli.common.progress import working
from shadowtime.cli.common.tables import plain_table
from shadowtime.private import write_result
from shadowtime.report.numbers import number
from shadowtime.report.tuning import rivals_table, trials_in_words, tuning_page
from shadowtime.result.write import versions
from shadowtime.study.tune import Parts, Space, tune

if TYPE_CHECKING:
    from rich.console import RenderableType

    from shadowtime.report.tuning import TextTable
    from shadowtime.study.tune import Tuned


def tune_policy(
    *,
    log: str,
    cluster: str | None,
    policy: str,
    over: tuple[str, ...],
    objectives: str,
    method: Any,
    trials: int,
    seed: int,
    copies: int,
    baseline: str,
    rivals: tuple[str, ...],
    periods: int,
    report_on: str | None,
    report: str | None,
    as_json: bool,
    **cleaning: Any,
) -> None:
    """Search on the first jobs, select on the next and evaluate once on the last."""
    check_outputs(report=report)
    space = Space.of(policy, over)
    rules = Cleaning(**cleaning)
    jobs, machine = load(log, cluster, rules)
    other = None if report_on is None else load(report_on, cluster, rules)[0]
    names = [name.strip() for name in objectives.split(",") if name.strip()]
    with working("tuning") as advance:
        found = tune(
            Parts.cuts(jobs, periods=periods, report_on=other), machine, space, names,
            method=method, trials=trials, seed=seed, copies=copies, baseline=baseline,
            rivals=rivals or None, progress=advance,
        )  # fmt: skip
    if report:
        title = f"{policy} tuned on {jobs.name}"
        page = tuning_page(
            found, title=title, versions=versions(), command=options.command_line()
        )  # fmt: skip
        write_result(Path(report), page)
        wrote(report)
    if as_json:
        options.print_json(found.as_dict())
    else:
        show(*parts_of(found))


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
    front = plain_table("best on the second part", *columns)
    for one in found.front:
        values = [
            number(part.get(name))
            for name in found.objectives
            for part in (one.tuned, one.selected)
        ]
        front.add_row(one.policy, *values)
    last = plain_table(
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
    table = plain_table(*content.headings)
    for row in content.rows:
        table.add_row(*row)
    return table
