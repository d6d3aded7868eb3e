"""From the names of a log and a machine to the values of a run: jobs that fit a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from shadowtime.cluster import Cluster, spec
from shadowtime.errors import UsageError
from shadowtime.trace import header, read
from shadowtime.types import Bytes, Seconds
from shadowtime.workload import Workload, scale
from shadowtime.workload.clean import PER_PROCESS, fit
from shadowtime.workload.fit import too_wide_jobs
from shadowtime.workload.speedup import PER_JOB

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site
    from shadowtime.metrics import Window


RULE_NAMES = (
    "partial", "no_run", "no_procs", "negative_submit", "missing_request", "repeated",
    "out_of_order", "procs_field", "procs_per_node", "mem_field",
)  # fmt: skip
"""Cleaning switches without a separate option."""

LISTED = 20
"""The number of jobs that fit nowhere and are named one by one."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a log is read."""

    tz: str | None = None
    """ZONE : Time zone of a Slurm export, such as Europe/Zurich."""
    slurm_cluster: str | None = None
    """NAME : The cluster to use if an export contains several."""
    unlimited: Seconds | None = None
    """SPAN : The value of an UNLIMITED time limit, such as 30d. [default: unknown]"""
    bad_lines: Literal["refuse", "drop"] = "refuse"
    """Unreadable lines: an error, or dropped and counted."""
    max_size: Bytes | None = None
    """SIZE : Reject a log that is larger than this when decompressed. [default: 1GB]"""

    def reader(self) -> dict[str, Any]:
        """The arguments of :func:`shadowtime.trace.read` without those of cleaning."""
        how = {"tz": self.tz, "cluster": self.slurm_cluster, "unlimited": self.unlimited}
        size = {} if self.max_size is None else {"max_size": self.max_size}
        return {**how, "bad_lines": self.bad_lines, **size}


@dataclass(frozen=True, kw_only=True)
class Cleaning(Reading):
    """How a log is read and cleaned."""

    overrun: Literal["cut", "extend", "keep"] = "cut"
    """Jobs that ran longer than requested: killed at the request, request raised, or no limits at
    all."""
    cancelled: Literal["drop", "queue-until-cancel", "refuse"] | None = None
    """Jobs cancelled before they started. [default: drop; on a site queue-until-cancel]"""
    too_wide: Literal["drop", "refuse"] = "drop"
    """Jobs that fit nowhere: dropped and counted (up to 1 %), or an error."""
    rules: tuple[str, ...] = ()
    """NAME=CHOICE : Another cleaning rule, such as no_run=one-second or partial=keep (an unknown
    name lists them); repeatable."""
    series: tuple[str, ...] = ()
    """NAME=FILE : Values over time (price, carbon, ...) from a CSV file of times and values, which
    functions of a policy read as series.NAME; repeatable."""
    feedback: bool = False
    """Closed loop: users submit their next jobs a think time after the previous ones ended (by the
    log's preceding jobs, or its sessions)."""

    def switches(self, *, site: bool = False) -> dict[str, Any]:
        """The arguments of :func:`shadowtime.trace.read`."""
        usual = "queue-until-cancel" if site else "drop"
        named = {"overrun": self.overrun, "cancelled": self.cancelled or usual}
        return {**self.reader(), **named, **dict(map(_rule, self.rules))}


READ = Reading()
CLEAN = Cleaning()
Report = Callable[[str], None]
"""Receives a sentence about something that has no or little effect."""


def load(
    trace: str,
    cluster: Any = None,
    cleaning: Cleaning = CLEAN,
    *,
    demand: str | None = None,
    report: Report,
) -> tuple[Workload, Cluster]:
    """Read a log and its machine, and keep the jobs that fit.

    The reader looks in the log for whatever a machine counts besides processors (memory, GPUs,
    ``license/matlab`` ...); without a machine the log's own header gives one. ``demand`` draws the
    bandwidth of every job at random, instead of the log's. A site's folder is both a log and a
    machine; on a site no job is dropped, as the site has its own rules for which jobs may run
    where. A result folder represents the jobs as they were scheduled, cleaned, and their machine.
    ``cluster`` is a text or a machine. Input without effect is reported through ``report``.
    """
    workload, machine = _load(trace, cluster, cleaning, demand=demand, report=report)
    if cleaning.series:
        from shadowtime.trace.series import with_series

        workload = with_series(workload, cleaning.series)
    if cleaning.feedback:
        from shadowtime.workload.follows import closed_loop

        workload = closed_loop(workload)
    return workload, machine


