"""Is a site's folder complete, and what should one know before simulating it?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shadowtime.cluster import limits, site_folder, site_summary
from shadowtime.cluster.amounts import amounts_taken, kind_of
from shadowtime.cluster.shape import Shape, Shapes, in_a_row, left_out
from shadowtime.cluster.site import FOREVER, Partition, Site
from shadowtime.engine.site.tables import fits_empty, most_held
from shadowtime.errors import InputError, ShadowtimeError
from shadowtime.slurmtext.hostlist import compress
from shadowtime.study.site.coverage import coverage
from shadowtime.trace.quality import flurries, remarks
from shadowtime.trace.site_commands import DAYS, day_command, days_between, site_commands
from shadowtime.trace.site_folder import JOBS, read_site
from shadowtime.types import AnyArray
from shadowtime.workload import Workload
from shadowtime.workload.request import Request

FINE, GAPS, UNUSABLE = "fine", "gaps", "unusable"
EXIT = {FINE: 0, GAPS: 1, UNUSABLE: 2}
"""The exit code of each verdict."""


def examine(folder: Path, *, today: date, **reading: Any) -> dict[str, Any]:
    """Everything the doctor reports about a folder, for people and for JSON.

    Rules
    -----
    ``unusable``: it cannot be read, or no job of it can run. ``gaps``: a file or a day is missing,
    some jobs cannot be expressed, or something in the site's files is not modelled. Repairs by
    cleaning rules, flurries and changes of the machine are reported, not gaps. ``reading`` are
    the options of :func:`shadowtime.trace.site_folder.read_site`.
    """
    found: dict[str, Any] = {"folder": str(folder), "verdict": UNUSABLE, "problem": ""}
    if not folder.is_dir():
        return {**found, "problem": f"{folder} is no folder", "missing": []}
    found["missing"] = list(_missing(folder, today))
    try:
        site, workload = read_site(folder, **reading)
        beyond = unexpressed(site, workload)
    except ShadowtimeError as error:
        return {**found, "problem": str(error)}
    lost = len({job for one in beyond if not one.runs for job in one.jobs})
    if "multifactor" not in site.setting("PriorityType", "multifactor"):  # usage has no effect
        found["missing"] = [one for one in found["missing"] if one["file"] != "sshare.txt"]
    found["missing"] += _missing_configuration(folder, site)
    found |= {
        "counts": _counts(site, workload),
        "nodes": site_summary.summarise(site)["nodes"],
        "from": _stamp(workload, 0),
        "to": _stamp(workload, int(workload.submit.max(initial=0))),
        "repaired": {rule: count for rule, count in workload.cleaning.items() if count},
        "inferred": dict(workload.requests.inferred) if workload.requests is not None else {},
        "flurries": _flurries(workload),
        "machine_changes": _changes(site, workload),
        "not_expressed": [
            {
                "reason": one.reason,
                "runs": one.runs,
                "jobs": len(one.jobs),
                "core_share": core_share(workload, one.jobs),
                "ids": list(one.jobs),
            }
            for one in beyond
        ],
        "not_modelled": [one.as_dict() for one in coverage(workload, site).found],
        "notes": [*site.notes, *_submissions_note(folder)],
        "remarks": [
            {"check": one.check, "text": one.text}
            for one in remarks(_ran(workload), cluster=site.as_nodes())
        ],
    }
    if lost == len(workload):
        found["problem"] = "no job of the log can run on the site that the folder describes"
    elif found["missing"] or beyond or found["not_modelled"]:
        found["verdict"] = GAPS
    else:
        found["verdict"] = FINE
    return found


def core_share(workload: Workload, jobs: Sequence[int]) -> float:
    """The share of the core-hours of all jobs."""
    work = (workload.effective_run * workload.procs).astype(float)
    return float(work[np.isin(workload.job_id, jobs)].sum() / max(work.sum(), 1.0))


def _ran(workload: Workload) -> Workload:
    """Without the jobs that were cancelled while they waited."""
    asked = workload.requests
    return workload if asked is None else workload.take(asked.cancel_at < 0)


def _counts(site: Site, workload: Workload) -> dict[str, int]:
    def different(column: Any) -> int:
        return len({one for one in column.tolist() if one >= 0})

    return {
        "jobs": len(workload),
        "users": different(workload.user),
        "accounts": different(workload.group),
        "partitions": len(site.partitions),
        "qos": len(site.qos),
        "nodes": len(site.nodes),
        "cpus": site.procs,
    }


def _missing(folder: Path, today: date) -> Iterator[dict[str, str]]:
    """Missing files, with what is lost and the command that creates them."""
    days = sorted(path.stem for path in (folder / DAYS).glob("*.psv"))
    since = date.fromisoformat(days[0]) if days and _is_day(days[0]) else today
    alone = (folder / "slurm.conf").is_file()
    others = {names[0]: names[1:] for names in site_folder.FILES.values()}
    for command in site_commands(since):
        names = (command.file, *others.get(command.file, ()))
        in_conf = alone and command.file in ("nodes.txt", "partitions.txt", "config.txt")
        if (
            not command.optional
            and not in_conf
            and not any((folder / name).is_file() for name in names)
        ):
            yield {"file": command.file, "what": command.what, "command": command.line}
    if not any((folder / name).is_file() for name in JOBS):
        yield {
            "file": "jobs.psv",
            "what": "the jobs",
            "command": f"shadowtime pull slurm --since DAY -o {folder}",
        }
    elif len(days) > 1 and all(map(_is_day, days)):
        for day in days_between(since, date.fromisoformat(days[-1])):
            if day.isoformat() not in days:
                command = day_command(day, today=today)
                yield {"file": command.file, "what": "a day's jobs", "command": command.line}


def _is_day(text: str) -> bool:
    return re.fullmatch(r"[0-9]{4}-[01][0-9]-[0-3][0-9]", text) is not None


def _missing_configuration(folder: Path, site: Site) -> list[dict[str, str]]:
    """Files of Slurm that no command prints, if the site's configuration refers to them."""
    found = []
    if "tree" in site.setting("TopologyPlugin") and not site.switches:
        found.append(("topology.conf", "the switches: nodes are chosen as if there were none"))
    return [
        {"file": name, "what": what, "command": f"cp /etc/slurm/{name} {folder}"}
        for name, what in found
    ]


