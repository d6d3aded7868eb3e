"""Accounting logs of PBS and Torque."""

from __future__ import annotations

from pathlib import Path

import pytest

from shadowtime.errors import InputError
from shadowtime.trace import read
from shadowtime.trace.formats import read_raw
from shadowtime.trace.pbs import parse_pbs

T = 1711900000


def record(job: str, kind: str = "E", **pairs: object) -> str:
    usual = {"user": "eva", "group": "hep", "queue": "batch", "ctime": T, "qtime": T,
             "start": T + 100, "end": T + 700, "Resource_List.ncpus": 8,
             "Resource_List.walltime": "01:00:00", "Exit_status": 0}  # fmt: skip
    fields = {**usual, **{key.replace("__", "."): value for key, value in pairs.items()}}
    written = " ".join(f"{key}={value}" for key, value in fields.items() if value is not None)
    return f"04/01/2024 01:00:00;{kind};{job};{written}"


def test_ended_jobs_are_read_and_the_rest_is_counted(tmp_path: Path) -> None:
    """Queue, start and array records are skipped; wait, run, request, names come out right."""
    lines = [
        "04/01/2024 00:00:00;Q;1.srv;queue=batch",
        record("1.srv", "S"),
        record("1.srv"),
        record("2.srv", user="ann", start=T + 60, end=T + 61, Exit_status=271),
    ]
    path = tmp_path / "20240401"
    path.write_text("\n".join(lines) + "\n")
    raw = read_raw(path)
    assert raw.counts["other_records_skipped"] == 2
    assert raw["job_id"].tolist() == [1, 2] and raw["wait"].tolist() == [100, 60]
    assert raw["run"].tolist() == [600, 1] and raw["request"].tolist() == [3600, 3600]
    assert raw["status"].tolist() == [1, 0] and raw["procs"].tolist() == [8, 8]
    jobs = read(path)
    assert jobs.name_of("user", int(jobs.user[0])) == "eva" and jobs.epoch == T


@pytest.mark.parametrize(
    ("pairs", "procs"),
    [
        ({"exec_host": "n1/0*4+n2/0*4"}, 8),
        ({"exec_host": "n1/0-3+n2/0,2"}, 6),
        ({"Resource_List.nodes": "2:ppn=16"}, 32),
        ({"Resource_List.nodes": "n17:ppn=4+n18:ppn=4"}, 8),
        ({"Resource_List.nodect": "3"}, 3),
    ],
)
def test_processors(pairs: dict[str, str], procs: int) -> None:
    """From whichever field has the count, in the styles of both families."""
    line = record("1.srv", **{"Resource_List.ncpus": None}, **pairs)
    assert parse_pbs(line, name="x")["procs"].tolist() == [procs]


def test_a_job_that_ran_again_counts_once_and_arrays_are_numbered() -> None:
    """The last end record of an id is the run; ids with an index are replaced by the order."""
    again = parse_pbs("\n".join([record("5.s"), record("5.s", end=T + 900)]), name="x")
    assert again["run"].tolist() == [800] and again.counts["requeued_joined"] == 1
    array = parse_pbs("\n".join([record("5[1].s"), record("5[2].s")]), name="x")
    assert array["job_id"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (record("1.s", qtime="x", ctime="x"), "no qtime"),
        (record("1.s", end=T), "ends before it starts"),
        (record("1.s", **{"Resource_List.ncpus": None}), "how many processors"),
        (record("1.s", **{"Resource_List.walltime": "soon"}), "walltime"),
        (record("1.s", **{"Resource_List.mem": "much"}), "size"),
        ("nonsense", "no record"),
    ],
)
def test_bad_records_are_named_or_dropped(line: str, says: str) -> None:
    """The error is one sentence with the line; with bad_lines=drop they are counted."""
    text = record("9.s") + "\n" + line
    with pytest.raises(InputError, match=says) as caught:
        parse_pbs(text, name="x", path="acc")
    assert str(caught.value).startswith("acc, line 2")
    dropped = parse_pbs(text, name="x", bad_lines="drop")
    assert dropped["job_id"].tolist() == [9] and dropped.counts["bad_lines_dropped"] == 1


def test_memory_is_that_of_the_whole_job() -> None:
    """In KB, from the size as PBS writes it."""
    raw = parse_pbs(record("1.s", **{"Resource_List.mem": "2gb"}), name="x")
    assert raw.demands["memory"].tolist() == [2 * 1024 * 1024]


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        ({"Resource_List__mem": "9" * 400 + "b"}, "cannot read the size"),
        ({"Resource_List__mem": "9" * 15 + "pb"}, "the job's memory is"),
        ({"Resource_List__walltime": "9" * 30 + ":00:00"}, "cannot read the walltime"),
        ({"Resource_List__walltime": "999999999:00:00"}, "the job's walltime is"),
        ({"Resource_List__ncpus": None, "exec_host": "n1/7-3"}, "cannot read the host"),
    ],
)
def test_amounts_beyond_any_machine_are_one_sentence(
    pairs: dict[str, object], sentence: str
) -> None:
    """The error names the line; a log without a remaining line is an error too."""
    text = record("1.srv", **pairs)
    with pytest.raises(InputError, match=f"line 1: {sentence}"):
        parse_pbs(text, name="x")
    with pytest.raises(InputError, match="none of its jobs can be read"):
        parse_pbs(text, name="x", bad_lines="drop")
