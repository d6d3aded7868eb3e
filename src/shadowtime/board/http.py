"""As much of HTTP as the board needs: read-only requests, safe headers."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.utils import formatdate

MOST = 16_384
"""Bytes of the head of a request."""
PATIENCE = 20.0
"""Seconds for a request to arrive."""
REASONS = {
    200: "OK",
    304: "Not Modified",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    421: "Misdirected Request",
    503: "Service Unavailable",
}


class BadRequest(Exception):
    """A request that is not understood."""


@dataclass(frozen=True)
class Request:
    """The method, the path without its query, and the headers in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]

    @property
    def host(self) -> str:
        """The name by which the server was called, without its port.

        Examples
        --------
        >>> Request("GET", "/", {"host": "[::1]:8080"}).host
        '::1'
        """
        text = self.headers.get("host", "").lower()
        if text.startswith("["):
            return text[1:].partition("]")[0]
        return text.rpartition(":")[0] if ":" in text else text

    @property
    def lasts(self) -> bool:
        """Whether the connection is used again."""
        return self.headers.get("connection", "").lower() != "close"


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request of a connection; None at its end. BadRequest where it is none."""
    try:
        raw = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
    except (asyncio.IncompleteReadError, TimeoutError, ConnectionError):
        return None
    except asyncio.LimitOverrunError:
        raise BadRequest("the request is too long") from None
    return parse_request(raw.decode("latin-1"))


def parse_request(text: str) -> Request:
    """A request's head.

    Examples
    --------
    >>> parse_request("GET /api?x=1 HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n")
    Request(method='GET', path='/api', headers={'host': 'a'})
    """
    first, *lines = text.removesuffix("\r\n\r\n").split("\r\n")
    parts = first.split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1.") or not parts[1].startswith("/"):
        raise BadRequest("this is no request")
    headers: dict[str, str] = {}
    for line in lines:
        name, found, value = line.partition(":")
        name = name.lower()
        if not found or name in ("transfer-encoding",) or (name == "host" and name in headers):
            raise BadRequest("this is no request for a page")
        headers[name] = value.strip()
    if headers.get("content-length", "0") != "0":
        raise BadRequest("a request has no content here")
    return Request(parts[0], parts[1].partition("?")[0], headers)


class Names:
    """The names by which the server may be called: a page of another site cannot pretend them.

    Addresses are accepted, as no name leads to them; see "DNS rebinding".

    Examples
    --------
    >>> known = Names(["board.example.org"])
    >>> [known.accept(name) for name in ("localhost", "10.0.0.7", "Board.example.org", "evil.org")]
    [True, True, True, False]
    """

    def __init__(self, more: Iterable[str] = ()) -> None:
        own = ("localhost", socket.gethostname())
        self.known = {name.lower().rstrip(".") for name in (*own, *more) if name}

    def accept(self, host: str) -> bool:
        """Whether a request with this host is for us."""
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return host.lower().rstrip(".") in self.known
        return True


def content_policy(digest: str, frames: str = "'none'") -> str:
    """Only the page's own script runs, and it may ask only the server that it came from."""
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        f"frame-ancestors {frames}"
    )


def head(status: int, headers: Mapping[str, str], *, length: int | None) -> bytes:
    """The head of an answer, with what every answer has."""
    values = {
        "Date": formatdate(usegmt=True),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-cache",
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
        **headers,
    }
    if length is not None:
        values["Content-Length"] = str(length)
    lines = [f"HTTP/1.1 {status} {REASONS[status]}", *(f"{k}: {v}" for k, v in values.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
