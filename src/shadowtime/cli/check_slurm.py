"""shadowtime check slurm: does the model of Slurm's scheduler hold for a recording?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from shadowtime.cli.common import console, outputs, progress
from shadowtime.errors import UsageError
from shadowtime.slurm.recording.check import Tallies, check_recording
from shadowtime.slurm.wait_page import wait_page
from shadowtime.slurm.waits import Waits, compare_groups, compare_waits
from shadowtime.study.site.coverage import coverage
from shadowtime.trace.site_folder import read_site

COUNTS = (
    "passes",
    "plans",
    "plans_equal",
    "starts",
    "starts_equal",
    "extra_starts",
    "extra_plans",
    "main_starts",
    "main_starts_equal",
    "victims",
    "victims_equal",
    "left_out",
)
SHOWN = 10
"""Differences shown per folder; --json has them all."""


def slurm(
    *folders: Path,
    every: int = 1,
    phases: int = 0,
    waits: Path | None = None,
    strict: bool = False,
    json: bool = False,
) -> int:
    """Plan every logged pass of a recorded Slurm again and compare.

    DIR holds slurmctld's log with DebugFlags=Backfill (slurmctld.log.gz or .log), sacct's table
    (jobs.psv) and the machine (slurm.conf, or nodes.txt and partitions.txt); scontrol's details,
    submissions and samples are used if they exist. The state before each backfill pass, and before
    each main pass that started something, is rebuilt; the pass is run on it; starts, nodes, planned
    times and preempted jobs are compared. Passes less than 0.35 s after an end, or with a running
    job whose resources are unknown, are skipped and counted. How long nodes take to answer after an
    end is measured, for slurm(latency=N). Priorities that change are read from the log
    (DebugFlags=Backfill,Priority) or from samples of squeue.

    \b
    shadowtime check slurm recording/
    shadowtime check slurm recording/ --phases 6 --waits waits.md

    Parameters
    ----------
    folders : DIR...
    every : N
        Only every N-th backfill pass.
    phases : N
        Also simulate the whole run from what `pull` collects alone, with passes at N offsets.
    waits : PAGE.md
        With --phases: instead of planning passes again, write a page of mean waits per account,
        partition and QOS, recorded, simulated and under EASY.
    strict
        Exit with 1 if anything differs.
    """
    if every < 1 or phases < 0:
        raise UsageError("--every must be at least 1, --phases at least 0")
    if waits is not None:
        _write_page(folders, phases, waits)
        return 0
    found = {str(folder): check_recording(folder, every=every) for folder in folders}
    whole: dict[str, Waits] = {}
    if phases:
        whole = {str(folder): compare_waits(folder, phases=phases) for folder in folders}
    if json:
        outputs.print_json(_as_object(found, whole))
    else:
        _show(found, whole)
    return 1 if strict and any(one.differences for one in found.values()) else 0


def _write_page(folders: tuple[Path, ...], phases: int, page: Path) -> None:
    """Only whole runs, as a page."""
    if not phases:
        raise UsageError("--waits compares means over several offsets: add --phases 6")
    found = []
    with progress.working("simulating", steps=len(folders)) as advance:
        for folder in folders:
            found.append(compare_groups(folder, phases=phases))
            advance(f"{folder.name} done")
    command = f"shadowtime check slurm DIR... --phases {phases} --waits {page.name}"
    page.write_text(wait_page(found, command=command))
    click.echo(f"wrote {page}")


def _differences(tallies: Tallies) -> list[dict[str, Any]]:
    return [
        {
            "time": round(one.time, 3),
            "what": one.what,
            "job": one.job,
            "ours": one.ours,
            "slurm": one.theirs,
            "cause": one.cause,
        }
        for one in tallies.differences
    ]


def _unknown(folder: str, tallies: Tallies) -> list[dict[str, Any]]:
    """What the model does not know: options, settings, kinds of jobs, lines of the log."""
    site, jobs = read_site(folder)
    found = [one.as_dict() for one in coverage(jobs, site).found]
    number = {label: at for at, label in enumerate(jobs.job_id.tolist())}
    work = (jobs.effective_run * jobs.procs).astype(float)
    for line, named in tallies.unread.items():
        rows = [number[job] for job in named if job in number]
        found.append(
            {
                "what": f"log line {line!r}",
                "jobs": len(named),
                "jobs_share": len(rows) / max(len(jobs), 1),
                "core_share": float(work[rows].sum()) / max(float(work.sum()), 1.0),
                "whole_site": False,
            }
        )
    return found


def _as_object(found: dict[str, Tallies], whole: dict[str, Waits]) -> dict[str, Any]:
    """The counts of one folder; of several their sums, and each folder's under its name."""
    each: dict[str, dict[str, Any]] = {
        name: {
            **{count: getattr(tallies, count) for count in COUNTS},
            "version": tallies.version,
            "differences": _differences(tallies),
            "lacking": list(tallies.lacking),
            "not_modelled": _unknown(name, tallies),
            "latency_ms": tallies.latency.milliseconds if tallies.latency else None,
        }
        for name, tallies in found.items()
    }
    for name, waits in whole.items():
        each[name]["whole_run"] = {
            "jobs": waits.jobs,
            "mean_wait_recorded": waits.recorded,
            "mean_wait": waits.mean,
            "mean_wait_of_phases": list(waits.phases),
        }
    if len(each) == 1:
        return next(iter(each.values()))
    sums = {name: sum(one[name] for one in each.values()) for name in COUNTS}
    return {**sums, "recordings": each}


