"""The starts of waiting jobs in many drawn futures, each simulated under the site's scheduler."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Site
from shadowtime.engine import simulate
from shadowtime.engine.priority.weights import Weights
from shadowtime.engine.site.simulate import simulate_site
from shadowtime.eta.arrivals import future
from shadowtime.eta.draws import KILL_WAIT, learn_alike, remaining
from shadowtime.eta.held import reserved_from
from shadowtime.eta.present import LONGEST, NO_ARRAY, Array, Arrived, Present
from shadowtime.eta.shares import Shares
from shadowtime.policy import parse_policy
from shadowtime.slurm.policy import SlurmPolicy
from shadowtime.slurm.priority import first_tick
from shadowtime.slurm.standing import Queue, has_factors
from shadowtime.types import Floats, Ints
from shadowtime.workload import Workload
from shadowtime.workload.request import NEVER, Request, Requests

DRAWS = 39
"""Order statistics of 9, 19, 29 or 39 draws give exactly 80 % (spec: estimates 4.2)."""
OFFSETS = 6
"""Draw k has the passes at offset k mod this."""
REACH = 0.97
"""Submissions are drawn up to this quantile of the starts without any."""
ROUNDS, NEAR = 8, 1.1
"""So often at most the reach of submissions is widened by the starts that they put off, and when
that is not worth another round."""
LEAD, EACH_PASS, SEATED = 12, 4, 50
"""Seconds before now at which the model begins, so that it can place the running jobs: a main pass
takes place every few seconds and starts at least this many."""
DEEP = 400
"""Where more jobs wait, quicker passes stand in for Slurm's (spec: estimates 1.3)."""
FIRST = -(1 << 30)
"""The nice value of what runs already: before everything that waits."""
NEVER_STARTS = math.inf


@dataclass(frozen=True, eq=False, kw_only=True)
class Drawn:
    """Starts as seconds from now: a row per draw, a column per waiting job, inf where none."""

    jobs: tuple[str, ...]
    waits: Floats


@dataclass(frozen=True, kw_only=True)
class How:
    """How futures are drawn: their number, with submissions or without, under which policy."""

    policy: Any = field(default_factory=SlurmPolicy)
    draws: int = DRAWS
    submissions: bool = True
    seed: int = 1
    deep: int = DEEP
    """Where more jobs wait than this, Slurm's passes have a stand-in."""

    def stand_in(self, machine: Cluster | Site, waiting: int) -> str:
        """The policy that stands in for Slurm's own passes; empty where they are simulated.

        Examples
        --------
        >>> from shadowtime.cluster.site import Node
        >>> site = Site(nodes=(Node(name="a", amounts=(4,)),))
        >>> How().stand_in(site, 400), How().stand_in(site, 401)
        ('', 'easy(reserve=20)')
        """
        if not isinstance(self.policy, SlurmPolicy) or waiting <= self.deep:
            return ""
        # Without weights all priorities are equal, which order=multifactor refuses.
        factors = isinstance(machine, Site) and has_factors(machine) and Weights.of(machine).weighs
        return f"easy(reserve=20{', order=multifactor' * factors})"


def draw_starts(present: Present, how: How) -> Drawn:
    """Simulate the present forward, once per draw.

    Rules
    -----
    Each draw has its own run times and submissions. Submissions reach as far as nearly all starts
    do without any, which the first draws show. A job that a draw never starts has the wait inf.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node
    >>> from shadowtime.eta.present import LogAt
    >>> jobs = Workload.build(submit=[0, 5], run=[10, 9], procs=[4, 4], request=[20, 20],
    ...     recorded_start=[0, 10])
    >>> at = LogAt(jobs, Site(nodes=(Node(name="a", amounts=(4,)),))).present(6)
    >>> found = draw_starts(at, How(draws=9))
    >>> found.jobs, found.waits.shape, bool((found.waits < 99).all())
    (('2',), (9, 1), True)
    """
    shares = Shares(present.observed())
    names = tuple(one.id for one in present.waiting)
    if not names:
        return Drawn(jobs=(), waits=np.zeros((how.draws, 0)))
    scene = _Scene(present, how, shares)
    made: dict[int, Floats] = {}
    reach = 0
    # Submissions put starts off, which then lie among further submissions.
    for _ in range(ROUNDS if how.submissions and present.past else 0):
        made = {k: scene.draw(k, reach) for k in range(min(OFFSETS, how.draws))}
        some = np.concatenate(list(made.values()))
        some = some[np.isfinite(some)]
        far = math.ceil(np.quantile(some, REACH)) if len(some) else 0
        if far <= NEAR * reach:
            break
        made, reach = {}, far
    waits = [made[k] if k in made else scene.draw(k, reach) for k in range(how.draws)]
    return Drawn(jobs=names, waits=np.array(waits))


