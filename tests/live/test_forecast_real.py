"""A real Slurm with its own backfill, watched: read-only, every start predicted and scored."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from conftest import require
from live.test_slurm_real import lasting_until
from shadowtime.eta.scores import accuracy
from shadowtime.live.clock import SystemClock
from shadowtime.live.predictions import Predictions, read_predictions, resolved
from shadowtime.live.runner import Commands, Done
from shadowtime.live.slurm.answers import Answers
from shadowtime.live.slurm.forecast import Forecast, Seen
from shadowtime.live.slurm.watch import Watch
from shadowtime.policy import parse_policy
from shadowtime.slurmtext.squeue import ENVIRONMENT
from shadowtime.testing.slurm import missing_programs, slurm_cluster
from shadowtime.testing.slurm_recording import SETTINGS


def test_a_slurm_that_schedules_by_itself_is_predicted(tmp_path: Path) -> None:
    """Waiting jobs are predicted, start by themselves, and each start is scored.

    The commands are those that change nothing; a held job stays held and has a reason.
    """
    missing = missing_programs()
    require("slurm", not missing, f"Slurm is not installed ({', '.join(missing)})")
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-slurm-"))
    asked: list[tuple[str, ...]] = []
    try:
        with slurm_cluster(folder, nodes=2, cpus=4, gres=0, settings=SETTINGS) as cluster:
            commands = Commands(env={**cluster.env, **ENVIRONMENT})

            def run(argv: Sequence[str], *, text: str = "") -> Done:
                asked.append((*argv, *text.split()))
                return commands(argv, text=text)

            held = cluster.sbatch("--hold", "-n", "1")
            go = folder / "go"
            first = cluster.sbatch("-N", "2", "--exclusive", "-t", "20", script=lasting_until(go))
            waits = [
                cluster.sbatch("-N", "2", "--exclusive", "-t", "1", script="sleep 1"),
                cluster.sbatch("-n", "3", "-t", "1", script="sleep 1"),
            ]
            watch = Watch(
                answers=Answers(run, SystemClock()),
                clock=SystemClock(),
                predictions=Predictions(tmp_path / "p"),
                policy=parse_policy("slurm"),
                every=0.5,
            )
            unknown: dict[str, str] = {}

            until = time.monotonic() + 600

            def over() -> bool:
                left = cluster.run("squeue", "-h", "-t", "PD,R,CG", "-o", "%i").split()
                return left == [held] or time.monotonic() > until

            def after(seen: Seen, found: Forecast) -> None:
                unknown.update(found.unknown)
                if found.etas.keys() >= {*waits}:  # the first ends once the others are predicted
                    go.touch()

            watch.run_on(stopped=over, after=after)
            assert time.monotonic() <= until, "the jobs did not come to an end"
            watch.step()
            assert "held" in unknown[held]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert {argv[0] for argv in asked} == {"squeue", "scontrol", "sacctmgr", "sacct", "sshare"}
    assert all("show" in argv for argv in asked if argv[0] in ("scontrol", "sacctmgr"))
    found = list(resolved(read_predictions(tmp_path / "p")))
    assert set(waits) <= {one.job for one in found} <= {first, *waits}
    assert all(one.start >= one.at - 5 for one in found)
    assert accuracy(found)[-1].ours is not None
