"""Serve a page of the cluster: jobs, expected starts, the past day. Read-only.

\b
shadowtime board slurm
shadowtime board slurm --port 8080 --hide names
shadowtime board slurm --snapshot board.html
"""

from __future__ import annotations

from typing import Any

from shadowtime.board.run import PUBLISHED, Publishing, run_board
from shadowtime.cli.common.outputs import check_file, wrote
from shadowtime.live.slurm.drive import Where
from shadowtime.types import File

COMMANDS = {"Commands": ("slurm", "condor")}


def slurm(
    *,
    publishing: Publishing = PUBLISHED,
    policy: str | None = None,
    partition: str = "",
    state: File | None = None,
    timeout: float = 20.0,
    no_estimates: bool = False,
) -> None:
    """The board of a Slurm cluster, with the expected start of every waiting job.

    An ordinary user runs it: what squeue does not show this user is not on the board.

    \b
    shadowtime board slurm
    shadowtime board slurm --policy easy

    Parameters
    ----------
    policy : P
        A name with or without parameters, as in a simulation. [none: a policy in shadow mode,
        compared with what Slurm does]
    no_estimates
        Show what is there; predict nothing.
    """
    where = Where(partition=partition, timeout=timeout)
    _run(publishing, where=where, policy=policy, state_file=state, estimates=not no_estimates)


def condor(*, publishing: Publishing = PUBLISHED, pool: str = "", schedd: str = "") -> None:
    """The board of an HTCondor pool: queue and machines; starts are not predicted.

    \b
    shadowtime board condor --schedd all

    Parameters
    ----------
    schedd : NAMES
        The schedds, as in a,b, or all. [default: local]
    """
    _run(publishing, pool=pool, schedd=schedd)


def _run(publishing: Publishing, **source: Any) -> None:
    if publishing.snapshot is not None:
        check_file("--snapshot", publishing.snapshot)
    run_board(publishing, **source)
    wrote(publishing.snapshot)
