"""priority/multifactor in runs of Slurm's own scheduler: its jobs, charged and ranked by ticks."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.site import Site
from shadowtime.engine.priority.factors import (
    Claim,
    Factors,
    parts_of,
    priorities_of,
    priority_of,
)
from shadowtime.engine.priority.shares import Shares
from shadowtime.engine.priority.weights import Weights
from shadowtime.slurm.ageing import hold_age, let_age
from shadowtime.slurm.from_site import setting
from shadowtime.slurm.job import Job
from shadowtime.slurm.limits import Accounts
from shadowtime.slurm.rules import Rules
from shadowtime.slurm.running import running_of
from shadowtime.types import Floats, Ints

if TYPE_CHECKING:
    from shadowtime.slurm.ask import Ask


FORGET = 1000
"""So many jobs that wait no longer are kept among those that do."""
READS_STATE = 1
"""Seconds that slurmctld takes to read its state, where it does so before priorities tick."""
ZONES = 14 * 3600
"""BOOT_TIME is a local time, so that it may look that much later than it was."""


def first_tick(site: Site, epoch: int | None) -> int | None:
    """Seconds from the log's zero to its first tick, if ``scontrol show config`` shows it.

    Ticks count from slurmctld's start (BOOT_TIME; spec: slurm 5.2), up to 22.05 from a second
    later; None if it is not known, or slurmctld was restarted since the log began. Zones are whole
    quarters of an hour apart, so that which one it is makes no difference to usual periods.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> config = {"BOOT_TIME": "1970-01-02T00:00:25", "PriorityCalcPeriod": "00:01:00"}
    >>> site = Site(nodes=(Node(name="a", amounts=(1,)),), config=config)
    >>> first_tick(site, 90_000), first_tick(site, None)
    (26, None)
    """
    booted = setting(site.config, "BOOT_TIME")
    if epoch is None or not booted:
        return None
    try:
        boot = int(datetime.fromisoformat(booted).replace(tzinfo=UTC).timestamp())
    except ValueError:
        return None
    if boot > epoch + ZONES:
        return None
    late = 0 if Rules.of_config(site.config).priorities_first else READS_STATE
    return (boot + late - epoch) % Weights.of(site).period


class Multifactor:
    """Usage and factors; :meth:`tick` at every PriorityCalcPeriod, :meth:`of` in between."""

    def __init__(self, site: Site) -> None:
        self.weights = Weights.of(site)
        self.shares = Shares(site.associations, self.weights)
        self.factors = Factors(site, self.weights)
        self.exclusive = {one.name for one in site.partitions if one.exclusive}
        self._terms: dict[tuple[int, str, str, bool], tuple[Ask, tuple[float, ...]]] = {}
        """By the ask itself, partition and QOS: logs hold many jobs and few requests."""
        self._rows: dict[int, int] = {}
        """Rows of these, by job:"""
        self._rests_on: Ints = np.zeros((0, 3), np.int64)
        """The place of its association, since when it ages, and its nice."""
        self._terms_by_row: Floats = np.zeros((0, 0))

    def __getstate__(self) -> dict[str, object]:
        """For checkpoints: requests are other objects in another process."""
        return {**vars(self), "_terms": {}}

    @property
    def last(self) -> float | None:
        """The last tick."""
        return self.shares.last

    def charge(self, job: Job, seconds: float) -> None:
        """Charge an interval of a job's billing to its user and everything above."""
        self.shares.charge(self.shares.find(job.account, job.user), job.billing * seconds)

    def tick(self, now: float, running: list[Job]) -> None:
        """Decay, charge running jobs since the last tick or their start, and rank anew.

        spec: slurm 5.4.
        """
        place, billing, start = running_of(running).charged(self.shares.place)
        self.charge_all(now, place.astype(np.int64), billing, start)

    def charge_all(self, now: float, place: Ints, billing: Floats, start: Floats) -> None:
        """As :meth:`tick`, by columns: places of associations, what a second costs, starts."""
        self.shares.tick(now, place, billing, start)
        self.shares.rank()

    def note(self, job: Job, *, tested: bool) -> None:
        """Write down what the priority of a waiting job rests on, for :meth:`of_all`."""
        terms = self._terms_of(job, tested=tested)
        row = self._rows.setdefault(job.id, len(self._rows))
        if row >= len(self._terms_by_row):
            self._make_room(len(terms))
        since = job.eligible if job.ages_from is None else job.ages_from
        self._rests_on[row] = self.shares.place(job.account, job.user), since, job.nice
        self._terms_by_row[row] = terms

    def _make_room(self, terms: int) -> None:
        count = len(self._terms_by_row)
        more = np.zeros((count + 64, terms))
        self._terms_by_row = np.concatenate([self._terms_by_row.reshape(-1, terms), more])
        self._rests_on = np.concatenate([self._rests_on, np.zeros((count + 64, 3), np.int64)])

    def of_all(self, ids: Sequence[int], now: float, *, keep: Sequence[int] = ()) -> Ints:
        """The priorities of many jobs, as :meth:`of` tells them; all were noted.

        ``keep``: jobs of which what was noted is kept as well.
        """
        if not ids:
            return np.zeros(0, np.int64)
        if len(self._rows) > 2 * len(ids) + FORGET:
            kept = list(dict.fromkeys((*ids, *keep)))
            old = np.fromiter(map(self._rows.__getitem__, kept), np.int64, len(kept))
            self._rests_on, self._terms_by_row = self._rests_on[old], self._terms_by_row[old]
            self._rows = {number: row for row, number in enumerate(kept)}
        rows = np.fromiter(map(self._rows.__getitem__, ids), np.int64, len(ids))
        place, since, nice = self._rests_on[rows].T
        made = priorities_of(
            self.weights,
            age=now - since,
            factor=self.shares.factor[place],
            standing=self.shares.standing[place],
            terms=self._terms_by_row[rows],
            nice=nice,
        )
        return np.asarray(made.astype(np.int64))

    def of(self, job: Job, now: float, *, tested: bool) -> int:
        """A job's priority; ``tested``: a pass has found which cpus it would get.

        spec: slurm 5.3.
        """
        return priority_of(self.parts(job, now, tested=tested), job.nice)

    def parts(self, job: Job, now: float, *, tested: bool) -> dict[str, float]:
        """What each factor adds to a job's priority, by sprio's names; nice is not among them."""
        since = job.eligible if job.ages_from is None else job.ages_from
        return parts_of(
            self.weights,
            age=now - since,
            branch=self.shares.find(job.account, job.user),
            terms=self._terms_of(job, tested=tested),
        )

    def _terms_of(self, job: Job, *, tested: bool) -> tuple[float, ...]:
        ask = job.ask
        key = (id(ask), job.partitions[0], job.qos, tested)
        if key not in self._terms:
            memory = ask.memory or 0
            claim = Claim(
                nodes=ask.min_nodes,
                cpus=ask.min_cpus,
                whole=ask.exclusive or job.partitions[0] in self.exclusive,
                partition=job.partitions[0],
                qos=job.qos,
                memory=memory * (ask.min_cpus if ask.memory_per_cpu else ask.min_nodes),
                gpus=ask.job_gpus or ask.gpus * ask.min_nodes,
            )
            self._terms[key] = ask, self.factors.terms(claim, tested=tested)
        return self._terms[key][1]


