"""The slow reference equals the hand-drawn scenarios, and the pictures match their numbers."""

from __future__ import annotations

import pytest

from naive import shorthand as naive
from scenarios.worlds import SCENARIOS

POLICIES = {
    "fcfs": naive.fcfs,
    "greedy": naive.greedy,
    "easy": naive.easy,
    "easy-sjbf": lambda jobs, capacity: naive.easy(jobs, capacity, backfill="sjbf"),
    "easy-last": lambda jobs, capacity: naive.easy(jobs, capacity, estimate="last"),
    "easy(reserve=2)": lambda jobs, capacity: naive.reservations(jobs, capacity, depth=2),
    "easy(order=lxfw)": lambda jobs, capacity: naive.reservations(
        jobs, capacity, depth=1, key="lxfw"
    ),
    "conservative": naive.conservative,
    "conservative(compress=no)": lambda jobs, capacity: naive.conservative(
        jobs, capacity, compress=False
    ),
    "pv-easy": naive.pv_easy,
    "bb": naive.bb,
    "bb(per_pass=until-none)": lambda jobs, capacity: naive.bb(
        jobs, capacity, per_pass="until-none"
    ),
    "ibb": naive.ibb,
}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_reference_draws_the_picture(scenario):
    result = POLICIES[scenario.policy](scenario.jobs, scenario.capacity)
    assert {row.id: row.start for row in result.rows} == scenario.starts
    assert {row.id: row.reason for row in result.rows} == scenario.reasons
    promised = {row.id: row.promised for row in result.rows}
    assert promised == (scenario.promised or {job.id: -1 for job in scenario.jobs})
    lost = {}
    for id_, start, end, preempted in result.attempts:
        if preempted:
            lost.setdefault(id_, []).append((start, end))
    assert lost == scenario.lost


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_picture_shows_the_numbers(scenario):
    jobs = {job.id: job for job in scenario.jobs}
    rows = [line for line in scenario.picture.splitlines() if "#" in line]
    assert len(rows) == len(jobs)
    for row in rows:
        job, bar = jobs[int(row[:4])], row[14:]
        expected = [" "] * job.submit + ["."] * (scenario.starts[job.id] - job.submit)
        expected += ["#"] * min(job.run, job.limit)
        for start, end in scenario.lost.get(job.id, []):
            expected[start:end] = ["x"] * (end - start)
        assert bar == "".join(expected[:: scenario.tick])
