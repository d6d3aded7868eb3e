"""Workflows of WfCommons: both layouts, folders with arrivals, and one sentence for each error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import shadowtime as st
from shadowtime.errors import InputError
from shadowtime.trace.formats import read_raw, recognise

GRAPH = {"split": [], "left": ["split"], "right": ["split"], "join": ["left", "right"]}
SECONDS = {"split": 10.0, "left": 59.2, "right": 20, "join": 0.4}


def new(version: str = "1.5", **execution: Any) -> dict[str, Any]:
    """Since 1.5 the graph and what was measured are apart."""
    tasks = [{"name": "t", "id": name, "parents": parents} for name, parents in GRAPH.items()]
    ran = [
        {"id": name, "runtimeInSeconds": seconds, "coreCount": 2, "memoryInBytes": 2048,
         "command": {"program": name}}
        for name, seconds in SECONDS.items()
    ]  # fmt: skip
    machines = [{"nodeName": name, "cpu": {"coreCount": 2}} for name in "ab"]
    return {
        "name": "diamond", "schemaVersion": version, "author": {"name": "eva"},
        "workflow": {
            "specification": {"tasks": tasks, "files": []},
            "execution": {"tasks": ran, "machines": machines, **execution},
        },
    }  # fmt: skip


def old() -> dict[str, Any]:
    """Up to 1.4 a task has everything."""
    tasks = [
        {"name": name, "id": f"ID{k}", "parents": parents, "runtimeInSeconds": SECONDS[name],
         "cores": 2.0, "children": []}
        for k, (name, parents) in enumerate(GRAPH.items())
    ]  # fmt: skip
    return {"name": "diamond", "schemaVersion": "1.4", "workflow": {"tasks": tasks}}


def written(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_both_layouts_are_read_alike(tmp_path: Path) -> None:
    for content in (new(), new("1.6"), old()):
        path = written(tmp_path / "diamond.json", content)
        assert recognise(str(path), path.read_bytes()).name == "wfformat"
        jobs = st.read(path)
        assert jobs.run.tolist() == [10, 60, 20, 1] and jobs.procs.tolist() == [2] * 4
        relations = [[2, 1, 0, 0], [3, 1, 0, 0], [4, 2, 0, 0], [4, 3, 0, 0]]
        assert jobs.follows.tolist() == relations and jobs.extra["workflow"].tolist() == [1] * 4
    raw = read_raw(written(tmp_path / "diamond.json", new()))
    assert dict(raw.machine) == {"procs": 4} and raw.demands["memory"].tolist() == [2] * 4
    assert raw.names["user"] == ("", "eva") and raw.names["executable"][1:] == tuple(GRAPH)


def test_a_run_of_a_workflow(tmp_path: Path) -> None:
    """Two of its tasks at once on four cores, one after the other on two."""
    jobs = st.read(written(tmp_path / "diamond.json", new()))
    assert st.simulate(jobs, "pool:4", "easy").metrics["workflow_makespan_mean_s"] == 71
    run = st.simulate(jobs, "pool:2", "easy")
    assert run.metrics["workflow_makespan_mean_s"] == 91 and run.check().ok
    assert run.metrics["workflow_slowdown_mean"] == pytest.approx(91 / 71)


def test_a_folder_of_workflows_arrives_as_it_says(tmp_path: Path) -> None:
    for name in ("one", "two"):
        written(tmp_path / f"{name}.json", new())
    written(tmp_path / "arrivals.txt", "two.json 1000\n\n")
    jobs = st.read(tmp_path)
    made = st.simulate(jobs, "pool:4", "easy").schedule
    assert made.end.max() == 1071 and st.simulate(jobs, "pool:4").metrics["workflows"] == 2
    written(tmp_path / "arrivals.txt", "three.json 5\n")
    with pytest.raises(InputError, match=r"arrivals.txt, line 1: expected a file of this folder"):
        st.read(tmp_path)


def without(name: str) -> dict[str, Any]:
    found = new()
    found["workflow"]["execution"]["tasks"] = [
        one for one in found["workflow"]["execution"]["tasks"] if one["id"] != name
    ]
    return found


def with_task(**changes: Any) -> dict[str, Any]:
    found = new()
    found["workflow"]["specification"]["tasks"][1] |= changes
    return found


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ('{"schemaVersion": "1.5", ', "this is not JSON"),
        ({"schemaVersion": "1.5"}, "workflow is missing"),
        ({"schemaVersion": "1.5", "workflow": {"tasks": []}}, "it has no tasks"),
        ({"schemaVersion": "1.5", "workflow": {"tasks": 3}}, "tasks must be a list"),
        (without("left"), "the task 'left' has no runtimeInSeconds"),
        (with_task(parents=["nobody"]), "the task 'left' names 'nobody' in its parents"),
        (with_task(id="right"), "two tasks have the id 'right'"),
        (with_task(coreCount="many", id="x", runtimeInSeconds=1), "has coreCount many"),
        (with_task(children=["split"]), "job 1 of diamond follows itself by way of others"),
    ],
)
def test_what_is_wrong_is_one_sentence(tmp_path: Path, content: Any, why: str) -> None:
    path = written(tmp_path / "diamond.json", content)
    with pytest.raises(InputError) as error:
        st.simulate(st.read(path), "pool:4", "easy")
    assert why in str(error.value) and "\n" not in str(error.value)
