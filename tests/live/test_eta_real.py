"""`eta` on real Slurms of every version: learned from accounting, asked before submitting."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import pytest

from shadowtime.cli import run
from shadowtime.live.runner import Commands
from shadowtime.live.slurm import drive, forecast
from shadowtime.slurmtext.squeue import ENVIRONMENT
from shadowtime.testing.slurm import slurm_cluster, wait_for
from shadowtime.testing.slurm_recording import SETTINGS

ENDED = 12


def test_starts_are_learned_from_accounting(
    slurm_root: Path | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What ended jobs used, limits and usage are read; who waits is told when and why.

    A request that fits beside what runs, and before what is planned, starts at once.
    """
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-eta-"))
    try:
        with slurm_cluster(
            folder, nodes=2, cpus=4, gres=0, accounting=True, settings=SETTINGS, root=slurm_root
        ) as cluster:
            env = {**cluster.env, **ENVIRONMENT}
            monkeypatch.setattr(drive, "commands", lambda where: Commands(env=env))
            for _ in range(ENDED):
                cluster.sbatch("-n", "1", "-t", "10", script="sleep 1")
            words = ("sacct", "-a", "-X", "-n", "-P", "--format=State")
            wait_for(
                lambda: cluster.run(*words).split().count("COMPLETED") == ENDED,
                "the jobs' ends in sacct",
                90,
            )
            long = cluster.sbatch("-N", "1", "--exclusive", "-t", "10", script="sleep 600")
            waits = cluster.sbatch("-N", "2", "--exclusive", "-t", "10", script="sleep 1")
            wait_for(lambda: "RUNNING" in cluster.run("squeue", "-h", "-o", "%T"), "a running job")
            seen = forecast.look(drive.make_port(drive.Where()).answers)
            assert len(seen.learned.ended) == ENDED and seen.site.qos and not seen.missing
            assert all(one.share < 0.2 and one.limit == 600 for one in seen.learned.ended)
            state = ["--state", str(tmp_path / "s.json")]

            def answer(*words: str) -> dict[str, object]:
                capsys.readouterr()
                assert run(["eta", *words, *state, "--json"]) == 0, capsys.readouterr().err
                return dict(json.loads(capsys.readouterr().out))

            found = answer(waits)
            assert found["policy"] == "slurm" and found["within_hour"] == 1
            now, expected, latest = (int(str(found[key])) for key in ("now", "expected", "latest"))
            assert now <= expected <= latest <= now + 660
            assert long in str(found["why"])
            assert run(["eta", "--request", "-n 1 -t 1", *state]) == 0
            shown = capsys.readouterr()
            assert "(80 %), 100% within an hour" in shown.out and "clearly earlier" in shown.out
            assert shown.err == ""  # accounting was read
            assert run(["eta", "--request", "-p gone", *state]) == 2
            assert "there is no partition gone" in capsys.readouterr().err
    finally:
        shutil.rmtree(folder, ignore_errors=True)
