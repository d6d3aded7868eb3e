"""HTCondor's job event log as a job log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shadowtime.errors import InputError, UsageError
from shadowtime.trace import read_raw
from shadowtime.trace.condor_event_log import parse_event_log
from shadowtime.workload.raw import RawTrace

TABLE = """\
\tPartitionable Resources :    Usage  Request Allocated\x20
\t   Cpus                 :                 {cpus}         {cpus}\x20
\t   Disk (KB)            :       75        1      2048\x20
\t   GPUs                 :                           0\x20
\t   Memory (MB)          :        5     1000      1024\x20
\t   TimeExecute (s)      :        2                   \x20
"""


def event(number: int, at: str, text: str = "x", job: str = "007.000.000", body: str = "") -> str:
    return f"{number:03d} ({job}) 2026-11-15 {at} {text}\n{body}...\n"


def ended(at: str, *, code: int = 0, cpus: int = 2, job: str = "007.000.000") -> str:
    body = f"\t(1) Normal termination (return value {code})\n" + TABLE.format(cpus=cpus)
    return event(5, at, "Job terminated.", job, body)


def parse(*events: str, **how: str) -> RawTrace:
    return parse_event_log("".join(events), name="e", **how)  # type: ignore[arg-type]


def fields(raw: RawTrace, *names: str) -> list[int]:
    return [int(raw[name][0]) for name in names]


SLOT = (
    '\tSlotName: slot1_1@n1\n\tCondorScratchDir = "/x"\n\tCpus = 2\n\tMemory = 1024\n\tGPUs = 0\n'
)
BEGIN = event(0, "05:57:07.768", "Job submitted from host: <127.0.0.1:1>")
RUN = event(1, "05:57:09.376", "Job executing on host: <127.0.0.1:2>", body=SLOT)


def test_a_plain_job() -> None:
    """Submitted, executing, terminated; the table has its request and allocation."""
    image = event(6, "05:57:10", "Image size", body="\t4704  -  ResidentSetSize of job (KB)\n")
    raw = parse(BEGIN, RUN, image, ended("05:58:09.100"))
    assert fields(raw, "job_id", "submit", "wait", "run", "procs", "requested_procs") == [
        7, 0, 2, 60, 2, 2,
    ]  # fmt: skip
    assert fields(raw, "request", "status", "used_memory") == [-1, 1, 2352]
    assert raw.demands["memory"].tolist() == [1_024_000]
    assert raw.counts["request_unlimited"] == 1
    assert raw.counts["local_times_as_utc"] == 1


def test_the_reader_is_found_by_the_content(tmp_path: Path) -> None:
    """Whatever the file is called."""
    (tmp_path / "job.log").write_text(BEGIN + RUN + ended("05:58:09"))
    assert read_raw(tmp_path / "job.log", tz="Europe/Zurich")["run"].tolist() == [60]


def test_a_failure_and_a_signal() -> None:
    """Return values other than 0, abnormal terminations."""
    assert fields(parse(BEGIN, RUN, ended("05:58:00", code=1)), "status") == [0]
    crash = event(5, "05:58:00", body="\t(0) Abnormal termination (signal 9)\n")
    assert fields(parse(BEGIN, RUN, crash), "status") == [0]


@pytest.mark.parametrize("stop", [4, 7, 12, 24])
def test_a_run_that_was_stopped_is_not_the_run(stop: int) -> None:
    """Evicted, held, shadow exception, reconnection failed: the job waits again."""
    again = event(1, "06:00:00", body=SLOT)
    raw = parse(
        BEGIN, RUN, event(stop, "05:58:00"), event(13, "05:59:00"), again, ended("06:00:30")
    )
    assert fields(raw, "wait", "run") == [173, 30]
    assert raw.counts["several_runs"] == 1


def test_removed_while_it_ran_is_evicted_first() -> None:
    """Both events within a second or two: the run counts, and it is a cancellation."""
    raw = parse(BEGIN, RUN, event(4, "05:58:09"), event(9, "05:58:10"))
    assert fields(raw, "status", "run", "wait") == [5, 60, 2]
    running = parse(BEGIN, RUN, event(9, "05:58:10"))
    assert fields(running, "status", "run") == [5, 61]


def test_removed_while_it_waited() -> None:
    """Before any run, or long after one was stopped."""
    assert fields(parse(BEGIN, event(9, "05:58:07")), "status", "run", "wait") == [5, -1, 60]
    late = parse(BEGIN, RUN, event(4, "05:58:00"), event(9, "06:58:07"))
    assert fields(late, "status", "run", "wait") == [5, -1, 3660]


def test_nodes_of_a_parallel_job() -> None:
    """One event a node; what it asked for is per node."""
    nodes = "".join(event(14, "05:57:09", job=f"007.000.00{node}", body=SLOT) for node in range(3))
    raw = parse(BEGIN, nodes, RUN, ended("05:58:09"))
    assert fields(raw, "procs", "requested_procs") == [6, 6]
    assert raw.extra["nodes"].tolist() == [3]


def test_a_time_limit_in_the_job_ad_event() -> None:
    """job_ad_information_attrs puts attributes into the log."""
    body = 'Proc = 0\nAllowedExecuteDuration = 900\nOwner = "ann"\nRequestGPUs = 2\n'
    update = event(28, "05:57:09", "Job ad information event triggered.", body=body)
    raw = parse(BEGIN, RUN, update, ended("05:58:09"))
    assert fields(raw, "request", "user") == [900, 1]
    assert raw.demands["gpus"].tolist() == [2]


def test_times_with_an_offset_and_in_a_zone() -> None:
    """A Z needs no zone; local times are those of --tz, an hour that occurs twice included."""
    utc = (BEGIN + RUN + ended("05:58:09")).replace("05:57:07.768", "05:57:07Z")
    raw = parse_event_log(utc.replace("05:57:09.376", "05:57:09Z").replace("05:58:09", "05:58:09Z"),
                          name="e", tz="Europe/Zurich")  # fmt: skip
    assert "; UnixStartTime: 1794722227" in raw.header
    local = parse(BEGIN, RUN, ended("05:58:09"), tz="Europe/Zurich")
    assert "; UnixStartTime: 1794718627" in local.header
    assert local.counts["local_times_as_utc"] == 0
    with pytest.raises(UsageError, match="not a time zone"):
        parse(BEGIN, tz="Nowhere/Land")


def test_dates_without_a_year_go_on_over_new_year() -> None:
    """The old format; the log may span a new year."""
    text = "".join([
        "000 (007.000.000) 12/31 23:59:00 Job submitted from host: <>\n...\n",
        "001 (007.000.000) 12/31 23:59:30 Job executing on host: <>\n...\n",
        "005 (007.000.000) 01/01 00:00:30 Job terminated.\n\t(1) Normal termination "
        "(return value 0)\n...\n",
    ])  # fmt: skip
    raw = parse_event_log(text, name="e")
    assert fields(raw, "wait", "run") == [30, 60]
    assert raw.counts["dates_without_year"] == 3


def test_json_events() -> None:
    """The same log spelled in JSON."""
    ids = {"Cluster": 7, "Proc": 0, "Subproc": 0}
    events = [
        {"EventTypeNumber": 0, "EventTime": "2026-11-15T05:57:07.768", **ids},
        {"EventTypeNumber": 1, "EventTime": "2026-11-15T05:57:09", "Cpus": 2, **ids},
        {"EventTypeNumber": 5, "EventTime": "2026-11-15T05:58:09", "TerminatedNormally": True,
         "ReturnValue": 0, **ids},
    ]  # fmt: skip
    raw = parse_event_log("\n".join(json.dumps(one) for one in events), name="e")
    assert fields(raw, "wait", "run", "procs", "status") == [2, 60, 2, 1]
    with pytest.raises(InputError, match="not the time of an event"):
        parse_event_log(json.dumps(events[0] | {"EventTime": "noon"}), name="e")
    with pytest.raises(InputError, match="no 'cluster'"):
        parse_event_log(json.dumps({"EventTypeNumber": 0, "EventTime": "x"} | {
            "EventTime": "2026-11-15T05:57:07"}), name="e")  # fmt: skip


def test_omitted_jobs_are_counted() -> None:
    """Jobs that still run, jobs submitted before the log begins, notes on whole clusters."""
    raw = parse(
        BEGIN,
        RUN,
        ended("05:58:09"),
        event(0, "05:58:00", job="008.000.000"),
        event(9, "05:58:10", job="003.000.000"),
        event(36, "05:58:11", job="009.-01.-01"),
    )
    assert raw.counts["unfinished_dropped"] == 1
    assert raw.counts["no_submission_dropped"] == 1
    assert len(raw) == 1


def test_a_number_used_again_is_another_job() -> None:
    """A schedd whose spool was emptied counts from 1 again."""
    again = [event(0, "06:00:00"), event(1, "06:00:01", body=SLOT), ended("06:00:02")]
    raw = parse(BEGIN, RUN, ended("05:58:09"), *again)
    assert raw["run"].tolist() == [60, 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hello\n...\n", "expected an event"),
        (ended("05:58:09").join(["000 (007.000.000) 2026-11-15 05:57:07 x\n...\n", ""]),
         "without having been executed"),
        ("000 (007.000.000) 2026-02-30 05:57:07 x\n...\n", "2026-02-30"),
    ],
)  # fmt: skip
def test_nonsense_is_refused_with_its_line_or_dropped(text: str, words: str) -> None:
    """An error of one sentence, or a count of dropped records."""
    with pytest.raises(InputError, match=words):
        parse(event(0, "05:50:00", job="001.000.000"), text)
    raw = parse_event_log(BEGIN.replace("007", "001") + RUN.replace("007", "001")
                          + ended("05:58:09", job="001.000.000") + text,
                          name="e", bad_lines="drop")  # fmt: skip
    assert raw.counts["bad_lines_dropped"] == 1


def test_a_log_that_is_still_being_written() -> None:
    """The last event has no dots behind it yet."""
    raw = parse(BEGIN, RUN, ended("05:58:09").removesuffix("...\n"))
    assert fields(raw, "run") == [60]


def test_an_unknown_switch_is_refused() -> None:
    with pytest.raises(UsageError, match="bad_lines"):
        parse_event_log(BEGIN, name="e", bad_lines="maybe")  # type: ignore[arg-type]
