"""The node reference: contention, selection and Slurm's rules, by hand and by identities."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from naive import nodes as naive_nodes
from naive.nodes import Machine, NodeJob
from shadowtime.verify.world import BACKFILLED, HEAD, RESERVED


def job(id, submit, procs, request, run=None, *, b=0, tag=""):
    run = request if run is None else run
    return NodeJob(id, submit, (procs,), request, run, request, bandwidth=b, tag=tag)


def rows(outcome):
    return {row.id: (row.start, row.end, row.killed) for row in outcome.result.rows}


def starts(outcome):
    return {row.id: row.start for row in outcome.result.rows}


ONE = Machine(nodes=1)
TWO = Machine(nodes=2)


def test_two_jobs_on_one_node_slow_each_other_down():
    jobs = [job(1, 0, 2, 20, 10, b=2000), job(2, 0, 2, 20, 10, b=2000)]
    outcome = naive_nodes.ff(jobs, ONE)  # 8000 of 6000: three quarters of the speed
    assert rows(outcome) == {1: (0, 14, 0), 2: (0, 14, 0)}
    assert outcome.penalised == {1: Fraction(10, 3), 2: Fraction(10, 3)}


def test_work_is_kept_exact_when_neighbours_come_and_go():
    jobs = [job(1, 0, 2, 20, 10, b=2000), job(2, 4, 2, 20, 10, b=2000)]
    outcome = naive_nodes.ff(jobs, ONE)
    # 1: four seconds alone, six of work in eight; 2: six of work by then, four alone
    assert rows(outcome) == {1: (0, 12, 0), 2: (4, 16, 0)}
    assert outcome.penalised == {1: 2, 2: 2}


def test_the_limit_does_not_kill_a_job_that_ends_in_that_second():
    jobs = [job(1, 0, 2, 12, 10, b=2000), job(2, 4, 2, 20, 10, b=2000)]
    assert rows(naive_nodes.ff(jobs, ONE))[1] == (0, 12, 0)
    jobs[0] = job(1, 0, 2, 11, 10, b=2000)
    outcome = naive_nodes.ff(jobs, ONE)
    assert rows(outcome) == {1: (0, 11, 1), 2: (4, 16, 0)}
    assert outcome.penalised == {2: Fraction(7, 4)}  # 5.25 by 11, done at 15.75


def test_a_job_ends_with_its_slowest_node():
    jobs = [job(1, 0, 2, 99, 12, b=2000), job(2, 0, 4, 99, 12, b=2000)]
    outcome = naive_nodes.ff(jobs, TWO)  # node 0: 1 1 2 2, node 1: 2 2
    assert outcome.place == {1: {0: 2}, 2: {0: 2, 1: 2}}
    assert rows(outcome) == {1: (0, 16, 0), 2: (0, 16, 0)}


def test_minimax_spreads_where_first_fit_saturates():
    jobs = [job(1, 0, 2, 20, b=2000), job(2, 1, 2, 5, b=2000)]
    assert naive_nodes.ff(jobs, TWO).place[2] == {0: 2}
    for outcome in (naive_nodes.lc(jobs, TWO), naive_nodes.lct(jobs, TWO, theta=100)):
        assert outcome.place[2] == {0: 1, 1: 1}
        assert starts(outcome) == {1: 0, 2: 1}


def test_minimax_ties_go_to_the_node_already_used():
    machine = Machine(nodes=2, cores=4, cap=1000)
    jobs = [job(1, 0, 1, 50, b=900), job(2, 0, 1, 50, b=700), job(3, 1, 2, 10, b=200)]
    # 3: its first process costs nothing on node 1, its second 100 over on either
    assert naive_nodes.lct(jobs, machine, theta=150).place == {1: {0: 1}, 2: {1: 1}, 3: {1: 2}}


WAIT_OR_SHARE = [job(1, 0, 2, 20, 10, b=2000), job(2, 1, 2, 5, b=2000)]


def test_lc_looks_one_request_ahead():
    # now: 5 s at 2000 over, penalty factor 4/3; the next bucket starts at 20, past 1 + 5
    outcome = naive_nodes.lc(WAIT_OR_SHARE, ONE)
    assert rows(outcome) == {1: (0, 12, 0), 2: (1, 6, 1)}  # killed at its request
    assert outcome.penalised == {1: Fraction(5, 4)}
    # with a longer horizon it waits; 1 ends early, at 10
    assert starts(naive_nodes.lc(WAIT_OR_SHARE, ONE, horizon=4))[2] == 10


@pytest.mark.parametrize(("theta", "start"), [(100, 10), (125, 10), (133, 10), (134, 1)])
def test_lct_waits_for_its_threshold(theta, start):
    outcome = naive_nodes.lct(WAIT_OR_SHARE, ONE, theta=theta)
    assert starts(outcome)[2] == start
    if start == 10:
        row = outcome.result.rows[1]
        assert (row.blocked_at, row.promised, row.reason) == (1, 20, RESERVED)


def test_rua_weighs_the_wait_against_the_penalty_and_gives_a_longer_limit():
    outcome = naive_nodes.rua(WAIT_OR_SHARE, ONE)
    # wait 19 s, or lose 10000/6000 s: now, with a limit of 5 + 2; done at 7.67
    assert outcome.limit == {1: 20, 2: 7}
    assert rows(outcome) == {1: (0, 12, 0), 2: (1, 8, 0)}
    assert outcome.penalised == {1: Fraction(7, 4), 2: Fraction(5, 3)}
    assert rows(naive_nodes.rua(WAIT_OR_SHARE, ONE, limit="req"))[2] == (1, 6, 1)


def test_the_reservation_pins_processors():
    machine = Machine(nodes=2, cores=2)
    jobs = [
        job(1, 0, 2, 10),  # processors 0 and 1
        job(2, 1, 3, 5),  # at 10 on 0, 1, 2
        job(3, 2, 1, 20),  # 2 is pinned from 10: takes 3
        job(4, 3, 1, 8),  # would end at 11 on 2: no
        job(5, 3, 1, 7),  # ends at 10 on 2
    ]
    outcome = naive_nodes.ff(jobs, machine)
    assert starts(outcome) == {1: 0, 2: 10, 3: 2, 4: 15, 5: 3}
    reasons = {row.id: row.reason for row in outcome.result.rows}
    assert reasons == {1: HEAD, 2: RESERVED, 3: BACKFILLED, 4: RESERVED, 5: BACKFILLED}


def test_a_stretched_limit_may_not_reach_into_the_reservation():
    machine = Machine(nodes=2, cores=2, cap=1000)
    jobs = [
        job(1, 0, 2, 10),
        job(2, 1, 3, 5),  # at 10 on 0, 1, 2
        job(3, 2, 2, 8, b=600),  # 8 s at 200 over: limit 8 + 2, past 10
    ]
    assert rows(naive_nodes.ff(jobs, machine)) == {1: (0, 10, 0), 2: (10, 15, 0), 3: (2, 10, 1)}
    stretched = naive_nodes.ff(jobs, machine, limit="pf")
    assert rows(stretched)[2] == (10, 15, 0)
    # at 15 first fit puts 3 on node 0 alone: 9.6 s, inside the limit of 10
    assert rows(stretched)[3] == (15, 25, 0)


def test_rua_backfills_the_least_penalised_first():
    machine = Machine(nodes=1, cores=4, cap=1000)
    jobs = [
        job(1, 0, 1, 30, b=400),
        job(2, 1, 4, 5),  # waits until 30
        job(3, 2, 2, 5, b=400),  # 1200: factor 1.2
        job(4, 2, 2, 9, b=200),  # no penalty
    ]
    outcome = naive_nodes.rua(jobs, machine)
    assert starts(outcome)[4] == 2
    assert starts(outcome)[3] == 11  # when 4 has ended
    assert starts(naive_nodes.ff(jobs, machine))[3] == 2  # shortest first there


def node_jobs(seed, *, high, n=10, procs=(1, 2, 3, 4, 6)):
    draw = random.Random(seed)
    jobs = []
    for i in range(n):
        request = draw.randint(2, 20)
        run = draw.randint(1, request)
        b = draw.choice((500, 1000, high, high))
        jobs.append(job(i, draw.randint(0, 20), draw.choice(procs), request, run, b=b))
    return jobs


@pytest.mark.parametrize("seed", range(15))
def test_identities_of_the_paper(seed):
    at_1750, at_2000 = node_jobs(seed, high=1750), node_jobs(seed, high=2000)
    lct, lc = naive_nodes.lct, naive_nodes.lc
    assert lct(at_1750, TWO, theta=125) == lct(at_1750, TWO, theta=150)
    assert lc(at_2000, TWO, horizon=0) == lct(at_2000, TWO, theta=150)
    assert lc(at_2000, TWO, horizon=math.inf) == lct(at_2000, TWO, theta=100)
    for policy in (naive_nodes.ff, naive_nodes.lc, naive_nodes.rua):
        outcome = policy(node_jobs(seed, high=1500), TWO)
        assert not any(outcome.penalised.values())
        assert not any(row.killed for row in outcome.result.rows)


@pytest.mark.parametrize("seed", range(15))
def test_promises_of_the_head_are_kept(seed):
    jobs = node_jobs(seed, high=2000)
    for outcome in (
        naive_nodes.ff(jobs, TWO),
        naive_nodes.lc(jobs, TWO),
        naive_nodes.lct(jobs, TWO, theta=115),
        naive_nodes.rua(jobs, TWO),
    ):
        assert all(row.start <= row.promised for row in outcome.result.rows if row.promised >= 0)


@pytest.mark.parametrize("seed", range(15))
def test_whole_nodes_under_first_fit_have_a_closed_form(seed):
    jobs = node_jobs(seed, high=2000, procs=(4, 8))
    outcome = naive_nodes.ff(jobs, Machine(nodes=3))
    for j, row in zip(sorted(jobs, key=lambda j: j.priority), outcome.result.rows, strict=True):
        stretched = Fraction(j.run * max(4 * j.bandwidth, 6000), 6000)
        assert row.killed == (stretched > j.request)
        assert row.end - row.start == min(math.ceil(stretched), j.request)


# ------------------------------------------------------------------------- Slurm
SMALL = Machine(nodes=2, cores=4, cap=1000)


def test_consres_fills_cores_lessc_counts_bandwidth():
    jobs = [job(1, 0, 4, 60, b=300), job(2, 1, 2, 60, b=300)]
    assert naive_nodes.consres(jobs, SMALL).place == {1: {0: 4}, 2: {1: 2}}
    assert naive_nodes.lessc(jobs, SMALL).place == {1: {0: 3, 1: 1}, 2: {1: 2}}


def test_grace():
    jobs = [job(1, 0, 4, 60, b=300)]  # 1200 of 1000: 60 * 1.072 = 64.32
    assert rows(naive_nodes.consres(jobs, SMALL)) == {1: (0, 60, 1)}
    assert rows(naive_nodes.consres(jobs, SMALL, grace=4)) == {1: (0, 64, 1)}
    for grace in (5, 300, None):
        outcome = naive_nodes.consres(jobs, SMALL, grace=grace)
        assert rows(outcome) == {1: (0, 65, 0)}
        assert outcome.penalised == {1: Fraction(432, 100)}


def test_a_job_past_its_limit_is_planned_to_end_next_second():
    jobs = [
        job(1, 0, 4, 60, b=300),  # runs until 65
        job(2, 10, 8, 60),  # planned at 60, from 62 on at 63
        job(3, 62, 1, 2),  # would run into the plan of 2
        job(4, 62, 1, 1),  # is gone at 63
    ]
    outcome = naive_nodes.consres(jobs, SMALL, grace=300)
    assert starts(outcome) == {1: 0, 2: 65, 3: 125, 4: 62}
    row = outcome.result.rows[1]
    assert (row.blocked_at, row.promised) == (10, 60)


def test_every_queued_job_has_a_plan():
    jobs = [
        job(1, 0, 6, 60),
        job(2, 1, 8, 60),  # planned at 60
        job(3, 2, 4, 60),  # planned at 120
        job(4, 3, 2, 60),  # 3 + 60 > 60: at 120 beside 3
        job(5, 4, 4, 180),  # with 3 and 4 there are only two cores left: at 180
        job(6, 5, 2, 55),  # ends at 60: fills the hole
    ]
    outcome = naive_nodes.consres(jobs, SMALL)
    assert starts(outcome) == {1: 0, 2: 60, 3: 120, 4: 120, 5: 180, 6: 5}


def test_hperf_gives_unknown_tags_nodes_of_their_own():
    jobs = [
        job(1, 0, 2, 60, b=300, tag="T"),  # node 0, alone
        job(2, 1, 2, 60, b=300, tag="T"),  # node 1, alone: nothing recorded yet
        job(3, 2, 2, 60, b=300, tag="T"),  # waits for a node of its own, looked up at submission
        job(4, 61, 4, 60, b=300, tag="T"),  # recorded 0.8 * 300: four processes fit a node
    ]
    outcome = naive_nodes.hperf(jobs, SMALL, grace=None)
    assert starts(outcome) == {1: 0, 2: 1, 3: 60, 4: 61}
    assert outcome.place == {1: {0: 2}, 2: {1: 2}, 3: {0: 2}, 4: {1: 4}}
    # looked up when it starts, 3 shares node 0: two cores are left there for 4
    at_start = naive_nodes.hperf(jobs, SMALL, grace=None, predict="start")
    assert at_start.place[3] == {0: 2} and at_start.place[4] == {0: 2, 1: 2}
    # known beforehand, no job is alone
    known = naive_nodes.hperf(jobs, SMALL, grace=None, preloaded={"T": [Fraction(300)]})
    assert known.place[2] == {0: 1, 1: 1}


def test_hperf_spreads_exclusive_jobs():
    jobs = [job(1, 0, 4, 60, b=300, tag="T"), job(2, 0, 1, 60, b=1, tag="U")]
    assert naive_nodes.hperf(jobs, SMALL, grace=None).place == {1: {0: 4}, 2: {1: 1}}
    outcome = naive_nodes.hperf(jobs, SMALL, grace=None, excl_ppn=2)
    assert outcome.place[1] == {0: 2, 1: 2}
    assert starts(outcome)[2] == 60


@pytest.mark.parametrize("seed", range(20))
def test_slurm_identities(seed):
    draw = random.Random(seed)
    jobs = []
    for i in range(12):
        limit = 60 * draw.randint(1, 4)
        run = draw.randint(limit - 59, limit)
        p, b = draw.randint(1, 6), draw.choice((50, 200, 300))
        jobs.append(job(i, draw.randint(0, 300), p, limit, run, b=b, tag=f"T{b}"))
    limits = sum(j.request for j in jobs)
    for policy in (naive_nodes.consres, naive_nodes.lessc, naive_nodes.hperf):
        for grace in (0, 300, None):
            figures = naive_nodes.slurm_metrics(jobs, policy(jobs, SMALL, grace=grace))
            assert figures["running"] + figures["extra_requested"] == limits
            if policy is naive_nodes.lessc:  # no job is slowed down
                assert figures["extra_used"] == figures["killed"] == 0
            if grace is None:
                assert figures["killed"] == 0


def test_work_units_are_floored_where_exact_ones_would_be_too_fine():
    jobs = [job(i, 0, 1, 9, b=b) for i, b in enumerate((1511, 1523, 1531, 1543, 1549, 1553))]
    exact = naive_nodes.shared_rate(jobs[:1], ONE)
    floored = naive_nodes.shared_rate(jobs, ONE)
    assert exact(Fraction(4 * 1511)) == Fraction(6000, 6044)
    assert floored(Fraction(4 * 1511)) == Fraction(992720, 10**6)  # 0.9927200...
    assert floored(Fraction(6000)) == exact(Fraction(6000)) == 1


def test_the_random_worlds_are_not_idle():
    """The identities above would hold in an empty world too."""
    outcomes = [naive_nodes.lct(node_jobs(s, high=2000), TWO, theta=115) for s in range(15)]
    found = [row for outcome in outcomes for row in outcome.result.rows]
    assert any(row.reason == BACKFILLED for row in found)
    assert any(row.start < row.promised for row in found)
    assert any(row.killed for row in found)
    assert any(value > 0 for outcome in outcomes for value in outcome.penalised.values())
