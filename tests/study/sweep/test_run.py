"""A sweep runs each key once, keeps failures as rows, and gives the same table however it runs."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from shadowtime.api.sweep import load_log, sweep
from shadowtime.errors import InputError, UsageError
from shadowtime.study.sweep import Plan, Shards, run_plan
from shadowtime.study.sweep import shards as module
from shadowtime.study.sweep.curves import curve
from shadowtime.study.sweep.hand_out import DIED
from shadowtime.study.sweep.plan_file import read_plan
from shadowtime.study.sweep.run import split
from shadowtime.study.sweep.shards import numbered, write_table
from study.sweep.worlds import GATE, write_log, write_plan

POLICIES = ["easy(reserve=1..4)", "easy-sjbf"]


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return read_plan(write_plan(tmp_path, POLICIES, shake=3))


def run(plan: Plan, folder: Path, **more):
    return run_plan(plan, folder, load=load_log, **{"workers": 1, **more})


def table_bytes(folder: Path) -> bytes:
    path = folder / "table.parquet"
    write_table(Shards(folder).collect(), path)
    return path.read_bytes()


def test_done_keys_never_run_again(plan: Plan, tmp_path: Path) -> None:
    """The same plan runs nothing; a larger one only what is new."""
    assert run(plan, tmp_path / "r").ran == 20
    again = run(plan, tmp_path / "r")
    assert (again.ran, again.skipped) == (0, 20)
    larger = read_plan(write_plan(tmp_path, [*POLICIES, "easy(reserve=5)"], shake=3))
    assert run(larger, tmp_path / "r").ran == 4


def test_same_table_however_it_runs(plan: Plan, tmp_path: Path) -> None:
    """One process, processes, any executor, shards in any order: equal to the byte."""
    run(plan, tmp_path / "one")
    run(plan, tmp_path / "processes", workers=2)
    with ThreadPoolExecutor(3) as threads:
        run(plan, tmp_path / "threads", executor=threads)
    for part in ("3/3", "1/3", "2/3"):
        run(plan, tmp_path / "parts", shard=part)
    Shards(tmp_path / "parts").merge()
    expected = table_bytes(tmp_path / "one")
    for other in ("processes", "threads", "parts"):
        assert table_bytes(tmp_path / other) == expected, other


def test_rows_are_the_runs_of_the_plan(plan: Plan, tmp_path: Path) -> None:
    """One row per key, sorted, with the ranged parameter as a number and every metric."""
    run(plan, tmp_path / "r")
    table = numbered(Shards(tmp_path / "r").collect())
    keys = table.column("key").to_pylist()
    assert keys == sorted(case.key for case in plan.cases())
    rows = table.to_pylist()
    assert {row["set_reserve"] for row in rows} == {None, 1.0, 2.0, 3.0, 4.0}
    assert all(row["error"] is None and row["wait_mean_s"] >= 0 for row in rows)
    points = curve(table, "wait_mean_s", "reserve")
    assert [point.at for point in points] == [(1.0,), (2.0,), (3.0,), (4.0,)]
    assert all(point.runs == 4 and point.interval.n == 3 for point in points)
    with pytest.raises(UsageError, match="no parameter 'depth': ranged are reserve"):
        curve(table, "wait_mean_s", "depth")


def test_only_the_wanted_metrics_are_kept(tmp_path: Path) -> None:
    """A plan may name its metrics; how many jobs never started is always told."""
    plan = read_plan(write_plan(tmp_path, ["easy"], metrics=["bsld_mean", "wait_max_s"]))
    run(plan, tmp_path / "r")
    names = Shards(tmp_path / "r").collect().column_names
    assert names[names.index("error") + 1 :] == ["bsld_mean", "unstarted", "wait_max_s"]


def test_series_belong_to_the_plan(tmp_path: Path) -> None:
    """A policy reads them; a file with other values is another run."""
    (tmp_path / "mine.py").write_text(
        "import shadowtime as st\n@st.order\ndef cheap(now, job, series):\n"
        "    return series.price.at(now) * job.procs\n"
    )
    (tmp_path / "prices.csv").write_text("time,EUR\n00:00,1\n08:00,-1\n")
    file = write_plan(tmp_path, ["mine.py:cheap"], series=["price=prices.csv"])
    first = read_plan(file)
    assert run(first, tmp_path / "r").failed == 0
    assert run(read_plan(file), tmp_path / "r").ran == 0
    (tmp_path / "prices.csv").write_text("time,EUR\n00:00,1\n08:00,-2\n")
    with pytest.raises(InputError, match="changed"):
        first.logs[0].refuse_changed()
    assert run(read_plan(file), tmp_path / "r").ran == 1


def test_a_failure_is_a_row_and_can_be_retried(tmp_path: Path) -> None:
    """Other runs go on; the error is in the table; --retry failed runs it again."""
    (tmp_path / "gate.py").write_text(GATE)
    (tmp_path / "go").touch()
    (tmp_path / "broken").touch()
    plan = read_plan(write_plan(tmp_path, ["gate.py:Gate", "easy"]))
    first = run(plan, tmp_path / "r")
    assert (first.ran, first.failed) == (2, 1)
    rows = {row["policy"]: row for row in Shards(tmp_path / "r").collect().to_pylist()}
    assert "broken on purpose" in rows["gate.py:Gate"]["error"] and rows["easy"]["error"] is None
    assert run(plan, tmp_path / "r").ran == 0
    (tmp_path / "broken").unlink()
    again = run(plan, tmp_path / "r", retry="failed")
    assert (again.ran, again.failed) == (1, 0)
    assert set(Shards(tmp_path / "r").done().values()) == {True}
    assert Shards(tmp_path / "r").collect().column("error").null_count == 2


def test_a_log_that_cannot_be_read_fails_its_own_runs_only(tmp_path: Path) -> None:
    """The runs of other logs are not touched."""
    (tmp_path / "bad.swf").write_text("1 2 3\n")
    path = write_plan(tmp_path, ["easy"])
    path.write_text(path.read_text().replace('["log.swf"]', '["bad.swf", "log.swf"]'))
    done = run(read_plan(path), tmp_path / "r")
    assert (done.ran, done.failed) == (2, 1)


def test_a_damaged_shard_is_named(plan: Plan, tmp_path: Path) -> None:
    """The error names the file and what to do."""
    run(plan, tmp_path / "r")
    bad = Shards(tmp_path / "r").files()[0]
    bad.write_bytes(bad.read_bytes()[:100])
    with pytest.raises(InputError, match=r"\.parquet: this shard cannot be read .* Delete it"):
        run(plan, tmp_path / "r")


def test_keys_are_found_without_opening_a_shard(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is done is in the index, also after a merge; a folder without an index gets one."""
    folder = tmp_path / "r"
    run(plan, folder)
    shards = Shards(folder)
    expected = dict.fromkeys(sorted(plan.keys()), True)
    opened: list[Path] = []
    read = module._read
    monkeypatch.setattr(
        module, "_read", lambda a, path, *m: opened.append(path) or read(a, path, *m)
    )
    assert dict(sorted(shards.done().items())) == expected and not opened
    shutil.rmtree(folder / "index")
    assert dict(sorted(shards.done().items())) == expected and len(opened) == len(shards.files())
    opened.clear()
    assert dict(sorted(shards.done().items())) == expected and not opened
    shards.merge()
    opened.clear()
    assert dict(sorted(shards.done().items())) == expected and not opened


