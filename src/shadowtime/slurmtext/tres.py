"""GRES, TRES and licences as Slurm writes them: requests, amounts of nodes, gres.conf."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from shadowtime.errors import ClusterError
from shadowtime.slurmtext.conf import conf_lines
from shadowtime.slurmtext.fields import parse_memory
from shadowtime.slurmtext.hostlist import expand, numbers

LICENCE_PREFIX = "license/"
"""Of licences among TRES."""
_COUNT = re.compile(r"(\d{1,15})([KMGT]?)", re.IGNORECASE)
_POWER = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SOCKETS = re.compile(r"\(S:([0-9,-]+)\)")
_COUNTED = re.compile(r"\(CNT:(\d{1,15})\)")
_NOTE = re.compile(r"\([^()]*\)")
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_NO_GRES = {"n", "none", "n/a", "cpu", "mem"}
"""Since 24.11 squeue prints what a task needs of cpus among its GRES: ``cpu=3,gres/gpu=1``."""


class GresEntry(NamedTuple):
    """One entry of a list of GRES; ``kind`` is its type, empty without."""

    name: str
    kind: str
    amount: int

    @property
    def written(self) -> str:
        """Its name with its type."""
        return f"{self.name}:{self.kind}" if self.kind else self.name


@lru_cache(maxsize=1 << 12)
def gres_entries(text: str) -> tuple[GresEntry, ...]:
    """The entries of a list as nodes, requests and held resources have it.

    An entry without a count is one: ``sbatch --gres=gpu`` makes squeue print ``gres:gpu``. The word
    before an entry is ``gres:`` up to 23.02 and ``gres/`` later. Indices and sockets in brackets
    are passed over, and so are entries that are not used up (``no_consume``).

    Examples
    --------
    >>> [one.written for one in gres_entries("gres:gpu:a100:2,gres/shard=4,membw(CNT:33000)")]
    ['gpu:a100', 'shard', 'membw']
    >>> gres_entries("gres:gpu")
    (GresEntry(name='gpu', kind='', amount=1),)
    """
    found = []
    plain = _NOTE.sub("", _COUNTED.sub(r":\1", text)).replace("=", ":")
    for part in plain.split(","):
        bare = part.strip().removeprefix("gres:").removeprefix("gres/")
        words = [word.strip() for word in bare.split(":") if word.strip()]
        if not words or "no_consume" in words or not _NAME.fullmatch(words[0]):
            continue
        if words[0].lower() in _NO_GRES:
            continue
        number = _COUNT.fullmatch(words[-1]) if len(words) > 1 else None
        count = int(number[1]) * 1024 ** _POWER[number[2].lower()] if number else 1
        kind = words[1:-1] if number else words[1:]
        if number and kind and _COUNT.fullmatch(kind[-1]):  # gpu:2(CNT:2) names the count twice
            kind = kind[:-1]
        found.append(GresEntry(words[0], kind[0] if kind else "", count))
    return tuple(found)


def parse_gres(text: str) -> dict[str, int]:
    """Amounts by name; a typed GRES counts under its own name and into its family.

    Examples
    --------
    >>> parse_gres("gpu:a100:4(S:0-1),gpu:2,bw:2K")
    {'gpu': 6, 'gpu:a100': 4, 'bw': 2048}
    >>> parse_gres("(null)"), parse_gres("gpu")
    ({}, {'gpu': 1})
    """
    found: dict[str, int] = {}
    for one in gres_entries(text):
        for name in dict.fromkeys((one.name, one.written)):
            found[name] = found.get(name, 0) + one.amount
    return found


def asked_gres(text: str) -> dict[str, int]:
    """What a job requests, under the names it uses: a type counts once.

    Examples
    --------
    >>> asked_gres("gres:gpu:a100:2,gres:membw:3K"), asked_gres("N/A")
    ({'gpu:a100': 2, 'membw': 3072}, {})
    """
    found: dict[str, int] = {}
    for one in gres_entries(text):
        found[one.written] = found.get(one.written, 0) + one.amount
    return found


@lru_cache(maxsize=1 << 14)
def parse_tres(text: str) -> Mapping[str, int]:
    """``billing=2,cpu=1,gres/gpu:a100=4,mem=5G,node=1`` as numbers; ``mem`` in KB.

    Examples
    --------
    >>> dict(parse_tres("cpu=4,mem=5G,gres/gpu=2"))
    {'cpu': 4, 'mem': 5242880, 'gres/gpu': 2}
    """
    amounts: dict[str, int] = {}
    for part in text.strip().split(","):
        if not part.strip():
            continue
        name, equals, amount = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise ValueError(f"{text[:60]!r} is not a TRES list like cpu=4,mem=5G")
        if name == "mem":
            try:
                amounts[name] = parse_memory(amount, bare="M")
            except ClusterError:
                raise ValueError(f"mem={amount[:40]} is not a memory size like mem=5G") from None
        elif re.fullmatch(r"[0-9]{1,15}", amount):  # others may hold anything; unused then
            amounts[name] = int(amount)
    return amounts


def resource_of(tres: str) -> str:
    """A TRES by the name it has in a site: cpu, mem and node in full, GRES without ``gres/``.

    Examples
    --------
    >>> [resource_of(name) for name in ("cpu", "mem", "node", "gres/gpu:a100", "license/matlab")]
    ['cpus', 'memory', 'nodes', 'gpu:a100', 'license/matlab']
    """
    low = tres.strip().lower()
    short = {"cpu": "cpus", "mem": "memory", "node": "nodes"}
    return short.get(low) or (tres.strip()[5:] if low.startswith("gres/") else low)


def tres_amounts(text: str) -> dict[str, int]:
    """A TRES list by the site's names; memory in KB.

    Examples
    --------
    >>> tres_amounts("cpu=64,mem=1G,gres/gpu=2")
    {'cpus': 64, 'memory': 1048576, 'gpu': 2}
    """
    return {resource_of(name): amount for name, amount in parse_tres(text).items()}


def gpus_of(tres: Mapping[str, int]) -> int:
    """GPUs of a TRES list: typed and untyped entries name the same ones.

    Examples
    --------
    >>> gpus_of({"gres/gpu": 4, "gres/gpu:a100": 4}), gpus_of({"gres/gpu:a": 1, "gres/gpu:b": 2})
    (4, 3)
    """
    if "gres/gpu" in tres:
        return tres["gres/gpu"]
    return sum(amount for name, amount in tres.items() if name.startswith("gres/gpu:"))


def parse_licences(text: str) -> dict[str, int]:
    """``matlab:10,abaqus@server:5,one`` as numbers, by the names that TRES have.

    Examples
    --------
    >>> parse_licences("matlab:10,one")
    {'license/matlab': 10, 'license/one': 1}
    """
    found: dict[str, int] = {}
    for part in re.split("[,;]", text):
        name, _, count = part.strip().partition(":")
        if name.lower() in ("", "(null)", "n/a"):
            continue
        if count and not re.fullmatch(r"[0-9]{1,9}", count):
            raise ClusterError(f"Licenses: {part.strip()!r} is not a licence like matlab:10")
        key = LICENCE_PREFIX + name
        found[key] = found.get(key, 0) + int(count or 1)
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
        among = [n for n in numbers(bound[1]) if n < sockets] if bound else []
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
            first = min(numbers(cores))
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
