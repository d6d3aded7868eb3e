"""Fair-share usage at the beginning of a log, from what sshare shows at the time of the pull.

Usage fades: what was used before the log is what is left when the usage of the logged jobs, faded
to the time of the pull, is taken out, and the rest is brought back to the beginning.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.engine.priority.weights import Weights
from shadowtime.types import AnyArray
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from shadowtime.cluster.site import Association, Site

FARTHEST = 3.0
"""Half-lives from the beginning of the log to the pull beyond which what is left of the usage
before it is too little to be told from rounding: errors grow by 2 to this power."""
AT_ONCE = 60
"""Seconds after the beginning of the log in which sshare counts as asked at the beginning."""


def usage_before(site: Site, workload: Workload, asked_at: float) -> tuple[Site, str]:
    """The site with the usage at the beginning of the log, and a sentence on how it was found.

    Rules
    -----
    ``asked_at`` is when sshare ran, in seconds since 1970. A job is charged its billing (AllocTRES,
    else its cpus) times the UsageFactor of its QOS for every second that it ran. Beyond
    :data:`FARTHEST` half-lives today's usage is taken for that of the beginning. Nothing changes
    where usage has no weight.

    Examples
    --------
    >>> from shadowtime.cluster.site import Association, Node
    >>> from shadowtime.workload import Workload
    >>> from shadowtime.workload.request import Request, Requests
    >>> tree = (Association(account="root", usage=150.0),
    ...         Association(account="a", parent="root", usage=150.0),
    ...         Association(account="a", user="u", parent="a", usage=150.0))
    >>> config = {"PriorityType": "priority/multifactor", "PriorityWeightFairShare": "1000",
    ...           "PriorityDecayHalfLife": "0"}
    >>> from shadowtime.cluster.site import Site
    >>> site = Site(nodes=(Node(name="n", amounts=(4,)),), associations=tree, config=config,
    ...             enforce=frozenset({"limits"}))
    >>> jobs = Workload.build(submit=[0], run=[50], procs=[2], recorded_start=[0], user=[1],
    ...     names={"user": ("", "u")}, epoch=1000,
    ...     requests=Requests.of_jobs([Request(account="a")]))
    >>> [one.usage for one in usage_before(site, jobs, 2000.0)[0].associations]
    [50.0, 50.0, 50.0]
    """
    weights = Weights.of(site)
    used = any(one.usage for one in site.associations)
    if "multifactor" not in site.setting("PriorityType") or not weights.fair_share or not used:
        return site, ""
    epoch = workload.epoch
    if epoch is None or asked_at - epoch < AT_ONCE:
        return site, ""
    late = asked_at - epoch
    long = f"{late / 86400:.1f} days" if late > 2 * 86400 else f"{late / 3600:.1f} hours"
    days = f"usage (sshare) was asked for {long} after the log begins"
    if weights.half_life and late > FARTHEST * weights.half_life:
        return site, f"{days}, more than {FARTHEST:.0f} half-lives: it is taken as it was then"
    left = _left(site, workload, asked_at, weights)
    back = float(weights.decay**late)
    found = tuple(
        replace(one, usage=max(one.usage - left.get((one.account, one.user), 0.0), 0.0) / back)
        for one in site.associations
    )
    taken = left.get(("root", ""), 0.0) / max(_root(site.associations), 1.0)
    share = f"{min(taken, 1.0):.0%} of it was used by the log's own jobs and is taken out"
    return site.replace(associations=found), f"{days}: {share}"


def _root(associations: tuple[Association, ...]) -> float:
    return max((one.usage for one in associations), default=0.0)


def _left(
    site: Site, workload: Workload, asked_at: float, weights: Weights
) -> dict[tuple[str, str], float]:
    """What is left of the usage of the logged jobs, by account and user, and above them."""
    requests = workload.requests
    assert requests is not None and workload.epoch is not None
    begin: AnyArray = workload.recorded_start.astype(float) + workload.epoch
    end = begin + workload.run
    seen = np.maximum(np.minimum(end, asked_at) - begin, 0.0)
    # Charged up to the last tick, on average half a period ago; a shorter run may have seen none.
    # The rest is charged at the end only where limits are enforced (spec: slurm 5.5).
    ticks = np.where(
        seen > weights.period, seen - weights.period / 2, seen**2 / (2 * weights.period)
    )
    rest_is_charged = (end <= asked_at) & bool(site.enforce & {"limits", "safe"})
    end = begin + np.where(rest_is_charged, seen, ticks)
    ran = (workload.recorded_start >= 0) & (requests.cancel_at < 0)
    billing = workload.procs.astype(float)
    known = workload.extra.get("billing")
    if known is not None:
        billing = np.where(known >= 0, known, billing)
    factor = {one.name: one.usage_factor for one in site.qos}
    billing *= np.array([factor.get(one.qos, 1.0) for one in requests.distinct])[requests.index]
    if weights.half_life:
        rate = -np.log(weights.decay)
        seconds = (np.exp(rate * (end - asked_at)) - np.exp(rate * (begin - asked_at))) / rate
    else:
        seconds = end - begin
    amounts = np.where(ran, billing * seconds, 0.0)
    parents = {one.account: one.parent for one in site.associations if not one.user}
    users = workload.names.get("user", ())
    sums: dict[tuple[str, str], float] = {}
    pairs = np.stack([requests.index, workload.user], axis=1)
    kinds, which = np.unique(pairs, axis=0, return_inverse=True)
    totals = np.bincount(which.ravel(), weights=amounts, minlength=len(kinds))
    for (place, number), amount in zip(kinds.tolist(), totals.tolist(), strict=True):
        account = requests.distinct[place].account
        user = users[number] if 0 <= number < len(users) else ""
        for name in dict.fromkeys(
            ((account, user), *((one, "") for one in _above(account, parents)))
        ):
            sums[name] = sums.get(name, 0.0) + amount
    return sums


def _above(account: str, parents: dict[str, str]) -> list[str]:
    """The account and all above it, root included."""
    found = [account]
    while parents.get(found[-1]) and parents[found[-1]] not in found:
        found.append(parents[found[-1]])
    return found if "root" in found else [*found, "root"]
