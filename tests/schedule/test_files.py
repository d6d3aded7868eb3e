"""Schedule files: exact bytes out, columns of other tools in, errors with what to do."""

from __future__ import annotations

import builtins
import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from shadowtime.errors import InputError, MissingExtra, ShadowtimeError, UsageError
from shadowtime.schedule import Attempts, Schedule, attempts_path, read, write
from shadowtime.schedule.csv import parse_attempts, parse_schedule
from shadowtime.types import NO_LIMIT, Reason


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.fixture
def preempted() -> Schedule:
    """Three jobs, the second preempted once; every optional column present."""
    return Schedule(
        job_id=ints(1, 2, 3),
        submit=ints(0, 0, 7),
        start=ints(0, 12, 7),
        end=ints(10, 15, 9),
        procs=ints(2, 1, 1),
        reason=np.array([Reason.HEAD, Reason.BACKFILLED, Reason.PREEMPTING], np.int8),
        kills=ints(0, 1, 0),
        killed=np.array([0, 1, 0], np.int8),
        promised=ints(-1, 10, -1),
        blocked_at=ints(-1, 0, -1),
        limit=ints(10, 3, NO_LIMIT),
        place=("n1", "n1:1, n2", 'odd "name"'),
        penalised=ints(0, 1, 0),
        attempts=Attempts(
            job_id=ints(2, 2), start=ints(0, 12), end=ints(7, 15), killed=np.array([1, 0], np.int8)
        ),
        policy="pv-easy",
        claims=("strictly-fair",),
        counters={"passes": 4},
    )


def equal(left: Schedule, right: Schedule) -> bool:
    columns = ("job_id", "submit", "start", "end", "procs", "reason", "kills", "killed")
    optional = ("promised", "blocked_at", "limit", "penalised")
    same = all(np.array_equal(getattr(left, n), getattr(right, n)) for n in columns + optional)
    attempts = all(
        np.array_equal(getattr(left.attempts, n), getattr(right.attempts, n))
        for n in ("job_id", "start", "end", "killed")
    )
    return same and attempts and left.place == right.place


def test_the_csv_is_the_contract_to_the_byte(preempted: Schedule, tmp_path: Path) -> None:
    """Column names and order, reasons by name, -1 for unknown and for no limit."""
    out = tmp_path / "out.csv"
    write(preempted, out)
    assert out.read_bytes().decode() == (
        "job_id,submit,start,end,procs,reason,kills,killed,"
        "promised,blocked_at,limit,place,penalised\n"
        "1,0,0,10,2,head,0,0,-1,-1,10,n1,0\n"
        '2,0,12,15,1,backfilled,1,1,10,0,3,"n1:1, n2",1\n'
        '3,7,7,9,1,preempting,0,0,-1,-1,-1,"odd ""name""",0\n'
    )
    assert (tmp_path / "out.attempts.csv").read_text() == (
        "job_id,start,end,preempted\n2,0,7,1\n2,12,15,0\n"
    )


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_what_is_written_is_read_back(preempted: Schedule, tmp_path: Path, name: str) -> None:
    """Both formats keep every column and the attempts."""
    write(preempted, tmp_path / name)
    assert equal(read(tmp_path / name), preempted)


def test_parquet_keeps_the_policy_and_its_claims(preempted: Schedule, tmp_path: Path) -> None:
    """A Parquet file stores what a CSV cannot."""
    write(preempted, tmp_path / "out.parquet")
    back = read(tmp_path / "out.parquet")
    assert (back.policy, back.claims, back.counters["passes"]) == ("pv-easy", ("strictly-fair",), 4)


def test_columns_that_do_not_exist_are_not_written(preempted: Schedule, tmp_path: Path) -> None:
    """Only what the schedule has; no attempts file where nothing was preempted."""
    bare = preempted.replace(
        promised=None, limit=None, place=None, penalised=None, attempts=Attempts.none()
    )
    write(bare, tmp_path / "out.csv")
    header = (tmp_path / "out.csv").read_text().splitlines()[0]
    assert header == "job_id,submit,start,end,procs,reason,kills,killed,blocked_at"
    assert not attempts_path(tmp_path / "out.csv").exists()


def test_an_older_attempts_file_cannot_be_mistaken(preempted: Schedule, tmp_path: Path) -> None:
    """Writing a schedule without attempts empties the attempts of the one it replaces."""
    write(preempted, tmp_path / "out.csv")
    write(preempted.replace(attempts=Attempts.none()), tmp_path / "out.csv")
    assert len(read(tmp_path / "out.csv").attempts) == 0


def test_a_file_from_elsewhere(tmp_path: Path) -> None:
    """Any column order, other names, floats that are whole, empty cells, unknown columns, CRLF."""
    path = tmp_path / "jobs.csv"
    path.write_bytes(
        b"\xef\xbb\xbfSubmission_Time, Job_ID,finish,start,procs,reason,promised,colour,taste\r\n"
        b"\r\n"
        b"5.000000,8,20.0,10,2,HEAD,,red,\r\n"
        b'5,7,,,"2",3,4,blue,sweet\r\n'
        b"  \r\n"
    )
    back = read(path, names={"submit": "submission_time", "end": "Finish"})
    assert back.job_id.tolist() == [7, 8]
    assert back.start.tolist() == [-1, 10]
    assert back.end.tolist() == [-1, 20]
    assert back.reason.tolist() == [Reason.BACKFILLED, Reason.HEAD]
    assert back.promised is not None and back.promised.tolist() == [4, -1]
    assert back.missing == ("kills", "killed")
    assert back.blocked_at is None and back.limit is None and back.place is None
    assert back.counters["ignored_columns"] == 2


