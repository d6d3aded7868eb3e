"""50 browsers on the board of a real Slurm with 10,000 waiting jobs: first view, changes, polls.

A Slurm with 16 nodes is started on loopback; one job holds all nodes and arrays wait behind it. 50
clients fetch the page and the state at the same moment and follow the events. Then a job is
submitted, and the time until each of them has it is measured; so is the time of a Chromium from
opening the page until it has drawn it, if it is installed.

    .venv/bin/python benchmarks/board.py
    .venv/bin/python benchmarks/board.py --jobs 1000 --browsers 10
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
ARRAY = 1000
PATIENCE = 300.0


class Client:
    """A browser without a window: page, state, history, and the events."""

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        self.host, self.port = place.hostname, place.port
        self.jobs: set[str] = set()
        self.version = -1
        self.first = 0.0
        self.bytes = 0
        self.seen: dict[str, float] = {}
        self.sought = ""

    async def get(self, path: str) -> bytes:
        reader, writer = await asyncio.open_connection(self.host, self.port, limit=1 << 26)
        head = ("Host: localhost", "Accept-Encoding: gzip", "Connection: close", "", "")
        writer.write("\r\n".join((f"GET {path} HTTP/1.1", *head)).encode())
        raw = await reader.read(-1)
        writer.close()
        self.bytes += len(raw)
        top, _, body = raw.partition(b"\r\n\r\n")
        assert top.startswith(b"HTTP/1.1 200"), top[:80]
        return body

    def take_state(self, raw: bytes) -> None:
        found = json.loads(gzip.decompress(raw))
        self.version, self.jobs = found["version"], {job["id"] for job in found["jobs"]}
        self.look()

    async def state(self) -> None:
        self.take_state(await self.get("/api/v1/state"))

    async def open(self) -> bytes:
        """The page and the state as they arrive; a browser reads them on its own machine."""
        began = time.monotonic()
        await self.get("/")
        raw = await self.get("/api/v1/state")
        self.first = time.monotonic() - began
        return raw

    def look(self) -> None:
        if self.sought and self.sought in self.jobs and self.sought not in self.seen:
            self.seen[self.sought] = time.monotonic()

    async def follow(self) -> None:
        reader, writer = await asyncio.open_connection(self.host, self.port, limit=1 << 26)
        writer.write(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        event = ""
        try:
            async for line in reader:
                self.bytes += len(line)
                text = line.decode().strip()
                if text.startswith("event: "):
                    event = text.removeprefix("event: ")
                elif text.startswith("data: "):
                    await self.take(event, json.loads(text.removeprefix("data: ")))
        finally:
            writer.close()

    async def take(self, event: str, found: dict[str, Any]) -> None:
        known = found.get("base", found["version"]) == self.version
        if found.get("reload") or not known:
            await self.state()
        elif event == "changes":
            self.version = found["version"]
            self.jobs |= {job["id"] for job in found.get("jobs", ())}
            self.look()


def submit(cluster: Any, jobs: int) -> None:
    """One job holds everything; arrays wait behind it."""
    cluster.sbatch("-N", "16", "--exclusive", "-t", "60", script="sleep 3600")
    for _ in range(jobs // ARRAY):
        cluster.sbatch("-n", "2", "-t", "10", f"--array=0-{ARRAY - 1}", "-J", "waits")


def polls_of(cluster: Any) -> int:
    """How many REQUEST_JOB_INFO slurmctld has answered."""
    for line in cluster.run("sdiag").splitlines():
        words = line.split()
        if words and words[0].startswith("REQUEST_JOB_INFO") and "_SINGLE" not in words[0]:
            count = next(word for word in words if word.startswith("count:"))
            return int(count.removeprefix("count:"))
    return 0


async def measure(url: str, cluster: Any, browsers: int) -> dict[str, Any]:
    clients = [Client(url) for _ in range(browsers)]
    arrived = await asyncio.gather(*(one.open() for one in clients))
    for one, raw in zip(clients, arrived, strict=True):
        one.take_state(raw)
    following = [asyncio.create_task(one.follow()) for one in clients]
    changes = []
    before, began = polls_of(cluster), time.monotonic()
    for _ in range(5):
        loop = asyncio.get_running_loop()
        job = await loop.run_in_executor(None, lambda: cluster.sbatch("-n", "1", "-t", "5"))
        submitted = time.monotonic()
        for one in clients:
            one.sought = job
            one.look()
        until = submitted + PATIENCE
        while any(job not in one.seen for one in clients) and time.monotonic() < until:
            await asyncio.sleep(0.02)
        changes += [one.seen[job] - submitted for one in clients]
    lasted, polls = time.monotonic() - began, polls_of(cluster) - before
    for task in following:
        task.cancel()
    await asyncio.gather(*following, return_exceptions=True)
    views = [one.first for one in clients]
    return {
        "first view, s: median, worst": [statistics.median(views), max(views)],
        "change, s: median, worst": [statistics.median(changes), max(changes)],
        "polls a minute": 60 * polls / lasted,
        "MB that a browser got": clients[0].bytes / 1e6,
    }


def chromium(url: str, folder: Path) -> float:
    """Seconds from opening the page until it is drawn; nan without a browser."""
    driver, browser = shutil.which("chromedriver"), shutil.which("chromium")
    if not driver or not browser:
        return float("nan")
    spec = spec_from_file_location("browser", ROOT / "tests" / "report" / "browser.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    with module.Browser(driver, browser, folder) as window:
        window.run(f"location.href = {url!r}")
        while not window.run("return Boolean(window.shadowtime && window.shadowtime.world)"):
            time.sleep(0.05)
        return float(window.run("return performance.getEntriesByName('ready')[0].startTime")) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--browsers", type=int, default=50)
    parser.add_argument("--no-estimates", action="store_true", help="without an estimator beside")
    given = parser.parse_args()
    from shadowtime.testing.slurm import slurm_cluster
    from shadowtime.testing.slurm_recording import SETTINGS

    folder = Path(tempfile.mkdtemp(prefix="shadowtime-slurm-"))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        settings = (*SETTINGS, "MaxJobCount=50000", "MaxArraySize=1001")
        cluster = stack.enter_context(
            slurm_cluster(folder, nodes=16, cpus=4, gres=0, settings=settings)
        )
        submit(cluster, given.jobs)
        command = [sys.executable, "-m", "shadowtime", "board", "slurm", "--port", "0"]
        command += ["--no-estimates"] if given.no_estimates else []
        env = {**cluster.env, "STATE_DIRECTORY": str(folder)}
        board = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
        stack.callback(board.wait)
        stack.callback(board.terminate)
        assert board.stderr is not None
        url = next(word for word in board.stderr.readline().split() if word.startswith("http://"))
        wait_for_poll(url, given.jobs)
        found = asyncio.run(measure(url, cluster, given.browsers))
        drawn = chromium(url, folder / "profile")
    print(f"{given.jobs:,} waiting jobs, {given.browsers} browsers, load {os.getloadavg()[0]:.1f}")
    for name, value in found.items():
        values = value if isinstance(value, list) else [value]
        print(f"{name}: {', '.join(f'{x:.2f}' for x in values)}")
    print(f"Chromium, s until drawn: {drawn:.2f}")


def wait_for_poll(url: str, jobs: int) -> None:
    """Until the board shows all jobs."""
    client = Client(url)
    until = time.monotonic() + PATIENCE
    while len(client.jobs) < jobs and time.monotonic() < until:
        time.sleep(0.5)
        try:
            asyncio.run(client.state())
        except (AssertionError, OSError):
            continue
    assert len(client.jobs) >= jobs, "the board does not show the jobs"


if __name__ == "__main__":
    main()
