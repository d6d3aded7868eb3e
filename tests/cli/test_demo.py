"""shadowtime demo: the comparison, and --step for teaching."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import thorough
from shadowtime.cli import run
from shadowtime.cli.common import running
from shadowtime.cli.demo.run import NEXT, POLICIES
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate, uncompiled, warm
from shadowtime.engine.uncompiled import simulate_uncompiled
from shadowtime.errors import PolicyError
from shadowtime.metrics import measure
from shadowtime.policy import parse_policy
from shadowtime.schedule import Schedule, read
from shadowtime.study.lesson_rules import EXPLAINED
from shadowtime.workload import Workload, demo_workload, first_jobs


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")


def test_seven_policies_a_winner_and_which_jobs_pay(capsys: pytest.CaptureFixture[str]) -> None:
    """Prints the table with a star, the verdict, the losers and what to do next, in 100 columns."""
    assert run(["demo"]) == 0
    out = capsys.readouterr().out
    rows = {line.split()[0] for line in out.splitlines() if line.strip()}
    assert set(POLICIES) <= rows and len(POLICIES) == 7
    for words in ("★", "serves most jobs best", "Which jobs pay:", "Next:"):
        assert words in out
    assert max(map(len, out.splitlines())) <= 100
    story = " ".join(out.split())
    assert "One job pays for the mean." in story and "Why job 2232 started when it did" in story
    assert "under greedy, where 768 later jobs pass it: longer than under fcfs" in story
    # Where the passes are not compiled yet there are no shaken copies, and a line reports it.
    assert ("This is one sample of one workload." in story) != ("Over 10 shaken inputs" in story)


def test_the_next_commands_fit_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In 80 columns every suggested command has one line, and no heading is cut."""
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["demo"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80 and "…" not in out
    _, _, suggested = out.partition("Next:\n")
    assert [line.split()[0] for line in suggested.splitlines()] == ["shadowtime"] * len(NEXT)


def test_json_folder_and_page(capsys: pytest.CaptureFixture[str]) -> None:
    """The same object as compare prints; the folder and the page if requested."""
    assert run(["demo", "--json", "-o", "out", "--report", "page.html"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [policy["name"] for policy in found["policies"]] == list(POLICIES)
    assert found["loads"][0]["winners"]["bsld_mean"]
    schedules = {path.name for path in Path("out/schedules").glob("*.csv")}
    assert schedules == {*(f"{name}.csv" for name in POLICIES), "pv-easy.attempts.csv"}
    assert "pv-easy" in Path("page.html").read_text()


def test_on_a_new_machine_nothing_is_compiled(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an empty cache, small runs are not compiled and large ones are."""
    pool, policies = Cluster.pool(8), [parse_policy("easy"), parse_policy("lxfw")]
    monkeypatch.setattr(warm, "cold", lambda policies, cluster: ["general", "easy"])
    chosen = running.prepare(policies, pool, jobs=10)
    assert isinstance(chosen, partial) and chosen.func is running.run_once
    [engine] = chosen.args
    assert engine.func is simulate_uncompiled
    engine.keywords["report"]("easy is compiled after all")
    assert "easy is compiled after all" in capsys.readouterr().err
    shared: list[str] = []
    monkeypatch.setattr(warm, "warm", lambda *a, **k: shared.append("all cores"))
    assert running.prepare(policies, pool, jobs=100_000) is simulate
    assert shared == ["all cores"]
    assert "compiling the engine for this machine: once, about" in capsys.readouterr().err
    monkeypatch.setattr(warm, "cold", lambda policies, cluster: [])
    assert running.prepare(policies, pool, jobs=10) is simulate
    assert capsys.readouterr() == ("", "")


def test_a_small_run_is_kept_and_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not compiled, it takes seconds: the second time it is not run; after an edit it is."""
    monkeypatch.setenv("SHADOWTIME_CACHE", str(tmp_path))
    jobs, pool = first_jobs(demo_workload(), 50), Cluster.pool(256)
    asked: list[str] = []

    def engine(jobs: Workload, cluster: Cluster, policy: Any, *, watch: Any = None) -> Schedule:
        asked.append(policy.name)
        return simulate(jobs, cluster, policy)

    def again(name: str) -> Schedule:
        return running.run_once(engine, jobs, pool, parse_policy(name))

    first, second = again("easy"), again("easy")
    assert asked == ["easy"]
    assert measure(first, jobs, pool) == measure(second, jobs, pool)
    assert (first.claims, first.policy) == (second.claims, second.policy)
    again("fcfs")
    assert asked == ["easy", "fcfs"], "another policy"
    for file in tmp_path.rglob("*.run"):
        file.write_bytes(b"damaged")
    assert again("easy").start.tolist() == first.start.tolist()
    assert asked == ["easy", "fcfs", "easy"], "what cannot be read is run"
    monkeypatch.setattr(running, "source_digest", lambda path: "edited")
    again("easy")
    assert len(asked) == 4, "other sources of the engine"
    monkeypatch.setattr(running, "MOST_KEPT", 2)
    again("lxf")
    assert len(list(tmp_path.rglob("*.run"))) == 2
    monkeypatch.setenv("SHADOWTIME_CACHE", "/dev/null/nowhere")
    assert again("easy").start.tolist() == first.start.tolist(), "without a cache"


@pytest.mark.parametrize("policy", POLICIES)
def test_uncompiled_runs_give_the_same_schedule(policy: str) -> None:
    """Kernels run as plain Python in a separate process make the same decisions.

    The whole demo is run, as it is for users, in a quick run its first third; a fallback would
    compare compiled with compiled.
    """
    jobs = demo_workload() if thorough() else first_jobs(demo_workload(), 1000)
    pool, chosen = Cluster.pool(jobs.machine["procs"]), parse_policy(policy)
    plain = simulate_uncompiled(jobs, pool, chosen, report=pytest.fail)
    compiled = simulate(jobs, pool, chosen)
    for column in ("start", "end", "reason", "promised", "blocked_at"):
        assert np.array_equal(getattr(plain, column), getattr(compiled, column))
    assert (plain.counters, plain.claims) == (compiled.counters, compiled.claims)


def test_uncompiled_runs_refuse_as_compiled_ones_do() -> None:
    """An error in the other process is raised in this one."""
    jobs = first_jobs(demo_workload(), 5)
    with pytest.raises(PolicyError, match="kept"):
        simulate_uncompiled(jobs, Cluster.pool(256), parse_policy("conservative(order=sjf)"))


def test_a_run_that_breaks_there_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the uncompiled run fails, that is reported and the run is compiled after all."""
    monkeypatch.setattr(uncompiled, "CODE", "raise ValueError('no such luck')")
    jobs, pool, easy = first_jobs(demo_workload(), 20), Cluster.pool(256), parse_policy("easy")
    reported: list[str] = []
    found = simulate_uncompiled(jobs, pool, easy, report=reported.append)
    assert reported == [
        "easy could not be run without compiling (ValueError: no such luck), so it is compiled"
    ]
    with pytest.warns(RuntimeWarning, match="no such luck"):
        simulate_uncompiled(jobs, pool, easy)
    assert np.array_equal(found.start, simulate(jobs, pool, easy).start)


def test_a_sum_that_leaves_its_type_breaks_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code counts in 64 bits; where plain NumPy would overflow, the run fails."""

    def wrapping(*_: object) -> object:
        return np.int8(127) + np.int8(1)

    monkeypatch.setattr(uncompiled, "simulate", wrapping)
    with pytest.raises(FloatingPointError):
        uncompiled.answer(demo_workload(), Cluster.pool(256), parse_policy("easy"))


def test_ctrl_c_ends_an_uncompiled_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child receives the terminal's signal too; its exit must not trigger compilation."""
    interrupted = "import os, signal; from shadowtime.child_process import Tasks; "
    interrupted += "Tasks(interruptible=True); os.kill(os.getpid(), signal.SIGINT)"
    monkeypatch.setattr(uncompiled, "CODE", interrupted)
    with pytest.raises(KeyboardInterrupt):
        simulate_uncompiled(
            demo_workload(), Cluster.pool(256), parse_policy("easy"), report=pytest.fail
        )


def test_a_policy_that_cannot_travel_runs_here() -> None:
    """A function from a user's file exists in this process only."""
    jobs = first_jobs(demo_workload(), 20)
    mine = parse_policy("easy").replace(name="mine", summary=(lambda: "no pickle"))  # type: ignore[arg-type]
    reported: list[str] = []
    found = simulate_uncompiled(jobs, Cluster.pool(256), mine, report=reported.append)
    assert reported == ["mine exists in this process only, so it is compiled"]
    assert np.array_equal(
        found.start, simulate(jobs, Cluster.pool(256), parse_policy("easy")).start
    )


@pytest.mark.parametrize("policy", EXPLAINED)
def test_every_step_is_shown_when_piped(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a terminal it does not wait: queue, chart, reasons and the summary are printed."""
    assert run(["demo", "--step", "--policy", policy]) == 0
    out = capsys.readouterr().out
    assert out.count("minute 0") >= 1 and "free 3 of 8" in out and "the end" in out
    assert "Mean wait under" in out and "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 100
    if policy == "easy":
        assert "shadow time of B: 10, 2 extra" in out and "it overtakes" in out


def test_the_chart_gives_every_job_its_area(capsys: pytest.CaptureFixture[str]) -> None:
    """In the last chart each job covers processors x minutes, and nothing overlaps."""
    assert run(["demo", "--step"]) == 0
    last = capsys.readouterr().out.split("minute ")[-1].split("the end")[0]
    chart = [line for line in last.splitlines() if line.startswith("  ") and "·" in line]
    cells = "".join(chart)
    for name, procs, minutes in (("A", 5, 6), ("B", 6, 4), ("G", 8, 2), ("J", 3, 5)):
        assert cells.count(name) == 2 * procs * minutes


def test_a_person_steps_forward_and_back_and_stops_with_q() -> None:
    """On a terminal it waits: Enter goes on, b goes back, a number selects a step, q quits."""
    master, slave = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "shadowtime", "demo", "--step"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=os.environ | {"COLUMNS": "100", "TERM": "xterm"},
        close_fds=True,
    )
    os.close(slave)
    seen = _until(master, "q: stop")
    assert "minute 0" not in seen
    os.write(master, b"\n")
    assert "minute 0" in _until(master, "q: stop")
    os.write(master, b"\n")
    assert "minute 1" in _until(master, "q: stop")
    os.write(master, b"b\n")
    assert "minute 0" in _until(master, "q: stop")
    os.write(master, b"3\n")
    assert "minute 2" in _until(master, "q: stop")
    os.write(master, b"q\n")
    assert child.wait(timeout=60) == 0
    os.close(master)


def _until(terminal: int, text: str) -> str:
    """The terminal's output up to a text."""
    seen, patience = "", time.monotonic() + 60
    while text not in seen and time.monotonic() < patience:
        if select.select([terminal], [], [], 1.0)[0]:
            seen += os.read(terminal, 65536).decode("utf-8", "replace")
    assert text in seen, seen
    return seen


@pytest.mark.parametrize("policy", ["easy", "conservative"])
def test_jobs_of_a_log_are_watched(
    policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Letters stand for job numbers of the log; the starts equal the engine's for the same jobs."""
    log = tmp_path / "log.swf"
    minutes = [
        (11, 0, 120, 40),
        (12, 10, 200, 30),
        (13, 20, 60, 8),
        (14, 30, 30, 2),
        (15, 31, 5, 1),
    ]
    log.write_text(
        "; MaxProcs: 44\n"
        + "".join(
            f"{number} {at * 60} -1 {length * 60} {procs} -1 -1 {procs} {length * 60}"
            " -1 1 1 1 1 1 1 -1 -1\n"
            for number, at, length, procs in minutes
        )
    )
    assert run(["demo", "--step", "--log", str(log), "--jobs", "0:5", "-p", policy]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^A +11 +0 +40 +120 +120$", out, re.M) and "a column is" in out
    assert run(["simulate", str(log), "-p", policy, "--schedule", str(tmp_path / "s.csv")]) == 0
    capsys.readouterr()
    starts = read(tmp_path / "s.csv").start.tolist()
    table = out.split("the end")[1]
    for letter, start in zip("ABCDE", starts, strict=True):
        assert re.search(rf"^{letter} +\d+ +{start // 60} ", table, re.M), (letter, start)


def test_so_many_jobs_of_a_log_and_no_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.swf"
    line = "{0} {0} -1 60 1 -1 -1 1 60 -1 1 1 1 1 1 1 -1 -1\n"
    log.write_text("; MaxProcs: 4\n" + "".join(line.format(number) for number in range(1, 40)))
    assert run(["demo", "--step", "--log", str(log), "--jobs", "0:39"]) == 2
    assert "at most 26 can be watched at once, not 39" in capsys.readouterr().err
    assert run(["demo", "--step", "--log", str(log), "--jobs", "90:99"]) == 2
    assert "has 39 jobs: take some of them" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--step", "--policy", "lxfw"], "--step supports fcfs"),
        (["--step", "-o", "out"], "--step writes nothing"),
        (["--auto"], "belong to --step"),
        (["--policy", "fcfs"], "belong to --step"),
        (["--log", "a.swf"], "belong to --step"),
        (["--step", "--jobs", "0:9"], "give a log to watch"),
        (["--step", "--log", "no.swf"], "no.swf"),
    ],
    ids=["unknown", "folder", "auto", "policy", "log", "jobs", "no log"],
)
def test_wrong_input_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence on standard error, exit code 2."""
    assert run(["demo", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and message in err
