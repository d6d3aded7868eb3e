"""Jobs that never start are an outcome: counted, explained, ranked by, in every interface."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shadowtime as st
from shadowtime.cli import run
from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Site
from shadowtime.metrics import measure
from shadowtime.metrics.policy_run import PolicyRun
from shadowtime.report import explain
from shadowtime.report.contest import contest
from shadowtime.report.verdict import judge, never_started
from shadowtime.schedule import Schedule, read
from shadowtime.schedule.check import check
from shadowtime.study import tune as tuning
from shadowtime.study.comparison import rank
from shadowtime.study.sweep.leaderboard import Place, Subject, _ranks
from shadowtime.study.unstarted import why_never
from shadowtime.types import Reason
from shadowtime.workload import Workload

SITE = """
[site]
enforce = ["limits"]
resources = ["cpus"]
[[nodes]]
names = "a1"
cpus = 16
weight = 1
[[nodes]]
names = "b1"
cpus = 8
weight = 2
[[qos]]
name = "normal"
limits = { user_resources = { cpus = 10 } }
"""
JOBS = """job_id,submit,run,request,procs,user,qos,exclusive,wanted
1,0,100,100,2,u1,normal,yes,
2,10,100,100,8,u2,normal,no,b1
"""
SLURM = "easy(place=slurm)"
"""Chooses the lighter node, which is over the limit, and gives up: job 1 never starts."""
CAUSE = "a limit forbids it (QOSMaxCpuPerUserLimit)"


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """The log and the machine."""
    (tmp_path / "site.toml").write_text(SITE)
    (tmp_path / "jobs.csv").write_text(JOBS)
    return str(tmp_path / "jobs.csv"), str(tmp_path / "site.toml")


def never(workload: Workload, start: list[int], **columns: Any) -> Schedule:
    """A schedule with these starts; -1: it never started."""
    begun = np.array(start)
    return Schedule.recorded(workload).replace(
        start=begun,
        end=np.where(begun >= 0, begun + workload.run, -1),
        reason=np.where(begun >= 0, Reason.HEAD, Reason.UNSTARTED).astype(np.int8),
        **{name: np.array(column) for name, column in columns.items()},
    )


def test_numbers_of_jobs_that_never_start() -> None:
    """They are counted with a lower bound of their waits and are no part of means and percentiles.

    The bound: until it was cancelled, else until the last submission or end. A promise to one that
    was not cancelled before is missed.
    """
    jobs = Workload.build(
        submit=[0, 10, 20, 30, 90],
        run=[50] * 5,
        procs=[1] * 5,
        extra={"cancel_at": np.array([-1, -1, 60, 40, -1])},
    )
    made = never(jobs, [0, -1, -1, -1, 95], promised=[-1, 500, 55, 55, 95])
    found = measure(made, jobs, Cluster.pool(4))
    assert (found["jobs"], found["unstarted"], found["unknown_start"]) == (2, 3, 0)
    assert found["unstarted_wait_mean_s"] == (135 + 40 + 10) / 3
    assert found["unstarted_wait_max_s"] == 145 - 10
    assert (found["wait_mean_s"], found["wait_max_s"]) == (2.5, 5)
    assert (found["promises"], found["promises_missed"]) == (3, 2)


def test_a_start_that_a_log_does_not_give_is_another_thing() -> None:
    jobs = Workload.build(submit=[0, 0], run=[9, 9], procs=[1, 1], recorded_start=[0, -1])
    found = measure(Schedule.recorded(jobs), jobs, Cluster.pool(4))
    assert (found["unstarted"], found["unknown_start"]) == (0, 1)
    assert "unstarted_wait_mean_s" not in found


def test_no_star_for_a_policy_that_starts_fewer_jobs() -> None:
    """Not by any metric, and not for the whole; the reason is said."""

    def made(name: str, unstarted: int, wait: float) -> PolicyRun:
        metrics = {"jobs": 9 - unstarted, "unstarted": unstarted, "wait_mean_s": wait}
        metrics |= {"bsld_mean": wait, "unstarted_wait_max_s": 60}
        return PolicyRun(name=name, schedule=None, metrics=metrics)  # type: ignore[arg-type]

    runs = [made("a", 0, 30.0), made("b", 2, 10.0), made("c", 0, 20.0)]
    assert contest(runs, "wait_mean_s").winners == (2,)
    assert contest(runs, "unstarted").winners == (0, 2)
    assert judge(runs).winner == 2
    assert never_started(runs) == [
        "b never starts 2 of 9 jobs; the longest wait of these was 1 min or more."
    ]
    assert "Not ranked, because they start fewer jobs: b (2 fewer)." in judge(runs).notes
    values = {"a": np.array([3.0, 3.0]), "b": np.array([1.0, 1.0])}
    assert rank(values, "bsld_mean").order == ("b", "a")  # type: ignore[union-attr]
    ranked = rank(values, "bsld_mean", {"a": np.array([0, 0]), "b": np.array([0, 5])})
    assert ranked is not None
    assert (ranked.order, ranked.first) == (("a", "b"), {"a": 1, "b": 1})


def test_a_leaderboard_ranks_by_the_jobs_that_start_first() -> None:
    log = Subject(name="log", machine="", trace="")
    common: dict[str, Any] = dict(interval=None, held_out=None, runs=1, failed=0, proved=None)
    places = {
        ("a", log): Place(value=9.0, **common),
        ("b", log): Place(value=1.0, unstarted=3, **common),
    }
    assert _ranks(places, ["a", "b"], [log], 1) == {("a", log): 1, ("b", log): 2}


def test_tuning_chooses_no_candidate_that_starts_fewer_jobs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However good its objective: with reserve=2 one job never starts here, with others all do."""
    from shadowtime.workload.embedded import demo_workload
    from shadowtime.workload.slicing import first_jobs

    def measured(schedule: Schedule, *_: Any, **__: Any) -> dict[str, float]:
        worse = "reserve=2" in schedule.policy
        return {"bsld_mean": 1.0 if worse else 5.0, "unstarted": float(worse)}

    monkeypatch.setattr(tuning, "measure", measured)
    jobs = first_jobs(demo_workload(), 300)
    space = tuning.Space.of("easy", ["reserve=2,4"])
    found = tuning.tune(
        [tuning.Parts.of(jobs)], Cluster.pool(256), space, ["bsld_mean"], method="random",
        trials=4, seed=1, copies=2, baseline="easy", rivals=[],
    )  # fmt: skip
    assert found.chosen == "easy(reserve=4)"
    assert found.as_dict()["unstarted"] == {"chosen": 0.0, "baseline": 0.0}


