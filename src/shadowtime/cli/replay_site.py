"""shadowtime replay on a site: mean waits by group, recorded and simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from rich.text import Text

from shadowtime.cli.common import tables
from shadowtime.cli.common.console import show
from shadowtime.cli.common.findings import SHADE, left_out, trust_sentences, trust_table
from shadowtime.cli.common.inputs import print_policy_notes
from shadowtime.cli.common.outputs import command_line, print_json, wrote
from shadowtime.cli.common.progress import compile_notice, working
from shadowtime.cli.common.running import prepare
from shadowtime.cli.common.tables import numbers_table
from shadowtime.metrics.groups import BY, parse_by
from shadowtime.metrics.where import Where
from shadowtime.report import PolicyRun, ReportInput
from shadowtime.report.numbers import number, percent, span
from shadowtime.report.obstacle_words import unstarted_lines
from shadowtime.result.pages import write_results
from shadowtime.result.write import as_object, versions, write_folder
from shadowtime.study.expected_error import within
from shadowtime.study.site.replay import replay_site
from shadowtime.study.site.trials import PHASES, Repeats
from shadowtime.study.trust import shade
from shadowtime.study.unstarted import why_never

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from shadowtime.cluster import Cluster
    from shadowtime.cluster.site import Site
    from shadowtime.metrics import Window
    from shadowtime.study.site.replay import SiteReplay
    from shadowtime.workload import Workload

HEADINGS = {"partition": "partition", "account": "account", "qos": "QOS", "size": "processors"}
"""The noun for each kind of group."""
WORDS = {"partition": "partition", "account": "account", "qos": "QOS", "user": "user"}
SHOWN = 12
"""Groups of a kind in the table; all are in the JSON object."""


def replay_a_site(
    workload: Workload,
    machine: Cluster,
    policy: Any,
    window: Window,
    *,
    phases: int | None,
    as_json: bool,
    where: str = "",
    by: str = "",
    folder: str | None,
    report: str | None,
    figures: str | None,
    resume: str | None = None,
) -> None:
    """Run, write and print."""
    # Two runs of a policy without phases are equal; copies only on request.
    usual = PHASES if hasattr(policy, "phase") else 1
    repeats = Repeats(phases=phases or usual)
    print_policy_notes([policy], machine, workload)
    engine = prepare([policy], machine, jobs=len(workload) * repeats.count, resume=resume)
    with (
        working("simulating", steps=repeats.count) as advance,
        compile_notice("the engine", "up to a minute"),
    ):
        found = replay_site(
            workload,
            cast("Site", machine), policy, repeats=repeats, window=window,
            by=parse_by(by) if by else BY,
            where=Where.parse(where),
            engine=advance.watched(engine),
            advance=lambda: advance("simulating"),
        )  # fmt: skip
    result = _as_report(found)
    rows = [one.as_dict() for one in found.groups]
    content = as_object(result, window, replay=found.as_dict(), groups=rows)
    if folder:
        write_folder(content, result, folder)
    pages = write_results(result, report=report, figures=figures, step=working)
    wrote(folder, report, figures=figures, count=len(pages) - bool(report))
    if as_json:
        print_json(content)
    else:
        _show(found)


def _as_report(found: SiteReplay) -> ReportInput:
    name = found.policy if found.policy != "recorded" else "simulated"
    recorded = PolicyRun(name="recorded", schedule=found.recorded, metrics=found.recorded_metrics)
    simulated = PolicyRun(
        name=name,
        schedule=found.simulated,
        parameters=found.parameters,
        metrics=found.simulated_metrics,
        unstarted=why_never(found.simulated, found.workload, found.site, window=found.window),
    )
    return ReportInput(
        title=f"{found.workload.name}: recorded and {name}",
        workload=found.workload,
        cluster=found.site,  # type: ignore[arg-type]  # a site is taken wherever a cluster is
        runs=(recorded, simulated),
        window=found.window,
        versions=versions(),
        command=command_line(),
        trust=found.trust,
        replay=True,
        replayed={
            "runs": str(found.repeats),
            "groups": [one.as_dict() for one in found.groups],
            **{key: found.as_dict()[key] for key in ("backfilled", "reasons")},
        },
    )


def _show(found: SiteReplay) -> None:
    jobs = tables.count(len(found.workload), "job")
    head = Text.assemble((found.workload.name, "bold"), f": {jobs} on ")
    head.append(f"{tables.machine(found.site)}\n")  # type: ignore[arg-type]
    head.append(f"recorded waits beside those of {found.policy}: {found.repeats}")
    head.append(f"; scored: {found.window}")
    if found.never_started:
        never = tables.count(found.never_started, "job")
        head.append(f"\nexcluded: {never} with a recorded start that the simulation never starts")
        causes = why_never(found.simulated, found.workload, found.site, window=found.window)
        head.append("".join(f"\n  {line}" for line in unstarted_lines(causes)))
    head.append(left_out(found.not_modelled))
    gone = found.cancelled
    if gone is not None and gone.started:
        head.append(
            f"\n{tables.count(gone.jobs, 'job')} were cancelled while they waited: "
            f"{gone.started:.0f} of them start before, for drawn times ({gone.core_share:.1%} of "
            f"the core-hours); to their limits, waits would change by {gone.sensitivity:+.0%}"
        )
    show(
        trust_sentences(found.trust).append("\n"),
        head,
        Text(),
        _groups(found),
        Text(),
        *_scheduling(found),
        trust_table(found.trust),
    )


def _groups(found: SiteReplay) -> Table:
    table = numbers_table(
        "mean waits", "jobs", "recorded", "simulated", "range of one run", "off by", "within"
    )
    table.columns[0].no_wrap = True
    heading, listed = "", 0
    for row in found.groups:
        if row.by != heading and row.by != "all":
            table.add_row(Text(f"by {HEADINGS.get(row.by, row.by)}", "dim"))
            listed = 0
        heading, listed = row.by, listed + 1
        if listed > SHOWN:
            continue
        label = group_label(row.by, row.name)
        low, high = span(row.simulated.low), span(row.simulated.high)
        outside = Text(f"{low} to {high}", "" if row.within else "yellow")
        table.add_row(
            label,
            number(row.jobs),
            span(row.recorded_s),
            span(row.simulated.mean),
            outside,
            percent(row.difference, signed=True),
            "" if row.error is None else Text(within(row.error), SHADE[shade(row.error)]),
        )
    return table


def group_label(by: str, name: str) -> str:
    """A group in a table.

    Examples
    --------
    >>> group_label("qos", "high"), group_label("account", ""), group_label("size", "5-16")
    ('  QOS high', '  no account', '  5-16')
    """
    if by == "all":
        return "all jobs"
    if by not in WORDS:
        return f"  {name}"
    return f"  {WORDS[by]} {name}" if name else f"  no {WORDS[by]}"


def _scheduling(found: SiteReplay) -> list[RenderableType]:
    """Which pass started jobs, and what they waited for."""
    shown: list[RenderableType] = []
    if found.backfilled is not None:
        recorded, low, high = found.backfilled
        shown.append(
            Text(
                f"started by backfill: {percent(recorded)} recorded, "
                f"{percent(low)} to {percent(high)} simulated"
            )
        )
    if found.reasons:
        table = numbers_table("waited for", "jobs recorded", "simulated", "range of the runs")
        for row in found.reasons:
            mean = row.simulated
            span = "" if mean is None else f"{row.low} to {row.high}"
            table.add_row(
                row.reason,
                number(row.recorded),
                "not known" if mean is None else number(mean),
                span,
            )
        shown += [Text(), table]
    return [*shown, Text()] if shown else []
