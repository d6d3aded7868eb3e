"""``import shadowtime as st``: light, complete, and lenient about how things are written."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shadowtime as st
from shadowtime.cli import run as run_command
from shadowtime.errors import (
    InputError,
    PolicyError,
    ShadowtimeError,
    UnknownName,
    UsageError,
)
from shadowtime.report.payers import with_classes
from shadowtime.result.write import to_json


def jobs() -> st.Workload:
    return st.Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1], user=[0, 1, 0])


def test_the_import_is_light() -> None:
    """Importing the package loads no numeric library."""
    code = (
        "import sys, shadowtime as st\n"
        "heavy = [name for name in ('numpy', 'numba', 'rich', 'pandas') if name in sys.modules]\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_numba_waits_for_the_first_simulation() -> None:
    """Policies, clusters and workloads are values: making them does not load the compiler."""
    code = (
        "import sys, shadowtime as st\n"
        "st.policy('easy', reserve=4); st.Cluster.pool(8)\n"
        "st.Workload.build(submit=[0], run=[1], procs=[1])\n"
        "sys.exit('numba' if 'numba' in sys.modules else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_every_public_name_exists() -> None:
    """Every name in ``dir(st)`` can be loaded."""
    for name in st.__all__:
        assert getattr(st, name) is not None


def test_a_wrong_name_suggests_the_right_one() -> None:
    """A misspelt name raises an error that lists near names."""
    with pytest.raises(AttributeError, match="did you mean simulate"):
        st.simulat  # noqa: B018


def test_texts_work_wherever_values_do() -> None:
    """A machine and a policy can be values or texts; the schedules are the same."""
    by_value = st.simulate(jobs(), st.Cluster.pool(4), st.policy("easy", reserve=2))
    by_text = st.simulate(jobs(), "pool:4", "easy(reserve=2)")
    by_number = st.simulate(jobs(), 4, "easy(reserve=2)")
    assert by_value.schedule.start.tolist() == by_text.schedule.start.tolist() == [0, 9, 2]
    assert by_number.schedule.start.tolist() == [0, 9, 2]
    assert by_value.name == by_text.name == "easy(reserve=2)"


def test_a_site_folder_is_a_log_and_a_machine(recording_path: Callable[[str], Path]) -> None:
    """A path to a site folder runs on the site, not on a pool of the log's size."""
    folder = recording_path("A")
    with pytest.warns(UserWarning, match="memory is not counted"):
        run = st.simulate(folder, policy="slurm")
    assert run.cluster.shape == "site"
    site, jobs = st.read_site(folder)
    assert st.simulate(jobs, site, "slurm").schedule.start.tolist() == run.schedule.start.tolist()
    with pytest.raises(UsageError, match="read_site"):
        st.simulate(jobs, policy="slurm")


def test_policies_take_parameters_parts_and_functions() -> None:
    """Keyword parameters mean the same as in text; an order may be a function."""
    from shadowtime.policy.reserve import Depth

    assert st.policy("easy(reserve=4)", order="lxf").parameters["order"] == "lxf"
    assert st.policy("easy", reserve=Depth(3)).parameters["reserve"] == "3"

    def longest(wait: float, estimate: float, procs: float) -> float:
        return estimate

    own = st.policy("easy", order=longest)
    assert own.name == "easy(order=longest)"
    assert own.parameters["order"] == "longest"
    assert st.simulate(jobs(), 4, own).check().ok


def test_functions_are_named_as_on_the_command_line(tmp_path: Path) -> None:
    """A bare function has its own name and parameters, so two of them can be compared."""

    @st.order
    def narrow(now: int, job: Any, weight: float = 1.0) -> float:
        return -weight * float(job.procs)

    @st.backfill_key
    def least_area(now: int, job: Any) -> float:
        return -float(job.estimate * job.procs)

    def longest(wait: float, estimate: float, procs: float) -> float:
        return estimate

    given = [narrow, narrow(weight=3), least_area, longest, "easy"]
    found = st.compare(jobs(), 4, given)
    names = [run.name for run in found]
    assert names == ["narrow", "narrow(weight=3)", "least_area", "longest", "easy"]
    assert st.simulate(jobs(), 4, narrow(weight=3)).name == "narrow(weight=3)"
    (tmp_path / "own.py").write_text(
        "import shadowtime as st\n\n@st.order\ndef narrow(now, job, weight=1.0):\n"
        "    return -weight * job.procs\n"
    )
    typed = f"{tmp_path / 'own.py'}:narrow(weight=3)"
    assert st.policy(typed).name == st.policy(narrow(weight=3)).name

    more = st.policy(narrow, weight=3, reserve=2)
    assert more.name == "narrow(weight=3, reserve=2)"
    assert (more.parameters["order"], more.parameters["reserve"]) == ("narrow(weight=3)", "2")
    assert st.policy(longest, estimate="last-two").parameters["estimate"] == "last-two"
    with pytest.raises(PolicyError, match="no parameter 'wait'"):
        st.policy(narrow, wait=3)


