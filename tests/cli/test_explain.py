"""explain: why a job of a result folder started when it did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from report.worlds import POLICIES, policy_run, report_input
from shadowtime.cli import run
from shadowtime.metrics import Window
from shadowtime.result.write import as_object, write_folder
from shadowtime.workload import Workload


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six jobs A to F on five processors under EASY and FCFS, worked out by hand (see below)."""
    monkeypatch.chdir(tmp_path)
    jobs = Workload.build(
        job_id=[11, 12, 13, 14, 15, 16],
        submit=[0, 60, 120, 180, 240, 300],
        run=[360, 540, 60, 300, 240, 480],
        procs=[4, 2, 3, 2, 2, 1],
        name="six",
    )
    runs = tuple(policy_run(name, jobs, 5, **POLICIES[name]) for name in ("easy", "fcfs"))
    result = report_input(workload=jobs, procs=5, runs=runs)
    return write_folder(as_object(result, Window.all()), result, "out")


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    """The output, independent of line wrapping."""
    return " ".join(capsys.readouterr().out.split())


def test_a_backfilled_job(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """D overtakes C: the queue ahead, C's promise, why D fits, and the result of other policies."""
    assert run(["explain", "out", "14"]) == 0
    text = printed(capsys)
    assert "easy on six" in text
    assert "2 jobs waited ahead of it (12, 13)" in text
    assert "Job 12 was blocked at the head of the queue from day 0, 00:01:00" in text
    assert "promised day 0, 00:06:00" in text
    assert "It was backfilled" in text
    assert "before job 13's promise of day 0, 00:13:00" in text
    assert "easy 3 min backfilled fcfs 4 min reserved" in text


def test_another_policy(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--policy selects the run; under FCFS the same job waits for C."""
    assert run(["explain", "out", "14", "--policy", "fcfs"]) == 0
    text = printed(capsys)
    assert "fcfs on six" in text and "backfilled" not in text.split("policy")[0]


def test_for_a_program(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--json holds the facts behind the sentences."""
    assert run(["explain", "out", "14", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["policy"] == "easy" and found["job"] == 14 and found["reason"] == "backfilled"
    assert found["submit"] == 180 and found["start"] == 360
    assert found["ahead_on_arrival"] == [12, 13] and found["still_ahead"] == [13]
    assert [promise["job"] for promise in found["promises"]] == [12, 13]


@pytest.mark.parametrize(
    ("job", "sentence"),
    [
        (
            "20",
            "there is no job 20 in out: the nearest are 12, 13, 14, 15, 16 (job numbers go from "
            "11 to 16",
        ),
        ("1", "the nearest are 11, 12, 13, 14, 15"),
        ("A", "'A' is not a job number: those of out go from 11 to 16"),
        ("1.5", "'1.5' is not a job number"),
    ],
)
def test_an_unknown_job_names_near_ones(
    folder: Path, job: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", "out", job]) == 2
    out, err = capsys.readouterr()
    assert out == "" and sentence in err and len(err.splitlines()) == 1


def test_an_unknown_policy_names_those_there(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", "out", "14", "-p", "lxf"]) == 2
    assert "out has no policy lxf: there are easy, fcfs" in capsys.readouterr().err


SITE = """
[site]
name = "lab"
enforce = ["limits"]
[[nodes]]
names = "n[1-2]"
cpus = 8
[[qos]]
name = "normal"
limits = { user_jobs = 1 }
"""
JOBS = """job_id,submit,run,request,user,qos,tasks,array,task
9,1777885200,1800,3600,ada,normal,8,9,1
10,1777885210,600,1200,ada,normal,4,9,2
"""


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two tasks of an array of one user, who may run one job at a time."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site.toml").write_text(SITE)
    (tmp_path / "jobs.csv").write_text(JOBS)
    return tmp_path


@pytest.mark.parametrize("policy", [["-p", "easy"], []])
def test_a_log_on_a_site_is_simulated(
    lab: Path, policy: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Under a catalogue policy or, by default, Slurm's own; tasks have Slurm's names."""
    assert run(["explain", "jobs.csv", "9_2", "-c", "site.toml", *policy]) == 0
    text = printed(capsys)
    assert f"{'easy' if policy else 'slurm'} on jobs" in text and "Job 9_2 of user ada" in text
    assert "QOSMaxJobsPerUserLimit: QOS normal, user ada may run 1 at once" in text
    assert ("one of several equally likely runs" in text) is not bool(policy)


def test_what_was_in_the_way_for_a_program(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "jobs.csv", "10", "-c", "site.toml", "-p", "easy", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["array_id"] == "9_2" and found["standings"] == []
    (one,) = found["in_the_way"]
    assert one["kind"] == "limit" and one["name"] == "QOSMaxJobsPerUserLimit"
    assert one["bound"] == 1 and one["jobs"] == [9] and one["until"] == found["start"]


@pytest.mark.parametrize(
    ("job", "sentence"),
    [
        ("9_7", "there is no task 9_7 in jobs.csv: it has 9_1, 9_2"),
        ("8_1", "there is no task 8_1 in jobs.csv: there is no array 8"),
        ("x_1", "'x_1' is not a job number"),
    ],
)
def test_an_unknown_task(
    lab: Path, job: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", "jobs.csv", job, "-c", "site.toml"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and sentence in err and "Traceback" not in err


def test_a_pool_needs_a_policy(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "jobs.csv", "9", "-c", "pool:16"]) == 2
    assert "give --policy" in capsys.readouterr().err


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same six jobs in a folder that knows its policies, and their log."""
    monkeypatch.chdir(tmp_path)
    rows = [(0, 360, 4), (60, 540, 2), (120, 60, 3), (180, 300, 2), (240, 240, 2), (300, 480, 1)]
    lines = [
        f"{11 + n} {submit} -1 {run} {procs} -1 -1 {procs} {run} -1 1 {n % 2 + 1} 1 1 1 1 -1 -1"
        for n, (submit, run, procs) in enumerate(rows)
    ]
    Path("six.swf").write_text("; MaxProcs: 5\n" + "\n".join(lines) + "\n")
    assert run(["compare", "six.swf", "-p", "easy", "-p", "fcfs", "-o", "made"]) == 0
    return tmp_path / "made"


@pytest.mark.parametrize("source", ["made", "six.swf"])
def test_without_a_job(made: Path, source: str, capsys: pytest.CaptureFixture[str]) -> None:
    """When it would have started, who else would, and how: worked out by hand."""
    capsys.readouterr()
    assert run(["explain", source, "13", "--policy", "easy", "--without", "16"]) == 0
    text = printed(capsys)
    assert "Without job 16: it would start day 0, 00:06:00, 7 min earlier." in text
    assert (
        "2 other jobs would start at another time: 1 earlier (job 15 by 2 min); "
        "1 later (job 14 by 1 min)." in text
    )
    assert "The chain: job 16 held 1 processor until day 0, 00:13:00, so job 13 would" in text


def test_the_difference_for_a_program(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["explain", "made", "13", "--if", "procs=2", "--if", "submit=-2m", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["otherwise"]
    assert (found["before"], found["after"]) == (780, 360)
    assert found["instead"] == [["procs", "2"], ["submit", "-2m"]] and found["affected"] > 0
    assert found["chain"][0] | {"job": 13, "via": "changed"} == found["chain"][0]


def test_a_recorded_schedule_has_nothing_to_run_again(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Path("six.swf").read_text().replace(" -1 360", " 0 360").replace(" -1 540", " 9 540")
    Path("recorded.swf").write_text(log.replace(" 120 -1", " 120 5"))
    run(["replay", "recorded.swf", "-p", "easy", "-o", "replayed"])
    capsys.readouterr()
    assert run(["explain", "replayed", "12", "--without", "11"]) == 2
    err = capsys.readouterr().err
    assert "recorded is a recorded schedule" in err and "choose -p easy" in err
    assert run(["explain", "replayed", "12", "-p", "easy", "--without", "11"]) == 0
    assert "Without job 11" in capsys.readouterr().out


def test_another_version_of_the_folder_is_not_compared(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its starts are not those of the policy as it is now: mixing both would be wrong."""
    schedule = made / "schedules" / "easy.csv"
    text = schedule.read_text()
    line = next(one for one in text.splitlines() if one.startswith("15,"))
    later = line.replace("840", "900").replace("1080", "1140")
    assert later != line
    schedule.write_text(text.replace(line, later))
    content = (made / "result.json").read_text()
    (made / "result.json").write_text(content.replace('"numpy": "', '"numpy": "0.'))
    capsys.readouterr()
    assert run(["explain", "made", "13", "--without", "16"]) == 2
    assert "easy made again starts 1 of 6 jobs at other times" in capsys.readouterr().err


def test_the_waits_of_a_user(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Shares that add up to all of their waits, with the jobs that waited longest."""
    capsys.readouterr()
    assert run(["explain", "made", "--user", "1"]) == 0
    text = printed(capsys)
    assert "easy on six 2 of 3 jobs of user=1 waited, 21 min in total" in text
    assert run(["explain", "made", "--where", "user=1|2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sum(one["seconds"] for one in found["shares"]) == found["seconds"] == 29 * 60
    assert {one["cause"] for one in found["shares"]} == {"wide jobs", "own jobs", "promises"}
    longest = max(
        (one for share in found["shares"] for one in share["examples"]),
        key=lambda one: one["seconds"],
    )
    assert longest["job"] in range(11, 17)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([], "give a JOB, or --user or --where"),
        (["14", "--user", "1"], "give a JOB, or --user or --where"),
        (["--user", "1", "--without", "14"], "--without and --if are about one job"),
        (["--user", "7"], "no job has user 7"),
    ],
)
def test_a_job_or_a_group(
    made: Path, given: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(["explain", "made", *given]) == 2
    assert sentence in capsys.readouterr().err


def test_a_page_knows_what_would_be_without_a_job(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", "made", "--without", "16", "-o", "page.html"]) == 0
    text = Path("page.html").read_text()
    summary = json.loads(text.partition('id="summary">')[2].partition("</script>")[0])
    easy, fcfs = summary["figure"]["without"]
    assert easy["5"]["earlier"] == [2, 540] and easy["5"]["later"] == [1, 60]
    assert fcfs["5"]["never"] == [0, 0]
    capsys.readouterr()
    assert run(["report", "made", "--without", "99"]) == 2
    assert "there is no job 99 in made" in capsys.readouterr().err
