"""The multi-host reference on small machines, by hand and against the pool."""

from __future__ import annotations

import random

import pytest

from naive import shorthand as naive
from naive import shorthand as naive_hosts
from shadowtime.verify.world import BACKFILLED, HEAD, RESERVED, Job


def job(id, submit, need, request, run=None):
    return Job(id, submit, need, request, request if run is None else run, request)


def starts(outcome):
    return {row.id: row.start for row in outcome.result.rows}


def reasons(outcome):
    return {row.id: row.reason for row in outcome.result.rows}


HOSTS = [(8, 10), (8, 10), (4, 4)]
DEDICATED = (4, 6)  # above this, in either, a job takes its whole host


def test_best_fit_dedicated_hosts_and_one_reservation():
    jobs = [
        job(1, 0, (3, 2), 10),  # leaves one processor on host 2, five elsewhere
        job(2, 0, (2, 3), 10),  # not on host 2 any more; 0 before 1
        job(3, 1, (4, 1), 5),  # two left on host 0, four on host 1
        job(4, 2, (6, 1), 4),  # dedicated: host 1 is the only empty one
        job(5, 3, (5, 5), 4),  # dedicated: host 1 at 6, host 0 only at 10
        job(6, 4, (2, 2), 20),  # host 0
        job(7, 4, (1, 2), 1),  # what is left of host 2
    ]
    outcome = naive_hosts.dyn_k(jobs, HOSTS, depth=1, key="fcfs", dedicated=DEDICATED)
    assert starts(outcome) == {1: 0, 2: 0, 3: 1, 4: 2, 5: 6, 6: 4, 7: 4}
    assert outcome.place == {1: 2, 2: 0, 3: 0, 4: 1, 5: 1, 6: 0, 7: 2}
    assert reasons(outcome)[5] == RESERVED
    assert reasons(outcome)[6] == reasons(outcome)[7] == BACKFILLED


CLASSES = [
    job(1, 0, (6, 1), 10),  # large: host 0, class one
    job(2, 0, (3, 1), 20),  # small, long: class two, host 2 fits best
    job(3, 1, (5, 1), 4),
    job(4, 1, (5, 1), 4),
    job(5, 1, (5, 1), 4),
    job(6, 2, (4, 4), 5),  # short (5 <= 5)
    job(7, 2, (4, 7), 3),  # small, short, dedicated by its memory
    job(8, 3, (4, 1), 3),
    job(9, 4, (1, 1), 5),
]
OPTIONS = {"class_one": [0], "short": 5, "large": 4, "key": "fcfs", "dedicated": DEDICATED}


def test_part_l_sm():
    outcome = naive_hosts.part_l_sm(CLASSES, HOSTS, **OPTIONS)
    assert starts(outcome) == {1: 0, 2: 0, 3: 10, 4: 14, 5: 18, 6: 2, 7: 7, 8: 3, 9: 4}
    assert outcome.place == {1: 0, 2: 2, 3: 0, 4: 0, 5: 0, 6: 1, 7: 1, 8: 1, 9: 2}


def test_part_l_a():
    outcome = naive_hosts.part_l_a(CLASSES, HOSTS, **OPTIONS)
    assert starts(outcome) == {1: 0, 2: 0, 3: 1, 4: 5, 5: 9, 6: 10, 7: 13, 8: 10, 9: 4}
    assert outcome.place == {1: 0, 2: 2, 3: 1, 4: 1, 5: 1, 6: 0, 7: 1, 8: 0, 9: 2}
    rows = {row.id: row for row in outcome.result.rows}
    assert (rows[6].blocked_at, rows[6].promised, rows[6].reason) == (9, 13, RESERVED)
    assert (rows[7].blocked_at, rows[7].promised, rows[7].reason) == (10, 13, RESERVED)
    assert (rows[8].blocked_at, rows[8].promised, rows[8].reason) == (-1, -1, BACKFILLED)
    assert rows[1].reason == HEAD


def random_jobs(seed, n=14):
    draw = random.Random(seed)
    jobs = []
    for i in range(n):
        request = draw.randint(1, 12)
        need = (draw.choice((1, 2, 3, 4, 5, 6, 8)), draw.randint(0, 4))
        jobs.append(job(i, draw.randint(0, 20), need, request, draw.randint(1, request)))
    return jobs


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("key", ["fcfs", "lxfw", "lpf"])
def test_one_host_is_a_pool(seed, key):
    jobs = random_jobs(seed)
    for depth in (1, 2, 4):
        host = naive_hosts.dyn_k(jobs, [(9, 8)], depth=depth, key=key, dedicated=None)
        assert host.result == naive.reservations(jobs, (9, 8), depth=depth, key=key)


