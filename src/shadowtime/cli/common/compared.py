"""A comparison, run with progress and shown: every load, then one table of loads or machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from shadowtime.cli.common import findings, outputs, progress, tables
from shadowtime.cli.common.console import output, show
from shadowtime.cli.common.running import SMALL, prepare
from shadowtime.cli.common.tables import group_table, numbers_table, plain_table
from shadowtime.cluster import Cluster
from shadowtime.report import ReportInput, numbers, policy_rows
from shadowtime.report.metadata import describe
from shadowtime.result import comparison, write
from shadowtime.study import Comparison, Setting, compare
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from rich.console import RenderableType

    from shadowtime.api.results import Results


SHOWN = ("wait_mean_s", "wait_p95_s", "bsld_mean", "utilisation")


def show_results(found: Results, groups: Sequence[dict[str, Any]]) -> None:
    """Every load, then the rows of its groups if there are any."""
    assert found.comparison is not None
    show_comparison(found.comparison, found.reports)
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in groups:
        rows.setdefault(row["load"], []).append(row)
    for load, here in rows.items():
        show(Text(f"\nload {load}" if len(rows) > 1 else ""), group_table(here))


def show_comparison(found: Comparison, results: Sequence[ReportInput]) -> None:
    """Everything about every load, then which policy wins at which."""
    trust = findings.trust_line(found.trust)
    parts: list[RenderableType] = []
    for setting, result in zip(found.settings, results, strict=True):
        parts += [*_heading(found, setting, result), *setting_parts(found, setting, result), Text()]
    if len(found.settings) > 1:
        parts += [_by_load(found), Text()]
    parts += [trust, Text()] if trust else []
    show(*parts[:-1])


def _heading(found: Comparison, setting: Setting, result: ReportInput) -> list[RenderableType]:
    jobs = numbers.count(len(setting.workload), "job")
    machine = tables.machine(found.cluster)
    head = Text.assemble((comparison.title_of(setting), "bold"), f": {jobs} on {machine}")
    head.append(f"\noffered load {setting.offered_load:.2f}; scored: {result.scored}")
    warning = findings.load_warning(setting)
    return [head, *([warning] if warning else []), Text()]


def setting_parts(found: Comparison, setting: Setting, result: ReportInput) -> list[RenderableType]:
    """The table of one load and its findings."""
    _, sentence = findings.winner_line(result)
    table = tables.side_by_side(result.runs, output())
    copies = comparison.copies_in_words(found) if found.replicas.count else ""
    words = policy_rows.legend((str(column.header) for column in table.columns), copies)
    parts: list[RenderableType] = [table, Text(f"{words}\n", "dim"), sentence]
    price = findings.payers_line(result)
    parts += [price] if price else []
    differences = findings.differences(setting)
    if differences is not None:
        parts += [Text(f"\nOver {copies}:"), differences, findings.legend(setting), Text()]
        parts += findings.stability(setting, copies)
    return parts


def _by_load(found: Comparison) -> RenderableType:
    """The winner of a few metrics at each load."""
    names = ("wait_mean_s", "wait_p95_s", "bsld_mean", "goodput")
    table = plain_table("load", "offered", *(f"best {describe(name).short}" for name in names))
    for setting in found.settings:
        best = [", ".join(setting.winners(name)) for name in names]
        table.add_row(str(setting.load), f"{setting.offered_load:.2f}", *best)
    return table


def finish_machines(
    clusters: Sequence[str],
    found: Sequence[Results],
    by: Sequence[str],
    folder: str | None,
    *,
    as_json: bool,
) -> None:
    """Write a folder for each machine, and print all of them."""
    groups = [one.groups(by) if by else [] for one in found]
    if folder:
        names = write.file_names([Path(one).name or one for one in clusters])
        for name, one, rows in zip(names, found, groups, strict=True):
            inner = str(Path(folder) / name)
            one.save(inner, groups=rows)
            outputs.wrote(inner)
    if as_json:
        machines = [
            {"given": given, **one.as_dict(groups=rows)}
            for given, one, rows in zip(clusters, found, groups, strict=True)
        ]
        outputs.print_json({"machines": machines})
        return
    for given, one, rows in zip(clusters, found, groups, strict=True):
        show(Text(f"== {given}", "bold"))
        show_results(one, rows)
        show(Text())
    show(_side_by_side(clusters, found))


def _side_by_side(clusters: Sequence[str], found: Sequence[Results]) -> Table:
    """A row per machine, load and policy, with what most people look at."""
    loads = len(found[0].reports) > 1
    head = ["machine", *(["load"] if loads else []), "policy"]
    table = numbers_table(*head, *(describe(name).short for name in SHOWN))
    table.columns[len(head) - 1].justify = "left"
    for given, one in zip(clusters, found, strict=True):
        assert one.comparison is not None
        for setting, result in zip(one.comparison.settings, one.reports, strict=True):
            for run in result.runs:
                cells = [numbers.amount(run.point(name), describe(name).unit) for name in SHOWN]
                load = [str(setting.load)] if loads else []
                table.add_row(given, *load, run.name, *cells)
    return table


def run_comparison(
    workload: Workload,
    cluster: Cluster,
    policies: Sequence[Any],
    *,
    small: int = SMALL,
    kept_in: str | None = None,
    **options: Any,
) -> Comparison:
    """study.compare with progress; ``options`` are passed to it.

    With ``kept_in`` the schedules are saved in that folder and reused from it.
    """
    loads = len(options.get("loads", (None,)))
    inputs = loads * (1 + options.get("shake", 0) + options.get("resample", 0))
    jobs = inputs * len(workload)
    engine = prepare(policies, cluster, jobs=jobs, small=small, resume=kept_in)
    if options.get("known") is not None:
        inputs = loads
    with progress.while_simulating(steps=inputs * len(policies)) as advance:
        return compare(
            workload,
            cluster,
            policies,
            progress=lambda name: advance("simulating"),
            engine=advance.watched(engine),
            **options,
        )
