"""Resources besides processors: from the log through the engine and the proofs to the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from shadowtime.cli import run
from shadowtime.cluster import Cluster
from shadowtime.cluster.spec import parse_cluster
from shadowtime.engine import simulate
from shadowtime.errors import InputError, UsageError
from shadowtime.policy import catalogue, parse_policy
from shadowtime.schedule.check import check
from shadowtime.trace import parse_sacct
from shadowtime.workload import Workload, offered_load
from shadowtime.workload.clean import clean, explain, fit

SACCT = """\
JobIDRaw|Submit|Start|ElapsedRaw|TimelimitRaw|State|AllocTRES
1|1700000000|1700000000|100|5|COMPLETED|cpu=2,mem=4G,license/matlab=1,gres/gpu:a100=2
2|1700000010|1700000010|100|5|COMPLETED|cpu=2,mem=4G,license/matlab=2
3|1700000020|1700000020|100|5|COMPLETED|cpu=2,mem=4G
4|1700000030|1700000030|100|5|COMPLETED|cpu=1
"""


def test_licences_of_slurm_become_a_resource() -> None:
    """By Slurm's own name; a job whose list does not name one asks for none."""
    raw = parse_sacct(SACCT, name="s", path="s.psv", tz="UTC")
    assert sorted(raw.demands) == ["gpus", "gres/gpu:a100", "license/matlab", "memory"]
    w = clean(raw, memory=True, gpus=True, others=["license/matlab"])
    assert w.resources == ("procs", "memory", "gpus", "license/matlab")
    assert w.demand[:, 2:].tolist() == [[2, 1], [0, 2], [0, 0], [0, 0]]
    assert w.cleaning["license/matlab_unknown"] == 0
    assert w.cleaning["memory_unknown"] == 1


def test_a_resource_the_log_does_not_know_is_nothing_and_counted() -> None:
    raw = parse_sacct(SACCT, name="s", path="s.psv", tz="UTC")
    w = clean(raw, others=["burst"])
    assert w.demand[:, 1].tolist() == [0, 0, 0, 0] and w.cleaning["burst_unknown"] == 4
    assert explain("burst_unknown") == "jobs without a figure for burst: demand 0"
    assert "does not count" in explain("burst_ignored")


def test_a_machine_with_more_than_the_log_says_is_counted_too() -> None:
    w = fit(Workload.build(submit=[0, 1], run=[1, 1], procs=[1, 1]), Cluster.pool(2, licences=3))
    assert w.cleaning["licences_unknown"] == 2


@pytest.mark.parametrize(
    ("procs", "memory", "says"),
    [
        ([1, 1], [5, -3], "job 2 of workload demands -3 memory. Give a whole number from 0"),
        ([1, 0], [5, 5], "job 2 of workload demands 0 processors. Give a whole number from 1"),
        ([-1, 1], [5, 5], "job 1 of workload demands -1 processors"),
    ],
)
def test_no_job_demands_less_than_nothing(procs: list[int], memory: list[int], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Workload.build(submit=[0, 1], run=[9, 9], procs=procs, demand={"memory": memory})


def test_a_resource_has_one_name() -> None:
    w = Workload.build(submit=[0], run=[9], procs=[1], demand={"memory": [1]})
    with pytest.raises(InputError, match="named twice"):
        w.replace(resources=("procs", "procs"))


def test_the_engine_refuses_what_the_machine_does_not_count() -> None:
    """fit() may drop it, and reports so; the engine never drops it by itself."""
    w = Workload.build(submit=[0], run=[9], procs=[1], demand={"gpus": [1]})
    with pytest.raises(UsageError, match=r"demand gpus, which the cluster does not count"):
        simulate(w, Cluster.pool(2), parse_policy("easy"))
    left_out = fit(w, Cluster.pool(2), uncounted="ignore")
    assert simulate(left_out, Cluster.pool(2), parse_policy("easy")).start.tolist() == [0]
    none = w.replace(demand=np.array([[1, 0]]))
    assert simulate(none, Cluster.pool(2), parse_policy("easy")).start.tolist() == [0]


def test_too_much_of_any_resource_falls_under_the_rule_for_wide_jobs() -> None:
    n = 200
    w = Workload.build(
        submit=range(n), run=[9] * n, procs=[1] * n, demand={"licences": [1] * (n - 1) + [9]}
    )
    assert fit(w, Cluster.pool(4, licences=8)).cleaning["too_wide_dropped"] == 1
    with pytest.raises(InputError, match=r"fit nowhere.*9 licences.*Likely cause: licences"):
        fit(w, Cluster.pool(4, licences=8), too_wide="refuse")


def test_memory_of_a_large_site_does_not_overflow() -> None:
    """KB-seconds of a year on a large machine are beyond 63 bits."""
    n, each = 4000, 1 << 40
    w = Workload.build(
        submit=range(n), run=[10**6] * n, procs=[1] * n, demand={"memory": [each] * n}
    )
    load = offered_load(w, Cluster.pool(n, memory=each * n))
    assert load["memory"] == pytest.approx(load["procs"]) == pytest.approx(10**6 / (n - 1))


@pytest.mark.parametrize("policy", [p.name for p in catalogue()])
def test_every_policy_keeps_within_every_resource(policy: str) -> None:
    """Five named resources; the proofs check each instant."""
    chosen = parse_policy(policy)
    rng = np.random.default_rng(5)
    n = 120
    names = ("memory", "gpus", "licences", "burst_buffer")
    w = Workload.build(
        submit=np.sort(rng.integers(0, 2000, n)),
        run=rng.integers(1, 120, n),
        request=rng.integers(60, 200, n),
        procs=rng.integers(1, 9, n),
        user=rng.integers(1, 5, n),
        demand={name: rng.integers(0, 5, n) for name in names},
    )
    pool = parse_cluster("pool:16,memory=8K,gpus=9,licences=10,burst_buffer=11")
    if chosen.partition.name != "anywhere" or chosen.place.name != "best-fit":
        pytest.skip("a policy for hosts or nodes")
    found = check(simulate(w, pool, chosen), w, pool)
    assert found.ok, found.first_violation
    capacity = next(proof for proof in found.proofs if proof.name == "capacity")
    assert "burst_buffer" in capacity.detail and "licences" in capacity.detail


def test_the_command_reads_what_the_machine_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """simulate and check read memory and licences if --cluster names them."""
    monkeypatch.chdir(tmp_path)
    Path("s.psv").write_text(SACCT)
    cluster = ["--cluster", "pool:8,memory=8GB,license/matlab=2"]
    assert run(["simulate", "s.psv", *cluster, "-p", "ibb", "--json", "--schedule", "s.csv"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["cluster"]["license/matlab"] == 2 and found["cluster"]["memory"] == 8 << 20
    cleaned = found["trace"]["cleaning"]
    assert cleaned["memory_unknown"] == 1 and cleaned["license/matlab_unknown"] == 0
    # Job 2 wants both licences, and waits until job 1 has given its own back.
    starts = [line.split(",")[2] for line in Path("s.csv").read_text().splitlines()[1:]]
    assert starts[1] == "100"
    assert run(["check", "s.csv", "--trace", "s.psv", *cluster, "--json"]) == 0
    proofs = {p["name"]: p["detail"] for p in json.loads(capsys.readouterr().out)["proofs"]}
    assert "2 of 2 license/matlab" in proofs["capacity"]
