"""Schedules that are kept by their key."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Node, Site
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.schedule import Schedule
from shadowtime.slurm.policy import SlurmPolicy
from shadowtime.study.sweep.keys import of_run
from shadowtime.study.sweep.store import Store, kept
from shadowtime.workload import Workload

JOBS = Workload.build(submit=[0, 1, 2, 3], run=[9, 5, 4, 7], procs=[3, 4, 1, 2])
SITE = Site(nodes=(Node(name="a", amounts=(4,), features=frozenset({"x", "yy", "zzz", "w"})),))


def same(one: Schedule, other: Schedule) -> bool:
    """Every field is equal, to the last bit and type."""
    for field in fields(Schedule):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype and np.array_equal(a, b), field.name
        elif field.name == "attempts":
            for part in fields(a):
                mine, kept_one = getattr(a, part.name), getattr(b, part.name)
                assert (mine is None) == (kept_one is None), part.name
                assert mine is None or np.array_equal(mine, kept_one), part.name
        elif field.name == "place":
            assert (a is None) == (b is None) and list(a or ()) == list(b or ())
        else:
            assert a == b, field.name
    return True


@pytest.mark.parametrize(
    ("machine", "policy"),
    [(Cluster.pool(4), "easy"), (Cluster.pool(4), "pv-easy"), (SITE, SlurmPolicy())],
)
def test_a_kept_schedule_is_the_schedule(machine, policy, tmp_path: Path) -> None:
    made = simulate(JOBS, machine, parse_policy(policy) if isinstance(policy, str) else policy)
    Store.at(tmp_path).once("one", lambda watch: made)
    assert same(made, Store.at(tmp_path).read("one"))


def test_another_input_is_another_run(tmp_path: Path) -> None:
    """Jobs, machine, policy and its phase are in the key; the engine is called for each once."""
    calls = []

    def engine(jobs, cluster, policy, *, watch=None):
        calls.append(1)
        return simulate(jobs, cluster, policy)

    keeping = kept(engine, tmp_path)
    later = JOBS.replace(run=JOBS.run + 1)
    bigger = Site(nodes=(*SITE.nodes, Node(name="b", amounts=(4,))))
    for _ in range(2):
        keeping(JOBS, SITE, SlurmPolicy())
        keeping(JOBS, SITE, SlurmPolicy(phase=1))
        keeping(JOBS, bigger, SlurmPolicy())
        keeping(later, SITE, SlurmPolicy())
    assert len(calls) == 4


def test_the_key_is_the_same_in_another_process(tmp_path: Path) -> None:
    """Whatever the order in which a set gives its members."""
    script = tmp_path / "key.py"
    script.write_text(
        "from study.sweep.test_store import JOBS, SITE, SlurmPolicy, of_run\n"
        "print(of_run(JOBS, SITE, SlurmPolicy()))\n"
    )
    wanted = of_run(JOBS, SITE, SlurmPolicy())
    tests = Path(__file__).parents[2]
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, str(script)],
            env={"PYTHONPATH": str(tests), "PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True, text=True, timeout=300, check=True,
        )  # fmt: skip
        assert done.stdout.strip() == wanted
