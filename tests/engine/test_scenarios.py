"""The engine reproduces the same hand-drawn scenarios as the slow reference."""

from __future__ import annotations

import pytest

from engine.worlds import simulated
from scenarios.worlds import SCENARIOS
from shadowtime.errors import PolicyError
from shadowtime.policy import parse_policy


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: f"{s.policy}: {s.name}")
def test_scenario(scenario):
    """Starts, reasons, promises and lost attempts as drawn."""
    schedule = simulated(scenario.jobs, scenario.capacity, scenario.policy)
    ids = schedule.job_id.tolist()
    assert dict(zip(ids, schedule.start.tolist(), strict=True)) == scenario.starts
    reasons = dict(zip(ids, schedule.reason.tolist(), strict=True))
    assert {job: reasons[job] for job in scenario.reasons} == scenario.reasons
    promised = dict(zip(ids, schedule.promised.tolist(), strict=True))
    assert {job: promised[job] for job in scenario.promised} == scenario.promised
    lost: dict[int, list[tuple[int, int]]] = {}
    attempts = schedule.attempts
    for job, start, end, killed in zip(
        attempts.job_id, attempts.start, attempts.end, attempts.killed, strict=True
    ):
        if killed:
            lost.setdefault(int(job), []).append((int(start), int(end)))
    assert lost == scenario.lost


def test_every_scenario_names_a_policy_of_the_catalogue():
    """A scenario that no engine can run proves nothing."""
    for scenario in SCENARIOS:
        try:
            parse_policy(scenario.policy)
        except PolicyError as error:
            pytest.fail(f"{scenario.name}: {error}")