def test_the_schedule_says_so_and_check_reads_it(files: tuple[str, str], tmp_path: Path) -> None:
    """Its reason is unstarted in CSV and Parquet; a start beside that reason is a violation."""
    made = st.simulate(*files, SLURM)
    for suffix in ("csv", "parquet"):
        if suffix == "parquet":
            pytest.importorskip("pyarrow")
        path = tmp_path / f"s.{suffix}"
        made.write(path)
        again = read(path)
        assert [Reason(code).label for code in again.reason.tolist()] == ["unstarted", "head"]
        proof = next(
            p for p in check(again, made.workload, made.cluster).proofs if "once" in p.name
        )
        assert proof.detail == "1 of 2 jobs never started, the first is job 1"
    with (tmp_path / "s.csv").open() as text:
        assert [row["reason"] for row in csv.DictReader(text)] == ["unstarted", "head"]
    wrong = made.schedule.replace(reason=np.array([5, 5], np.int8))
    found = check(wrong, made.workload, made.cluster).first_violation
    assert found is not None and "but its reason is unstarted" in found.detail
    late = made.schedule.replace(promised=np.array([40, -1]), claims=("promises-kept",))
    found = check(late, made.workload, made.cluster).first_violation
    assert found is not None and "was promised 40 s and never started" in found.detail


@pytest.mark.parametrize("policy", ["easy(place=slurm)", "conservative(place=slurm)"])
def test_check_follows_a_policy_that_never_starts_a_job(
    files: tuple[str, str], tmp_path: Path, policy: str
) -> None:
    """The verifier of ``check -p`` gives such a job the same reason."""
    path = tmp_path / "s.csv"
    st.simulate(*files, policy).write(path)
    asked = ["check", str(path), "--trace", files[0], "--cluster", files[1], "-p", policy]
    assert run(asked) == 0
    path.write_text(path.read_text().replace("unstarted", "recorded"))
    assert run(asked) != 0