def _load(
    trace: str, cluster: Any, cleaning: Cleaning, *, demand: str | None, report: Report
) -> tuple[Workload, Cluster]:
    """The jobs and their machine, without series."""
    draws = None
    if demand is not None:
        from shadowtime.workload.demand import Demands

        draws = Demands.parse(demand)
    folder = os.path.isdir(trace)
    if folder and cluster is None and draws is None:
        from shadowtime.result.read import is_result_folder, read_inputs

        if is_result_folder(trace):
            return read_inputs(trace)
    given = spec.parse_machine(cluster, tz=cleaning.tz) if isinstance(cluster, str) else cluster
    of_site = folder and _is_site(trace)
    if not isinstance(given, Cluster | None) or (given is None and of_site):
        if draws is not None:
            raise UsageError(
                "--demand is for machines of shared nodes, but this is a site: omit it"
            )
        return _load_site(trace, given, cleaning, report)
    machine = given
    if of_site:
        from shadowtime.trace.site_folder import jobs_file

        trace = str(jobs_file(trace))
    shared = _shared(machine)
    named = [name for name in machine.resources[1:] if name not in shared] if machine else []
    counted: dict[str, Any] = {name: True for name in ("memory", "gpus") if name in named}
    counted["others"] = [name for name in named if name not in counted]
    workload = read(trace, **cleaning.switches(), **counted)
    if machine is None:
        machine = spec.parse_cluster(None, machine=workload.machine)
    bounded = tuple(one.partition("=")[0] for one in cleaning.series)
    workload = _count_unused(workload, machine, (*shared, *bounded), report)
    fitting = fit(workload, machine, too_wide=cleaning.too_wide)
    if fitting.cleaning["too_wide_dropped"]:
        wide = _listed(too_wide_jobs(workload, machine))
        report(f"dropped, fits nowhere on the machine: {wide}")
    return fitting if draws is None else draws.draw(fitting), machine


def _is_site(folder: str) -> bool:
    from shadowtime.cluster.site_folder import is_site_folder

    return is_site_folder(folder)


def _load_site(
    trace: str, site: Site | None, cleaning: Cleaning, report: Report
) -> tuple[Workload, Cluster]:
    """A log on a site: its folder's own, or the one that --cluster names."""
    from shadowtime.trace.site_fit import fit_to_site
    from shadowtime.trace.site_folder import is_site_folder, jobs_file, read_site

    switches = cleaning.switches(site=True)
    if site is None:
        site, workload = read_site(trace, **switches)
    else:
        path = jobs_file(trace) if is_site_folder(trace) else trace
        workload = read(path, memory="memory" in site.resources, **switches)
        site, workload = fit_to_site(site, workload, release="eligible")
    for one in site.notes:
        report(one)
    if site.ignored:
        keys = ", ".join(f"{key} ({len(names)})" for key, names in sorted(site.ignored.items()))
        report(f"keys of the site that are not modelled: {keys}")
    return workload, cast("Cluster", site)  # every policy accepts a site where it accepts a cluster


def must_score_some(window: Window, workload: Workload) -> None:
    """Reject a window in which no job of the log is submitted: its table would be empty."""
    if not bool(window.mask(workload.submit).any()):
        from shadowtime.report.numbers import span

        length = span(int(workload.submit[-1] - workload.submit[0])) if len(workload) else "0 s"
        raise UsageError(
            f"no job is scored {window}: the {len(workload):,} jobs of {workload.name} are "
            f"submitted within {length}. Give a shorter --window"
        )


def _rule(text: str) -> tuple[str, str | int]:
    """``no_run=one-second`` as a switch of :func:`shadowtime.workload.clean.clean`."""
    name, equals, choice = (part.strip() for part in text.partition("="))
    name = name.replace("-", "_")
    if not equals or name not in RULE_NAMES:
        raise UsageError(f"--rule {text}: write NAME=CHOICE, where NAME is {', '.join(RULE_NAMES)}")
    if name == "procs_per_node":
        if not (choice.isascii() and choice.isdigit() and len(choice) < 10):
            raise UsageError(f"--rule {text}: procs_per_node must be a whole number from 1")
        return name, int(choice)
    return name, choice


def _shared(machine: Cluster | None) -> tuple[str, ...]:
    """What the processes of a node share, so that it is not allocated to jobs."""
    if machine is None or machine.shape != "nodes":
        return ()
    from shadowtime.cluster.contention import contention_of

    found = contention_of(machine)
    return tuple(found.capacity) if found else ()


def _count_unused(
    workload: Workload, machine: Cluster, used: tuple[str, ...], report: Report
) -> Workload:
    """Report extra columns of the log that have no effect on this machine, and count their jobs.

    ``used``: what nodes share, and what a series bounds.
    """
    counts: dict[str, int] = {}
    for name in header.extra_names(workload.header):
        values = workload.extra.get(name)
        if values is None or values.dtype.kind == "f" or name in scale.INSTANTS or name in PER_JOB:
            continue  # no amount that a machine could have: functions read it
        asking = int((values > 0).sum())
        if not asking or name in machine.resources or name in used:
            continue
        counts[f"{name}_ignored"] = asking
        cure = f"pool:{machine.procs},{name}=AMOUNT"
        if name in PER_PROCESS:
            cure = f'a machine of shape = "nodes" whose nodes state their {name}'
        report(
            f"warning: the log records how much {name} jobs need ({asking:,} do), but the machine "
            f"has none: it is not counted. Give it with --cluster, as in {cure}"
        )
    return workload.replace(cleaning={**workload.cleaning, **counts}) if counts else workload


def _listed(jobs: Workload) -> str:
    """Jobs by id with their requests."""
    listed = []
    for job, needs in zip(jobs.job_id.tolist(), jobs.demand.tolist(), strict=True):
        amounts = (f"{n} {name}" for n, name in zip(needs, jobs.resources, strict=True))
        listed.append(f"job {job} ({', '.join(amounts)})")
    more = f" and {len(listed) - LISTED} more" if len(listed) > LISTED else ""
    return ", ".join(listed[:LISTED]) + more
