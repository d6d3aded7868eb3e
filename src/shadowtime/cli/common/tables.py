"""Results as tables for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shadowtime.cli.common.plain import Columns
from shadowtime.report import PolicyRun, metadata
from shadowtime.report.machine import machine as machine
from shadowtime.report.numbers import number, span, with_unit
from shadowtime.report.policy_rows import numbers_table as numbers_table
from shadowtime.report.policy_rows import plain_table as plain_table
from shadowtime.report.policy_rows import policy_rows
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

STATISTICS = {"mean": "mean", "median": "median", "p95": "95 %", "p99": "99 %", "max": "longest"}
DISTRIBUTIONS = {
    "wait_{}_s": "wait",
    "response_{}_s": "response",
    "slowdown_{}": "slowdown",
    "bsld_{}": "bounded slowdown",
}
FACTS = (
    "unstarted",
    "unstarted_wait_mean_s",
    "unstarted_wait_max_s",
    "unknown_start",
    "utilisation",
    "goodput",
    "lost_work",
    "restart_work",
    "utilisation_memory",
    "utilisation_gpus",
    "imbalance_mean",
    "stranded_procs",
    "stranded_memory",
    "loss_of_capacity",
    "offered_load",
    "makespan_s",
    "mwbs",
    "blocked",
    "backfilled",
    "promises_missed",
    "promises_slipped",
    "killed",
    "killed_contention",
    "penalised_mean",
    "penalised_p95",
    "preempted_jobs",
    "wasted_load",
    "clamped_predictions",
    "rates_rounded_down",
    "energy_kwh",
    "energy_cost",
    "carbon_kg",
    "deadlines_missed",
    "lateness_mean_s",
    "workflow_makespan_mean_s",
    "workflow_slowdown_mean",
)
ONLY_IF_ANY = (
    "unstarted",
    "unstarted_wait_mean_s",
    "unknown_start",
    "lost_work",
    "restart_work",
    "promises_slipped",
    "preempted_jobs",
    "wasted_load",
    "clamped_predictions",
    "rates_rounded_down",
)
"""Shown if there were such jobs, or work was lost or repeated: goodput is not utilisation then."""
SIDE_BY_SIDE = (
    "unstarted",
    "unstarted_wait_mean_s",
    "wait_mean_s",
    "wait_p95_s",
    "wait_max_s",
    "bsld_mean",
    "bsld_p95",
    "mwbs",
    "goodput",
    "lost_work",
    "promises_slipped",
    "killed_contention",
    "penalised_mean",
    "energy_cost",
    "carbon_kg",
    "deadlines_missed",
    "workflow_slowdown_mean",
)
"""The columns of a comparison."""

SPARE = (
    "mwbs",
    "energy_cost",
    "carbon_kg",
    "bsld_p95",
    "wait_max_s",
    "deadlines_missed",
    "workflow_slowdown_mean",
    "goodput",
    "wait_p95_s",
    "penalised_mean",
    "promises_slipped",
    "lost_work",
    "unstarted_wait_mean_s",
)
"""Columns that a narrow terminal omits, in this order."""


def cleaning(workload: Workload) -> Columns | None:
    """What cleaning did to the log; None if nothing."""
    from shadowtime.workload.clean import explain

    touched = {rule: count for rule, count in workload.cleaning.items() if count}
    if not touched:
        return None
    table = Columns("><", styles=("", "dim"))
    for rule, count in touched.items():
        table.add(f"{count:,}", explain(rule))
    return table


def distributions(metrics: Mapping[str, float]) -> Columns:
    """Waits and slowdowns: a row each, a column per statistic."""
    table = Columns("<" + ">" * len(STATISTICS), header=("", *STATISTICS.values()))
    for pattern, label in DISTRIBUTIONS.items():
        unit = "s" if pattern.endswith("_s") else ""
        values = [metrics.get(pattern.format(statistic)) for statistic in STATISTICS]
        if any(value is not None for value in values):
            table.add(label, *(with_unit(value, unit) for value in values))
    return table


def _apart(name: str, metrics: Mapping[str, float]) -> bool:
    """Goodput is a line of its own only where something was lost."""
    return name != "goodput" or bool(metrics.get("lost_work"))


def facts(metrics: Mapping[str, float]) -> Columns:
    """The other numbers, one per line."""
    table = Columns("<>")
    for name in FACTS:
        if name in metrics and (metrics[name] or name not in ONLY_IF_ANY) and _apart(name, metrics):
            info = metadata.describe(name)
            unit = "" if info.unit == "jobs" else info.unit
            table.add(info.label.lower(), with_unit(metrics[name], unit))
    return table


def side_by_side(runs: Sequence[PolicyRun], console: Console, *, stars: bool = True) -> Table:
    """A row per policy; the best value of a column is marked with a star, unless ``stars`` is off.

    On a narrow terminal columns are omitted rather than cut.
    """
    names = [name for name in SIDE_BY_SIDE if _worth_a_column(runs, name)]
    return within(console, names, SPARE, draw=lambda shown: policy_rows(runs, shown, stars=stars))


def within(
    console: Console,
    names: Sequence[str],
    spare: Sequence[str],
    *,
    draw: Callable[[Sequence[str]], Table],
) -> Table:
    """The table of as many columns as fit: those in ``spare`` are omitted, in that order."""
    table = draw(names)
    endless = console.options.update(width=10_000)
    for omitted in spare:
        if console.measure(table, options=endless).maximum <= console.width:
            break
        names = [name for name in names if name != omitted]
        table = draw(names)
    return table


def _worth_a_column(runs: Sequence[PolicyRun], name: str) -> bool:
    if name in ONLY_IF_ANY:
        return any(run.metrics.get(name) for run in runs)
    return any(name in run.metrics for run in runs)


def group_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Mean waits by group, a column per policy."""
    from rich.text import Text

    policies = list(dict.fromkeys(row["policy"] for row in rows))
    table = numbers_table("mean waits", "jobs", *policies)
    heading = ""
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        cells.setdefault((row["by"], row["name"]), {})[row["policy"]] = row
    for (by, name), found in cells.items():
        if by not in ("all", heading):
            table.add_row(Text(f"by {by}", "dim"))
        heading = by
        jobs = max(row["jobs"] for row in found.values())
        label = "all jobs" if by == "all" else f"  {name or '(none)'}"
        waits = [span(found[one]["wait_mean_s"]) if one in found else "" for one in policies]
        table.add_row(label, number(jobs), *waits)
    return table
