"""Policies x loads x copies of the input."""

from __future__ import annotations

import gc
import json
import time
import weakref
from typing import Any

import numpy as np
import pytest

from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.errors import UsageError
from shadowtime.metrics import Window, measure
from shadowtime.policy import parse_policy
from shadowtime.policy.snapshot import Start
from shadowtime.result.write import to_json
from shadowtime.study import Load, Replicas, compare
from shadowtime.study.fan_out import fan_out
from shadowtime.workload import Workload
from shadowtime.workload.embedded import demo_workload
from shadowtime.workload.resample import shaken
from shadowtime.workload.scale import offered_load
from shadowtime.workload.slicing import first_jobs

POOL = Cluster.pool(256)
TWO = [parse_policy("easy"), parse_policy("easy-sjbf")]


@pytest.fixture(scope="module")
def jobs() -> Workload:
    return first_jobs(demo_workload(), 600)


def test_every_number_is_that_of_a_run_of_its_own(jobs: Workload) -> None:
    """Threads, sharing and order change nothing: each cell equals simulate and measure."""
    window = Window.parse("100:50")
    found = compare(jobs, POOL, TWO, shake=3, seed=5, window=window, threads=4)
    [setting] = found.settings
    for policy, run in zip(TWO, setting.runs, strict=True):
        alone = simulate(jobs, POOL, policy)
        assert np.array_equal(run.schedule.start, alone.start)
        assert run.metrics == measure(alone, jobs, POOL, window=window)
        for k in range(3):
            copy = shaken(jobs, seed=np.random.default_rng([5, k + 1]))
            expected = measure(simulate(copy, POOL, policy), copy, POOL, window=window)
            assert {name: column[k] for name, column in run.copies.items()} == expected


def test_copies_do_not_depend_on_how_many_there_are(jobs: Workload) -> None:
    """The first copies of a seed are the same; another seed gives others."""
    few, many, other = (
        compare(jobs, POOL, TWO, shake=n, seed=seed).settings[0].runs[0].copies["wait_mean_s"]
        for n, seed in ((2, 1), (4, 1), (2, 2))
    )
    assert few.tolist() == many[:2].tolist() != other.tolist()


def test_differences_are_paired(jobs: Workload) -> None:
    """A policy against itself under another name differs by nothing, with certainty."""
    twin = parse_policy("easy").replace(name="twin")
    [setting] = compare(jobs, POOL, [TWO[0], twin], shake=4).settings
    same = setting.difference("twin", "easy", "wait_mean_s")
    assert same is not None and (same.mean, same.low, same.high) == (0, 0, 0)
    assert setting.winners("wait_mean_s") == ("easy", "twin")
    ranking = setting.ranking("wait_mean_s")
    assert ranking is not None and ranking.stable


def test_loads(jobs: Workload) -> None:
    """A factor makes jobs arrive faster, an offered load is met; each setting is measured."""
    loads = [Load.parse(text) for text in ("1", "1.25", "offered=0.7")]
    found = compare(jobs, POOL, TWO, loads=loads)
    asked = offered_load(jobs, POOL)["procs"]
    offered = [setting.offered_load for setting in found.settings]
    assert offered == pytest.approx([asked, 1.25 * asked, 0.7], rel=0.01)
    waits = [setting.runs[0].metrics["wait_mean_s"] for setting in found.settings]
    assert waits[1] > waits[0]
    assert found.settings[0].workload is jobs


def test_resampled_users(jobs: Workload) -> None:
    """Resampled users make other logs: the load changes unless it is fixed."""
    plain, fixed = (
        compare(jobs, POOL, TWO[:1], resample=3, loads=[Load.parse(text)]).settings[0].runs[0]
        for text in ("1", "offered=0.8")
    )
    assert np.ptp(plain.copies["jobs"]) > 0
    assert fixed.copies["offered_load"] == pytest.approx([0.8] * 3, rel=0.01)


