"""condor_history as a job log: its three spellings, and every oddity of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shadowtime.errors import InputError, UsageError
from shadowtime.trace import read, read_raw
from shadowtime.trace.condor_history import parse_condor_history
from shadowtime.workload.raw import RawTrace

ENDED = {
    "ClusterId": 7,
    "ProcId": 0,
    "GlobalJobId": "here#7.0#1000",
    "JobStatus": 4,
    "LastJobStatus": 2,
    "JobUniverse": 5,
    "QDate": 1000,
    "JobStartDate": 1030,
    "JobCurrentStartDate": 1030,
    "CompletionDate": 1090,
    "EnteredCurrentStatus": 1090,
    "ExitCode": 0,
    "ExitBySignal": False,
    "NumJobStarts": 1,
    "RequestCpus": 2,
    "CpusProvisioned": 2,
    "RequestMemory": 1000,
    "MemoryProvisioned": 1024,
    "ResidentSetSize": 4750,
    "RemoteUserCpu": 9.6,
    "RemoteSysCpu": 0.4,
    "AllowedExecuteDuration": 600,
    "MaxHosts": 1,
    "Owner": "ann",
    "AcctGroup": "physics",
    "Cmd": "/bin/sleep",
}


def parse(*jobs: dict[str, Any], **how: Any) -> RawTrace:
    return parse_condor_history(json.dumps(list(jobs)), name="h", **how)


def one(**changes: Any) -> RawTrace:
    """A job like ENDED but for the changes; None takes an attribute away."""
    job = {name: value for name, value in (ENDED | changes).items() if value is not None}
    return parse(job)


def field(raw: RawTrace, name: str) -> int:
    return int(raw[name][0])


def test_every_field_of_a_plain_job() -> None:
    """Times are seconds, memory is KB per processor, names are numbers."""
    raw = one()
    assert {name: field(raw, name) for name in ("job_id", "submit", "wait", "run")} == {
        "job_id": 7, "submit": 0, "wait": 30, "run": 60,
    }  # fmt: skip
    assert [field(raw, name) for name in ("procs", "requested_procs", "request", "status")] == [
        2, 2, 600, 1,
    ]  # fmt: skip
    assert field(raw, "requested_memory") == 512_000
    assert field(raw, "used_memory") == 2375
    assert field(raw, "cpu_time") == 5
    assert [field(raw, name) for name in ("user", "group", "executable")] == [1, 1, 1]
    assert raw.demands["memory"].tolist() == [1_024_000]
    assert raw.demands["gpus"].tolist() == [0]
    assert "; UnixStartTime: 1000" in raw.header
    assert "; User: 1 ann" in raw.header
    assert not any(raw.counts.values())


def test_json_lines_long_and_history_files_read_the_same(tmp_path: Path) -> None:
    """-json, -jsonl, -long and the schedd's own file; the reader is chosen by the content."""
    other = ENDED | {"ClusterId": 8, "GlobalJobId": "here#8.0#1001", "QDate": 1001}
    words = {True: "true", False: "false"}

    def long(job: dict[str, Any]) -> str:
        shown = {k: words.get(v, json.dumps(v)) if not isinstance(v, int) or isinstance(v, bool)
                 else str(v) for k, v in job.items()}  # fmt: skip
        return "".join(f"{name} = {value}\n" for name, value in shown.items())

    texts = {
        "a.json": json.dumps([ENDED, other], indent=2),
        "b.jsonl": json.dumps(ENDED) + "\n" + json.dumps(other) + "\n",
        "c.long": long(ENDED) + "\n" + long(other) + "\n",
        "history": long(ENDED) + '*** Offset = 0 ClusterId = 7 ProcId = 0 Owner = "ann"\n'
        + long(other) + "*** Offset = 900 ClusterId = 8\n",
        "twice.json": json.dumps([ENDED]) + "\n" + json.dumps([other]),
    }  # fmt: skip
    tables = []
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        tables.append(read_raw(tmp_path / name).table.tolist())
    assert all(table == tables[0] for table in tables)
    assert read(tmp_path / "a.json").submit.tolist() == [0, 1]


def test_names_of_attributes_have_no_case() -> None:
    """ClassAds are case-insensitive."""
    raw = parse({name.upper(): value for name, value in ENDED.items()})
    assert field(raw, "run") == 60


def test_expressions_are_unknown_not_wrong() -> None:
    """HTCondor writes an unevaluated request as /Expr(...)/: what was provisioned counts."""
    raw = one(RequestMemory="/Expr(ifThenElse(MemoryUsage =!= undefined,MemoryUsage,1))/",
              RequestCpus="/Expr(Cpus)/")  # fmt: skip
    assert raw.demands["memory"].tolist() == [1024 * 1024]
    assert field(raw, "requested_procs") == -1
    assert field(raw, "procs") == 2


def test_a_parallel_job_takes_its_share_of_every_host() -> None:
    """RequestCpus and RequestMemory of the parallel universe are per host."""
    raw = one(JobUniverse=11, MaxHosts=3)
    assert field(raw, "procs") == 6
    assert raw.demands["memory"].tolist() == [3 * 1_024_000]
    assert raw.extra["nodes"].tolist() == [3]


def test_gpus_and_whatever_else_a_site_counts() -> None:
    """Any RequestXxx is a resource."""
    raw = parse(ENDED | {"RequestGPUs": 2, "RequestLicences": 1}, ENDED | {"ClusterId": 9})
    assert raw.demands["gpus"].tolist() == [2, 0]
    assert raw.demands["licences"].tolist() == [1, 0]
    assert "disk" not in raw.demands


