"""A sweep on a real HTCondor pool: tasks killed and submitted again, workers of Parsl."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from condor_pool import NOBODY, Pool, running_pool
from live.test_sweep_slurm import table_bytes
from shadowtime.api.sweep import load_log
from shadowtime.study.sweep import Shards, run_plan
from shadowtime.study.sweep.plan_file import read_plan
from shadowtime.study.sweep.scale import condor_script
from study.sweep.worlds import GATE, write_log, write_plan

TASKS = 3
RUNS = 2 * 8 * 32
PATIENCE = 600


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with running_pool(nodes=1) as made:
        yield made


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the pool's user may read and write, which a folder of the tests is not."""
    made = Path(tempfile.mkdtemp(prefix="shadowtime-sweep-"))
    made.chmod(0o777)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def test_tasks_that_are_killed_and_submitted_again(pool: Pool, folder: Path) -> None:
    """What was written is kept, the rest runs, and the table equals that of one local process."""
    gate = GATE.replace("if not self.open:", "if not self.open and view.capacity[0] == 300:")
    (folder / "gate.py").write_text(gate)
    write_log(folder, jobs=30)
    path = write_plan(folder, ["easy(reserve=1..7)", "gate.py:Gate"], shake=31)
    path.write_text(path.read_text().replace('["pool:256"]', '["pool:256", "pool:300"]'))
    shards = Shards(folder / "r")
    shards.make()
    for each in (shards.folder, shards.place):
        each.chmod(0o777)
    described = folder / "sweep.sub"
    described.write_text(
        for_the_pools_user(condor_script(str(path), str(shards.folder), tasks=TASKS))
    )

    def submit() -> None:
        condor(pool, "condor_submit", str(described))

    def empty() -> bool:
        return not pool.schedd().query(projection=["ProcId"])

    def waits_at_the_gate() -> bool:
        return (folder / "pid").exists() and len(shards.files()) > 0

    submit()
    pool.wait(waits_at_the_gate, PATIENCE, "a task at the gate, with shards written")
    condor(pool, "condor_rm", "-all")
    pool.wait(empty, PATIENCE, "the tasks to be gone")
    kept = len(shards.done())
    assert 0 < kept < RUNS
    (folder / "go").touch()
    submit()
    pool.wait(empty, PATIENCE, "the second submission to end")
    logs = "".join(one.read_text() for one in sorted(shards.folder.glob("task-*.log")))
    assert len(shards.done()) == RUNS, logs
    run_plan(read_plan(path), folder / "local", load=load_log, workers=1)
    assert table_bytes(shards.folder) == table_bytes(folder / "local")


def test_workers_as_jobs_one_of_them_killed(pool: Pool, folder: Path) -> None:
    """504 simulations through Parsl; a worker dies at the gate, and its runs are made again."""
    pytest.importorskip("parsl", reason="the extra scale is not installed")
    python, searched = python_of_the_pools_user("import parsl, shadowtime.engine")
    (folder / "gate.py").write_text(GATE)
    write_log(folder, jobs=30)
    path = write_plan(folder, ["easy(reserve=1..7)", "gate.py:Gate"], shake=62)
    site = ("blocks=2", "address=127.0.0.1", "init=export NUMBA_DISABLE_JIT=1")
    words = [python, "-P", "-m", "shadowtime", "sweep", str(path), "-o", str(folder / "r")]
    words += ["--on", "condor", *(word for text in site for word in ("--site", text))]
    env = {
        "PATH": os.pathsep.join([str(pool.daemons / "usr" / "bin"), os.defpath]),
        "CONDOR_CONFIG": str(pool.config), "HOME": str(folder), "PYTHONPATH": searched,
        "NUMBA_DISABLE_JIT": "1",
    }  # fmt: skip
    with subprocess.Popen(
        words, env=env, cwd=folder, stderr=subprocess.PIPE, text=True, **submitter()
    ) as it:
        try:
            arrived = (folder / "pid").exists
            pool.wait(lambda: arrived() or it.poll() is not None, PATIENCE, "a worker at the gate")
            if arrived():
                os.kill(int((folder / "pid").read_text()), signal.SIGKILL)
                (folder / "go").touch()
            _, errors = it.communicate(timeout=PATIENCE)
        finally:
            it.kill()
    assert arrived(), errors
    assert it.returncode == 0, errors
    assert len(Shards(folder / "r").done()) == 8 * 63
    run_plan(read_plan(path), folder / "local", load=load_log, workers=1)
    assert table_bytes(folder / "r") == table_bytes(folder / "local")
    gone = "the workers to leave the queue"
    pool.wait(lambda: not pool.schedd().query(projection=["ProcId"]), PATIENCE, gone)


def submitter() -> dict[str, Any]:
    """The user that submits to the pool: the caller, but not root, whose jobs no pool runs."""
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


def python_of_the_pools_user(code: str) -> tuple[str, str]:
    """A Python that the user of the pool may run, and where it finds the packages of the tests.

    The tests' own Python and cache may be in a home that only its owner enters. Without a cache
    the small runs of these tests are made uncompiled.
    """
    searched = os.pathsep.join(one for one in sys.path if one)
    usual = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    plain = {"PATH": os.defpath, "PYTHONPATH": searched, "NUMBA_DISABLE_JIT": "1"}
    for python in (sys.executable, usual):
        try:
            tried = subprocess.run(
                [python, "-c", code], env=plain, cwd="/", check=False, timeout=120, **submitter()
            )
        except OSError:
            continue
        if tried.returncode == 0:
            return python, searched
    pytest.skip("the user of the pool can run no Python with the packages of the tests")


def for_the_pools_user(text: str) -> str:
    """The submit description with a Python that the user of the pool may run."""
    python, searched = python_of_the_pools_user("import shadowtime.engine")
    named = os.environ.get("SHADOWTIME_CACHE")
    return (
        text.replace(f"SHADOWTIME_CACHE={named} ", "")
        .replace("HOME=", f"NUMBA_DISABLE_JIT=1 PYTHONPATH={searched} HOME=")
        .replace(f"executable = {sys.executable}", f"executable = {python}")
    )


def condor(pool: Pool, program: str, *words: str) -> None:
    """One of HTCondor's commands."""
    path = pool.daemons / "usr" / "bin" / program
    done = subprocess.run(
        [path, *words],
        env={**os.environ, "CONDOR_CONFIG": str(pool.config)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