def test_simulate_and_compare_print_them(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The issue's example: number, cause and bound in the table, in JSON, in folders and pages."""
    assert run(["simulate", files[0], "--cluster", files[1], "-p", SLURM]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "never started 1 " in text
    assert f"1 job: {CAUSE}; waited 1 min 50 s or longer (job 1)" in text
    folder, page = str(tmp_path / "r"), tmp_path / "page.html"
    both = ["compare", files[0], "--cluster", files[1], "-p", SLURM, "-p", "easy"]
    assert run([*both, "-o", folder, "--report", str(page)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "policy never started waited at least mean wait" in text
    assert f"{SLURM} never starts 1 of 2 jobs: {CAUSE}" in text
    assert f"Not ranked, because they start fewer jobs: {SLURM} (1 fewer)." in text
    assert "All metrics with a direction are equal" not in text
    assert "never starts 1 of 2 jobs" in page.read_text()
    assert run([*both, "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["policies"]
    assert first["unstarted"] == [
        {"why": CAUSE, "jobs": 1, "wait_mean_s": 110.0, "wait_max_s": 110, "first": [1]}
    ]
    assert "unstarted" not in second and second["metrics"]["unstarted"] == 0
    loaded = st.load(folder)
    assert [one.why for one in loaded.reports[0].runs[0].unstarted] == [CAUSE]
    assert run(["report", folder]) == 0
    assert "never starts 1 of 2 jobs" in " ".join(capsys.readouterr().out.split())
    assert run(["explain", folder, "1", "-p", SLURM]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "It never started: it waited 1 min 50 s or longer." in text
    assert "QOSMaxCpuPerUserLimit" in text


def test_python_has_them(files: tuple[str, str]) -> None:
    made = st.simulate(*files, SLURM)
    assert [(one.why, one.jobs, one.wait_max_s) for one in made.unstarted] == [(CAUSE, 1, 110)]
    assert repr(made).endswith("1 never started)")
    found = explain(made.workload, made.schedule, 1, cluster=made.cluster)
    assert found.reason is Reason.UNSTARTED
    assert [(one.kind, one.since, one.until) for one in found.in_the_way] == [("limit", 0, 110)]


def test_rows_of_a_sweep_have_them(files: tuple[str, str], tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from shadowtime.study.sweep import Shards

    plan = tmp_path / "plan.toml"
    plan.write_text(
        f'logs = ["{files[0]}"]\nclusters = ["{files[1]}"]\n'
        f'policies = ["easy", "{SLURM}"]\nmetrics = ["wait_mean_s"]\n'
    )
    assert run(["sweep", str(plan), "-o", str(tmp_path / "r"), "--workers", "1"]) == 0
    rows = {row["policy"]: row for row in Shards(tmp_path / "r").collect().to_pylist()}
    assert (rows["easy"]["unstarted"], rows["easy"]["unstarted_why"]) == (0, None)
    assert rows[SLURM]["unstarted_why"] == f"1: {CAUSE}"
    assert rows[SLURM]["unstarted_wait_max_s"] == 110


def test_causes_in_words(tmp_path: Path) -> None:
    """Each cause by the obstacles that explain uses; many jobs of one cause are one line."""
    (tmp_path / "site.toml").write_text(
        '[site]\nresources = ["cpus"]\n[[nodes]]\nnames = "n[1-2]"\ncpus = 4\n'
        '[[partitions]]\nname = "p"\nnodes = "n[1-2]"\nmax_time = 500\ndefault = true\n'
        "[licences]\nm = 1\n"
    )
    (tmp_path / "jobs.csv").write_text(
        "job_id,submit,run,request,procs,nodes,max_nodes,licences,dependency,cancel_at,begin\n"
        "1,0,50,50,1,,,,,,\n"
        "2,0,50,900,1,,,,,,\n"
        "3,0,50,900,1,,,,,,\n"
        "4,0,50,50,9,,,,,,\n"
        "5,0,50,50,1,,,m:2,,,\n"
        "6,0,50,50,1,,,,afternotok:1,,\n"
        "7,0,50,50,8,,,,,,\n"
        "8,5,50,50,8,,,,,20,\n"
    )
    made = st.simulate(tmp_path / "jobs.csv", tmp_path / "site.toml", "easy")
    assert isinstance(made.cluster, Site)
    found = {why.why: why.first for why in why_never(made.schedule, made.workload, made.cluster)}
    assert found == {
        "no partition accepts it: its time, nodes, resources or a limit on each job": (2, 3),
        "too few licences (m)": (5,),
        "its dependency (afternotok) was never met": (6,),
        "fits on no nodes of its partitions": (4,),
        "cancelled while it waited": (8,),
    }


def test_replay_prints_them(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A job with a recorded start that the simulation never starts is named with its cause."""
    lines = JOBS.replace("submit,", "submit,start,").replace(",0,100", ",0,5,100", 1)
    log = tmp_path / "recorded.csv"
    log.write_text(lines.replace("2,10,100", "2,10,10,100"))
    assert run(["replay", str(log), "--cluster", files[1], "-p", SLURM]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"never starts 1 job: {CAUSE}; waited 1 min 50 s or longer (job 1)" in text
