"""whatif, run and deploy on the command line, with a generated site folder."""

from __future__ import annotations

import json
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shadowtime.api.site import read_world
from shadowtime.cli import run
from shadowtime.errors import UsageError
from shadowtime.study.site.changes import Change
from shadowtime.study.site.experiment import Experiment
from shadowtime.study.site.trial_runs import WhatIfStudy

NODES = "".join(
    f"NodeName=n{k} CPUTot=4 RealMemory=1000 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 "
    "State=IDLE Partitions=p\n"
    for k in (1, 2)
)
PARTITIONS = (
    "PartitionName=p AllowGroups=ALL Default=YES MaxTime=60 Nodes=n[1-2] PriorityTier=1 State=UP\n"
)
CONF = """ClusterName=c
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=5,bf_resolution=1,batch_sched_delay=0
SelectTypeParameters=CR_Core
AccountingStorageEnforce=limits
NodeName=n[1-2] CPUs=4 RealMemory=1000
PartitionName=p Nodes=n[1-2] Default=YES MaxTime=60
"""
QOS = "Name|Priority|MaxJobsPU\nnormal|0|\nfew|0|1\n"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Thirty jobs of two users on two nodes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "nodes.txt").write_text(NODES)
    (folder / "partitions.txt").write_text(PARTITIONS)
    (folder / "slurm.conf").write_text(CONF)
    (folder / "qos.txt").write_text(QOS)
    head = "JobIDRaw|User|Account|QOS|Partition|Submit|Eligible|Start|End|State|NCPUS|NNodes|"
    rows = [head + "TimelimitRaw|Flags|Reason|NodeList"]
    for k in range(30):
        submit, user = 1_777_600_000 + 30 * k, ("ann", "bob")[k % 2]
        start = submit + 2 * k
        rows.append(
            f"{k + 1}|{user}|acc{k % 2}|normal|p|{submit}|{submit}|{start}|{start + 90}|COMPLETED|"
            f"{2 + 2 * (k % 2)}|1|5|SchedMain|None|n{1 + k % 2}"
        )
    (folder / "jobs.psv").write_text("\n".join(rows) + "\n")
    return "site"