def test_repeated_jobs_are_kept_for_the_check() -> None:
    """The reader drops nothing: a job with two rows is reported by the check."""
    text = "job_id,submit,start,end,procs\n1,0,0,5,1\n1,0,5,9,1\n"
    assert parse_schedule(text).start.tolist() == [0, 5]


HEADER = "job_id,submit,start,end,procs"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", None, "empty"),
        ("\n \n", None, "empty"),
        ("job_id,submit\n1,2\n", 1, "no column start, end, procs"),
        (f"{HEADER},end\n", 1, "'end' appears twice"),
        (f"{HEADER}\n1,0,0,5,1\n2,0,0,5\n", 3, "4 fields where the header names 5"),
        (f"{HEADER}\n1,0,0,5,1\n2,x,0,5,1\n", 3, "submit is 'x', not a number"),
        (f"{HEADER}\n1,0,,5,1\n2,0,0,5,\n", 3, "procs is empty"),
        (f"{HEADER}\n1,0,0.5,5,1\n", 2, "start is 0.5, not whole"),
        (f"{HEADER}\n1,0,nan,5,1\n", 2, "start is nan"),
        (f"{HEADER}\n1,0,inf,5,1\n", 2, "start is inf"),
        (f"{HEADER}\n1,0,{10**30},5,1\n", 2, "allowed is from -1"),
        (f"{HEADER}\n1,0,-2,5,1\n", 2, "start is -2"),
        (f"{HEADER}\n1,0,0,5,0\n", 2, "procs is 0"),
        (f"{HEADER},killed\n1,0,0,5,1,2\n", 2, "killed is 2"),
        (f"{HEADER},reason\n1,0,0,5,1,luck\n", 2, "reason is 'luck'"),
        (f'{HEADER},place\n1,0,0,5,1,"a\nb"\n2,0,0,5,x,c\n', 4, "procs is 'x'"),
        (f"{HEADER}\n1,0,0,5,1\x00\n", None, ""),
    ],
)
def test_bad_files_are_refused_with_line_and_cure(text: str, line: int | None, words: str) -> None:
    """The error is one sentence: which file, which line, what is wrong and what to do."""
    with pytest.raises(InputError) as caught:
        parse_schedule(text, path="s.csv")
    message = str(caught.value)
    assert message.startswith("s.csv" if line is None else f"s.csv, line {line}: ")
    assert words in message and "\n" not in message


def test_bad_attempts_are_refused() -> None:
    """The attempts file follows the same rules."""
    with pytest.raises(InputError, match=r"a.csv, line 1: no column preempted"):
        parse_attempts("job_id,start,end\n1,2,3\n", path="a.csv")


def test_files_that_cannot_be_opened(tmp_path: Path, preempted: Schedule) -> None:
    """A missing file, a binary file and a folder that is not there: no traceback, a hint."""
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read(tmp_path / "none.csv")
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "none.parquet")
    (tmp_path / "blob.csv").write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(InputError, match="not a text file"):
        read(tmp_path / "blob.csv")
    (tmp_path / "blob.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "blob.parquet")
    with pytest.raises(UsageError, match="cannot write"):
        write(preempted, tmp_path / "no" / "out.csv")


def test_unknown_names_are_refused() -> None:
    """Only columns that exist on both sides can be renamed."""
    with pytest.raises(UsageError, match="no column 'begin'"):
        parse_schedule(f"{HEADER}\n", names={"begin": "start"})
    with pytest.raises(InputError, match="no column 'begun'"):
        parse_schedule(f"{HEADER}\n", names={"start": "begun"})


def test_parquet_from_elsewhere(tmp_path: Path) -> None:
    """Floats that are whole, nulls and plain text reasons; anything else is refused."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {
        "job_id": [2, 1],
        "submit": [0.0, 0.0],
        "start": [3, None],
        "end": [9, None],
        "procs": [1, 1],
        "reason": ["head", None],
        "colour": ["red", "blue"],
    }
    parquet.write_table(arrow.table(columns), tmp_path / "x.parquet")
    back = read(tmp_path / "x.parquet")
    assert back.start.tolist() == [-1, 3] and back.reason.tolist() == [0, 1]
    assert back.counters["ignored_columns"] == 1
    for name, values in [("submit", [0.5, 1.0]), ("procs", [1, None]), ("procs", [0, 1])]:
        parquet.write_table(arrow.table(columns | {name: values}), tmp_path / "bad.parquet")
        with pytest.raises(InputError, match=f"{name}"):
            read(tmp_path / "bad.parquet")
    del columns["end"]
    parquet.write_table(arrow.table(columns), tmp_path / "bad.parquet")
    with pytest.raises(InputError, match="no column end"):
        read(tmp_path / "bad.parquet")


def test_parquet_needs_its_extra(
    preempted: Schedule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without pyarrow the message is the command that installs it."""
    real = builtins.__import__

    def without_pyarrow(name: str, *args: object, **kwargs: object) -> object:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    with pytest.raises(MissingExtra, match=r"shadowtime\[parquet\]"):
        write(preempted, tmp_path / "out.parquet")


@given(st.text(alphabet='0123456789,."\n\r -xe', max_size=120))
@settings(max_examples=examples(300), deadline=None)
def test_no_text_breaks_the_reader(body: str) -> None:
    """Any text below a valid header is read, or rejected with one of our errors."""
    with contextlib.suppress(ShadowtimeError):
        parse_schedule(f"{HEADER}\n{body}")
