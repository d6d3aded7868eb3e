"""Runs on a site whose queue is in the order of Slurm's multifactor priority.

The event loop and the passes are those of every other order, one pass at a time: before a pass
the usage of accounts is brought up to date and the pass is handed the priorities as keys. The
rules are in docs/policies/multifactor.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shadowtime.cluster.site import Association, Site
from shadowtime.engine.events import PASS_DUE, ROOM_NEEDED
from shadowtime.engine.priority.factors import Factors, billing_of, claim_of, priorities_of
from shadowtime.engine.priority.shares import Branch, Shares
from shadowtime.engine.priority.weights import Weights
from shadowtime.engine.saved import Pauses
from shadowtime.engine.site import steps
from shadowtime.engine.site.asks import user_name
from shadowtime.engine.site.plan import Prepared
from shadowtime.engine.site.run_tables import PreparedRun, with_more_room
from shadowtime.errors import PolicyError
from shadowtime.kernel.fields import PROCS, WHICH
from shadowtime.kernel.registers import ARRIVED, BIG, DECISIONS, NOW, QUEUE_FROM, WAITING
from shadowtime.kernel.site import fields as f
from shadowtime.kernel.state import State
from shadowtime.policy import Policy
from shadowtime.types import Floats, Ints
from shadowtime.workload import Workload
from shadowtime.workload.request import Requests
from shadowtime.workload.site_requests import requests_of

CHANGING = ("shares", "branch", "running", "eligible", "next_tick", "ranked")
"""What of the priorities changes in a run; running jobs share the branches of the tree."""


def run_by_priority(
    workload: Workload,
    site: Site,
    policy: Policy,
    chosen: Prepared,
    made: PreparedRun,
    pauses: Pauses,
) -> tuple[State, f.Ground, dict[str, int]]:
    """Run a workload; returns the tables as they are at the end, and counts for the reader."""
    arguments = chosen.arguments(made.ground)
    keys = None if chosen.keeps else arguments[0].memory
    queue = Priorities(workload, site, policy, made, keys)
    held = made.state, made.world, made.ground, made.events, arguments, queue.keys
    (state, world, ground, events, arguments, _), more = pauses.continued(held)
    queue.continued(more)
    while True:
        code = steps.go_to_pass(state, world, ground, events)
        if code == ROOM_NEEDED:
            held = state, world, ground, events, arguments, queue.keys
            if not pauses.paused(held, queue.known):
                state, ground = with_more_room(state, ground)
            continue
        if code != PASS_DUE:
            return state, ground, queue.counters
        queue.before_pass(state, ground)
        while chosen.decide_once(state, ground, *arguments) == ROOM_NEEDED:
            state, ground = with_more_room(state, ground)
        queue.after_pass(state, ground)
        steps.finish_pass(state, world, ground, events)


@dataclass(slots=True)
class Running:
    """A running job: its association, what a second costs, and since when."""

    branch: Branch | None
    billing: float
    start: int


class Priorities:
    """Usage and priorities along one run.

    ``keys`` is the table that a pass is handed. Without one (promises that are kept) the order is
    written into the jobs' tiers: a rank by (tier, priority) instead of the tier alone.
    """

    def __init__(
        self, workload: Workload, site: Site, policy: Policy, made: PreparedRun, keys: Floats | None
    ) -> None:
        self.weights = weights_of(policy, site)
        requests = requests_of(workload, site)
        self.site, self.asks = site, made.asks
        self.charges_ends = bool(site.enforce & {"limits", "safe"})
        self.shares = Shares(associations_of(workload, site, requests), self.weights)
        self.shares.last = float(workload.submit[0]) if len(workload) else 0.0
        self.next_tick = int(self.shares.last) + self.weights.period
        self.ranked = True
        self.branch, self.whose = branches_of(self.shares, workload, requests)
        if self.weights.fair_share and not any(self.branch) and len(workload):
            raise PolicyError(
                f"{policy.name}: no job of {workload.name} belongs to an association of the site "
                "(or none has a user): give the accounts of the log, or fair_share=0"
            )
        self.kind = requests.index
        self.nice = requests.nice.astype(np.float64)
        factors = Factors(site, self.weights)
        claims = [claim_of(one, site) for one in requests.distinct]
        self.terms = [
            np.array([factors.terms(one, tested=tested) for one in claims]).reshape(len(claims), -1)
            for tested in (False, True)
        ]
        self.eligible: Ints = np.full(len(workload), -1, np.int64)
        """When the job entered the queue, -1 while it is outside."""
        self.keys = np.zeros((len(workload), 1)) if keys is None else keys
        self.tier = None if keys is not None else made.ground.job[:, f.TIER].copy()
        self.running: dict[int, Running] = {}
        self.node_at = made.node_at
        without = sum(self.branch[at] is None for at in self.whose.tolist())
        self.counters = {"without_association": without}

    @property
    def known(self) -> dict[str, Any]:
        """What a run changes here beside the keys, for a checkpoint."""
        return {name: getattr(self, name) for name in CHANGING}

    def continued(self, known: dict[str, Any] | None) -> None:
        """Go on from a checkpoint."""
        vars(self).update(known or {})

    def before_pass(self, state: State, ground: f.Ground) -> None:
        """Ticks up to now, what has ended, and priorities for jobs that entered the queue."""
        now = int(state.reg[NOW])
        ticked = self._ticks(now - 1)
        ended = self._ends(ground, now)
        ticked |= self._ticks(now)
        rows = waiting_rows(state)
        changed = ticked or ended
        if ticked:
            last = self.next_tick - self.weights.period
            self._set(rows[self.eligible[rows] >= 0], last, tested=True)
        fresh = rows[self.eligible[rows] < 0]
        if len(fresh):
            self.eligible[fresh] = now
            self._set(fresh, now, tested=False)
            changed = True
        if self.tier is not None and changed:
            self._rank(ground, rows)

    def after_pass(self, state: State, ground: f.Ground) -> None:
        """Note the jobs that started, and what a second of each costs."""
        now = int(state.reg[NOW])
        for row in state.did[WHICH, : int(state.reg[DECISIONS])].tolist():
            self.eligible[row] = -1
            branch = self.branch[int(self.whose[row])]
            self.running[row] = Running(branch, self._billing(ground, row), now)

    def _ticks(self, until: int) -> bool:
        """Every calculation up to an instant; True if there was one."""
        any_tick = False
        while self.next_tick <= until:
            runs = [self.running[row] for row in sorted(self.running)]
            self.shares.tick(
                self.next_tick,
                [-1 if one.branch is None else one.branch.at for one in runs],
                [one.billing for one in runs],
                [one.start for one in runs],
            )
            self.next_tick += self.weights.period
            self.ranked = False
            any_tick = True
        return any_tick

    def _ends(self, ground: f.Ground, now: int) -> bool:
        """Forget what has ended; the rest of it is charged where limits are enforced.

        spec: slurm 5.5.
        """
        rows = np.array(sorted(self.running), np.int64)
        over = rows[ground.job[rows, f.PHASE] != f.RUNS].tolist()
        for row in over:
            one = self.running.pop(row)
            if self.charges_ends:
                unpaid = self.shares.unpaid(now, one.start)
                self.shares.charge(one.branch, one.billing * unpaid)
        return bool(over)

    def _set(self, rows: Ints, now: int, *, tested: bool) -> None:
        """Priorities of some jobs at an instant: the sum of engine/priority, for all at once."""
        if not self.ranked:
            self.shares.rank()
            self.ranked = True
        factor = np.array([one.factor if one else 0.0 for one in self.branch])
        standing = np.array([one.standing if one else 0.0 for one in self.branch])
        whose = self.whose[rows]
        self.keys[rows, 0] = priorities_of(
            self.weights,
            age=now - self.eligible[rows],
            factor=factor[whose],
            standing=standing[whose],
            terms=self.terms[tested][self.kind[rows]],
            nice=self.nice[rows],
        )

    def _rank(self, ground: f.Ground, rows: Ints) -> None:
        """Write the order of the waiting jobs into their tiers; equal ones stay by arrival."""
        assert self.tier is not None
        both = np.stack([self.tier[rows].astype(np.float64), self.keys[rows, 0]])
        ground.job[rows, f.TIER] = np.unique(both, axis=1, return_inverse=True)[1].reshape(-1)
        ground.mark[f.TIERS] = 1

    def _billing(self, ground: f.Ground, row: int) -> float:
        """What a second of a job costs on the nodes it holds."""
        shape = self.asks.shapes[int(ground.job[row, f.SHAPE])]
        first, count = ground.job[row, [f.PLACE_FROM, f.PLACE_COUNT]].tolist()
        site = self.site
        memory = site.resources.index("memory") if "memory" in site.resources else -1
        held = [0] * len(site.resources)
        for entry in ground.place[first : first + count].tolist():
            capacity = site.nodes[int(self.node_at[entry >> 32])].amounts
            taken = shape.amounts(capacity, entry & 0xFFFFFFFF, memory)
            held = [a + b for a, b in zip(held, taken, strict=True)]
        weights = site.partitions[shape.partition].billing if site.partitions else {}
        return billing_of({**dict(zip(site.resources, held, strict=True)), "nodes": count}, weights)


def waiting_rows(state: State) -> Ints:
    """The waiting jobs, by row."""
    reg = state.reg
    if reg[WAITING] == 0:
        return np.empty(0, np.int64)
    first = int(reg[QUEUE_FROM])
    found: Ints = first + np.flatnonzero(state.wait[PROCS, first : int(reg[ARRIVED])] != BIG)
    return found


def weights_of(policy: Policy, site: Site) -> Weights:
    """The site's weights with those of the policy in their place."""
    found = Weights.of(site).changed(getattr(policy.order, "changes", {}))
    if not found.weighs:
        raise PolicyError(
            f"{policy.name}: no PriorityWeight of the machine's configuration is set, so every job "
            "would have the same priority: give weights, as in "
            "order=multifactor(age=1000, fair_share=10000)"
        )
    return found


def associations_of(workload: Workload, site: Site, requests: Requests) -> tuple[Association, ...]:
    """The site's accounts; where it has none, one with an equal share for each user of the log."""
    if any(one.user for one in site.associations):
        return site.associations
    users = np.unique(workload.user[workload.user >= 0]).tolist()
    names = dict.fromkeys(user_name(workload, number) for number in users)
    return tuple(Association(account="root", user=name) for name in names if name)


def branches_of(
    shares: Shares, workload: Workload, requests: Requests
) -> tuple[list[Branch | None], Ints]:
    """The distinct places of the jobs in the tree, and which one each job has."""
    own_accounts = any(account != "root" and user for account, user in shares.branches)
    found: dict[tuple[str, int], int] = {}
    branches: list[Branch | None] = []
    accounts = [one.account if own_accounts else "" for one in requests.distinct]
    whose = np.empty(len(workload), np.int64)
    for row, (kind, user) in enumerate(
        zip(requests.index.tolist(), workload.user.tolist(), strict=True)
    ):
        key = (accounts[kind], user)
        if key not in found:
            found[key] = len(branches)
            branches.append(shares.find(key[0], user_name(workload, user)))
        whose[row] = found[key]
    return branches, whose
