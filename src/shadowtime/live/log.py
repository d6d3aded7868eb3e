"""The loop's log: lines for people that also have their parts, for logs that machines read."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TextIO

from shadowtime import private
from shadowtime.printable import printable

LogFormat = Literal["text", "json"]


class LogLine(str):
    """A line with its parts: an ordinary string where it is printed.

    Examples
    --------
    >>> line = LogLine("start 7 on n1:4 (head)", event="start", job="7")
    >>> line, line.parts
    ('start 7 on n1:4 (head)', {'event': 'start', 'job': '7'})
    """

    parts: dict[str, Any]

    def __new__(cls, line: str, **parts: Any) -> LogLine:
        made = super().__new__(cls, line)
        made.parts = parts
        return made


class Log:
    """Writes a line for each report, to standard output or to a file.

    Rules
    -----
    ``text``: the local time and the line. ``json``: one object per line with ``time`` (UTC),
    ``event`` and ``message``, and ``job``, ``hosts``, ``reason`` or ``why`` where they apply. A
    file is opened for each line, so that it may be renamed or removed at any time and no signal is
    needed after that; only its owner can read it. A line that cannot be written goes to standard
    error: a full disk does not end the loop.

    Examples
    --------
    >>> log = Log(format="json", now=lambda: 0.0)
    >>> log(LogLine("start 7 on n1:4 (head)", event="start", job="7"))
    {"time":"1970-01-01T00:00:00.000Z","event":"start","message":"start 7 on n1:4 (head)","job":"7"}
    >>> log("the loop begins")
    {"time":"1970-01-01T00:00:00.000Z","event":"note","message":"the loop begins"}
    """

    def __init__(
        self,
        *,
        format: LogFormat = "text",
        path: Path | None = None,
        now: Callable[[], float] = time.time,
        out: TextIO | None = None,
    ) -> None:
        self.format, self.path, self.now, self.out = format, path, now, out

    def __call__(self, line: str) -> None:
        written = self._line(line)
        if self.path is None:
            print(written, file=self.out, flush=True)
            return
        try:
            handle = private.open_plain(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            with os.fdopen(handle, "ab") as file:
                file.write(f"{written}\n".encode())
        except OSError:
            with contextlib.suppress(OSError):
                print(written, file=sys.stderr, flush=True)

    def _line(self, line: str) -> str:
        at = self.now()
        if self.format == "text":
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(at))
            return f"{stamp} {printable(line)}"
        stamp = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
        parts = dict(line.parts) if isinstance(line, LogLine) else {}
        values = {
            "time": stamp.replace("+00:00", "Z"),
            "event": parts.pop("event", "note"),
            "message": printable(line),
            **parts,
        }
        return json.dumps(values, separators=(",", ":"))