class _Scene:
    """What all draws have in common: the machine, and the jobs without their run times."""

    def __init__(self, present: Present, how: How, shares: Shares) -> None:
        self.present, self.policy, self.shares, self.seed = present, how.policy, shares, how.seed
        self.lead = self.seating = self.usage_at = 0
        self.machine = present.machine
        self.kill_wait = KILL_WAIT
        pieces = sum(len(one.pieces) for one in present.running)
        if isinstance(self.machine, Site):
            self.seating = LEAD + EACH_PASS * (pieces // SEATED)
            counted = _since_tick(self.machine, present.now)
            self.lead = max(self.seating, counted)
            self.usage_at = self.lead - counted
            self.kill_wait = _whole(self.machine.setting("KillWait"), KILL_WAIT)
            self.machine = open_site(self.machine)
        quick = how.stand_in(present.machine, len(present.waiting))
        self.quick = parse_policy(quick) if quick else None
        self.nice = self._nice()
        self.alike = learn_alike(present.observed())
        self.table, self.pieces = self._tabled()
        self.allowed = np.array(
            [one.limit - (present.now - one.start) for one in present.running], np.int64
        )
        """Seconds that what runs may go on."""

    def _nice(self) -> list[int]:
        """Nice values that give the waiting jobs the priorities which they have now.

        Age, usage and what an operator gave are in these already; from now on the model changes
        them.
        """
        waiting = self.present.waiting
        if not (isinstance(self.machine, Site) and has_factors(self.machine)):
            return [0] * len(waiting)
        table = Table()
        for one in waiting:
            table.add(one.request, one.user, 0, one.limit, one.limit)
        queue = Queue(table.workload(epoch=self.present.now, on_site=True), self.machine)
        return [
            0 if one.priority is None else queue.priority(row) - one.priority
            for row, one in enumerate(waiting)
        ]

    def draw(self, number: int, reach: int) -> Floats:
        """Seconds from now until each waiting job starts in one future."""
        present, rng = self.present, np.random.default_rng([self.seed, number])
        left, runs = remaining(
            present, self.shares, rng, alike=self.alike, kill_wait=self.kill_wait
        )
        coming = (
            future(
                present.past, present.now, reach, self.shares, rng,
                alike=self.alike, until=present.until,
            )
            if reach > 0
            else ()
        )  # fmt: skip
        return self._simulated(number, left, runs, coming)

    def _room(self, piece: Request) -> int:
        """Seconds until what runs would be in a reservation, where it could not be placed."""
        now, site = self.present.now, self.machine
        begin = reserved_from(site, piece, now) if isinstance(site, Site) else None
        return LONGEST if begin is None else begin - now

    def _tabled(self) -> tuple[Table, Ints]:
        """What runs and waits, before run times are drawn, and a row for each piece of what runs.

        The row holds its running job, the seconds that are simulated before now, and the room.
        """
        present, lead, table = self.present, self.lead, Table()
        pieces = []
        for number, one in enumerate(present.running):
            begun = max(0, lead - max(self.seating, present.now - one.start))
            for piece in one.pieces:
                room = self._room(piece)
                if room <= 0:
                    continue
                table.add(
                    piece, one.user, begun, 1, 1,
                    nice=FIRST, requeue=0, array=one.array if piece.counts else NO_ARRAY,
                )  # fmt: skip
                pieces.append((number, lead - begun, room))
        # All that waits enters the queue at one moment, and passes see it in its order: a second
        # earlier with a begin time, as submissions are spread over their second.
        for job, nice in zip(present.waiting, self.nice, strict=True):
            begin = max(lead, lead + job.begin - present.now)
            table.add(
                job.request, job.user, max(0, lead - 1), 1, job.limit,
                begin=begin, nice=nice, array=job.array,
            )  # fmt: skip
        return table, np.array(pieces, np.int64).reshape(-1, 3)

    def _simulated(
        self, draw: int, left: Sequence[int], runs: Sequence[int], coming: Sequence[Arrived]
    ) -> Floats:
        present, lead = self.present, self.lead
        of, before, room = self.pieces.T
        rest = np.array(left, np.int64)
        most = np.maximum(rest, self.allowed)
        limits = np.array([one.limit for one in present.waiting], np.int64)
        table = self.table.drawn(
            np.concatenate((before + np.minimum(rest[of], room), np.array(runs, np.int64))),
            np.concatenate((before + np.minimum(most[of], room), limits)),
        )
        first = len(of)
        for new in coming:
            submit = lead + new.submit - present.now
            table.add(new.request, new.user, submit, new.run, new.limit, nice=new.nice)
        jobs = table.workload(epoch=present.now - lead, on_site=isinstance(self.machine, Site))
        policy = self.policy
        if self.quick is not None and isinstance(self.machine, Site):
            made = simulate_site(jobs, self.machine, self.quick, coarse_from=lead)
        elif isinstance(policy, SlurmPolicy):
            policy = replace(policy, phase=draw % OFFSETS, phases=OFFSETS)
            made = policy.simulate(jobs, self.machine, runs=DRAWS, usage_at=self.usage_at)
        else:
            made = simulate(jobs, self.machine, policy)
        start = dict(zip(made.job_id.tolist(), made.start.tolist(), strict=True))
        for job, begun in zip(
            made.attempts.job_id.tolist(), made.attempts.start.tolist(), strict=True
        ):
            start[job] = min(start[job], begun)  # the first of those that preemption ends
        found = [start[first + at + 1] for at in range(len(present.waiting))]
        return np.array([max(0, at - lead) if at >= 0 else NEVER_STARTS for at in found], float)


class Table:
    """The jobs of one future, column by column; ids count from 1."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.users: dict[str, int] = {"": 0}
        self.columns: dict[str, list[int]] = {
            name: []
            for name in (
                "user", "submit", "run", "limit", "begin", "nice", "requeue",
                "array", "task", "throttle",
            )
        }  # fmt: skip

    def add(
        self, request: Request, user: str, submit: int, run: int, limit: int,
        *, begin: int = NEVER, nice: int = 0, requeue: int = 1, array: Array = NO_ARRAY,
    ) -> None:  # fmt: skip
        self.requests.append(request)
        number = self.users.setdefault(user, len(self.users))
        values = (
            number, submit, max(1, min(run, limit)), max(1, limit), begin, nice, requeue, *array,
        )  # fmt: skip
        for name, value in zip(self.columns, values, strict=True):
            self.columns[name].append(value)

    def drawn(self, run: Ints, limit: Ints) -> Table:
        """A copy with these run times and limits."""
        made = Table()
        made.requests, made.users = list(self.requests), dict(self.users)
        limit = np.maximum(1, limit)
        made.columns = {name: list(column) for name, column in self.columns.items()}
        made.columns |= {"run": np.clip(run, 1, limit).tolist(), "limit": limit.tolist()}
        return made

    def workload(self, *, epoch: int, on_site: bool) -> Workload:
        columns = self.columns
        order = np.argsort(np.array(columns["submit"]), kind="stable")
        asked = [self.requests[k] for k in order.tolist()]
        value = {name: np.array(column, np.int64)[order] for name, column in columns.items()}
        requests = Requests.of_jobs(
            asked, begin=value["begin"], nice=value["nice"], requeue=value["requeue"],
            array=value["array"], task=value["task"], throttle=value["throttle"],
        )  # fmt: skip
        return Workload.build(
            job_id=order + 1,
            submit=value["submit"],
            run=value["run"],
            procs=[one.cpus for one in asked],
            limit=value["limit"],
            request=value["limit"],
            user=value["user"],
            names={"user": tuple(self.users)},
            epoch=epoch,
            requests=requests if on_site else None,
        )


def open_site(site: Site) -> Site:
    """The site without what was decided before: what runs may go on, what waits may start.

    Bounds of partitions apply to whole jobs, not to the pieces of running ones; Slurm itself
    reports a waiting job that violates one.
    """
    partitions = tuple(
        replace(one, min_nodes=0, max_nodes=None, max_time=None, qos="", up=True)
        for one in site.partitions
    )
    return site.replace(partitions=partitions)


def _since_tick(site: Site, now: int) -> int:
    """Seconds from when usage was charged last: what runs owes what it used since.

    The model begins a second later, as the usage that it is given contains that charge.
    """
    following = first_tick(site, now) if has_factors(site) else None
    period = Weights.of(site).period
    return 0 if following is None else (period - following) % period - 1


def _whole(text: str, default: int) -> int:
    digits = text.split()[0] if text.split() else ""
    return int(digits) if digits.isdigit() else default
