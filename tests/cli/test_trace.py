"""shadowtime trace, from what is typed to what is printed and written."""

from __future__ import annotations

import gzip
import hashlib
import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from shadowtime.cli import run
from shadowtime.cli.trace.generate import _month
from shadowtime.trace import RECOMMENDED_COMMAND, read, write_swf
from shadowtime.workload import demo_workload, first_jobs

SACCT = """\
JobIDRaw|Submit|Eligible|Start|End|ElapsedRaw|State|NCPUS|TimelimitRaw|User|JobName
17|100|100|160|260|100|CANCELLED by 5|4|60|anna|a|b
18|120|500|520|620|100|COMPLETED|2|UNLIMITED|ben|c
18.batch|120|500|520|620|100|COMPLETED|2||ben|batch
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    write_swf(first_jobs(demo_workload(), 400), "log.swf.gz")
    Path("jobs.psv").write_text(SACCT)


def test_info_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    """Jobs, load, spreads, histograms, arrivals and what to beware of, in 100 columns."""
    assert run(["trace", "info", "log.swf.gz"]) == 0
    out = capsys.readouterr().out
    assert "log: 400 jobs" in out and "256 procs" in out and "offered load" in out
    assert "most requested" in out and "Beware:" in out and "No job has a recorded start" in out
    assert max(map(len, out.splitlines())) <= 100


def test_info_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In 80 columns quartiles are omitted; no label is cut or wrapped."""
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["trace", "info", "log.swf.gz"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80 and "…" not in out
    for label in ("processors ", "run time ", "requested ", "used of it "):
        assert any(line.startswith(label) for line in out.splitlines())
    assert "No job has a recorded start" in " ".join(out.split())


def test_info_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """One object with everything."""
    assert run(["trace", "info", "log.swf.gz", "--cluster", "pool:512", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["jobs"] == 400 and found["cluster"] == {"procs": 512}
    assert found["sizes"]["histogram"]


def test_info_of_an_export_without_a_machine(capsys: pytest.CaptureFixture[str]) -> None:
    """Slurm's records do not describe the machine: this is reported, and the rest is shown."""
    assert run(["trace", "info", "jobs.psv"]) == 0
    out = capsys.readouterr().out
    assert "machine: unknown" in out and "use --cluster" in out


def test_info_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """A log without a usable job is rejected, with a count of why lines were dropped."""
    Path("empty.swf").write_text("1 0 -1 -1 4 -1 -1 4 60 -1 5 1 1 1 1 1 -1 -1\n")
    assert run(["trace", "info", "empty.swf"]) == 2
    assert "no job is left of 1" in capsys.readouterr().err


def test_convert_keeps_every_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Without options a log is written unchanged, in SWF."""
    assert run(["trace", "convert", "jobs.psv", "jobs.swf"]) == 0
    assert "jobs.swf: 2 lines" in capsys.readouterr().out
    found = read("jobs.swf", cancelled="drop")
    assert found.run.tolist() == [100, 100] and found.recorded_start.tolist() == [60, 420]
    assert found.cleaning["request_from_run"] == 1, "UNLIMITED is unknown by default"
    assert run(["trace", "convert", "jobs.psv", "jobs.swf", "--unlimited", "30d"]) == 0
    assert read("jobs.swf").request.tolist() == [3600, 30 * 86400]


def test_convert_slices_mixes_and_loads(capsys: pytest.CaptureFixture[str]) -> None:
    """Days, jobs, another log, another load; the size and load of each are printed."""
    assert run(["trace", "convert", "log.swf.gz", "day.swf", "--days", "1:2"]) == 0
    day = read("day.swf")
    assert 0 < len(day) < 400 and day.submit[-1] - day.submit[0] < 86400
    assert run(["trace", "convert", "log.swf.gz", "few.swf", "--jobs", "10:20"]) == 0
    assert read("few.swf").job_id.tolist() == list(range(11, 21))
    assert run(["trace", "convert", "log.swf.gz", "two.swf", "--with", "log.swf.gz"]) == 0
    assert len(read("two.swf")) == 800 and read("two.swf").machine["procs"] == 512
    capsys.readouterr()
    assert run(["trace", "convert", "log.swf.gz", "busy.swf", "--load", "offered=1.5"]) == 0
    out, err = capsys.readouterr()
    assert "offered load 1.50 on 256 procs" in out and "warning" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "nowhere.swf"], "nowhere.swf"),
        (["convert", "log.swf.gz", "out.txt"], ".swf or .swf.gz"),
        (["convert", "log.swf.gz", "out.swf", "--days", "50:60"], "no job is left"),
        (["convert", "log.swf.gz", "out.swf", "--days", "monday"], "FROM:TO"),
        (["convert", "jobs.psv", "out.swf", "--unlimited", "long"], "length of time"),
        (["convert", "jobs.psv", "out.swf", "--tz", "Middle/Earth"], "time zone"),
        (["generate", "lublin", "out.txt"], ".swf or .swf.gz"),
        (["generate", "o2k", "out.swf", "--month", "may68"], "no month"),
        (["generate", "lublin", "out.swf", "--load", "much"], "load"),
        (["generate", "lublin", "out.swf", "--published", "--procs", "64"], "give only one"),
        (["generate", "lublin", "out.swf", "--set", "u_mid=5"], "u_med"),
        (["generate", "lublin", "out.swf", "--set", "u_med=much"], "NAME=VALUE"),
        (["fetch"], "--list"),
        (["fetch", "NOWHERE-2077"], "no log"),
        (["sacct", "--since", "yesterday; rm"], "2026-05-01"),
    ],
    ids=lambda value: "-".join(value)[:30] if isinstance(value, list) else "",
)
def test_wrong_input_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence on standard error, exit code 2."""
    assert run(["trace", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and message in err.splitlines()[-1]


def test_generate_is_seeded_and_meets_its_load(capsys: pytest.CaptureFixture[str]) -> None:
    """A seed determines the bytes; the load printed is the load requested."""
    command = ["trace", "generate", "lublin", "--jobs", "500", "--procs", "64", "--load", "0.8"]
    assert run([*command, "a.swf"]) == run([*command, "b.swf"]) == 0
    assert run([*command, "c.swf", "--seed", "2"]) == 0
    assert "500 jobs" in (out := capsys.readouterr().out) and "offered load 0.80 on 64" in out
    a, b, c = (Path(f"{name}.swf").read_text() for name in "abc")
    assert a == b != c
    jobs = read("a.swf")
    assert (jobs.request > jobs.run).mean() > 0.5, "users overestimate"
    assert run([*command, "d.swf", "--estimates", "exact"]) == 0
    exact = read("d.swf")
    assert exact.request.tolist() == exact.run.tolist()


def test_generate_lublin_with_the_parameters_of_the_model_itself() -> None:
    """Mean size of 20,000 batch jobs by the public model: 13.8 +- 0.7, not the fitted one."""
    command = ["trace", "generate", "lublin", "--kind", "batch", "--jobs", "20000"]
    assert run([*command, "own.swf", "--published"]) == 0
    assert run([*command, "fitted.swf", "--procs", "128"]) == 0
    assert run([*command, "set.swf", "--procs", "128", "--set", "u_med=5"]) == 0
    own, fitted, changed = (read(f"{name}.swf").procs for name in ("own", "fitted", "set"))
    assert abs(own.mean() - 13.8) < 0.7 and own.max() == 128
    assert abs(fitted.mean() - 13.8) > 0.7
    assert changed.tolist() == own.tolist()


def test_generate_the_others() -> None:
    """The demo's jobs, a month of O2K, the thesis' jobs."""
    assert run(["trace", "generate", "demo", "demo.swf.gz"]) == 0
    assert read("demo.swf.gz").submit.tolist() == demo_workload().submit.tolist()
    assert run(["trace", "generate", "o2k", "o2k.swf", "--month", "jan03", "--margin", "1"]) == 0
    assert read("o2k.swf").machine["procs"] == 1440
    assert run(["trace", "generate", "hperf", "hperf.swf", "--name", "medium"]) == 0
    assert len(read("hperf.swf")) == 100


def test_months_have_short_names() -> None:
    """jan03 and 2003-01 are the same month."""
    assert [_month(text) for text in ("jan03", "Dec 2002", "2003-02", "x")] == [
        "2003-01",
        "2002-12",
        "2003-02",
        "x",
    ]


def test_the_sacct_command(capsys: pytest.CaptureFixture[str]) -> None:
    """--print-command prints the command and nothing else; days can be chosen."""
    assert run(["trace", "sacct", "--print-command"]) == 0
    out, err = capsys.readouterr()
    assert out.strip() == RECOMMENDED_COMMAND.strip() and err == ""
    assert run(["trace", "sacct", "--since", "2026-05-01", "--until", "2026-06-01"]) == 0
    out, err = capsys.readouterr()
    assert "-S 2026-05-01 -E 2026-06-01 " in out and "scontrol" in err


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[str]:
    """A server with one log in its folder."""
    place = tmp_path / "served" / "l_new"
    place.mkdir(parents=True)
    text = "; MaxProcs: 4\n1 0 -1 60 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1\n"
    (place / "NEW-2030-1.swf.gz").write_bytes(gzip.compress(text.encode(), mtime=0))

    class Silent(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Silent, directory=str(tmp_path / "served"))
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_fetch_checks_what_it_gets(archive: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The first download is recorded; later ones that differ from it are rejected."""
    command = ["trace", "fetch", "l_new/NEW-2030-1.swf.gz", "--into", "logs", "--base-url", archive]
    assert run(command) == 0
    assert "fetched; unverified: its content is not known here" in capsys.readouterr().out
    assert run([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["downloaded"] is False and found["checked_against"] == "first download"
    assert found["verified"] is False, "the same as before is not known to be right"
    got = Path("logs/NEW-2030-1.swf.gz")
    got.write_bytes(gzip.compress(b"1 0 -1 61 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1\n", mtime=0))
    assert run(command) == 2
    assert "not what it was" in capsys.readouterr().err
    assert run([*command, "--accept"]) == 0
    assert "unverified" in (out := capsys.readouterr().out)
    digest = hashlib.sha256(got.read_bytes()).hexdigest()
    assert f"sha256 {digest}" in out
    assert run([*command, "--sha256", digest.upper()]) == 0
    assert "verified: it has the given checksum" in capsys.readouterr().out
    assert run([*command, "--sha256", "0" * 64, "--accept"]) == 2
    assert f"its checksum is {digest}" in capsys.readouterr().err


def test_the_logs_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Logs are listed by name; those with known content are marked."""
    assert run(["trace", "fetch", "--list"]) == 0
    assert "KTH-SP2-1996-2.1-cln  (can be verified)" in capsys.readouterr().out
    assert run(["trace", "fetch", "--list", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["logs"]) > 20