def test_memory_holds_few_copies_at_a_time(jobs: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many copies: never more of them alive than threads, and none at the end."""
    alive: list[weakref.ref[Workload]] = []
    most = 0
    make = Replicas.make

    def counted(self: Replicas, *recipe: Any) -> Workload:
        nonlocal most
        made = make(self, *recipe)
        if recipe[-1]:
            alive.append(weakref.ref(made))
            most = max(most, sum(ref() is not None for ref in alive))
        return made

    monkeypatch.setattr(Replicas, "make", counted)
    found = compare(jobs, POOL, TWO, shake=12, threads=2)
    gc.collect()
    assert len(alive) == 12 and most <= 3
    assert not any(ref() is not None for ref in alive)
    assert sum(len(setting.runs) for setting in found.settings) == 2


class Forgetful:
    """Starts whatever fits, and counts its calls on itself."""

    name = "forgetful"

    def __init__(self) -> None:
        self.asked = 0

    def decide(self, view: Any) -> list[Start]:
        self.asked += 1
        assert len(view.waiting) + len(view.running) <= 30, "memory of another run"
        free, decisions = view.free[0], []
        for job in view.waiting:
            if job.procs <= free:
                free -= job.procs
                decisions.append(Start(job.id))
        return decisions


def test_a_policy_with_memory_starts_afresh(jobs: Workload) -> None:
    """An object that keeps notes on itself is copied for every run."""
    few = first_jobs(jobs, 30)
    mine = Forgetful()
    [setting] = compare(few, POOL, [mine, parse_policy("greedy")], shake=2).settings
    assert mine.asked == 0
    assert np.array_equal(setting.runs[0].schedule.start, setting.runs[1].schedule.start)


def test_the_result_is_json(jobs: Workload) -> None:
    """as_dict holds plain values, the winner per metric and the order over the copies."""
    found = compare(jobs, POOL, TWO, shake=2).as_dict()
    text = json.loads(to_json(found))
    assert text["replicas"] == {"kind": "shaken", "count": 2, "seed": 1}
    [load] = text["loads"]
    assert set(load["winners"]["bsld_mean"]) <= {"easy", "easy-sjbf"}
    assert load["ranks"]["bsld_mean"]["inputs"] == 2
    first, second = load["policies"]
    assert "differences" not in first and second["against"] == "easy"
    assert set(second["differences"]["wait_mean_s"]) == {"mean", "low", "high"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shake": 1}, "no spread"),
        ({"shake": 2, "resample": 2}, "they answer different"),
        ({"shake": 2, "seed": -1}, "seed"),
        ({"loads": []}, "load"),
        ({"loads": [Load(), Load()]}, "once"),
    ],
    ids=["one", "both", "seed", "no-load", "twice"],
)
def test_what_makes_no_sense_is_refused(
    jobs: Workload, options: dict[str, Any], message: str
) -> None:
    """The error is one sentence."""
    with pytest.raises(UsageError, match=message):
        compare(jobs, POOL, TWO, **options)


def test_policies_need_names_of_their_own(jobs: Workload) -> None:
    """Otherwise their rows could not be distinguished."""
    with pytest.raises(UsageError, match="twice"):
        compare(jobs, POOL, [TWO[0], TWO[0]])
    with pytest.raises(UsageError, match="no policy"):
        compare(jobs, POOL, [])
    with pytest.raises(UsageError, match="no job"):
        compare(first_jobs(jobs, 0), POOL, TWO)


@pytest.mark.parametrize("text", ["", "fast", "offered=", "speed=2", "0", "-1", "inf", "offered=0"])
def test_loads_that_cannot_be_read(text: str) -> None:
    """A factor or an offered load, nothing else."""
    with pytest.raises(UsageError, match="load"):
        Load.parse(text)


def test_an_error_in_one_run_stops_the_rest() -> None:
    """The error is raised unchanged, and runs that have not begun never do."""
    begun = []

    def task(number: int) -> int:
        begun.append(number)
        if number == 1:
            raise UsageError("broken")
        time.sleep(0.01)
        return number

    with pytest.raises(UsageError, match="broken"):
        fan_out([lambda k=k: task(k) for k in range(500)], threads=1)
    assert len(begun) < 500
