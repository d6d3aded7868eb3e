"""A key changes with everything that a run's numbers depend on, and with nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import shadowtime as st
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.engine.semantics import SEMANTICS
from shadowtime.errors import UsageError
from shadowtime.metrics import measure
from shadowtime.policy import parse_policy
from shadowtime.study.sweep import Log, Plan
from shadowtime.study.sweep import plan as plan_module
from shadowtime.study.sweep.keys import digest, of_policy
from shadowtime.workload import Workload
from shadowtime.workload.embedded import demo_workload
from shadowtime.workload.slicing import first_jobs
from study.sweep.worlds import write_log


def jobs() -> Workload:
    return first_jobs(demo_workload(), 50)


def keys(logs: list[Log] | None = None, policies: tuple[str, ...] = ("easy",), **more) -> list[str]:
    plan = Plan.of(logs or [Log.of(jobs(), "pool:256")], policies, **more)
    return [case.key for case in plan.cases()]


def test_names_and_places_do_not_matter(tmp_path: Path) -> None:
    """The same log elsewhere, another name, another spelling of the same policy: the same key."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, two = write_log(tmp_path / "a"), write_log(tmp_path / "b")
    assert keys([Log.of(one, "pool:4")]) == keys([Log.of(two, "pool:4", name="other")])
    assert keys(policies=("easy",)) == keys(policies=("easy(reserve=1)",))
    assert keys([Log.of(one, "pool:4")]) == keys([Log.of(one, "pool: 4")])


@pytest.mark.parametrize(
    "change",
    [
        {"policies": ("easy(reserve=2)",)},
        {"policies": ("easy(order=weighted(wait=0.5))",)},
        {"loads": ("1.1",)},
        {"window": "10:10"},
        {"metrics": ("wait_mean_s",)},
        {"logs": [Log.of(first_jobs(demo_workload(), 49), "pool:256")]},
        {"logs": [Log.of(first_jobs(demo_workload(), 50), "pool:128")]},
        {"logs": [Log.of(first_jobs(demo_workload(), 50), "pool:256", first=10)]},
        {
            "logs": [
                Log.of(first_jobs(demo_workload(), 50), "pool:256", cleaning={"overrun": "keep"})
            ]
        },
        {"logs": [Log.of(first_jobs(demo_workload(), 50), "pool:256", demand="HIGH")]},
    ],
    ids=str,
)
def test_everything_else_does(change: dict) -> None:
    """Log, cleaning, machine, policy, load, window, metrics: each is in the key."""
    assert keys() != keys(**change)


def test_copies_depend_on_their_seed_and_the_log_itself_does_not() -> None:
    """The run without a copy is shared by all seeds; copies are not."""
    one, two = keys(shake=2, seeds=[1]), keys(shake=2, seeds=[2])
    assert one[0] == two[0] and not set(one[1:]) & set(two[1:])
    assert len(set(keys(shake=2, seeds=[1, 2]))) == 5
    assert not set(keys(shake=2)[1:]) & set(keys(resample=2)[1:])


def test_semantics_are_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new version of the engine's semantics repeats every run."""
    before = keys()
    monkeypatch.setattr(plan_module, "SEMANTICS", SEMANTICS + 1)
    assert keys() != before


def test_source_of_a_users_part_is_in_the_key(tmp_path: Path) -> None:
    """Editing the file of a policy gives new keys."""
    file = tmp_path / "mine.py"
    file.write_text("def mine(wait, estimate, procs):\n    return wait\n")
    before = digest(of_policy(parse_policy(f"{file}:mine"), f"{file}:mine"))
    file.write_text("def mine(wait, estimate, procs):\n    return -wait\n")
    assert digest(of_policy(parse_policy(f"{file}:mine"), f"{file}:mine")) != before


