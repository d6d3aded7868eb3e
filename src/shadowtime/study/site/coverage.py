"""What jobs and settings of a site have that its model does not know, with its share of the log.

Options of submissions and kinds of jobs come from the requests (``Request.beyond``), keys of
partitions, QOS, associations, reservations and slurm.conf from the readers (``Site.ignored``),
the rest from the model of Slurm itself. ``cluster/known_settings.py`` and ``slurmtext/sbatch.py``
list what is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shadowtime.cluster.features import choices, counted
from shadowtime.cluster.known_settings import lacking_parameters
from shadowtime.cluster.site import Site
from shadowtime.slurm import from_site, parameters
from shadowtime.types import UNKNOWN, AnyArray
from shadowtime.workload import Workload, site_requests

PER_SETTING = 0.05
"""What a setting of the whole site adds to the expected error. Assumed, not calibrated: its effect
on this log is in the measured difference, and what it does to another log is not known."""


@dataclass(frozen=True, kw_only=True)
class NotModelled:
    """Something that is left out, with the jobs that have it."""

    what: str
    jobs: int
    jobs_share: float
    core_share: float
    """Of the core-hours of all jobs."""
    whole_site: bool = False
    """True for a setting of the whole site."""

    def __str__(self) -> str:
        if self.whole_site:
            return self.what
        return f"{self.what} ({self.jobs:,} jobs, {self.core_share:.1%} of the core-hours)"

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class Coverage:
    """Everything that is not modelled, and its weight in the expected error."""

    found: tuple[NotModelled, ...] = ()
    core_share: float = 0.0
    """The share of the core-hours by jobs with any of it."""

    @property
    def settings(self) -> int:
        """How many settings of the whole site are not modelled."""
        return sum(one.whole_site for one in self.found)


def coverage(workload: Workload, site: Site) -> Coverage:
    """Everything that is not modelled, that of the most core-hours first.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> from shadowtime.workload import Workload
    >>> from shadowtime.workload.request import Request, Requests
    >>> asked = Requests.of_jobs([Request(beyond=("switches",)), Request(partitions=("p",))])
    >>> jobs = Workload.build(submit=[0, 1], run=[30, 10], procs=[1, 1], requests=asked)
    >>> site = Site(nodes=(Node(name="n", amounts=(2,)),), ignored={"partition AllowQos": ("p",)})
    >>> found = coverage(jobs, site)
    >>> [str(one) for one in found.found], found.core_share
    (['--switches (1 jobs, 75.0% of the core-hours)', 'partition AllowQos (1 jobs, 25.0% of the \
core-hours)'], 1.0)
    """
    work = (workload.effective_run * workload.procs).astype(float)
    total = max(float(work.sum()), 1.0)
    some = np.zeros(len(workload), bool)
    found = []

    def add(what: str, which: AnyArray, *, whole: bool = False) -> None:
        nonlocal some
        if not whole:
            some = some | which
        found.append(
            NotModelled(
                what=what,
                jobs=int(which.sum()),
                jobs_share=float(which.mean()) if len(which) else 0.0,
                core_share=float(work[which].sum()) / total,
                whole_site=whole,
            )
        )

    asked = site_requests.requests_of(workload, site)
    for name in sorted({name for one in asked.distinct for name in one.beyond}):
        has = np.array([name in one.beyond for one in asked.distinct], bool)[asked.index]
        add(name if " " in name else f"--{name}", has)
    has = np.array([wants_counts(one.features) for one in asked.distinct], bool)[asked.index]
    if has.any():
        add("--constraint with counts of nodes in several ways", has)
    other = {
        one: {gres.name.partition(":")[0] for gres in one.gres if gres.per != "node"} - {"gpu"}
        for one in asked.distinct
    }
    for name in sorted(set().union(*other.values())):
        add(f"--gres={name}", np.array([name in other[one] for one in asked.distinct])[asked.index])
    for key, names in site.ignored.items():
        scope = key.partition(" ")[0]
        if scope in SCOPES:
            add(key, _named(workload, site, scope, names))
        else:
            add(key, np.ones(len(workload), bool), whole=True)
    for key in _of_model(site):
        add(key, np.ones(len(workload), bool), whole=True)
    order = sorted(found, key=lambda one: (one.whole_site, -one.core_share, one.what))
    return Coverage(tuple(order), float(work[some].sum()) / total)


def wants_counts(features: str) -> bool:
    """True where an expression counts nodes in one of several ways: ``slurm`` leaves counts out."""
    several = "*" in features and not counted(features)
    return several and any(one.counts for one in choices(features))


def _of_model(site: Site) -> list[str]:
    """Settings that are read and that the model of Slurm does not follow."""
    words = parameters.Parameters.without_effect(site.setting("SchedulerParameters"))
    return [*(f"SchedulerParameters {word}" for word in lacking_parameters(words)),
            *from_site.model_notes(site)]  # fmt: skip


SCOPES = ("partition", "QOS", "association", "reservation")
"""Keys that concern the jobs of what has them; any other one concerns all jobs."""


def _named(workload: Workload, site: Site, scope: str, names: Sequence[str]) -> AnyArray:
    """The jobs in these partitions, QOS, accounts (or of these users) or reservations."""
    chosen = frozenset(names)
    asked = site_requests.requests_of(workload, site)
    usual = tuple(one.name for one in site.partitions if one.default)
    has = []
    for one in asked.distinct:
        mine = {
            "partition": one.partitions or usual, "QOS": (one.qos,),
            "association": (one.account,), "reservation": (one.reservation,),
        }[scope]  # fmt: skip
        has.append(not chosen.isdisjoint(mine))
    found: AnyArray = np.array(has, bool)[asked.index]
    if scope == "association":
        users = workload.names.get("user", ())
        numbers = [at for at, name in enumerate(users) if name in chosen]
        found |= np.isin(workload.user, numbers) & (workload.user != UNKNOWN)
    return found
