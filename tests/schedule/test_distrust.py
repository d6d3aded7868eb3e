"""Forged columns, one at a time, are recomputed and found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from shadowtime.cli import run
from shadowtime.cluster import Cluster, Host
from shadowtime.cluster.contention import node_cluster
from shadowtime.engine import simulate
from shadowtime.engine.claims import claims_of
from shadowtime.engine.rules import rules_of
from shadowtime.policy import parse_policy
from shadowtime.schedule import Schedule, write
from shadowtime.schedule.check import check
from shadowtime.workload import Workload

POOL = Cluster.pool(4)
QUEUE = Workload.build(
    submit=[0, 1, 2, 3], run=[9, 5, 4, 30], procs=[3, 4, 1, 1], request=[10, 5, 4, 20]
)


def forged(schedule: Schedule, row: int, **columns: int) -> Schedule:
    made = {name: getattr(schedule, name).copy() for name in columns}
    for name, value in columns.items():
        made[name][row] = value
    return schedule.replace(**made)


def easy() -> Schedule:
    return simulate(QUEUE, POOL, parse_policy("easy"))


def test_a_forged_limit_is_no_excuse() -> None:
    """A killed job that ran on, with a forged limit, is found with and without the policy."""
    true = easy()
    length = int(true.end[3] - true.start[3])
    assert (length, true.killed[3]) == (20, 1)
    false = forged(true, 3, limit=30, end=int(true.start[3]) + 30, killed=0)
    report = check(false, QUEUE, POOL, claims=())
    assert report["limits-recomputed"].detail == ("job 4 has limit 30 s, and the trace gives 20 s")
    rules = rules_of(parse_policy("easy"), QUEUE, POOL)
    report = check(false, QUEUE, POOL, claims=(), rules=rules)
    assert report["limits-recomputed"].verdict == "violated"
    assert report["limits-kept"].detail.startswith("job 4 ran 30 s, longer than its limit of 20 s")


SHARED = node_cluster(1, bandwidth=6000)
PAIR = Workload.build(
    submit=[0, 0],
    run=[10, 10],
    procs=[2, 2],
    request=[20, 20],
    extra={"bandwidth": np.array([2000, 2000])},
)


def on_one_node(**changes: object) -> Schedule:
    """Two jobs draw 8,000 of 6,000: both end at 14, as worked out by hand (10 / (6/8) = 13.3)."""
    ints = lambda *values: np.array(values, np.int64)  # noqa: E731
    base = Schedule(
        job_id=PAIR.job_id,
        submit=PAIR.submit,
        start=ints(0, 0),
        end=ints(14, 14),
        procs=PAIR.procs,
        reason=np.array([1, 1], np.int8),
        kills=ints(0, 0),
        killed=np.array([0, 0], np.int8),
        limit=ints(20, 20),
        place=("n1:2", "n1:2"),
        penalised=ints(4, 4),
    )
    return base.replace(**changes)


def test_contention_is_recomputed() -> None:
    """Ends, kills and penalties follow from which jobs share a node."""
    assert check(on_one_node(), PAIR, SHARED)["contention"].verdict == "proved"
    # Only this proof can find it: the end and the penalty are consistent.
    for row, stated, lost in ((0, 15, 5), (1, 13, 3)):
        false = forged(on_one_node(), row, end=stated, penalised=lost)
        report = check(false, PAIR, SHARED)
        assert report["limits-kept"].verdict == "proved"
        assert f"job {row + 1} ran {stated} s, but its nodes" in report["contention"].detail
    false = forged(on_one_node(), 0, penalised=3)
    assert "has penalised = 3, and others cost it 4 s" in (
        check(false, PAIR, SHARED)["contention"].detail
    )
    bare = check(on_one_node(place=None), PAIR, SHARED)
    assert bare["contention"].verdict == "not proved"
    assert "contention" in {proof.name for proof in bare.open}


def test_longer_limits_on_nodes_need_the_policy() -> None:
    """Without it they stay open; with it they are compared."""
    false = forged(on_one_node(), 0, limit=29)
    assert check(false, PAIR, SHARED)["limits-recomputed"].verdict == "not proved"
    rules = rules_of(parse_policy("easy-sjbf(place=first-fit)"), PAIR, SHARED)
    assert check(false, PAIR, SHARED, rules=rules)["limits-recomputed"].verdict == "violated"
    # By the paper's factor: job 1 starts alone, job 2 shares 20 s with it: 20 * 8 / 6 = 26.7.
    stretched = rules_of(parse_policy("rua"), PAIR, SHARED)
    report = check(forged(on_one_node(), 1, limit=27), PAIR, SHARED, rules=stretched)
    assert report["limits-recomputed"].verdict == "proved"
    report = check(false, PAIR, SHARED, rules=stretched)
    assert report["limits-recomputed"].detail.startswith(
        "job 1 has limit 29 s, and its planned penalty gives 20 s"
    )


def test_a_large_job_outside_its_class_is_found() -> None:
    """By-class partitions: hosts of the class, nothing else."""
    hosts = tuple(Host(f"h{k}", (8,)) for k in range(2))
    cluster = Cluster(shape="hosts", resources=("procs",), hosts=hosts)
    jobs = Workload.build(submit=[0, 0], run=[9, 9], procs=[8, 2], request=[9, 9999])
    policy = parse_policy("part-l-sm(hosts=1, above=4, hours=1)")
    rules = rules_of(policy, jobs, cluster)
    ints = lambda *values: np.array(values, np.int64)  # noqa: E731
    true = Schedule(
        job_id=jobs.job_id,
        submit=jobs.submit,
        start=ints(0, 0),
        end=ints(9, 9),
        procs=jobs.procs,
        reason=np.array([1, 1], np.int8),
        kills=ints(0, 0),
        killed=np.array([0, 0], np.int8),
        place=("h0", "h1"),
    )
    assert check(true, jobs, cluster, rules=rules)["class-eligible"].verdict == "proved"
    report = check(true.replace(place=("h1", "h0")), jobs, cluster, rules=rules)
    assert report["class-eligible"].detail == (
        "job 1 ran on h1, where large jobs may not run (2 such jobs)"
    )


def test_rua_is_held_to_its_promises() -> None:
    """Its reservation is placed and jobs are killed by the end that was planned with."""
    claims = claims_of(parse_policy("rua"), PAIR, contended=True)
    assert claims == ("queue-by-arrival", "promises-kept")
    counted = claims_of(parse_policy("rua(resv=counts)"), PAIR, contended=True)
    assert "promises-kept" not in counted
    kept_on = PAIR.replace(limit=PAIR.limit + 1)
    assert "promises-kept" not in claims_of(parse_policy("rua"), kept_on, contended=True)


def test_kills_without_attempts_are_a_violation() -> None:
    """A false count does not turn proofs into open ones and the exit code into 0."""
    report = check(forged(easy(), 1, kills=1), QUEUE, POOL, claims=())
    assert report["attempts-consistent"].detail.startswith("job 2 has kills = 1, and no attempts")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The log as a file, EASY's schedule beside it, and the words of the command."""
    monkeypatch.chdir(tmp_path)
    lines = ["; MaxProcs: 4"]
    for k in range(len(QUEUE)):
        submit, ran = int(QUEUE.submit[k]), int(QUEUE.run[k])
        procs, asked = int(QUEUE.procs[k]), int(QUEUE.request[k])
        lines.append(f"{k + 1} {submit} 0 {ran} {procs} -1 -1 {procs} {asked} -1 1 1 1 1 1 1 -1 -1")
    Path("log.swf").write_text("\n".join(lines) + "\n")
    write(easy(), "easy.csv")
    return ["check", "easy.csv", "--trace", "log.swf", "--cluster", "pool:4"]


