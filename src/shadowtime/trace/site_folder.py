"""A folder in which a site has put what Slurm says of it: jobs, nodes, limits, outages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shadowtime.cluster.site_folder import is_site_folder, read_site_alone, read_text
from shadowtime.errors import InputError, UsageError
from shadowtime.trace.read import read

if TYPE_CHECKING:
    import os

    from shadowtime.cluster.site import Site
    from shadowtime.trace.swf import BadLines
    from shadowtime.workload import Workload

JOBS = ("jobs.psv", "jobs.psv.gz", "jobs.csv", "jobs.parquet", "jobs.swf", "jobs.swf.gz")
"""The job log; the first that is there is read."""
SUBMITS = "submits.psv"

__all__ = ["JOBS", "SUBMITS", "is_site_folder", "jobs_file", "read_site", "read_site_alone"]

Release = Literal["eligible", "asked"]


def jobs_file(folder: str | os.PathLike[str]) -> Path:
    """The job log of a folder."""
    here = Path(folder)
    path = next((here / name for name in JOBS if (here / name).is_file()), None)
    if path is None:
        raise InputError(
            "there is no job log in the folder",
            path=str(here),
            hint="Save the output of `shadowtime trace sacct --print-command` as jobs.psv.",
        )
    return path


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
    Jobs cancelled while they waited stay in the log until then. ``switches`` are those of
    :func:`shadowtime.workload.clean.clean`.
    """
    from shadowtime.trace.site_fit import fit_to_site  # a log that is no folder needs neither
    from shadowtime.trace.submits import with_submits

    if release not in ("eligible", "asked"):
        raise UsageError(f"release must be eligible or asked, not {release!r}")
    here = Path(folder)
    site = read_site_alone(here, tz=tz, unusable=unusable)
    path = jobs_file(here)
    switches.setdefault("cancelled", "queue-until-cancel")
    workload = read(
        path, tz=tz, cluster=cluster, unlimited=unlimited, bad_lines=bad_lines, **switches
    )
    workload = workload.replace(name=here.resolve().name)
    told = None
    if submits and (here / SUBMITS).is_file():
        workload, told = with_submits(workload, read_text(here / SUBMITS), path=str(here / SUBMITS))
    return fit_to_site(site, workload, release=release, told=told)
