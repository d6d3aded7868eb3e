"""Metrics for Prometheus: over HTTP on loopback, or as a file for node_exporter."""

from __future__ import annotations

import contextlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from shadowtime import private
from shadowtime.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LOOPBACK = "127.0.0.1"
TYPE = "text/plain; version=0.0.4; charset=utf-8"
FOR_ALL = 0o644
"""The mode of a metrics file: node_exporter runs as another user."""


@contextlib.contextmanager
def served(text: Callable[[], str], port: int) -> Iterator[int]:
    """Answer GET /metrics on a port of loopback alone while the block lasts; yields the port.

    ``port`` 0: any free one. The answers come from a thread of their own, so that a hanging
    scheduler command does not keep Prometheus from seeing how old the last look is.

    Examples
    --------
    >>> from http.client import HTTPConnection
    >>> with served(lambda: "x 1\\n", 0) as port:
    ...     one = HTTPConnection("127.0.0.1", port)
    ...     one.request("GET", "/metrics")
    ...     one.getresponse().read()
    b'x 1\\n'
    """

    class Answers(BaseHTTPRequestHandler):
        timeout = 5

        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/metrics":
                self.send_error(404, "see /metrics")
                return
            raw = text().encode()
            self.send_response(200)
            self.send_header("Content-Type", TYPE)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *values: object) -> None:
            """Nothing: every scrape would be a line."""

    try:
        server = ThreadingHTTPServer((LOOPBACK, port), Answers)
    except OSError as error:
        raise UsageError(
            f"port {port} of {LOOPBACK} cannot be used for metrics ({error.strerror}): "
            "give --metrics-port another one"
        ) from None
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class MetricsFile:
    """Replaces a file as a whole at every look, readable by all users.

    A file that cannot be written is reported once, and once more when it can be again.
    """

    def __init__(self, path: Path, *, tell: Callable[[str], None]) -> None:
        self.path, self.tell = path, tell
        self._why = ""

    def write(self, text: str) -> None:
        """Replace the file."""
        try:
            private.replace_whole(self.path, text.encode(), mode=FOR_ALL, flush=False)
        except OSError as error:
            why = error.strerror or str(error)
            if why != self._why:
                self.tell(f"the metrics file {self.path} cannot be written ({why}): going on")
            self._why = why
            return
        if self._why:
            self.tell(f"the metrics file {self.path} is written again")
            self._why = ""
