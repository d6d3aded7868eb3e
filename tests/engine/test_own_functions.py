"""If a user's own function fails, the run ends and reports for which job, where and why."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from shadowtime.cli import run as shadowtime
from shadowtime.cluster import Cluster, Host
from shadowtime.engine import simulate
from shadowtime.engine.live_pass import RunningJob, Snapshot, WaitingJob
from shadowtime.engine.live_pass.decide import decide, forward
from shadowtime.errors import PolicyError
from shadowtime.policy import parse_policy
from shadowtime.policy.order import Custom
from shadowtime.study import compare
from shadowtime.workload import Workload

EASY = parse_policy("easy")
JOBS = Workload.build(
    job_id=[11, 12, 13, 14], submit=[0, 1, 2, 3], run=[9, 5, 4, 2], procs=[3, 4, 1, 2]
)
POOL = Cluster.pool(4)


def unicef(wait, estimate, procs):
    return wait / (math.log2(procs) * estimate)


def no_number(wait, estimate, procs):
    return math.nan if procs == 1 else 1.0


def raising(wait, estimate, procs):
    if procs == 1:
        raise ValueError("serial jobs are not welcome")
    return 1.0


def own(function):
    return EASY.replace(name="mine", order=Custom(function))


LINE = unicef.__code__.co_firstlineno + 1
FAILURES = {
    unicef: f"{Path(__file__).name}:{LINE}.*job 13.*wait=.*procs=1.*ZeroDivisionError",
    no_number: "job 13 .*returned nan",
    raising: "job 13 .*ValueError: serial jobs are not welcome",
}


@pytest.mark.parametrize("function", FAILURES)
def test_a_failure_ends_a_simulation(function, capfd):
    """Nothing else is printed: one error names the job, the line and the reason."""
    with pytest.raises(PolicyError, match=FAILURES[function]):
        simulate(JOBS, POOL, own(function))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("function", FAILURES)
def test_a_failure_ends_a_comparison(function):
    """The other policies of the comparison make no difference."""
    with pytest.raises(PolicyError, match=FAILURES[function]):
        compare(JOBS, POOL, [EASY, own(function)])


@pytest.mark.parametrize("function", FAILURES)
@pytest.mark.parametrize("ask", [decide, forward])
def test_a_failure_ends_a_live_pass(function, ask):
    """Jobs of a real cluster are named by the cluster's ids."""
    cluster = Cluster(shape="nodes", hosts=(Host("n1", (4,)),))
    state = Snapshot(
        now=9,
        cluster=cluster,
        running=(RunningJob(id="11", submit=0, need=(3,), request=9, start=4),),
        waiting=(
            WaitingJob(id="12_1", submit=1, need=(4,), request=5),
            WaitingJob(id="13", submit=2, need=(1,), request=4),
        ),
    )
    with pytest.raises(PolicyError, match=FAILURES[function]):
        ask(own(function), state)


def test_a_failure_ends_a_run_without_the_compiler():
    """Plain Python stops at the same job, with the same message."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import json, engine.test_own_functions as t\n"
        "from numba.core import config\n"
        "assert config.DISABLE_JIT\n"
        "found = []\n"
        "for function in t.FAILURES:\n"
        "    try: t.simulate(t.JOBS, t.POOL, t.own(function))\n"
        "    except t.PolicyError as error: found.append(str(error))\n"
        "print(json.dumps(found))\n"
    )
    tests = str(Path(__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", code, tests],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    expected = []
    for function in FAILURES:
        with pytest.raises(PolicyError) as error:
            simulate(JOBS, POOL, own(function))
        expected.append(str(error.value))
    assert json.loads(done.stdout) == expected


def with_default(wait, estimate, procs, weight=2.0):
    return wait * weight


def with_more(wait, *others):
    return wait


def by_name(wait, estimate, *, procs):
    return wait


def too_few(wait, estimate):
    return wait


@pytest.mark.parametrize("function", [with_default, with_more, by_name, too_few])
def test_other_arguments_are_refused(function):
    """An argument with a default would never be passed, so the definition is rejected."""
    where = f"{function.__name__} .*{Path(__file__).name}:{function.__code__.co_firstlineno}"
    with pytest.raises(PolicyError, match=rf"{where}\) takes \(.*\(wait, estimate, procs\)"):
        Custom(function)


@pytest.mark.parametrize("thing", [partial(unicef, 1), max])
def test_what_is_no_function_is_refused(thing):
    """Only functions can be compiled."""
    with pytest.raises(PolicyError, match="plain function priority"):
        Custom(thing)


TABLE = {1: 2.0}


def by_table(wait, estimate, procs):
    scale = 3
    return scale * TABLE[procs]


def text(wait, estimate, procs):
    return "high"


def adding(wait, estimate, procs):
    return wait + "s"


@pytest.mark.parametrize(
    ("function", "line", "reason"),
    [
        (by_table, 2, "TABLE"),
        (text, 0, "returns .*unicode.*not a number"),
        (adding, 1, r"add.*int64.*str"),
    ],
)
def test_what_cannot_be_compiled_is_shown(function, line, reason):
    """The error shows the line of the user's file and the compiler's reason, in one line."""
    at = function.__code__.co_firstlineno + line
    with pytest.raises(PolicyError, match=rf"{Path(__file__).name}:{at}\).*{reason}") as error:
        simulate(JOBS, POOL, own(function))
    assert "\n" not in str(error.value)


def test_the_commands_end_with_the_reason(tmp_path, monkeypatch, capsys):
    """No schedule is written, the exit code is not 0, and there is no traceback."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "from math import log2\n\ndef unicef(wait, estimate, procs):\n"
        "    return wait / (log2(procs) * estimate)\n"
    )
    rows = [
        f"{job} {submit} -1 {run} {procs} -1 -1 {procs} {run} -1 1 1 1 -1 -1 -1 -1 -1"
        for job, submit, run, procs in [(11, 0, 9, 3), (12, 1, 5, 4), (13, 2, 4, 1), (14, 3, 2, 2)]
    ]
    Path("log.swf").write_text("; MaxProcs: 4\n" + "\n".join(rows) + "\n")
    for words in (
        ["simulate", "log.swf", "-p", "mine.py:unicef", "--schedule", "out.csv"],
        ["compare", "log.swf", "-p", "easy", "-p", "mine.py:unicef"],
    ):
        assert shadowtime(words) != 0
        printed = capsys.readouterr().err
        assert "job 13" in printed and "mine.py:4" in printed and "ZeroDivisionError" in printed
        assert "Traceback" not in printed and "Exception ignored" not in printed
    assert not Path("out.csv").exists()