def _flurries(workload: Workload) -> list[dict[str, Any]]:
    names = workload.names.get("user", ())
    return [
        {
            "user": names[one.user] if 0 <= one.user < len(names) else str(one.user),
            "jobs": one.jobs,
            "jobs_share": one.jobs_share,
            "from": _stamp(workload, one.since),
            "to": _stamp(workload, one.until),
            "first_id": one.first_id,
            "last_id": one.last_id,
        }
        for one in flurries(workload)
    ]


def _changes(site: Site, workload: Workload) -> list[dict[str, Any]]:
    """Outages, drains and reservations during the log, those of many nodes at once together."""
    first = workload.epoch or 0
    last = first + int((workload.submit + workload.run).max(initial=0))
    same: dict[tuple[int, int, str, str], list[str]] = {}
    for one in site.outages:
        kind = "drain" if one.drain else "down"
        same.setdefault((one.begin, one.end, kind, one.reason), []).append(one.node)
    for named in site.reservations:
        key = (named.begin, named.end, "reservation", named.name)
        same.setdefault(key, []).extend(named.nodes)
    return [
        {
            "nodes": compress(nodes),
            "count": len(nodes),
            "from": _when(begin),
            "to": None if end >= FOREVER else _when(end),
            "kind": kind,
            "reason": reason,
        }
        for (begin, end, kind, reason), nodes in sorted(same.items())
        if begin <= last and end >= first
    ]


def _submissions_note(folder: Path) -> list[str]:
    """What is not known of requests where sacct does not show the submissions."""
    path = folder / "jobs.psv"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", errors="replace") as file:
        head = file.readline().lower()
    if "submitline" in head or "jobid" not in head:
        return []
    return [
        "jobs.psv has no column SubmitLine (Slurm 21.08 and later): whole nodes, memory and GPUs "
        "are inferred from what was allocated; ranges of nodes, nodes that were named or excluded, "
        "nice values, throttles of arrays and GPUs that accounting does not track are unknown, so "
        "that simulated waits may be far off"
    ]


def _stamp(workload: Workload, seconds: int) -> str | None:
    return None if workload.epoch is None else _when(workload.epoch + seconds)


def _when(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, kw_only=True)
class Unexpressed:
    """Jobs with one reason; ``runs`` if they run anyway, without what they requested."""

    reason: str
    runs: bool
    jobs: tuple[int, ...]


