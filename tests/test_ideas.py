"""Every line of the guide's table of ideas is tested; what is written there is run and counted."""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
import textwrap
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from shadowtime.kernel.record import Job
from shadowtime.policy.catalogue import (
    carastan_santos,
    lelong,
    shmueli,
    srinivasan,
    talby,
    tang,
    ward,
)

ROOT = Path(__file__).resolve().parent.parent
GUIDE = ROOT / "docs/guides/ideas.md"

SLOTS, SELECT, GUIDES = "engine/test_slots.py", "engine/test_select.py", "test_documented.py"
PLACED = "placement by a score of your own: packing, sparing GPUs, neighbours of a node"
TESTED = {
    "WFP3, UNICEF": (SLOTS, "test_catalogue"),
    "SAF, SPT, SQF": (SLOTS, "test_catalogue"),
    "F1 to F4": (SLOTS, "test_catalogue"),
    "SAF with a wait threshold": (SLOTS, "test_catalogue"),
    "SRD2F, small class first": (GUIDES, "test_documented_commands_run"),
    "fair-share with decay (part of Slurm multifactor)": (GUIDES, "test_documented_commands_run"),
    "SAF backfilling": (SLOTS, "test_catalogue"),
    "relaxed backfilling": (SLOTS, "test_catalogue"),
    "selective reservations": (SLOTS, "test_catalogue"),
    "adaptive selective reservations": (SLOTS, "test_catalogue"),
    "dynamic conservative": ("engine/test_equals_naive.py", "test_one_resource"),
    "conservative with a priority order": (SELECT, "test_"),
    "slack-based backfilling, simplified": (SELECT, "test_"),
    "LOS": (SELECT, "test_"),
    "plan-based policies": (GUIDES, "test_documented_commands_run"),
    "a trained model, any Python code": (SELECT, "test_"),
    "a Gymnasium environment": ("api/test_environment.py", "test_gymnasium_accepts_it"),
    "predictions from a column or file": ("predict/test_predictors.py", "test_"),
    "user quantile, nearest neighbours, LightGBM": ("predict/test_predictors.py", "test_"),
    "orders and tests over columns of the log: deadlines, power, priorities": (
        "engine/test_columns.py",
        "test_each_slot",
    ),
    "earliest deadline first, with admission": ("engine/test_idea_pages.py", "test_edf"),
    "a power cap, or licences, that change by the hour, with the guarantees of every policy": (
        "engine/test_bounds.py",
        "test_starts_equal_the_reference",
    ),
    "orders, tests and plans by the price or carbon of energy, now and ahead": (
        "engine/test_series.py",
        "test_each_slot",
    ),
    "several quantiles of the run time in one rule": (
        "engine/test_columns.py",
        "test_several_estimates_of_a_job",
    ),
    "mean of the user's runs, decayed": (GUIDES, "test_documented_commands_run"),
    "licences, burst buffers": ("engine/test_equals_naive.py", "test_three_resources"),
    "suspend, checkpoint with overhead": ("engine/test_work_kept.py", "test_equals_the_reference"),
    "schedules in the event order of pyss": (
        "engine/test_pyss_order.py",
        "test_equals_the_reference",
    ),
    "carbon-aware shifting with a bounded delay": (
        "engine/test_idea_pages.py",
        "test_carbon_shifting",
    ),
    "quantile-safe backfilling": ("engine/test_idea_pages.py", "test_quantile_backfilling"),
    "HEFT's upward rank for workflows": ("engine/test_idea_pages.py", "test_workflow_order"),
    "moldable jobs": ("engine/test_moldable.py", "test_sizes_and_runs_equal_a_walk"),
    "sizes chosen at the start, changed while a job runs, speeds, stops": (
        "engine/test_changing.py",
        "test_equals_naive",
    ),
    "suspend long jobs while short ones run": (
        "engine/test_changing.py",
        "test_pages_equal_naive",
    ),
    "malleable equipartition": ("engine/test_changing.py", "test_pages_equal_naive"),
    "malleable backfilling: shrink running jobs to start the next": (
        "engine/test_changing.py",
        "test_pages_equal_naive",
    ),
    "slowdown by speed scaling": ("engine/test_changing.py", "test_pages_equal_naive"),
    "an inspector that rejects backfills, learned": (
        "engine/test_idea_pages.py",
        "test_inspector",
    ),
    "closed-loop users: jobs are submitted a think time after earlier ones ended": (
        "workload/test_sessions.py",
        "test_batches_follow_the_end_of_the_one_before",
    ),
    "orders by the workflow of a job: longest remaining path, number of children": (
        "engine/test_follows.py",
        "test_functions_see_the_workflow",
    ),
    PLACED: ("engine/test_place_slot.py", "test_equals_the_reference"),
    "kill youngest": ("engine/test_victims.py", "test_equals_the_reference"),
    "dependencies, advance reservations, outages, array throttles": (
        "engine/test_site.py",
        "test_",
    ),
    "mixed GPU and memory nodes": ("engine/test_site.py", "test_"),
}
"""The test of each idea: its file and the beginning of its name."""


