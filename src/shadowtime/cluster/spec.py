"""What ``--cluster`` takes: ``pool:430``, ``pool:1024,memory=1TB``, a file or folder, ``o2k``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shadowtime.cluster.cluster import Cluster, Host
from shadowtime.cluster.examples import NAMES, example
from shadowtime.cluster.node_table import is_node_table, table_text
from shadowtime.cluster.toml import MAX_AMOUNT, MAX_PROCS, parse_cluster_toml
from shadowtime.errors import ClusterError, similar
from shadowtime.slurmtext.fields import parse_memory

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.:/-]*")
_SCONTROL = re.compile(r"\s*NodeName=\S+ .*\b(CPUTot|CPUEfctv|CPUAlloc|Arch)=")
_SLURM_CONF = re.compile(r"^[ \t]*NodeName[ \t]*=", re.IGNORECASE | re.MULTILINE)
_HELP = "write pool:430, pool:1024,memory=1TB or the name of a TOML file"


def parse_machine(
    text: str | None, *, machine: Mapping[str, int] | None = None, tz: str | None = None
) -> Cluster | Site:
    """The machine that a ``--cluster`` text names, a site where it is one.

    Rules
    -----
    A folder with nodes.txt or slurm.conf in it is a site (:mod:`shadowtime.cluster.site_folder`),
    and so is TOML with a table [site]. Slurm's description of nodes, in scontrol's output or
    slurm.conf, is one where nodes differ (amounts, features, weight) or there are several
    partitions; equal nodes stay the shape ``nodes``. The rest is as in :func:`parse_cluster`.
    """
    path = Path(text or "")
    if text and _there(path, Path.is_dir):
        from shadowtime.cluster.site_folder import read_site_alone

        return read_site_alone(path, tz=tz)
    if text and _there(path, Path.is_file):
        site = _site_in(path, _text_of(path), tz)
        if site is not None:
            return site if site.name else site.replace(name=path.stem)
    return parse_cluster(text, machine=machine)


def site_of(machine: Cluster) -> Site:
    """The same machine as a site without rules; its hosts are the nodes.

    Examples
    --------
    >>> site_of(Cluster.pool(8, memory=1024)).nodes[0].amounts
    (8, 1024)
    """
    from shadowtime.cluster.site import Node, Site

    return Site(
        nodes=tuple(Node(name=host.name, amounts=host.capacity) for host in machine.hosts),
        resources=("cpus", *machine.resources[1:]),
        name=machine.name,
        unusable=tuple(machine.options.get("unusable", ())),
    )


def parse_cluster(text: str | None, *, machine: Mapping[str, int] | None = None) -> Cluster:
    """The machine that a ``--cluster`` text names.

    Rules
    -----
    ``pool:PROCS`` and then any other resources as ``name=amount``. Memory takes K, M, G, T or P
    with or without B or iB, 1024-based; a bare number is KB. Other resources are plain counts.
    Anything else is a file: TOML (see :mod:`shadowtime.cluster.toml`), a slurm.conf, or the output
    of ``scontrol show node --oneliner``, with that of ``show partition`` below it where wanted,
    or a table of nodes (:mod:`shadowtime.cluster.node_table`).
    A machine of the package is named in one word (``o2k``), unless a file has that name.
    ``None``: a pool as large as the log's header says (``machine``: procs, else nodes).

    Examples
    --------
    >>> parse_cluster("pool:1024,memory=1TB").total
    {'procs': 1024, 'memory': 1073741824}
    >>> parse_cluster(None, machine={"procs": 338}).total
    {'procs': 338}
    >>> parse_cluster("pool")
    Traceback (most recent call last):
    ...
    shadowtime.errors.ClusterError: 'pool' does not name a machine: write pool:430, ...
    """
    if text is None:
        return _from_header(machine or {})
    kind, colon, rest = text.strip().partition(":")
    if kind == "pool" and colon:
        return _pool(rest, text)
    path = Path(text)
    if text.endswith(".toml") or (text and _there(path, Path.is_file)):
        return _from_file(path)
    if text.strip().lower() in NAMES:
        return example(text.strip().lower())
    size = rest if colon and similar(kind, ["pool"]) else text
    hint = f"did you mean pool:{size}? Else {_HELP}" if size.strip().isdigit() else _HELP
    raise ClusterError(f"{text!r} does not name a machine: {hint}")


def _from_header(machine: Mapping[str, int]) -> Cluster:
    procs = machine.get("procs") or machine.get("nodes")
    if not procs:
        raise ClusterError(
            "the log does not give the size of its machine (no MaxProcs in its header): "
            "give it with --cluster, as in --cluster pool:430"
        )
    return Cluster.pool(procs, name="from the log's header")


def _pool(rest: str, text: str) -> Cluster:
    first, *others = (part.strip() for part in rest.split(","))
    amounts = {"procs": _count(first.removeprefix("procs="), "processors", MAX_PROCS, text)}
    if amounts["procs"] < 1:
        raise ClusterError(f"{text!r}: a pool needs at least one processor")
    for part in others:
        name, equals, amount = (piece.strip() for piece in part.partition("="))
        if not equals or not _NAME.fullmatch(name):
            raise ClusterError(f"{text!r}: {part!r} is not a resource: write name=amount")
        if name in amounts:
            raise ClusterError(f"{text!r}: {name} is given twice")
        if name == "memory":
            amounts[name] = parse_memory(amount)
        else:
            amounts[name] = _count(amount, name, MAX_AMOUNT, text)
    return Cluster(resources=tuple(amounts), hosts=(Host("pool", tuple(amounts.values())),))


def _count(text: str, what: str, highest: int, whole: str) -> int:
    if not re.fullmatch(r"[0-9]{1,20}", text) or int(text) > highest:
        raise ClusterError(
            f"{whole!r}: {what} must be a whole number up to {highest}, not {text!r}; {_HELP}"
        )
    return int(text)


def _there(path: Path, kind: Callable[[Path], bool]) -> bool:
    """Is there a file or a folder of this name? What cannot be one's name is none."""
    try:
        return kind(path)
    except (OSError, ValueError):
        return False


