"""Requests that sbatch would refuse, or that no node could ever start: one sentence says why."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from shadowtime.cluster.amounts import amounts_taken
from shadowtime.cluster.features import choices
from shadowtime.cluster.limits import bounded_shape, job_allowed, lifted
from shadowtime.cluster.shape import Shape, Shapes
from shadowtime.cluster.site import Partition, Site
from shadowtime.engine.site.tables import fits_empty, most_held
from shadowtime.errors import ShadowtimeError, UsageError
from shadowtime.eta.present import LONGEST, Waiting
from shadowtime.slurmtext.fields import parse_memory
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.job_id import parse_array
from shadowtime.slurmtext.sbatch import not_modelled, parse_words
from shadowtime.slurmtext.times import parse_begin, parse_limit
from shadowtime.slurmtext.tres import parse_licences
from shadowtime.workload.request import Request

ACCOUNTED = frozenset({"associations", "limits", "qos", "safe", "wckeys"})
"""With any of these in AccountingStorageEnforce a job needs an account that Slurm knows."""
UNKNOWN_START = {
    "hold": "a held job starts when it is released",
    "dependency": "when other jobs end is not known before they start",
}
"""Options with which a start is not a matter of the nodes."""


def options_of(text: str) -> Mapping[str, str]:
    """The options of a request by their long names; UsageError for what sbatch would not take.

    Examples
    --------
    >>> options_of("-N4 -t 10")
    {'nodes': '4', 'time': '10'}
    >>> options_of("-N 4 --tme=10")
    Traceback (most recent call last):
    ...
    shadowtime.errors.UsageError: --request: --tme is not an option that estimates follow: ...
    """
    try:
        words = shlex.split(text)
    except ValueError:
        raise _refused(f"{text!r} has a quote that does not end: close it") from None
    given, rest = parse_words(words)
    if rest:
        raise _refused(f"{rest[0]!r} is no option: write options alone, as in '-N 4 -t 1:00:00'")
    for name in not_modelled(given):
        raise _refused(
            f"--{name} is not an option that estimates follow: correct it or leave it out"
        )
    for name, why in UNKNOWN_START.items():
        if name in given:
            raise _refused(f"{why}: leave --{name} out")
    for name, (reads, like) in _VALUES.items():
        if name in given and not _readable(reads, given[name]):
            raise _refused(f"{given[name]!r} is no value of --{name}: write it like {like}")
    return given


def refuse(job: Waiting, site: Site) -> None:
    """UsageError if none of the job's partitions would ever start it.

    Rules
    -----
    Nodes out of service are not counted: a job that waits for their repair has no start that could
    be estimated. Of several partitions or reservations one suffices, and the first says why not.
    """
    for why in _unknown(job, site):
        raise _refused(why)
    made = Shapes(site)
    whys = [
        next(_obstacles(way, site, made, lifted(site, way.request.qos, one)), "")
        for way in by_reservation(job)
        for one in made.chosen(way.request)
    ]
    if whys and all(whys):
        raise _refused(whys[0])


def by_reservation(job: Waiting) -> list[Waiting]:
    """The job with each of the reservations that it names, ``--reservation=a,b``: one suffices."""
    named = [one for one in job.request.reservation.split(",") if one]
    return [
        replace(job, request=replace(job.request, reservation=one)) for one in dict.fromkeys(named)
    ] or [job]


def _unknown(job: Waiting, site: Site) -> Iterator[str]:
    """What the request names and the site does not have."""
    request, nodes = job.request, [one.name for one in site.nodes]
    known: dict[str, tuple[tuple[str, ...], list[str]]] = {
        "reservation": (
            tuple(one.request.reservation for one in by_reservation(job)),
            [one.name for one in site.reservations],
        ),
        "node in service called": (request.wanted, nodes),
        "node called": (request.excluded, [*nodes, *site.unusable]),
        "licence": (tuple(name for name, _ in request.amounts), list(site.amounts)),
    }
    if site.qos:
        known["QOS"] = ((request.qos,), [one.name for one in site.qos])
    if site.associations and ACCOUNTED & site.enforce:
        known["account"] = ((request.account,), [one.account for one in site.associations])
    for kind, (names, there) in known.items():
        for name in names:
            if name and name not in there:
                yield f"there is no {kind} {name.removeprefix('license/')}: {_choose(there)}"
    for name, count in amounts_taken(request.amounts, site.amounts):
        if count > site.amounts.get(name, 0):
            word = name.removeprefix("license/")
            yield f"-L {word}:{count}: the site has {site.amounts.get(name, 0)} of {word}"
    if request.account and "account" in known:
        own = {one.account for one in site.associations if one.user == job.user}
        if own and request.account not in own:
            yield f"{job.user} is not in the account {request.account}: {_choose(own)}"
    if "qos" in site.enforce:
        mine = [one.allowed_qos for one in site.associations if one.user == job.user
                and one.account == request.account]  # fmt: skip
        allowed = {name for names in mine for name in names}
        if request.qos and allowed and request.qos not in allowed:
            yield f"{job.user} may not use the QOS {request.qos}: {_choose(allowed)}"
    for gres in request.gres:
        if {gres.name, gres.name.partition(":")[0]} - set(site.resources):
            there = [one for one in site.resources if one not in ("cpus", "memory")]
            yield f"no node has the generic resource {gres.name}: {_choose(there)}"


def _obstacles(job: Waiting, site: Site, made: Shapes, place: Partition) -> Iterator[str]:
    """Why a partition would never start the job, the plainest reason first."""
    request, here = job.request, f"partition {place.name}" if place.name else "the site"
    if not place.up:
        yield f"{here} takes no jobs now: name another with -p"
    if place.max_time is not None and job.limit > place.max_time:
        yield f"-t {as_limit(job.limit)}: {here} permits {as_limit(place.max_time)} at most"
    bound = place.max_nodes
    if bound is not None and request.nodes > bound:
        yield f"-N {request.nodes}: {here} permits {bound} at most"
    if request.max_nodes is not None and request.max_nodes < place.min_nodes:
        yield f"-N {request.max_nodes}: {here} permits {place.min_nodes} at least"
    if request.nodes > len(place.nodes):
        yield f"-N {request.nodes}: {here} has {len(place.nodes)} in service"
    for name in request.wanted:
        if name not in place.nodes:
            yield f"-w {name}: this node is not in service in {here}"
    plain = Request(features=request.features, reservation=request.reservation)
    if request.features and not _held(made, plain, place):
        words = sorted({word for node in site.nodes for word in node.features})
        yield f"-C {request.features}: no nodes of {here} are like this: {_choose(words)}"
    shapes = _held(made, request, place)
    if not shapes and _gathered(site, request, place):
        return
    if not shapes:
        yield f"{here} could not hold it even when idle: {_largest(site, place)}"
    elif not any(
        bounded_shape(site, request, place, one, job.user) is not None
        and job_allowed(site, request, place, one, job.limit, job.user)
        for one in shapes
    ):
        what = f"reservation {request.reservation}" if request.reservation else "QOS or account"
        yield f"a limit of its {what} forbids this job for good: ask for less"


def _gathered(site: Site, request: Request, place: Partition) -> bool:
    """GPUs for the whole job that as many nodes as it takes have, whatever its tasks.

    spec: slurm 11.1.
    """
    if request.max_nodes is not None or not any(one.per == "job" for one in request.gres):
        return False
    mine = set(place.nodes)
    columns = zip(*(one.amounts for one in site.nodes if one.name in mine), strict=True)
    there = dict(zip(site.resources, map(sum, columns), strict=True))
    return all(there.get(one.name, 0) >= one.count for one in request.gres)


def _held(made: Shapes, request: Request, place: Partition) -> list[Shape]:
    """The ways of satisfying a request that the partition's idle nodes hold."""
    nodes = made.site.nodes
    found = []
    for shape in made.all_of(request, place):
        capacity = np.array([nodes[k].amounts for k in shape.nodes], np.int64)
        if len(capacity) and fits_empty(shape, most_held(shape, capacity)):
            found.append(shape)
    return found


