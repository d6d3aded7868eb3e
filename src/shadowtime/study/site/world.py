"""What a what-if is about: a site, its jobs, the policy that runs them, and where users work."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any

import numpy as np

from shadowtime.cluster.site import Association, Site
from shadowtime.errors import ClusterError, near
from shadowtime.types import UNKNOWN, AnyArray
from shadowtime.workload import Workload, request, site_requests


@dataclass(frozen=True, eq=False, kw_only=True)
class SiteWorld:
    """A site, its jobs and a policy; ``zone`` is that of times without an offset."""

    site: Site
    jobs: Workload
    policy: Any
    zone: tzinfo

    def replace(self, **changes: Any) -> SiteWorld:
        """A variant."""
        return replace(self, **changes)

    def on_site(self, **changes: Any) -> SiteWorld:
        """A variant of the site."""
        return replace(self, site=self.site.replace(**changes))


COLUMN = {"DefaultQOS": "queue", "DefaultAccount": "group"}


def with_user(world: SiteWorld, user: str, key: str, value: str) -> SiteWorld:
    """The user's jobs that ran in the default QOS (or account) run in another one, or narrower.

    The default is the one of most of the user's jobs, as a log does not distinguish a default from
    a choice. An account without the user in it gets an association with one share.
    """
    jobs, site = world.jobs, world.site
    names = jobs.names.get("user", ())
    if user not in names[1:]:
        raise ClusterError(f"the log has no user {user}{near(user, sorted(names[1:]))}")
    if key == "MaxNodes":
        if not re.fullmatch(r"[1-9]\d{0,6}", value):
            raise ClusterError("it must be a whole number from 1")
        return world.replace(jobs=_narrowed(world, jobs.user == names.index(user), int(value)))
    known = [one.name for one in site.qos]
    if key == "DefaultQOS" and value not in known:
        raise ClusterError(f"there is no QOS {value}{near(value, known)}")
    if not value:
        raise ClusterError("it must be a name")
    column = COLUMN[key]
    mine = jobs.user == names.index(user)
    numbers, counts = np.unique(getattr(jobs, column)[mine], return_counts=True)
    usual = int(numbers[np.argmax(counts)]) if len(numbers) else UNKNOWN
    moved = mine & (getattr(jobs, column) == usual)
    world = world.replace(jobs=_moved(world, jobs, moved, column, value))
    return _member(world, user, value) if key == "DefaultAccount" else world


def _narrowed(world: SiteWorld, rows: AnyArray, most: int) -> Workload:
    """Requests for more nodes are lowered to this number, tasks in proportion; run times stay."""
    jobs = world.jobs
    asked = site_requests.requests_of(jobs, world.site)
    place: dict[request.Request, int] = {}
    index = np.empty(len(jobs), np.int64)
    demand = jobs.demand.copy()
    for row, (old, mine) in enumerate(zip(asked.index.tolist(), rows.tolist(), strict=True)):
        one = asked.distinct[old]
        if mine and one.nodes > most:
            demand[row] = -(-demand[row] * most // one.nodes)
            tasks = max(most, one.tasks * most // one.nodes)
            one = replace(one, nodes=most, max_nodes=most, tasks=tasks)
        index[row] = place.setdefault(one, len(place))
    requests = replace(asked, distinct=tuple(place), index=index)
    return jobs.replace(demand=demand, requests=requests)


def _moved(world: SiteWorld, jobs: Workload, rows: AnyArray, column: str, value: str) -> Workload:
    labels = jobs.names.get(column, ("",)) or ("",)
    if value not in labels[1:]:
        labels = (*labels, value)
    number = labels.index(value, 1)
    asked = site_requests.requests_of(jobs, world.site)
    field = "qos" if column == "queue" else "account"
    place: dict[request.Request, int] = {}
    index = np.empty(len(jobs), np.int64)
    for row, (old, change) in enumerate(zip(asked.index.tolist(), rows.tolist(), strict=True)):
        one = asked.distinct[old]
        new = replace(one, **{field: value}) if change else one
        index[row] = place.setdefault(new, len(place))
    return jobs.replace(
        **{column: np.where(rows, number, getattr(jobs, column))},
        names={**jobs.names, column: labels},
        requests=replace(asked, distinct=tuple(place), index=index),
    )


def _member(world: SiteWorld, user: str, account: str) -> SiteWorld:
    tree = list(world.site.associations)
    if not any(one.account == account and not one.user for one in tree):
        tree.append(Association(account=account, parent="root"))
    if not any((one.account, one.user) == (account, user) for one in tree):
        tree.append(Association(account=account, user=user, parent=account))
    return world.on_site(associations=tuple(tree))