@pytest.mark.parametrize("seed", range(60))
def test_the_second_reservation_of_a_host_changes_nothing_in_l_sm(seed):
    options = {**OPTIONS, "key": "lxfw"}
    once = naive_hosts.part_l_sm(random_jobs(seed), HOSTS, times=1, **options)
    twice = naive_hosts.part_l_sm(random_jobs(seed), HOSTS, times=2, **options)
    assert starts(once) == starts(twice)


def test_but_it_does_with_two_class_one_hosts():
    """Then a large job may wait for the host that is soon free again and leave the other open."""
    needs = [(4, 10, 4), (2, 10, 0), (2, 40, 4), (1, 10, 3), (4, 2, 3), (4, 2, 3), (2, 40, 1)]
    jobs = [job(i, at, (p, 1), length, length) for i, (p, length, at) in enumerate(needs)]
    options = {"class_one": [0, 1], "short": 50, "large": 2, "dedicated": (2, 9), "key": "lxfw"}
    hosts = [(4, 4)] * 3
    once = starts(naive_hosts.part_l_sm(jobs, hosts, times=1, **options))
    twice = starts(naive_hosts.part_l_sm(jobs, hosts, times=2, **options))
    assert {i: (once[i], twice[i]) for i in once if once[i] != twice[i]} == {2: (5, 4)}


def test_but_it_does_without_exclusivity():
    hosts = [(8, 9), (4, 9)]
    jobs = [
        job(1, 0, (6, 0), 5),  # large, host 0
        job(2, 0, (4, 0), 30),  # fills class two
        job(3, 1, (5, 0), 3),  # large: host 0 at 5
        job(4, 1, (8, 0), 3),  # large: host 0 at 8, if 5 + 8 processors may be reserved
        job(5, 1, (2, 0), 9),  # short: beside 1 and 3, but not beside 4
    ]
    options = {**OPTIONS, "short": 9, "dedicated": None}
    once = naive_hosts.part_l_sm(jobs, hosts, times=1, **options)
    twice = naive_hosts.part_l_sm(jobs, hosts, times=2, **options)
    assert starts(once) == {1: 0, 2: 0, 3: 5, 4: 10, 5: 1}
    assert starts(twice) == {1: 0, 2: 0, 3: 5, 4: 8, 5: 11}


def test_and_it_does_in_l_a():
    hosts = [(8, 9), (8, 9)]
    jobs = [
        job(1, 0, (6, 0), 5),  # large, host 0
        job(2, 0, (4, 0), 20),  # host 1
        job(3, 1, (5, 0), 3),  # large: host 0 at 5
        job(4, 1, (5, 0), 3),  # large: host 0 at 8 or, if one is the cap, host 1 at 20
        job(5, 1, (4, 0), 30),  # would be in the way of 4 on host 1
    ]
    once = naive_hosts.part_l_a(jobs, hosts, times=1, **OPTIONS)
    twice = naive_hosts.part_l_a(jobs, hosts, times=2, **OPTIONS)
    assert starts(twice) == {1: 0, 2: 0, 3: 5, 4: 8, 5: 1}
    # at 5 job 3 runs and 4 holds host 0 at 8, so that 5 is free to go
    assert starts(once) == {1: 0, 2: 0, 3: 5, 4: 8, 5: 5}


def test_a_large_job_reserves_in_class_two_only_if_that_is_strictly_earlier():
    jobs = [
        job(1, 0, (6, 0), 5),  # large, host 0
        job(2, 0, (6, 0), 5),  # large, host 1
        job(3, 1, (8, 0), 3),  # both hosts at 5: class one
        job(4, 1, (2, 0), 10),  # so nothing stands in its way on host 1
    ]
    outcome = naive_hosts.part_l_a(jobs, [(8, 9), (8, 9)], **{**OPTIONS, "dedicated": None})
    assert starts(outcome) == {1: 0, 2: 0, 3: 5, 4: 1}
    assert outcome.place == {1: 0, 2: 1, 3: 0, 4: 1}
