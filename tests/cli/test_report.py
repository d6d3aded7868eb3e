"""Pages, figures and exports: from runs, and from the result folders they wrote."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from report.worlds import report_input, workload
from shadowtime.cli import run
from shadowtime.cluster import Cluster
from shadowtime.metrics import Window
from shadowtime.report import Claim, PaperTable, PaperValue, write_html
from shadowtime.report.payers import with_classes
from shadowtime.result.read import read_folder
from shadowtime.result.write import as_object, versions, write_folder, write_results
from shadowtime.study.expected_error import Expected, GroupError
from shadowtime.study.trust import Trust, findings_of
from shadowtime.types import NO_LIMIT

EVIL = "<script>alert(document.domain)</script>"
SIX = f"""\
; Computer: {EVIL}
; MaxProcs: 5
; User: 1 </pre>{EVIL}
; Note: a "quoted" header & more
1   0 -1 360 4 -1 -1 4 360 -1 1 1 1 1 1 1 -1 -1
2  60 -1 540 2 -1 -1 2 540 -1 1 1 1 1 1 1 -1 -1
3 120 -1  60 3 -1 -1 3  60 -1 1 1 1 1 1 1 -1 -1
4 180 -1 300 2 -1 -1 2 300 -1 1 2 1 1 1 1 -1 -1
5 240 -1 240 2 -1 -1 2 240 -1 1 2 1 1 1 1 -1 -1
6 300 -1 480 1 -1 -1 1 480 -1 1 2 1 1 1 1 -1 -1
7 310 -1  -1 1 -1 -1 1 480 -1 5 1 1 1 1 1 -1 -1
"""


@pytest.fixture
def six(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Six jobs on five processors whose header contains a script, and a cancelled job."""
    monkeypatch.chdir(tmp_path)
    Path("six.swf").write_text(SIX)
    return "six.swf"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A result folder of three policies, written without the engine."""
    monkeypatch.chdir(tmp_path)
    result = report_input(120)
    return write_folder(as_object(result, Window.all()), result, "out")


def block(page: str, name: str) -> dict[str, object]:
    """One of the page's blocks of JSON."""
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.S)
    assert found, name
    return json.loads(found.group(1))


