"""The board put together: a snapshot in one file, or a server until it is interrupted."""

from __future__ import annotations

import asyncio
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from shadowtime.board.collector import Collector, Wanted
from shadowtime.board.estimator import Estimator
from shadowtime.board.page import pages, snapshot
from shadowtime.board.server import Serving, run_server
from shadowtime.engine.live_pass.site_pass import refuse_on_site
from shadowtime.errors import UsageError
from shadowtime.live.slurm.drive import Where
from shadowtime.policy import parse_policy
from shadowtime.private import write_result
from shadowtime.types import File


@dataclass(frozen=True, kw_only=True)
class Publishing:
    """Where the board is shown, to whom, and what of it."""

    port: int = 8080
    """in 0..65535 : The port to serve on; 0: a free one, which is printed."""
    host: str = "127.0.0.1"
    """ADDRESS : The address to serve on. Beyond loopback, a proxy should ask who is there."""
    allow_host: tuple[str, ...] = ()
    """NAME : A further name by which browsers call the board, such as that of a proxy."""
    frame_ancestors: str = ""
    """SOURCES : Sites that may show /embed in a frame, such as 'https://portal.example.org'."""
    hide: tuple[Literal["names", "users", "nothing"], ...] = ()
    """Not shown to anybody: names of jobs, users with accounts. [default: what the cluster keeps
    private; 'nothing' shows all that this user may see]"""
    every: float = 2.0
    """SECONDS >= 0.5 : The time between two polls, which all browsers share."""
    snapshot: File | None = None
    """OUT.html : Write the board as one HTML file and end; no server is needed to read it."""

    def __post_init__(self) -> None:
        if "nothing" in self.hide and len(self.hide) > 1:
            raise UsageError("--hide nothing hides nothing: leave it out, or name what to hide")
        if any(char in self.frame_ancestors for char in ";,\r\n"):
            raise UsageError(
                "--frame-ancestors: separate sources by blanks, as in 'https://a https://b'"
            )


PUBLISHED = Publishing()


def run_board(
    how: Publishing,
    *,
    where: Where | None = None,
    policy: str | None = None,
    state_file: str | None = None,
    estimates: bool = True,
    pool: str = "",
    schedd: str = "",
) -> None:
    """Write a snapshot of a Slurm (``where``) or an HTCondor, or serve until interrupted."""
    if policy is not None:
        refuse_on_site(parse_policy(policy))
    wanted = Wanted(
        system="slurm" if where else "condor",
        where=where,
        pool=pool,
        schedd=schedd,
        every=how.every,
        hide=frozenset(how.hide) - {"nothing"} if how.hide else None,
        estimates=estimates,
        state_file=state_file,
        shadow=policy or "",
    )
    if how.snapshot is not None:
        write_snapshot(wanted, Path(how.snapshot))
        return
    serve(
        Serving(
            host=how.host, port=how.port, names=how.allow_host, frame_ancestors=how.frame_ancestors
        ),
        wanted,
    )


def write_snapshot(wanted: Wanted, path: Path) -> None:
    """One poll and one estimate, as a file."""
    collector = Collector(wanted, lambda made: None)
    collector.source = wanted.source()
    collector.keeper.poll(collector.source.poll())
    estimating = wanted.estimating()
    if estimating is not None:
        collector.learn(Estimator(estimating, tell=_say).step())
    write_result(path, snapshot(collector.keeper))


def serve(serving: Serving, wanted: Wanted) -> None:
    """Serve until SIGINT or SIGTERM."""

    async def until_told() -> None:
        task = asyncio.create_task(run_server(serving, pages(), wanted, tell=_say))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            return

    asyncio.run(until_told())


def _say(line: Any) -> None:
    print(f"shadowtime: {line}", file=sys.stderr, flush=True)
