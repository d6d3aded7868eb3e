"""Input that once ended in an exception that is not ours, one test per kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shadowtime.cluster.slurm_site import SlurmTexts, site_from_slurm
from shadowtime.cluster.spec import parse_cluster
from shadowtime.cluster.toml import parse_cluster_toml
from shadowtime.errors import ClusterError, InputError, PolicyError, UsageError
from shadowtime.metrics import Window
from shadowtime.policy import parse_policy
from shadowtime.schedule.csv import parse_attempts
from shadowtime.slurmtext.tres import parse_gres
from shadowtime.trace import parse_swf
from shadowtime.trace.condor_event_log import parse_event_log
from shadowtime.trace.condor_history import parse_condor_history
from shadowtime.trace.header import names

MANY = "9" * 5000
LINE = b"1 0 5 9 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1\n"
AD = {"ClusterId": 7, "ProcId": 0, "JobStatus": 4, "QDate": 100, "JobCurrentStartDate": 130,
      "CompletionDate": 190, "RequestCpus": 2}  # fmt: skip


def test_a_header_number_of_thousands_of_digits_is_no_machine() -> None:
    raw = parse_swf(f"; MaxProcs: {MANY}\n; Queue: {MANY} x\n".encode() + LINE, name="long")
    assert dict(raw.machine) == {} and names(raw.header)["queue"] == {}


def test_blanks_in_a_header_line_cost_time_in_proportion() -> None:
    """Tried from every blank, this line would take hours."""
    raw = parse_swf(b"; Note: a" + b" " * 400_000 + b"b\n" + LINE, name="wide")
    assert len(raw) == 1


@pytest.mark.parametrize(
    "wrong",
    [{"ClusterId": 10**400}, {"RequestLicences": 10**30}, {"RemoteUserCpu": 1e300},
     {"RequestGPUs": 1 << 53, "MaxHosts": 2000}],
    ids=str,
)  # fmt: skip
def test_a_job_of_condor_history_beyond_any_amount(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"line 1: .*beyond"):
        parse_condor_history(json.dumps([AD | wrong]), name="x", path="h.json")
    raw = parse_condor_history(
        json.dumps([AD | wrong, AD]).replace("}, {", "},\n{"), name="x", bad_lines="drop"
    )
    assert (len(raw), raw.counts["bad_lines_dropped"]) == (1, 1)


def test_condor_json_with_a_number_of_thousands_of_digits() -> None:
    text = json.dumps([AD]).replace('"QDate": 100', f'"QDate": {MANY}')
    with pytest.raises(InputError, match="this is not JSON"):
        parse_condor_history(text, name="x", path="h.json")


def test_event_numbers_of_thousands_of_digits() -> None:
    with pytest.raises(InputError, match="line 1: expected an event"):
        parse_event_log(f"000 ({MANY}.0.0) 2026-11-15 05:57:07 x\n...\n", name="x", path="log")
    event = {"EventTypeNumber": 0, "Cluster": float("inf"), "EventTime": "2026-11-15T05:57:07"}
    with pytest.raises(InputError, match="infinity"):
        parse_event_log(json.dumps([event]), name="x", path="log")


def test_toml_with_a_number_of_thousands_of_digits(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="not TOML"):
        parse_cluster_toml(f"[[hosts]]\nprocs = {MANY}\n")
    with pytest.raises(ClusterError, match="more than 4300 digits"):
        parse_cluster_toml(f"[[hosts]]\nprocs = 0x{MANY}\n")
    path = tmp_path / "p.toml"
    for value in (MANY, f"0x{MANY}", "[" * 5000):
        path.write_text(f'base = "easy"\nreserve = {value}\n')
        with pytest.raises(PolicyError, match=r"p\.toml"):
            parse_policy(str(path))


def test_memory_window_and_policy_of_thousands_of_digits() -> None:
    with pytest.raises(ClusterError, match="not a memory size"):
        parse_cluster(f"pool:8,memory={MANY}")
    with pytest.raises(UsageError, match="window"):
        Window.parse(f"{MANY}d:1d")
    for text in (f"easy(reserve={MANY})", "easy(reserve=\u00b2)", "\0.toml", "\0.py:x"):
        with pytest.raises(PolicyError):
            parse_policy(text)


def test_a_cell_of_a_schedule_beyond_what_csv_takes() -> None:
    """A bad cell is located with the csv module, which accepts 131,072 characters."""
    with pytest.raises(InputError, match=r"a\.csv, line 3: start is 9999"):
        parse_attempts(
            f"job_id,start,end,preempted\n1,1,2,0\n1,{'9' * 200_000},2,0\n", path="a.csv"
        )


def test_a_policy_nested_without_end() -> None:
    with pytest.raises(PolicyError, match="nested more than 20 deep"):
        parse_policy("easy(order=" * 50_000 + "x" + ")" * 50_000)


def test_a_long_word_in_slurm_conf_costs_time_in_proportion() -> None:
    """Tried from every letter, a word of 400,000 letters would take an hour."""
    text = f"NodeName=n1 CPUs=2\n{'a' * 400_000}\n{chr(10) * 10}"
    machine = site_from_slurm(SlurmTexts(slurm_conf=text))
    assert machine.procs == 2
    assert parse_gres("(" * 400_000 + "gpu:2") == {}


def test_blank_lines_above_a_slurm_conf_cost_time_in_proportion(tmp_path: Path) -> None:
    path = tmp_path / "nodes.txt"
    path.write_text("\n" * 200_000 + "NodeName=n1 CPUs=2\n")
    assert parse_cluster(str(path)).procs == 2