def test_wrong_words_raise_our_errors() -> None:
    """A misspelt policy, parameter, machine or file is one of our errors with a hint."""
    with pytest.raises(PolicyError, match="easy"):
        st.policy("easi")
    with pytest.raises(PolicyError, match="reserve"):
        st.policy("easy", reserv=4)
    with pytest.raises(ShadowtimeError, match="pool:430"):
        st.simulate(jobs(), "pol:4", "easy")
    with pytest.raises(InputError):
        st.read("no-such-file.swf")
    with pytest.raises(UsageError, match="job log"):
        st.simulate(3, 4, "easy")
    with pytest.raises(UsageError, match="a text such as 'pool:256', not float"):
        st.simulate(jobs(), 3.5, "easy")
    with pytest.raises(ShadowtimeError, match="did you mean pool:4"):
        st.simulate(jobs(), "poll:4", "easy")
    with pytest.raises(ShadowtimeError, match="whole numbers"):
        st.Cluster.pool("four")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="did you mean overrun"):
        st.read("any.swf", overun="cut")
    with pytest.raises(UsageError, match="did you mean pv-easy"):
        st.paper("pveasy")


def test_wrong_words_about_results_suggest_the_right_ones(tmp_path: Path) -> None:
    """A misspelt metric, run or ending is an error of ours; a metric's is a KeyError too."""
    found = st.compare(jobs(), "pool:4", ["easy", "fcfs"])
    run = found["easy"]
    with pytest.raises(UnknownName, match="there is no metric 'bsld_men': did you mean bsld_mean"):
        run.metrics["bsld_men"]
    with pytest.raises(KeyError):
        run.metrics["bsld_men"]
    assert run.metrics.get("bsld_men") is None
    with pytest.raises(UsageError, match="did you mean easy"):
        found["esay"]
    with pytest.raises(UsageError, match=r"name it out\.csv or out\.parquet"):
        run.write(tmp_path / "out.paquet")
    with pytest.raises(UsageError, match="did you mean bsld_mean"):
        st.sweep(jobs(), 4, ["easy"], folder=tmp_path, metrics=["bsld_men"])


def test_reprs_are_short() -> None:
    """What a prompt shows of a value is one line with what it is."""
    run = st.simulate(jobs(), "pool:4", "easy(reserve=2)")
    assert repr(st.policy("easy", reserve=4)) == "Policy(easy(reserve=4))"
    assert repr(st.Cluster.pool(256)) == "Cluster(pool:256)"
    assert repr(run.cluster) == "Cluster(pool:4)"
    assert repr(run.check()).startswith("Report(nothing violated, ")
    assert repr(run.schedule) == "Schedule(easy(reserve=2): 3 jobs)"
    assert repr(run.workload).startswith("Workload(workload: 3 jobs")


def test_a_run_is_measured_proved_and_explained() -> None:
    """A run has metrics, a check and an explanation of each job."""
    run = st.simulate(jobs(), 4, "easy")
    assert run.metrics["wait_mean_s"] == pytest.approx(8 / 3)
    assert run.check().ok
    assert str(run.explain(3)).startswith("Job 3")
    assert repr(run) == "Run(easy on workload: 3 jobs, mean wait 2.67 s)"
    assert "<table>" in run._repr_html_()


def test_names_in_html_are_escaped() -> None:
    """A policy's name cannot inject markup into a notebook."""
    run = st.simulate(jobs(), 4, st.policy("easy").replace(name="<b>x</b>"))
    assert "<b>" not in run._repr_html_()


def test_frames_carry_the_columns_people_group_by() -> None:
    """A frame and an Arrow table have user, run, partition and policy beside the schedule."""
    pytest.importorskip("pandas")
    run = st.simulate(jobs().replace(names={"user": ("ada", "bob")}), 4, "easy")
    frame = run.to_frame()
    assert frame["user"].tolist() == ["ada", "bob", "ada"]
    assert {"run", "partition", "policy", "wait", "reason"} <= set(frame.columns)
    assert frame["wait"].tolist() == [0, 8, 0]
    arrow = pytest.importorskip("pyarrow")
    assert isinstance(run.to_arrow(), arrow.Table)


def test_parquet_files_have_the_log_columns_and_read_back(tmp_path: Path) -> None:
    """A Parquet schedule carries user, run, partition and policy, and is still a schedule."""
    parquet = pytest.importorskip("pyarrow.parquet")
    run = st.simulate(jobs(), 4, "easy")
    run.write(tmp_path / "out.parquet")
    assert {"user", "run", "partition", "policy"} <= set(
        parquet.read_table(tmp_path / "out.parquet").column_names
    )
    from shadowtime.schedule import read

    assert read(tmp_path / "out.parquet").start.tolist() == [0, 9, 2]