def test_replay_lists_groups(site: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Slurm's own scheduler without --policy; groups for all, partition, account, QOS and size."""
    assert run(["replay", site, "--phases", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = {(row["by"], row["name"]): row for row in found["groups"]}
    assert {by for by, _ in rows} == {"all", "partition", "account", "qos", "size"}
    assert rows["account", "acc0"]["jobs"] == 15 and rows["all", "all"]["jobs"] == 30
    assert rows["all", "all"]["recorded_wait_mean_s"] == 29.0
    assert found["policies"][1]["name"] == "slurm"
    assert found["replay"]["backfilled"]["recorded"] == 0
    assert run(["replay", site, "--phases", "2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("How far to trust") and "account acc1" in out and "QOS normal" in out


def test_a_what_if_is_repeated_byte_for_byte(site: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Running the file of --save gives the same JSON and the same folder."""
    words = ["--set", "qos.normal.MaxJobsPU=1", "--add-nodes", "p=1", "--phases", "2", "--json"]
    assert run(["whatif", site, *words, "--save", "e.toml", "-o", "one"]) == 0
    first = capsys.readouterr().out
    assert run(["run", "e.toml", "--json", "-o", "two"]) == 0
    assert capsys.readouterr().out == first
    for path in sorted(Path("one").rglob("*")):
        if path.is_file():
            assert path.read_bytes() == (Path("two") / path.relative_to("one")).read_bytes(), path
    found = json.loads(first)
    assert [arm["changes"] for arm in found["whatif"]["alone"]] == [
        ["qos.normal.MaxJobsPU=1"],
        ["1 more node like p"],
    ]
    row = found["groups"][0]
    assert {"baseline_wait_mean_s", "changed_wait_mean_s", "difference_s", "effect"} <= set(row)


def test_a_what_if_with_more_nodes_has_a_page(
    site: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each run has its own machine in the folder; the page leads with the effect on all jobs."""
    words = ["--add-nodes", "p=1", "--phases", "2", "--json", "-o", "one", "--report", "a.html"]
    assert run(["whatif", site, *words]) == 0
    whole = json.loads(capsys.readouterr().out)["groups"][0]
    assert run(["report", "one", "-o", "b.html"]) == 0
    for page in (Path("a.html").read_text(), Path("b.html").read_text()):
        assert f'data-value="{whole["difference_s"]}"' in page
        assert 'id="effects"' in page and "1 more node like p: " in page


def test_a_what_if_goes_on_where_it_was_interrupted(
    site: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finished runs are kept; the result equals an uninterrupted one, and a repeat runs none."""
    from shadowtime.slurm.policy import SlurmPolicy

    words = ["whatif", site, "--add-nodes", "p=1", "--phases", "3", "--json"]
    assert run(words) == 0
    whole = capsys.readouterr().out
    original, made, one_at_a_time = SlurmPolicy.simulate, [], threading.Lock()

    def counted(self, *rest, **more):
        with one_at_a_time:
            if len(made) == limit:
                raise KeyboardInterrupt
            made.append(self.phase)
        return original(self, *rest, **more)

    monkeypatch.setattr(SlurmPolicy, "simulate", counted)
    limit = 4
    assert run([*words, "--resume", "runs"]) == 130
    capsys.readouterr()
    assert len(list(Path("runs/kept").glob("*.run"))) == 4
    limit = 6
    assert run([*words, "--resume", "runs"]) == 0
    assert capsys.readouterr().out == whole and len(made) == 6
    assert run([*words, "--resume", "runs"]) == 0, "none of them again"
    assert capsys.readouterr().out == whole
    assert run([*words, "--resume", "others", "--workers", "1"]) == 0, "made by another process"
    assert capsys.readouterr().out == whole
    assert len(list(Path("others/kept").glob("*.run"))) == 6
    next(Path("runs/kept").glob("*.run")).write_bytes(b"half")
    assert run([*words, "--resume", "runs"]) != 0
    assert "Delete it." in capsys.readouterr().err


def test_workers_need_a_folder(site: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Other processes need a folder for their results: without --resume, workers are rejected."""
    for words in (["--workers", "2"], ["--on", "slurm"]):
        assert run(["whatif", site, "--add-nodes", "p=1", *words]) == 2
        assert "add --resume DIR" in capsys.readouterr().err
    assert run(["whatif", site, "--add-nodes", "p=1", "--site", "blocks=2"]) == 2
    assert "add --on slurm or --on condor" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:memory is not counted")
def test_runs_on_any_executor_give_the_same(
    site: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The study can be sent to a worker, and the workers' files are all that the what-if needs."""
    import shadowtime as st
    from shadowtime.slurm.policy import SlurmPolicy

    study = WhatIfStudy.of(
        Experiment(site=site, changes=(Change("add-nodes", "p=1"),), phases=2), "kept", read_world
    )
    assert pickle.loads(pickle.dumps(study)) == study and Path(study.folder).is_absolute()
    plain = st.whatif(site, add_nodes="p=1", phases=2)
    with ThreadPoolExecutor(2) as threads:
        st.whatif(site, add_nodes="p=1", phases=2, resume="kept", executor=threads)
    assert study.missing(read_world(study.experiment)) == []
    monkeypatch.setattr(SlurmPolicy, "simulate", None)
    assert st.whatif(site, add_nodes="p=1", phases=2, resume="kept").as_dict() == plain.as_dict()
    with pytest.raises(UsageError, match="resume=FOLDER"):
        st.whatif(site, add_nodes="p=1", workers=2)


def test_gains_and_losses_are_shown(site: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["whatif", site, "--set", "qos.normal.MaxJobsPU=1", "--phases", "3"]) == 0
    out = capsys.readouterr().out
    assert "pays: " in out and "account acc1" in out.partition("pays: ")[2]
    assert run(["whatif", site, "--set", "bf_window=5000", "--phases", "2"]) == 0
    assert "schedules are identical: no job of this log is affected" in capsys.readouterr().out


def test_deploy_prints_and_never_runs(site: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Prints the difference, the commands and how to undo them; without --print it is an error."""
    assert run(["deploy", site, "--set", "bf_interval=60"]) == 2
    assert "--print" in capsys.readouterr().err
    words = ["--set", "bf_interval=60", "--set", "qos.few.MaxJobsPU=4", "--print"]
    assert run(["deploy", site, *words]) == 0
    out = capsys.readouterr().out
    assert "+SchedulerParameters=bf_interval=60,bf_resolution=1,batch_sched_delay=0" in out
    assert "sacctmgr -i modify qos few set MaxJobsPU=1" in out.partition("# to undo")[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["whatif", "site"], "nothing is changed"),
        (["whatif", "site", "--set", "bf_intervall=3"], "did you mean bf_interval"),
        (["whatif", "log.swf", "--cluster", "pool:4", "--set", "bf_interval=3"], "needs a site"),
        (["whatif", "site", "--max-limit", "2x"], "length of time"),
        (["whatif", "site", "--price", "1", "--load", "2"], "give --option too"),
        (["whatif", "site", "--price", "x", "--option", "a: --load 2"], "price of a node-hour"),
        (["run", "none.toml"], "cannot be read"),
        (["replay", "log.swf", "--cluster", "pool:4"], "give --policy"),
        (["replay", "log.swf", "--cluster", "pool:4", "-p", "easy", "--phases", "3"], "for sites"),
    ],
)
def test_wrong_usage_is_one_sentence(
    site: str, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("log.swf").write_text("1 0 5 10 1 -1 -1 1 20 -1 1 1 1 1 1 1 -1 -1\n")
    assert run(words) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_options_side_by_side(site: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A row each with its cost, groups with unclear ones marked, and a sentence about each."""
    words = ["whatif", site, "--phases", "3", "--option", "a quota: --set qos.normal.MaxJobsPU=1"]
    words += ["--option", "longer: --set partition.p.MaxTime=9-0", "--price", "30"]
    assert run([*words, "--save", "both.toml", "--report", "page.html", "-o", "out"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "as it is" in shown and "cost" in shown
    assert "longer: the schedules are identical: no request exceeds it." in shown
    assert "a quota: jobs wait" in shown
    page = Path("page.html").read_text()
    assert "a quota" in page and "longer" in page
    assert run(["run", "both.toml", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["whatif"]
    assert [one["option"] for one in found["options"]] == ["a quota", "longer"]
    assert found["options"][0]["offer"]["cost"] == found["baseline_offer"]["cost"] > 0
    assert run(["report", "out", "-o", "again.html"]) == 0


def test_python_does_the_same(site: str) -> None:
    """st.replay and st.whatif return the values that the commands print."""
    import shadowtime as st

    with pytest.warns(UserWarning, match="memory is not counted"):
        found = st.replay(site, phases=2)
        changed = st.whatif(site, {"qos.normal.MaxJobsPU": 1}, phases=3)
    assert found.groups[0].jobs == 30
    assert changed.together.whole.effect == "longer"


def test_slices_in_every_study(site: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--where decides which jobs count, --by how they are grouped; all jobs are simulated."""
    words = ["--where", "user=ann", "--by", "user,size", "--json"]
    assert run(["replay", site, "--phases", "2", *words]) == 0
    found = json.loads(capsys.readouterr().out)["groups"]
    assert [(row["by"], row["name"], row["jobs"]) for row in found] == [
        ("all", "all", 15),
        ("user", "ann", 15),
        ("size", "2-4", 15),
    ]
    assert run(["whatif", site, "--set", "bf_interval=9", "--phases", "2", *words]) == 0
    found = json.loads(capsys.readouterr().out)["groups"]
    assert {row["name"] for row in found} == {"all", "ann", "2-4"}
    assert run(["simulate", site, "-p", "slurm", *words]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["policies"][0]["metrics"]["jobs"] == 15 and printed["where"] == "user=ann"
    assert [row["jobs"] for row in printed["groups"]] == [15, 15, 15]
    assert run(["simulate", site, "-p", "slurm", "--by", "account"]) == 0
    assert "by account" in capsys.readouterr().out
    assert run(["compare", site, "-p", "slurm", "--by", "account", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert {row["name"] for row in printed["groups"]} == {"all", "acc0", "acc1"}
