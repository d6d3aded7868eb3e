"""Shares of waits: second by second against a plain reference, and they add up on every machine."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from conftest import examples
from shadowtime.cluster import Cluster
from shadowtime.cluster.cluster import dedicated
from shadowtime.cluster.site import Node, Reservation, Site
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.schedule import Schedule
from shadowtime.schedule.places import shares as hosts_of
from shadowtime.schedule.runs import runs, waits
from shadowtime.study.cause import Cause
from shadowtime.study.obstacles import obstacles
from shadowtime.study.wait_shares import wait_shares
from shadowtime.workload import Workload
from shadowtime.workload.request import Request, Requests
from verify.campaign import random_worlds


def naive(jobs: Workload, machine: Cluster, made: Schedule) -> dict[int, Counter[Cause]]:
    """Every second of every wait, from the definition of each cause."""
    every = runs(made)
    waiting = waits(made, every)
    spans = list(zip(waiting.row.tolist(), waiting.since.tolist(), waiting.until.tolist(),
                     strict=True))  # fmt: skip
    held = list(zip(every.row.tolist(), every.since.tolist(), every.until.tolist(), strict=True))
    alone = dedicated(jobs, machine).tolist()
    names = [host.name for host in machine.hosts]
    where = [0] * len(jobs)
    if machine.shape == "hosts":
        where = [names.index(hosts_of(place)[0][0]) if place else -1 for place in made.place]

    def left(now: int, gone: set[int]) -> list[list[int]]:
        """What is free on each host after everything that happens at a time."""
        free = [list(host.capacity) for host in machine.hosts]
        for row, since, until in held:
            if since <= now < until and row not in gone:
                host = where[row]
                for k in range(len(free[host])):
                    free[host][k] -= (
                        machine.hosts[host].capacity[k] if alone[row] else asked(row, k)
                    )
        return free

    def asked(row: int, k: int) -> int:
        name = machine.resources[k]
        return int(jobs.demand[row, jobs.resources.index(name)]) if name in jobs.resources else 0

    def fits(row: int, free: list[list[int]]) -> bool:
        for host, room in zip(machine.hosts, free, strict=True):
            if alone[row] and room != list(host.capacity):
                continue
            if all(asked(row, k) <= some for k, some in enumerate(room)):
                return True
        return False

    def cause(row: int, now: int) -> Cause:
        free = left(now, set())
        if not fits(row, free):
            together = [sum(column) for column in zip(*free, strict=True)]
            if len(free) > 1 and all(asked(row, k) <= some for k, some in enumerate(together)):
                return Cause.FRAGMENTATION
            user = jobs.user.tolist()
            own = {one for one in range(len(jobs)) if user[one] == user[row] >= 0}
            if own and fits(row, left(now, own)):
                return Cause.OWN
            wide = {one for one in range(len(jobs)) if 4 * jobs.procs[one] > machine.procs}
            return Cause.WIDE if fits(row, left(now, wide)) else Cause.FULL
        others = {one for one, since, until in spans if since <= now < until and one != row}
        if made.promised is not None and any(
            made.promised[one] >= 0 and made.blocked_at[one] <= now for one in others
        ):
            return Cause.PROMISES
        return Cause.PRIORITIES if any(one < row for one in others) else Cause.OTHER

    found: dict[int, Counter[Cause]] = {}
    for row, since, until in spans:
        for now in range(since, until):
            found.setdefault(row, Counter())[cause(row, now)] += 1
    return found


@pytest.mark.parametrize(
    ("shape", "policy"),
    [
        ("pool", "easy"),
        ("pool", "conservative"),
        ("pool", "fcfs"),
        ("pool", "pv-easy"),  # preempts
        ("hosts", "easy"),
    ],
)
def test_second_by_second(shape: str, policy: str) -> None:
    """By row and cause, and the sums are those of the waits."""
    chosen, seen = parse_policy(policy), Counter()
    for jobs, machine in random_worlds(shape, examples(60)):
        made = simulate(jobs, machine, chosen)
        if int(made.end.max(initial=0)) > 3000:
            continue  # second by second
        reference = naive(jobs, machine, made)
        for row in range(len(jobs)):
            only = np.arange(len(jobs)) == row
            found = wait_shares(jobs, machine, made, only=only)
            expected = reference.get(row, Counter())
            assert {one.cause: one.seconds for one in found.shares} == dict(expected)
        whole = wait_shares(jobs, machine, made)
        every = waits(made, runs(made))
        assert whole.seconds == sum(one.seconds for one in whole.shares)
        assert whole.seconds == int((every.until - every.since).sum())
        assert not whole.shares or sum(one.share for one in whole.shares) == pytest.approx(1)
        seen.update({one.cause: one.seconds for one in whole.shares})
    assert len(seen) >= 3  # the worlds show more than one cause


@pytest.mark.parametrize("policy", ["easy", "conservative", "slurm"])
def test_they_add_up_on_sites(policy: str) -> None:
    """As long as each job's wait, with limits, reservations and outages."""
    chosen = parse_policy(policy)
    for jobs, site in random_worlds("site", examples(40)):
        if policy == "slurm":  # tasks of an array have numbers of their own there
            jobs = jobs.replace(requests=replace(jobs.requests, task=np.arange(len(jobs))))
        made = simulate(jobs, site, chosen)
        for row in range(len(jobs)):
            only = np.arange(len(jobs)) == row
            found = wait_shares(jobs, site, made, only=only)
            told = sum(one.until - one.since for one in obstacles(jobs, site, made, row))
            assert found.seconds == told == sum(one.seconds for one in found.shares)
            if made.start[row] >= 0 and not made.kills[row]:
                assert told == made.wait[row]


