"""A policy on a site, followed by the verifier: its parts as rules, and the rows that come out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from shadowtime.policy import Policy
from shadowtime.policy.backfill import Venture
from shadowtime.policy.reserve import ALL as EVERY_JOB
from shadowtime.verify import parts
from shadowtime.verify.expected import Attempt, Expected, Followed
from shadowtime.verify.parts import NotFollowedError
from shadowtime.verify.site import Classes, Rules, SiteWorld, simulate
from shadowtime.workload import Workload
from shadowtime.workload.site_requests import requests_of

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site

PLACES = {"first-fit", "best-fit", "pack", "spread", "slurm"}


def follow_site(
    workload: Workload, site: Site, policy: Policy, until: int, *, places: bool = True
) -> Followed:
    """What a policy makes of a workload on a site; without ``places`` the site stands for a pool.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> site = Site(nodes=(Node(name="a", amounts=(4,)), Node(name="b", amounts=(2,))))
    >>> jobs = Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[4, 6, 2])
    >>> rows = follow_site(jobs, site, parse_policy("easy"), 1 << 62).rows
    >>> [(row.start, row.place) for row in rows]
    [(0, (('a', 4),)), (9, (('b', 2), ('a', 4))), (2, (('b', 2),))]
    """
    policy.refuse_nonsense("site")
    asked = workload.replace(requests=requests_of(workload, site))
    world = simulate(asked, site, rules_of(policy, workload), until=until)
    rows = tuple(expected(world, row, places=places) for row in range(len(workload)))
    return Followed(rows, tuple(sorted(attempts_of(world, rows))), world.passes, until)


def attempts_of(world: SiteWorld, rows: tuple[Expected, ...]) -> Iterator[Attempt]:
    """The runs of stopped jobs: those that were stopped, and the last."""
    spent = {world.jobs[row].id: iter(pairs) for row, pairs in world.worked.items()}
    for job, start, end in world.attempts:
        yield Attempt(job, start, end, 1, *next(spent[job]))
    for row, last in enumerate(rows):
        if last.job_id in spent and last.start >= 0:
            run = world.last[row]
            kept = run.job.effective_run - run.saved if world.over.get(row) == "ended" else None
            yield Attempt(last.job_id, last.start, last.end, 0, run.restart, kept)


def expected(world: SiteWorld, row: int, *, places: bool) -> Expected:
    """The row of a job: one that never ran, or waits again after a stop, has no start."""
    job, over, run = world.jobs[row], world.over.get(row), world.last.get(row)
    row_so_far = Expected(
        job_id=job.id,
        kills=sum(1 for number, _, _ in world.attempts if number == job.id),
        promised=world.promised.get(row, -1),
        blocked_at=world.blocked.get(row, -1),
        place=() if places else None,
        promised_at=world.promised_at.get(row, -1),
    )
    runs = any(one is run for one in world.running)
    if run is None or not (over in ("ended", "lost") or runs):
        return row_so_far
    nodes = tuple(
        (world.site.nodes[node].name, world.takes(run.shape, node, tasks)[0])
        for node, tasks in run.tasks.items()
    )
    return replace(
        row_so_far,
        start=run.start,
        end=world.over_at[row] if over == "lost" else run.end,
        reason=world.reason[row],
        killed=int(over == "ended" and job.run > job.limit),
        place=nodes if places else None,
    )


def rules_of(policy: Policy, workload: Workload) -> Rules:
    """A policy's parts as the rules of the passes on a site."""
    part, reserve = policy.backfill, policy.reserve
    if not part.exact or reserve.fixed != "no":
        raise NotFollowedError("extra_update=no and fixed_reservation are defined on a pool alone")
    if policy.place.name not in PLACES:
        raise NotFollowedError(f"place={policy.place} has no second implementation")
    functions = parts.functions_of(policy)
    own = functions if any(vars(functions).values()) else None
    numbered = not (policy.order.by_arrival or policy.order.written)
    base = Rules(
        key=parts.key_of(policy) if numbered else "fcfs",
        place=policy.place.name,
        estimate=parts.estimate_of(policy, workload),
        own=own,
    )
    if policy.keeps_promises:
        every_pass = part.promises_all
        compress = reserve.compresses or every_pass
        return replace(base, depth=-1, compress=compress, every_pass=every_pass)
    if reserve.sunny:
        return replace(
            base,
            backfill="venture" if isinstance(part, Venture) else "never",
            sunny=True,
            venture=parts.ventures(policy),
            preempt=policy.preempt.stops,
            prune=policy.preempt.spares,
            every=policy.preempt.save_every,
            restart=policy.preempt.restart_s,
        )
    depth = min(reserve.depth(EVERY_JOB), EVERY_JOB)
    return replace(
        base,
        depth=EVERY_JOB if policy.partition.classes is not None else depth,
        backfill=backfill_of(policy),
        classes=classes_of(policy),
    )


def backfill_of(policy: Policy) -> str:
    """The name of the backfill part in the rules."""
    if not policy.backfill.weighs:
        return parts.backfill_of(policy)
    name, options = parts.weighing_of(policy)
    if name == "ibb":
        return {"live": "not-worse", "frozen": "not-worse-frozen"}.get(
            options["threshold"], options["threshold"]
        )
    once = "-one" if options["per_pass"] == "one" else ""
    return {"bb": "balanced", "bl": "least-used"}[name] + once


def classes_of(policy: Policy) -> Classes | None:
    """Class partitioning on a site."""
    part = policy.partition.classes
    if part is None:
        return None
    if part.by != "procs":
        raise NotFollowedError(f"partition={part} has no second implementation on a site")
    return Classes(
        nodes=part.hosts,
        hours=part.hours,
        anywhere=part.large == "anywhere",
        above=part.above,
        reservations=part.reservations,
        times=part.times,
    )