def possible() -> list[str]:
    """The ideas of the first table."""
    text = GUIDE.read_text(encoding="utf-8").split("Not possible yet")[0]
    rows = re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE)
    return [row for row in rows if row != "idea" and not row.startswith("---")]


def test_every_line_has_a_test():
    """No line without a test, no test without a line."""
    assert possible() == list(dict.fromkeys(possible()))
    assert set(possible()) == set(TESTED)


@pytest.mark.parametrize("idea", TESTED)
def test_the_test_exists(idea):
    """A renamed or deleted test is noticed."""
    file, name = TESTED[idea]
    text = (ROOT / "tests" / file).read_text(encoding="utf-8")
    assert f"def {name}" in text, f"{file} has no {name}"


WRITTEN = {
    "WFP3, UNICEF": ("wfp3", "unicef"),
    "F1 to F4": ("f1",),
    "SRD2F, small class first": ("small_first",),
    "fair-share with decay (part of Slurm multifactor)": ("fair_share",),
    "SAF backfilling": ("least_area",),
    "relaxed backfilling": ("relaxed",),
    "selective reservations": ("needy",),
    "adaptive selective reservations": ("adaptive",),
    "plan-based policies": ("widest_first",),
    "a trained model, any Python code": ("by_table",),
    "mean of the user's runs, decayed": ("decayed",),
    PLACED: ("spare_gpus",),
    "kill youngest": ("youngest",),
}
"""The examples on the page that are ideas written by hand."""
BUNDLED = {
    "conservative with a priority order": ("promise_all", "compress"),
    "slack-based backfilling, simplified": ("slack", "compress"),
    "LOS": ("los",),
}
"""Functions of the catalogue whose lines the page counts: what a user would write."""


@pytest.fixture(scope="module")
def source() -> str:
    """The file ideas.py as the page writes it."""
    block = re.search(r"cat > ideas.py <<END\n(.*?)> END\n", GUIDE.read_text("utf-8"), re.DOTALL)
    assert block is not None
    return "".join(line[2:] + "\n" for line in block[1].splitlines())