class RunPriorities:
    """The priorities of one run's waiting jobs, and the usage that limits and ticks count (5).

    Under priority/basic there are no ticks, and the priorities of submission stay.
    """

    def __init__(self, site: Site, accounts: Accounts) -> None:
        self.site, self.accounts = site, accounts
        multifactor = "multifactor" in setting(site.config, "PriorityType")
        self.factors = Multifactor(site) if multifactor else None
        self.tested: set[int] = set()
        """Jobs for which a pass has found which cpus they would get."""
        self.entered: list[int] = []
        """Jobs that have entered the queue since the last such pass."""

    def first_tick(self, *, epoch: int | None, opening: int, offset: float) -> float | None:
        """The first tick from ``opening`` on; None without any.

        ``offset``, a part of the period, is used if the site records none.
        """
        factors = self.factors
        if factors is None:
            return None
        period = factors.weights.period
        known = first_tick(self.site, epoch)
        # Not before the opening: the usage of then contains the charges of earlier ticks.
        ahead = period * offset if known is None else (known - opening) % period
        first = opening + float(ahead)
        factors.shares.last = first - period
        return first

    def tick(self, time: float, running: list[Job], waiting: Collection[Job]) -> float:
        """PriorityCalcPeriod: recompute usage and all priorities; returns the next tick.

        spec: slurm 5.2.
        """
        factors, accounts, now = self.factors, self.accounts, math.floor(time)
        assert factors is not None
        accounts.fade(factors.shares.fade_to(now))
        if accounts.bounds_any_minutes:
            for job in running:
                accounts.charge(job, factors.shares.unpaid(now, job.start))
        factors.tick(now, running)
        accounts.counted_to = now
        if accounts.enforced and accounts.bounds_ageing:
            for job in waiting:
                factors.note(job, tested=job.id in self.tested)
        made = factors.of_all([job.id for job in waiting], now)
        for job, priority in zip(waiting, made.tolist(), strict=True):
            job.priority = priority
        return time + factors.weights.period

    def ticked(
        self,
        time: float,
        charged: tuple[Ints, Floats, Floats],
        ids: Sequence[int],
        *,
        keep: Sequence[int],
    ) -> tuple[float, Ints]:
        """As :meth:`tick`, by columns of the running jobs; the next tick, and priorities by id."""
        factors, accounts, now = self.factors, self.accounts, math.floor(time)
        assert factors is not None
        accounts.fade(factors.shares.fade_to(now))
        factors.charge_all(now, *charged)
        accounts.counted_to = now
        return time + factors.weights.period, factors.of_all(ids, now, keep=keep)

    def enter(self, job: Job, now: int) -> None:
        """A job enters the queue."""
        if self.factors is not None:
            job.eligible = now
            hold_age(self.accounts, job)
            job.priority = self.factors.of(job, now, tested=False)
            self.factors.note(job, tested=job.id in self.tested)
            self.entered.append(job.id)

    def before_pass(self, waiting: Mapping[int, Job], now: int, *, tests: bool) -> None:
        """A pass begins; ``tests``: it finds which cpus jobs would get."""
        if self.factors is None:
            return
        if tests and self.entered:
            for number in self.entered:
                if number in waiting:
                    self.tested.add(number)
                    self.factors.note(waiting[number], tested=True)
            self.entered.clear()
        if self.accounts.enforced and self.accounts.bounds_ageing:
            let_age(self.accounts, waiting.values(), now)

    def end(self, job: Job, time: float) -> None:
        """A job has ended: what it used since the last tick counts where limits are enforced."""
        factors = self.factors
        if factors is not None and self.accounts.enforced and factors.last is not None:
            since = factors.shares.unpaid(time, job.start)
            factors.charge(job, since)
            self.accounts.charge(job, since)