def _largest(site: Site, place: Partition) -> str:
    """The most of each resource that a node of the partition has."""
    mine = set(place.nodes)
    columns = zip(*(one.amounts for one in site.nodes if one.name in mine), strict=True)
    most = dict(zip(site.resources, map(max, columns), strict=True))
    words = [
        f"{amount // 1024} MB of memory" if name == "memory" else f"{amount} {name}"
        for name, amount in most.items()
        if amount
    ]
    return f"nodes in service: {len(mine)}, the largest with {', '.join(words)}"


def as_limit(seconds: int) -> str:
    """A limit as sbatch takes it.

    Examples
    --------
    >>> as_limit(5430), as_limit(90_000), as_limit(LONGEST)
    ('1:30:30', '25:00:00', 'UNLIMITED')
    """
    if seconds >= LONGEST:
        return "UNLIMITED"
    minutes, rest = divmod(seconds, 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def _choose(there: Any) -> str:
    names = sorted({name.removeprefix("license/") for name in there} - {""})
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"choose of {', '.join(names[:12])}{more}" if names else "there is none"


def _refused(why: str) -> UsageError:
    return UsageError(f"--request: {why}")


def _readable(reads: Callable[[str], Any], text: str) -> bool:
    """Whether a reader takes the text and finds something in it."""
    try:
        return bool(reads(text))
    except (ShadowtimeError, ValueError):
        return False


def _nodes(text: str) -> bool:
    found = re.fullmatch(r"0*([1-9]\d{0,8})(?:-0*([1-9]\d{0,8}))?", text)
    return found is not None and (not found[2] or int(found[1]) <= int(found[2]))


def _limit(text: str) -> bool:
    parse_limit(text)
    return bool(text.strip())


def _gres(text: str) -> bool:
    return all(re.fullmatch(r"[^\s:=]+([:=][^\s:=]+){0,3}", one) for one in text.split(","))


_COUNT = partial(re.fullmatch, r"0*[1-9]\d{0,8}"), "4"
_MEMORY = (lambda text: parse_memory(text, bare="M") is not None), "16G"
_GPUS = (lambda text: all(_gres(f"gpu:{one.strip()}") for one in text.split(","))), "2 or a100:2"
_NODES = expand, "n[1-4]"
_VALUES: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "nodes": (_nodes, "4 or 2-8"),
    **dict.fromkeys(
        ("ntasks", "cpus-per-task", "ntasks-per-node", "cpus-per-gpu", "mincpus"), _COUNT
    ),
    **dict.fromkeys(("mem", "mem-per-cpu"), _MEMORY),
    **dict.fromkeys(("gpus", "gpus-per-node", "gpus-per-task"), _GPUS),
    **dict.fromkeys(("nodelist", "exclude"), _NODES),
    **dict.fromkeys(("time", "time-min"), (_limit, "30, 6:00:00 or 1-12:00:00")),
    **dict.fromkeys(("partition", "qos", "account", "reservation"), (str.strip, "its name")),
    "gres": (_gres, "gpu:2"),
    "licenses": (parse_licences, "matlab:2"),
    "constraint": (choices, "skylake&ib"),
    "array": (parse_array, "1-9:2%3"),
    "begin": (lambda text: parse_begin(text, 1 << 30), "now+2hours, 16:00 or 2026-12-24T08:00"),
}
"""How the value of each option is read, and an example of one."""