def test_results_save_load_and_report(tmp_path: Path) -> None:
    """The result of compare can be saved, loaded and turned into a page."""
    found = st.compare(jobs(), "pool:4", ["easy", "conservative"], shake=2)
    assert found["easy"].metrics["wait_mean_s"] > 0
    for shown in (str(found), found._repr_html_()):
        assert "easy" in shown and "conservative" in shown and "over 2 shaken inputs" in shown
    assert max(map(len, str(found).splitlines())) <= 80
    assert found.comparison is not None and found.comparison.replicas.count == 2
    found.save(tmp_path / "out")
    again = st.load(tmp_path / "out")
    assert [run.name for run in again] == ["easy", "conservative"]
    assert max(map(len, str(again).splitlines())) <= 80
    assert again[0].schedule.start.tolist() == found[0].schedule.start.tolist()
    page = again.report(tmp_path / "out.html")
    assert page.read_text().startswith("<!doctype html>")


def test_only_some_jobs_count(tmp_path: Path) -> None:
    """``where`` selects the jobs that metrics and groups are about; a folder keeps it."""
    whole = st.simulate(jobs(), "pool:4", "fcfs")
    some = st.simulate(jobs(), "pool:4", "fcfs", where="user=0")
    waits = whole.schedule.wait.tolist()
    assert some.schedule.wait.tolist() == waits
    assert some.metrics["wait_mean_s"] == (waits[0] + waits[2]) / 2
    assert [(row["name"], row["jobs"]) for row in some.groups("user")] == [
        ("all", 2),
        ("0", 2),
    ]
    found = st.compare(jobs(), "pool:4", ["fcfs", "easy"], where="user=0")
    assert found["fcfs"].metrics == found.result.runs[0].metrics == some.metrics
    found.save(tmp_path / "out")
    assert st.load(tmp_path / "out")["fcfs"].metrics == some.metrics
    with pytest.raises(UsageError, match="no job has user 7"):
        st.compare(jobs(), "pool:4", where="user=7")
    with pytest.raises(UsageError, match="copies of the whole log: omit where"):
        st.compare(jobs(), "pool:4", shake=1, where="user=0", resume=tmp_path / "k", workers=1)


def test_the_command_line_prints_what_python_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Numbers, groups, differences and the selection of jobs are the same on both ways."""
    monkeypatch.chdir(tmp_path)
    assert (
        run_command(["trace", "generate", "lublin", "a.swf", "--jobs", "90", "--procs", "16"]) == 0
    )
    options = ["--cluster", "pool:16", "--where", "procs<=8", "--by", "size", "--json"]
    capsys.readouterr()

    run = st.simulate("a.swf", "pool:16", "easy", where="procs<=8")
    assert run_command(["simulate", "a.swf", "-p", "easy", *options]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["policies"][0]["metrics"] == run.metrics and printed["where"] == "procs<=8"
    assert printed["groups"] == run.groups("size")

    loads = ["0.8", "1.2"]
    found = st.compare("a.swf", "pool:16", ["easy", "fcfs"], shake=2, loads=loads, where="procs<=8")
    words = ["compare", "a.swf", "-p", "easy", "-p", "fcfs", "--shake", "2", *options]
    assert run_command([*words, *(word for load in loads for word in ("--load", load))]) == 0
    rows = found.groups("size")
    assert json.loads(capsys.readouterr().out) == json.loads(to_json(found.as_dict(groups=rows)))
    assert {row["load"] for row in rows} == {f"{load} x" for load in loads}


def test_a_page_is_about_the_jobs_that_count(tmp_path: Path) -> None:
    """Its classes are theirs and it names the selection, also when made from a folder."""
    some = st.simulate(jobs(), "pool:4", "fcfs", where="user=0")
    for shown in (some.as_report(), st.load(some.save(tmp_path / "out")).result):
        sizes = [row for row in with_classes(shown).runs[0].classes if row.kind == "size"]
        assert sum(row.jobs for row in sizes) == 2
        assert shown.scored == "all jobs, user=0"
    page = st.load(tmp_path / "out").report(tmp_path / "out.html")
    assert "scored: all jobs, user=0" in page.read_text()
    st.simulate(jobs(), "pool:4", "fcfs").save(tmp_path / "all")
    assert run_command(["report", str(tmp_path / "out"), str(tmp_path / "all")]) == 2


def test_comparisons_become_frames() -> None:
    """A row per policy, a column per metric."""
    pytest.importorskip("pandas")
    frame = st.compare(jobs(), "pool:4", ["easy", "fcfs"]).to_frame()
    assert frame["policy"].tolist() == ["easy", "fcfs"]
    assert "bsld_mean" in frame.columns


def test_pictures_show_themselves(tmp_path: Path) -> None:
    """A Gantt chart is inline SVG in a notebook and a file elsewhere."""
    pytest.importorskip("matplotlib")
    picture = st.simulate(jobs(), 4, "easy").gantt()
    assert "<svg" in picture._repr_svg_()
    assert picture.save(tmp_path / "gantt.svg").stat().st_size > 1000
