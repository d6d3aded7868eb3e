"""A folder with what Slurm reports about a site, under the names of FILES."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shadowtime.cluster.node_table import is_node_table, table_text
from shadowtime.errors import ClusterError, InputError, UsageError

if TYPE_CHECKING:
    import os
    from zoneinfo import ZoneInfo

    from shadowtime.cluster.site import Site

FILES: dict[str, tuple[str, ...]] = {
    "nodes": ("nodes.txt", "nodes.csv", "nodes.parquet"),
    "partitions": ("partitions.txt", "partitions.csv", "partitions.parquet"),
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
"""The file names of each text; the first that exists is read."""
JOBS = ("jobs.psv", "jobs.psv.gz", "jobs.csv", "jobs.parquet", "jobs.swf", "jobs.swf.gz")
"""The job log; the first that is there is read."""


def is_site_folder(path: str | os.PathLike[str]) -> bool:
    """Is this a folder with the nodes of a site in it?"""
    folder = Path(path)
    try:
        return any((folder / name).is_file() for name in (*FILES["nodes"], "slurm.conf"))
    except (OSError, ValueError):
        return False


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


def read_site_alone(
    folder: str | os.PathLike[str],
    *,
    tz: str | None = None,
    unusable: Literal["keep", "drop"] = "keep",
    without: Collection[str] = (),
) -> Site:
    """The site of a folder, without its jobs; ``without`` are texts of FILES to leave out."""
    here = Path(folder)
    if not here.is_dir():
        raise ClusterError(f"{here}: no such folder: give one with nodes.txt in it")
    texts: dict[str, Any] = {}
    labels: dict[str, str] = {}
    for kind, names in FILES.items():
        path = next((here / name for name in names if (here / name).is_file()), None)
        if path is not None and kind not in without:
            texts[kind], labels[kind] = read_text(path), str(path)
    if "config" not in texts and Path(labels.get("nodes", "")).suffix in (".csv", ".parquet"):
        texts["config"] = "SelectTypeParameters = CR_CPU_Memory"
    if not texts.get("nodes") and not texts.get("slurm_conf"):
        raise ClusterError(
            f"{here}: there is neither nodes.txt nor slurm.conf in it: save the output of "
            "`scontrol show node --oneliner` as nodes.txt"
        )
    from shadowtime.cluster.slurm_site import SlurmTexts, site_from_slurm

    slurm_texts = SlurmTexts(**texts, include=_beside(here), labels=labels)
    site = site_from_slurm(slurm_texts, zone=zone_of(tz), unusable=unusable)
    return site if site.name else site.replace(name=here.name)


def read_text(path: Path) -> str:
    """A file as text; invalid bytes are marked, as a comment may contain anything."""
    if is_node_table(path):
        return table_text(path)
    try:
        return path.read_bytes().decode("utf-8-sig", "replace")
    except OSError as error:
        raise ClusterError(f"{path} cannot be read: {error.strerror}") from None


def zone_of(tz: str | None) -> ZoneInfo:
    """A time zone by its name; None is UTC."""
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(tz or "UTC")
    except (KeyError, ValueError, OSError):
        raise UsageError(f"{tz!r} is not a time zone: write it like UTC or Europe/Zurich") from None


def _beside(folder: Path) -> Callable[[str], str]:
    """Included files are in the folder, whatever path they have on the site."""

    def include(name: str) -> str:
        for path in (folder / name, folder / Path(name).name):
            if path.is_file():
                return read_text(path)
        raise ClusterError(f"{folder / 'slurm.conf'} includes {name}: put that file beside it")

    return include