def unexpressed(site: Site, workload: Workload) -> list[Unexpressed]:
    """Jobs that cannot run on the site, or not as requested, the largest group first.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> from shadowtime.workload import Workload
    >>> from shadowtime.workload.request import Request, Requests
    >>> site = Site(nodes=(Node(name="n1", amounts=(4,)),))
    >>> asked = Requests.of_jobs([Request(tasks=1), Request(tasks=9)])
    >>> w = Workload.build(submit=[0, 1], run=[5, 5], procs=[1, 9], requests=asked)
    >>> [(one.reason, one.jobs) for one in unexpressed(site, w)]
    [('asks for more than the nodes of its partition have together', (2,))]
    """
    requests = workload.requests
    if requests is None:
        return []
    made = Shapes(site)
    amounts = np.array([node.amounts for node in site.nodes], np.int64)
    names = workload.names.get("user", ())
    groups: dict[tuple[str, bool], list[int]] = {}
    # Jobs that say the same are asked about once, and candidates sought once for each request.
    columns = np.stack([requests.index, workload.user, workload.request])
    order = np.lexsort(columns[::-1])
    differs = (columns[:, order[1:]] != columns[:, order[:-1]]).any(axis=0)
    ends = [*np.flatnonzero(differs) + 1, len(order)] if len(order) else []
    first, before, places = 0, -1, _Places("", False, ())
    for end in ends:
        number, who, seconds = columns[:, order[first]].tolist()
        if number != before:
            places, before = _places(made, amounts, requests.distinct[number]), number
        user = names[who] if 0 <= who < len(names) else str(who)
        why = _why(site, places, requests.distinct[number], max(seconds, 1), user)
        if why[0]:
            groups.setdefault(why, []).extend(order[first:end].tolist())
        first = end
    found = [
        Unexpressed(reason=reason, runs=runs, jobs=tuple(workload.job_id[np.sort(rows)].tolist()))
        for (reason, runs), rows in groups.items()
    ]
    return sorted(found, key=lambda one: (-len(one.jobs), one.reason))


class _Places(NamedTuple):
    """Where a request may run: a reason why nowhere, or a shape for each of its partitions."""

    reason: str
    runs: bool
    each: tuple[tuple[Partition, Shape | None, bool], ...]
    """With whether the shape fits on the empty nodes."""


def _places(made: Shapes, amounts: AnyArray, request: Request) -> _Places:
    """Whatever does not depend on the user and the time limit."""
    site = made.site
    chosen = made.chosen(request)

    def never(reason: str) -> _Places:
        return _Places(reason, False, ())

    if not chosen:
        return never(
            f"names partition {','.join(request.partitions)}, which the site does not have"
        )
    if request.reservation and request.reservation not in made.reservation:
        return never(f"runs in reservation {request.reservation}, which is not in the folder")
    for gres in request.gres:
        if gres.name not in made.resource:
            return never(f"asks for {gres.name}, which no node has")
    if any(name not in made.index for name in request.wanted):
        return never("asks for nodes that the site does not have")
    for name, _ in amounts_taken(request.amounts, site.amounts):
        if name not in site.amounts:
            return never(f"asks for {kind_of(name).title(name)}, which the site does not have")
    if not any(one.up for one in chosen):
        return never(f"names partition {chosen[0].name}, which is down")
    each = []
    for partition in chosen:
        try:
            shapes = made.all_of(request, partition)
        except InputError:
            return never("has a feature expression that cannot be read")
        fitting = next((one for one in shapes if one.nodes and _fits(amounts, one)), None)
        shape = fitting or (shapes[0] if shapes else None)
        each.append((partition, shape, fitting is not None))
    return _Places("", True, tuple(each))


def _why(
    site: Site, places: _Places, request: Request, seconds: int, user: str
) -> tuple[str, bool]:
    """Why a job cannot run, or what it runs without; empty if nothing is wrong."""
    reason = places.reason
    for partition, shape, fits in places.each:
        if shape is None:
            reason = "asks for a number of nodes or GPUs that its partition's bounds rule out"
        elif not shape.nodes:
            reason = "asks for features or nodes that its partition does not have"
        elif not fits:
            reason = "asks for more than the nodes of its partition have together"
        elif partition.max_time is not None and seconds > partition.max_time:
            reason = "has a time limit beyond that of its partition"
        elif not limits.job_allowed(site, request, partition, shape, seconds, user):
            reason = "exceeds a limit of its QOS, account or reservation"
        else:
            return _runs_without(request), True
    return reason, False


def _runs_without(request: Request) -> str:
    if request.contiguous and not in_a_row(request):
        return "asks for contiguous nodes beside nodes it names: that is left out"
    if left_out(request):
        return "asks for a number of nodes with a feature in a way that is not modelled: left out"
    return ""


def _fits(amounts: AnyArray, shape: Shape) -> bool:
    """Does the shape fit on the empty nodes, which have these amounts?"""
    return fits_empty(shape, most_held(shape, amounts[list(shape.nodes)]))
