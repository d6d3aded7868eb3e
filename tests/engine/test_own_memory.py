"""Memory of a user's own functions: a wrong index is an error, compiled or not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shadowtime.errors import PolicyError
from shadowtime.policy import parse_policy
from shadowtime.trace import write_swf
from shadowtime.workload import Workload

FILE = """
import numpy as np
import shadowtime as st

TABLE = np.arange(4.0)

@st.order(memory=2)
def reads_beyond(now, job, user):
    return job.wait + user[998 + job.procs]  # line 9

@st.order(memory=2)
def writes_beyond(now, job, user):
    user[10**9 * job.procs] = 1.0            # line 13
    return 0.0

@st.order
def reads_a_table(now, job):
    return TABLE[job.procs + 100000]         # line 18

def entry(values, at):
    return values[at]                        # line 21

@st.backfill_test(memory=2)
def calls_another(now, job, user):
    return entry(user, -job.procs - 2) > 0

@st.estimate(memory=3)
def counted(now, job, user):
    return job.request

@counted.learn
def counts(now, job, user):
    user[0] += 1
    user[int(user[0])] = job.ran             # line 34

@st.order(memory=1)
def timed(now, job, user):
    return user[0]

@timed.learn(on="timer", every=5)
def _(now, user):
    user[now * 1000] = 1.0                   # line 42

@st.order(memory=64)
def good(now, job, user):
    return -job.procs - user[63] - user[-64]

@st.order
def undeclared(now, job, user):
    return user[0]                           # line 50

@st.order(memory=65)
def too_much(now, job, user):
    return user[64]

@st.order
def learns_nothing(now, job):
    return job.wait

@learns_nothing.learn
def _(now, job, user):
    user[0] += 1

@st.order
def misspelt(jobs, now):
    return 0

bad = st.easy(order=undeclared)
worse = misspelt(weight=2)
"""

WRONG = {
    "reads_beyond": ("order function reads_beyond", 9, "job 11 at 0", "index 1001 .* size 2"),
    "writes_beyond": ("order function writes_beyond", 13, "job 11 at 0", "index 3000000000 .* 2"),
    "reads_a_table": ("order function reads_a_table", 18, "job 11 at 0", "index 100003 .* size 4"),
    "calls_another": ("backfill test function calls_another", 21, "job 13 at 2", "index -3 .* 2"),
    "counted": ("learn function counts", 34, "job 12 at 14", "index 3 is out of bounds .* size 3"),
    "timed": ("timer function _", 42, "failed at 5", "index 5000 .* size 1"),
}
"""What is named: the function, its line, the job and when, the index."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    jobs = Workload.build(
        job_id=[11, 12, 13, 14], submit=[0, 1, 2, 3], run=[9, 5, 4, 2], procs=[3, 4, 1, 2],
        user=[1, 1, 1, 1],
    )  # fmt: skip
    write_swf(jobs, "log.swf")
    Path("own.py").write_text(FILE)
    return tmp_path


def simulated(name: str, *, compiled: bool) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "shadowtime", "simulate", "log.swf", "-c", "pool:4", "-p", name],
        capture_output=True, text=True, env={**os.environ, "NUMBA_DISABLE_JIT": str(1 - compiled)},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr.splitlines()[-1] if done.stderr else ""


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_index_ends_the_run_alike_compiled_or_not(here: Path, name: str) -> None:
    """One sentence: function, line, job and index; never a result, never a crash."""
    import re

    function, line, when, index = WRONG[name]
    found = [simulated(f"own.py:{name}", compiled=compiled) for compiled in (True, False)]
    assert found[0] == found[1]
    code, printed, error = found[0]
    assert (code, printed) == (2, "")
    pattern = rf"the {function} \(.*own.py:{line}\) .*{when}.*IndexError: ({index})"
    assert re.search(pattern, error), error


FAULTY = {
    "undeclared": r"own.py:50\) uses user, but has no memory: .*@st.order\(memory=2\)",
    "bad": r"own.py:50\) uses user, but has no memory",
    "too_much": "memory=65 must lie between 0 and 64",
    "learns_nothing": "nothing to write into: declare the memory",
    "misspelt": r"takes \(jobs, now\)",
    "worse": r"takes \(jobs, now\)",
}


@pytest.mark.parametrize("name", FAULTY)
def test_a_faulty_function_is_rejected_and_leaves_the_others(here: Path, name: str) -> None:
    """What is wrong with a definition is said of the part that is used, not of its file."""
    with pytest.raises(PolicyError, match=FAULTY[name]):
        parse_policy(f"own.py:{name}")
    assert parse_policy("own.py:good").order.memory == 64


def test_all_64_numbers_can_be_used(here: Path) -> None:
    code, printed, _ = simulated("own.py:good", compiled=True)
    assert code == 0 and "good on log" in printed
