"""Every command's output of every Slurm that is here, read by the package that reads them all."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from shadowtime.cli import run
from shadowtime.cluster.sacctmgr import parse_shares
from shadowtime.errors import UsageError
from shadowtime.slurmtext.conf import parse_config, parse_version
from shadowtime.slurmtext.log import read_log
from shadowtime.slurmtext.scontrol import records_and_unknown
from shadowtime.slurmtext.show_job import parse_details
from shadowtime.slurmtext.squeue import ENVIRONMENT, SINFO, SQUEUE, parse_nodes, parse_queue
from shadowtime.testing.slurm import SlurmCluster, slurm_cluster, wait_for
from shadowtime.testing.slurm_conf import NodeKind
from shadowtime.trace.site_folder import read_site

MARKS = "\x1c\x1e\x1f\f\u2028\u0085"
"""What ends a line for Python, or separates columns in what we write."""
JOBS = {
    "plain": (),
    "a|b": ("-C", "a|b", "-J", "a|b", "--comment=x|y"),
    "lines": ("-J", "one\ntwo|three\n9|9|9", "--comment=a\nb"),
    "marks": ("-J", f"m{MARKS}n", f"--comment={MARKS}"),
    "asks": ("-N1-2", "-n2", "--exclusive", "--nice=5", "--contiguous", "--time-min=1"),
    "array": ("--array=1-3%2",),
    "licence": ("-L", "matlab:2", "--gres=gpu:1"),
    "beyond": ("--switches=1@00:01", "--deadline=now+9hours"),
}


TASKS = {"array": 3}


def submit(cluster: SlurmCluster, name: str) -> str:
    """Submit one of the jobs."""
    return cluster.sbatch("-t", "2", *JOBS[name], script="sleep 1")


@pytest.fixture
def cluster(slurm_root: Path | None) -> SlurmCluster:
    """Three nodes with features, GPUs and licences; jobs with all that users may write."""
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-text-"))

    def prepare(one: SlurmCluster) -> None:
        with one.conf.open("a") as conf:
            conf.write("Licenses=matlab:4\nInclude more.conf\n")
        (one.conf.parent / "more.conf").write_text("MaxArraySize=500\n")

    kind = NodeKind(count=3, cpus=4, memory=8000, gres=(("gpu", 2),), features=("a", "b"))
    try:
        with slurm_cluster(
            folder, kinds=(kind,), accounting=True, root=slurm_root, prepare=prepare
        ) as made:
            yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_what_users_write_is_read_back(
    cluster: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slurm_root: Path | None
) -> None:
    """pull's separator keeps every text apart, and squeue, sinfo, scontrol and sshare are read."""
    held = cluster.sbatch("-H", "-J", f"h{MARKS}|x", "-C", "a|b", "-t", "5")
    ids = {name: submit(cluster, name) for name in JOBS}
    queue = {row.id: row for row in parse_queue(cluster.run(*SQUEUE, env=ENVIRONMENT))}
    assert held in queue and queue[held].features == "a|b"
    assert {row.name for row in parse_nodes(cluster.run(*SINFO))} == {"n1", "n2", "n3"}
    shown = cluster.run("scontrol", "--oneliner", "--details", "show", "job")
    assert held in dict(parse_details(shown))
    for what in ("node", "partition"):
        found = records_and_unknown(cluster.run("scontrol", "--oneliner", "show", what))
        assert found and not [key for _, _, unknown in found for key in unknown]
    config = parse_config(cluster.run("scontrol", "show", "config"))
    version = parse_version(config["SLURM_VERSION"])
    assert version is not None and config["Licenses"].startswith("matlab")
    assert parse_shares(cluster.run("sshare", "-a", "-P", "-l"), path="sshare")[0].account == "root"
    cluster.run("scancel", held)
    wait_for(lambda: not cluster.run("squeue", "-h", "-a").strip(), "an empty queue")

    def open_ones() -> list[str]:
        rows = cluster.run("sacct", "-a", "-X", "-n", "-P", "-o", "JobID,State").split("\n")
        ended = [row.partition("|")[0].partition("_")[0] for row in rows if "|COMPLETED" in row]
        return [name for name, job in ids.items() if ended.count(job) < TASKS.get(name, 1)]

    for _ in range(3):  # slurmdbd loses the end of a job now and then, whatever we read
        with contextlib.suppress(UsageError):
            wait_for(lambda: not open_ones(), "slurmdbd to have written everything down", 60)
        ids |= {name: submit(cluster, name) for name in open_ones()}
    assert open_ones() == []
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, cluster.env[name])
    since = (datetime.now() - timedelta(days=1)).date().isoformat()
    assert run(["pull", "slurm", "--since", since, "-o", str(tmp_path / "s")]) == 0
    site, jobs = read_site(tmp_path / "s")
    asked = jobs.requests
    assert asked is not None and len(jobs) >= len(JOBS) + 2
    assert (tmp_path / "s" / "more.conf").is_file() and (tmp_path / "s" / "sdiag.txt").is_file()
    row = {int(one): at for at, one in enumerate(jobs.extra.get("log_id", jobs.job_id).tolist())}
    of = {name: row[int(one)] for name, one in ids.items() if name != "array"}
    assert asked[of["a|b"]].features == "a|b"
    one = asked[of["asks"]]
    assert (one.nodes, one.max_nodes, one.tasks, one.exclusive, one.contiguous) == (
        1, 2, 2, True, True,
    )  # fmt: skip
    assert (asked.nice[of["asks"]], asked.least_time[of["asks"]]) == (5, 60)
    assert set(asked.throttle[asked.array >= 0].tolist()) == {2}
    assert asked[of["licence"]].amounts == (("license/matlab", 2),)
    assert site.amounts["license/matlab"] == 4
    assert [gres.name for gres in asked[of["licence"]].gres] == ["gpu"]
    assert asked[of["beyond"]].beyond == ("deadline", "switches")
    log = read_log(cluster.folder / "log" / "slurmctld.log")
    assert parse_version(log.version) == version
