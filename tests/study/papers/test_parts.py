"""Tasks of a paper with stored results: run once, read back unchanged, or rejected."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.errors import InputError
from shadowtime.policy import parse_policy
from shadowtime.study.papers.parts import kept
from shadowtime.study.papers.reproduction import Runs, Subject, Task, carry_out
from shadowtime.study.sweep.store import Store
from shadowtime.workload import Workload

JOBS = Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1])


class Interrupted(Exception):
    pass


def plan(done: list[str], *, broken: str = "") -> Runs:
    """Three tasks that record that they ran."""

    def work(name: str):
        def run():
            if name == broken:
                raise Interrupted
            done.append(name)
            made = simulate(JOBS, Cluster.pool(4), parse_policy("easy"))
            return {"name": name, "starts": made.start, "schedule": made, "mean": np.float64(1.5)}

        return run

    tasks = {name: Task(name=name, work=work(name)) for name in "abc"}
    return Runs(tasks=tasks, collect=lambda found: list(found.values()))


def keeping(folder: Path, made: Runs, *, seeds: int = 1, jobs: Workload = JOBS) -> Runs:
    subject = Subject(label="one", workload=jobs, cluster=Cluster.pool(4))
    return kept(made, folder, paper="test", subjects=[subject], seeds=seeds)


def test_goes_on_where_it_was(tmp_path: Path) -> None:
    """What finished before a failure is not run again, and is read back unchanged."""
    done: list[str] = []
    with pytest.raises(Interrupted):
        carry_out(keeping(tmp_path, plan(done, broken="c")), threads=1)
    assert done == ["a", "b"]
    found = carry_out(keeping(tmp_path, plan(done)), threads=1)
    assert done == ["a", "b", "c"]
    assert [one["name"] for one in found] == ["a", "b", "c"]
    again = carry_out(keeping(tmp_path, plan(done)), threads=1)
    assert done == ["a", "b", "c"]
    for one, other in zip(found, again, strict=True):
        assert one["starts"].tolist() == other["starts"].tolist() and one["mean"] == other["mean"]
        assert one["schedule"].end.tolist() == other["schedule"].end.tolist()


def test_other_inputs_are_other_tasks(tmp_path: Path) -> None:
    """Seeds and jobs are in the key."""
    done: list[str] = []
    carry_out(keeping(tmp_path, plan(done)), threads=1)
    carry_out(keeping(tmp_path, plan(done), seeds=2), threads=1)
    carry_out(keeping(tmp_path, plan(done), jobs=JOBS.replace(run=JOBS.run + 1)), threads=1)
    assert len(done) == 9


def test_only_values_are_read(tmp_path: Path) -> None:
    """A damaged file, and one that would execute code, are rejected by name."""

    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    for content in (pickle.dumps(Evil()), b"", b"nonsense"):
        store = Store.at(tmp_path / "other")
        store.path("x").write_bytes(content)
        with pytest.raises(InputError, match="Delete it"):
            store.read("x")
    assert not (tmp_path / "made").exists()
    carry_out(keeping(tmp_path, plan([])), threads=1)
    assert len(list(Store.at(tmp_path).place.iterdir())) == 3
