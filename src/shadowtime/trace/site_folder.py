"""A folder with Slurm's output about a site: jobs, nodes, limits, outages."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shadowtime.cluster.site_folder import (
    JOBS,
    is_site_folder,
    jobs_file,
    read_site_alone,
    read_text,
)
from shadowtime.errors import InputError, UsageError
from shadowtime.slurmtext import sbatch
from shadowtime.slurmtext.sbatch import parse_line
from shadowtime.trace.formats import read_log
from shadowtime.types import AnyArray
from shadowtime.workload import Workload
from shadowtime.workload.request import Dependency, Request

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site
    from shadowtime.trace.swf import BadLines


SUBMITS = "submits.psv"

__all__ = ["JOBS", "SUBMITS", "is_site_folder", "jobs_file", "read_site", "read_site_alone"]

Release = Literal["eligible", "asked"]


def read_site(
    folder: str | os.PathLike[str],
    *,
    tz: str | None = None,
    release: Release = "eligible",
    submits: bool = True,
    unusable: Literal["keep", "drop"] = "keep",
    bad_lines: BadLines = "refuse",
    cluster: str | None = None,
    unlimited: int | None = None,
    **switches: Any,
) -> tuple[Site, Workload]:
    """The site and the jobs of a folder.

    Rules
    -----
    The files are those of FILES and JOBS, each optional but the jobs and the nodes (nodes.txt or
    slurm.conf). Times without an offset are local times of ``tz`` (left out: UTC).
    ``release``: "eligible" lets a job be considered from the moment the log says it was eligible,
    which stands for begin times, dependencies and holds; "asked" takes --begin and --dependency
    instead, where they are known. ``submits``: what submits.psv says of a job's options is used.
    Jobs cancelled while they waited stay in the log until then. Usage is that at the beginning of
    the log where pull.json tells when it was asked for (:mod:`shadowtime.trace.usage_before`).
    ``switches`` are those of :func:`shadowtime.workload.clean.clean`.
    """
    # A log that is no folder needs none of these.
    from shadowtime.trace.site_fit import fit_to_site
    from shadowtime.trace.usage_before import usage_before

    if release not in ("eligible", "asked"):
        raise UsageError(f"release must be eligible or asked, not {release!r}")
    here = Path(folder)
    site = read_site_alone(here, tz=tz, unusable=unusable)
    path = jobs_file(here)
    switches.setdefault("cancelled", "queue-until-cancel")
    workload = read_log(
        path, tz=tz, cluster=cluster, unlimited=unlimited, bad_lines=bad_lines, **switches
    )
    workload = workload.replace(name=here.resolve().name)
    known = None
    if submits and (here / SUBMITS).is_file():
        workload, known = with_submits(
            workload, read_text(here / SUBMITS), path=str(here / SUBMITS)
        )
    site, workload = fit_to_site(site, workload, release=release, known=known)
    at = pulled_at(here, "sshare.txt")
    site, note = usage_before(site, workload, at) if at is not None else (site, "")
    return (site.replace(notes=(*site.notes, note)) if note else site), workload


def pulled_at(folder: Path, file: str) -> float | None:
    """When `pull` fetched a file, in seconds since 1970; None where nothing tells it."""
    try:
        text = json.loads((folder / "pull.json").read_text())["files"][file]
        return datetime.fromisoformat(text).timestamp()
    except (OSError, ValueError, KeyError, TypeError):
        return None


def with_submits(workload: Workload, text: str, *, path: str) -> tuple[Workload, AnyArray]:
    """The workload with the options of a table ``jobid|args`` in its requests, and whose.

    The columns jobid and args must be there, in any order; a job of the log that is not in the
    table keeps what accounting says. Tasks of an array have the options of the array. The
    options are all there are: a job that names no memory asked for none.
    """
    asked = workload.requests
    known = np.zeros(len(workload), bool)
    if asked is None:
        return workload, known
    lines = text.splitlines()
    head = [name.strip().lower() for name in lines[0].split("|")] if lines else []
    if "jobid" not in head or head[-1:] != ["args"]:
        raise InputError(
            "the header must have the column jobid, and args as the last one", path=path, line=1
        )
    at = head.index("jobid")
    options_of: dict[int, str] = {}
    for number, line in enumerate(lines[1:], 2):
        fields = line.split("|", len(head) - 1)
        if len(fields) != len(head):
            raise InputError(
                f"expected {len(head)} columns, found {len(fields)}", path=path, line=number
            )
        if fields[at].strip().isdigit():  # a submission that was rejected has no id
            options_of[int(fields[at])] = fields[-1]
    distinct = dict.fromkeys(asked.distinct)
    numbers: dict[Request, int] = {one: i for i, one in enumerate(distinct)}
    index = asked.index.copy()
    columns = {name: getattr(asked, name).copy() for name in asked.COLUMNS}
    dependencies: list[Dependency] = list(asked.dependencies)
    ids = workload.extra.get("log_id", workload.job_id)
    for row in range(len(workload)):
        job = int(asked.array[row]) if asked.array[row] >= 0 else int(ids[row])
        if job not in options_of:
            continue
        options = parse_line(f"sbatch {options_of[job]}")
        request = sbatch.apply_options(options, asked[row])
        if not any(option.startswith("mem") for option in options):
            request = replace(request, memory=None, memory_per="node")
        index[row] = numbers.setdefault(request, len(numbers))
        known[row] = True
        submit = int(workload.submit[row])
        begin = sbatch.begin_of(options, submit)
        columns["begin"][row] = max(begin, columns["begin"][row])
        columns["nice"][row] = sbatch.nice_of(options)
        columns["least_time"][row] = sbatch.least_time_of(options)
        columns["requeue"][row] = int("no-requeue" not in options)
        throttle = sbatch.throttle_of(options)
        if throttle:
            columns["throttle"][row] = throttle
        dependencies += sbatch.dependencies(options, row)
    used = np.unique(index)
    order = {int(old): new for new, old in enumerate(used)}
    every = list(numbers)
    requests = replace(
        asked,
        distinct=tuple(every[int(old)] for old in used),
        index=np.array([order[int(one)] for one in index], np.int64),
        dependencies=tuple(dependencies),
        inferred={**asked.inferred, "options_from_submits": int(known.sum())},
        **columns,
    )
    return workload.replace(requests=requests), known
