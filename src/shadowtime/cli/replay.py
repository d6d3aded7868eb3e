"""shadowtime replay: recorded starts compared with simulated ones."""

from __future__ import annotations

from typing import Any, Literal, cast

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from shadowtime.api.load import CLEAN, Cleaning
from shadowtime.cli import replay_site as sites
from shadowtime.cli.common import console, findings, outputs, progress, running, tables
from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Site
from shadowtime.errors import UsageError
from shadowtime.metrics import Window, classes, groups
from shadowtime.metrics.where import Where
from shadowtime.policy import parse_policy
from shadowtime.report import PolicyRun, ReportInput, obstacle_words, terminal
from shadowtime.report.classes import by_kind
from shadowtime.report.numbers import count, number, percent, span
from shadowtime.result.write import as_object, versions, write_folder, write_results
from shadowtime.study import trust, unstarted
from shadowtime.study.replay import Replay, WaitRow
from shadowtime.study.replay import replay as replay_log
from shadowtime.study.site.replay import SiteReplay
from shadowtime.types import File, FileOrFolder, Folder

KINDS = ("size", "runtime", "partition", "queue", "group")
"""In this order; users are too many for a terminal: they are in the JSON object."""


def replay(
    log: FileOrFolder,
    *,
    cluster: str | None = None,
    policy: str | None = None,
    phases: int | None = None,
    release: Literal["submit", "eligible"] = "submit",
    cleaning: Cleaning = CLEAN,
    window: str | None = None,
    where: str = "",
    by: str = "",
    output: Folder | None = None,
    json: bool = False,
    report: File | None = None,
    figures: Folder | None = None,
    resume: Folder | None = None,
) -> None:
    """Simulate LOG under the policy that its machine ran, and compare with the recorded starts.

    Reports how far a what-if on this log can be trusted, and what limits the trust. A site's folder
    is replayed several times under Slurm's own scheduler with the site's settings, because no log
    records when passes ran. Prints mean waits by partition, account, QOS and size, with the range
    of one run.

    \b
    shadowtime replay site/
    shadowtime replay log.swf.gz --policy easy
    shadowtime replay jobs.psv --cluster pool:4096 --policy easy --release eligible

    Parameters
    ----------
    policy : P
        The policy that the machine ran, as for simulate. [default on a site: slurm, with the site's
        own settings]
    phases : N in 2..100
        Sites: simulate N runs, with Slurm's passes at different offsets, or for other policies on
        shaken copies of the log. [default: 6; policies other than slurm: 1]
    release
        When jobs arrive: at submission, or when they became eligible according to the log.
    resume : DIR
        Save every run in DIR, and the one in progress every minute: after Ctrl-C the same command
        continues.
    """
    scored = Window.parse(window or "all")
    given = parse_policy(policy) if policy else None
    jobs_where = Where.parse(where)
    outputs.check_outputs(folder=output, report=report, figures=figures, kept=resume)
    workload, machine = running.load(log, cluster, cleaning)
    running.must_score_some(scored, workload)
    chosen = given or policy_of(machine)
    site = machine.shape == "site"
    if phases is not None and not site:
        raise UsageError("--phases is for sites: on a pool nothing differs from run to run")
    found: Replay | SiteReplay
    shown: dict[str, Any] = {}
    if site:
        found = sites.run_site(
            workload, cast("Site", machine), chosen, scored,
            phases=phases, where=jobs_where, by=by, resume=resume,
        )  # fmt: skip
        shown = {"groups": [one.as_dict() for one in found.groups]}
    else:
        found = _run(
            workload, machine, chosen, resume, window=scored, release=release,
            where=jobs_where, by=groups.parse_by(by) if by else (),
        )  # fmt: skip
        shown = {"where": str(jobs_where)} if jobs_where else {}
    causes = unstarted.why_never(found.simulated, found.workload, machine, window=found.window)
    result = _as_report(found, machine, causes)
    content = as_object(result, scored, replay=found.as_dict(), **shown)
    if output:
        write_folder(content, result, output)
    pages = write_results(result, report=report, figures=figures, step=progress.working)
    outputs.wrote(output, report, figures=figures, count=len(pages) - bool(report))
    if json:
        outputs.print_json(content)
    else:
        _show(found, machine, causes, str(jobs_where))


def policy_of(machine: Any) -> Any:
    """The machine's own scheduler: Slurm's on a site."""
    if machine.shape != "site":
        raise UsageError("the log does not record which policy its machine ran: give --policy")
    return parse_policy("slurm")