@pytest.fixture(scope="module")
def written(source: str, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """That file, imported."""
    path = tmp_path_factory.mktemp("ideas") / "ideas.py"
    path.write_text(source, "utf-8")
    found = spec_from_file_location("ideas_of_the_guide", path)
    assert found is not None and found.loader is not None
    made = module_from_spec(found)
    found.loader.exec_module(made)
    return made


def shown_lines() -> dict[str, str]:
    """The third column of the first table by the first."""
    text = GUIDE.read_text(encoding="utf-8").split("Not possible yet")[0]
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| ([^|]+) \|", text, re.MULTILINE)
    return dict(rows)


def code_lines(text: str) -> int:
    """Lines with code, docstrings and comments left out."""
    tree = ast.parse(textwrap.dedent(text))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return len(ast.unparse(tree).split("\n")) - ast.unparse(tree).split("\n").count("")


def test_lines_are_as_counted(source: str) -> None:
    """Every count of code lines in the table is right."""
    parts = re.split(r"\n\n+", source.strip())
    size: dict[str, int] = {}
    last = ""
    for part in parts[1:]:
        name = re.findall(r"^def (\w+)", part, re.MULTILINE)[0]
        last = last if name == "_" else name
        lines = [line for line in part.splitlines() if line.strip()]
        size[last] = size.get(last, 0) + len(lines)
    assert set(size) == {name for names in WRITTEN.values() for name in names}
    lines = shown_lines()
    for idea, names in WRITTEN.items():
        assert {size[name] for name in names} == {int(lines[idea].removeprefix("0 or "))}, idea
    for idea, names in BUNDLED.items():
        everything = {**vars(srinivasan), **vars(talby), **vars(shmueli)}
        functions = [everything[name] for name in names]
        found = sum(code_lines(inspect.getsource(one)) for one in functions)
        assert int(lines[idea].removeprefix("0 or ")) == found + 1, (idea, found + 1)


RECORDS = [
    Job(submit, wait, 4 * run, run, procs, 1, -1, -1, 1, 1, 1, 1, 1, -1, 0, promised, -1)
    for submit, wait, run, procs, promised in (
        (0, 0, 1, 1, -1), (5, 100, 60, 2, 400), (7_000, 3, 86_400, 128, 7_100), (9, 9_999, 7, 3, -1)
    )
]  # fmt: skip


def test_written_by_hand_they_are_the_catalogues(written: ModuleType) -> None:
    """The same number for every record, so the same schedules."""
    memory = np.array([4.0, 10.0])
    for name, theirs in {
        "wfp3": tang.wfp3, "unicef": tang.unicef, "f1": carastan_santos.f1,
        "least_area": lelong.saf, "needy": srinivasan.selective,
    }.items():  # fmt: skip
        ours = getattr(written, name).function
        for job in RECORDS:
            now = job.submit + job.wait
            assert ours(now, job) == pytest.approx(theirs(now, job)), name
    for job in RECORDS:
        now = job.submit + job.wait
        asked = now, job, memory, now + 50.0
        assert written.relaxed.function(*asked) == ward.relaxed(*asked)
        assert written.adaptive.function(*asked[:3]) == srinivasan.adaptive(*asked[:3])
    [(_, learns)] = written.adaptive.learners
    ours, theirs = memory.copy(), memory.copy()
    learns(500, RECORDS[1], ours)
    srinivasan.add_slowdown(500, RECORDS[1], theirs)
    assert ours.tolist() == theirs.tolist()


RUN_ALL = """
import sys
import numpy as np
import shadowtime as st
from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Node, Site
from shadowtime.engine import simulate
from shadowtime.engine.rules import rules_of
from shadowtime.schedule.check import check
from shadowtime.workload.embedded import demo_workload

sys.path.insert(0, sys.argv[1])
import ideas

jobs, pool = demo_workload().take(np.arange(60)), Cluster.pool(256)
for policy in (
    st.easy(order=ideas.wfp3, backfill=ideas.least_area, estimate=ideas.decayed),
    st.easy(order=ideas.unicef, reserve=ideas.relaxed),
    st.easy(order=ideas.f1, reserve=ideas.adaptive),
    st.easy(order=ideas.small_first, reserve=ideas.needy),
    st.easy(order=ideas.fair_share),
    st.policy("pv-easy", preempt=ideas.youngest),
    st.easy(backfill=ideas.widest_first),
    st.easy(backfill=ideas.by_table),
):
    made = simulate(jobs, pool, policy)
    report = check(made, jobs, pool, rules=rules_of(policy, jobs, pool))
    assert report.ok, (policy.name, report.first_violation)
    print(policy.name)
site = Site(
    nodes=(Node(name="g", amounts=(4, 2)), Node(name="n", amounts=(4, 0))),
    resources=("cpus", "gpu"),
)
small = st.Workload.build(submit=[0, 1], run=[9, 9], procs=[2, 2])
print(*simulate(small, site, st.easy(place=ideas.spare_gpus)).place)
"""


def test_every_example_runs(source: str, tmp_path: Path) -> None:
    """Each in a schedule that is proved; uncompiled, as test_slots compares the two."""
    (tmp_path / "ideas.py").write_text(source, "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL, str(tmp_path)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 9 and lines[-1] == "n:2 n:2"
