"""Polls and estimates of a small cluster, and a board of them on a free port."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from shadowtime.board.collector import Collector, Wanted
from shadowtime.board.page import pages
from shadowtime.board.server import Server, Serving
from shadowtime.board.view import Estimate, Estimates, Job, Node, View
from shadowtime.errors import PortError

NOW = 1_700_000_000


def nodes(count: int = 4, cpus: int = 4) -> tuple[Node, ...]:
    return tuple(
        Node(name=f"n{k}", cpus=cpus, state="idle", usable=True, partitions=("batch",))
        for k in range(1, count + 1)
    )


def waiting(number: int, **more: object) -> Job:
    values = {"name": f"job-{number}", "user": "eva", "account": "physics", "partition": "batch"}
    values |= {"submit": NOW - 600, "limit": 3600, "priority": 1000.0 - number}
    values |= {"reason": "Priority"}
    return Job(id=str(number), state="waiting", **{**values, **more})


def running(number: int, host: str = "n1", **more: object) -> Job:
    values = {"name": f"job-{number}", "user": "tom", "account": "maths", "partition": "batch"}
    values |= {"submit": NOW - 900, "start": NOW - 300, "limit": 3600, "hosts": (host,)}
    values |= {"reason": "running"}
    return Job(id=str(number), state="running", **{**values, **more})


def view(*jobs: Job, now: int = NOW, **more: object) -> View:
    values = {"cluster": "test", "system": "Slurm 0", "nodes": nodes(), **more}
    return View(now=now, jobs=jobs, **values)


def estimates(*jobs: Job, at: int = NOW, wait: int = 1800, **more: object) -> Estimates:
    starts = {
        job.id: Estimate(
            expected=at + wait, earliest=at + wait // 2, latest=at + 2 * wait, within_hour=0.8
        )
        for job in jobs
        if job.state == "waiting"
    }
    return Estimates(at=at, starts=starts, runs={job.id: 900 for job in jobs}, **more)


@dataclass
class Fake:
    """A source that a test feeds."""

    view: View
    problem: str = ""
    polls: int = 0

    def poll(self) -> View:
        self.polls += 1
        if self.problem:
            raise PortError(self.problem)
        return self.view

    def why(self, job: str, site: object) -> str:
        return f"eva's jobs hold everything that {job} needs"


@dataclass
class Board:
    """A board that is served, whose polls the test makes."""

    port: int
    source: Fake
    collector: Collector
    server: Server
    loop: asyncio.AbstractEventLoop
    made: list[object] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def poll(self, *jobs: Job, **more: object) -> None:
        if jobs or more:
            self.source.view = view(*jobs, **more)
        self.collector.poll()


@contextmanager
def served(first: View, *, hide: frozenset[str] | None = None, **more: str) -> Iterator[Board]:
    """A board of a fake system on a free port."""
    loop = asyncio.new_event_loop()
    server = Server(Serving(port=0, **more), pages())
    started = asyncio.run_coroutine_threadsafe(server.start(), loop)
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    listening = started.result(30)
    done = threading.Event()

    def publish(made: object) -> None:
        def take() -> None:
            server.publish(made)
            done.set()

        done.clear()
        loop.call_soon_threadsafe(take)
        assert done.wait(30)

    collector = Collector(Wanted(system="slurm", hide=hide), publish)
    source = Fake(first)
    collector.source = source
    server.ask = lambda number, job: server.answer(number, collector.job(job))
    board = Board(listening.sockets[0].getsockname()[1], source, collector, server, loop)
    try:
        board.poll()
        yield board
    finally:

        async def stop() -> None:
            listening.close()
            await listening.wait_closed()
            await server.stop()

        asyncio.run_coroutine_threadsafe(stop(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()
