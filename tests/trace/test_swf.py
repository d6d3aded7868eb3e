"""Reading SWF: what is legal, what is repaired and counted, what is rejected and how."""

from __future__ import annotations

import gzip
import math
import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from shadowtime.errors import InputError, UsageError
from shadowtime.trace import parse_swf, read, read_swf
from shadowtime.trace.header import entries, machine, names
from shadowtime.workload.clean import clean
from shadowtime.workload.raw import FIELDS, MAX_AMOUNT

LINE = "1 0 5 60 4 30 -1 4 100 -1 1 7 8 9 2 3 -1 -1"
NUMBER = r"[-+]?([0-9]{1,22}(\.[0-9]{0,6})?|\.[0-9]{1,6})([eE][-+]?[0-9]{1,2})?"
VALUES = [int(text) for text in LINE.split()]


def parse(text: str | bytes, **options: str):
    data = text.encode() if isinstance(text, str) else text
    return parse_swf(data, name="t", path="t.swf", **options)  # type: ignore[arg-type]


def with_field(number: int, text: str) -> str:
    fields = LINE.split()
    fields[number - 1] = text
    return " ".join(fields)


def test_reading_warns_of_nothing_where_nothing_is_compiled() -> None:
    """Compiled, a byte below the digit 0 wraps silently; NumPy would warn of it."""
    data = f"{LINE}\n".encode()
    code = f"from shadowtime.trace import parse_swf; parse_swf({data!r}, name='t')"
    subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        check=True,
    )


def test_all_eighteen_fields() -> None:
    raw = parse(LINE + "\n")
    assert raw.table[:, 0].tolist() == VALUES
    assert raw.line.tolist() == [1]
    assert [int(raw[name][0]) for name in FIELDS] == VALUES


@pytest.mark.parametrize(
    "text",
    [
        LINE,
        LINE + "\n",
        LINE + "\r\n",
        "\n\n" + LINE + "\n\n",
        LINE.replace(" ", "\t"),
        "   " + LINE.replace(" ", "    ") + "   ",
        LINE + " ; a remark",
        LINE + ";no blank before it",
        LINE.replace(" 60 ", " +60 "),
        LINE.replace(" 60 ", " 60.0 "),
        LINE.replace(" 60 ", " 6e1 "),
        LINE.replace(" 60 ", " 600E-1 "),
        LINE.replace(" 60 ", " 000000000000000000000000060 "),
    ],
)
def test_legal_spellings_of_one_line(text: str) -> None:
    raw = parse(text)
    assert raw.table[:, 0].tolist() == VALUES
    assert not any(raw.counts.values())


def test_line_numbers_count_comments_and_empty_lines() -> None:
    raw = parse(f"; a\n\n{LINE}\n; b\n{LINE}\n")
    assert raw.line.tolist() == [3, 5]
    assert raw.header == ("; a", "; b")


def test_the_header_is_kept_as_it_stands() -> None:
    lines = ["; Version: 2.2", ";Note: é", ";", ";   indented   "]
    assert parse("\r\n".join([*lines, LINE])).header == tuple(lines)
    assert parse("; caf\xe9\n".encode("latin-1") + LINE.encode()).header == ("; café",)


def test_more_columns_are_ignored_and_counted() -> None:
    raw = parse(f"{LINE} {{1,2}} q_1d 1:ppn=2\n{LINE}\n")
    assert raw.table[:, 0].tolist() == VALUES
    assert raw.counts["extra_columns_ignored"] == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [("9.49", 9), ("9.5", 10), ("9.50001", 10), ("0.4999999999999999999999", 0), (".5", 1),
     ("7.", 7), ("-0.4", 0), ("-1.00", -1), ("1.25e1", 13), ("12.5e-1", 1)],
)  # fmt: skip
def test_fractions_are_rounded_half_up(text: str, value: int) -> None:
    raw = parse(with_field(4, text))
    assert int(raw["run"][0]) == value
    assert raw.counts["times_rounded"] == (1 if Fraction(text).denominator > 1 else 0)


def test_rounding_is_counted_by_kind_and_by_job() -> None:
    fields = LINE.split()
    for number in (2, 3, 4, 6, 7, 10):
        fields[number - 1] = "8.25"
    raw = parse(" ".join(fields) + "\n" + with_field(6, "142.00"))
    counts = {rule: count for rule, count in raw.counts.items() if count}
    assert counts == {"times_rounded": 1, "cpu_time_rounded": 1, "memory_rounded": 1}


@settings(deadline=None, max_examples=examples(300))
@given(st.from_regex(NUMBER, fullmatch=True))
def test_numbers_agree_with_exact_arithmetic(text: str) -> None:
    """Read as a memory size, the field with the widest range."""
    exact = Fraction(text)
    rounded = math.floor(exact + Fraction(1, 2))
    if abs(rounded) > MAX_AMOUNT:
        with pytest.raises(InputError, match="beyond"):
            parse(with_field(10, text))
        return
    raw = parse(with_field(10, text))
    assert int(raw["requested_memory"][0]) == rounded
    assert raw.counts["memory_rounded"] == int(exact.denominator > 1)


