"""Machines that come with the package, a TOML file each; ``--cluster`` takes their names."""

from __future__ import annotations

from shadowtime.cluster.cluster import Cluster
from shadowtime.cluster.toml import parse_cluster_toml

NAMES = ("o2k",)


def example(name: str) -> Cluster:
    """A machine by its name.

    Examples
    --------
    >>> o2k = example("o2k")
    >>> len(o2k.hosts), o2k.procs, o2k.options["dedicated"]["procs"]
    (12, 1440, 64)
    """
    from importlib.resources import files

    file = f"{name}.toml"
    return parse_cluster_toml((files(__name__) / file).read_text("utf-8"), path=file)
