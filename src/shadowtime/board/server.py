"""The server: pages, documents and events, from bytes that the collector made.

One thread and one event loop hold all browsers; nothing is computed for a request but the words
why a job waits, which the collector finds.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import hashlib
import itertools
import threading
import time
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shadowtime.board.collector import COLLECT, Published, Wanted
from shadowtime.board.http import BadRequest, Names, Request, content_policy, head, read_request
from shadowtime.child_process import Child, ChildEnded, packed
from shadowtime.errors import UsageError

if TYPE_CHECKING:
    from shadowtime.board.page import Page

API = "/api/v1/"
BEHIND = 8 << 20
"""Bytes that a browser may be behind before it is dropped; it connects again."""
ALIVE = 15.0
"""Seconds without an event after which a comment is sent, so that proxies keep the connection."""
TO_ANSWER = 10.0
MOST = 2000
"""Connections at a time."""
RESTART = 5.0


@dataclass(frozen=True, kw_only=True)
class Serving:
    """Where and to whom: an address, a port, further names, and pages that may frame `/embed`."""

    host: str = "127.0.0.1"
    port: int = 8080
    names: Sequence[str] = ()
    frame_ancestors: str = ""


@dataclass
class Server:
    """Serves the pages and what the collector publishes.

    ``pages`` by path; ``ask`` hands a question about a job to the collector.
    """

    serving: Serving
    pages: Mapping[str, Page]
    ask: Callable[[int, str], None] = lambda number, job: None
    documents: dict[str, bytes] = field(default_factory=dict)
    watching: set[asyncio.StreamWriter] = field(default_factory=set)
    version: int = 0
    last_event: str = ""

    def __post_init__(self) -> None:
        self._numbers = itertools.count()
        self._asked: dict[int, asyncio.Future[bytes | None]] = {}
        self._names = Names([self.serving.host, *self.serving.names])
        self._tasks: set[asyncio.Task[Any]] = set()
        self._sent = 0.0

    async def start(self) -> asyncio.Server:
        """Listen; UsageError if the port is taken."""
        where = f"{self.serving.host}:{self.serving.port}"
        try:
            return await asyncio.start_server(
                self._connected, self.serving.host, self.serving.port, limit=16_384, backlog=256
            )
        except OSError as error:
            raise UsageError(
                f"cannot serve on {where} ({error.strerror}): choose another with --host and --port"
            ) from None

    async def stop(self) -> None:
        """End all connections."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def publish(self, made: Published) -> None:
        """New documents; everybody who watches gets the event."""
        self.documents |= made.documents
        self.version, self.last_event = made.version, made.event
        self._send(f"id: {made.version}\nevent: changes\ndata: {made.event}\n\n".encode())

    def answer(self, number: int, document: bytes | None) -> None:
        """The collector's answer about a job."""
        waiting = self._asked.pop(number, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(document)

    async def keep_alive(self) -> None:
        """Comments for those who watch while nothing happens."""
        while True:
            await asyncio.sleep(ALIVE / 3)
            if time.monotonic() - self._sent >= ALIVE:
                self._send(b": still here\n\n")

    def _send(self, raw: bytes) -> None:
        self._sent = time.monotonic()
        for writer in [*self.watching]:
            if writer.transport.get_write_buffer_size() > BEHIND or writer.is_closing():
                self.watching.discard(writer)
                writer.transport.abort()
            else:
                writer.write(raw)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while True:
                try:
                    request = await read_request(reader)
                except BadRequest as error:
                    await self._reply(writer, 400, str(error).encode())
                    return
                if request is None:
                    return
                if len(self._tasks) > MOST:
                    await self._reply(writer, 503, b"too many browsers")
                    return
                if request.path == f"{API}events" and self._is_for_us(request):
                    await self._stream(reader, writer)
                    return
                await self._answer(request, writer)
                if not request.lasts:
                    return
        except (ConnectionError, TimeoutError, asyncio.CancelledError):
            return
        finally:
            self._tasks.discard(task)
            self.watching.discard(writer)
            writer.close()
            with contextlib.suppress(ConnectionError, TimeoutError, asyncio.CancelledError):
                await writer.wait_closed()

    def _is_for_us(self, request: Request) -> bool:
        return request.method == "GET" and self._names.accept(request.host)

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        if not self._names.accept(request.host):
            words = "this server has another name: allow this one with --allow-host"
            await self._reply(writer, 421, words.encode())
        elif request.method not in ("GET", "HEAD"):
            await self._reply(writer, 405, b"the board is read-only", {"Allow": "GET, HEAD"})
        elif request.path in self.pages:
            await self._page(request, writer)
        elif request.path.startswith(API):
            await self._document(request, writer)
        else:
            await self._reply(writer, 404, b"there is no such page: see /")

    async def _page(self, request: Request, writer: asyncio.StreamWriter) -> None:
        page = self.pages[request.path]
        frames = self.serving.frame_ancestors if page.framed else ""
        headers = {
            "Content-Type": "text/html; charset=utf-8",
            "Content-Security-Policy": content_policy(page.digest, frames or "'none'"),
            "Cross-Origin-Opener-Policy": "same-origin",
        }
        if not frames:
            headers["X-Frame-Options"] = "DENY"
        await self._compressed(request, writer, page.raw, headers)

    async def _document(self, request: Request, writer: asyncio.StreamWriter) -> None:
        name = request.path.removeprefix(API)
        document = self.documents.get(name)
        if name.startswith("jobs/"):
            document = await self._job(urllib.parse.unquote(name.removeprefix("jobs/")))
        elif document is None and name in ("state", "history", "scores"):
            await self._reply(writer, 503, b"nothing was polled yet", {"Retry-After": "1"})
            return
        if document is None:
            await self._reply(writer, 404, b"there is no such document: see docs/reference")
            return
        await self._compressed(request, writer, document, {"Content-Type": "application/json"})

    async def _job(self, job: str) -> bytes | None:
        number = next(self._numbers)
        waiting: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        self._asked[number] = waiting
        self.ask(number, job)
        try:
            return await asyncio.wait_for(waiting, TO_ANSWER)
        except TimeoutError:
            self._asked.pop(number, None)
            return None

    async def _compressed(
        self,
        request: Request,
        writer: asyncio.StreamWriter,
        raw: bytes,
        headers: Mapping[str, str],
    ) -> None:
        tag = f'"{hashlib.sha256(raw).hexdigest()[:24]}"'
        more = {"ETag": tag, "Vary": "Accept-Encoding", **headers}
        if request.headers.get("if-none-match") == tag:
            await self._reply(writer, 304, b"", more)
            return
        if "gzip" in request.headers.get("accept-encoding", ""):
            more["Content-Encoding"] = "gzip"
        else:
            raw = gzip.decompress(raw)
        await self._reply(writer, 200, raw, more, bare=request.method == "HEAD")

    async def _reply(
        self,
        writer: asyncio.StreamWriter,
        status: int,
        raw: bytes,
        headers: Mapping[str, str] | None = None,
        *,
        bare: bool = False,
    ) -> None:
        values = {"Content-Type": "text/plain; charset=utf-8", **(headers or {})}
        writer.write(head(status, values, length=len(raw)) + (b"" if bare else raw))
        await asyncio.wait_for(writer.drain(), 60)

    async def _stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        headers = {
            "Content-Type": "text/event-stream; charset=utf-8",
            "Cache-Control": "no-store",
            "X-Accel-Buffering": "no",
        }
        writer.write(head(200, headers, length=None) + b"retry: 2000\n\n")
        first = f'{{"version":{self.version},"hello":true}}'
        writer.write(f"event: hello\ndata: {first}\n\n".encode())
        self.watching.add(writer)
        while await reader.read(1024):  # nothing is expected; the end is
            pass


async def run_server(
    serving: Serving, pages: Mapping[str, Page], wanted: Wanted, *, tell: Callable[[str], None]
) -> None:
    """Serve until cancelled; the collector is started, and again if it should end."""
    loop = asyncio.get_running_loop()
    server = Server(serving, pages)
    listening = await server.start()
    place = listening.sockets[0].getsockname()
    shown = f"[{place[0]}]" if ":" in str(place[0]) else place[0]
    tell(f"the board is on http://{shown}:{place[1]}/ (read-only; Ctrl-C ends it)")
    children: list[Child] = []

    def receive(child: Child) -> None:
        try:
            while True:
                loop.call_soon_threadsafe(_take, server, child.receive())
        except (ChildEnded, RuntimeError) as error:
            if not loop.is_closed():
                loop.call_soon_threadsafe(ended.set_result, str(error))

    alive = asyncio.create_task(server.keep_alive())
    try:
        while True:
            ended: asyncio.Future[str] = loop.create_future()
            child = Child(COLLECT, packed(wanted), keep_errors=False)
            children.append(child)
            server.ask = lambda number, job, to=child: to.send(packed((number, job)))  # type: ignore[misc]
            threading.Thread(target=receive, args=(child,), daemon=True).start()
            tell(f"the collector ended ({await ended}); it is started again")
            await asyncio.sleep(RESTART)
    finally:
        alive.cancel()
        listening.close()
        await server.stop()
        for child in children:
            child.end()


def _take(server: Server, answer: Any) -> None:
    if answer[0] == "published":
        server.publish(answer[1])
    else:
        server.answer(answer[1], answer[2])
