"""From a real Slurm with accounting to a site folder, and from that to a schedule."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from cli.guide import guide_commands
from conftest import require
from shadowtime.cli import run
from shadowtime.live.slurm.pull import SETTLED
from shadowtime.testing.slurm import SlurmCluster, free_ports, slurm_cluster, wait_for
from shadowtime.testing.slurm import missing_programs as missing_of_slurm
from shadowtime.testing.slurm_accounting import missing_programs
from shadowtime.testing.slurm_recording import SETTINGS

FILES = (
    "nodes.txt", "partitions.txt", "config.txt", "reservations.txt", "associations.txt", "qos.txt",
    "events_sacctmgr.txt", "sacct_resv.txt", "sshare.txt", "jobs.psv",
)  # fmt: skip


def wait_for_ends(cluster: SlurmCluster, jobs: int) -> None:
    """Until nothing is in the queue and slurmdbd has written down all of that many ends."""
    wait_for(lambda: not cluster.run("squeue", "-h", "-a").strip(), "an empty queue")
    ended = ("sacct", "-a", "-X", "-n", "-o", "State")
    wait_for(lambda: cluster.run(*ended).count("COMPLETED") == jobs, "slurmdbd to know every end")


@pytest.fixture(scope="module")
def counted() -> Iterator[SlurmCluster]:
    """Four nodes whose jobs go into slurmdbd; three jobs have run, a node was down."""
    missing = missing_of_slurm() + missing_programs()
    require("slurmdbd", not missing, f"Slurm's accounting is not here ({', '.join(missing)})")
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-pull-"))
    try:
        with slurm_cluster(folder, nodes=4, accounting=True) as cluster:
            cluster.run("sacctmgr", "--immediate", "add", "account", "phys", "fairshare=7")
            cluster.run("scontrol", "update", "NodeName=n4", "State=DOWN", "Reason=bob was here")
            down = int(time.time())
            # Slurm records whole seconds: an outage within one of them took no time.
            wait_for(lambda: int(time.time()) > down, "the next second")
            cluster.run("scontrol", "update", "NodeName=n4", "State=RESUME")
            maintenance = ("StartTime=now", "Duration=1", "Nodes=n3", "Flags=MAINT")
            name = "ReservationName=of_bob"
            cluster.run("scontrol", "create", "reservation", name, "Users=root", *maintenance)
            for number, nodes in enumerate((2, 3, 1)):
                cluster.sbatch(f"-N{nodes}", "--exclusive", "-t2", f"-Jsecret{number}")
            wait_for_ends(cluster, 3)
            yield cluster
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def here(counted: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> SlurmCluster:
    """Commands of this test talk to the cluster."""
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, counted.env[name])
    return counted


def since() -> str:
    return (datetime.now() - timedelta(days=1)).date().isoformat()


def settled_days() -> int:
    """Days since then that are not fetched again: yesterday, but not in the hour after midnight."""
    now = datetime.now()
    return int(now - now.replace(hour=0, minute=0, second=0, microsecond=0) >= SETTLED)


def test_pull_doctor_and_simulate(
    here: SlurmCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every file is there, the doctor finds the jobs, and a policy runs on the folder."""
    site = tmp_path / "site"
    kept = settled_days()
    assert run(["pull", "slurm", "--since", since(), "-o", str(site)]) == 0, capsys.readouterr()
    assert "3 jobs; 2 days fetched, 0 already present" in capsys.readouterr().out
    assert [name for name in FILES if not (site / name).is_file()] == []
    assert "phys" in (site / "associations.txt").read_text()

    assert run(["pull", "slurm", "--since", since(), "-o", str(site)]) == 0
    assert f"3 jobs; {2 - kept} days fetched, {kept} already present" in capsys.readouterr().out

    code = run(["doctor", str(site), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert (found["counts"]["jobs"], found["counts"]["nodes"]) == (3, 4)
    assert found["missing"] == []
    assert found["not_expressed"] == [] and code in (0, 1), found
    changes = [(one["nodes"], one["kind"], one["reason"]) for one in found["machine_changes"]]
    assert ("n4", "down", "bob was here") in changes and ("n3", "reservation", "of_bob") in changes

    for policy in ("easy", "slurm"):
        assert run(["simulate", str(site), "--policy", policy, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["trace"]["jobs"] == 3


def test_the_guide_from_this_cluster(
    here: SlurmCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Pull, doctor, replay, what-if, run, explain, deploy, as docs/guides/five-minutes.md says."""
    monkeypatch.chdir(tmp_path)
    printed = {}
    for words in guide_commands("On your cluster"):
        if words[0] == "pull":
            words[words.index("--since") + 1] = since()
        code = run(words)
        out, err = capsys.readouterr()
        assert code in ((0, 1) if words[0] == "doctor" else (0,)), (words, out, err)
        printed[words[0]] = out
    assert "3 jobs" in printed["pull"] and "nodes, " in printed["doctor"]
    assert "all jobs" in printed["replay"] and (tmp_path / "replay.html").stat().st_size > 10_000
    assert "bf_interval=10" in printed["whatif"] and printed["run"] == printed["whatif"]
    assert "Job 1 of user" in printed["explain"]
    assert "bf_interval=10" in printed["deploy"] and "undo" in printed["deploy"]


def test_pull_anonymised(
    here: SlurmCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No name of a job or an account is left anywhere, and the folder still runs."""
    site = tmp_path / "site"
    pull = ["pull", "slurm", "--since", since(), "-o", str(site), "--anonymise"]
    assert run([*pull, "--key", str(tmp_path / "key")]) == 0, capsys.readouterr()
    texts = [path.read_text() for path in site.rglob("*") if path.is_file()]
    assert not [text for text in texts if "secret" in text or "phys" in text or "bob" in text]
    capsys.readouterr()
    assert run(["simulate", str(site), "--policy", "easy", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["trace"]["jobs"] == 3


def test_a_slurmdbd_that_is_down(
    here: SlurmCluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The error is one sentence, and slurmctld's answers are kept."""
    conf = tmp_path / "slurm.conf"
    lines = here.conf.read_text().splitlines()
    lines = [line for line in lines if not line.startswith("AccountingStoragePort=")]
    conf.write_text("\n".join([*lines, "AccountingStoragePort=1"]) + "\n")
    monkeypatch.setenv("SLURM_CONF", str(conf))
    site = tmp_path / "site"
    assert run(["pull", "slurm", "--since", since(), "-o", str(site)]) == 2
    printed = capsys.readouterr().err.strip().splitlines()[-1]
    assert printed.startswith("shadowtime: slurmdbd does not answer") and "kept in" in printed
    assert (site / "nodes.txt").is_file() and not (site / "jobs.psv").exists()


def test_a_deployed_change_runs_on_every_slurm(
    slurm_root: Path | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Pull, doctor, replay, what-ifs and deploy; then the daemons read what deploy printed."""
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-deploy-"))
    site = str(tmp_path / "site")

    def told(*words: str, codes: tuple[int, ...] = (0,)) -> str:
        code = run(list(words))
        out, err = capsys.readouterr()
        assert code in codes, (words, out, err)
        return " ".join(out.split()) if "--print" not in words else out

    options = {"nodes": 2, "gres": 0, "accounting": True, "settings": SETTINGS}
    try:
        with slurm_cluster(folder, root=slurm_root, **options) as cluster:
            for name in ("SLURM_CONF", "PATH"):
                monkeypatch.setenv(name, cluster.env[name])
            for number in range(6):
                cluster.sbatch(f"-N{1 + number % 2}", "--exclusive", "-t5", script="sleep 1.5")
            wait_for_ends(cluster, 6)
            assert "6 jobs" in told("pull", "slurm", "--since", since(), "-o", site)
            found = json.loads(told("doctor", site, "--json", codes=(0, 1)))
            assert (found["counts"]["jobs"], found["not_expressed"]) == (6, [])
            assert "all jobs 6" in told("replay", site, "--phases", "2")

            longer = "partition.batch.MaxTime=2-00:00:00"
            same = "the schedules are identical: no request exceeds it"
            assert same in told("whatif", site, "--set", longer, "--phases", "2")
            both = told(
                *("whatif", site, "--phases", "2", "--option", "more: --add-nodes batch=2"),
                *("--option", f"longer: --set {longer}"),
            )
            assert f"longer: {same}" in both and "more: " in both
            quick = told("whatif", site, "--add-nodes", "batch=2", "--quick", "--phases", "2")
            assert "changed: 2 more nodes like batch" in quick

            changes = ("--add-nodes", "batch=2", "--set", "bf_interval=7", "--set", longer)
            printed = told("deploy", site, *changes, "--print")
            carry_out(cluster, printed, ["n3", "n4"])
            cluster.sbatch("-N4", "--exclusive", "-t1")
            wait_for_ends(cluster, 7)
            shown = cluster.run("scontrol", "show", "config")
            assert "bf_interval=7" in shown
            assert "MaxTime=2-00:00:00" in cluster.run("scontrol", "show", "partition", "batch")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def carry_out(cluster: SlurmCluster, printed: str, new: list[str]) -> None:
    """Patch slurm.conf, give new nodes their addresses as the notes say, restart every daemon."""
    difference = printed.partition("# slurm.conf\n")[2].partition("\n# then run")[0]
    assert "systemctl restart slurmctld" in printed and "their own NodeHostname" in printed
    words = ["patch", "--batch", str(cluster.conf)]
    done = subprocess.run(words, input=difference, text=True, capture_output=True, check=False)
    assert done.returncode == 0, (difference, done.stdout)
    first = free_ports(len(new), cluster._claims)
    own = f"NodeHostname=localhost NodeAddr=127.0.0.1 Port=[{first}-{first + len(new) - 1}]"
    lines = cluster.conf.read_text()
    assert lines.count("NodeName=n[3-4] ") == 1
    cluster.conf.write_text(lines.replace("NodeName=n[3-4] ", f"NodeName=n[3-4] {own} "))
    for name in [*(f"slurmd-{one}" for one in cluster.names), "slurmctld"]:
        cluster.kill(name, signal.SIGTERM)
    cluster.start_controller()
    for name in [*cluster.names, *new]:
        (cluster.folder / "spool" / name).mkdir(exist_ok=True)
        cluster.start_node(name)
    idle = ("sinfo", "-h", "-N", "-t", "idle", "-o", "%N")
    wait_for(lambda: len(set(cluster.run(*idle, check=False).split())) == 4, "all nodes to be idle")