def test_a_broken_promise_is_reported_without_being_asked(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """As documented in the help; a policy that makes no such claim can be named."""
    assert run(files) == 0
    true = easy()
    assert true.promised is not None and true.promised[1] == 10
    write(forged(true, 1, promised=int(true.start[1]) - 1), "easy.csv")
    capsys.readouterr()
    assert run(files) == 1
    shown = capsys.readouterr().out
    assert "promises-kept" in shown and "name it with -p" in shown
    assert run([*files, "-p", "easy"]) == 1


def test_strict_fails_where_a_proof_is_open(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """What could not be proved is listed; with --strict it is a failure."""
    assert run([*files, "-p", "easy", "--strict"]) == 0
    text = Path("easy.csv").read_text().splitlines()
    head = text[0].split(",")
    keep = [k for k, name in enumerate(head) if name != "kills"]
    fewer = [",".join(line.split(",")[k] for k in keep) for line in text]
    Path("easy.csv").write_text("\n".join(fewer) + "\n")
    capsys.readouterr()
    assert run(files) == 0
    assert "could not be proved: attempts-consistent" in " ".join(capsys.readouterr().out.split())
    assert run([*files, "--strict"]) == 1


def test_recompute_names_the_first_difference(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The policy is run again; without one there is nothing to run."""
    assert run([*files, "-p", "easy", "--recompute"]) == 0
    capsys.readouterr()
    assert run([*files, "-p", "fcfs", "--recompute", "--json"]) == 1
    proofs = {one["name"]: one for one in json.loads(capsys.readouterr().out)["proofs"]}
    assert proofs["recomputed"]["detail"].startswith("job 3 has start 2, and the policy gives 14")
    assert run([*files, "--recompute"]) == 2
    assert "--recompute runs a policy again: name it with -p" in capsys.readouterr().err
