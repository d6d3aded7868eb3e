"""Record a run of Slurm's own scheduler on a private cluster, and check the model on it.

    .venv/bin/python benchmarks/record_slurm.py FOLDER --jobs 150 --seed 7

The folder then holds slurmctld's log with every plan, sacct's table, what was submitted, what jobs
held on each node, and the configuration: what `shadowtime check slurm FOLDER` reads.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from shadowtime.slurm.recording.check import check_recording
from shadowtime.testing.slurm import slurm_cluster
from shadowtime.testing.slurm_recording import SETTINGS, draw_jobs, record


def main() -> None:
    parser = argparse.ArgumentParser(description="Record Slurm's own scheduler.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--cpus", type=int, default=16)
    parser.add_argument("--load", type=float, default=1.2)
    parser.add_argument("--mean", type=float, default=20.0, help="mean run in seconds")
    parser.add_argument("--set", action="append", default=[], help="a further line of slurm.conf")
    given = parser.parse_args()
    jobs = draw_jobs(
        given.seed,
        given.jobs,
        nodes=given.nodes,
        cpus=given.cpus,
        load=given.load,
        mean=given.mean,
    )
    with (
        tempfile.TemporaryDirectory(prefix="shadowtime-record-") as work,
        slurm_cluster(
            Path(work),
            nodes=given.nodes,
            cpus=given.cpus,
            gres=0,
            accounting=True,
            settings=(*SETTINGS, *given.set),
        ) as cluster,
    ):
        record(cluster, jobs, given.folder)
    found = check_recording(given.folder)
    print(f"passes {found.passes}, left out {found.left_out}")
    print(f"plans {found.plans_equal} of {found.plans} equal")
    print(f"backfill starts {found.starts_equal} of {found.starts}, too many {found.extra_starts}")
    print(f"main starts {found.main_starts_equal} of {found.main_starts}")


if __name__ == "__main__":
    main()
