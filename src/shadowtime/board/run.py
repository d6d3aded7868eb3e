"""The board put together: a snapshot in one file, or a server until it is interrupted."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

from shadowtime.board.collector import Collector, Wanted
from shadowtime.board.estimator import Estimator
from shadowtime.board.page import pages, snapshot
from shadowtime.board.server import Serving, run_server
from shadowtime.engine.live_pass.site_pass import refuse_on_site
from shadowtime.errors import UsageError
from shadowtime.live.slurm.drive import Where
from shadowtime.policy import parse_policy
from shadowtime.private import write_result


def run_board(
    system: str,
    *,
    port: int,
    host: str,
    allow_host: tuple[str, ...],
    frame_ancestors: str,
    hide: tuple[str, ...],
    every: float,
    snapshot: str | None,
    policy: str | None = None,
    partition: str = "",
    state_file: str | None = None,
    timeout: float = 20.0,
    no_estimates: bool = False,
    pool: str = "",
    schedd: str = "",
) -> None:
    """Write a snapshot, or serve until interrupted."""
    if "nothing" in hide and len(hide) > 1:
        raise UsageError("--hide nothing hides nothing: leave it out, or name what to hide")
    if any(char in frame_ancestors for char in ";,\r\n"):
        raise UsageError(
            "--frame-ancestors: separate sources by blanks, as in 'https://a https://b'"
        )
    if policy is not None:
        refuse_on_site(parse_policy(policy))
    wanted = Wanted(
        system=system,
        where=Where(partition=partition, timeout=timeout) if system == "slurm" else None,
        pool=pool,
        schedd=schedd,
        every=every,
        hide=frozenset(hide) - {"nothing"} if hide else None,
        estimates=not no_estimates,
        state_file=state_file,
        shadow=policy or "",
    )
    if snapshot is not None:
        write_snapshot(wanted, Path(snapshot))
        return
    serving = Serving(host=host, port=port, names=allow_host, frame_ancestors=frame_ancestors)
    serve(serving, wanted)


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
