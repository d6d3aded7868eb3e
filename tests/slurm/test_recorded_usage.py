"""Usage as ``sshare`` showed it, counted from the recorded starts and ends of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from conftest import recording_path
from shadowtime import read_site
from shadowtime.cluster.site import Association, Node, Site
from shadowtime.eta.present import LogAt
from shadowtime.slurm.from_site import state_of
from shadowtime.slurm.priority import RunPriorities, first_tick

if TYPE_CHECKING:
    from pathlib import Path

EVERY, AFTER_TICK = 5, 3
"""Samples are compared one in so many, none within so many seconds of a tick."""


def shown(path: Path) -> dict[int, dict[str, float]]:
    """RawUsage by user, at each sample."""
    found: dict[int, dict[str, float]] = {}
    for line in (path / "sshare_samples.psv").read_text().splitlines():
        words = line.split("|")
        if len(words) > 5 and words[1] != "Account" and words[2]:
            found.setdefault(int(words[0]), {})[words[2]] = float(words[5])
    return found


@pytest.mark.parametrize(("version", "name"), [("22.05", "D1"), ("24.11", "D")])
def test_usage_is_what_sshare_shows(version: str, name: str) -> None:
    """Each run fades by its own length; ticks are in the right second (spec: slurm 5.2, 5.4)."""
    path = recording_path(name, version)
    site, jobs = read_site(path)
    log, period = LogAt(jobs, site), 60
    first = first_tick(site, log.epoch)
    assert first is not None
    compared = 0
    for time, users in sorted(shown(path).items())[::EVERY]:
        when = time - log.epoch
        beside_tick = (when - first + AFTER_TICK) % period < 2 * AFTER_TICK
        if when < 2 * period or when > jobs.submit[-1] or beside_tick:
            continue
        machine = log.present(when).machine
        assert isinstance(machine, Site)
        counted = {one.user: one.usage for one in machine.associations if one.user}
        for user, usage in users.items():
            assert counted[user] == pytest.approx(usage, abs=2), (when, user)
            compared += usage > 0
    assert compared > 8


def test_no_tick_before_the_opening() -> None:
    """The usage that a run begins with contains what earlier ticks charged and faded."""
    config = {
        "PriorityType": "priority/multifactor", "PriorityCalcPeriod": "00:01:00",
        "BOOT_TIME": "1970-01-02T00:00:25",
    }  # fmt: skip
    site = Site(
        nodes=(Node(name="a", amounts=(1,)),),
        associations=(Association(account="a", user="u", usage=100.0),),
        config=config,
    )
    priorities = RunPriorities(site, state_of(site).accounts)
    first = priorities.first_tick(epoch=86_400, opening=30, offset=0.0)
    assert first == 86.0, "26 s after the zero lies before the opening"
    assert priorities.tick(first, [], ()) == first + 60
    assert priorities.factors is not None
    left = priorities.factors.shares.branches["a", "u"].usage
    assert left == pytest.approx(100 * (1 - 0.693 / (7 * 86_400)) ** 60)


def test_a_stretch_fades_by_its_own_length() -> None:
    """Not by the time since the last tick."""
    from shadowtime.engine.priority.weights import Weights

    weights = Weights(half_life=300)
    assert weights.charged(2.0) == pytest.approx(2 * 0.99769**2)
    assert weights.charged(np.array([0.0, 5.0])).tolist() == pytest.approx([0, 5 * 0.99769**5])
