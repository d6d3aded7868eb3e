"""One entry point for every format, and the CSV of a Slurm site."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shadowtime.errors import InputError, ShadowtimeError, UsageError
from shadowtime.trace import read
from shadowtime.trace.formats import recognise
from shadowtime.trace.slurm_csv import parse_slurm_csv
from shadowtime.workload.clean import clean

CSV = "JobName,ReqMem,ReqCPUs,ReqGPUs,ReqDuration,ActualDuration,Submit\n"


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.swf", b"anything", "swf"),
        ("a.SWF.gz", b"anything", "swf"),
        ("a.txt", b"\n; Version: 2.2\n", "swf"),
        ("a.txt", b"   1  0 5 60 4\n", "swf"),
        ("a.log", b"1\t0\t5\t60\n", "swf"),
        ("a.psv", b"JobID|State\n", "sacct"),
        ("a.txt", b"123|123|c1|batch\n", "sacct"),
        ("a.csv", b"JobID,State\n", "sacct"),
        ("a.csv", CSV.encode(), "slurm-csv"),
        (
            "a.csv",
            b"Submit,JobName,ReqMem,ReqCPUs,ReqGPUs,ReqDuration,ActualDuration,X",
            "slurm-csv",
        ),
    ],
)
def test_the_format_is_recognised_by_name_and_content(name: str, data: bytes, kind: str) -> None:
    assert recognise(name, data).name == kind


def test_all_formats_through_one_door(tmp_path: Path) -> None:
    texts = {
        "a.swf": "7 0 5 60 4 30 -1 4 100 -1 1 7 8 9 2 3 -1 -1\n",
        "b.psv": "JobID|Submit|Start|End|State|NCPUS|Timelimit\n7|100|105|165|CD|4|01:40\n",
        "c.csv": CSV + "job7,1000,4,0,100,60,1614837941\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        w = read(tmp_path / name)
        assert (w.job_id[0], w.submit[0], w.run[0], w.procs[0], w.request[0]) == (7, 0, 60, 4, 100)


def test_a_csv_of_a_slurm_site() -> None:
    text = CSV + "job8,2000,2,1,600,60,1614837950\njob7,1000,1,0,100,0,1614837941\n\n"
    w = clean(parse_slurm_csv(text, name="c"), memory=True, gpus=True, no_run="one-second")
    assert w.resources == ("procs", "memory", "gpus")
    assert w.demand.tolist() == [[1, 1000, 0], [2, 2000, 1]]
    assert (w.submit.tolist(), w.recorded_start.tolist()) == ([0, 9], [-1, -1])
    assert w.cleaning["procs_from_requested"] == 2


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("job7,1000,1,0,100", "expected 7 columns, found 5"),
        ("job7,1000,one,0,100,5,9", "reqcpus must be a whole number, not 'one'"),
        ("job7,1000,1,0,100,5,9999999999999", "submit is 9999999999999, beyond"),
    ],
)
def test_bad_rows_of_such_a_csv(row: str, message: str) -> None:
    text = CSV + "a5,1,1,0,1,1,1\n" + row + "\n"
    with pytest.raises(InputError, match=f"c.csv, line 3: {message}"):
        parse_slurm_csv(text, name="c", path="c.csv")
    raw = parse_slurm_csv(text, name="c", bad_lines="drop")
    assert (len(raw), raw.counts["bad_lines_dropped"]) == (1, 1)


def test_a_csv_without_jobs_or_columns() -> None:
    with pytest.raises(InputError, match="no job"):
        parse_slurm_csv(CSV, name="c")
    with pytest.raises(InputError, match="must name"):
        parse_slurm_csv("a,b\n", name="c")
    with pytest.raises(UsageError, match="bad_lines"):
        parse_slurm_csv(CSV, name="c", bad_lines="x")  # type: ignore[arg-type]


def test_a_job_without_a_number_in_its_name_gets_one() -> None:
    w = clean(parse_slurm_csv(CSV + "a1b2,1,1,0,1,1,1\nx5,1,1,0,1,1,1\n", name="c"))
    assert w.job_id.tolist() == [5, 6]


def test_a_slurm_month(trace_path: Callable[[str], Path]) -> None:
    w = read(trace_path("SLURM-univ-2021-03.csv.gz"), memory=True, gpus=True)
    assert len(w) + w.cleaning["no_run_dropped"] == 68_552
    assert w.cleaning["out_of_order_sorted"] == 235


def test_every_error_is_ours(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\x00\x01\x02")
    with pytest.raises(ShadowtimeError):
        read(tmp_path / "x")


def test_the_compiler_is_loaded_only_when_parsing_starts() -> None:
    code = (
        "import sys, shadowtime.trace, shadowtime.trace.info, shadowtime.trace.fetch, "
        "shadowtime.workload.clean, shadowtime.cluster.spec; print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """A package that adds a format, as pip would leave it."""
    (folder / "toy_logs.py").write_text(code)
    about = folder / "toy_logs-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-logs\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[shadowtime.formats]\ntoy = toy_logs:FORMAT\n")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "toy_logs", raising=False)


TOY = """
from shadowtime.trace.formats import Format
from shadowtime.trace import parse_swf

def parse(data, how):
    lines = [f"{n} {line} 0 60 4 -1 -1 4 60 -1 1 -1 -1 -1 -1 -1 -1 -1"
             for n, line in enumerate(data.decode().splitlines()[1:], 1)]
    return parse_swf("\\n".join(lines).encode(), name=how.name, path=how.path)

FORMAT = Format(name="toy", summary="submissions alone", parse=parse,
                recognises=lambda file: file.line == "TOY")
"""


def test_a_package_adds_a_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point is enough: the file is recognised and read like any other."""
    log = tmp_path / "a.toy"
    log.write_text("TOY\n10\n20\n")
    with pytest.raises(ShadowtimeError):
        read(log)
    install(tmp_path, monkeypatch, TOY)
    assert read(log).submit.tolist() == [10, 20]


@pytest.mark.parametrize(
    ("code", "message"), [("FORMAT = 3", "is not a"), ("1 / 0", "fix or uninstall toy-logs")]
)
def test_a_broken_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, message: str
) -> None:
    """What a user installed is never skipped silently."""
    log = tmp_path / "a.toy"
    log.write_text("TOY\n10\n")
    install(tmp_path, monkeypatch, code)
    with pytest.raises(ShadowtimeError, match=message):
        read(log)
