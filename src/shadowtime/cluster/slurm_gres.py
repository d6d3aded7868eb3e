"""GRES as Slurm writes them: ``gpu:a100:4(S:0-1),gpu:2,shard:8`` and the lines of gres.conf."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shadowtime.cluster.hostlist import expand
from shadowtime.cluster.slurm_conf import conf_lines
from shadowtime.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Mapping

_COUNT = re.compile(r"(\d{1,15})([KMGT]?)", re.IGNORECASE)
_POWER = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SOCKETS = re.compile(r"\(S:([0-9,-]+)\)")


def parse_gres(text: str) -> dict[str, int]:
    """Amounts by name; a typed GRES counts under its own name and into its family.

    ``no_consume`` entries are nothing that jobs use up, so they are left out.

    Examples
    --------
    >>> parse_gres("gpu:a100:4(S:0-1),gpu:2,bw:2K")
    {'gpu': 6, 'gpu:a100': 4, 'bw': 2048}
    >>> parse_gres("(null)"), parse_gres("gpu")
    ({}, {'gpu': 1})
    """
    found: dict[str, int] = {}
    for part in re.sub(r"\([^)]*\)", "", text).split(","):
        words = [word.strip() for word in part.split(":") if word.strip()]
        if not words or "no_consume" in words:
            continue
        number = _COUNT.fullmatch(words[-1]) if len(words) > 1 else None
        count = int(number[1]) * 1024 ** _POWER[number[2].lower()] if number else 1
        kind = words[1:-1] if number else words[1:]
        found[words[0]] = found.get(words[0], 0) + count
        if kind:
            typed = f"{words[0]}:{kind[0]}"
            found[typed] = found.get(typed, 0) + count
    return found


def gpus_by_socket(text: str, sockets: int) -> tuple[int, ...]:
    """GPUs per socket of a node's Gres, where it names the sockets that they are bound to.

    Several sockets share theirs evenly; a number that does not divide leaves them unbound.

    Examples
    --------
    >>> [gpus_by_socket(gres, 2) for gres in ("gpu:4(S:0-1)", "gpu:4", "gpu:2(S:1)")]
    [(2, 2), (), (0, 2)]
    """
    if sockets < 2:
        return ()
    near = [0] * sockets
    for part in re.findall(r"[^,(]+(?:\([^)]*\))?", text):
        bound = _SOCKETS.search(part)
        count = parse_gres(part).get("gpu", 0)
        if not count:
            continue
        among = [n for n in _numbers(bound[1]) if n < sockets] if bound else []
        if not among or count % len(among):
            return ()
        for socket in among:
            near[socket] += count // len(among)
    return tuple(near) if any(near) else ()


def gres_conf_near(
    text: str, cores_per_socket: Mapping[str, tuple[int, int]], *, path: str = "gres.conf"
) -> dict[str, tuple[int, ...]]:
    """GPUs per socket of each node whose gres.conf lines give Cores.

    ``cores_per_socket`` has (sockets, cores per socket) by node. A line is counted at the
    socket of its first core; lines without NodeName hold for all nodes.

    Examples
    --------
    >>> gres_conf_near("NodeName=n1 Name=gpu File=/dev/nvidia[0-1] Cores=8-15", {"n1": (2, 8)})
    {'n1': (0, 2)}
    """
    near: dict[str, list[int]] = {}
    for where, pairs in conf_lines(text, path=path):
        cores = pairs.get("cores") or pairs.get("cpus")
        if pairs.get("name", "").lower() != "gpu" or not cores:
            continue
        count = _devices(pairs, where)
        try:
            hosts = expand(pairs["nodename"]) if "nodename" in pairs else list(cores_per_socket)
            first = min(_numbers(cores))
        except (ClusterError, ValueError) as error:
            raise ClusterError(f"{where}: {error}") from None
        for host in hosts:
            sockets, each = cores_per_socket.get(host, (0, 0))
            if sockets > 1 and each and first // each < sockets:
                near.setdefault(host, [0] * sockets)[first // each] += count
    return {host: tuple(counts) for host, counts in near.items()}


def _devices(pairs: Mapping[str, str], where: str) -> int:
    number = _COUNT.fullmatch(pairs.get("count", ""))
    if number:
        return int(number[1])
    try:
        return max(1, len(expand(pairs.get("file", ""))))
    except ClusterError as error:
        raise ClusterError(f"{where}: {error}") from None


def _numbers(text: str) -> list[int]:
    """The numbers of ``0-3,8``."""
    return [int(word) for word in expand(f"[{text}]")]