def _show(found: dict[str, Tallies], whole: dict[str, Waits]) -> None:
    lines = [f"{name}: {text}" for name, one in found.items() for text in one.lacking]
    for name, tallies in found.items():
        lines += [
            f"{name}: not modelled: {one['what']} ({one['jobs']} jobs, {one['core_share']:.1%} of "
            "the core-hours)"
            for one in _unknown(name, tallies)
        ]
        lines += [
            f"{name} at {one.time:.3f}: {one.what} of job {one.job}: "
            f"ours {one.ours or 'none'}, Slurm's {one.theirs or 'none'}"
            + (f" ({one.cause})" if one.cause else "")
            for one in tallies.differences[:SHOWN]
        ]
        rest = len(tallies.differences) - SHOWN
        if rest > 0:
            lines.append(f"{name}: {rest} more differences (--json lists them)")
    lines += [f"{name}: {one.latency}" for name, one in found.items() if one.latency]
    lines += [
        f"{name}: mean wait of {one.jobs} jobs {one.recorded:.1f} s, from sacct alone "
        f"{one.mean:.1f} s (x{one.factor:.2f}; phases {min(one.phases):.1f} to "
        f"{max(one.phases):.1f} s)"
        for name, one in whole.items()
    ]
    console.show(_table(found), *lines)


def _table(found: dict[str, Tallies]) -> Table:
    table = Table(box=None, padding=(0, 1))
    table.add_column("recording", overflow="fold")
    heads = ("Slurm", "passes", "plans", "starts", "main starts", "victims", "left out", "extra")
    for head in heads:
        table.add_column(head, justify="right")
    shared = os.path.commonpath(found) if len(found) > 1 else ""
    for name, one in found.items():
        table.add_row(
            os.path.relpath(name, shared) if shared else name,
            one.version,
            str(one.passes),
            _of(one.plans_equal, one.plans),
            _of(one.starts_equal, one.starts),
            _of(one.main_starts_equal, one.main_starts),
            _of(one.victims_equal, one.victims),
            str(one.left_out),
            _too_many(one),
        )
    return table


def _too_many(tallies: Tallies) -> str:
    """Starts and plans that Slurm did not make."""
    counts = (tallies.extra_starts, "start"), (tallies.extra_plans, "plan")
    words = [f"{count} {what}{'' if count == 1 else 's'}" for count, what in counts if count]
    return ", ".join(words) or "0"


def _of(equal: int, count: int) -> str:
    """How many of how many agree; the share where not all do."""
    share = f" ({equal / count:.2%})" if equal < count else ""
    return f"{equal}/{count}{share}" if count else "-"
