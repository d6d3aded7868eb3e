"""The bounds that the limits of QOS and associations set for a job, in Slurm's order (6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from shadowtime.slurm.reasons import reason_of
from shadowtime.slurm.tally import by_slurms_name

if TYPE_CHECKING:
    from shadowtime.cluster.site import Association, Limits
    from shadowtime.slurm.running import Group


class Bound(NamedTuple):
    """One bound: what the running jobs of a group, and the job itself, may have at most."""

    kind: str
    name: str
    """Slurm's name of the resource; empty: running jobs."""
    most: int
    group: Group
    reason: str
    key: tuple[str, str] = ("", "")
    """Whose usage in minutes counts."""
    qos: str = ""
    """The QOS, where the bound is on all of its jobs."""


class Bounds(NamedTuple):
    """What is checked before a job is considered, and once its resources are known."""

    jobs: tuple[Bound, ...]
    resources: tuple[Bound, ...]


def bounds_of(
    sharing: Sequence[tuple[str, Limits]], chain: Sequence[Association], user: str, account: str
) -> Bounds:
    """The bounds of a job by its QOS, the first of which counts first, and its associations.

    A bound of one kind hides those of the same kind further on (spec: slurm 6.3).

    Examples
    --------
    >>> from shadowtime.cluster.site import Association, Limits
    >>> own = Association(account="a", limits=Limits(user_jobs=9, group_resources={"cpus": 8}))
    >>> found = bounds_of([("q", Limits(user_jobs=2))], [own], "u", "a")
    >>> [(one.reason, one.most) for one in (*found.jobs, *found.resources)]
    [('QOSMaxJobsPerUserLimit', 2), ('AssocGrpCpuLimit', 8)]
    """
    return Bounds(
        tuple(_first_of_kind(_on_jobs(sharing, chain, user, account))),
        tuple(_first_of_kind(_on_resources(sharing, chain, user, account))),
    )


def _first_of_kind(found: Iterator[tuple[str, Bound]]) -> Iterator[Bound]:
    seen: set[tuple[str, str]] = set()
    for kind, one in found:
        if (kind, one.name) not in seen:
            seen.add((kind, one.name))
            yield one


def _on_jobs(
    sharing: Sequence[tuple[str, Limits]], chain: Sequence[Association], user: str, account: str
) -> Iterator[tuple[str, Bound]]:
    for name, limits in sharing:
        for kind, most, group in (
            ("GrpJobs", limits.group_jobs, ("qos", name)),
            ("MaxJobsPU", limits.user_jobs, ("qos user", name, user)),
            ("MaxJobsPA", limits.account_jobs, ("qos account", name, account)),
        ):
            if most is not None:
                yield kind, Bound(kind, "", most, group, reason_of("QOS", kind), qos=name)
    for level, link in enumerate(chain):
        limits, own = link.limits, group_of(link)
        # Every link has its own GrpJobs: only those of a QOS hide them.
        if limits.group_jobs is not None and all(one.group_jobs is None for _, one in sharing):
            reason = reason_of("Assoc", "GrpJobs")
            yield f"GrpJobs {level}", Bound("GrpJobs", "", limits.group_jobs, own, reason)
        if level == 0 and limits.user_jobs is not None:
            reason = reason_of("Assoc", "MaxJobs")
            yield "MaxJobsPU", Bound("MaxJobs", "", limits.user_jobs, own, reason)


def _on_resources(
    sharing: Sequence[tuple[str, Limits]], chain: Sequence[Association], user: str, account: str
) -> Iterator[tuple[str, Bound]]:
    for name, limits in sharing:
        yield from _of_all("QOS", limits, ("qos", name), ("qos", name), name)
        yield from _of("QOS", "MaxTRESPU", limits.user_resources, ("qos user", name, user))
        yield from _of("QOS", "MaxTRESPA", limits.account_resources, ("qos account", name, account))
        yield from _of("QOS", "MaxTRESPJ", limits.job_resources, ("none",))
    for level, link in enumerate(chain):
        yield from _of_all("Assoc", link.limits, group_of(link), (link.account, link.user), "")
        if level == 0:
            yield from _of("Assoc", "MaxTRESPJ", link.limits.job_resources, ("none",))


def group_of(link: Association) -> Group:
    """The jobs that count against an association: its own and those of one below it."""
    return ("user", link.account, link.user) if link.user else ("account", link.account)


def _of_all(
    who: str, limits: Limits, group: Group, key: tuple[str, str], qos: str
) -> Iterator[tuple[str, Bound]]:
    """GrpTRES, GrpTRESMins and GrpTRESRunMins."""
    for kind, amounts in (
        ("GrpTRES", limits.group_resources),
        ("GrpTRESMins", limits.group_minutes),
        ("GrpTRESRunMins", limits.group_run_minutes),
    ):
        yield from _of(who, kind, amounts, group, key, qos)


def _of(
    who: str,
    kind: str,
    amounts: Mapping[str, int],
    group: Group,
    key: tuple[str, str] = ("", ""),
    qos: str = "",
) -> Iterator[tuple[str, Bound]]:
    for name, most in by_slurms_name(amounts).items():
        yield kind, Bound(kind, name, most, group, reason_of(who, kind, name), key, qos)
