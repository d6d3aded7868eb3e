"""The sacct records of a real run driven by the loop pass through `shadowtime replay`."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import require
from live.conftest import put_up_the_gate
from live.test_slurm_real import finish, loop_over, started, submit, tidied
from shadowtime.cli import run
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.sacct_rows import BY_HAND, RECOMMENDED
from shadowtime.slurmtext.squeue import ENVIRONMENT
from shadowtime.testing.slurm import SlurmCluster, slurm_cluster, wait_for
from shadowtime.testing.slurm import missing_programs as missing_of_slurm
from shadowtime.testing.slurm_accounting import missing_programs

HEAD = RECOMMENDED.replace(",", BY_HAND)
JOBS = ((3, 4, 2), (4, 3, 1), (1, 8, 1), (1, 3, 1), (2, 2, 1))
"""(nodes, seconds, requested minutes) on four nodes: the third is backfilled beside the first."""


@pytest.fixture(scope="module")
def counted() -> Iterator[SlurmCluster]:
    """Four nodes whose jobs go into slurmdbd."""
    missing = missing_of_slurm() + missing_programs()
    require("slurmdbd", not missing, f"Slurm's accounting is not here ({', '.join(missing)})")
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-sacct-"))
    try:
        with slurm_cluster(folder, prepare=put_up_the_gate, nodes=4, accounting=True) as cluster:
            yield cluster
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def export(cluster: SlurmCluster, to: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Run the command that `shadowtime trace sacct` prints."""
    assert run(["trace", "sacct", "--print-command"]) == 0
    command = capsys.readouterr().out.replace("jobs.psv", str(to))
    subprocess.run(["sh", "-c", command], env=cluster.env, check=True, timeout=300)


def lines_of(export: Path) -> list[str]:
    head, *lines = export.read_text().splitlines()
    assert head == HEAD
    return lines


def schedule(folder: Path, policy: str) -> dict[str, int]:
    """The start of each job in a result folder."""
    (found,) = (folder / "schedules").glob(f"*{policy}*.csv")
    with found.open() as file:
        return {row["job_id"]: int(row["start"]) for row in csv.DictReader(file)}


def test_a_run_goes_back_through_replay(
    counted: SlurmCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Number of jobs, starts, processors and nodes are what happened."""
    log = counted.folder / "runs.log"
    ids = [submit(counted, log, *job) for job in JOBS]
    finish(loop_over(counted, "easy", tmp_path))
    tidied(counted)
    listed = counted.run("squeue", "-h", "-a", "-t", "all", "-o", "%i %S %N", env=ENVIRONMENT)
    happened = {
        job: (int(start), sorted(expand(nodes)))
        for job, start, nodes in (line.split() for line in listed.splitlines())
    }
    psv = tmp_path / "jobs.psv"

    def all_there() -> bool:
        export(counted, psv, capsys)
        return psv.read_text().count(f"{BY_HAND}COMPLETED{BY_HAND}") == len(JOBS)

    wait_for(all_there, "slurmdbd to have written everything down")

    rows = [
        dict(zip(HEAD.split(BY_HAND), line.split(BY_HAND), strict=True)) for line in lines_of(psv)
    ]
    assert {row["JobIDRaw"]: sorted(expand(row["NodeList"])) for row in rows} == {
        job: nodes for job, (_, nodes) in happened.items()
    }

    again = ["replay", str(psv), "--cluster", "pool:64", "--policy", "easy", "--json"]
    assert run([*again, "-o", str(tmp_path / "replayed")]) == 0
    found = json.loads(capsys.readouterr().out)["trace"]
    assert (found["jobs"], sum(found["cleaning"].values())) == (len(JOBS), 0)
    submits = [int(row["Submit"]) for row in rows]
    recorded = schedule(tmp_path / "replayed", "recorded")
    assert {job: min(submits) + start for job, start in recorded.items()} == {
        job: start for job, (start, _) in happened.items()
    }
    simulated = schedule(tmp_path / "replayed", "easy")
    assert sorted(ids, key=lambda job: (simulated[job], int(job))) == [
        job for job, _ in started(counted, ids)
    ]