@pytest.mark.parametrize(
    ("changes", "status"),
    [({}, 1), ({"ExitCode": 3}, 0), ({"ExitCode": None, "ExitBySignal": True}, 0)],
)
def test_how_it_ended(changes: dict[str, Any], status: int) -> None:
    """A code other than 0 and a signal are failures."""
    assert field(one(**changes), "status") == status


def test_removed_while_running_keeps_its_run() -> None:
    """CompletionDate is missing (or 0) then; it left when its status changed."""
    for completion in (None, 0):
        raw = one(JobStatus=3, CompletionDate=completion, EnteredCurrentStatus=1070)
        assert [field(raw, name) for name in ("status", "run", "wait")] == [5, 40, 30]


@pytest.mark.parametrize("before", [1, 5])
def test_removed_while_waiting_or_held_never_ran(before: int) -> None:
    """Even if an earlier run was stopped."""
    raw = one(JobStatus=3, LastJobStatus=before, CompletionDate=None, EnteredCurrentStatus=1300)
    assert [field(raw, name) for name in ("status", "run", "wait")] == [5, -1, 300]


def test_the_last_of_several_runs_counts() -> None:
    """JobStartDate is that of the first run; the work of the others was lost."""
    raw = one(NumJobStarts=3, JobCurrentStartDate=1080)
    assert [field(raw, name) for name in ("wait", "run")] == [80, 10]
    assert raw.counts["several_runs"] == 1


def test_time_limits_come_from_where_they_are() -> None:
    """HTCondor's two, then what sites define; without any the limit is unknown and counted."""
    assert field(one(AllowedExecuteDuration=None, AllowedJobDuration=70), "request") == 70
    assert field(one(AllowedExecuteDuration=None, MaxRuntime=80), "request") == 80
    assert field(one(AllowedExecuteDuration=None, MaxWallTimeMins=2), "request") == 120
    none = one(AllowedExecuteDuration=None)
    assert (field(none, "request"), none.counts["request_unlimited"]) == (-1, 1)
    job = {name: value for name, value in ENDED.items() if name != "AllowedExecuteDuration"}
    assert field(parse(job, unlimited=3600), "request") == 3600


def test_omitted_jobs_are_counted() -> None:
    """Jobs still in the queue, jobs that do not run on the pool, and repetitions."""
    raw = parse(
        ENDED,
        ENDED,  # rotated files overlap
        ENDED | {"ClusterId": 8, "JobStatus": 2},
        ENDED | {"ClusterId": 9, "JobUniverse": 7},
        ENDED | {"ClusterId": 10, "JobUniverse": 12},
    )
    assert len(raw) == 1
    assert raw.counts["repeated_line_dropped"] == 1
    assert raw.counts["unfinished_dropped"] == 1
    assert raw.counts["not_on_the_pool_dropped"] == 2


def test_jobs_of_one_cluster_get_numbers_of_their_own() -> None:
    """SWF numbers jobs, HTCondor numbers clusters and the jobs in them."""
    raw = parse(*(ENDED | {"ProcId": proc} for proc in (2, 0, 1)), ENDED | {"ClusterId": 9})
    assert raw["job_id"].tolist() == [10, 11, 12, 9]


def test_two_schedds_may_use_one_number() -> None:
    """Same cluster, other schedd: another job."""
    raw = parse(ENDED, ENDED | {"GlobalJobId": "there#7.0#1000"})
    assert sorted(raw["job_id"].tolist()) == [8, 9]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"JobStatus": None}, "no JobStatus"),
        ({"ClusterId": None}, "no ClusterId"),
        ({"QDate": None}, "no submission time"),
        ({"QDate": "yesterday"}, "QDate must be a number"),
        ({"JobCurrentStartDate": 900, "JobStartDate": 900}, "before its submission"),
        ({"CompletionDate": 1010}, "before its start"),
        ({"RequestCpus": 1 << 40}, "beyond"),
        ({"JobCurrentStartDate": None, "JobStartDate": None}, "no JobCurrentStartDate"),
    ],
)
def test_nonsense_is_refused_with_its_line_or_dropped(change: dict[str, Any], words: str) -> None:
    """An error with file and line, or a count of dropped records."""
    bad = {name: value for name, value in (ENDED | change).items() if value is not None}
    text = json.dumps(ENDED | {"ClusterId": 3}) + "\n" + json.dumps(bad)
    with pytest.raises(InputError, match=words) as caught:
        parse_condor_history(text, name="h", path="h.json")
    assert "h.json" in str(caught.value)
    assert "2" in str(caught.value)
    raw = parse_condor_history(text, name="h", bad_lines="drop")
    assert (len(raw), raw.counts["bad_lines_dropped"]) == (1, 1)


def test_a_truncated_file_is_reported_and_the_rest_is_kept() -> None:
    """condor_history interrupted: the last job is incomplete."""
    text = json.dumps([ENDED, ENDED | {"ClusterId": 8}], indent=1).replace("},", "},\n")[:-200]
    with pytest.raises(InputError, match="not JSON"):
        parse_condor_history(text, name="h")
    assert len(parse_condor_history(text, name="h", bad_lines="drop")) == 1


def test_numbers_in_an_array_and_text_between_are_refused() -> None:
    """Not everything in brackets is a history."""
    with pytest.raises(InputError, match="attributes of a job"):
        parse_condor_history("[1, 2]", name="h")
    with pytest.raises(InputError, match="expected Name = value"):
        parse_condor_history("ClusterId = 7\nhello there\n", name="h")


def test_an_empty_history_is_reported() -> None:
    """condor_history prints brackets around nothing."""
    with pytest.raises(InputError, match="no ended job"):
        parse_condor_history("[\n]\n", name="h")


def test_an_unknown_switch_is_refused() -> None:
    with pytest.raises(UsageError, match="bad_lines"):
        parse_condor_history("[]", name="h", bad_lines="maybe")  # type: ignore[arg-type]