def test_an_index_that_lies_is_not_believed(plan: Plan, tmp_path: Path) -> None:
    """A deleted shard is not done whatever the index contains; a cut-off line is ignored."""
    folder = tmp_path / "r"
    run(plan, folder)
    shards = Shards(folder)
    gone = shards.files()[0]
    lost = len(module.pyarrow().parquet.read_table(gone))
    gone.unlink()
    for file in (folder / "index").iterdir():
        file.write_bytes(file.read_bytes()[:-40])
    (folder / "index" / "foreign").write_bytes(b"\xff\n\n \nshard\n")
    assert len(shards.done()) == 20 - lost
    assert run(plan, folder).ran == lost


def test_split_groups_by_log_and_shares_out(plan: Plan) -> None:
    """Every run is in one unit; units hold one log; there are several for each worker."""
    cases = list(plan.cases())
    units = split(cases, workers=2)
    assert [case for unit in units for case in unit] == cases
    assert len(units) >= 2 * 4 or all(len(unit) == 1 for unit in units)
    parts = [case for k in range(1, 8) for case in plan.cases(f"{k}/7")]
    assert parts == cases
    for wrong in ("0/3", "4/3", "3", "a/b"):
        with pytest.raises(UsageError, match="3/64"):
            list(plan.cases(wrong))


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("polices = ['easy']", "policies"),
        ("shake = 1", "shake or resample 2"),
        ("shake = -1", "whole number"),
        ("seeds = 'a'", "list of whole numbers"),
        ("window = '1:2:3'", "two sides"),
        ("loads = ['fast']", "factor"),
        ("[cleaning]\nfoo = 1", "foo"),
    ],
)
def test_a_wrong_plan_is_refused(tmp_path: Path, line: str, word: str) -> None:
    """The error is one sentence with the file, what is wrong and what to write."""
    path = write_plan(tmp_path, ["easy"])
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(InputError, match=word) as caught:
        read_plan(path)
    assert str(caught.value).startswith(str(path))


def test_a_sweep_from_python(tmp_path: Path) -> None:
    """st.sweep takes workloads and policies as values, and answers with a table."""
    from shadowtime.workload.embedded import demo_workload
    from shadowtime.workload.slicing import first_jobs

    jobs = first_jobs(demo_workload(), 100)
    found = sweep(jobs, ["pool:256", "pool:300"], ["easy"], folder=tmp_path / "r", workers=1)
    assert found.outcome.ran == 2
    assert found.to_arrow().column("machine").to_pylist().count("pool:300") == 1
    sweep(jobs, "pool:200", ["easy"], folder=tmp_path / "r", workers=1)
    assert found.to_arrow().num_rows == 2  # the plan's own rows, not the folder's