def test_functions_of_one_name_get_distinct_keys() -> None:
    """The catalogue's functions, a user's in any slot, what they learn: all are in the key."""
    texts = ("wfp3", "unicef", "saf", "spt", "sqf", "f1", "f2", "f3", "f4", "los", "slack")
    known = [of_policy(parse_policy(text)) for text in texts]
    assert len(set(known)) == len(texts)

    def made(sign: int) -> list[str]:
        weight = float(sign)

        @st.place
        def near(now, job, node):
            return weight * node.number

        @st.order(memory=1)
        def fair(now, job, user):
            return user[0]

        @fair.learn
        def _(now, job, user):
            user[0] += weight

        @st.backfill_test
        def short(now, job):
            return job.estimate < weight

        @st.backfill_key
        def least(now, job):
            return job.procs

        parts = ({"place": near}, {"order": fair}, {"backfill": least.where(short)})
        return [of_policy(st.easy(**one)) for one in parts]

    assert made(1) == made(1)
    assert not set(made(1)) & set(made(2))


def test_phases_are_an_axis() -> None:
    """Slurm's own policy at each offset of its passes; every other policy once."""
    plan = Plan.of([Log.of(jobs(), "pool:256")], ["slurm(bf_interval=30)", "easy"], phases=3)
    names = [one.name for one in plan.variants]
    assert names[1] == "slurm(bf_interval=30, phase=1, phases=3)" and names[3:] == ["easy"]
    assert [one.make().phase for one in plan.variants[:3]] == [0, 1, 2]
    again = Plan.of([Log.of(jobs(), "pool:256")], [names[1]])
    assert next(again.cases()).key in {case.key for case in plan.cases()}
    assert {case.row()["set_phase"] for case in plan.cases() if "set_phase" in case.row()} == set(
        "012"
    )
    assert {case.row()["template"] for case in plan.cases()} == {"slurm(bf_interval=30)", "easy"}
    with pytest.raises(UsageError, match="changes no policy of the plan"):
        Plan.of([Log.of(jobs(), "pool:256")], ["easy"], phases=3)
    with pytest.raises(UsageError, match="sets its own phase"):
        Plan.of([Log.of(jobs(), "pool:256")], ["slurm(phase=1)"], phases=3)


def test_numbers_beside_a_function_are_in_the_key() -> None:
    """A function that uses a number from outside is another one when the number changes."""

    def make(weight: float):
        def mine(wait: int, estimate: int, procs: int) -> float:
            return wait * weight

        return parse_policy("easy").replace(order=type_of_order(mine))

    from shadowtime.policy.order import Custom as type_of_order

    assert of_policy(make(1.0)) != of_policy(make(2.0))
    assert of_policy(make(1.0)) == of_policy(make(1.0))


def test_an_unknown_metric_is_refused() -> None:
    """A misspelt metric would give a table without it."""
    with pytest.raises(UsageError, match="wait_mean"):
        keys(metrics=("wait_mean",))


EXPECTED = "542539c3156020dda94b786858f90110"
MEASURED = ("bsld_mean", "bsld_p95", "goodput", "mwbs", "utilisation", "wait_max_s", "wait_mean_s")
"""A new metric changes no old number, so only these are in the digest."""


def test_semantics_version_belongs_to_these_schedules() -> None:
    """Raise SEMANTICS (and this digest) when a change alters schedules or metrics on purpose.

    Stored sweeps would otherwise mix numbers of two engines.
    """
    workload, cluster = first_jobs(demo_workload(), 300), Cluster.pool(256)
    parts: list[str | bytes] = []
    for name in ("easy", "easy-sjbf", "easy(reserve=4)", "conservative", "lxfw"):
        schedule = simulate(workload, cluster, parse_policy(name))
        parts.append(np.ascontiguousarray(schedule.start, "<i8").tobytes())
        found = measure(schedule, workload, cluster)
        parts += [f"{key}={found[key]:.9g}" for key in MEASURED]
    assert (SEMANTICS, digest(*parts)) == (5, EXPECTED)
