"""A job that is not submitted yet: when it would start, and which changes let it start earlier."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import tzinfo

import numpy as np

from shadowtime.cluster.limits import chain
from shadowtime.cluster.site import Site
from shadowtime.errors import UsageError
from shadowtime.eta.present import LONGEST, Present, Waiting
from shadowtime.eta.ranges import Corrections, Estimate, estimates_of, order_statistic
from shadowtime.eta.refusing import as_limit, by_reservation, options_of, refuse
from shadowtime.eta.starts import Drawn, How, draw_starts
from shadowtime.slurmtext.sbatch import submitted
from shadowtime.slurmtext.times import parse_begin
from shadowtime.workload.request import NEVER, Request

ASKED = "the request"
TRIALS = 9
"""Draws for an alternative: enough to compare medians over the same futures."""
EARLIER, AT_LEAST = 0.2, 60.0
"""An alternative is worth mentioning if it saves this share of the wait, and these seconds."""


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """A change of a request, in sbatch's options, and the seconds that it saves at the median."""

    change: str
    expected: float
    saved: float


@dataclass(frozen=True, kw_only=True)
class Answer:
    """When a request would start, and what would let it start earlier, the best first."""

    estimate: Estimate
    alternatives: tuple[Alternative, ...]


def parse_request(
    text: str,
    site: Site,
    *,
    user: str,
    now: int = 0,
    account: str = "",
    zone: tzinfo | None = None,
) -> Waiting:
    """A request in sbatch's options, as it would be submitted now.

    ``account`` is the user's default, ``zone`` that of a clock time of --begin, by default the
    machine's. UsageError for one that sbatch would refuse, or that would never start.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Partition
    >>> site = Site(nodes=(Node(name="a", amounts=(4,)),),
    ...     partitions=(Partition(name="batch", nodes=("a",), default=True, max_time=3600),))
    >>> job = parse_request("-n 2", site, user="eva")
    >>> job.limit, job.request.partitions
    (3600, ('batch',))
    >>> parse_request("-p gone", site, user="eva")
    Traceback (most recent call last):
    ...
    shadowtime.errors.UsageError: --request: there is no partition gone: choose of batch
    """
    given = options_of(text)
    asked = submitted(given)
    known = {one.name: one for one in site.partitions}
    usual = next((one.name for one in site.partitions if one.default), next(iter(known), ""))
    names = asked.request.partitions or ((usual,) if usual else ())
    for name in names:
        if name not in known:
            raise UsageError(
                f"--request: there is no partition {name}: choose of {', '.join(known)}"
            )
    place = known.get(names[0]) if names else None
    if "time" in given:
        limit = min(asked.limit or LONGEST, LONGEST)  # zero is no limit
    else:
        limit = (place and (place.default_time or place.max_time)) or 86400
    request = replace(
        asked.request,
        partitions=names,
        qos=as_spelt(asked.request.qos, (one.name for one in site.qos)),
        account=as_spelt(asked.request.account, (one.account for one in site.associations)),
    )
    who = asked.user or user
    job = Waiting(
        id=ASKED,
        user=who,
        limit=limit,
        request=with_defaults(request, site, user=who, account=account),
        begin=parse_begin(given["begin"], now, zone) if "begin" in given else NEVER,
    )
    refuse(job, site)
    return job


def with_defaults(request: Request, site: Site, *, user: str, account: str = "") -> Request:
    """The request with the account and the QOS that Slurm gives to one without.

    Rules
    -----
    The account is ``account``, else the only one that the user has; the QOS is the default of the
    user's association, the only one that it permits, or ``normal`` if it permits that.

    Examples
    --------
    >>> from shadowtime.cluster.site import Association, Node, Qos
    >>> site = Site(nodes=(Node(name="a", amounts=(4,)),), qos=(Qos(name="normal"), Qos(name="x")),
    ...     associations=(Association(account="bio", user="eva", allowed_qos=("x",)),))
    >>> made = with_defaults(Request(), site, user="eva")
    >>> made.account, made.qos
    ('bio', 'x')
    """
    if not request.account:
        own = {one.account for one in site.associations if one.user == user}
        usual = account if account in own else next(iter(own)) if len(own) == 1 else ""
        request = replace(request, account=usual)
    if not request.qos and site.qos:
        mine = chain(site, request.account, user, "".join(request.partitions[:1]))
        one = next((each for each in mine if each.user == user), None)
        allowed = (one and one.allowed_qos) or tuple(each.name for each in site.qos)
        usual = allowed[0] if len(allowed) == 1 else "normal" if "normal" in allowed else ""
        request = replace(request, qos=(one and one.default_qos) or usual)
    return request


def as_spelt(name: str, known: Iterable[str]) -> str:
    """A QOS or an account as the site writes it: Slurm ignores capitals.

    Examples
    --------
    >>> as_spelt("Phys", ["bio", "phys"]), as_spelt("new", ["bio"])
    ('phys', 'new')
    """
    return next((one for one in known if one.lower() == name.lower()), name)


def ask_start(
    present: Present, job: Waiting, how: How, *, corrections: Corrections | None = None
) -> Answer:
    """When a job would start if it were submitted now, and what would let it start earlier.

    Rules
    -----
    Alternatives are tried one by one: a half and a quarter of the limit, half of the nodes or
    tasks, and each other partition that permits the limit. All are drawn over the same futures, so
    that few draws suffice; what saves less than a fifth of the wait, or a minute, is not mentioned.
    """
    drawn = _drawn(present, job, how)
    (found,) = estimates_of(drawn, corrections)
    quick = replace(how, draws=min(TRIALS, how.draws))
    # The first futures are those of the alternatives.
    (plain,) = order_statistic(drawn.waits[: quick.draws], 0.5).tolist()
    made = []
    for change, other in _changes(job, present.machine):
        (expected,) = order_statistic(_drawn(present, other, quick).waits, 0.5).tolist()
        saved = plain - expected
        if saved >= max(AT_LEAST, EARLIER * plain):
            made.append(Alternative(change=change, expected=expected, saved=saved))
    made.sort(key=lambda one: one.expected)
    return Answer(estimate=found, alternatives=tuple(made))


def _drawn(present: Present, job: Waiting, how: How) -> Drawn:
    """The starts of one more job in drawn futures; of several reservations it takes the first."""
    waiting = tuple(one for one in present.waiting if one.id != job.id)
    ways = [
        draw_starts(replace(present, waiting=(*waiting, one)), how) for one in by_reservation(job)
    ]
    soonest = np.min([one.waits[:, -1:] for one in ways], axis=0)
    return Drawn(jobs=ways[0].jobs[-1:], waits=soonest)


def _changes(job: Waiting, machine: object) -> list[tuple[str, Waiting]]:
    request = job.request
    made = [
        (f"-t {as_limit(job.limit // part)}", replace(job, limit=job.limit // part))
        for part in (2, 4)
        if job.limit // part >= 60
    ]
    if request.nodes > 1:
        half = request.nodes // 2
        fewer = replace(request, nodes=half, max_nodes=half, tasks=max(1, request.tasks // 2))
        made.append((f"-N {half} -n {fewer.tasks}", replace(job, request=fewer)))
    elif request.tasks > 1:
        half = request.tasks // 2
        made.append((f"-n {half}", replace(job, request=replace(request, tasks=half))))
    if isinstance(machine, Site):
        for one in machine.partitions:
            if one.name not in request.partitions and one.up and one.nodes:
                if one.max_time is not None and one.max_time < job.limit:
                    continue
                other = replace(request, partitions=(one.name,))
                made.append((f"-p {one.name}", replace(job, request=other)))
    return made
