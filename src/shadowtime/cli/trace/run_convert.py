"""Read logs, slice, mix and scale them, and write one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shadowtime.cli.common import options
from shadowtime.cli.common.console import note
from shadowtime.cli.common.outputs import check_file
from shadowtime.cli.common.progress import working
from shadowtime.cli.trace.summary import load_warning, summary
from shadowtime.cluster.spec import parse_cluster
from shadowtime.errors import UsageError
from shadowtime.study.loads import Load
from shadowtime.trace import read, read_raw, write_swf
from shadowtime.trace.flurries import flurry_mask
from shadowtime.workload import job_range, merge, time_window
from shadowtime.workload.demand import Demands

if TYPE_CHECKING:
    from shadowtime.workload import Workload

DAY = 86400


def convert_log(
    *,
    log: str,
    out: str,
    clean: bool,
    jobs: tuple[int, int | None] | None,
    days: tuple[int, int | None] | None,
    load: str | None,
    others: tuple[str, ...],
    drop_flurries: bool,
    demand: str | None,
    cluster: str | None,
    as_json: bool,
    **reading: Any,
) -> None:
    """Write one log from all that were given."""
    if not out.lower().removesuffix(".gz").endswith(".swf"):
        raise UsageError(f"{out}: the log is written as SWF, so name it .swf or .swf.gz")
    check_file("OUT", out)
    how = options.how_to_read(**reading)
    draws = None if demand is None else Demands.parse(demand)
    changed = any((clean, jobs, days, load, others, drop_flurries, draws))
    with working(f"reading {log}"):
        if not changed:
            raw = read_raw(log, **how)
            write_swf(raw, out)
            content: dict[str, Any] = {"out": out, "lines": len(raw), "cleaning": {}}
            line = f"{out}: {len(raw):,} lines"
        else:
            workload = read(log, **how)
            mixed = [read(other, **how) for other in others]
            workload = _changed(workload, mixed, drop_flurries, jobs, days, load, cluster)
            if draws is not None:
                workload = draws.draw(workload)
            write_swf(workload, out)
            cleaning = {rule: n for rule, n in workload.cleaning.items() if n}
            content = {"out": out, "jobs": len(workload), "cleaning": cleaning}
            line = f"{out}: {summary(workload)}"
            if warning := load_warning(workload):
                note(warning)
    if as_json:
        options.print_json(content)
    else:
        click.echo(line)


def _changed(
    workload: Workload,
    mixed: list[Workload],
    drop_flurries: bool,
    jobs: tuple[int, int | None] | None,
    days: tuple[int, int | None] | None,
    load: str | None,
    cluster: str | None,
) -> Workload:
    """The jobs after all requested changes, in the documented order."""
    if mixed:
        workload = merge(workload, *mixed)
    if drop_flurries:
        workload = workload.take(~flurry_mask(workload))
    if jobs:
        workload = job_range(workload, jobs[0], len(workload) if jobs[1] is None else jobs[1])
    if days and len(workload):
        first = int(workload.submit[0])
        end = int(workload.submit[-1]) + 1 if days[1] is None else first + days[1] * DAY
        workload = time_window(workload, first + days[0] * DAY, max(end, first + days[0] * DAY))
    if len(workload) == 0:
        raise UsageError("no job is left: widen the range")
    if load:
        machine = parse_cluster(cluster, machine=workload.machine)
        workload = Load.parse(load).apply(workload, machine)
    return workload