def test_simulate_writes_the_page_of_its_numbers(
    six: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --report and --json, the page contains the object's numbers, unrounded."""
    assert run(["simulate", six, "-p", "easy", "--json", "--report", "page.html"]) == 0
    printed = json.loads(capsys.readouterr().out)
    page = Path("page.html").read_text()
    [policy] = block(page, "summary")["policies"]
    assert policy["name"] == "easy"
    assert policy["metrics"] == printed["policies"][0]["metrics"]
    text = unescape(page)
    assert "shadowtime simulate six.swf -p easy --json --report page.html" in text
    assert "cancelled_dropped" in text and printed["versions"]["numpy"] in text


def test_text_of_a_trace_stays_text(six: str) -> None:
    """A script tag in the header is shown, not run, whether written directly or from a folder."""
    evil = Path(f"{EVIL.replace('/', '')}.swf")  # the name of a trace is that of its file
    shutil.copy(six, evil)
    command = ["simulate", str(evil), "-p", "easy", "-o", "out", "--report", "page.html"]
    assert run(command) == 0 and run(["report", "out"]) == 0
    for path in ("page.html", "out/report.html"):
        page = Path(path).read_text()
        assert EVIL not in page and "<script>alert" not in page
        assert EVIL in unescape(page), "the header is shown as it stands"
        assert page.count("<script") == page.count("</script>")


def test_a_folder_gives_the_page_of_the_run(six: str) -> None:
    """report DIR writes the same bytes as --report."""
    command = ["simulate", six, "-p", "easy", "--window", "1:1", "-o", "out", "--report", "a.html"]
    assert run(command) == 0 and run(["report", "out", "-o", "b.html"]) == 0
    assert Path("a.html").read_bytes() == Path("b.html").read_bytes()


def test_a_folder_holds_everything_a_report_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Limits, resources, other columns, intervals, seeds and a paper's tables survive."""
    monkeypatch.chdir(tmp_path)
    jobs = workload(40, procs=64)
    limit = jobs.limit.copy()
    limit[::3] = NO_LIMIT
    extra = {
        "bandwidth": np.linspace(0, 9.5, 40),
        "tag": np.array([f"a,{i % 3}\n" for i in range(40)]),
    }
    jobs = jobs.replace(limit=limit, extra=extra, header=("; MaxProcs: 64", "; Note: ours"))
    demand = np.column_stack([jobs.procs, jobs.procs * 1000 + 1])
    jobs = jobs.replace(demand=demand, resources=("procs", "memory"), cleaning={"rule": 3})
    paper = (
        PaperTable(title="T", values=(PaperValue(label="x", ours=1.0, paper=None),)),
        Claim(text="it holds", holds=None),
    )
    before = report_input(workload=jobs, seeds=(7,), interval_note="of 3", paper=paper)
    runs = tuple(_with_interval(one) for one in before.runs)
    far = GroupError(by="user", name="1", jobs=20, error=0.9)
    near = Expected(error=0.1, by_group=0.2, beyond=(far,))
    trust = Trust(near, findings_of({"held": 0.5}), "easy")
    before = before.replace(runs=runs, versions=versions(), trust=trust, replay=True)
    write_folder(as_object(before, Window.all()), before, "out")
    after = read_folder("out").result
    for name in ("job_id", "submit", "run", "request", "limit", "demand", "user"):
        assert np.array_equal(getattr(after.workload, name), getattr(jobs, name)), name
    for name, column in extra.items():
        assert after.workload.extra[name].tolist() == column.tolist(), name
    assert after.workload.header == jobs.header and after.paper == paper
    assert after.seeds == (7,) and after.runs[0].copies == before.runs[0].copies
    assert after.trust == before.trust and after.replay
    write_html(before, "a.html")
    write_html(after, "b.html")
    assert Path("a.html").read_bytes() == Path("b.html").read_bytes()


def _with_interval(one):
    return replace(one, copies={"bsld_mean": [1.25, one.metrics["bsld_mean"] * 2]})


def test_only_scored_jobs_make_the_classes(folder: Path) -> None:
    """The classes are of the jobs that the metrics count."""
    result = read_folder(str(folder)).result
    bare = tuple(replace(one, classes=None) for one in result.runs)
    half = with_classes(result.replace(window=Window.parse("60:0"), runs=bare))
    sizes = [row.jobs for row in half.runs[0].classes if row.kind == "size"]
    assert sum(sizes) == 60


def test_nothing_scored_is_reported(six: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A window without jobs is refused; a page without scored jobs states it."""
    assert run(["simulate", six, "-p", "easy", "--window", "1d:1d", "--report", "p.html"]) == 2
    assert "no job is scored" in capsys.readouterr().err and not Path("p.html").exists()
    result = report_input(30, window=Window.parse("30:0"))
    write_results(result, report="empty.html", figures="figures")
    assert all(one.classes == () for one in with_classes(result).runs)


def test_the_page_goes_into_the_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without options: DIR/report.html, the table with its stars and the queue."""
    assert run(["report", "out"]) == 0
    out = capsys.readouterr().out
    assert "★" in out and "jobs waiting" in out and "█" in out
    assert out.splitlines()[-1] == "wrote out/report.html"
    assert max(map(len, out.splitlines())) <= 100
    page = Path("out/report.html").read_text()
    result = json.loads(Path("out/result.json").read_text())
    for shown, entry in zip(block(page, "summary")["policies"], result["policies"], strict=True):
        assert shown["metrics"] == entry["metrics"]


def test_exports_by_policy(folder: Path) -> None:
    """Each policy has its files, the first under the given name; no page unless requested."""
    asked = ["--paraver", "p.prv", "--perfetto", "f.json.gz", "--batsim", "b.csv"]
    assert run(["report", "out", "-p", "fcfs", "-p", "easy", *asked]) == 0
    written = {path.name for path in Path().glob("*.*")}
    assert written == {
        *(f"p{name}.{kind}" for name in ("", "-easy") for kind in ("prv", "pcf", "row")),
        *("f.json.gz", "f-easy.json.gz", "b.csv", "b-easy.csv"),
    }
    assert not Path("out/report.html").exists()
    trace = json.loads(gzip.decompress(Path("f-easy.json.gz").read_bytes()))
    assert trace["otherData"]["policy"] == "easy"
    assert len(Path("b.csv").read_text().splitlines()) == 121


def test_figures_are_drawn(folder: Path) -> None:
    """--figures alone draws them and writes no page."""
    pytest.importorskip("matplotlib")
    assert run(["report", "out", "-p", "easy", "--figures", "figures"]) == 0
    assert Path("figures/gantt.svg").exists() and Path("figures/gantt.pdf").exists()
    assert not Path("out/report.html").exists()


def _break(folder: Path, what: str) -> None:
    """Damage a result folder in one way."""
    if what == "empty":
        shutil.rmtree(folder)
        folder.mkdir()
    elif what == "loads":
        result = json.loads((folder / "result.json").read_text())
        for policy in result["policies"]:
            del policy["schedule"]
        shutil.copytree(folder, folder / "load-1.2")
        (folder / "result.json").write_text(json.dumps(result))
    elif what == "schedules":
        shutil.rmtree(folder / "schedules")
    elif what == "other jobs":
        path = folder / "schedules" / "easy.csv"
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    elif what == "json":
        (folder / "result.json").write_text("{")
    elif what == "not ours":
        (folder / "result.json").write_text("[]")
    elif what == "trace":
        (folder / "inputs" / "trace.swf.gz").unlink()
    elif what == "machine":
        (folder / "inputs" / "cluster.json").write_text("{}")


@pytest.mark.parametrize(
    "command", [["report", "out"], ["explain", "out", "1"]], ids=lambda c: c[0]
)
@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("empty", "no result.json in it. Write it again with -o"),
        ("loads", "name one of them, such as out/load-1.2"),
        ("schedules", "fcfs.csv: the schedule is missing. Write it again with -o"),
        ("other jobs", "these are not the jobs of inputs/trace.swf.gz"),
        ("json", "out/result.json: cannot be read"),
        ("not ours", "is not a result of Shadowtime"),
        ("trace", "trace.swf.gz: no such file"),
        ("machine", "does not describe a machine"),
    ],
    ids=lambda value: value if " " not in value else "",
)
def test_a_broken_folder_is_one_sentence(
    folder: Path, what: str, message: str, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """What is missing, where, and what to do; nothing on standard output."""
    _break(folder, what)
    assert run(command) == 2
    out, err = capsys.readouterr()
    # On a slow machine the command prints what it is doing before it fails.
    lines = [line for line in err.splitlines() if not line.startswith("reading ")]
    assert out == "" and message in err and len(lines) == 1


def test_wrong_words(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown policy suggests a near one or lists the known ones; a missing folder is named."""
    assert run(["report", "out", "-p", "eazy"]) == 2
    assert "out has no policy eazy: did you mean easy" in capsys.readouterr().err
    assert run(["report", "out", "-p", "rua"]) == 2
    assert "there are fcfs, easy, easy-sjbf" in capsys.readouterr().err
    assert run(["report", "nowhere"]) == 2
    assert "nowhere: no such folder. Check the name" in capsys.readouterr().err


def test_two_folders_of_the_same_jobs_are_one_page(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every run under its folder's name, each on its own machine; the first is the baseline."""
    result = report_input(120, policies=("easy",)).replace(cluster=Cluster.pool(96))
    write_folder(as_object(result, Window.all()), result, "larger")
    assert run(["report", str(folder), "larger"]) == 0
    assert "wrote comparison.html" in capsys.readouterr().out
    page = Path("comparison.html").read_text()
    summary = block(page, "summary")
    names = [policy["name"] for policy in summary["policies"]]
    assert names == ["out: fcfs", "out: easy", "out: easy-sjbf", "larger: easy"]
    assert [rows["procs"] for rows in summary["figure"]["rows"]] == [64, 64, 64, 96]
    assert "out: fcfs" in page and "Difference to" in page


def test_folders_of_different_jobs_are_a_grid(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every metric by folder, with a linked page for each; also for a folder of several loads."""
    other = report_input(60)
    write_folder(as_object(other, Window.all()), other, "grid/load-1.1")
    shutil.copytree(folder, "grid/load-0.9")
    assert run(["report", "grid"]) == 0
    assert "wrote grid/report.html" in capsys.readouterr().out
    page = Path("grid/report.html").read_text()
    links = re.findall(r'href="([^#"]+)"', page)
    assert links == ["report-load-0.9.html", "report-load-1.1.html"]
    assert all((Path("grid") / link).is_file() for link in links)
    value = read_folder("grid/load-1.1").result.runs[1].metrics["wait_mean_s"]
    assert f'data-value="{value!r}"' in page
    assert run(["report", "grid/load-0.9", "grid/load-1.1", "-o", "both.html"]) == 0
    assert Path("both.html").is_file() and Path("both-load-1.1.html").is_file()
    assert run(["report", "grid", "--perfetto", "x.json"]) != 0
    assert "name one of them" in capsys.readouterr().err


def test_folders_with_different_windows_cannot_be_compared(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = report_input(120)
    write_folder(as_object(result, Window.parse("10:10")), result, "other")
    assert run(["report", str(folder), "other"]) != 0
    assert "write both with the same --window" in capsys.readouterr().err
    assert run(["report", str(folder), str(folder)]) != 0
    assert "is given twice" in capsys.readouterr().err


def test_a_site_folder_is_distinguished_from_a_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Asking for the page of a site names the command that writes it."""
    for name in ("jobs.psv", "nodes.txt"):
        (tmp_path / name).write_text("x\n")
    assert run(["report", str(tmp_path)]) == 2
    assert f"shadowtime replay {tmp_path} --report page.html" in capsys.readouterr().err