@pytest.mark.parametrize(
    ("number", "text", "expected"),
    [
        (1, "abc", "field 1 (job id) must be a number, not 'abc'"),
        (4, "nan", "field 4 (run) must be a number, not 'nan'"),
        (4, "inf", "must be a number"),
        (4, "-", "must be a number"),
        (4, "1e", "must be a number"),
        (4, "1e+", "must be a number"),
        (4, ".", "must be a number"),
        (4, "1.2.3", "must be a number"),
        (4, "0x10", "must be a number"),
        (4, "1_000", "must be a number"),
        (4, "--5", "must be a number"),
        (4, "\u0663", "must be a number"),
        (4, "2147483647", "field 4 (run) is 2147483647, beyond +-2147483646"),
        (9, "2147483647", "field 9 (request)"),
        (2, "549755813888", "beyond +-549755813887"),
        (2, "9" * 40, "beyond"),
        (2, "1e30", "beyond"),
        (5, "2147483647", "field 5 (procs)"),
        (8, "4e9", "field 8 (requested procs)"),
        (1, "99999999999999999", "field 1"),
        (5, "1.5", "field 5 (procs) must be a whole number, not '1.5'"),
        (11, "0.5", "field 11 (status) must be a whole number"),
    ],
)
def test_a_bad_field_is_refused_with_its_place(number: int, text: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(f"; header\n{LINE}\n{with_field(number, text)}\n")
    message = str(caught.value)
    assert message.startswith("t.swf, line 3: ")
    assert expected in message
    assert "--bad-lines drop" in message
    assert caught.value.line == 3


def test_the_largest_values_are_legal() -> None:
    big = {2: 2**39 - 1, 3: 2**39 - 1, 4: 2**31 - 2, 5: 2**31 - 2, 9: 2**31 - 2, 10: 2**53}
    fields = LINE.split()
    for number, value in big.items():
        fields[number - 1] = str(value)
    raw = parse(" ".join(fields))
    assert {number: int(raw.table[number - 1, 0]) for number in big} == big


@pytest.mark.parametrize("count", range(1, 18))
def test_too_few_columns(count: int) -> None:
    with pytest.raises(InputError, match=f"line 1: expected 18 columns, found {count}"):
        parse(" ".join(LINE.split()[:count]) + "\n" + LINE)


def test_bad_lines_can_be_dropped_and_counted() -> None:
    raw = parse(f"{LINE}\n1 2 3\nx\n{LINE}\n{with_field(2, '1e30')}", bad_lines="drop")
    assert raw.line.tolist() == [1, 4]
    assert raw.counts["bad_lines_dropped"] == 3
    with pytest.raises(InputError, match="2 bad lines dropped"):
        parse("x\ny\n", bad_lines="drop")
    with pytest.raises(UsageError, match="bad_lines"):
        parse(LINE, bad_lines="mend")


@pytest.mark.parametrize("text", ["; only a header\n", "\n \n", ";"])
def test_no_jobs(text: str) -> None:
    with pytest.raises(InputError, match="no job"):
        parse(text)


def test_binary_data_and_other_formats_are_distinguished() -> None:
    with pytest.raises(InputError, match="line 1: this is not text"):
        parse(b"\x7fELF\x00\x01\x02" * 50)
    with pytest.raises(InputError, match="does not look like SWF"):
        parse("JobID|User\n1|me\n")


# Files


def write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def test_gzip_is_recognised_by_content(tmp_path: Path) -> None:
    packed = gzip.compress(f"; MaxProcs: 8\n{LINE}\n".encode())
    raw = read_swf(write(tmp_path, "KTH.swf.gz", packed))
    assert (raw.name, len(raw), dict(raw.machine)) == ("KTH", 1, {"procs": 8})
    assert len(read_swf(write(tmp_path, "misnamed.swf", packed))) == 1
    assert len(read_swf(write(tmp_path, "plain.swf.gz", LINE.encode()))) == 1
    two = packed + gzip.compress(LINE.encode())
    assert len(read_swf(write(tmp_path, "two-members.gz", two))) == 2


def test_damaged_gzip(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    text = "\n".join(with_field(4, str(n)) for n in rng.integers(1, 10**6, 500))
    packed = gzip.compress(text.encode())
    with pytest.raises(InputError, match=r"cut\.swf\.gz: the gzip data ends too early"):
        read_swf(write(tmp_path, "cut.swf.gz", packed[:-20]))
    broken = bytearray(packed)
    broken[len(broken) // 2] ^= 0xFF
    with pytest.raises(InputError, match=r"the gzip data is damaged|ends too early"):
        read_swf(write(tmp_path, "broken.swf.gz", bytes(broken)))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b" \n\r\n", "the file is empty"),
        (b"\xef\xbb\xbf", "the file is empty"),
        (gzip.compress(b"", mtime=0), "the file is empty"),
        (b"PK\x03\x04rest", "this is zip, not text"),
        ("1 2".encode("utf-16"), "this is UTF-16, not text"),
    ],
)
def test_files_that_hold_no_log(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_swf(write(tmp_path, "x.swf", data))


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_swf(tmp_path / "none.swf")
    with pytest.raises(InputError, match="folder"):
        read_swf(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        read_swf("nul\0byte")


def test_marks_and_line_ends_of_other_systems(tmp_path: Path) -> None:
    bom = b"\xef\xbb\xbf; MaxProcs: 8\r\n" + LINE.encode()
    raw = read_swf(write(tmp_path, "bom.swf", bom))
    assert raw.header == ("; MaxProcs: 8",)
    mac = read_swf(write(tmp_path, "mac.swf", f"; a\r{LINE}\r{LINE}\r".encode()))
    assert len(mac) == 2


def test_read_passes_the_switches_on(tmp_path: Path) -> None:
    path = write(tmp_path, "x.swf", f"{with_field(4, '150')}\nbad\n".encode())
    w = read(path, bad_lines="drop", overrun="extend")
    assert w.request.tolist() == [150]
    assert w.cleaning["bad_lines_dropped"] == 1
    with pytest.raises(InputError):
        read(path)


# Header


def test_header_entries_with_odd_spacing() -> None:
    header = ["; MaxProcs :  338  ", ";;MaxNodes:1,152 (8 each)", "; note", "; Note:", "none: 5"]
    assert entries(header) == [("maxprocs", "338"), ("maxnodes", "1,152 (8 each)"), ("note", ""),
                               ("none", "5")]  # fmt: skip
    assert machine(header) == {"procs": 338, "nodes": 1152}


@pytest.mark.parametrize(
    ("value", "procs"),
    [
        ("1664 (72, 1368, 224)", 1664),
        ("(72, 1368, 224)", 1664),
        ("338 (batch partition; 512 total)", 338),
        ("-1", None),
        ("unknown", None),
        ("0", None),
        ("99999999999999999999", None),
    ],
)
def test_machine_size_with_trailing_text(value: str, procs: int | None) -> None:
    assert machine([f"; MaxProcs: {value}"]).get("procs") == procs


def test_names_of_queues() -> None:
    header = ["; Queue:  0  interactive    ", "; Queues: these are classes", "; Queue: none"]
    assert names(header)["queue"] == {0: "interactive"}


# Real logs: the counts of the specification


@pytest.mark.parametrize(
    ("name", "lines", "jobs", "procs"),
    [
        ("CTC-SP2-1996-3.1-cln", 77_222, 77_205, 338),
        ("SDSC-BLUE-2000-4.2-cln", 243_306, 232_536, 1152),
        ("SDSC-DS-2004-2.1-cln", 96_069, 84_893, 1664),
        ("KTH-SP2-1996-2.1-cln", 28_476, 28_467, 100),
        ("SDSC-SP2-1998-4.2-cln", 59_715, 54_034, 128),
    ],
)
def test_real_logs(
    trace_path: Callable[[str], Path], name: str, lines: int, jobs: int, procs: int
) -> None:
    raw = read_swf(trace_path(f"{name}.swf.gz"))
    assert len(raw) == lines
    w = read(trace_path(f"{name}.swf.gz"))
    dropped = sum(count for rule, count in w.cleaning.items() if rule.endswith("_dropped"))
    assert (len(w), w.machine["procs"], w.name) == (jobs, procs, name)
    assert len(w) + dropped == lines
    assert bool((np.diff(w.submit) >= 0).all())


def test_the_twin_with_21_columns(trace_path: Callable[[str], Path]) -> None:
    raw = read_swf(trace_path("CERIT-SC-2013-wagap.alea.swf.gz"))
    assert raw.counts["extra_columns_ignored"] == len(raw) == 17_900


@pytest.mark.parametrize("wanted", ["2147483647", "-9999999999", "99999999999999999999"])
def test_a_line_that_is_dropped_anyway_does_not_make_the_log_unreadable(wanted: str) -> None:
    """CEA-Curie has three jobs that never ran and request 2**31 - 1 processors."""
    never = f"1 0 5 0 4 -1 -1 {wanted} 60 -1 5 1 1 1 1 1 -1 -1\n"
    ran = never.replace("1 0 5 0", "2 0 5 9")
    good = "3 0 5 9 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1\n"
    raw = parse_swf((never + good).encode(), name="x")
    assert (len(raw), raw.counts["out_of_range_cut"]) == (2, 1)
    w = clean(raw)
    assert w.job_id.tolist() == [3] and w.cleaning["out_of_range_cut"] == 1
    with pytest.raises(InputError, match=r"line 2: field 8 \(requested procs\)"):
        parse_swf((never + ran + good).encode(), name="x")
