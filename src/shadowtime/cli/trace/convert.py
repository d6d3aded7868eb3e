"""shadowtime trace convert: any log as SWF, whole or changed."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.api.load import READ, Reading
from shadowtime.cli.common import console, outputs, progress
from shadowtime.cluster import Cluster, spec
from shadowtime.errors import UsageError
from shadowtime.report.numbers import count, number, span
from shadowtime.study.replicas import Load
from shadowtime.trace import quality, read, read_raw, write_swf
from shadowtime.types import Between, File, FileOrFolder
from shadowtime.workload import Workload, job_range, merge, scale, time_window
from shadowtime.workload.demand import Demands

DAY = 86400


def convert(
    log: FileOrFolder,
    out: File,
    *,
    clean: bool = False,
    jobs: Between | None = None,
    days: Between | None = None,
    load: str | None = None,
    with_: tuple[str, ...] = (),
    demand: str | None = None,
    drop_flurries: bool = False,
    cluster: str | None = None,
    reading: Reading = READ,
    json: bool = False,
) -> None:
    """Write LOG as SWF to OUT (gzip if it ends in .gz): whole, a part, mixed, at another load.

    LOG is SWF, an sacct export, a Slurm site's CSV, the output of condor_history (-json, -jsonl,
    -long) or an HTCondor job event log, recognised by its content.

    Without these options every line is kept unchanged. With any of them the jobs are cleaned first.
    They are applied in the order mix, flurries, jobs, days, load.

    \b
    shadowtime trace convert jobs.psv jobs.swf.gz --tz Europe/Zurich
    shadowtime trace convert history.json history.swf
    shadowtime trace convert log.swf.gz month.swf.gz --days 30:60
    shadowtime trace convert log.swf.gz busy.swf.gz --load 1.2
    shadowtime trace convert log.swf.gz high.swf.gz --jobs 0:20000 --demand HIGH

    Parameters
    ----------
    clean
        Write the jobs as a simulation would use them.
    jobs : A:B
        Only jobs A to B, from 0.
    days : A:B
        Only days A to B, from 0.
    load : L
        Jobs arrive L times as fast, such as 1.2, or at a load, such as offered=0.9.
    with_ : LOG
        Mix with another log, both from day 0; repeatable.
    drop_flurries
        Drop bursts of a single user.
    """
    check_out(out)
    how = reading.reader()
    draws = None if demand is None else Demands.parse(demand)
    changed = any((clean, jobs, days, load, with_, drop_flurries, draws))
    with progress.working(f"reading {log}"):
        if not changed:
            raw = read_raw(log, **how)
            write_swf(raw, out)
            content: dict[str, Any] = {"out": out, "lines": len(raw), "cleaning": {}}
            line = f"{out}: {len(raw):,} lines"
        else:
            workload = read(log, **how)
            mixed = [read(other, **how) for other in with_]
            workload = _changed(workload, mixed, drop_flurries, jobs, days, load, cluster)
            if draws is not None:
                workload = draws.draw(workload)
            write_swf(workload, out)
            cleaning = {rule: n for rule, n in workload.cleaning.items() if n}
            content = {"out": out, "jobs": len(workload), "cleaning": cleaning}
            line = f"{out}: {summary(workload)}"
            if warning := load_warning(workload):
                console.note(warning)
    if json:
        outputs.print_json(content)
    else:
        click.echo(line)


def check_out(out: str) -> None:
    """Reject a name or a folder before anything is read or generated."""
    if not out.lower().removesuffix(".gz").endswith(".swf"):
        raise UsageError(f"{out}: the log is written as SWF, so name it .swf or .swf.gz")
    outputs.check_file("OUT", out)


def _changed(
    workload: Workload,
    mixed: list[Workload],
    drop_flurries: bool,
    jobs: Between | None,
    days: Between | None,
    load: str | None,
    cluster: str | None,
) -> Workload:
    """The jobs after all requested changes, in the documented order."""
    if mixed:
        workload = merge(workload, *mixed)
    if drop_flurries:
        workload = workload.take(~quality.flurry_mask(workload))
    if jobs:
        workload = job_range(workload, jobs[0], len(workload) if jobs[1] is None else jobs[1])
    if days and len(workload):
        first = int(workload.submit[0])
        end = int(workload.submit[-1]) + 1 if days[1] is None else first + days[1] * DAY
        workload = time_window(workload, first + days[0] * DAY, max(end, first + days[0] * DAY))
    if len(workload) == 0:
        raise UsageError("no job is left: widen the range")
    if load:
        machine = spec.parse_cluster(cluster, machine=workload.machine)
        workload = Load.parse(load).apply(workload, machine)
    return workload


def summary(workload: Workload) -> str:
    """A log in one line.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> summary(Workload.build(submit=[0, 86400], run=[9, 9], procs=[1, 1], machine={"procs": 4}))
    '2 jobs over 1 d, offered load 0.00 on 4 procs'
    """
    length = int(workload.submit[-1] - workload.submit[0]) if len(workload) else 0
    text = f"{count(len(workload), 'job')} over {span(length)}"
    procs = workload.machine.get("procs")
    if procs and length:
        load = scale.offered_load(workload, Cluster.pool(procs))["procs"]
        text += f", offered load {load:.2f} on {number(procs)} procs"
    return text


def load_warning(workload: Workload) -> str:
    """A warning for a load at or above 1; empty below."""
    procs = workload.machine.get("procs")
    if not procs or len(workload) < 2 or workload.submit[0] == workload.submit[-1]:
        return ""
    load = scale.offered_load(workload, Cluster.pool(procs))["procs"]
    if load < 1:
        return ""
    return f"warning: at an offered load of {load:.2f} the queue grows as long as jobs arrive"