def test_a_site_by_hand() -> None:
    """Two nodes of four cpus: one free on each is not two on one; then a reservation of both."""
    site = Site(
        nodes=(Node(name="n1", amounts=(4,)), Node(name="n2", amounts=(4,))),
        reservations=(Reservation(name="r", nodes=("n1", "n2"), begin=600, end=700),),
    )
    one = [Request(tasks=3, max_nodes=1), Request(tasks=3, max_nodes=1)]
    jobs = Workload.build(
        submit=[0, 0, 1, 2], run=[100, 100, 50, 500], procs=[3, 3, 2, 8],
        request=[100, 100, 50, 550], user=[1, 2, 3, 1], epoch=0,
        requests=Requests.of_jobs([*one, Request(tasks=2, max_nodes=1), Request(nodes=2, tasks=8)]),
    )  # fmt: skip
    made = simulate(jobs, site, parse_policy("easy"))
    assert made.start.tolist() == [0, 0, 100, 700]

    def seconds(row: int) -> dict[str, int]:
        found = wait_shares(jobs, site, made, only=np.arange(4) == row)
        return {str(one.cause): one.seconds for one in found.shares}

    assert seconds(2) == {"fragmentation": 99}
    assert seconds(3) == {"wide jobs": 98, "reservations": 600}
    both = wait_shares(jobs, site, made)
    assert both.seconds == 99 + 98 + 600 and both["reservations"] == 600 / both.seconds
    assert [one.job for one in both.shares[0].examples] == [4]


def test_of_many_waits_on_a_site_some_are_looked_at() -> None:
    site = Site(nodes=(Node(name="n1", amounts=(1,)),))
    jobs = Workload.build(submit=[0] * 9, run=[5] * 9, procs=[1] * 9)
    found = wait_shares(jobs, site, simulate(jobs, site, parse_policy("easy")), most=4)
    assert (found.jobs, found.waited, found.looked_at) == (9, 8, 4)
    assert sum(one.seconds for one in found.shares) == found.seconds > 0


def test_nobody_waited() -> None:
    jobs = Workload.build(submit=[0, 9], run=[5, 5], procs=[1, 1])
    found = wait_shares(
        jobs, Cluster.pool(4), simulate(jobs, Cluster.pool(4), parse_policy("easy"))
    )
    assert found.seconds == found.waited == 0 and found.shares == ()
