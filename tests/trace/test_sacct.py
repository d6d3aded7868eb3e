"""Reading sacct exports: what admins have, with all that real ones hold."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from conftest import recording_path
from shadowtime.errors import InputError, UsageError
from shadowtime.schedule import Schedule
from shadowtime.slurmtext.sacct_rows import LAYOUTS, RECOMMENDED
from shadowtime.trace import RECOMMENDED_COMMAND, parse_sacct, read, read_raw, read_sacct, to_swf
from shadowtime.trace.header import names
from shadowtime.workload.clean import RULES, clean
from shadowtime.workload.raw import RawTrace

USUAL = {
    "jobidraw": "100", "jobid": "100", "cluster": "c1", "partition": "batch", "qos": "normal",
    "account": "physics", "group": "users", "gid": "100", "user": "ann", "uid": "1000",
    "submit": "1700000000", "eligible": "1700000010", "start": "1700000060", "end": "1700000160",
    "elapsed": "00:01:40", "elapsedraw": "100", "suspended": "00:00:00", "timelimit": "01:00:00",
    "timelimitraw": "60", "state": "COMPLETED", "exitcode": "0:0",
    "priority": "1", "flags": "SchedMain", "reason": "None", "nnodes": "1", "reqcpus": "4",
    "ncpus": "4", "reqmem": "8G", "reqtres": "billing=4,cpu=4,mem=8G,node=1",
    "alloctres": "billing=4,cpu=4,mem=8G,node=1", "constraints": "", "reservation": "",
    "nodelist": "n1", "jobname": "run.sh", "reqgres": "gpu:0", "submitline": "", "licenses": "",
}  # fmt: skip
COLUMNS = RECOMMENDED.lower().split(",")


def line(columns: tuple[str, ...] | list[str] = COLUMNS, **changes: str) -> str:
    return "|".join({**USUAL, **changes}[name] for name in columns)


def export(*jobs: dict[str, str], head: str = RECOMMENDED) -> str:
    columns = head.lower().split("|" if "|" in head else ",")
    return "\n".join([head.replace(",", "|"), *(line(columns, **job) for job in jobs)]) + "\n"


def parse(text: str, **options: object) -> RawTrace:
    return parse_sacct(text, name="s", path="s.psv", **options)  # type: ignore[arg-type]


def job(raw: RawTrace, at: int = 0) -> dict[str, int]:
    wanted = ("job_id", "submit", "wait", "run", "procs", "requested_procs", "request", "status")
    return {name: int(raw[name][at]) for name in wanted}


def test_the_recommended_export() -> None:
    raw = parse(export({}, {"jobidraw": "101", "submit": "1700000005", "state": "FAILED"}))
    assert job(raw) == {
        "job_id": 100, "submit": 0, "wait": 60, "run": 100, "procs": 4, "requested_procs": 4,
        "request": 3600, "status": 1,
    }  # fmt: skip
    assert job(raw, 1) == job(raw) | {"job_id": 101, "submit": 5, "wait": 55, "status": 0}
    assert raw.line.tolist() == [2, 3]
    assert raw.extra["eligible"].tolist() == [10, 10]
    assert raw.demands["memory"].tolist() == [8 << 20] * 2
    assert raw.demands["gpus"].tolist() == [0, 0]
    assert not any(raw.counts.values())
    assert set(raw.counts) <= set(RULES)
    w = clean(raw, memory=True, gpus=True)
    assert w.resources == ("procs", "memory", "gpus")
    assert w.recorded_start.tolist() == [60, 60]


def test_the_command_asks_for_every_column_we_know_how_to_read() -> None:
    assert f"--format={RECOMMENDED}" in RECOMMENDED_COMMAND
    for flag in ("SLURM_TIME_FORMAT=%s", "SLURM_BITSTR_LEN=0", "-X", "-D", "-P", "--noconvert"):
        assert flag in RECOMMENDED_COMMAND.split()
    # Neither the first nor the last column has a line end in it.
    assert RECOMMENDED.startswith("JobIDRaw") and RECOMMENDED.endswith("ExitCode")


@pytest.mark.parametrize("layout", LAYOUTS, ids=len)
def test_known_exports_without_a_header(layout: tuple[str, ...]) -> None:
    """Number and kind of the fields identify the layout, even with pipes in a name."""
    text = line(layout) + "\n" + line(layout, jobidraw="101", jobname="a|b") + "\n"
    raw = parse(text)
    assert job(raw)["run"] == 100
    assert raw["procs"].tolist() == [4, 4]
    assert raw.demands["memory"].tolist() == [8 << 20] * 2


def test_the_two_older_exports_with_25_columns_are_distinguished() -> None:
    with_gres = next(layout for layout in LAYOUTS if "reqgres" in layout)
    raw = parse(line(with_gres, reqgres="PER_NODE:gpu:2", reqtres="cpu=4,mem=1G"))
    assert raw.demands["memory"].tolist() == [1 << 20]


def test_steps_are_dropped_and_their_memory_used() -> None:
    head = "JobIDRaw|Submit|Start|End|State|NCPUS|MaxRSS|NTasks|TotalCPU"
    text = "\n".join([
        head,
        "7|100|100|160|COMPLETED|4||| 01:00",
        "7.batch|100|100|160|COMPLETED|4|2048K|1|",
        "7.0|100|100|160|COMPLETED|4|1M|6|",
        "7.extern|100|100|160|COMPLETED|4|0|1|",
    ])  # fmt: skip
    raw = parse(text)
    assert len(raw) == 1
    assert raw.counts["steps_dropped"] == 3
    assert raw["used_memory"].tolist() == [6 * 1024 // 4]
    assert raw["cpu_time"].tolist() == [15]


def test_array_tasks_and_waiting_blocks() -> None:
    raw = parse(export(
        {"jobidraw": "200", "jobid": "200_1"},
        {"jobidraw": "201", "jobid": "200_2"},
        {"jobidraw": "200", "jobid": "200_[3-9%2]", "state": "PENDING"},
        {"jobidraw": "202", "jobid": "202_[1-5]", "state": "CANCELLED by 5"},
    ))  # fmt: skip
    assert raw["job_id"].tolist() == [200, 201]
    assert raw.counts["array_blocks_dropped"] == 2


def test_without_raw_ids_array_tasks_get_new_numbers() -> None:
    head = "JobID|Submit|Start|End|State|NCPUS"
    rows = ["5_1|100|100|160|CD|1", "5_2|100|100|160|CD|1", "9+1|100|100|160|CD|1"]
    w = clean(parse("\n".join([head, *rows])))
    assert sorted(w.job_id.tolist()) == [10, 11, 12]
    assert w.cleaning["missing_id_renumbered"] == 2


def test_het_components_are_jobs_of_their_own() -> None:
    raw = parse(export({"jobid": "100+0"}, {"jobidraw": "101", "jobid": "100+1"}))
    assert raw["job_id"].tolist() == [100, 101]


@pytest.mark.parametrize("state", ["NODE_FAIL", "PREEMPTED", "REQUEUED"])
def test_the_runs_of_a_requeued_job_are_one_job(state: str) -> None:
    """Submitted first, ended last; the run between is an attempt whose work was lost."""
    again = {"submit": "1700000160", "eligible": "1700000281", "start": "1700000300",
             "end": "1700000400"}  # fmt: skip
    w = clean(parse(export({"state": state}, {"jobidraw": "101"}, again)))
    assert (w.job_id.tolist(), w.submit.tolist()) == ([100, 101], [0, 0])
    assert w.recorded_start.tolist() == [300, 60] and w.run.tolist() == [100, 100]
    assert w.status.tolist() == [1, 1] and w.extra["eligible"].tolist() == [10, 10]
    assert w.lost_runs == {100: ((60, 160),)}
    assert w.cleaning["requeued_joined"] == 1 and w.cleaning["repeated_id_renumbered"] == 0
    recorded = Schedule.recorded(w)
    assert recorded.kills.tolist() == [1, 0]
    parts = recorded.attempts
    assert (parts.job_id.tolist(), parts.killed.tolist()) == ([100, 100], [1, 0])
    assert (parts.start.tolist(), parts.end.tolist()) == ([60, 300], [160, 400])


def test_a_requeued_job_that_has_not_ended_is_dropped_with_its_runs() -> None:
    other = {"jobidraw": "101"}
    waiting = {"submit": "1700000160", "state": "PENDING", "start": "Unknown", "end": "Unknown"}
    for rows in ([{"state": "PREEMPTED"}, other, waiting], [{"state": "REQUEUED"}, other]):
        raw = parse(export(*rows))
        assert raw["job_id"].tolist() == [101]
        assert raw.counts["unfinished_dropped"] == 1


def test_an_id_that_was_used_again_is_another_job() -> None:
    """Another user, or days later: ids wrap around after the largest."""
    late = {"submit": "1700900000", "start": "1700900060", "end": "1700900160"}
    other = {"user": "eve", "submit": "1700000160", "start": "1700000300", "end": "1700000400"}
    for again in (late, other):
        w = clean(parse(export({}, again)))
        assert w.job_id.tolist() == [100, 101] and not w.lost_runs
        assert w.cleaning["repeated_id_renumbered"] == 1


def test_overlapping_exports_repeat_rows_and_join_none() -> None:
    w = clean(parse(export({}, {})))
    assert len(w) == 1 and w.cleaning["repeated_line_dropped"] == 1
    assert w.cleaning["requeued_joined"] == 0


@pytest.mark.parametrize(("run", "jobs", "lost"), [("G", 150, 23), ("L1", 150, 64), ("L2", 150, 7)])
def test_recorded_preemptions_of_a_real_slurm(run: str, jobs: int, lost: int) -> None:
    """As many jobs as were submitted, as many lost runs as there are rows beyond that."""
    raw = read_raw(recording_path(run) / "jobs.psv")
    assert (len(raw), raw.counts["requeued_joined"]) == (jobs, lost)
    w = clean(raw, no_run="one-second")
    recorded = Schedule.recorded(w)
    assert int(recorded.kills.sum()) == lost == int(recorded.attempts.killed.sum())
    assert int(recorded.attempts.end.max()) <= int(recorded.end.max())


@pytest.mark.parametrize("state", ["PENDING", "RUNNING", "REQUEUED", "RESIZING", "SUSPENDED"])
def test_jobs_that_have_not_ended_are_dropped(state: str) -> None:
    raw = parse(export({}, {"jobidraw": "101", "state": state, "end": "Unknown"}))
    assert len(raw) == 1
    assert raw.counts["unfinished_dropped"] == 1


def test_cancelled_before_the_start() -> None:
    never = {"jobidraw": "101", "state": "CANCELLED by 1000", "start": "None", "elapsedraw": "0",
             "alloctres": "", "ncpus": "0", "nodelist": "None assigned"}  # fmt: skip
    raw = parse(export({}, never))
    assert job(raw, 1) == job(raw) | {"job_id": 101, "wait": 160, "run": 0, "procs": 0, "status": 5}
    w = clean(raw)
    assert w.cleaning["cancelled_dropped"] == 1
    kept = clean(raw, cancelled="queue-until-cancel")
    assert kept.extra["cancel_at"].tolist() == [-1, 160]
    assert kept.procs.tolist() == [4, 4]


@pytest.mark.parametrize("word", ["UNLIMITED", "Partition_Limit"])
def test_unlimited_jobs(word: str) -> None:
    text = export({"timelimitraw": word})
    raw = parse(text)
    assert raw["request"].tolist() == [-1]
    assert raw.counts["request_unlimited"] == 1
    assert clean(raw).request.tolist() == [100]
    assert parse(text, unlimited=86400)["request"].tolist() == [86400]


def test_spans_and_stamps_as_people_read_them() -> None:
    head = "JobID|Submit|Eligible|Start|End|Elapsed|Timelimit|State|NCPUS"
    text = (
        f"{head}\n7|2026-07-01T12:00:00|2026-07-01T12:00:00|2026-07-01T12:00:30|"
        "2026-07-02T14:03:34|1-02:03:04|2-00:00:00|COMPLETED|4\n"
    )
    raw = parse(text)
    assert (raw["run"][0], raw["wait"][0], raw["request"][0]) == (93784, 30, 172800)
    assert raw.counts["local_times_as_utc"] == 1
    assert "; UnixStartTime: 1782907200" in raw.header
    local = parse(text, tz="Europe/Zurich")
    assert local.counts["local_times_as_utc"] == 0
    assert "; UnixStartTime: 1782900000" in local.header
    assert "; TimeZoneString: Europe/Zurich" in local.header
    with pytest.raises(UsageError, match="not a time zone"):
        parse(text, tz="Mars/Olympus")


def test_a_wait_across_the_hour_that_occurs_twice() -> None:
    head = "JobID|Submit|Start|End|State|NCPUS"
    text = f"{head}\n7|2026-10-25T02:50:00|2026-10-25T02:10:00|2026-10-25T02:20:00|CD|1\n"
    raw = parse(text, tz="Europe/Zurich")
    assert (raw["wait"][0], raw["run"][0]) == (1200, 600)


def test_size_is_what_was_given_and_intent_what_was_asked() -> None:
    """--exclusive allocates more than ReqTRES requests."""
    raw = parse(export({"alloctres": "cpu=64,mem=250G,node=1", "ncpus": "64"}))
    assert (raw["procs"][0], raw["requested_procs"][0]) == (64, 4)
    assert raw.demands["memory"].tolist() == [250 << 20]


def test_memory_of_old_versions_without_tres() -> None:
    none = {"alloctres": "", "reqtres": ""}
    raw = parse(export(none | {"reqmem": "4000Mc"}, none | {"reqmem": "4Gn", "nnodes": "2"},
                       none | {"reqmem": "0n"}))  # fmt: skip
    assert raw.demands["memory"].tolist() == [4 * 4000 << 10, 8 << 20, -1]
    w = clean(raw, memory=True, gpus=True)
    assert (w.cleaning["memory_unknown"], w.cleaning["gpus_unknown"]) == (1, 3)


def test_gpus() -> None:
    tres = "billing=2,cpu=1,gres/gpu=4,gres/gpu:a100=4,mem=5G,node=1"
    raw = parse(export({"alloctres": tres}, {"alloctres": "cpu=1,gres/gpu=0"}))
    assert raw.demands["gpus"].tolist() == [4, 0]


# Names


def test_pipes_in_the_name() -> None:
    raw = parse(export({"jobname": "a|b||c|"}, {"jobname": "x"}))
    assert len(raw) == 2
    assert raw["executable"].tolist() == [1, 2]


def test_pipes_in_constraints_are_distinguished_from_pipes_in_names() -> None:
    """The node list fits the number of nodes in only one of the two readings."""
    job_ = {"constraints": "a|b", "nodelist": "n[1-2]", "nnodes": "2", "jobname": "x"}
    raw = parse(export(job_, {"jobname": "x"}))
    assert raw["executable"].tolist() == [1, 1]


def test_pipes_in_a_name_in_the_middle() -> None:
    text = "JobID|JobName|Submit|Start|End|State|NCPUS\n7|a|b|100|100|160|COMPLETED|4\n"
    assert job(parse(text))["run"] == 60


def test_line_breaks_in_names() -> None:
    raw = parse(export({"jobname": "a\nb\n17\n"}, {"jobidraw": "101", "jobname": "c"}))
    assert raw["job_id"].tolist() == [100, 101]
    assert raw.counts["names_joined"] == 3
    text = "JobID|JobName|Submit|Start|End|State|NCPUS\n7|a\nb|100|100|160|COMPLETED|4\n"
    assert job(parse(text))["run"] == 60
    text = "User|JobName|JobID|Submit|Start|End|State|NCPUS\nann|a\nb|7|100|100|160|CD|4\n"
    assert job(parse(text))["run"] == 60


def test_names_become_numbers_and_the_header_keeps_them() -> None:
    raw = parse(export({}, {"user": "bob", "partition": "gpu"}, {"user": "", "qos": "high"}))
    assert raw["user"].tolist() == [1, 2, -1]
    assert names(raw.header) == {
        "user": {1: "ann", 2: "bob"}, "group": {1: "physics"},
        "queue": {1: "normal", 2: "high"}, "partition": {1: "batch", 2: "gpu"},
    }  # fmt: skip
    assert "; User: 2 bob" in to_swf(clean(raw))


# Other shapes of the file


def test_trailing_delimiters_of_sacct_p() -> None:
    body = export({}, {"jobname": "a|b"})
    text = "\n".join(f"{row}|" for row in body.splitlines())
    raw = parse(text)
    assert len(raw) == 2


def test_other_delimiters() -> None:
    assert len(parse(export({}).replace("|", "\t"))) == 1
    head = "JobID;Submit;Start;End;State;NCPUS"
    assert len(parse(f"{head}\n7;100;100;160;CD;1\n")) == 1


def test_comma_separated_needs_quotes() -> None:
    head = "JobID,Submit,Start,End,State,NCPUS,AllocTRES"
    text = f'{head}\n7,100,100,160,CD,1,"cpu=2,mem=1G"\n'
    assert parse(text)["procs"].tolist() == [2]
    with pytest.raises(InputError, match=r"line 2: expected 7 columns, found 8 \(commas"):
        parse(text.replace('"', ""))


FIXED = """\
JobID                     Submit               Start                 End      State      NCPUS
------------ ------------------- ------------------- ------------------- ---------- ----------
7            2026-07-01T12:00:00 2026-07-01T12:00:30 2026-07-01T12:01:30 CANCELLED+          4
7.batch      2026-07-01T12:00:30 2026-07-01T12:00:30 2026-07-01T12:01:30  CANCELLED          4
"""


def test_fixed_columns_with_a_cut_state() -> None:
    raw = parse(FIXED)
    assert job(raw)["status"] == 5
    assert (job(raw)["wait"], job(raw)["run"], job(raw)["procs"]) == (30, 60, 4)
    assert raw.counts["steps_dropped"] == 1
    with pytest.raises(InputError, match="not a job id"):
        parse(FIXED.replace("7            2026", "1234567890+  2026"))


def test_windows_line_ends_and_a_missing_last_one() -> None:
    assert len(parse(export({}, {}).replace("\n", "\r\n"))) == 2
    assert len(parse(export({}, {}).rstrip("\n"))) == 2


def test_several_clusters_need_a_choice() -> None:
    text = export({}, {"cluster": "c2"})
    with pytest.raises(InputError, match=r"several clusters: c1, c2.*--slurm-cluster"):
        parse(text)
    raw = parse(text, cluster="c2")
    assert len(raw) == 1
    assert raw.counts["other_clusters_dropped"] == 1
    assert "; Computer: c2" in raw.header


# What is refused


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"jobidraw": "12x"}, "not a job id"),
        ({"submit": "soon"}, "not a time like"),
        ({"submit": "Unknown"}, "no submission time"),
        ({"state": "DANCING"}, "not a job state"),
        ({"elapsedraw": "-5"}, "ElapsedRaw"),
        ({"elapsedraw": "99999999999"}, "run is 99999999999, beyond"),
        ({"submit": "999999999999"}, "submit is 999999999999, beyond"),
        ({"timelimitraw": "soon"}, "TimelimitRaw"),
        ({"alloctres": "", "ncpus": "lots"}, "NCPUS"),
        ({"alloctres": "", "ncpus": "99999999999"}, "procs is"),
        ({"alloctres": "cpu"}, "TRES"),
        ({"eligible": "then"}, "not a time like"),
        ({"alloctres": "mem=9999999P"}, "mem="),
    ],
)
def test_a_bad_row_is_refused_with_its_line_or_dropped(
    changes: dict[str, str], message: str
) -> None:
    text = export({}, {"jobidraw": "101"} | changes, {"jobidraw": "102"})
    with pytest.raises(InputError, match=rf"s\.psv, line 3: .*{message}.*--bad-lines drop"):
        parse(text)
    raw = parse(text, bad_lines="drop")
    assert raw["job_id"].tolist() == [100, 102]
    assert raw.counts["bad_lines_dropped"] == 1


def test_a_line_that_breaks_off() -> None:
    text = export({}) + "101|101|c1|batch\n" + line(COLUMNS, jobidraw="102")
    with pytest.raises(InputError, match="line 3: expected 30 columns, found 4"):
        parse(text)
    assert len(parse(text, bad_lines="drop")) == 2


def test_missing_columns_are_named() -> None:
    with pytest.raises(InputError, match=r"no column Submit.*--print-command"):
        parse("JobID|State|Elapsed|NCPUS\n1|CD|00:01|1\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("\n \n", "empty"),
        (RECOMMENDED.replace(",", "|") + "\n", "no ended job in it"),
        (export({"state": "RUNNING"}), "1 unfinished_dropped"),
        ("hello\nworld\n", "not a job log in a known format"),
    ],
)
def test_no_jobs(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse(text)


def test_unknown_choice() -> None:
    with pytest.raises(UsageError, match="bad_lines"):
        parse(export({}), bad_lines="mend")


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "jobs.psv.gz"
    path.write_bytes(gzip.compress(export({}, {"jobname": "caf\xe9"}).encode("latin-1")))
    assert len(read_sacct(path)) == 2
    w = read(path, memory=True, tz="UTC")
    assert (w.name, w.resources) == ("jobs", ("procs", "memory"))


@pytest.mark.parametrize("constraint", ["a|b", "[a|b|c]", "a&b"])
@pytest.mark.parametrize("name", ["run.sh", "x|y", "|"])
def test_the_delimiter_in_several_texts_of_a_row(constraint: str, name: str) -> None:
    """sbatch -C 'a|b' writes it into Constraints and SubmitLine, -J 'x|y' into two as well."""
    submitted = f"sbatch -C {constraint} -J {name} -N 2-3 job.sh a|b"
    job = {"constraints": constraint, "jobname": name, "submitline": submitted}
    for columns in (COLUMNS, COLUMNS[::-1], [*COLUMNS[:-2], "exitcode"]):
        head = "|".join(columns)
        raw = parse_sacct(
            f"{head}\n{line(columns, **job)}\n{line(columns, submitline='')}\n", name="x"
        )
        assert raw.requests is not None
        first = raw.requests[0]
        assert first.features == constraint
        if "submitline" in columns:
            assert (first.nodes, first.max_nodes) == (2, 3)
        assert len(raw["job_id"]) == 2


@pytest.mark.parametrize("mark", ["\x1c", "\f", "\x0b", "\u2028", "\u0085", "\x1e"])
def test_only_line_ends_separate_rows(mark: str) -> None:
    """What Python calls a line end, a user may write into a name."""
    raw = parse_sacct(
        export({"jobname": f"a{mark}b"}, {"jobid": "101", "jobidraw": "101"}), name="x"
    )
    assert len(raw["job_id"]) == 2 and raw.counts["names_joined"] == 0
