"""Collectors on recorded output, calibration, overhead, and the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shadowtime.cli import run
from shadowtime.errors import InputError, UsageError
from shadowtime.hperf.calibrate import Overhead, calibrate, overhead
from shadowtime.hperf.collect import perf, resctrl

INTEL = """\
# started on Sun Nov 15 06:00:00 2026

118234567,,LLC-load-misses:u,40012345678,100.00,,
12345678,,LLC-store-misses:u,40012345678,100.00,,
20006172839,ns,duration_time,20006172839,100.00,,
"""
VIRTUAL = """\
<not supported>,,LLC-load-misses,0,100.00,,
<not supported>,,cache-misses,0,100.00,,
1000000000,ns,duration_time,1000000000,100.00,,
"""


def test_perf_output() -> None:
    """Loads and stores together, 64 bytes each, over the counted time, per process."""
    counted = perf.parse_perf(INTEL)
    assert counted.misses == 118234567 + 12345678
    record = counted.record("cg", processes=4)
    assert record.bandwidth == pytest.approx(counted.misses * 64 / 20.006172839 / 1e6 / 4)
    assert record.width == len(record.processes) == 4
    assert sum(p.threads[0].counters["LLC_TCM"] for p in record.processes) == counted.misses


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (VIRTUAL, "no misses of the last cache level"),
        ("", "no misses of the last cache level"),
        ("118,,LLC-load-misses,1,100.00,,\n", "the time is missing"),
        ("11823", "Half written"),
        ("many,,LLC-load-misses,1,100.00,,\n", "is not a count"),
    ],
)
def test_perf_output_that_says_nothing(text: str, what: str) -> None:
    """Without a counter or a time, or cut off: the error names it, and nothing is recorded."""
    with pytest.raises(InputError, match=what):
        perf.parse_perf(text, path="42.perf")


def group(tmp_path: Path, *values: str) -> Path:
    for domain, value in enumerate(values):
        folder = tmp_path / "mon_data" / f"mon_L3_{domain:02d}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "mbm_total_bytes").write_text(value + "\n")
    return tmp_path


def test_resctrl_counters(tmp_path: Path) -> None:
    """Two readings of all cache domains; errors of the hardware are named."""
    begin = resctrl.read_group(group(tmp_path, "1000000", "0"), lambda: 10.0)
    end = resctrl.read_group(group(tmp_path, "4001000000", "2000000000"), lambda: 12.0)
    record = resctrl.record_between("cg", begin, end, processes=2)
    assert (record.bandwidth, record.elapsed, record.source) == (1500.0, 2.0, "resctrl")
    with pytest.raises(InputError, match="invalid measurement"):
        resctrl.record_between("cg", end, begin, processes=2)
    with pytest.raises(InputError, match="Unavailable"):
        resctrl.read_group(group(tmp_path, "Unavailable"), lambda: 0.0)
    with pytest.raises(InputError, match="no memory-bandwidth counter"):
        resctrl.read_group(tmp_path / "elsewhere", lambda: 0.0)


def test_missing_hardware_is_reported(tmp_path: Path) -> None:
    """Each collector reports why it cannot work, from what the kernel exposes."""
    assert "not mounted" in resctrl.missing(tmp_path)
    (tmp_path / "info" / "L3_MON").mkdir(parents=True)
    features = tmp_path / "info" / "L3_MON" / "mon_features"
    features.write_text("llc_occupancy\n")
    assert "no memory-bandwidth monitoring" in resctrl.missing(tmp_path)
    features.write_text("llc_occupancy\nmbm_total_bytes\n")
    assert resctrl.missing(tmp_path) == ""
    assert perf.missing(tmp_path)


def test_overhead_compares_neighbours() -> None:
    """The mean of the differences over the plain run, with its interval."""
    found = Overhead(plain=(1.0, 1.0), collected=(1.1, 1.3))
    assert found.mean == pytest.approx(0.2)
    assert found.interval == pytest.approx(1.96 * 0.1)
    assert len(overhead(["true"], ["env"], runs=2).plain) == 2
    with pytest.raises(UsageError, match="cannot be run"):
        overhead(["no-such-program"], [], runs=2)


def test_calibration_reaches_some_bandwidth() -> None:
    """One process reaches a positive bandwidth; invalid arguments are rejected."""
    assert calibrate([1], megabytes=1, seconds=0.01).capacity > 0
    with pytest.raises(UsageError):
        calibrate([], megabytes=1)


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Record, show, export, import, forget and install, as they are typed."""
    store = ["--store", str(tmp_path / "s.sqlite")]
    (tmp_path / "1.perf").write_text(INTEL)
    assert run(["hperf", "record", "cg", "--bandwidth", "10", "--key", "a", *store]) == 0
    measured = ["--perf", str(tmp_path / "1.perf"), "--processes", "4"]
    assert run(["hperf", "record", "cg", *measured, *store]) == 0
    capsys.readouterr()
    assert run(["hperf", "show", "--json", *store]) == 0
    (tag,) = json.loads(capsys.readouterr().out)["tags"]
    assert tag["records"] == 2
    assert run(["hperf", "show", "nobody", *store]) == 1
    out = str(tmp_path / "r.jsonl")
    assert run(["hperf", "export", out, *store]) == 0
    assert run(["hperf", "forget", "--everything", *store]) == 0
    assert run(["hperf", "import", out, *store]) == 0
    assert "2 records stored" in capsys.readouterr().out
    assert run(["hperf", "record", "cg", *store]) == 2
    assert run(["hperf", "record", "", "--bandwidth", "1", *store]) == 2
    assert "a tag must not be empty" in capsys.readouterr().err
    install = ["hperf", "install", "--slurm-conf-dir", str(tmp_path), "--capacity", "34000"]
    assert run([*install, "--print", *store]) == 2
    assert "is this Slurm's folder?" in capsys.readouterr().err
    (tmp_path / "slurm.conf").touch()
    assert run([*install, "--print", *store]) == 0
    assert "gres.conf" in capsys.readouterr().out
    assert not (tmp_path / "hperf.lua").exists()
    assert run([*install, *store]) == 0
    assert (tmp_path / "hperf-epilog.sh").stat().st_mode & 0o111
    assert run(["hperf", "publish", str(tmp_path / "hperf.tsv"), *store]) == 0
    assert (tmp_path / "hperf.tsv").read_text().startswith("cg\t")
    assert run(["hperf", "collectors"]) == 0
    assert "declared" in capsys.readouterr().out
