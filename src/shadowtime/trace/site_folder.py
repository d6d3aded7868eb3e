"""A folder in which a site has put what Slurm says of it: jobs, nodes, limits, outages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from zoneinfo import ZoneInfo

from shadowtime.cluster.slurm_site import SlurmTexts, site_from_slurm
from shadowtime.errors import ClusterError, InputError, UsageError
from shadowtime.trace._bytes import load
from shadowtime.trace.read import read
from shadowtime.trace.site_fit import fit_to_site
from shadowtime.trace.submits import with_submits

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from shadowtime.cluster.site import Site
    from shadowtime.trace.swf import BadLines
    from shadowtime.workload import Workload

FILES: dict[str, tuple[str, ...]] = {
    "nodes": ("nodes.txt",),
    "partitions": ("partitions.txt",),
    "config": ("config.txt",),
    "reservations": ("reservations.txt",),
    "slurm_conf": ("slurm.conf",),
    "gres_conf": ("gres.conf",),
    "topology_conf": ("topology.conf",),
    "qos": ("qos.txt",),
    "associations": ("associations.txt",),
    "events": ("events_sacctmgr.txt",),
    "past_reservations": ("sacct_resv.txt",),
    "shares": ("sshare.txt", "sshare_samples.psv"),
}
"""What each text is called; the first that is there is read."""

JOBS = ("jobs.psv", "jobs.psv.gz", "jobs.csv", "jobs.parquet", "jobs.swf", "jobs.swf.gz")
SUBMITS = "submits.psv"

Release = Literal["eligible", "asked"]


def is_site_folder(path: str | os.PathLike[str]) -> bool:
    """Is this a folder with the nodes of a site in it?"""
    folder = Path(path)
    try:
        return any((folder / name).is_file() for name in ("nodes.txt", "slurm.conf"))
    except (OSError, ValueError):
        return False


def read_site_alone(
    folder: str | os.PathLike[str],
    *,
    tz: str | None = None,
    unusable: Literal["keep", "drop"] = "keep",
) -> Site:
    """The site of a folder, without its jobs."""
    here = Path(folder)
    if not here.is_dir():
        raise ClusterError(f"{here}: no such folder: give one with nodes.txt in it")
    texts: dict[str, Any] = {}
    labels: dict[str, str] = {}
    for kind, names in FILES.items():
        path = next((here / name for name in names if (here / name).is_file()), None)
        if path is not None:
            texts[kind], labels[kind] = _text(path), str(path)
    if not texts.get("nodes") and not texts.get("slurm_conf"):
        raise ClusterError(
            f"{here}: there is neither nodes.txt nor slurm.conf in it: save the output of "
            "`scontrol show node --oneliner` as nodes.txt"
        )
    said = SlurmTexts(**texts, include=_beside(here), labels=labels)
    site = site_from_slurm(said, zone=_zone(tz), unusable=unusable)
    return site if site.name else site.replace(name=here.name)


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
    if release not in ("eligible", "asked"):
        raise UsageError(f"release must be eligible or asked, not {release!r}")
    here = Path(folder)
    site = read_site_alone(here, tz=tz, unusable=unusable)
    path = next((here / name for name in JOBS if (here / name).is_file()), None)
    if path is None:
        raise InputError(
            "there is no job log in the folder",
            path=str(here),
            hint="Save the output of `shadowtime trace sacct --print-command` as jobs.psv.",
        )
    switches.setdefault("cancelled", "queue-until-cancel")
    workload = read(
        path, tz=tz, cluster=cluster, unlimited=unlimited, bad_lines=bad_lines, **switches
    )
    workload = workload.replace(name=here.resolve().name)
    told = None
    if submits and (here / SUBMITS).is_file():
        workload, told = with_submits(workload, _text(here / SUBMITS), path=str(here / SUBMITS))
    return fit_to_site(site, workload, release=release, told=told)


def _text(path: Path) -> str:
    return load(path).decode("utf-8-sig", "replace")


def _zone(tz: str | None) -> ZoneInfo:
    try:
        return ZoneInfo(tz or "UTC")
    except (KeyError, ValueError, OSError):
        raise UsageError(f"{tz!r} is not a time zone: write it like UTC or Europe/Zurich") from None


def _beside(folder: Path) -> Callable[[str], str]:
    """Included files lie in the folder, whatever path they have on the site."""

    def include(name: str) -> str:
        for path in (folder / name, folder / Path(name).name):
            if path.is_file():
                return _text(path)
        raise ClusterError(f"{folder / 'slurm.conf'} includes {name}: put that file beside it")

    return include