def _run(workload: Any, machine: Any, policy: Any, resume: str | None, **how: Any) -> Replay:
    engine = running.prepare([policy], machine, jobs=len(workload), resume=resume)
    with progress.while_simulating() as advance:
        return replay_log(workload, machine, policy, engine=advance.watched(engine), **how)


def _as_report(found: Replay | SiteReplay, machine: Cluster, causes: Any) -> ReportInput:
    name = found.policy if found.policy != "recorded" else "simulated"
    return ReportInput(
        title=f"{found.workload.name}: recorded and {name}",
        workload=found.workload,
        cluster=machine,
        runs=(
            PolicyRun(name="recorded", schedule=found.recorded, metrics=found.recorded_metrics),
            PolicyRun(
                name=name,
                schedule=found.simulated,
                parameters=found.parameters,
                metrics=found.simulated_metrics,
                unstarted=causes,
            ),
        ),
        window=found.window,
        versions=versions(),
        command=outputs.command_line(),
        trust=found.trust,
        replay=True,
        replayed=sites.replayed(found) if isinstance(found, SiteReplay) else {},
    )


def _show(found: Replay | SiteReplay, machine: Cluster, causes: Any, where: str) -> None:
    site = isinstance(found, SiteReplay)
    jobs = count(len(found.workload), "job")
    head = Text.assemble((found.workload.name, "bold"), f": {jobs} on {tables.machine(machine)}\n")
    head.append(f"recorded {'waits' if site else 'starts'} beside those of {found.policy}")
    head.append(f": {found.repeats}" if isinstance(found, SiteReplay) else "")
    head.append(f"; scored: {found.window}{f', {where}' if where and not site else ''}")
    if found.never_started:
        never = count(found.never_started, "job")
        head.append(f"\nexcluded: {never} with a recorded start that the simulation never starts")
        head.append("".join(f"\n  {line}" for line in obstacle_words.unstarted_lines(causes)))
    if isinstance(found, SiteReplay):
        sites.show_site(found, head)
        return
    console.show(
        head,
        Text(),
        _classes(found),
        Text(),
        *_hours(found),
        Text(),
        findings.trust_sentences(found.trust).append("\n"),
        findings.trust_table(found.trust),
    )


def _classes(found: Replay) -> Table:
    table = tables.numbers_table(
        "waits",
        "jobs",
        "recorded mean",
        "simulated",
        "recorded median",
        "simulated",
        "off by",
    )
    table.columns[0].no_wrap = True
    table.add_row(*_cells(found.whole, "all jobs"))
    for kind in dict.fromkeys([*KINDS, *(row.kind for row in found.rows)]):
        if kind in ("hour", "user") and kind not in found.by:
            continue
        rows = [row for row in found.rows if row.kind == kind]
        word = classes.called(found.workload, kind)
        if rows:
            table.add_row(Text(by_kind(kind) if word == kind else f"by {word}", "dim"))
        for row in rows:
            table.add_row(*_cells(row, f"  {row.label}"))
    return table


def _cells(row: WaitRow, label: str) -> list[str | Text]:
    off = percent(row.difference, signed=True)
    return [
        label,
        number(row.jobs),
        span(row.recorded_mean_s),
        span(row.simulated_mean_s),
        span(row.recorded_median_s),
        span(row.simulated_median_s),
        Text(off, findings.SHADE[trust.shade(abs(row.difference))]),
    ]


def _hours(found: Replay) -> list[RenderableType]:
    """Mean waits by the hour of submission, as two lines on one scale."""
    by_hour = {row.label: row for row in found.rows if row.kind == "hour"}
    if not by_hour:
        return []
    columns: dict[str, list[float]] = {"recorded": [], "simulated": []}
    for hour in range(24):
        row = by_hour.get(f"{hour:02d}:00")
        columns["recorded"].append(row.recorded_mean_s if row else float("nan"))
        columns["simulated"].append(row.simulated_mean_s if row else float("nan"))
    top = max((value for column in columns.values() for value in column if value >= 0), default=0)
    lines: list[RenderableType] = [
        Text("mean wait by hour of submission, 00:00 to 23:00", "dim"),
    ]
    for name, column in columns.items():
        known = [value for value in column if value >= 0]
        ends = f"{span(min(known))} to {span(max(known))}" if known else ""
        lines.append(Text(f"  {name:<10} {terminal.sparkline(column, top=top)}  {ends}"))
    return lines