def test_a_file_is_loaded_from_its_own_folder(tmp_path: Path) -> None:
    """The same policy file in two folders, run one after the other: each uses its own folder."""
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "gate.py").write_text(GATE)
        (folder / "go").touch()
        plan = read_plan(write_plan(folder, ["gate.py:Gate"]))
        run_plan(plan, folder / "r", load=load_log, workers=1)
        assert list(Shards(folder / "r").done().values()) == [True]
        assert (folder / "pid").exists()


DEADLY = """
import os, signal

class Bad:
    name = "bad"
    def decide(self, view):
        os.kill(os.getpid(), signal.SIGKILL)

for number in range(1, 7):
    globals()[f"Bad{number}"] = type(f"Bad{number}", (Bad,), {})
"""


def test_a_death_is_charged_to_the_run_that_died(tmp_path: Path) -> None:
    """Six runs that end their worker, among six that do not: six fail, as many succeed."""
    (tmp_path / "deadly.py").write_text(DEADLY)
    bad = [f"deadly.py:Bad{number}" for number in range(1, 7)]
    good = [f"easy(reserve={number})" for number in range(1, 7)]
    mixed = [one for pair in zip(bad, good, strict=True) for one in pair]
    plan = read_plan(write_plan(tmp_path, mixed))
    outcome = run(plan, tmp_path / "r", workers=3)
    rows = Shards(tmp_path / "r").collect().to_pylist()
    failed = {row["policy"] for row in rows if row["error"]}
    assert failed == set(bad) and len(rows) == 12
    assert (outcome.ran, outcome.failed) == (12, 6)
    assert {row["error"] for row in rows if row["error"]} == {DIED}


class Together(Executor):
    """Workers on a node that is lost as a whole: whoever is there when one dies is lost too."""

    def __init__(self) -> None:
        self.there: list[Future] = []
        self.one_at_a_time = threading.Lock()

    def submit(self, fn, /, unit):  # type: ignore[override]
        future: Future = Future()
        self.there.append(future)
        bad = any("Bad" in case.variant.name for case in unit.cases)
        threading.Timer(0.2 if bad else 0.6, self._end, (bad, fn, unit, future)).start()
        return future

    def _end(self, bad, fn, unit, future) -> None:
        with self.one_at_a_time:
            if bad:
                for one in self.there:
                    if not one.done():
                        one.set_exception(RuntimeError("the node was lost"))
            elif not future.done():
                future.set_result(fn(unit))


def test_a_death_that_may_be_anothers_is_not_charged(tmp_path: Path) -> None:
    """Runs that were lost together run again one by one, so that the innocent ones succeed."""
    (tmp_path / "bad.py").write_text(DEADLY)
    plan = read_plan(write_plan(tmp_path, ["bad.py:Bad1", "easy(reserve=1..5)", "bad.py:Bad2"]))
    outcome = run(plan, tmp_path / "r", executor=Together())
    rows = Shards(tmp_path / "r").collect().to_pylist()
    assert {row["policy"] for row in rows if row["error"]} == {"bad.py:Bad1", "bad.py:Bad2"}
    assert (outcome.ran, outcome.failed) == (7, 2)


def test_a_broken_executor_ends_the_sweep(tmp_path: Path) -> None:
    """A pool that cannot be used again fails no run; what is done is kept."""
    (tmp_path / "deadly.py").write_text(DEADLY)
    plan = read_plan(write_plan(tmp_path, ["deadly.py:Bad1", "easy(reserve=1..5)"]))
    with (
        ProcessPoolExecutor(1, mp_context=get_context("forkserver")) as pool,
        pytest.raises(UsageError, match="what was finished is saved"),
    ):
        run(plan, tmp_path / "r", executor=pool)
    assert all(Shards(tmp_path / "r").done().values())


@pytest.mark.parametrize("what", ["log.swf", "mine.py"])
def test_what_changes_during_a_sweep_gives_no_rows(tmp_path: Path, what: str) -> None:
    """A log or a policy that is not that of the key any more is an error, not other numbers."""
    (tmp_path / "mine.py").write_text("def mine(wait, estimate, procs): return wait\n")
    write_log(tmp_path, jobs=90)  # which no other test has left in this process
    path = write_plan(tmp_path, ["mine.py:mine"])
    plan = read_plan(path)
    text = (tmp_path / what).read_text()
    (tmp_path / what).write_text(text.replace("return wait", "return -wait").rstrip("\n") + "\n\n")
    outcome = run(plan, tmp_path / "r")
    [row] = Shards(tmp_path / "r").collect().to_pylist()
    assert outcome.failed == 1 and what in row["error"] and "changed since" in row["error"]
    again = run(read_plan(path), tmp_path / "r")
    assert (again.ran, again.failed) == (1, 0)