def _text_of(path: Path) -> str:
    if is_node_table(path):
        return table_text(path)
    try:
        return path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise ClusterError(f"{path}: no such file: check the name, or {_HELP}") from None
    except (OSError, ValueError) as error:
        raise ClusterError(f"{path} cannot be read: {error}") from None


def _site_in(path: Path, text: str, tz: str | None) -> Site | None:
    """The site that a file describes; None where its machine is of an older shape."""
    from shadowtime.cluster.site_toml import is_site_toml, parse_site_toml

    if path.suffix != ".conf" and is_site_toml(text):
        return parse_site_toml(text, path=str(path))
    site = _of_slurm(path, text, tz)
    if site is None:
        return None
    kinds = {replace(node, name="") for node in site.nodes}
    return site if len(kinds) > 1 or len(site.partitions) > 1 else None


def _of_slurm(path: Path, text: str, tz: str | None = None) -> Site | None:
    """The site in scontrol's output, a slurm.conf or a table of nodes; None in other files."""
    from shadowtime.cluster.site_folder import zone_of
    from shadowtime.cluster.slurm_site import SlurmTexts, site_from_slurm

    if _SCONTROL.match(text):
        counted = "SelectTypeParameters = CR_CPU_Memory" if is_node_table(path) else ""
        texts = SlurmTexts(nodes=text, config=counted, labels={"nodes": str(path)})
    elif path.suffix == ".conf" or (path.suffix != ".toml" and _SLURM_CONF.search(text)):
        labels = {"slurm_conf": str(path)}
        texts = SlurmTexts(slurm_conf=text, include=_beside(path), labels=labels)
    else:
        return None
    return site_from_slurm(texts, zone=zone_of(tz))


def nodes_of(site: Site) -> Cluster:
    """The nodes of a site in the older shape: processors, memory, and GPUs where a node has any.

    Nodes that are down, drained or failing now are named in ``options["unusable"]``.

    Examples
    --------
    >>> from shadowtime.cluster.slurm_site import SlurmTexts, site_from_slurm
    >>> text = "NodeName=n1 CPUEfctv=62 CPUTot=64 RealMemory=1000 Gres=gpu:2 State=IDLE+DRAIN"
    >>> machine = nodes_of(site_from_slurm(SlurmTexts(nodes=text)))
    >>> machine.hosts[0], machine.options["unusable"]
    (Host(name='n1', capacity=(62, 1024000, 2)), ('n1',))
    """
    gpu = site.resources.index("gpu") if "gpu" in site.resources else None
    amounts = [
        (one.amounts[0], one.real_memory, one.amounts[gpu] if gpu else 0) for one in site.nodes
    ]
    width = 3 if any(gpus for _, _, gpus in amounts) else 2
    return Cluster(
        shape="nodes",
        resources=("procs", "memory", "gpus")[:width],
        hosts=tuple(
            Host(node.name, each[:width]) for node, each in zip(site.nodes, amounts, strict=True)
        ),
        name=site.name,
        options={"unusable": site.unusable} if site.unusable else {},
    )


def _from_file(path: Path) -> Cluster:
    text = _text_of(path)
    site = _of_slurm(path, text)
    cluster = parse_cluster_toml(text, path=str(path)) if site is None else nodes_of(site)
    return cluster if cluster.name else cluster.replace(name=path.stem)


def _beside(path: Path) -> Callable[[str], str]:
    """Included files lie beside the one that includes them, unless they say otherwise."""

    def include(name: str) -> str:
        try:
            return (path.parent / name).read_text("utf-8-sig")
        except (OSError, ValueError):
            raise ClusterError(f"{path} includes {name}, which cannot be read") from None

    return include
