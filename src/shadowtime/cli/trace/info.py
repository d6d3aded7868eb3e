"""shadowtime trace info: what a log contains, and its problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from shadowtime.api.load import READ, Reading
from shadowtime.cli.common import console, outputs, progress
from shadowtime.cli.common.tables import numbers_table, within
from shadowtime.cli.site import parts as site_parts
from shadowtime.cluster import site_summary, spec
from shadowtime.cluster.site import Site
from shadowtime.report.machine import amount
from shadowtime.report.numbers import number, percent, span
from shadowtime.report.terminal import sparkline
from shadowtime.trace import read, site_folder
from shadowtime.trace.info import describe
from shadowtime.types import FileOrFolder
from shadowtime.workload.clean import explain

BAR = 24
"""Characters of the longest bar."""
SPARE = ("p25", "p75")
"""Columns that a narrow terminal omits, in this order."""
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def info(
    log: FileOrFolder, *, cluster: str | None = None, reading: Reading = READ, json: bool = False
) -> None:
    """Show what LOG contains: jobs, load, users, sizes, run times, requests; and its problems.

    \b
    shadowtime trace info log.swf.gz
    shadowtime trace info jobs.psv --cluster nodes.txt --tz Europe/Zurich
    """
    with progress.while_reading(log):
        workload = read(log, **reading.reader())
        known = (
            cluster is not None or workload.machine.get("procs") or workload.machine.get("nodes")
        )
        if cluster is None and site_folder.is_site_folder(log):
            cluster, known = log, True
        machine = spec.parse_machine(cluster, machine=workload.machine) if known else None
        site = machine if isinstance(machine, Site) else None
        nodes = machine.as_nodes() if isinstance(machine, Site) else machine
        found = describe(workload, cluster=nodes)
    if site is not None:
        found["site"] = site_summary.summarise(site)
    if json:
        outputs.print_json(found)
    else:
        _show(found)


def _show(found: Mapping[str, Any]) -> None:
    parts: list[RenderableType] = [
        *_head(found),
        Text(),
        _spreads(found),
        Text(),
        _histograms(found),
    ]
    parts += [Text(), *_arrivals(found)]
    touched = {rule: n for rule, n in found["cleaning"].items() if n}
    if touched:
        parts.append(Text("\nCleaning:", "bold"))
        parts += [Text(f"  {n:>9,}  {explain(rule)}") for rule, n in touched.items()]
    parts.append(Text("\nBeware:" if found["remarks"] else "\nNothing to beware of.", "bold"))
    parts.append(_remarks(found))
    if "site" in found:
        parts += [Text(), *site_parts(found["site"])]
    console.show(*parts)


def _head(found: Mapping[str, Any]) -> list[RenderableType]:
    machine = found["cluster"] or found["machine"]
    size = ", ".join(
        amount(name, count) if name == "memory" else f"{number(count)} {name}"
        for name, count in machine.items()
    )
    head = Text.assemble((found["name"], "bold"), f": {number(found['jobs'])} jobs")
    head.append(f" over {span(found['span_s'])}")
    if found["start"]:
        head.append(f", from {found['start'][:16].replace('T', ' ')}")
    load = found["load"].get("procs")
    lines = [head, Text(f"machine: {size or 'unknown'}")]
    if load is not None:
        lines[1].append(f"; offered load {load:.2f}")
    if found["peak_recorded_procs"]:
        lines[1].append(f"; at its peak the log uses {number(found['peak_recorded_procs'])}")
    users = found["users"]
    if users["count"]:
        top = users["top"][0]
        text = (
            f"users: {number(users['count'])}; user {top.get('name') or top['user']} has "
            f"{percent(top['jobs_share'])}"
        )
        lines.append(Text(f"{text} of the jobs"))
    words = {"accounts": "accounts", "queues": "QOS" if found["accounts"] else "queues"}
    for kind in ("accounts", "queues", "partitions"):
        if len(found[kind]) > 1:
            named = [
                f"{entry['name'] or entry['number']} ({number(entry['jobs'])}{_wait(entry)})"
                for entry in sorted(found[kind], key=lambda entry: -entry["jobs"])[:6]
            ]
            more = f" and {len(found[kind]) - 6} more" if len(found[kind]) > 6 else ""
            lines.append(Text(f"{words.get(kind, kind)}: {', '.join(named)}{more}"))
    return list(lines)


def _wait(entry: Mapping[str, Any]) -> str:
    """The mean recorded wait of a group of jobs, where it has one and is named."""
    if not entry["name"] or "wait_mean_s" not in entry:
        return ""
    return f" jobs, mean wait {span(entry['wait_mean_s'])}"


def _spreads(found: Mapping[str, Any]) -> Table:
    rows = {
        "processors": (found["sizes"], number),
        "run time": (found["runtimes"], span),
        "requested": (found["requests"], span),
        "used of it": (found["requests"]["used_share"], percent),
        "recorded wait": (found["waits"], span),
    }
    names = {"min": "least", "p25": "25 %", "median": "median", "mean": "mean", "p75": "75 %",
             "p95": "95 %", "max": "most"}  # fmt: skip

    def draw(chosen: Sequence[str]) -> Table:
        table = numbers_table("", *(names[name] for name in chosen))
        table.columns[0].no_wrap = True
        for label, (values, shown) in rows.items():
            if "mean" in values:
                table.add_row(label, *(shown(values[name]) for name in chosen))
        return table

    return within(console.output(), tuple(names), SPARE, draw=draw)


def _histograms(found: Mapping[str, Any]) -> Table:
    """Jobs and work by size and by run time, side by side."""
    grid = Table(box=None, show_header=False, padding=(0, 3, 0, 0))
    tables = []
    for title, rows, shown in (
        ("processors", found["sizes"]["histogram"], number),
        ("run time", found["runtimes"]["histogram"], span),
    ):
        table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
        table.add_column(title, justify="right", no_wrap=True)
        table.add_column("jobs", justify="right", no_wrap=True)
        table.add_column("work", justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        most = max(row["jobs_share"] for row in rows)
        for row in rows:
            label = (
                f"to {shown(row['to'])}" if row["to"] is not None else f"> {shown(row['above'])}"
            )
            bar = "█" * round(BAR / 2 * row["jobs_share"] / most) if most else ""
            table.add_row(
                label,
                f"{100 * row['jobs_share']:.1f}%",
                f"{100 * row['work_share']:.1f}%",
                Text(bar, "cyan"),
            )
        tables.append(table)
    grid.add_row(*tables)
    return grid


def _arrivals(found: Mapping[str, Any]) -> list[RenderableType]:
    arrivals = found["arrivals"]
    clock = "local time" if arrivals["local"] else "from the first midnight of the log"
    popular = ", ".join(
        f"{span(entry['seconds'])} ({100 * entry['jobs_share']:.0f}%)"
        for entry in found["requests"]["popular"][:4]
    )
    week = sparkline(arrivals["by_weekday"])
    return [
        Text(f"submitted by hour     {sparkline(arrivals['by_hour'])}  00:00 to 23:00, {clock}"),
        Text(f"submitted by weekday  {week}  {WEEKDAYS[0]} to {WEEKDAYS[-1]}")
        if arrivals["local"]
        else Text(f"submitted by weekday  {week}  counted from the first day"),
        Text(f"most requested        {popular}; {found['requests']['different']} different values"),
    ]


def _remarks(found: Mapping[str, Any]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for remark in found["remarks"]:
        table.add_row(Text(remark["check"], "yellow"), remark["text"])
    return table
